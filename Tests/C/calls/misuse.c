/* misuse.c: calls that a program should not make, and their errors: calls from
 * within callbacks, transactions on other threads and without their store,
 * paths that no tree has. */
/* proves: G101 */
#define _XOPEN_SOURCE 700
#include <pthread.h>

#include "check.h"
#include "kvcodable_nodes.h"

static kv_store *store;
static kv_watch *watches[2];
static int calls;

/* ---- Calls from within callbacks */

static int use_store(void *context, const kv_step *path, size_t steps,
                     const kv_tree *value) {
  kv_step other = kv_key("other");
  (void)path, (void)steps, (void)value;
  calls++;
  CHECK(kv_store_get_integer(context, &other, 1, NULL, NULL) == KV_ABSENT);
  CHECK(kv_store_close(context, NULL) == KV_OK);
  return 0;
}

static void check_that_closes(void) {
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_step key = kv_key("n");
  calls = 0;
  options.check = use_store;
  options.check_context = NULL;
  CHECK(kv_store_open_file(kv_string("a"), &options, &store, NULL) == KV_OK);
  options.check_context = store;
  kv_store *checked = NULL;
  CHECK(kv_store_open_file(kv_string("b"), &options, &checked, NULL) == KV_OK);
  CHECK(kv_store_set_integer(checked, &key, 1, 1, NULL) == KV_OK && calls == 1);
  CHECK(kv_store_set_integer(store, &key, 1, 1, NULL) == KV_CLOSED);
  kv_store_free(checked);
  kv_store_free(store);
}

static void change_and_close(void *context, const kv_step *path, size_t steps,
                             const kv_tree *old_value,
                             const kv_tree *new_value) {
  kv_step key = kv_key("n");
  (void)context, (void)path, (void)steps, (void)old_value, (void)new_value;
  if (calls++ > 2) return;
  CHECK(kv_store_set_integer(store, &key, 1, 10 + calls, NULL) == KV_OK);
  CHECK(kv_store_pump(store, NULL, NULL) == KV_OK || calls > 3);
  for (int i = 0; i < 2; i++) {
    kv_watch_cancel(watches[i]);
    watches[i] = NULL;
  }
  CHECK(kv_store_close(store, NULL) == KV_OK);
}

static void free_store(void *context, const kv_step *path, size_t steps,
                       const kv_tree *old_value, const kv_tree *new_value) {
  (void)context, (void)path, (void)steps, (void)old_value, (void)new_value;
  calls++;
  kv_store_free(store);
}

static void handlers_that_end_it_all(void) {
  kv_step key = kv_key("n");
  store = memory_store();
  calls = 0;
  CHECK(kv_store_watch(store, &key, 1, KV_SCOPE_VALUE, change_and_close, NULL,
                       &watches[0], NULL) == KV_OK);
  CHECK(kv_store_watch(store, NULL, 0, KV_SCOPE_SUBTREE, change_and_close, NULL,
                       &watches[1], NULL) == KV_OK);
  CHECK(kv_store_set_integer(store, &key, 1, 2, NULL) == KV_OK);
  kv_store_pump(store, NULL, NULL);
  CHECK(calls > 3 && watches[0] == NULL);
  CHECK(kv_store_pump(store, NULL, NULL) == KV_CLOSED);
  kv_store_free(store);
  store = memory_store();
  calls = 0;
  CHECK(kv_store_watch(store, &key, 1, KV_SCOPE_VALUE, free_store, NULL,
                       &watches[0], NULL) == KV_OK);
  CHECK(kv_store_set_integer(store, &key, 1, 2, NULL) == KV_OK);
  CHECK(kv_store_pump(store, NULL, NULL) == KV_OK && calls == 1);
  kv_watch_cancel(watches[0]);
}

/* A change that commits a transaction of its own, and closes the store. */
static int nest_and_close(void *context, const kv_tree *old,
                          kv_tree **changed) {
  kv_transaction *inner = NULL;
  kv_step key = kv_key("n");
  (void)context, (void)old;
  CHECK(kv_store_begin(store, 1, &inner, NULL) == KV_OK);
  CHECK(kv_transaction_remove(inner, &key, 1, NULL) == KV_OK);
  CHECK(kv_transaction_commit(inner, NULL) == KV_OK);
  CHECK(kv_store_close(store, NULL) == KV_OK);
  *changed = integer_tree(5);
  return 0;
}

static kv_store *file_store(void) {
  kv_store *opened = NULL;
  kv_step key = kv_key("n");
  CHECK(kv_store_open_file(kv_string(in_folder("a.plist")), NULL, &opened,
                           NULL) == KV_OK);
  CHECK(kv_store_set_integer(opened, &key, 1, 1, NULL) == KV_OK);
  return opened;
}

