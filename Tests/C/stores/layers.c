/* layers.c: layers, converting getters, whole stores. */
#define _XOPEN_SOURCE 700
#include "check.h"

static kv_store *open_memory(const kv_tree *defaults) {
  kv_store_options options;
  kv_store *store = NULL;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.engine = KV_ENGINE_MEMORY;
  options.defaults = defaults;
  options.arguments = defaults;
  CHECK(kv_store_open_file(kv_string("none.plist"), &options, &store, NULL) ==
        KV_OK);
  return store;
}

/* proves: G10 */
static void layers(void) {
  kv_tree *defaults = parse("{\"a\": \"42\", \"b\": \"YES\"}"), *layer = NULL;
  kv_store *store = open_memory(defaults), *target = open_memory(NULL);
  kv_bytes bytes;
  int64_t integer;
  double real;
  int truth;
  CHECK(kv_store_layer(store, KV_LAYER_REGISTERED, 0, &layer, NULL) == KV_OK);
  CHECK(kv_tree_equal(layer, defaults));
  kv_tree_free(layer);
  CHECK(kv_store_layer(store, KV_LAYER_SUITE, 7, &layer, NULL) == KV_OK);
  kv_cursor root = kv_tree_root(layer);
  CHECK(kv_cursor_count(&root) == 0);
  kv_tree_free(layer);
  CHECK(kv_store_layer(store, (kv_layer)9, 0, &layer, NULL) ==
        KV_INVALID_ARGUMENT);
  kv_step a = kv_key("a");
  CHECK(kv_store_is_forced(store, &a, 1, &truth, NULL) == KV_OK);
  CHECK(truth == 0);
  CHECK(kv_store_integer_for_key(store, kv_string("a"), &integer, NULL) ==
            KV_OK &&
        integer == 42);
  CHECK(kv_store_double_for_key(store, kv_string("a"), &real, NULL) == KV_OK &&
        real == 42);
  CHECK(kv_store_bool_for_key(store, kv_string("b"), &truth, NULL) == KV_OK &&
        truth == 1);
  CHECK(kv_store_string_for_key(store, kv_string("a"), &bytes, NULL) == KV_OK);
  CHECK(strcmp(bytes.data, "42") == 0);
  kv_bytes_free(&bytes);
  CHECK(kv_store_string_for_key(store, kv_string("no"), &bytes, NULL) ==
        KV_ABSENT);
  CHECK(kv_store_import(store, kv_string("{\"c\": 1}"), NULL, NULL) == KV_OK);
  CHECK(kv_store_import(store, kv_string("[1]"), NULL, NULL) ==
        KV_INVALID_VALUE);
  CHECK(kv_store_copy(store, target, NULL) == KV_OK);
  kv_step key = kv_key("c");
  CHECK(kv_store_get_integer(target, &key, 1, &integer, NULL) == KV_OK);
  CHECK(kv_store_export(target, KV_FORMAT_JSON, &bytes, NULL) == KV_OK);
  CHECK(strstr(bytes.data, "\"c\"") != NULL);
  kv_bytes_free(&bytes);
  uint64_t generation = kv_store_generation(store);
  CHECK(kv_store_compare_and_set(store, &key, 1, defaults, generation, NULL) ==
        KV_OK);
  CHECK(kv_store_compare_and_set(store, &key, 1, defaults, generation, NULL) ==
        KV_CONFLICT);
  kv_tree_free(defaults);
  kv_store_free(store);
  kv_store_free(target);
}

