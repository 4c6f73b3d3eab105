/* scalars.c: scalars in and out of a store without a tree. */
#define _XOPEN_SOURCE 700
#include <limits.h>
#include <math.h>

#include "check.h"

static int has_text(const kv_store *store, const kv_step *path, size_t steps,
                    const char *expected, size_t length) {
  kv_bytes text = {NULL, 0};
  int good = kv_store_get_string(store, path, steps, &text, NULL) == KV_OK &&
             text.length == length && !memcmp(text.data, expected, length) &&
             text.data[length] == 0;
  kv_bytes_free(&text);
  return good;
}

/* Whether the store has this JSON at the key, kinds included. */
static int holds(const kv_store *store, kv_step key, const char *json) {
  kv_tree *all = parse(json), *found = NULL;
  kv_cursor root = kv_tree_root(all), first;
  kv_tree *expected = NULL;
  uint64_t at = 0;
  kv_cursor_next(&root, &at, &first);
  kv_cursor_copy(&first, &expected);
  kv_store_get(store, &key, 1, NULL, &found, NULL);
  int good = expected && kv_tree_equal(found, expected);
  kv_tree_free(all);
  kv_tree_free(expected);
  kv_tree_free(found);
  return good;
}

static void kinds(void) {
  kv_store *store = memory_store();
  kv_step key = kv_key("n");
  CHECK(kv_store_set_boolean(store, &key, 1, 1, NULL) == KV_OK);
  CHECK(holds(store, key, "[true]"));
  CHECK(kv_store_set_boolean(store, &key, 1, INT_MIN, NULL) == KV_OK);
  CHECK(holds(store, key, "[true]"));
  CHECK(kv_store_set_boolean(store, &key, 1, 0, NULL) == KV_OK);
  CHECK(holds(store, key, "[false]"));
  CHECK(kv_store_set_integer(store, &key, 1, INT64_MIN, NULL) == KV_OK);
  CHECK(holds(store, key, "[-9223372036854775808]"));
  CHECK(kv_store_set_integer(store, &key, 1, 1, NULL) == KV_OK);
  CHECK(holds(store, key, "[1]"));
  CHECK(kv_store_set_real(store, &key, 1, 1, NULL) == KV_OK);
  CHECK(holds(store, key, "[1.0]"));
  CHECK(kv_store_set_string(store, &key, 1, kv_string("h\xC3\xA9"), NULL) ==
        KV_OK);
  CHECK(holds(store, key, "[\"h\xC3\xA9\"]"));
  CHECK(has_text(store, &key, 1, "h\xC3\xA9", 3));
  CHECK(kv_store_set_string(store, &key, 1, kv_string(NULL), NULL) == KV_OK);
  CHECK(holds(store, key, "[\"\"]") && has_text(store, &key, 1, "", 0));
  kv_store_free(store);
}

static void real_numbers(const char *name) {
  static const double values[] = {0.1, -0.0, 5e-324, 1.7976931348623157e308};
  kv_step key = kv_key("n");
  double found;
  for (int i = 0; i < 6; i++) {
    double value = i < 4 ? values[i] : i == 4 ? -INFINITY : NAN;
    kv_store *store = NULL;
    CHECK(kv_store_open_file(kv_string(in_folder(name)), NULL, &store, NULL) ==
          KV_OK);
    CHECK(kv_store_set_real(store, &key, 1, value, NULL) == KV_OK);
    CHECK(kv_store_close(store, NULL) == KV_OK);
    kv_store_free(store);
    CHECK(kv_store_open_file(kv_string(in_folder(name)), NULL, &store, NULL) ==
          KV_OK);
    CHECK(kv_store_get_real(store, &key, 1, &found, NULL) == KV_OK);
    CHECK_NAMED(
        isnan(value) ? isnan(found) : memcmp(&found, &value, sizeof found) == 0,
        "a real comes back from the file, bit for bit");
    kv_store_free(store);
  }
}

