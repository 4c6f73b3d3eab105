/* story3.c: part of a preference file, changed from C with the public header
 * alone. The file holds keys of other programs; one of its keys is read as an
 * array of a declared type, changed, and written back. */
#define _XOPEN_SOURCE 700
#include "check.h"

static const char original[] = "Tests/Data/com.example.launcher.plist";

/* Copies the preferences to a folder of the test's own. */
static int copy_file(const char *from, const char *to) {
  char buffer[65536];
  FILE *source = fopen(from, "rb");
  FILE *target = fopen(to, "wb");
  size_t length = source ? fread(buffer, 1, sizeof buffer, source) : 0;
  int good =
      target && length > 0 && fwrite(buffer, 1, length, target) == length;
  if (source) fclose(source);
  if (target) fclose(target);
  return good;
}

/* The change of an update: the second application gets another identifier. */
static int rename_second(void *context, const kv_tree *old, kv_tree **changed) {
  kv_step path[2] = {kv_index(1), kv_key("bundleIdentifier")};
  kv_tree *name = NULL;
  kv_builder *builder = kv_builder_new();
  int good = kv_builder_string(builder, kv_string(context), NULL) == KV_OK &&
             kv_builder_finish(builder, &name, NULL) == KV_OK &&
             kv_tree_set(old, path, 2, name, changed, NULL) == KV_OK;
  kv_tree_free(name);
  kv_builder_free(builder);
  return good ? 0 : 1;
}

/* A number where the type has a string. */
static int set_number(void *context, const kv_tree *old, kv_tree **changed) {
  kv_step path[2] = {kv_index(0), kv_key("bundleIdentifier")};
  kv_tree *number = NULL;
  kv_builder *builder = kv_builder_new();
  (void)context;
  kv_builder_integer(builder, 5, NULL);
  kv_builder_finish(builder, &number, NULL);
  kv_tree_set(old, path, 2, number, changed, NULL);
  kv_tree_free(number);
  kv_builder_free(builder);
  return 0;
}

/* proves: G27 */
static void check_rest(kv_store *store) {
  kv_step launch[3] = {kv_key("Target Applications"), kv_index(0),
                       kv_key("Launch Count")};
  kv_step frame = kv_key("NSWindow Frame Main Window");
  kv_tree *value = NULL;
  int64_t count = 0;
  kv_str text;
  CHECK(kv_store_get_integer(store, launch, 3, &count, NULL) == KV_OK);
  CHECK(count == 42);
  CHECK(kv_store_get(store, &frame, 1, NULL, &value, NULL) == KV_OK);
  kv_cursor cursor = kv_tree_root(value);
  CHECK(kv_cursor_string(&cursor, &text) == KV_OK);
  CHECK(text_equals(text, "196 240 480 270 0 0 1440 877 "));
  kv_tree_free(value);
}

static kv_type *applications_type(void) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_type *type = NULL;
  CHECK(kv_registry_declare(
            registry,
            kv_string("struct Application { bundleIdentifier: String "
                      "@key(\"Bundle Identifier\") }"),
            kv_string(""), NULL, NULL) == KV_OK);
  CHECK(kv_registry_type(registry, kv_string("[Application]"), &type, NULL) ==
        KV_OK);
  kv_registry_free(registry);
  return type;
}

static kv_store *open_preferences(void) {
  kv_store *store = NULL;
  CHECK(kv_store_open_file(kv_string(in_folder("preferences.plist")), NULL,
                           &store, NULL) == KV_OK);
  return store;
}

static void read_applications(kv_store *store, const kv_type *type) {
  kv_step key = kv_key("Target Applications"), none = kv_key("No Such Key");
  kv_tree *list = NULL;
  uint64_t state = 0;
  kv_str text;
  CHECK(kv_store_get(store, &key, 1, type, &list, NULL) == KV_OK);
  kv_cursor root = kv_tree_root(list), element, value;
  CHECK(kv_cursor_count(&root) == 2);
  CHECK(kv_cursor_next(&root, &state, &element) == KV_OK);
  CHECK(kv_cursor_count(&element) == 1);
  CHECK(kv_cursor_key(&element, kv_string("bundleIdentifier"), &value) ==
        KV_OK);
  CHECK(kv_cursor_string(&value, &text) == KV_OK &&
        text_equals(text, "org.example.editor"));
  kv_tree_free(list);
  CHECK(kv_store_get(store, &none, 1, type, &list, NULL) == KV_ABSENT);
}

static void change_applications(kv_store *store, const kv_type *type) {
  kv_step key = kv_key("Target Applications");
  kv_error *error = NULL;
  CHECK(kv_store_update(store, &key, 1, type, 0, rename_second,
                        (void *)"org.example.navigator", NULL, NULL) == KV_OK);
  CHECK(kv_store_update(store, &key, 1, type, 0, set_number, NULL, NULL,
                        &error) < 0);
  CHECK(error_says(
      error, KV_TYPE_MISMATCH,
      "Expected String at Target Applications[0].bundleIdentifier, found Int"));
  check_rest(store);
}

/* What another program finds in the file. */
static void check_file(void) {
  kv_store *store = open_preferences();
  kv_step renamed[3] = {kv_key("Target Applications"), kv_index(1),
                        kv_key("Bundle Identifier")};
  kv_step hidden[3] = {renamed[0], kv_index(1), kv_key("Hidden")};
  kv_tree *value = NULL;
  kv_str text;
  int is_hidden = 0;
  CHECK(kv_store_get(store, renamed, 3, NULL, &value, NULL) == KV_OK);
  kv_cursor root = kv_tree_root(value);
  CHECK(kv_cursor_string(&root, &text) == KV_OK &&
        text_equals(text, "org.example.navigator"));
  CHECK(kv_store_get_boolean(store, hidden, 3, &is_hidden, NULL) == KV_OK &&
        is_hidden);
  kv_tree_free(value);
  check_rest(store);
  kv_store_free(store);
}

int main(void) {
  kv_type *type = applications_type();
  kv_store *store;
  make_folder();
  CHECK(copy_file(original, in_folder("preferences.plist")));
  store = open_preferences();
  read_applications(store, type);
  change_applications(store, type);
  CHECK(kv_store_close(store, NULL) == KV_OK);
  kv_store_free(store);
  check_file();
  kv_type_free(type);
  remove_folder();
  return finish_checks();
}