static void update_that_closes(void) {
  kv_step key = kv_key("n");
  store = file_store();
  CHECK(kv_store_update(store, &key, 1, NULL, 0, nest_and_close, NULL, NULL,
                        NULL) == KV_CLOSED);
  kv_store_free(store);
}

/* ---- Transactions on other threads, and without their store */

static void *on_another_thread(void *transaction) {
  kv_step key = kv_key("n");
  int64_t number = 0;
  kv_error *error = NULL;
  CHECK(kv_transaction_get(transaction, &key, 1, NULL, NULL, NULL) ==
        KV_MISUSE);
  CHECK(kv_transaction_remove(transaction, &key, 1, &error) == KV_MISUSE);
  CHECK(error_says(error, KV_MISUSE,
                   "A transaction belongs to the thread that began it"));
  CHECK(kv_store_get_integer(store, &key, 1, &number, NULL) == KV_OK);
  CHECK_NAMED(number == 1, "another thread does not see what is not committed");
  return NULL;
}

static void transactions(void) {
  kv_step key = kv_key("n");
  kv_transaction *transaction = NULL, *inner = NULL;
  pthread_t thread;
  store = file_store();
  CHECK(kv_store_begin(store, 1, &transaction, NULL) == KV_OK);
  CHECK(kv_store_set_integer(store, &key, 1, 2, NULL) == KV_OK);
  CHECK(kv_store_sync(store, NULL) == KV_MISUSE);
  CHECK(pthread_create(&thread, NULL, on_another_thread, transaction) == 0);
  pthread_join(thread, NULL);
  CHECK(kv_transaction_commit(transaction, NULL) == KV_OK);
  CHECK(kv_store_begin(store, 1, &transaction, NULL) == KV_OK);
  CHECK(kv_store_begin(store, 1, &inner, NULL) == KV_OK);
  CHECK(kv_transaction_commit(transaction, NULL) == KV_MISUSE);
  CHECK(kv_store_set_integer(store, &key, 1, 3, NULL) == KV_OK);
  CHECK(kv_transaction_commit(inner, NULL) == KV_CLOSED);
  /* A transaction keeps its store; closing is another thing. */
  CHECK(kv_store_begin(store, 1, &transaction, NULL) == KV_OK);
  kv_store_free(store);
  CHECK(kv_transaction_remove(transaction, &key, 1, NULL) == KV_OK);
  CHECK(kv_transaction_commit(transaction, NULL) == KV_OK);
  store = NULL;
  CHECK(kv_store_open_file(kv_string(in_folder("a.plist")), NULL, &store,
                           NULL) == KV_OK);
  CHECK(kv_store_get_integer(store, &key, 1, NULL, NULL) == KV_ABSENT);
  CHECK(kv_store_begin(store, 1, &transaction, NULL) == KV_OK);
  CHECK(kv_store_close(store, NULL) == KV_OK);
  CHECK(kv_transaction_remove(transaction, &key, 1, NULL) == KV_CLOSED);
  kv_transaction_rollback(transaction);
  kv_store_free(store);
}

/* ---- Paths that no tree has */

/* Every use of a cursor; the result does not matter. */
static void use_cursor(const kv_cursor *cursor) {
  kv_step steps[2] = {kv_key("a"), kv_index(1)};
  kv_cursor found;
  kv_str text;
  kv_tree *copy = NULL;
  kv_builder *builder = kv_builder_new();
  kv_cursor_kind(cursor);
  kv_cursor_count(cursor);
  kv_cursor_string(cursor, &text);
  kv_cursor_data(cursor, &text);
  kv_cursor_key(cursor, kv_string("a"), &found);
  kv_cursor_path(cursor, steps, 2, &found);
  for (size_t i = 0; i < 20; i++) {
    uint64_t state = i < 19 ? i : UINT64_MAX;
    kv_cursor_entry(cursor, i, &text, &found);
    kv_cursor_next(cursor, &state, &found);
  }
  kv_cursor_copy(cursor, &copy);
  kv_tree_free(copy);
  kv_builder_cursor(builder, cursor, NULL);
  kv_builder_free(builder);
}

