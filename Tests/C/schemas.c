/* schemas.c: a store whose dictionary has a type, and what an update keeps. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <stddef.h>

static kv_type *type_of(const char *declarations, const char *expression) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_type *type = NULL;
  CHECK(kv_registry_declare(registry, kv_string(declarations), NULL) == KV_OK);
  CHECK(kv_registry_type(registry, kv_string(expression), &type, NULL) ==
        KV_OK);
  kv_registry_free(registry);
  return type;
}

static kv_status opened(const kv_type *schema, const kv_tree *defaults,
                        size_t size, kv_store **store, kv_error **error) {
  kv_store_options options = store_options(KV_ENGINE_AUTOMATIC);
  options.schema = schema;
  options.defaults = defaults;
  options.size = size;
  return kv_store_open_file(kv_string(in_folder("a.plist")), &options, store,
                            error);
}

static kv_store *open_settings(void) {
  kv_type *schema = type_of(
      "struct Window { width: Int; tags: [String] = [] }"
      "struct Settings { volume: Int(0...10) = 7; window: Window? }",
      "Settings");
  kv_store *store = NULL;
  CHECK(opened(schema, NULL, sizeof(kv_store_options), &store, NULL) == KV_OK);
  kv_type_free(schema);
  return store;
}

static kv_status set(kv_store *store, const char *key, const char *json,
                     kv_error **error) {
  kv_step step = kv_key(key);
  kv_tree *value = parse(json), *element = NULL;
  kv_cursor root = kv_tree_root(value), first;
  uint64_t at = 0;
  CHECK(kv_cursor_next(&root, &at, &first) == KV_OK);
  CHECK(kv_cursor_copy(&first, &element) == KV_OK);
  kv_status status =
      kv_store_set(store, &step, 1, element, NULL, 0, NULL, error);
  kv_tree_free(element);
  kv_tree_free(value);
  return status;
}

static void refusals(void) {
  kv_store *store = open_settings(), *other = NULL;
  kv_step path[3] = {kv_key("window"), kv_key("tags"), kv_index(1)};
  kv_tree *seven = integer_tree(7), *all = NULL;
  kv_tree *expected =
      parse("{\"window\": {\"width\": 1, \"tags\": [\"a\"]}, \"other\": [7]}");
  kv_error *error = NULL;
  CHECK(set(store, "window", "[{\"width\": 1, \"tags\": [\"a\"]}]", NULL) ==
        KV_OK);
  CHECK(set(store, "other", "[[7]]", NULL) == KV_OK);
  CHECK(set(store, "volume", "[11]", &error) == KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected 0...10 at volume, found 11"));
  CHECK(kv_store_set(store, path, 3, seven, NULL, 0, NULL, &error) ==
        KV_TYPE_MISMATCH);
  kv_step place;
  CHECK(kv_error_path_count(error) == 3);
  CHECK(kv_error_path_step(error, 1, &place) == KV_OK);
  CHECK(text_equals(place.key, "tags"));
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected String at window.tags[1], found Int"));
  path[1] = kv_key("width");
  CHECK(kv_store_remove(store, path, 2, &error) == KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Dictionary does not contain key window.width"));
  CHECK(kv_store_import(store, kv_string("{\"x\": 1, \"volume\": true}"),
                        &error) == KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected Int at volume, found Bool"));
  /* Another handle of it has the schema; one of the file has its own. */
  CHECK(kv_store_share(store, 0, &other, NULL) == KV_OK);
  CHECK(set(other, "volume", "[11]", NULL) == KV_TYPE_MISMATCH);
  kv_store_free(other);
  CHECK(kv_store_snapshot(store, &all, NULL) == KV_OK);
  CHECK(kv_tree_equal(all, expected));
  kv_tree_free(all);
  kv_tree_free(expected);
  kv_tree_free(seven);
  kv_store_free(store);
}

