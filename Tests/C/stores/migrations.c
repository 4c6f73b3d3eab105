/* migrations.c: versions of a store, and values a typed set could not keep. */
#define _DEFAULT_SOURCE
#include <unistd.h>

#include "check.h"

static kv_store *open_file(const char *path, kv_engine engine) {
  kv_store_options options;
  kv_store *store = NULL;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.engine = engine;
  options.durability = KV_IMMEDIATE;
  options.sqlite_normal = 1;
  CHECK(kv_store_open_file(kv_string(path), &options, &store, NULL) == KV_OK);
  return store;
}

/* The steps of a program whose stores have version 2. Gives the first step that
 * was needed, 0 for none. */
static int migrate(kv_store *store) {
  kv_transaction *transaction = NULL;
  kv_tree *text = parse("<plist><string>new</string></plist>");
  kv_step old_key = kv_key("old"), new_key = kv_key("new");
  int64_t found = 9;
  int first = 0;
  CHECK(kv_store_version(store, &found, NULL) == KV_OK);
  if (found < 2) {
    CHECK(kv_store_begin(store, 0, &transaction, NULL) == KV_OK);
    CHECK(kv_transaction_migrate(transaction, 2, &found, NULL) == KV_OK);
    first = (int)found + 1;
    if (found < 1)
      CHECK(kv_transaction_remove(transaction, &old_key, 1, NULL) == KV_OK);
    if (found < 2)
      CHECK(kv_transaction_set(transaction, &new_key, 1, text, NULL, 0, NULL,
                               NULL) == KV_OK);
    CHECK(kv_transaction_commit(transaction, NULL) == KV_OK);
  }
  kv_tree_free(text);
  return first;
}

static void migrations(const char *folder, const char *name, kv_engine engine) {
  char path[256], kept[300];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  snprintf(kept, sizeof kept, "%s.v0", path);
  kv_store *store = open_file(path, KV_ENGINE_AUTOMATIC);
  kv_tree *one = parse("<plist><integer>1</integer></plist>"), *value = NULL;
  kv_step old_key = kv_key("old"), new_key = kv_key("new");
  kv_transaction *transaction = NULL;
  kv_error *error = NULL;
  int64_t found = 0;
  CHECK(kv_store_set(store, &old_key, 1, one, NULL, 0, NULL, NULL) == KV_OK);
  CHECK(migrate(store) == 1);
  CHECK(migrate(store) == 0);
  CHECK(kv_store_version(store, &found, NULL) == KV_OK && found == 2);
  CHECK(kv_store_get(store, &old_key, 1, NULL, &value, NULL) == KV_ABSENT);
  CHECK(kv_store_get(store, &new_key, 1, NULL, &value, NULL) == KV_OK);
  kv_tree_free(value);

  CHECK(kv_store_begin(store, 0, &transaction, NULL) == KV_OK);
  found = 9;
  CHECK(kv_transaction_migrate(transaction, 2, &found, NULL) == KV_ABSENT);
  CHECK(kv_transaction_migrate(transaction, 1, &found, &error) == KV_MIGRATION);
  CHECK(found == 9 && kv_error_status(error) == KV_MIGRATION);
  kv_error_free(error);
  CHECK(kv_transaction_migrate(transaction, 0, &found, NULL) == KV_MISUSE);
  kv_transaction_rollback(transaction);
  kv_store_free(store);

  kv_store *before = open_file(kept, engine);
  CHECK(kv_store_get(before, &old_key, 1, NULL, &value, NULL) == KV_OK);
  CHECK(kv_tree_equal(value, one));
  kv_tree_free(value);
  kv_tree_free(one);
  kv_store_free(before);
}

/* A failing step leaves nothing behind, not even the version. */
static void failing_step(const char *folder) {
  char path[256];
  snprintf(path, sizeof path, "%s/failed.plist", folder);
  kv_store *store = open_file(path, KV_ENGINE_AUTOMATIC);
  kv_transaction *transaction = NULL;
  int64_t found = 9;
  CHECK(kv_store_begin(store, 0, &transaction, NULL) == KV_OK);
  CHECK(kv_transaction_migrate(transaction, 1, &found, NULL) == KV_OK);
  CHECK(found == 0);
  kv_transaction_rollback(transaction);
  CHECK(kv_store_version(store, &found, NULL) == KV_OK && found == 0);
  CHECK(kv_store_version(NULL, &found, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_transaction_migrate(NULL, 1, &found, NULL) == KV_INVALID_ARGUMENT);
  kv_store_free(store);
}

/* Elements of an array that held what the type does not know: the one that was
 * replaced is counted. */
static void dropped(const char *folder) {
  char path[256];
  snprintf(path, sizeof path, "%s/typed.plist", folder);
  kv_store *store = open_file(path, KV_ENGINE_AUTOMATIC);
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_type *type = NULL;
  kv_transaction *transaction = NULL;
  kv_step key = kv_key("list");
  size_t count = 9;
  kv_tree *old = parse("[{\"a\": 1, \"x\": 1}, {\"a\": 2, \"x\": 2}]");
  kv_tree *new_value = parse("[{\"a\": 2}]");
  kv_tree *none = parse("[]");
  CHECK(kv_registry_declare(registry, kv_string("struct S { a: Int }"),
                            kv_string(""), NULL, NULL) == KV_OK);
  CHECK(kv_registry_type(registry, kv_string("[S]"), &type, NULL) == KV_OK);
  CHECK(kv_store_set(store, &key, 1, old, NULL, 0, NULL, NULL) == KV_OK);
  CHECK(kv_store_set(store, &key, 1, new_value, type, 0, &count, NULL) ==
        KV_OK);
  CHECK_NAMED(count == 1, "the element that went is counted");
  CHECK(kv_store_begin(store, 0, &transaction, NULL) == KV_OK);
  CHECK(kv_transaction_set(transaction, &key, 1, none, type, 0, &count, NULL) ==
        KV_OK);
  CHECK_NAMED(count == 1, "the one whose unknown keys were kept went now");
  kv_transaction_rollback(transaction);
  CHECK(kv_store_set(store, &key, 1, none, type, KV_REPLACE, &count, NULL) ==
        KV_OK);
  CHECK_NAMED(count == 0, "a set that replaces all drops nothing by mistake");
  count = 99;
  CHECK(kv_store_set(store, &key, 1, none, NULL, 0, &count, NULL) == KV_OK);
  CHECK_NAMED(count == 0, "without a type nothing is dropped");
  CHECK(kv_store_set(NULL, &key, 1, none, type, 0, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  CHECK(kv_transaction_set(NULL, &key, 1, none, type, 0, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  kv_tree_free(old);
  kv_tree_free(new_value);
  kv_tree_free(none);
  kv_type_free(type);
  kv_registry_free(registry);
  kv_store_free(store);
}

int main(void) {
  char folder[] = "/tmp/kvcodable-migrations-XXXXXX", command[64];
  if (mkdtemp(folder) == NULL) return 1;
  migrations(folder, "a.plist", KV_ENGINE_PROPERTY_LIST);
  migrations(folder, "a.sqlite", KV_ENGINE_SQLITE);
  failing_step(folder);
  dropped(folder);
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
  return finish_checks();
}
