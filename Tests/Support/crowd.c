/* crowd.c: one of the programs of Tests/suites/crowd.py, in C: `crowd FILE NAME
 * PEER...`. Sets keys of its own, adds to a counter, and says when it saw what
 * its peers had set. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kvcodable.h"

static FILE *notes;
static char **peers;
static int64_t seen[16];

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Takes a pointer to the error: the argument may be evaluated before the call
 * that sets the error. */
static void stop_at(kv_status status, kv_error **error, const char *what) {
  if (status >= 0) return;
  fprintf(stderr, "%s: %s\n", what, kv_error_message(*error).data);
  exit(1);
}

static int is_readable(int descriptor, int milliseconds) {
  struct pollfd entry = {descriptor, POLLIN, 0};
  return poll(&entry, 1, milliseconds) == 1;
}

static kv_step key_of(char *buffer, const char *name, const char *what) {
  sprintf(buffer, "%s-%s", name, what);
  return kv_key(buffer);
}

static void changed(void *context, const kv_step *path, size_t steps,
                    const kv_tree *old_value, const kv_tree *new_value) {
  char buffer[64];
  kv_cursor root = kv_tree_root(new_value);
  int64_t value;
  (void)context;
  (void)old_value;
  if (steps != 1 || kv_cursor_integer(&root, &value) != KV_OK) return;
  for (int i = 0; peers[i]; i++) {
    kv_step latest = key_of(buffer, peers[i], "latest");
    if (path[0].key.length != latest.key.length ||
        memcmp(path[0].key.data, latest.key.data, latest.key.length) != 0)
      continue;
    seen[i] = value;
    fprintf(notes, "saw %s %" PRId64 " %" PRId64 "\n", peers[i], value, now());
  }
}

static void set(kv_transaction *transaction, kv_step key, int64_t value) {
  kv_error *error = NULL;
  kv_tree *tree = NULL;
  kv_builder *builder = kv_builder_new();
  kv_builder_integer(builder, value, NULL);
  kv_builder_finish(builder, &tree, NULL);
  stop_at(kv_transaction_set(transaction, &key, 1, tree, NULL, 0, NULL, &error),
          &error, "set");
  kv_tree_free(tree);
  kv_builder_free(builder);
}

static int64_t get(kv_transaction *transaction, kv_step key) {
  kv_tree *tree = NULL;
  int64_t value = 0;
  if (kv_transaction_get(transaction, &key, 1, NULL, &tree, NULL) != KV_OK)
    return 0;
  kv_cursor root = kv_tree_root(tree);
  kv_cursor_integer(&root, &value);
  kv_tree_free(tree);
  return value;
}

/* Whether the transaction has to begin again: UserDefaults, which knows of no
 * lock, wrote the file. */
static int must_repeat(kv_transaction *transaction) {
  kv_error *error = NULL;
  kv_status status = kv_transaction_commit(transaction, &error);
  if (status != KV_CONFLICT) stop_at(status, &error, "commit");
  kv_error_free(error);
  return status == KV_CONFLICT;
}

static void write_round(kv_store *store, const char *name, int64_t number) {
  char own[64], latest[64], text[32];
  kv_error *error = NULL;
  kv_transaction *transaction = NULL;
  sprintf(text, "%d", (int)(number % 50));
  do {
    stop_at(kv_store_begin(store, 60, &transaction, &error), &error, "begin");
    set(transaction, kv_key("counter"),
        get(transaction, kv_key("counter")) + 1);
    set(transaction, key_of(own, name, text), number);
    set(transaction, key_of(latest, name, "latest"), number);
  } while (must_repeat(transaction));
  fprintf(notes, "set %" PRId64 " %" PRId64 "\n", number, now());
}

static void pump_for(kv_store *store, int descriptor, int64_t nanoseconds) {
  kv_error *error = NULL;
  for (int64_t end = now() + nanoseconds; now() < end;) {
    is_readable(descriptor, (int)((end - now()) / 1000000) + 1);
    stop_at(kv_store_pump(store, NULL, &error), &error, "pump");
  }
}

/* The number that a peer ended with; 0 while it has not. */
static int64_t final_of(kv_store *store, const char *name) {
  char buffer[64];
  kv_step key = key_of(buffer, name, "final");
  int64_t value = 0;
  kv_store_get_integer(store, &key, 1, &value, NULL);
  return value;
}

static int is_over(kv_store *store) {
  for (int i = 0; peers[i]; i++)
    if (final_of(store, peers[i]) == 0 || seen[i] < final_of(store, peers[i]))
      return 0;
  return 1;
}

int main(int count, char **arguments) {
  kv_store_options options;
  kv_store *store = NULL;
  kv_watch *watch = NULL;
  kv_transaction *transaction = NULL;
  kv_error *error = NULL;
  char line[8], buffer[64], *text = NULL;
  size_t length = 0;
  int64_t number = 0;
  int descriptor = -1;
  if (count < 4) return 2;
  peers = arguments + 3;
  notes = open_memstream(&text, &length);
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.durability = KV_IMMEDIATE;
  options.timeout = 60;
  stop_at(kv_store_open_file(kv_string(arguments[1]), &options, &store, &error),
          &error, "open");
  stop_at(kv_store_watch(store, NULL, 0, KV_SCOPE_SUBTREE, changed, NULL,
                         &watch, &error),
          &error, "watch");
  stop_at(kv_store_watch_descriptor(store, &descriptor, &error), &error, "fd");
  printf("ready\n");
  fflush(stdout);
  if (!fgets(line, sizeof line, stdin)) return 3;
  do {
    write_round(store, arguments[2], ++number);
    pump_for(store, descriptor, 20000000);
  } while (!is_readable(0, 0));
  do {
    stop_at(kv_store_begin(store, 60, &transaction, &error), &error, "begin");
    set(transaction, key_of(buffer, arguments[2], "latest"), number);
    set(transaction, key_of(buffer, arguments[2], "final"), number);
  } while (must_repeat(transaction));
  for (int64_t end = now() + 20000000000; now() < end && !is_over(store);)
    pump_for(store, descriptor, 20000000);
  stop_at(kv_store_close(store, &error), &error, "close");
  kv_watch_cancel(watch);
  kv_store_free(store);
  fclose(notes);
  printf("%ssum %" PRId64 "\n", text, number);
  free(text);
  return 0;
}
