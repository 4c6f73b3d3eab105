/* stores.c: stores and transactions; and no growth of what is held over many
 * calls. */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700
#include <malloc.h>

#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

/* proves: G48 */
static void transactions(void) {
  kv_store *store = memory_store();
  kv_transaction *transaction = NULL;
  kv_step key = kv_key("n");
  kv_tree *one = integer_tree(1), *two = integer_tree(2), *value = NULL;
  int64_t number;
  double real;
  int boolean;
  kv_error *error = NULL;
  CHECK(kv_store_set(store, &key, 1, one, NULL, 0, NULL, NULL) == KV_OK);
  CHECK(kv_store_begin(store, 1, &transaction, NULL) == KV_OK);
  CHECK(kv_transaction_set(transaction, &key, 1, two, NULL, 0, NULL, NULL) ==
        KV_OK);
  CHECK(kv_transaction_get(transaction, &key, 1, NULL, &value, NULL) == KV_OK);
  CHECK(kv_tree_equal(value, two));
  kv_tree_free(value);
  kv_transaction_rollback(transaction);
  CHECK(kv_store_get_integer(store, &key, 1, &number, NULL) == KV_OK);
  CHECK(number == 1);
  CHECK(kv_store_get_real(store, &key, 1, &real, NULL) == KV_OK && real == 1);
  CHECK(kv_store_get_boolean(store, &key, 1, &boolean, &error) ==
        KV_TYPE_MISMATCH);
  CHECK(text_equals(kv_error_message(error), "Expected Bool at n, found Int"));
  kv_error_free(error);
  CHECK(kv_store_begin(store, 0, &transaction, NULL) == KV_OK);
  CHECK(kv_transaction_remove(transaction, &key, 1, NULL) == KV_OK);
  CHECK(kv_transaction_remove(transaction, &key, 1, NULL) == KV_ABSENT);
  CHECK(kv_transaction_commit(transaction, NULL) == KV_OK);
  CHECK(kv_store_get(store, &key, 1, NULL, &value, NULL) == KV_ABSENT);
  CHECK(kv_store_remove(store, &key, 1, NULL) == KV_ABSENT);
  CHECK(kv_store_register(store, one, NULL) == KV_INVALID_VALUE);
  kv_tree_free(one);
  kv_tree_free(two);
  kv_store_free(store);
}

static kv_status store_error(kv_engine engine, const char *name, kv_str value,
                             double timeout) {
  kv_store_options options = store_options(engine);
  kv_status status;
  options.managed_file = value;
  options.timeout = timeout;
  status = kv_store_open_file(kv_string(in_folder(name)), &options, NULL, NULL);
  return status;
}

