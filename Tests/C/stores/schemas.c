/* schemas.c: a store whose dictionary has a type; keys that an update keeps. */
#define _XOPEN_SOURCE 700
#include "check.h"

#include <stddef.h>

static kv_type *type_of(const char *declarations, const char *expression) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_type *type = NULL;
  CHECK(kv_registry_declare(registry, kv_string(declarations), kv_string(""),
                            NULL, NULL) == KV_OK);
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

/* proves: G54 */
static void refusals(void) {
  kv_store *store = open_settings(), *other = NULL;
  kv_step path[3] = {kv_key("window"), kv_key("tags"), kv_index(1)};
  kv_tree *seven = integer_tree(7), *all = NULL;
  kv_tree *expected = parse(
      "{\"window\": {\"width\": 1, \"tags\": [\"a\"]}, \"other\": [7],"
      " \"volume\": 7}");
  kv_error *error = NULL;
  CHECK(set(store, "window", "[{\"width\": 1, \"tags\": [\"a\"]}]", NULL) ==
        KV_OK);
  CHECK(set(store, "other", "[[7]]", NULL) == KV_OK);
  CHECK(set(store, "volume", "[11]", &error) == KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected 0...10 at volume, found 11"));
  CHECK(kv_store_set(store, path, 3, seven, NULL, 0, NULL, &error) ==
        KV_TYPE_MISMATCH);
  kv_step step;
  CHECK(path_length(error) == 3);
  CHECK(kv_error_path_step(error, 1, &step) == KV_OK);
  CHECK(text_equals(step.key, "tags"));
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected String at window.tags[1], found Int"));
  path[1] = kv_key("width");
  CHECK(kv_store_remove(store, path, 2, &error) == KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected Int at window.width, found nothing"));
  CHECK(kv_store_import(store, kv_string("{\"x\": 1, \"volume\": true}"), NULL,
                        &error) == KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected Int at volume, found Bool"));
  /* Another handle of it has the schema; one of the file has its own. */
  CHECK(kv_store_share(store, 0, NULL, 0, 0, &other, NULL) == KV_OK);
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
                   "Expected Int at window.width, found nothing"));
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
  /* A wrong stored value keeps no handle from opening. */
  store = open_settings();
  kv_step key = kv_key("volume");
  CHECK(kv_store_get(store, &key, 1, levels, NULL, NULL) == KV_TYPE_MISMATCH);
  CHECK(kv_store_get(store, &key, 1, NULL, NULL, NULL) == KV_TYPE_MISMATCH);
  kv_store_free(store);
  kv_tree_free(defaults);
  kv_type_free(levels);
  kv_type_free(wrong);
}

/* Whether the tree is this JSON, kinds included. */
static int is_json(const kv_tree *tree, const char *json) {
  kv_tree *expected = parse(json);
  int good = kv_tree_equal(tree, expected);
  kv_tree_free(expected);
  return good;
}

/* The same of the only element of an array, and the value that get gives. */
static int holds(const kv_store *store, kv_step key, const char *json) {
  kv_tree *found = NULL, *array = NULL;
  kv_builder *builder = kv_builder_new();
  kv_store_get(store, &key, 1, NULL, &found, NULL);
  kv_cursor root = kv_tree_root(found);
  kv_builder_begin_array(builder, NULL);
  kv_builder_cursor(builder, &root, NULL);
  kv_builder_end(builder, NULL);
  kv_builder_finish(builder, &array, NULL);
  int good = is_json(array, json);
  kv_builder_free(builder);
  kv_tree_free(array);
  kv_tree_free(found);
  return good;
}

static int text_of(kv_store *store, const kv_step *path, size_t steps,
                   const char *expected) {
  kv_bytes text = {NULL, 0};
  if (kv_store_get_string(store, path, steps, &text, NULL) != KV_OK) return 0;
  int good = strcmp(text.data, expected) == 0;
  kv_bytes_free(&text);
  return good;
}

static kv_store *open_typed(const char *file, const char *json) {
  kv_type *schema = type_of(
      "struct Window { width: Int = 640; title: String? @key(window_title);"
      " price: Decimal? }"
      "struct Settings { volume: Int(0...10) = 7; scale: Double?; on: Bool?;"
      " window: Window?; frame: Window; tags: [String]; any: Any? }",
      "Settings");
  kv_tree *defaults = json ? parse(json) : NULL;
  kv_store_options options = store_options(KV_ENGINE_AUTOMATIC);
  kv_store *store = NULL;
  options.schema = schema;
  options.defaults = defaults;
  CHECK(kv_store_open_file(kv_string(in_folder(file)), &options, &store,
                           NULL) == KV_OK);
  kv_type_free(schema);
  kv_tree_free(defaults);
  return store;
}

/* Paths of values that the schema of open_typed() has. */
static const kv_step volume = {{"volume", 6}, 0}, scale = {{"scale", 5}, 0};
static const kv_step width[] = {{{"window", 6}, 0}, {{"width", 5}, 0}};
static const kv_step title[] = {{{"window", 6}, 0}, {{"window_title", 12}, 0}};
static const kv_step price[] = {{{"window", 6}, 0}, {{"price", 5}, 0}};
static const kv_step framed[] = {{{"frame", 5}, 0}, {{"width", 5}, 0}};

/* Whether the store has a value of the kind at the path, as it is stored. */
static int stores(const kv_store *store, const kv_step *path, size_t steps,
                  kv_kind kind) {
  kv_type *any = type_of("", "Any");
  kv_tree *tree = NULL;
  kv_store_get(store, path, steps, any, &tree, NULL);
  kv_cursor root = kv_tree_root(tree);
  int good = tree && kv_cursor_kind(&root) == kind;
  kv_tree_free(tree);
  kv_type_free(any);
  return good;
}

/* Gets and sets of scalars without a type, by the schema's types. */
/* proves: G55 */
static void typed_scalars(void) {
  kv_store *store = open_typed("scalars.plist", "{\"scale\": 2}");
  int64_t integer = 0;
  double real = 0;
  CHECK(kv_store_get_integer(store, &volume, 1, &integer, NULL) == KV_OK);
  CHECK(integer == 7);
  CHECK(kv_store_get_real(store, &scale, 1, &real, NULL) == KV_OK);
  CHECK(real == 2);
  CHECK(kv_store_get_integer(store, width, 2, &integer, NULL) == KV_ABSENT);
  CHECK(kv_store_get_integer(store, framed, 2, &integer, NULL) == KV_OK);
  CHECK(integer == 640);
  /* A whole number becomes what the type holds. */
  CHECK(kv_store_set_integer(store, &scale, 1, 3, NULL) == KV_OK);
  CHECK(stores(store, &scale, 1, KV_REAL));
  CHECK(kv_store_set_real(store, width, 2, 2, NULL) == KV_OK);
  CHECK(stores(store, width, 2, KV_INTEGER));
  CHECK(kv_store_set_integer(store, price, 2, 5, NULL) == KV_OK);
  CHECK(text_of(store, price, 2, "5"));
  CHECK(kv_store_set_string(store, title, 2, kv_string("x"), NULL) == KV_OK);
  CHECK(text_of(store, title, 2, "x"));
  kv_store_free(store);
}

static void typed_containers(void) {
  kv_store *store = open_typed("containers.plist", NULL);
  /* The struct has its fields' names, and paths have stored keys. */
  CHECK(set(store, "window", "[{\"title\": \"y\", \"width\": 1}]", NULL) ==
        KV_OK);
  CHECK(text_of(store, title, 2, "y"));
  CHECK(holds(store, kv_key("window"), "[{\"title\": \"y\", \"width\": 1}]"));
  /* An empty dictionary is an empty array where the type has one. */
  CHECK(set(store, "tags", "[{}]", NULL) == KV_OK);
  CHECK(holds(store, kv_key("tags"), "[[]]"));
  kv_store_free(store);
}

/* A tree of a text. */
static kv_tree *text_tree(const char *text) {
  kv_builder *builder = kv_builder_new();
  kv_tree *tree = NULL;
  CHECK(kv_builder_string(builder, kv_string(text), NULL) == KV_OK);
  CHECK(kv_builder_finish(builder, &tree, NULL) == KV_OK);
  kv_builder_free(builder);
  return tree;
}

/* A value that is not of its type is the error of a get, and of a set. */
static void typed_wrong(void) {
  kv_store *store = open_typed("wrong.plist", NULL), *free_store = NULL;
  kv_tree *loud = text_tree("loud"), *tree = NULL;
  kv_error *error = NULL;
  int64_t integer = 0;
  CHECK(kv_store_open_file(kv_string(in_folder("wrong.plist")), NULL,
                           &free_store, NULL) == KV_OK);
  CHECK(kv_store_set(free_store, &volume, 1, loud, NULL, 0, NULL, NULL) ==
        KV_OK);
  CHECK(kv_store_get_integer(store, &volume, 1, &integer, &error) ==
        KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected Int at volume, found String"));
  CHECK(stores(store, &volume, 1, KV_STRING));
  CHECK(kv_store_set_integer(store, &volume, 1, 11, &error) ==
        KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected 0...10 at volume, found 11"));
  CHECK(kv_store_set_integer(store, &volume, 1, 1, NULL) == KV_OK);
  /* In a transaction, too. */
  CHECK(set(store, "window", "[{\"title\": \"y\"}]", NULL) == KV_OK);
  kv_transaction *transaction = NULL;
  CHECK(kv_store_begin(store, 0, &transaction, NULL) == KV_OK);
  CHECK(kv_transaction_set(transaction, &volume, 1, loud, NULL, 0, NULL,
                           &error) == KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected Int at volume, found String"));
  CHECK(kv_transaction_get(transaction, title, 1, NULL, &tree, NULL) == KV_OK);
  kv_cursor root = kv_tree_root(tree);
  CHECK(kv_cursor_key(&root, kv_string("title"), NULL) == KV_OK);
  kv_tree_free(tree);
  kv_transaction_rollback(transaction);
  kv_tree_free(loud);
  kv_store_free(free_store);
  kv_store_free(store);
}

/* Types and keys of places. */
static void typed_places(void) {
  kv_store *store = open_typed("places.plist", NULL), *free_store = NULL;
  kv_step field[] = {kv_key("window"), kv_key("title")};
  kv_tree *text = text_tree("y"), *tree = NULL;
  kv_type *type = NULL;
  CHECK(set(store, "window", "[{\"title\": \"y\"}]", NULL) == KV_OK);
  CHECK(kv_store_open_file(kv_string(in_folder("places.plist")), NULL,
                           &free_store, NULL) == KV_OK);
  CHECK(kv_store_type_at(store, title, 2, &type, NULL) == KV_OK);
  CHECK(kv_type_decode(type, text, NULL, NULL) == KV_OK);
  kv_type_free(type);
  CHECK(kv_store_type_at(store, field, 2, &type, NULL) == KV_ABSENT);
  CHECK(kv_store_type_at(free_store, &volume, 1, &type, NULL) == KV_ABSENT);
  CHECK(kv_store_keys(store, framed, 1, &tree, NULL) == KV_OK);
  CHECK(is_json(tree, "[\"width\"]"));
  kv_tree_free(tree);
  CHECK(kv_store_keys(store, field, 2, &tree, NULL) == KV_ABSENT);
  CHECK(kv_store_snapshot(store, &tree, NULL) == KV_OK);
  kv_cursor root = kv_tree_root(tree);
  CHECK(kv_cursor_path(&root, framed, 2, NULL) == KV_OK);
  kv_tree_free(tree);
  kv_tree_free(text);
  kv_store_free(free_store);
  kv_store_free(store);
}

static char told[400];

static void note(void *name, const kv_step *path, size_t steps,
                 const kv_tree *old_value, const kv_tree *new_value) {
  kv_bytes text = {NULL, 0};
  size_t used = strlen(told);
  kv_tree *whole = NULL;
  kv_builder *builder = kv_builder_new();
  kv_cursor root = kv_tree_root(new_value);
  (void)old_value;
  kv_builder_begin_array(builder, NULL);
  if (new_value) kv_builder_cursor(builder, &root, NULL);
  kv_builder_end(builder, NULL);
  kv_builder_finish(builder, &whole, NULL);
  kv_encode(whole, KV_FORMAT_JSON, NULL, &text, NULL);
  kv_str last = path[steps - 1].key;
  snprintf(told + used, sizeof told - used, "%s %.*s %s;", (const char *)name,
           (int)last.length, last.data, text.data);
  kv_bytes_free(&text);
  kv_tree_free(whole);
  kv_builder_free(builder);
}

static void watched(void) {
  kv_store *store = open_typed("watched.plist", NULL);
  kv_step window = kv_key("window");
  kv_watch *watches[4] = {NULL};
  kv_error *error = NULL;
  CHECK(set(store, "window", "[{\"title\": \"a\", \"width\": 640}]", NULL) ==
        KV_OK);
  CHECK(kv_store_watch(store, &window, 1, KV_SCOPE_VALUE, note, "value",
                       &watches[0], NULL) == KV_OK);
  CHECK(kv_store_watch(store, &window, 1, KV_SCOPE_SUBTREE, note, "below",
                       &watches[1], NULL) == KV_OK);
  CHECK(kv_store_watch(store, &window, 1, KV_SCOPE_STORED, note, "stored",
                       &watches[2], NULL) == KV_OK);
  CHECK(kv_store_watch(store, &volume, 1, KV_SCOPE_VALUE, note, "volume",
                       &watches[3], NULL) == KV_OK);
  CHECK(set(store, "window", "[{\"title\": \"b\", \"width\": 640}]", NULL) ==
        KV_OK);
  CHECK(kv_store_pump(store, NULL, NULL) == KV_OK);
  CHECK(!strcmp(told,
                "value window [{\"title\":\"b\",\"width\":640}];"
                "below window_title [\"b\"];"
                "stored window [{\"width\":640,\"window_title\":\"b\"}];"));
  printf("# %s\n", told);
  told[0] = 0;
  kv_store *other = NULL;
  kv_tree *wrong = parse("{\"volume\": \"loud\", \"window\": {}}");
  CHECK(kv_store_open_file(kv_string(in_folder("watched.plist")), NULL, &other,
                           NULL) == KV_OK);
  CHECK(kv_store_set(other, NULL, 0, wrong, NULL, 0, NULL, NULL) == KV_OK);
  CHECK(kv_store_pump(store, NULL, &error) == KV_TYPE_MISMATCH);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Expected Int at volume, found String"));
  CHECK(!strcmp(told,
                "value window [{\"width\":640}];"
                "below window_title [];"
                "stored window [{\"width\":640}];"));
  printf("# %s\n", told);
  for (int i = 0; i < 4; i++) kv_watch_cancel(watches[i]);
  kv_tree_free(wrong);
  kv_store_free(other);
  kv_store_free(store);
}

/* A watch of all that is stored has the defaults that are not; a part that is
 * reset has them again. */
static void resets(void) {
  kv_store *store = open_typed("resets.plist", "{\"window\": {\"width\": 3}}");
  kv_watch *watch = NULL;
  int64_t integer = 0;
  kv_tree *own = NULL;
  told[0] = 0;
  CHECK(kv_store_watch(store, NULL, 0, KV_SCOPE_STORED, note, "all", &watch,
                       NULL) == KV_OK);
  CHECK(kv_store_set_integer(store, framed, 2, 5, NULL) == KV_OK);
  CHECK(kv_store_pump(store, NULL, NULL) == KV_OK);
  CHECK(kv_store_reset(store, framed, 2, NULL) == KV_OK);
  CHECK(kv_store_pump(store, NULL, NULL) == KV_OK);
  CHECK(
      !strcmp(told, "all frame [{\"width\":5}];all frame [{\"width\":640}];"));
  CHECK(kv_store_get_integer(store, framed, 2, &integer, NULL) == KV_OK);
  CHECK(integer == 640);
  CHECK(kv_store_reset(store, framed, 2, NULL) == KV_ABSENT);
  CHECK(kv_store_set_integer(store, width, 2, 5, NULL) == KV_OK);
  CHECK(kv_store_set_string(store, title, 2, kv_string("x"), NULL) == KV_OK);
  CHECK(kv_store_reset(store, width, 2, NULL) == KV_OK);
  CHECK(kv_store_get_integer(store, width, 2, &integer, NULL) == KV_OK);
  CHECK(integer == 3 && text_of(store, title, 2, "x"));
  CHECK(kv_store_reset(store, title, 2, NULL) == KV_OK);
  CHECK(kv_store_layer(store, KV_LAYER_APPLICATION, 0, &own, NULL) == KV_OK);
  CHECK(is_json(own, "{}"));
  kv_tree_free(own);
  kv_watch_cancel(watch);
  kv_store_free(store);
}

static void parts_of_types(void) {
  kv_type *type = type_of(
      "struct A { b: [String: B]; c: Int = 4 } struct B { d: [Int] @key(e) }",
      "A");
  kv_type *part = NULL;
  kv_step path[] = {kv_key("b"), kv_key("any"), kv_key("e"), kv_index(3)};
  kv_step c = kv_key("c");
  kv_store *store = memory_store();
  kv_tree *tree = NULL;
  kv_error *error = NULL;
  CHECK(kv_type_at(type, path, 4, &part, NULL) == KV_OK);
  kv_tree *number = integer_tree(1);
  CHECK(kv_type_decode(part, number, NULL, NULL) == KV_OK);
  kv_type_free(part);
  /* With its default. */
  CHECK(kv_type_at(type, &c, 1, &part, NULL) == KV_OK);
  CHECK(kv_store_get(store, &c, 1, part, &tree, NULL) == KV_OK);
  kv_cursor root = kv_tree_root(tree);
  int64_t four = 0;
  CHECK(kv_cursor_integer(&root, &four) == KV_OK && four == 4);
  kv_type_free(part);
  kv_tree_free(tree);
  path[2] = kv_key("d");
  CHECK(kv_type_at(type, path, 3, &part, &error) == KV_ABSENT && !error);
  kv_tree_free(number);
  kv_type_free(type);
  kv_store_free(store);
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
  CHECK(kv_store_import(store, kv_string(json), NULL, NULL) == KV_OK);
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
  typed_scalars();
  typed_containers();
  typed_wrong();
  typed_places();
  watched();
  resets();
  parts_of_types();
  dropped();
  remove_folder();
  return finish_checks();
}