/* What the format of the store's file cannot hold is refused at once. */
static void unfit_values(void) {
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_store *json = NULL, *xml = memory_store();
  kv_step key = kv_key("n");
  kv_str control = {"a\0b", 3}, latin = {"caf\xE9", 4};
  kv_error *error = NULL;
  options.format = KV_FORMAT_JSON;
  CHECK(kv_store_open_file(kv_string("a"), &options, &json, NULL) == KV_OK);
  CHECK(kv_store_set_real(json, &key, 1, INFINITY, &error) == KV_INVALID_VALUE);
  CHECK(error_says(error, KV_INVALID_VALUE, "JSON cannot hold inf at n"));
  CHECK(kv_store_set_string(json, &key, 1, control, NULL) == KV_OK);
  CHECK(has_text(json, &key, 1, "a\0b", 3));
  CHECK(kv_store_set_string(xml, &key, 1, control, &error) == KV_INVALID_VALUE);
  CHECK(error_says(error, KV_INVALID_VALUE,
                   "XML cannot hold a control character in a string at n; a "
                   "binary store can"));
  CHECK(kv_store_set_string(xml, &key, 1, latin, &error) == KV_INVALID_VALUE);
  CHECK(error_says(error, KV_INVALID_VALUE,
                   "Expected UTF-8 in a string at n, found invalid bytes after "
                   "3; use data for bytes"));
  CHECK(kv_store_set_integer(xml, NULL, 0, 1, &error) == KV_INVALID_VALUE);
  CHECK(error_says(error, KV_INVALID_VALUE,
                   "Expected Dictionary at the root, found Int"));
  kv_store_free(json);
  kv_store_free(xml);
}

static void paths(void) {
  enum { levels = 600 };
  kv_store *store = memory_store();
  kv_step path[levels] = {kv_key("a"), kv_key("b"), kv_key("c")};
  kv_error *error = NULL;
  int64_t number = 0;
  CHECK(kv_store_set_integer(store, path, 3, 7, NULL) == KV_OK);
  CHECK(kv_store_get_integer(store, path, 3, &number, NULL) == KV_OK);
  CHECK(number == 7);
  CHECK(kv_store_set_boolean(store, path, 2, 1, NULL) == KV_OK);
  CHECK(kv_store_set_string(store, path, 3, kv_string("x"), &error) ==
        KV_PATH_MISMATCH);
  CHECK(error_says(error, KV_PATH_MISMATCH,
                   "Expected Dictionary at a.b, found Bool"));
  CHECK(holds(store, path[0], "[{\"b\": true}]"));
  path[0] = kv_index(0);
  CHECK(kv_store_set_integer(store, path, 1, 7, NULL) == KV_PATH_MISMATCH);
  for (int i = 0; i < levels; i++) path[i] = kv_key("k");
  CHECK(kv_store_set_real(store, path, 511, 7, NULL) == KV_OK);
  CHECK(kv_store_get_integer(store, path, 511, NULL, NULL) == KV_TYPE_MISMATCH);
  CHECK(kv_store_set_real(store, path, levels, 7, NULL) == KV_LIMIT_EXCEEDED);
  path[1].key.data = "\xFF";
  CHECK(kv_store_set_real(store, path, 2, 7, &error) == KV_INVALID_ARGUMENT);
  CHECK(
      error_says(error, KV_INVALID_ARGUMENT, "a key of the path is not UTF-8"));
  CHECK(kv_store_set_real(store, &path[1], 1, 7, NULL) == KV_INVALID_ARGUMENT);
  kv_store_free(store);
}

/* All four on one store, which refuses them in the same way. */
static int all_give(kv_store *store, kv_status expected) {
  kv_step key = kv_key("n");
  return kv_store_set_boolean(store, &key, 1, 1, NULL) == expected &&
         kv_store_set_integer(store, &key, 1, 1, NULL) == expected &&
         kv_store_set_real(store, &key, 1, 1, NULL) == expected &&
         kv_store_set_string(store, &key, 1, kv_string("a"), NULL) == expected;
}

static int refuse(void *context, const kv_step *path, size_t steps,
                  const kv_tree *value) {
  return context == NULL && path != NULL && steps == 1 && value != NULL;
}

