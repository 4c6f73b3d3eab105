/* watching.c: layers, converting getters, whole stores, archives, watches. */
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

static kv_tree *parse(const char *text) {
  kv_tree *tree = NULL;
  CHECK(kv_decode(kv_string(text), NULL, NULL, &tree, NULL, NULL) == KV_OK);
  return tree;
}

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
  CHECK(kv_store_is_forced(store, kv_string("a"), &truth, NULL) == KV_OK);
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
  CHECK(kv_store_import(store, kv_string("{\"c\": 1}"), NULL) == KV_OK);
  CHECK(kv_store_import(store, kv_string("[1]"), NULL) == KV_INVALID_VALUE);
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

static int changes = 0, events = 0;

static void changed(void *context, const kv_step *path, size_t steps,
                    const kv_tree *old_value, const kv_tree *new_value) {
  kv_cursor root = kv_tree_root(new_value);
  int64_t value = 0;
  changes++;
  CHECK(strcmp(context, "context") == 0);
  CHECK(steps == 1 && text_equals(path[0].key, "n"));
  CHECK(old_value == NULL);
  CHECK(kv_cursor_integer(&root, &value) == KV_OK && value == 2);
}

static void happened(void *context, kv_event event, kv_str message) {
  (void)context;
  (void)message;
  events += event > 0;
}

static void watches(void) {
  kv_store *store = open_memory(NULL);
  kv_watch *watch = NULL, *other = NULL;
  kv_step key = kv_key("n");
  kv_tree *one = parse("<plist><integer>1</integer></plist>");
  kv_tree *two = parse("<plist><integer>2</integer></plist>");
  size_t calls = 9;
  int descriptor = -1;
  CHECK(kv_store_watch(store, &key, 1, KV_SCOPE_VALUE, changed,
                       (void *)"context", &watch, NULL) == KV_OK);
  CHECK(kv_store_watch_events(store, happened, NULL, &other, NULL) == KV_OK);
  CHECK(kv_store_watch_descriptor(store, &descriptor, NULL) == KV_OK);
  CHECK(descriptor >= 0);
  CHECK(kv_store_pump(store, &calls, NULL) == KV_OK && calls == 0);
  kv_store_set(store, &key, 1, one, NULL, 0, NULL);
  kv_store_set(store, &key, 1, two, NULL, 0, NULL);
  CHECK(kv_store_pump(store, &calls, NULL) == KV_OK && calls == 1);
  CHECK(changes == 1 && events == 0);
  kv_watch_cancel(watch);
  kv_watch_cancel(other);
  kv_watch_cancel(NULL);
  kv_store_set(store, &key, 1, one, NULL, 0, NULL);
  CHECK(kv_store_pump(store, &calls, NULL) == KV_OK && calls == 0);
  CHECK(kv_store_watch(store, &key, 1, KV_SCOPE_VALUE, NULL, NULL, &watch,
                       NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_store_watch(store, &key, 1, (kv_scope)9, changed, NULL, &watch,
                       NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_store_watch(store, &key, 1, KV_SCOPE_VALUE, changed, NULL, NULL,
                       NULL) == KV_INVALID_ARGUMENT);
  kv_tree_free(one);
  kv_tree_free(two);
  kv_store_free(store);
}

static void archives(void) {
  static const char text[] =
      "<plist><dict><key>$archiver</key><string>NSKeyedArchiver</string>"
      "<key>$version</key><integer>100000</integer>"
      "<key>$top</key><dict><key>root</key>"
      "<dict><key>CF$UID</key><integer>1</integer></dict></dict>"
      "<key>$objects</key><array><string>$null</string><integer>5</integer>"
      "</array></dict></plist>";
  kv_tree *archive = parse(text), *plain = NULL;
  kv_type *type = NULL;
  kv_store *store = open_memory(NULL);
  kv_step key = kv_key("n"), kept = kv_key("n.archive");
  int64_t value = 0;
  kv_str none = {NULL, 0};
  CHECK(kv_tree_is_archive(archive) == 1 && kv_tree_is_archive(NULL) == 0);
  CHECK(kv_tree_unarchive(archive, none, NULL, &plain, NULL) == KV_OK);
  kv_cursor root = kv_tree_root(plain);
  CHECK(kv_cursor_integer(&root, &value) == KV_OK && value == 5);
  CHECK(kv_tree_unarchive(plain, none, NULL, NULL, NULL) == KV_MALFORMED);
  kv_tree_free(plain);
  CHECK(kv_registry_type(NULL, kv_string("Int"), &type, NULL) == KV_OK);
  CHECK(kv_decode(kv_string(text), NULL, type, &plain, NULL, NULL) == KV_OK);
  kv_tree_free(plain);
  CHECK(kv_store_set(store, &key, 1, archive, NULL, 0, NULL) == KV_OK);
  CHECK(kv_store_get(store, &key, 1, type, &plain, NULL) == KV_OK);
  kv_tree_free(plain);
  CHECK(kv_store_migrate_archive(store, &key, 1, type, KV_KEEP_OLD, NULL) ==
        KV_OK);
  CHECK(kv_store_get_integer(store, &key, 1, &value, NULL) == KV_OK);
  CHECK(kv_store_get(store, &kept, 1, NULL, &plain, NULL) == KV_OK);
  CHECK(kv_tree_equal(plain, archive));
  kv_tree_free(plain);
  CHECK(kv_store_migrate_archive(store, &key, 1, type, 0, NULL) == KV_ABSENT);
  CHECK(kv_store_migrate_archive(store, &key, 1, type, 64, NULL) ==
        KV_INVALID_ARGUMENT);
  kv_type_free(type);
  kv_tree_free(archive);
  kv_store_free(store);
}

static void survive_null(void) {
  kv_str none = {NULL, 0};
  CHECK(kv_store_layer(NULL, KV_LAYER_GLOBAL, 0, NULL, NULL) < 0);
  CHECK(kv_store_is_forced(NULL, none, NULL, NULL) < 0);
  CHECK(kv_store_bool_for_key(NULL, none, NULL, NULL) < 0);
  CHECK(kv_store_integer_for_key(NULL, none, NULL, NULL) < 0);
  CHECK(kv_store_double_for_key(NULL, none, NULL, NULL) < 0);
  CHECK(kv_store_string_for_key(NULL, none, NULL, NULL) < 0);
  CHECK(kv_store_export(NULL, KV_FORMAT_XML, NULL, NULL) < 0);
  CHECK(kv_store_import(NULL, none, NULL) < 0);
  CHECK(kv_store_copy(NULL, NULL, NULL) < 0);
  CHECK(kv_store_generation(NULL) == 0);
  CHECK(kv_store_compare_and_set(NULL, NULL, 0, NULL, 0, NULL) < 0);
  CHECK(kv_store_migrate_archive(NULL, NULL, 0, NULL, 0, NULL) < 0);
  CHECK(kv_store_watch(NULL, NULL, 0, KV_SCOPE_VALUE, changed, NULL, NULL,
                       NULL) < 0);
  CHECK(kv_store_watch_events(NULL, happened, NULL, NULL, NULL) < 0);
  CHECK(kv_store_watch_descriptor(NULL, NULL, NULL) < 0);
  CHECK(kv_store_pump(NULL, NULL, NULL) < 0);
  CHECK(kv_tree_unarchive(NULL, none, NULL, NULL, NULL) < 0);
}

int main(void) {
  layers();
  watches();
  archives();
  survive_null();
  return finish_checks();
}