static void nulls(void) {
  kv_store *store = open_memory(NULL);
  kv_decode_options options;
  kv_error *error = NULL;
  kv_tree *tree = NULL, *expected = parse("{\"b\": [1, {\"d\": 2}]}");
  kv_str text =
      kv_string("{\"a\": null, \"b\": [1, null, {\"c\": null, \"d\": 2}]}");
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  CHECK(kv_store_import(store, text, NULL, NULL) == KV_INVALID_VALUE);
  CHECK(kv_store_import(store, text, &options, &error) == KV_INVALID_VALUE);
  CHECK(error_says(error, KV_INVALID_VALUE,
                   "A file cannot hold nil at a; remove the key instead"));
  options.drop_nulls = 1;
  CHECK(kv_store_import(store, text, &options, NULL) == KV_OK);
  CHECK(kv_store_get(store, NULL, 0, NULL, &tree, NULL) == KV_OK);
  CHECK(kv_tree_equal(tree, expected));
  kv_tree_free(tree);
  CHECK(kv_decode(text, &options, NULL, &tree, NULL, NULL) == KV_OK);
  CHECK(kv_tree_equal(tree, expected));
  kv_tree_free(tree);
  kv_tree_free(expected);
  options.format = KV_FORMAT_XML;
  CHECK(kv_store_import(store, text, &options, NULL) == KV_CORRUPT);
  CHECK(kv_store_import(store, kv_string("{\"e\": 1}"), NULL, NULL) == KV_OK);
  options.format = KV_FORMAT_ANY;
  options.expanded_nodes = 2;
  CHECK(kv_store_import(store, text, &options, NULL) == KV_LIMIT_EXCEEDED);
  kv_store_free(store);
}

static int has(const kv_store *store, const char *name) {
  kv_step key = kv_key(name);
  return kv_store_get(store, &key, 1, NULL, NULL, NULL) == KV_OK;
}

/* proves: G49 */
static void moving(void) {
  kv_tree *defaults = parse("{\"volume\": 7, \"ui\": {\"x\": 1, \"y\": 2}}");
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  kv_store *store = NULL;
  kv_error *error = NULL;
  kv_tree *layer = NULL;
  kv_transaction *transaction = NULL;
  kv_step volume = kv_key("volume"), loud = kv_key("loud");
  kv_step x[] = {kv_key("ui"), kv_key("x")};
  int64_t value = 0;
  options.defaults = defaults;
  CHECK(kv_store_open_file(kv_string("moving"), &options, &store, NULL) ==
        KV_OK);
  CHECK(has(store, "volume") && !has(store, "loud"));
  CHECK(kv_store_rename(store, &volume, 1, &loud, 1, NULL) == KV_ABSENT);
  CHECK(kv_store_reset(store, &volume, 1, NULL) == KV_ABSENT);
  CHECK(kv_store_set_integer(store, &volume, 1, 3, NULL) == KV_OK);
  CHECK(kv_store_rename(store, &volume, 1, &loud, 1, NULL) == KV_OK);
  CHECK(kv_store_get_integer(store, &loud, 1, &value, NULL) == KV_OK &&
        value == 3);
  CHECK(kv_store_set_integer(store, &volume, 1, 4, NULL) == KV_OK);
  CHECK(kv_store_rename(store, &volume, 1, &loud, 1, &error) == KV_CONFLICT);
  CHECK(error_says(error, KV_CONFLICT, "Expected nothing at loud, found Int"));
  CHECK(kv_store_rename(store, NULL, 0, &loud, 1, NULL) == KV_PATH_MISMATCH);
  CHECK(kv_store_reset(store, &volume, 1, NULL) == KV_OK);
  CHECK(kv_store_get_integer(store, &volume, 1, &value, NULL) == KV_OK &&
        value == 7);
  /* They are parts of the thread's transaction. */
  CHECK(kv_store_begin(store, 0, &transaction, NULL) == KV_OK);
  CHECK(kv_store_set_integer(store, x, 2, 5, NULL) == KV_OK);
  CHECK(kv_store_rename(store, &loud, 1, &volume, 1, NULL) == KV_OK);
  kv_transaction_rollback(transaction);
  CHECK(has(store, "loud"));
  CHECK(kv_store_set_integer(store, x, 2, 5, NULL) == KV_OK);
  CHECK(kv_store_reset(store, x, 2, NULL) == KV_OK);
  CHECK(kv_store_reset(store, &loud, 1, NULL) == KV_OK);
  CHECK(kv_store_layer(store, KV_LAYER_APPLICATION, 0, &layer, NULL) == KV_OK);
  kv_cursor root = kv_tree_root(layer);
  CHECK(kv_cursor_count(&root) == 0);
  kv_tree_free(layer);
  kv_tree_free(defaults);
  kv_store_free(store);
}

static int64_t integer_at(const kv_store *store, const char *name) {
  kv_step key = kv_key(name);
  int64_t value = -1;
  kv_store_get_integer(store, &key, 1, &value, NULL);
  return value;
}

/* Whether the value of a key is of the layer, and of a file with that name, if
 * that is not NULL. */