static void refusals(void) {
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_store *store = NULL, *reader = NULL;
  options.check = refuse;
  CHECK(kv_store_open_file(kv_string("a"), &options, &store, NULL) == KV_OK);
  CHECK(all_give(store, KV_REFUSED));
  CHECK(kv_store_share(store, KV_READ_ONLY_HANDLE, NULL, 0, 0, &reader, NULL) ==
        KV_OK);
  CHECK(all_give(reader, KV_READ_ONLY));
  kv_store_free(reader);
  CHECK(kv_store_close(store, NULL) == KV_OK);
  CHECK(all_give(store, KV_CLOSED));
  CHECK(kv_store_get_string(store, NULL, 0, NULL, NULL) == KV_CLOSED);
  kv_store_free(store);
  write_file(in_folder("managed.plist"), "{\"n\": [1]}");
  options = store_options(KV_ENGINE_MEMORY);
  options.managed_file = kv_string(in_folder("managed.plist"));
  CHECK(kv_store_open_file(kv_string("a"), &options, &store, NULL) == KV_OK);
  CHECK(all_give(store, KV_FORCED));
  kv_store_free(store);
  CHECK(all_give(NULL, KV_INVALID_ARGUMENT));
}

static void schemas(void) {
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_type *schema = NULL;
  kv_store *store = NULL;
  kv_step volume = kv_key("volume");
  kv_error *error = NULL;
  CHECK(kv_registry_declare(
            registry, kv_string("struct Settings { volume: Int(0...10) = 7 }"),
            kv_string(""), NULL, NULL) == KV_OK);
  CHECK(kv_registry_type(registry, kv_string("Settings"), &schema, NULL) ==
        KV_OK);
  options.schema = schema;
  CHECK(kv_store_open_file(kv_string("a"), &options, &store, NULL) == KV_OK);
  CHECK(kv_store_set_integer(store, &volume, 1, 10, NULL) == KV_OK);
  CHECK(kv_store_set_integer(store, &volume, 1, 11, &error) ==
        KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected 0...10 at volume, found 11"));
  CHECK(kv_store_set_string(store, &volume, 1, kv_string("3"), &error) ==
        KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected Int at volume, found String"));
  CHECK(holds(store, volume, "[10]"));
  kv_store_free(store);
  kv_type_free(schema);
  kv_registry_free(registry);
}

static void strings(void) {
  kv_store *store = new_store("{\"n\": 5, \"list\": [\"a\", \"b\"]}");
  kv_step key = kv_key("n"), path[2] = {kv_key("list"), kv_index(1)};
  kv_bytes text = {NULL, 0};
  kv_error *error = NULL;
  CHECK(kv_store_get_string(store, &key, 1, &text, &error) == KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH, "Expected String at n, found Int"));
  CHECK(has_text(store, path, 2, "b", 1));
  CHECK(kv_store_get_string(store, path, 2, NULL, NULL) == KV_OK);
  path[1] = kv_index(2);
  CHECK(kv_store_get_string(store, path, 2, &text, &error) == KV_ABSENT);
  CHECK(text.data == NULL && error == NULL);
  CHECK(kv_store_set_string(store, path, 2, kv_string("c"), NULL) == KV_OK);
  CHECK(holds(store, path[0], "[[\"a\", \"b\", \"c\"]]"));
  kv_store_free(store);
}

/* Whether a number is read as the tree of the value has it: of the same kind and
 * size, or absent, or refused. */
static int is_as_in_tree(const kv_store *store, const char *name) {
  kv_step key = kv_key(name);
  kv_tree *tree = NULL;
  int64_t number = -7, expected = -7;
  double real = -7, expected_real = -7;
  int boolean = -7, expected_boolean = -7;
  kv_status statuses[3], wanted[3];
  kv_status status = kv_store_get(store, &key, 1, NULL, &tree, NULL);
  statuses[0] = kv_store_get_integer(store, &key, 1, &number, NULL);
  statuses[1] = kv_store_get_real(store, &key, 1, &real, NULL);
  statuses[2] = kv_store_get_boolean(store, &key, 1, &boolean, NULL);
  kv_cursor root = kv_tree_root(tree);
  wanted[0] = status ? status : kv_cursor_integer(&root, &expected);
  wanted[1] = status ? status : kv_cursor_real(&root, &expected_real);
  wanted[2] = status ? status : kv_cursor_boolean(&root, &expected_boolean);
  kv_tree_free(tree);
  return memcmp(statuses, wanted, sizeof wanted) == 0 && number == expected &&
         real == expected_real && boolean == expected_boolean;
}

static int are_as_in_trees(const kv_store *store) {
  static const char *const names[] = {"b", "i", "r", "s", "d", "none", "", "é"};
  int good = 0;
  for (size_t i = 0; i < 8; i++) good += is_as_in_tree(store, names[i]);
  return good == 8;
}

/* Read from where they are: what was set, what is written, what was loaded, what
 * was changed inside or taken away, a lower layer. */
static void everywhere(const char *name, kv_engine engine) {
  static const char all[] =
      "{\"b\": true, \"i\": 7, \"r\": 0.5, \"s\": \"x\", \"d\": {\"a\": 1}}";
  kv_store_options options = store_options(engine);
  kv_tree *defaults = parse("{\"\": 9, \"none\": 2.5, \"i\": false}");
  kv_step keys[2] = {kv_key("d"), kv_key("a")};
  kv_step i = kv_key("i"), r = kv_key("r"), s = kv_key("s");
  int64_t number = 0;
  kv_store *store = NULL;
  for (int loaded = 0; loaded < 2; loaded++) {
    options.defaults = loaded ? defaults : NULL;
    CHECK(kv_store_open_file(kv_string(in_folder(name)), &options, &store,
                             NULL) == KV_OK);
    if (!loaded || engine == KV_ENGINE_MEMORY)
      CHECK(kv_store_import(store, kv_string(all), NULL, NULL) == KV_OK);
    CHECK(are_as_in_trees(store));
    CHECK(kv_store_get_integer(store, &i, 1, &number, NULL) == KV_OK);
    CHECK(number == 7);
    CHECK(kv_store_sync(store, NULL) == KV_OK && are_as_in_trees(store));
    CHECK(kv_store_set_real(store, keys, 2, 2, NULL) == KV_OK);
    CHECK(kv_store_remove(store, &i, 1, NULL) == KV_OK);
    CHECK(kv_store_set_boolean(store, &r, 1, 1, NULL) == KV_OK);
    CHECK(kv_store_set_integer(store, &s, 1, INT64_MAX, NULL) == KV_OK);
    CHECK(are_as_in_trees(store));
    CHECK(kv_store_sync(store, NULL) == KV_OK && are_as_in_trees(store));
    CHECK(kv_store_get_integer(store, &i, 1, &number, NULL) ==
          (loaded ? KV_TYPE_MISMATCH : KV_ABSENT));
    CHECK(kv_store_import(store, kv_string(all), NULL, NULL) == KV_OK);
    CHECK(kv_store_close(store, NULL) == KV_OK);
    kv_store_free(store);
  }
  kv_tree_free(defaults);
}

static void told(void *context, const kv_step *path, size_t steps,
                 const kv_tree *old_value, const kv_tree *new_value) {
  (void)path, (void)steps, (void)old_value, (void)new_value;
  *(int *)context += 1;
}

/* A value that is there already is no change. */
static void watches(void) {
  kv_store *store = memory_store();
  kv_step key = kv_key("n");
  kv_watch *watch = NULL;
  int calls = 0;
  CHECK(kv_store_set_integer(store, &key, 1, 7, NULL) == KV_OK);
  CHECK(kv_store_watch(store, &key, 1, KV_SCOPE_VALUE, told, &calls, &watch,
                       NULL) == KV_OK);
  CHECK(kv_store_set_integer(store, &key, 1, 7, NULL) == KV_OK);
  CHECK(kv_store_pump(store, NULL, NULL) == KV_OK && calls == 0);
  CHECK(kv_store_set_real(store, &key, 1, 7, NULL) == KV_OK);
  CHECK(kv_store_pump(store, NULL, NULL) == KV_OK && calls == 1);
  kv_watch_cancel(watch);
  kv_store_free(store);
}

/* On the thread that began it, the store's own functions belong to it. */
static void transactions(void) {
  kv_store *store = new_store("{\"n\": 1}");
  kv_step key = kv_key("n");
  kv_transaction *transaction = NULL;
  int64_t number = 0;
  for (int commits = 0; commits < 2; commits++) {
    CHECK(kv_store_begin(store, 1, &transaction, NULL) == KV_OK);
    CHECK(kv_store_get_integer(store, &key, 1, &number, NULL) == KV_OK);
    CHECK(kv_store_set_integer(store, &key, 1, number + 1, NULL) == KV_OK);
    CHECK(kv_store_get_integer(store, &key, 1, &number, NULL) == KV_OK);
    CHECK(number == 2);
    if (commits) {
      CHECK(kv_transaction_commit(transaction, NULL) == KV_OK);
    } else {
      kv_transaction_rollback(transaction);
    }
    CHECK(kv_store_get_integer(store, &key, 1, &number, NULL) == KV_OK);
    CHECK(number == 1 + commits);
  }
  kv_store_free(store);
}

/* A fallback for all that is no value of the kind: nothing, another kind, a path
 * that leads through a scalar, no store. */
/* proves: G105 */
static void fallbacks(void) {
  kv_store *store = new_store(
      "{\"b\": true, \"i\": 7, \"r\": 0.5, \"s\": \"four\", \"d\": {\"a\": 1}, "
      "\"e\": \"\"}");
  kv_step b = kv_key("b"), i = kv_key("i"), r = kv_key("r"), s = kv_key("s");
  kv_step e = kv_key("e"), none = kv_key("none");
  kv_step in[2] = {kv_key("d"), kv_key("a")}, through[2] = {s, in[1]};
  char text[5] = "old";
  CHECK(kv_store_get_boolean_or(store, &b, 1, 0) == 1);
  CHECK(kv_store_get_boolean_or(store, &none, 1, 5) == 5);
  CHECK(kv_store_get_boolean_or(store, &i, 1, 0) == 0);
  CHECK(kv_store_get_integer_or(store, &i, 1, -1) == 7);
  CHECK(kv_store_get_integer_or(store, in, 2, -1) == 1);
  CHECK(kv_store_get_integer_or(store, &r, 1, INT64_MIN) == INT64_MIN);
  CHECK(kv_store_get_integer_or(store, through, 2, -1) == -1);
  CHECK(kv_store_get_real_or(store, &r, 1, -1) == 0.5);
  CHECK(kv_store_get_real_or(store, &i, 1, -1) == 7);
  CHECK(kv_store_get_real_or(store, &s, 1, 2.5) == 2.5);
  CHECK(kv_store_get_real_or(NULL, &r, 1, 2.5) == 2.5);
  CHECK(!strcmp(kv_store_get_string_or(store, &none, 1, text, 5, "x"), "x"));
  CHECK(!strcmp(kv_store_get_string_or(store, &i, 1, text, 5, "x"), "x"));
  CHECK(!strcmp(kv_store_get_string_or(store, &s, 1, text, 4, "x"), "x"));
  CHECK(!strcmp(kv_store_get_string_or(store, &s, 1, NULL, 5, "x"), "x"));
  CHECK(!kv_store_get_string_or(store, &none, 1, text, 5, NULL));
  CHECK(!strcmp(text, "old"));
  CHECK(kv_store_get_string_or(store, &s, 1, text, 5, "x") == text &&
        !strcmp(text, "four"));
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_str nul = {"a\0b", 3};
  kv_store *json = NULL;
  options.format = KV_FORMAT_JSON;
  CHECK(kv_store_open_file(kv_string("a"), &options, &json, NULL) == KV_OK);
  CHECK(kv_store_set_string(json, &s, 1, nul, NULL) == KV_OK);
  CHECK(!strcmp(kv_store_get_string_or(json, &s, 1, text, 5, "x"), "x"));
  kv_store_free(json);
  CHECK(kv_store_get_string_or(store, &e, 1, text, 1, "x") == text && !*text);
  kv_store_close(store, NULL);
  CHECK(kv_store_get_integer_or(store, &i, 1, 3) == 3);
  kv_store_free(store);
}

int main(void) {
  make_folder();
  kinds();
  real_numbers("a.plist");
  real_numbers("a.sqlite");
  unfit_values();
  paths();
  refusals();
  schemas();
  strings();
  fallbacks();
  everywhere("b", KV_ENGINE_MEMORY);
  everywhere("b.plist", KV_ENGINE_PROPERTY_LIST);
  everywhere("b.sqlite", KV_ENGINE_SQLITE);
  watches();
  transactions();
  remove_folder();
  return finish_checks();
}
