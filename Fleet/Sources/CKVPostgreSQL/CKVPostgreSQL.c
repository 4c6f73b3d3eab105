#define _GNU_SOURCE
#include "CKVPostgreSQL.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

static cpq_functions functions;
static const cpq_functions *loaded;
static int is_outdated;

/* ISO C has no conversion from an object's address to a function's; POSIX
 * gives both the same representation. */
static int find(void *library, const char *name, void *field, size_t size) {
  void *address = dlsym(library, name);
  memcpy(field, &address, size);
  return address != NULL;
}

static void load(void) {
  void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return;
  is_outdated = 1;
#define CPQ_FIND(type, name, parameters)                                  \
  if (!find(library, "PQ" #name, &functions.name, sizeof functions.name)) \
    return;
  CPQ_FUNCTIONS(CPQ_FIND)
#undef CPQ_FIND
  is_outdated = 0;
  loaded = &functions;
}

const cpq_functions *cpq_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return loaded;
}

int cpq_is_outdated(void) { return is_outdated; }

/* libpq would print notices. This function drops them, and remembers that there
 * was a warning. */
static void note(void *context, const cpq_result *result) {
  const char *severity = loaded->resultErrorField(result, CPQ_SEVERITY);
  if (severity && strcmp(severity, "WARNING") == 0) *(int32_t *)context = 1;
}

void cpq_note_warnings(cpq_connection *connection, int32_t *warned) {
  const cpq_functions *functions = cpq_load();
  if (functions) functions->setNoticeReceiver(connection, note, warned);
}

int cpq_wait(int descriptor, int writes, int64_t nanoseconds) {
  struct pollfd entry = {descriptor,
                         (short)(writes ? POLLIN | POLLOUT : POLLIN), 0};
  struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  return ppoll(&entry, 1, &time, NULL) > 0;
}
