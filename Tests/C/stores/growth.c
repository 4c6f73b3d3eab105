/* growth.c: that a change costs what it changes, not what it stands in. Times of
 * the processor for the same changes in a small and in a large value; only how
 * they compare is looked at. */
#define _DEFAULT_SOURCE
#include "cost.h"

enum { SMALL = 5000, LARGE = 32 * SMALL, CHANGES = 400, ROUNDS = 5 };

/* A store in memory whose key "list" has so many arrays of one string. */
static kv_store *store_of(int count) {
  static const char element[] = "[\"0123456789\"],";
  size_t length = sizeof element - 1;
  char *text = malloc(length * (size_t)count + 32);
  size_t at = (size_t)sprintf(text, "{\"list\": [");
  for (int i = 0; i < count; i++, at += length)
    memcpy(text + at, element, length);
  sprintf(text + at - 1, "], \"n\": 0}");
  kv_store *store = new_store(text);
  free(text);
  return store;
}

/* Each kind of change, again and again. */
static void set_inside(kv_store *store, int i) {
  kv_step path[3] = {kv_key("list"), kv_index((size_t)(i * 7 % SMALL)),
                     kv_index(0)};
  kv_store_set_integer(store, path, 3, i, NULL);
}

static void set_beside(kv_store *store, int i) {
  kv_step path = kv_key("n");
  kv_store_set_integer(store, &path, 1, i, NULL);
}

static void set_new(kv_store *store, int i) {
  char name[16];
  sprintf(name, "new%d", i);
  kv_step path = kv_key(name);
  kv_store_set_integer(store, &path, 1, i, NULL);
}

static void get_inside(kv_store *store, int i) {
  kv_step path[3] = {kv_key("list"), kv_index((size_t)(i * 7 % SMALL)),
                     kv_index(0)};
  kv_tree *tree = NULL;
  kv_store_get(store, path, 3, NULL, &tree, NULL);
  kv_tree_free(tree);
}

/* Seconds, of the best round; the first change may copy all that there is. */
static double cost_of(void (*change)(kv_store *, int), int count) {
  double best = 1e9;
  kv_store *store = store_of(count);
  change(store, 0);
  for (int round = 0; round < ROUNDS; round++) {
    double start = used_seconds();
    for (int i = 1; i <= CHANGES; i++) change(store, round * CHANGES + i);
    double seconds = used_seconds() - start;
    if (seconds < best) best = seconds;
  }
  kv_store_free(store);
  return best;
}

/* proves: G53 */
static void check_growth(const char *name, void (*change)(kv_store *, int)) {
  double small = cost_of(change, SMALL), large = cost_of(change, LARGE);
  printf("# %s: %.1f us each, in 32 times as much %.1f\n", name,
         small / CHANGES * 1e6, large / CHANGES * 1e6);
  /* What copies would take 32 times as long; less than 1 ms is not measured. */
  CHECK_NAMED(large < 0.001 || large < 8 * small, name);
}

int main(void) {
  check_growth("setting inside of a large value costs what is set", set_inside);
  check_growth("setting beside a large value does", set_beside);
  check_growth("so does setting new keys", set_new);
  check_growth("reading inside of it costs what is read", get_inside);
  return finish_checks();
}
