#include "CKVSQLite.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static csqlite_functions functions;
static const csqlite_functions *loaded;

/* ISO C has no conversion from an object's address to a function's; POSIX
 * gives both the same representation. */
static int find(void *library, const char *name, void *field, size_t size) {
  void *address = dlsym(library, name);
  memcpy(field, &address, size);
  return address != NULL;
}

static void load(void) {
  /* Two copies of SQLite in one process can corrupt a database: this is the
   * one that every other program of the system uses. */
  void *library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return;
#define CSQLITE_FIND(name)                              \
  if (!find(library, "sqlite3_" #name, &functions.name, \
            sizeof functions.name))                     \
    return;
  CSQLITE_FUNCTIONS(CSQLITE_FIND)
#undef CSQLITE_FIND
  loaded = &functions;
}

const csqlite_functions *csqlite_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return loaded;
}

void csqlite_keep_journal(sqlite3 *database, int keeps) {
  const csqlite_functions *functions = csqlite_load();
  if (functions)
    functions->db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps,
                         NULL);
}