static void options(void) {
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_str none = {NULL, 0}, bad = {"\xFF", 1};
  CHECK(store_error(KV_ENGINE_MEMORY, "a.plist", none, 0) == KV_OK);
  CHECK(store_error((kv_engine)9, "a.plist", none, 0) == KV_INVALID_ARGUMENT);
  CHECK(store_error(KV_ENGINE_MEMORY, "a.plist", bad, 0) ==
        KV_INVALID_ARGUMENT);
  CHECK(store_error(KV_ENGINE_MEMORY, "a.plist", none, -1) ==
        KV_INVALID_ARGUMENT);
  options.durability = (kv_durability)9;
  CHECK(kv_store_open_file(kv_string("a"), &options, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  options = store_options(KV_ENGINE_MEMORY);
  options.format = (kv_format)9;
  CHECK(kv_store_open_file(kv_string("a"), &options, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  options.size = 0;
  CHECK(kv_store_open_file(kv_string("a"), &options, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
}

/* What one handle wrote, in a file that the next one opens. */
static void engines(const char *name) {
  kv_step path[2] = {kv_key("window"), kv_key("width")};
  kv_tree *seven = integer_tree(7), *keys = NULL,
          *expected = parse("[\"window\"]");
  kv_store *store = NULL;
  int64_t value = 0;
  CHECK(kv_store_open_file(kv_string(in_folder(name)), NULL, &store, NULL) ==
        KV_OK);
  CHECK(kv_store_set(store, path, 2, seven, NULL, 0, NULL, NULL) == KV_OK);
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  CHECK(kv_store_close(store, NULL) == KV_OK);
  CHECK(kv_store_close(store, NULL) == KV_OK);
  kv_store_free(store);
  CHECK(kv_store_open_file(kv_string(in_folder(name)), NULL, &store, NULL) ==
        KV_OK);
  CHECK(kv_store_get_integer(store, path, 2, &value, NULL) == KV_OK);
  CHECK_NAMED(value == 7, name);
  CHECK(kv_store_keys(store, NULL, 0, &keys, NULL) == KV_OK);
  CHECK(kv_tree_equal(keys, expected));
  kv_tree_free(keys);
  kv_tree_free(seven);
  kv_tree_free(expected);
  kv_store_free(store);
}

/* The work of an update's change goes by `context`. */
static int change(void *context, const kv_tree *old, kv_tree **changed) {
  const char *what = context;
  if (!strcmp(what, "add")) *changed = integer_tree(old ? 2 : 1);
  return !strcmp(what, "refuse");
}

static void updates(void) {
  kv_store *store = memory_store();
  kv_step key = kv_key("n");
  int64_t value = 0;
  kv_error *error = NULL;
  CHECK(kv_store_update(store, &key, 1, NULL, 0, change, (void *)"nothing",
                        NULL, NULL) == KV_OK);
  CHECK(kv_store_get(store, &key, 1, NULL, NULL, NULL) == KV_ABSENT);
  CHECK(kv_store_update(store, &key, 1, NULL, 0, change, (void *)"add", NULL,
                        NULL) == KV_OK);
  CHECK(kv_store_update(store, &key, 1, NULL, 0, change, (void *)"add", NULL,
                        NULL) == KV_OK);
  CHECK(kv_store_get_integer(store, &key, 1, &value, NULL) == KV_OK);
  CHECK(value == 2);
  CHECK(kv_store_update(store, &key, 1, NULL, 0, change, (void *)"refuse", NULL,
                        &error) == KV_MISUSE);
  CHECK(error_says(error, KV_MISUSE, "The change was refused with 1"));
  kv_store_free(store);
}

static int below_ten(void *context, const kv_step *path, size_t steps,
                     const kv_tree *value) {
  kv_cursor root = kv_tree_root(value);
  int64_t number = 0;
  *(int *)context += 1;
  return steps == 1 && text_equals(path[0].key, "n") &&
         kv_cursor_integer(&root, &number) == KV_OK && number >= 10;
}

static void program_checks(void) {
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_store *store = NULL;
  kv_step key = kv_key("n");
  kv_tree *nine = integer_tree(9), *ten = integer_tree(10);
  kv_error *error = NULL;
  int calls = 0;
  options.check = below_ten;
  options.check_context = &calls;
  CHECK(kv_store_open_file(kv_string("a"), &options, &store, NULL) == KV_OK);
  CHECK(kv_store_set(store, &key, 1, nine, NULL, 0, NULL, NULL) == KV_OK);
  CHECK(kv_store_set(store, &key, 1, ten, NULL, 0, NULL, &error) == KV_REFUSED);
  CHECK(error_says(error, KV_REFUSED,
                   "The program's check refused the value at n"));
  CHECK(kv_store_remove(store, &key, 1, NULL) == KV_OK);
  CHECK(calls == 3);
  kv_tree_free(nine);
  kv_tree_free(ten);
  kv_store_free(store);
}

/* One round of everything that gives memory. */
static void work(kv_store *store, const kv_type *type) {
  kv_step path[2] = {kv_key("window"), kv_key("width")};
  kv_tree *value = integer_tree(7), *found = NULL;
  kv_error *error = NULL;
  kv_store_set(store, path, 2, value, NULL, 0, NULL, NULL);
  kv_store_get(store, path, 1, type, &found, NULL);
  kv_tree_free(found);
  found = NULL;
  kv_store_snapshot(store, &found, NULL);
  kv_tree_free(found);
  kv_store_get(store, path, 2, type, &found, &error);
  kv_error_free(error);
  kv_store_remove(store, path, 2, NULL);
  kv_tree_free(value);
}

static int told_of_limit;

static void note_limit(void *context, kv_event event, kv_str message) {
  (void)context;
  (void)message;
  told_of_limit += event == KV_EVENT_OVER_LIMIT;
}

/* The limits of a store, in bytes and in values and keys. */
/* proves: G45 */
static void limits(void) {
  static char text[2000];
  kv_store_options options = store_options(KV_ENGINE_AUTOMATIC);
  kv_store *store = NULL;
  kv_watch *watch = NULL;
  kv_step key = kv_key("a"), path[2] = {kv_key("b"), kv_key("c")};
  kv_str file = kv_string(in_folder("limits.plist")), longer, shorter;
  kv_error *error = NULL;
  memset(text, 'x', sizeof text);
  longer.data = shorter.data = text;
  longer.length = sizeof text;
  shorter.length = 500;
  options.max_bytes = 1000;
  CHECK(kv_store_open_file(file, &options, &store, NULL) == KV_OK);
  CHECK(kv_store_set_string(store, path, 2, longer, &error) ==
        KV_LIMIT_EXCEEDED);
  CHECK(strstr(kv_error_message(error).data,
               "Expected a store of at most 1000 bytes, this would make it "));
  CHECK(path_length(error) == 2);
  kv_error_free(error);
  CHECK(kv_store_get(store, &key, 1, NULL, NULL, NULL) == KV_ABSENT);
  CHECK(kv_store_set_string(store, path, 2, shorter, NULL) == KV_OK);
  kv_store_free(store);
  /* Beyond the limit already: it may shrink, and nothing else. */
  options.max_bytes = 580;
  CHECK(kv_store_open_file(file, &options, &store, NULL) == KV_OK);
  CHECK(kv_store_watch_events(store, note_limit, NULL, &watch, NULL) == KV_OK);
  CHECK(kv_store_pump(store, NULL, NULL) == KV_OK && told_of_limit == 1);
  kv_watch_cancel(watch);
  CHECK(kv_store_set_integer(store, &key, 1, 1, NULL) == KV_LIMIT_EXCEEDED);
  CHECK(kv_store_remove(store, path, 2, NULL) == KV_OK);
  CHECK(kv_store_set_integer(store, &key, 1, 1, NULL) == KV_OK);
  kv_store_free(store);
  options.max_bytes = 0;
  options.max_nodes = 5;
  CHECK(kv_store_open_file(file, &options, &store, NULL) == KV_OK);
  CHECK(kv_store_set_integer(store, path, 2, 1, &error) == KV_LIMIT_EXCEEDED);
  CHECK(strstr(kv_error_message(error).data,
               "at most 5 values and keys, this would make it 7"));
  kv_error_free(error);
  kv_store_free(store);
}

/* What is set is in the file a moment later, without another call: also what is
 * set when nothing has been to be written for a while. */
static void flushes(void) {
  kv_store_options options = store_options(KV_ENGINE_PROPERTY_LIST);
  kv_str file = kv_string(in_folder("flushed.plist"));
  kv_step key = kv_key("n");
  kv_store *store = NULL;
  CHECK(kv_store_open_file(file, &options, &store, NULL) == KV_OK);
  for (int round = 1; round <= 3; round++) {
    kv_tree *set = NULL, *found = NULL;
    CHECK(kv_store_set_integer(store, &key, 1, round, NULL) == KV_OK);
    CHECK(kv_store_snapshot(store, &set, NULL) == KV_OK);
    for (int wait = 0; wait < 10000 && !kv_tree_equal(set, found); wait++) {
      usleep(1000);
      kv_tree_free(found);
      found = NULL;
      kv_read_file(file, NULL, NULL, &found, NULL, NULL);
    }
    CHECK_NAMED(kv_tree_equal(set, found), "what is set is written soon");
    kv_tree_free(set);
    kv_tree_free(found);
  }
  kv_store_free(store);
}

/* Whether the list in the store, and nothing else, is [1, .., count]. */
static int has_list(const kv_store *store, int64_t count) {
  kv_tree *found = NULL;
  char text[40] = "{\"list\": [1";
  for (int64_t i = 2; i <= count; i++)
    sprintf(text + strlen(text), ",%d", (int)i);
  kv_tree *expected = parse(strcat(text, "]}"));
  kv_store_snapshot(store, &found, NULL);
  int good = kv_tree_equal(expected, found);
  kv_tree_free(expected);
  kv_tree_free(found);
  return good;
}

/* An immediate change that cannot be written is not kept, with a type and
 * without, of a key and of a path: who appends again appends once. */
/* proves: G6 */
static void not_kept(void) {
  char path[400], lock[400];
  kv_store_options options = store_options(KV_ENGINE_PROPERTY_LIST);
  kv_store *store = NULL;
  kv_type *type = NULL;
  kv_step list = kv_key("list"), key = kv_key("key");
  kv_step next[] = {list, kv_index(1)}, first[] = {list, kv_index(0)};
  kv_tree *one = parse("[1]"), *two = integer_tree(2);
  options.durability = KV_IMMEDIATE;
  snprintf(path, sizeof path, "%s", in_folder("kept.plist"));
  snprintf(lock, sizeof lock, "%s", in_folder(".kept.plist.lock"));
  CHECK(kv_registry_type(NULL, kv_string("Int"), &type, NULL) == KV_OK);
  CHECK(kv_store_open_file(kv_string(path), &options, &store, NULL) == KV_OK);
  CHECK(kv_store_set(store, &list, 1, one, NULL, 0, NULL, NULL) == KV_OK);
  CHECK(remove(lock) == 0 && mkdir(lock, 0700) == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(kv_store_set(store, next, 2, two, NULL, 0, NULL, NULL) == KV_IO);
    CHECK(kv_store_set(store, next, 2, two, type, 0, NULL, NULL) == KV_IO);
    CHECK(kv_store_set_integer(store, next, 2, 2, NULL) == KV_IO);
    CHECK(kv_store_set_integer(store, &key, 1, 2, NULL) == KV_IO);
    CHECK(kv_store_remove(store, first, 2, NULL) == KV_IO);
    CHECK(has_list(store, 1));
  }
  CHECK(rmdir(lock) == 0);
  CHECK(kv_store_set(store, next, 2, two, type, 0, NULL, NULL) == KV_OK);
  CHECK(has_list(store, 2));
  kv_store_free(store);
  CHECK(kv_store_open_file(kv_string(path), &options, &store, NULL) == KV_OK);
  CHECK(has_list(store, 2));
  kv_store_free(store);
  kv_type_free(type);
  kv_tree_free(one);
  kv_tree_free(two);
}

static void refuse_long_paths(void) {
  kv_store *store = memory_store();
  kv_error *error = NULL;
  int value = 0;
  char *text = malloc(KV_PATH_BYTES + 2);
  memset(text, 'k', KV_PATH_BYTES + 1);
  text[KV_PATH_BYTES + 1] = 0;
  kv_step steps[2] = {kv_key(text), kv_key("a")};
  CHECK(kv_store_set_integer(store, steps, 1, 1, &error) == KV_LIMIT_EXCEEDED);
  CHECK(strcmp(kv_error_message(error).data,
               "The keys of a path have at most 1048576 bytes") == 0);
  kv_error_free(error);
  steps[0].key.length = KV_PATH_BYTES;
  CHECK(kv_store_set_integer(store, steps, 1, 1, NULL) == KV_OK);
  CHECK(kv_store_remove(store, steps, 1, NULL) == KV_OK);
  CHECK(kv_store_get(store, steps, 2, NULL, NULL, NULL) == KV_LIMIT_EXCEEDED);
  steps[0].key.length--;
  CHECK(kv_store_get(store, steps, 2, NULL, NULL, NULL) == KV_ABSENT);
  steps[0].key.length += 2;
  CHECK(kv_store_bool_for_key(store, steps->key, &value, NULL) ==
        KV_LIMIT_EXCEEDED);
  CHECK(kv_store_is_forced(store, steps, 1, &value, NULL) == KV_LIMIT_EXCEEDED);
  free(text);
  kv_store_free(store);
}

/* proves: G109 */
static void hold_no_more(void) {
  /* Flushed by this thread alone: until then changes are kept. */
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  options.durability = KV_MANUAL;
  kv_store *store = NULL;
  CHECK(kv_store_open(kv_string("held"), &options, &store, NULL) == KV_OK);
  kv_type *type = NULL;
  CHECK(kv_registry_type(NULL, kv_string("[String: Int]"), &type, NULL) ==
        KV_OK);
  for (int i = 0; i < 200; i++) work(store, type);
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 2000; i++) work(store, type);
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  size_t after = mallinfo2().uordblks;
  long growth = (long)after - (long)before;
  printf("# 2000 rounds: %ld bytes more\n", growth);
  CHECK_NAMED(growth < 4096, "what is held does not grow with the calls");
  kv_type_free(type);
  kv_store_free(store);
}

int main(void) {
  make_folder();
  options();
  engines("a.plist");
  engines("a.sqlite");
  updates();
  program_checks();
  transactions();
  limits();
  flushes();
  not_kept();
  refuse_long_paths();
  hold_no_more();
  remove_folder();
  return finish_checks();
}
