/* stores.c: types, codec, stores and transactions; NULL everywhere; and no
 * growth of what is held over many calls. */
#define _DEFAULT_SOURCE
#include <malloc.h>
#include <unistd.h>

#include "check.h"
static kv_store *memory_store(void) {
  kv_store_options options;
  kv_store *store = NULL;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.engine = KV_ENGINE_MEMORY;
  CHECK(kv_store_open_file(kv_string("none.plist"), &options, &store, NULL) ==
        KV_OK);
  return store;
}

static kv_tree *integer(int64_t value) {
  kv_tree *tree = NULL;
  kv_builder *builder = kv_builder_new();
  kv_builder_integer(builder, value, NULL);
  kv_builder_finish(builder, &tree, NULL);
  kv_builder_free(builder);
  return tree;
}

static void codec(void) {
  static const char text[] =
      "<plist><dict><key>width</key><integer>3</integer></dict></plist>";
  kv_tree *tree = NULL, *same = NULL;
  kv_bytes bytes;
  kv_error *error = NULL;
  kv_format found;
  kv_str data;
  int64_t line, column, offset;
  kv_decode_options wrong;
  memset(&wrong, 0, sizeof wrong);
  wrong.size = sizeof wrong;
  wrong.format = (kv_format)77;
  CHECK(kv_decode(kv_string(text), NULL, NULL, &tree, &found, NULL) == KV_OK);
  CHECK(found == KV_FORMAT_XML);
  CHECK(kv_encode(tree, KV_FORMAT_BINARY, NULL, &bytes, NULL) == KV_OK);
  data.data = bytes.data;
  data.length = bytes.length;
  CHECK(kv_decode(data, NULL, NULL, &same, &found, NULL) == KV_OK);
  CHECK(found == KV_FORMAT_BINARY && kv_tree_equal(tree, same));
  data.length--;
  CHECK(kv_decode(data, NULL, NULL, NULL, NULL, &error) == KV_MALFORMED);
  CHECK(kv_error_offset(error, &offset) == KV_OK);
  kv_error_free(error);
  CHECK(kv_decode(kv_string("<plist>\n<oops/></plist>"), NULL, NULL, NULL, NULL,
                  &error) == KV_MALFORMED);
  CHECK(kv_error_position(error, &line, &column) == KV_OK && line == 2);
  kv_error_free(error);
  CHECK(kv_decode(kv_string(text), &wrong, NULL, NULL, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  CHECK(kv_encode(NULL, KV_FORMAT_XML, NULL, &bytes, NULL) ==
        KV_INVALID_ARGUMENT);
  CHECK(kv_read_file(kv_string("/none/none.plist"), NULL, NULL, NULL, NULL,
                     NULL) == KV_ABSENT);
  CHECK(kv_write_file(kv_string("/none/none.plist"), KV_FORMAT_XML, NULL, tree,
                      NULL) == KV_IO);
  kv_bytes_free(&bytes);
  kv_tree_free(tree);
  kv_tree_free(same);
}

static void types(void) {
  kv_registry *registry = kv_registry_new(0);
  kv_error *error = NULL;
  kv_type *type = NULL;
  kv_tree *value = integer(5), *result = NULL;
  int64_t line, column;
  CHECK(kv_registry_new(99) == NULL);
  CHECK(kv_registry_declare(registry, kv_string("struct A {\n a: Strin }"),
                            &error) == KV_INVALID_TYPE);
  kv_error_free(error);
  CHECK(kv_registry_declare(registry, kv_string("struct A {\n a String }"),
                            &error) == KV_INVALID_TYPE);
  CHECK(kv_error_position(error, &line, &column) == KV_OK);
  CHECK(line == 2 && column == 4);
  kv_error_free(error);
  CHECK(kv_registry_type(NULL, kv_string("Int(1...4)"), &type, NULL) == KV_OK);
  CHECK(kv_type_decode(type, value, &result, &error) == KV_TYPE_MISMATCH);
  CHECK(text_equals(kv_error_message(error), "Expected 1...4, found 5"));
  kv_error_free(error);
  kv_type_free(type);
  CHECK(kv_registry_type(registry, kv_string("Double"), &type, NULL) == KV_OK);
  CHECK(kv_type_encode(type, value, NULL, 0, &result, NULL) == KV_OK);
  kv_cursor root = kv_tree_root(result);
  CHECK(kv_cursor_kind(&root) == KV_REAL);
  CHECK(kv_type_encode(type, value, NULL, 8, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  kv_type_free(type);
  CHECK(kv_registry_type(registry, kv_string("Nope"), &type, NULL) ==
        KV_INVALID_TYPE);
  CHECK(kv_registry_describe(registry, value, &type, NULL) == KV_INVALID_TYPE);
  kv_tree_free(value);
  kv_tree_free(result);
  kv_registry_free(registry);
}

static void transactions(void) {
  kv_store *store = memory_store();
  kv_transaction *transaction = NULL;
  kv_step key = kv_key("n");
  kv_tree *one = integer(1), *two = integer(2), *value = NULL;
  int64_t number;
  double real;
  int boolean;
  kv_error *error = NULL;
  CHECK(kv_store_set(store, &key, 1, one, NULL, 0, NULL) == KV_OK);
  CHECK(kv_store_begin(store, 1, &transaction, NULL) == KV_OK);
  CHECK(kv_transaction_set(transaction, &key, 1, two, NULL, 0, NULL) == KV_OK);
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

static void survive_null(void) {
  kv_step key = kv_key("a");
  kv_store *store = memory_store();
  kv_error *error = NULL;
  kv_store_options options;
  kv_store_free(NULL);
  kv_type_free(NULL);
  kv_registry_free(NULL);
  kv_transaction_rollback(NULL);
  memset(&options, 0, sizeof options);
  CHECK(kv_store_open(kv_string("x"), &options, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  CHECK(kv_store_open(kv_string("../x"), NULL, NULL, &error) ==
        KV_INVALID_NAME);
  kv_error_free(error);
  CHECK(kv_store_get(NULL, &key, 1, NULL, NULL, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_store_get(store, NULL, 1, NULL, NULL, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_store_set(store, &key, 1, NULL, NULL, 0, NULL) ==
        KV_INVALID_ARGUMENT);
  CHECK(kv_store_begin(store, 1, NULL, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_store_begin(NULL, 1, NULL, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_transaction_get(NULL, &key, 1, NULL, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  CHECK(kv_transaction_commit(NULL, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_store_update(store, &key, 1, NULL, NULL, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  CHECK(kv_store_keys(NULL, NULL, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_store_snapshot(NULL, NULL, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_store_sync(NULL, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_store_close(NULL, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_registry_declare(NULL, key.key, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_registry_describe(NULL, NULL, NULL, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_type_decode(NULL, NULL, NULL, NULL) == KV_INVALID_ARGUMENT);
  CHECK(kv_type_encode(NULL, NULL, NULL, 0, NULL, NULL) == KV_INVALID_ARGUMENT);
  kv_store_free(store);
}

/* One round of everything that gives memory. */
static void work(kv_store *store, const kv_type *type) {
  kv_step path[2] = {kv_key("window"), kv_key("width")};
  kv_tree *value = integer(7), *found = NULL;
  kv_error *error = NULL;
  kv_store_set(store, path, 2, value, NULL, 0, NULL);
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

static void hold_no_more(void) {
  kv_store *store = memory_store();
  kv_type *type = NULL;
  CHECK(kv_registry_type(NULL, kv_string("[String: Int]"), &type, NULL) ==
        KV_OK);
  for (int i = 0; i < 200; i++) work(store, type);
  size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 2000; i++) work(store, type);
  size_t after = mallinfo2().uordblks;
  long growth = (long)after - (long)before;
  printf("# 2000 rounds: %ld bytes more\n", growth);
  CHECK_NAMED(growth < 4096, "what is held does not grow with the calls");
  kv_type_free(type);
  kv_store_free(store);
}

int main(void) {
  codec();
  types();
  transactions();
  survive_null();
  hold_no_more();
  return finish_checks();
}