static void transactions(void) {
  kv_store *store = open_settings();
  kv_transaction *transaction = NULL;
  kv_step width[2] = {kv_key("window"), kv_key("width")};
  kv_tree *seven = integer_tree(7);
  kv_error *error = NULL;
  CHECK(kv_store_begin(store, 0, &transaction, NULL) == KV_OK);
  CHECK(kv_transaction_remove(transaction, width, 2, NULL) == KV_OK);
  CHECK(kv_transaction_set(transaction, width, 2, seven, NULL, 0, NULL, NULL) ==
        KV_OK);
  CHECK(kv_transaction_commit(transaction, NULL) == KV_OK);
  CHECK(kv_store_begin(store, 0, &transaction, NULL) == KV_OK);
  CHECK(kv_transaction_remove(transaction, width, 2, NULL) == KV_OK);
  CHECK(kv_transaction_commit(transaction, &error) == KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Dictionary does not contain key window.width"));
  int64_t number = 0;
  CHECK(kv_store_get_integer(store, width, 2, &number, NULL) == KV_OK);
  CHECK(number == 7);
  kv_tree_free(seven);
  kv_store_free(store);
}

/* An older program's options end before the schema; a type that is none. */
static void options(void) {
  kv_type *wrong = type_of("enum Theme: String { light, dark }", "Theme");
  kv_type *levels = type_of("", "[String: Int]");
  kv_tree *defaults = parse("{\"a\": true}");
  kv_store *store = NULL;
  kv_error *error = NULL;
  size_t old = offsetof(kv_store_options, schema);
  CHECK(opened(wrong, NULL, old, &store, NULL) == KV_OK);
  CHECK(set(store, "volume", "[\"loud\"]", NULL) == KV_OK);
  kv_store_free(store);
  CHECK(opened(wrong, NULL, sizeof(kv_store_options), &store, &error) ==
        KV_INVALID_TYPE);
  CHECK(error_says(error, KV_INVALID_TYPE,
                   "Expected a struct or a dictionary as a store's schema, "
                   "found Theme"));
  CHECK(opened(levels, defaults, sizeof(kv_store_options), &store, &error) ==
        KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH, "Expected Int at a, found Bool"));
  /* What is wrong already keeps nobody from opening. */
  store = open_settings();
  kv_step key = kv_key("volume");
  CHECK(kv_store_get(store, &key, 1, levels, NULL, NULL) == KV_TYPE_MISMATCH);
  kv_store_free(store);
  kv_tree_free(defaults);
  kv_type_free(levels);
  kv_type_free(wrong);
}

static int give_one(void *context, const kv_tree *old, kv_tree **changed) {
  (void)context;
  (void)old;
  *changed = parse("[{\"n\": 2}]");
  return 0;
}

/* Two elements hold what the type does not know, and one can be matched. */
static void dropped(void) {
  const char *json = "{\"list\": [{\"n\": 1, \"x\": 1}, {\"n\": 2, \"x\": 2}]}";
  kv_type *type = type_of("struct One { n: Int }", "[One]");
  kv_store *store = new_store(json);
  kv_step key = kv_key("list");
  size_t count = 99;
  CHECK(kv_store_update(store, &key, 1, type, 0, give_one, NULL, &count,
                        NULL) == KV_OK);
  CHECK(count == 1);
  CHECK(kv_store_import(store, kv_string(json), NULL) == KV_OK);
  CHECK(kv_store_update(store, &key, 1, type, KV_REPLACE, give_one, NULL,
                        &count, NULL) == KV_OK);
  CHECK(count == 0);
  count = 99;
  CHECK(kv_store_update(store, &key, 1, NULL, 0, give_one, NULL, &count,
                        NULL) == KV_OK);
  CHECK_NAMED(count == 0, "without a type nothing is dropped");
  count = 99;
  CHECK(kv_store_update(store, &key, 1, type, 64, give_one, NULL, &count,
                        NULL) == KV_INVALID_ARGUMENT);
  CHECK(count == 99);
  kv_type_free(type);
  kv_store_free(store);
}

int main(void) {
  make_folder();
  refusals();
  transactions();
  options();
  dropped();
  remove_folder();
  return finish_checks();
}