static void cursor_paths(void) {
  static const int64_t indexes[] = {INT64_MIN, -1, 4, INT64_MAX};
  kv_tree *tree = parse("{\"a\": [1, [\"two\"], {\"b\": 3}], \"c\": {}}");
  kv_cursor root = kv_tree_root(tree), outside = {tree, UINT64_MAX};
  for (uint64_t position = 0; position < 20; position++) {
    kv_cursor cursor = {tree, position};
    use_cursor(&cursor);
  }
  CHECK(kv_cursor_kind(&outside) == KV_NULL);
  store = memory_store();
  CHECK(kv_store_set(store, NULL, 0, tree, NULL, 0, NULL, NULL) == KV_OK);
  for (int i = 0; i < 4; i++) {
    kv_step path[2] = {kv_key("a"), kv_index(indexes[i])};
    CHECK(kv_cursor_path(&root, path, 2, NULL) == KV_ABSENT);
    CHECK(kv_tree_set(tree, path, 2, tree, NULL, NULL) == KV_PATH_MISMATCH);
    CHECK(kv_tree_remove(tree, path, 2, NULL, NULL) == KV_ABSENT);
    CHECK(kv_store_get(store, path, 2, NULL, NULL, NULL) == KV_ABSENT);
    CHECK(kv_store_set_integer(store, path, 2, 1, NULL) == KV_PATH_MISMATCH);
    CHECK(kv_store_set_integer(store, path + 1, 1, 1, NULL) ==
          KV_PATH_MISMATCH);
    CHECK(kv_store_remove(store, path, 2, NULL) == KV_ABSENT);
  }
  kv_store_free(store);
  kv_tree_free(tree);
}

/* Nothing behind the first bytes is looked at. */
static void lengths(void) {
  kv_str most = {"most", SIZE_MAX}, long_key = {"key", (size_t)UINT32_MAX + 1};
  kv_step path[2] = {kv_key("a"), {long_key, 0}};
  kv_tree *tree = parse("{\"a\": {}}");
  kv_builder *builder = kv_builder_new();
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  char expected[100];
  kv_error *error = NULL;
  store = new_store("{\"a\": {}}");
  CHECK(kv_store_set_integer(store, path, 2, 1, &error) == KV_INVALID_ARGUMENT);
  CHECK(error_says(error, KV_INVALID_ARGUMENT,
                   "a key of the path has an impossible length"));
  CHECK(kv_store_set_integer(store, path + 1, 1, 1, NULL) ==
        KV_INVALID_ARGUMENT);
  CHECK(kv_tree_set(tree, path, 2, tree, NULL, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_store_get_integer(store, path, SIZE_MAX, NULL, &error) ==
        KV_LIMIT_EXCEEDED);
  CHECK(error_says(error, KV_LIMIT_EXCEEDED,
                   "A path of 18446744073709551615 steps is longer than any "
                   "tree is deep"));
  options.size = SIZE_MAX;
  CHECK(kv_store_open_file(kv_string("x"), &options, NULL, &error) ==
        KV_INVALID_ARGUMENT);
  snprintf(expected, sizeof expected,
           "Expected options with a size up to %zu, found "
           "18446744073709551615",
           sizeof options);
  CHECK(error_says(error, KV_INVALID_ARGUMENT, expected));
  CHECK(kv_store_set_string(store, path, 1, long_key, NULL) ==
        KV_LIMIT_EXCEEDED);
  CHECK(kv_builder_data(builder, long_key, NULL) == KV_LIMIT_EXCEEDED);
  CHECK(kv_store_set_string(store, path, 1, most, NULL) == KV_INVALID_ARGUMENT);
  kv_builder_free(builder);
  kv_store_free(store);
  kv_tree_free(tree);
}

/* Flags that do not exist mean nothing, with a type and without. */
static void flags(void) {
  kv_step path[2] = {kv_key("a"), kv_key("b")};
  kv_tree *tree = integer_tree(1);
  kv_node node = {KV_NODE_INTEGER, 0, 1};
  kv_transaction *transaction = NULL;
  store = new_store("{\"a\": {}}");
  for (size_t steps = 1; steps <= 2; steps++) {
    CHECK(kv_store_set(store, path, steps, tree, NULL, 64, NULL, NULL) ==
          KV_INVALID_ARGUMENT);
    CHECK(kv_store_set_nodes(store, path, steps, &node, 1, NULL, 0, NULL, 64,
                             NULL, NULL, NULL, NULL) == KV_INVALID_ARGUMENT);
  }
  CHECK(kv_store_begin(store, 1, &transaction, NULL) == KV_OK);
  CHECK(kv_transaction_set(transaction, path, 1, tree, NULL, 64, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  CHECK(kv_transaction_commit(transaction, NULL) == KV_OK);
  CHECK(kv_store_get_integer(store, path, 2, NULL, NULL) == KV_ABSENT);
  CHECK(kv_store_set(store, path, 2, tree, NULL, KV_REPLACE, NULL, NULL) ==
        KV_OK);
  kv_store_free(store);
  kv_tree_free(tree);
}

int main(void) {
  make_folder();
  check_that_closes();
  handlers_that_end_it_all();
  update_that_closes();
  transactions();
  cursor_paths();
  lengths();
  flags();
  remove_folder();
  return finish_checks();
}
