/* story5.c: from NSCoding to Codable. Products that an older program archived
 * with NSKeyedArchiver are read as a declared type, without their class, and
 * stored in plain form from then on. */
#define _XOPEN_SOURCE 700
#include "check.h"

/* What the older program left: an array of objects of its own class. */
static const char archive[] = "Tests/Data/products.archive.plist";
static const char products[] =
    "[{\"title\": \"Tea\", \"price\": 4.5, \"quantity\": 2},"
    " {\"title\": \"Cafe\", \"price\": 7.25, \"quantity\": 1}]";

static kv_type *products_type(void) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_type *type = NULL;
  CHECK(kv_registry_declare(registry,
                            kv_string("struct Product { title: String;"
                                      " price: Double; quantity: Int }"),
                            kv_string(""), NULL, NULL) == KV_OK);
  CHECK(kv_registry_type(registry, kv_string("[Product]"), &type, NULL) ==
        KV_OK);
  kv_registry_free(registry);
  return type;
}

/* Products in a file, which an older version may have archived. */
static kv_status read_products(kv_str path, const kv_type *type,
                               kv_tree **value, kv_error **error) {
  const kv_str no_key = {NULL, 0};
  kv_tree *stored = NULL, *plain = NULL;
  kv_status status = kv_read_file(path, NULL, NULL, &stored, NULL, error);
  if (status == KV_OK && kv_tree_is_archive(stored)) {
    status = kv_tree_unarchive(stored, no_key, NULL, &plain, error);
    kv_tree_free(stored);
    stored = plain;
  }
  if (status == KV_OK) status = kv_type_decode(type, stored, value, error);
  kv_tree_free(stored);
  return status;
}

/* The file is read the same way before and after it was saved anew. */
static void file(const kv_type *type, const kv_tree *expected) {
  kv_str path = kv_string(in_folder("products.plist"));
  kv_tree *old = NULL, *again = NULL;
  CHECK(read_products(kv_string(archive), type, &old, NULL) == KV_OK);
  CHECK(kv_tree_equal(old, expected));
  CHECK(kv_write_file(path, old, KV_FORMAT_XML, type, NULL) == KV_OK);
  CHECK(read_products(path, type, &again, NULL) == KV_OK);
  CHECK(kv_tree_equal(again, expected));
  kv_tree_free(old);
  kv_tree_free(again);
}

static void preference(const kv_type *type, const kv_tree *expected) {
  kv_store *store = memory_store();
  kv_step key = kv_key("products"), kept = kv_key("products.archive");
  kv_tree *old = NULL, *value = NULL;
  CHECK(kv_read_file(kv_string(archive), NULL, NULL, &old, NULL, NULL) ==
        KV_OK);
  CHECK(kv_tree_is_archive(old));
  CHECK(kv_store_set(store, &key, 1, old, NULL, 0, NULL, NULL) == KV_OK);
  CHECK_NAMED(
      kv_store_get(store, &key, 1, type, &value, NULL) == KV_TYPE_MISMATCH,
      "a typed get does not unarchive");
  CHECK(kv_store_migrate_archive(store, &key, 1, type, KV_KEEP_OLD, NULL) ==
        KV_OK);
  CHECK(kv_store_migrate_archive(store, &key, 1, type, KV_KEEP_OLD, NULL) ==
        KV_ABSENT);
  CHECK(kv_store_get(store, &key, 1, NULL, &value, NULL) == KV_OK);
  CHECK_NAMED(kv_tree_equal(value, expected), "stored in plain form");
  kv_tree_free(value);
  CHECK(kv_store_get(store, &kept, 1, NULL, &value, NULL) == KV_OK);
  CHECK_NAMED(kv_tree_equal(value, old), "and the old one kept beside it");
  kv_tree_free(value);
  kv_tree_free(old);
  kv_store_free(store);
}

/* An archive cut anywhere is an error that a program can show. */
static void damaged(const kv_type *type) {
  kv_str bytes;
  char text[8192];
  FILE *source = fopen(archive, "rb");
  size_t length = fread(text, 1, sizeof text, source);
  int errors = 0, cuts = 0;
  fclose(source);
  bytes.data = text;
  for (bytes.length = 0; bytes.length < length - 10; bytes.length += 7) {
    kv_error *error = NULL;
    errors += kv_decode(bytes, NULL, type, NULL, NULL, &error) < 0 &&
              kv_error_message(error).length > 0;
    kv_error_free(error);
    cuts++;
  }
  CHECK_NAMED(cuts > 100 && errors == cuts, "a cut archive is an error");
}

int main(void) {
  kv_type *type = products_type();
  kv_tree *expected = parse(products);
  make_folder();
  file(type, expected);
  preference(type, expected);
  damaged(type);
  kv_tree_free(expected);
  kv_type_free(type);
  remove_folder();
  return finish_checks();
}
