/* gets.c: what a C program's reads cost: a scalar from a store, and a dictionary
 * of 10 fields borrowed from a snapshot. `gets OPERATION TIMES` makes one of
 * them so many times and prints nothing, for an instruction counter. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kvcodable.h"
#include "kvcodable_nodes.h"

enum { KEYS = 1000, TARGET = 60 };

static kv_store *store;
static kv_tree *snapshot;
static kv_str names[KEYS];
static int64_t sum;

static void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void scalar(int index) {
  kv_step step = {names[index % KEYS], 0};
  int64_t value;
  if (kv_store_get_integer(store, &step, 1, &value, NULL) != KV_OK)
    fail("scalar");
  sum += value;
}

static void snapshot_scalar(int index) {
  kv_cursor root = kv_tree_root(snapshot), found;
  int64_t value;
  if (kv_cursor_key(&root, names[index % KEYS], &found) != KV_OK ||
      kv_cursor_integer(&found, &value) != KV_OK)
    fail("snapshot scalar");
  sum += value;
}

static void dictionary(int index) {
  kv_cursor root = kv_tree_root(snapshot), found;
  (void)index;
  if (kv_cursor_key(&root, kv_string("record"), &found) != KV_OK)
    fail("dictionary");
  sum += (int64_t)kv_cursor_count(&found);
}

static void dictionary_from_store(int index) {
  kv_step step = kv_key("record");
  kv_view view;
  kv_lease *lease;
  (void)index;
  if (kv_store_get_view(store, &step, 1, &view, &lease, NULL) != KV_OK)
    fail("view");
  sum += view.node->count;
  kv_lease_free(lease);
}

typedef struct Operation {
  const char *name;
  void (*run)(int index);
  int has_target;
  int64_t sum; /* of what 1,000 runs read */
} Operation;

static const Operation operations[] = {
    {"scalar", scalar, 1, 499500},
    {"dictionary", dictionary, 1, 10000},
    {"snapshot-scalar", snapshot_scalar, 0, 499500},
    {"dictionary-from-store", dictionary_from_store, 0, 10000},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static void fill(void) {
  static char texts[KEYS][16];
  kv_builder *builder = kv_builder_new();
  kv_store_options options;
  kv_tree *tree = NULL;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.engine = KV_ENGINE_MEMORY;
  if (kv_store_open_file(kv_string("none"), &options, &store, NULL) != KV_OK)
    fail("open");
  for (int i = 0; i <= KEYS; i++) {
    kv_step step = kv_key("record");
    if (i < KEYS) {
      snprintf(texts[i], sizeof texts[i], "key-%d", i);
      names[i] = kv_string(texts[i]);
      step = kv_key(texts[i]);
      kv_builder_integer(builder, i, NULL);
    } else {
      kv_builder_begin_dictionary(builder, NULL);
      for (int field = 0; field < 10; field++) {
        kv_builder_key(builder, names[field], NULL);
        kv_builder_integer(builder, field, NULL);
      }
      kv_builder_end(builder, NULL);
    }
    if (kv_builder_finish(builder, &tree, NULL) != KV_OK) fail("build");
    if (kv_store_set(store, &step, 1, tree, NULL, 0, NULL) != KV_OK)
      fail("set");
    kv_tree_free(tree);
  }
  kv_builder_free(builder);
  /* What was set lies in the document, as after a load. */
  kv_store *copy = NULL;
  kv_store_open_file(kv_string("none"), &options, &copy, NULL);
  if (kv_store_snapshot(store, &snapshot, NULL) != KV_OK) fail("snapshot");
  if (kv_store_set(copy, NULL, 0, snapshot, NULL, 0, NULL) != KV_OK)
    fail("copy");
  kv_store_free(store);
  store = copy;
  if (kv_store_sync(store, NULL) != KV_OK) fail("sync");
}

static double nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static void measure(const Operation *operation) {
  enum { ROUNDS = 21, TIMES = 100000 };
  double times[ROUNDS];
  sum = 0;
  for (int i = 0; i < 1000; i++) operation->run(i);
  if (sum != operation->sum) fail("another result");
  for (int round = 0; round < ROUNDS; round++) {
    double start = nanoseconds();
    for (int i = 0; i < TIMES; i++) operation->run(i);
    times[round] = (nanoseconds() - start) / TIMES;
  }
  qsort(times, ROUNDS, sizeof *times, compare);
  double median = times[ROUNDS / 2];
  const char *verdict = !operation->has_target ? "      "
                        : median <= TARGET     ? "met   "
                                               : "MISSED";
  printf("%s C get, %s: %.0f ns", verdict, operation->name, median);
  printf(operation->has_target ? " (target %d ns)\n" : "\n", TARGET);
}

int main(int count, char **arguments) {
  fill();
  for (int i = 0; i < OPERATIONS; i++) {
    if (count == 1) measure(&operations[i]);
    if (count == 3 && strcmp(arguments[1], operations[i].name) == 0)
      for (int n = 0, end = atoi(arguments[2]); n < end; n++)
        operations[i].run(n);
  }
  kv_tree_free(snapshot);
  kv_store_free(store);
  return 0;
}
