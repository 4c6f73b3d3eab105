/* A program that opens a store of a fleet, forks, and goes on in both: each adds
 * to a counter and waits until it sees what both have added.
 *
 *   fleet_fork SERVER STORE UPDATES
 */
#define _DEFAULT_SOURCE
#include <kvcodable.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int add(void *context, const kv_tree *old, kv_tree **changed) {
  kv_builder *builder = kv_builder_new();
  kv_cursor cursor = kv_tree_root(old);
  int64_t count = 0;
  (void)context;
  if (old) kv_cursor_integer(&cursor, &count);
  kv_builder_integer(builder, count + 1, NULL);
  int failed = kv_builder_finish(builder, changed, NULL) != KV_OK;
  kv_builder_free(builder);
  return failed;
}

static int fail(const char *who, const char *what, kv_error *error) {
  fprintf(stderr, "%s: %s: %s\n", who, what, kv_error_message(error).data);
  return 1;
}

static int work(kv_store *store, const char *who, int updates, int64_t sum) {
  kv_step path = kv_key("count");
  kv_error *error;
  int64_t count = 0;
  for (int i = 0; i < updates; i++)
    if (kv_store_update(store, &path, 1, NULL, 0, add, NULL, NULL, &error) < 0)
      return fail(who, "update", error);
  for (int i = 0; i < 2000 && count < sum; i++) {
    if (kv_store_wait(store, 0.01, NULL, &error) < 0)
      return fail(who, "wait", error);
    kv_store_get_integer(store, &path, 1, &count, NULL);
  }
  if (count == sum) return 0;
  fprintf(stderr, "%s: expected %lld, found %lld\n", who, (long long)sum,
          (long long)count);
  return 1;
}

static void ignore(void *context, const kv_step *path, size_t steps,
                   const kv_tree *old, const kv_tree *new_value) {
  (void)context, (void)path, (void)steps, (void)old, (void)new_value;
}

int main(int count, char **arguments) {
  if (count < 4) return 2;
  int updates = atoi(arguments[3]);
  kv_store_options options = {.size = sizeof options,
                              .engine = KV_ENGINE_POSTGRESQL,
                              .timeout = 10,
                              .server = kv_string(arguments[1])};
  kv_store *store;
  kv_watch *watch;
  kv_error *error;
  kv_step path = kv_key("count"), waiting = kv_key("waiting");
  if (kv_store_open(kv_string(arguments[2]), &options, &store, &error) < 0)
    return fail("parent", "open", error);
  kv_store_watch(store, &path, 1, KV_SCOPE_VALUE, ignore, NULL, &watch, NULL);
  if (kv_store_set_integer(store, &path, 1, 0, &error) < 0 ||
      kv_store_sync(store, &error) < 0)
    return fail("parent", "set", error);
  /* What waits is the parent's to write. */
  kv_store_set_integer(store, &waiting, 1, 1, NULL);
  pid_t child = fork();
  int failed = work(store, child ? "parent" : "child", updates, 2 * updates);
  if (!child) {
    kv_store_free(store);
    return failed;
  }
  int status = 0;
  waitpid(child, &status, 0);
  kv_watch_cancel(watch);
  kv_store_free(store);
  return failed || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