static int is_of(const kv_store *store, const char *name, kv_layer layer,
                 const char *file) {
  kv_step key = kv_key(name);
  kv_origin origin = {.size = sizeof origin};
  if (kv_store_origin(store, &key, 1, &origin, NULL) != KV_OK) return 0;
  const char *found = origin.file.data ? strrchr(origin.file.data, '/') : NULL;
  int is_right = origin.layer == layer && origin.suite == 0 &&
                 (file ? found && strcmp(found + 1, file) == 0 : !found);
  kv_bytes_free(&origin.file);
  return is_right;
}

static void origins(const kv_store *store) {
  kv_step none = kv_key("none"), key = kv_key("managed");
  kv_origin origin = {.size = 0};
  kv_error *error = NULL;
  CHECK(is_of(store, "managed", KV_LAYER_MANAGED, "managed.plist"));
  CHECK(is_of(store, "arguments", KV_LAYER_ARGUMENTS, NULL));
  CHECK(is_of(store, "application", KV_LAYER_APPLICATION,
              "org.example.app.plist"));
  CHECK(is_of(store, "suite", KV_LAYER_SUITE, "org.example.suite.plist"));
  CHECK(is_of(store, "global", KV_LAYER_GLOBAL, ".GlobalPreferences.plist"));
  CHECK(is_of(store, "registered", KV_LAYER_REGISTERED, NULL));
  CHECK(kv_store_origin(store, &key, 1, NULL, NULL) == KV_OK);
  CHECK(kv_store_origin(store, &none, 1, NULL, NULL) == KV_ABSENT);
  CHECK(kv_store_origin(store, NULL, 0, NULL, NULL) == KV_ABSENT);
  /* A struct of another version of the library. */
  CHECK(kv_store_origin(store, &key, 1, &origin, &error) ==
        KV_INVALID_ARGUMENT);
  CHECK(error_says(error, KV_INVALID_ARGUMENT,
                   "Expected a kv_origin with the size 40, found 0"));
  CHECK(origin.file.data == NULL);
}

/* Every layer holds its own keys and all those of the layers below it. */
/* proves: G46 */
static void search(void) {
  kv_str suite = kv_string("org.example.suite");
  kv_tree *arguments = parse("{\"arguments\": 2, \"managed\": 9}");
  kv_tree *registered = parse("{\"registered\": 6, \"suite\": 9}");
  kv_store_options options = store_options(KV_ENGINE_PROPERTY_LIST);
  kv_store *store = NULL;
  int forced = 0;
  write_file(in_folder("managed.plist"), "{\"managed\": 1}");
  write_file(in_folder("org.example.app.plist"), "{\"application\": 3}");
  write_file(in_folder("org.example.suite.plist"), "{\"suite\": 4}");
  write_file(in_folder(".GlobalPreferences.plist"), "{\"global\": 5}");
  options.managed_file = kv_string(in_folder("managed.plist"));
  options.arguments = arguments;
  options.defaults = registered;
  options.suites = &suite;
  options.suite_count = 1;
  CHECK(kv_store_open(kv_string("org.example.app"), &options, &store, NULL) ==
        KV_OK);
  CHECK(integer_at(store, "managed") == 1);
  CHECK(integer_at(store, "arguments") == 2);
  CHECK(integer_at(store, "application") == 3);
  CHECK(integer_at(store, "suite") == 4);
  CHECK(integer_at(store, "global") == 5);
  CHECK(integer_at(store, "registered") == 6);
  origins(store);
  kv_step managed = kv_key("managed");
  CHECK(kv_store_is_forced(store, &managed, 1, &forced, NULL) == KV_OK &&
        forced == 1);
  kv_store_free(store);
  options.without_global_domain = 1;
  CHECK(kv_store_open(kv_string("org.example.app"), &options, &store, NULL) ==
        KV_OK);
  CHECK(integer_at(store, "global") == -1);
  kv_store_free(store);
  options.suite_count = SIZE_MAX;
  CHECK(kv_store_open(kv_string("org.example.app"), &options, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  kv_tree_free(arguments);
  kv_tree_free(registered);
}

int main(void) {
  make_folder();
  setenv("XDG_CONFIG_HOME", folder, 1);
  layers();
  nulls();
  moving();
  search();
  remove_folder();
  return finish_checks();
}
