/* threads.c: const objects may be used by several threads at once; and no
 * thread starts, nor is anything printed, before a call needs it. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <pthread.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 200 };

/* ---- Quiet */

static int thread_count(void) {
  char line[256];
  int count = -1;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "Threads: %d", &count) == 1) break;
  if (file) fclose(file);
  return count;
}

static const char declaration[] =
    "struct Point { x: Double @key(X); y: Double = 2; tags: [String] = [] }";

static kv_type *make_type(const char *expression) {
  kv_type *type = NULL;
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_registry_declare(registry, kv_string(declaration), kv_string(""), NULL,
                      NULL);
  kv_registry_type(registry, kv_string(expression), &type, NULL);
  kv_registry_free(registry);
  return type;
}

/* Values, types, an error and a store that no option asks to write by itself,
 * with all output caught. */
/* proves: G102 */
static void check_quiet(void) {
  int out = dup(1), errors = dup(2), caught;
  kv_tree *tree = NULL, *value = NULL;
  kv_error *error = NULL;
  kv_type *type;
  kv_store *store = NULL;
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_step key = kv_key("p");
  options.durability = KV_MANUAL;
  fflush(stdout);
  caught = open(in_folder("output"), O_CREAT | O_RDWR | O_TRUNC, 0600);
  dup2(caught, 1);
  dup2(caught, 2);
  kv_decode(kv_string("{\"X\": 1}"), NULL, NULL, &tree, NULL, NULL);
  type = make_type("Point");
  kv_type_decode(type, tree, &value, NULL);
  kv_decode(kv_string("<plist>"), NULL, NULL, NULL, NULL, &error);
  kv_error_free(error);
  kv_store_open_file(kv_string("quiet"), &options, &store, NULL);
  kv_store_set(store, &key, 1, value, type, 0, NULL, NULL);
  int threads = thread_count();
  dup2(out, 1);
  dup2(errors, 2);
  CHECK_NAMED(threads == 1, "no thread was started");
  CHECK_NAMED(lseek(caught, 0, SEEK_END) == 0, "and nothing printed");
  CHECK(kv_store_get(store, &key, 1, type, NULL, NULL) == KV_OK);
  close(caught);
  close(out);
  close(errors);
  kv_store_free(store);
  kv_type_free(type);
  kv_tree_free(value);
  kv_tree_free(tree);
}

/* ---- Shared */

/* What all threads use; `good` is each thread's own. */
typedef struct Shared {
  const kv_tree *tree, *point;
  const kv_type *type;
  const kv_store *store;
} Shared;

typedef struct Worker {
  pthread_t thread;
  const Shared *shared;
  int good;
} Worker;

static int use(const Shared *shared) {
  kv_tree *decoded = NULL, *encoded = NULL, *stored = NULL, *snapshot = NULL;
  kv_bytes bytes = {NULL, 0};
  kv_step key = kv_key("p");
  kv_cursor cursor = kv_tree_root(shared->tree);
  int good = kv_cursor_kind(&cursor) == KV_DICTIONARY;
  good &= kv_type_decode(shared->type, shared->tree, &decoded, NULL) == KV_OK;
  good &= kv_tree_equal(decoded, shared->point);
  good &= kv_type_encode(shared->type, shared->point, shared->tree, 0, &encoded,
                         NULL) == KV_OK;
  good &= kv_type_decode(shared->type, NULL, NULL, NULL) == KV_INVALID_ARGUMENT;
  good &= kv_store_get(shared->store, &key, 1, shared->type, &stored, NULL) ==
          KV_OK;
  good &= kv_tree_equal(stored, shared->point);
  good &= kv_store_snapshot(shared->store, &snapshot, NULL) == KV_OK;
  good &= kv_encode(snapshot, KV_FORMAT_XML, NULL, &bytes, NULL) == KV_OK;
  kv_bytes_free(&bytes);
  kv_tree_free(decoded);
  kv_tree_free(encoded);
  kv_tree_free(stored);
  kv_tree_free(snapshot);
  return good;
}

static void *work(void *argument) {
  Worker *worker = argument;
  worker->good = 1;
  for (int i = 0; i < ROUNDS; i++) worker->good &= use(worker->shared);
  return NULL;
}

/* A finding about a value is noted with it, on any thread. */
/* proves: G102 */
static void check_sharing(void) {
  Worker workers[THREADS];
  int good = 0;
  kv_type *type = make_type("Point");
  kv_tree *tree = parse("{\"X\": 1.5, \"y\": 3.5, \"new\": [1, 2]}");
  kv_tree *point = parse("{\"x\": 1.5, \"y\": 3.5, \"tags\": []}");
  kv_store *store = memory_store();
  kv_step key = kv_key("p");
  CHECK(kv_store_set(store, &key, 1, point, type, 0, NULL, NULL) == KV_OK);
  Shared shared = {tree, point, type, store};
  for (int i = 0; i < THREADS; i++) {
    workers[i].shared = &shared;
    pthread_create(&workers[i].thread, NULL, work, &workers[i]);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(workers[i].thread, NULL);
    good += workers[i].good;
  }
  CHECK_NAMED(good == THREADS, "four threads share a tree, a type and a store");
  kv_store_free(store);
  kv_tree_free(point);
  kv_tree_free(tree);
  kv_type_free(type);
}

int main(void) {
  make_folder();
  check_quiet();
  check_sharing();
  remove_folder();
  return finish_checks();
}
