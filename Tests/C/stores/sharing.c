/* sharing.c: several handles on a store, registries over others. */
#include "check.h"

static int failed(kv_status status, kv_status expected, kv_error **error) {
  int good = status == expected && kv_error_status(*error) == expected;
  kv_error_free(*error);
  *error = NULL;
  return good;
}

static void check_handles(void) {
  kv_error *error = NULL;
  kv_store *store = new_store("{\"a\": 1}"), *same = NULL, *reader = NULL,
           *none = NULL;
  kv_step a = kv_key("a");
  int64_t value = 0;
  CHECK(failed(kv_store_share(NULL, 0, NULL, 0, 0, &none, &error),
               KV_INVALID_ARGUMENT, &error));
  CHECK(failed(kv_store_share(store, 1, NULL, 0, 0, &none, &error),
               KV_INVALID_ARGUMENT, &error));
  CHECK(!none);
  CHECK(kv_store_share(store, 0, NULL, 0, 0, &same, &error) == KV_OK);
  CHECK(kv_store_share(store, KV_READ_ONLY_HANDLE, NULL, 0, 0, &reader, NULL) ==
        KV_OK);
  CHECK(kv_store_close(store, NULL) == KV_OK);
  CHECK(failed(kv_store_share(store, 0, NULL, 0, 0, &none, &error), KV_CLOSED,
               &error));
  kv_store_free(store);
  CHECK(kv_store_get_integer(same, &a, 1, &value, NULL) == KV_OK && value == 1);
  CHECK(failed(kv_store_remove(reader, &a, 1, &error), KV_READ_ONLY, &error));
  CHECK(kv_store_remove(same, &a, 1, NULL) == KV_OK);
  CHECK(kv_store_get_integer(reader, &a, 1, &value, NULL) == KV_ABSENT);
  CHECK(kv_store_share(reader, 0, NULL, 0, 0, &none, NULL) == KV_OK);
  CHECK_NAMED(kv_store_remove(none, &a, 1, NULL) == KV_READ_ONLY,
              "a handle from one that only reads only reads");
  kv_store_free(none);
  kv_store_free(reader);
  kv_store_free(same);
}

static void check_quota(void) {
  kv_error *error = NULL;
  kv_store *store = new_store("{}"), *part = NULL, *inner = NULL, *none = NULL;
  kv_step path[] = {kv_key("clock"), kv_key("face")}, index = kv_index(0);
  kv_str text = kv_string("0123456789012345678901234567890123456789");
  CHECK(failed(kv_store_share(NULL, 0, path, 1, 100, &none, &error),
               KV_INVALID_ARGUMENT, &error));
  CHECK(!none);
  CHECK(kv_store_share(store, 0, path, 1, 120, &part, NULL) == KV_OK);
  CHECK(kv_store_share(part, 0, NULL, 0, 0, &inner, NULL) == KV_OK);
  CHECK(kv_store_set_string(part, path, 2, text, NULL) == KV_OK);
  path[1] = kv_key("hands");
  CHECK(failed(kv_store_set_string(part, path, 2, text, &error),
               KV_LIMIT_EXCEEDED, &error));
  CHECK_NAMED(failed(kv_store_set_string(inner, path, 2, text, &error),
                     KV_LIMIT_EXCEEDED, &error),
              "a handle that is shared from one with a quota has it, too");
  CHECK(kv_store_remove(store, path, 1, NULL) == KV_OK);
  CHECK_NAMED(kv_store_set_string(inner, path, 2, text, NULL) == KV_OK,
              "what another handle removes makes room");
  kv_store_free(inner);
  CHECK(failed(kv_store_share(store, 0, &index, 1, 1, &none, &error),
               KV_PATH_MISMATCH, &error));
  CHECK(kv_store_share(store, 0, path, 1, 0, &inner, NULL) == KV_OK);
  CHECK_NAMED(kv_store_set_string(inner, path, 2, text, NULL) == KV_OK,
              "a quota of 0 is none");
  path[1] = kv_key("face");
  CHECK(kv_store_set_string(store, path, 2, text, NULL) == KV_OK);
  kv_store_free(inner);
  kv_store_free(part);
  kv_store_free(store);
}

static void check_defaults(void) {
  kv_tree *defaults = NULL;
  kv_store *store = new_store("{}"), *shared = NULL;
  kv_step a = kv_key("a");
  int64_t value = 0;
  kv_decode(kv_string("{\"a\": 5}"), NULL, NULL, &defaults, NULL, NULL);
  CHECK(kv_store_register(store, defaults, NULL) == KV_OK);
  CHECK(kv_store_share(store, 0, NULL, 0, 0, &shared, NULL) == KV_OK);
  CHECK_NAMED(
      kv_store_get_integer(shared, &a, 1, &value, NULL) == KV_OK && value == 5,
      "registered defaults go along");
  kv_tree_free(defaults);
  kv_store_free(store);
  kv_store_free(shared);
}

static void check_registries(void) {
  kv_type *type = NULL;
  kv_registry *outer = kv_registry_new(NULL, 0);
  CHECK(!kv_registry_new(outer, 8));
  kv_registry *inner = kv_registry_new(outer, KV_REDECLARE);
  kv_registry *alone = kv_registry_new(NULL, 0);
  kv_registry_declare(outer, kv_string("struct A { x: Int }"), kv_string(""),
                      NULL, NULL);
  kv_registry_declare(inner, kv_string("struct B { a: A }"), kv_string(""),
                      NULL, NULL);
  CHECK_NAMED(kv_registry_type(inner, kv_string("[A]"), &type, NULL) == KV_OK,
              "a registry knows the types of the one it stands over");
  kv_type_free(type);
  type = NULL;
  CHECK(kv_registry_type(outer, kv_string("B"), &type, NULL) ==
        KV_INVALID_TYPE);
  CHECK(kv_registry_type(alone, kv_string("A"), &type, NULL) ==
        KV_INVALID_TYPE);
  CHECK_NAMED(kv_registry_declare(inner, kv_string("struct A { y: String }"),
                                  kv_string(""), NULL, NULL) == KV_OK,
              "its own types take the others' place");
  kv_registry_free(outer);
  CHECK(kv_registry_type(inner, kv_string("B"), &type, NULL) == KV_OK);
  kv_type_free(type);
  kv_registry_free(inner);
  kv_registry_free(alone);
}

int main(void) {
  check_handles();
  check_quota();
  check_defaults();
  check_registries();
  return finish_checks();
}
