/* types.c: registries, declared and described types, decoding and encoding. */
#include "check.h"

static void types(void) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_error *error = NULL;
  kv_type *type = NULL;
  kv_tree *value = integer_tree(5), *result = NULL;
  int64_t line, column;
  CHECK(kv_registry_new(NULL, 99) == NULL);
  CHECK(kv_registry_declare(registry, kv_string("struct A {\n a: Strin }"),
                            kv_string(""), NULL, &error) == KV_INVALID_TYPE);
  kv_error_free(error);
  CHECK(kv_registry_declare(registry, kv_string("struct A {\n a String }"),
                            kv_string(""), NULL, &error) == KV_INVALID_TYPE);
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

static const char window[] =
    "struct Window { width: Int(1...16384); title: String? "
    "@key(window_title); tags: [String] = []; theme: Theme = dark }\n"
    "enum Theme: String { light, dark }";

/* Stored and shown values of a declared struct. */
static void structs(void) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_type *type = NULL;
  kv_tree *stored = parse("{\"width\": 3, \"window_title\": \"a\", \"x\": 1}");
  kv_tree *shown = NULL, *expected = NULL, *back = NULL;
  CHECK(kv_registry_declare(registry, kv_string(window), kv_string(""), NULL,
                            NULL) == KV_OK);
  CHECK(kv_registry_type(registry, kv_string("Window"), &type, NULL) == KV_OK);
  CHECK(kv_type_decode(type, stored, &shown, NULL) == KV_OK);
  expected = parse(
      "{\"width\": 3, \"title\": \"a\", \"tags\": [], \"theme\": \"dark\"}");
  CHECK_NAMED(kv_tree_equal(shown, expected), "fields, renamed and filled in");
  kv_tree *written = parse(
      "{\"width\": 3, \"window_title\": \"a\", \"x\": 1, \"tags\": [], "
      "\"theme\": \"dark\"}");
  CHECK(kv_type_encode(type, shown, stored, 0, &back, NULL) == KV_OK);
  CHECK_NAMED(kv_tree_equal(back, written),
              "what the type does not know stays, and what is given is stored");
  kv_tree_free(written);
  kv_tree_free(back);
  CHECK(kv_type_encode(type, shown, stored, KV_REPLACE, &back, NULL) == KV_OK);
  kv_cursor root = kv_tree_root(back), found;
  CHECK(kv_cursor_key(&root, kv_string("x"), &found) == KV_ABSENT);
  kv_tree_free(back);
  kv_tree_free(expected);
  kv_tree_free(shown);
  kv_tree_free(stored);
  kv_type_free(type);
  kv_registry_free(registry);
}

static void misspelled_fields(void) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_type *type = NULL;
  kv_tree *wrong = parse("{\"width\": 3, \"widht\": 4}");
  kv_error *error = NULL;
  kv_registry_declare(registry, kv_string(window), kv_string(""), NULL, NULL);
  kv_registry_type(registry, kv_string("Window"), &type, NULL);
  CHECK(kv_type_encode(type, wrong, NULL, 0, NULL, &error) < 0);
  CHECK(error_says(error, KV_TYPE_MISMATCH,
                   "Window has no field widht; did you mean width?"));
  kv_tree_free(wrong);
  kv_type_free(type);
  kv_registry_free(registry);
}

static void redeclarations(void) {
  kv_registry *strict = kv_registry_new(NULL, 0);
  kv_registry *scripts = kv_registry_new(NULL, KV_REDECLARE);
  kv_str first = kv_string("struct A { a: Int }");
  kv_str other = kv_string("struct A { b: Int }");
  CHECK(kv_registry_declare(strict, first, kv_string(""), NULL, NULL) == KV_OK);
  CHECK(kv_registry_declare(strict, first, kv_string(""), NULL, NULL) == KV_OK);
  CHECK(kv_registry_declare(strict, other, kv_string(""), NULL, NULL) ==
        KV_INVALID_TYPE);
  CHECK(kv_registry_declare(scripts, first, kv_string(""), NULL, NULL) ==
        KV_OK);
  CHECK(kv_registry_declare(scripts, other, kv_string(""), NULL, NULL) ==
        KV_OK);
  kv_registry_free(strict);
  kv_registry_free(scripts);
}

/* Whether the number is another one than before, and is so from now on. */
static int has_moved(const kv_registry *registry, uint64_t *generation) {
  uint64_t before = *generation;
  *generation = kv_registry_generation(registry);
  return *generation != before;
}

static void generations(void) {
  kv_registry *outer = kv_registry_new(NULL, KV_REDECLARE);
  kv_registry *inner = kv_registry_new(outer, KV_REDECLARE);
  kv_str first = kv_string("struct A { a: Int }; struct B { a: [A] }");
  kv_str other = kv_string("struct A { b: Int }");
  uint64_t inside = kv_registry_generation(inner);
  uint64_t outside = kv_registry_generation(outer);
  CHECK(kv_registry_declare(outer, first, kv_string(""), NULL, NULL) == KV_OK);
  CHECK_NAMED(!has_moved(outer, &outside) && !has_moved(inner, &inside),
              "what had no meaning before leaves no type behind");
  CHECK(kv_registry_declare(outer, first, kv_string(""), NULL, NULL) == KV_OK);
  CHECK(!has_moved(outer, &outside) && !has_moved(inner, &inside));
  CHECK(kv_registry_declare(outer, other, kv_string(""), NULL, NULL) == KV_OK);
  CHECK(has_moved(outer, &outside) && has_moved(inner, &inside));
  CHECK(kv_registry_declare(inner, first, kv_string(""), NULL, NULL) == KV_OK);
  CHECK_NAMED(!has_moved(outer, &outside) && has_moved(inner, &inside),
              "what a registry hides means something else in it alone");
  CHECK(kv_registry_declare(inner, first, kv_string(""), NULL, NULL) == KV_OK);
  CHECK(!has_moved(inner, &inside));
  CHECK(kv_registry_generation(NULL) == 0);
  kv_registry_free(outer);
  kv_registry_free(inner);
}

static void descriptions(void) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_tree *description = parse("{\"kind\": \"array\", \"element\": \"Int\"}");
  kv_tree *list = parse("[1, 2]"), *result = NULL;
  kv_type *type = NULL;
  CHECK(kv_registry_describe(registry, description, &type, NULL) == KV_OK);
  CHECK(kv_type_decode(type, list, &result, NULL) == KV_OK);
  CHECK(kv_tree_equal(list, result));
  kv_tree_free(result);
  kv_tree_free(list);
  kv_tree_free(description);
  kv_type_free(type);
  kv_registry_free(registry);
}

int main(void) {
  types();
  structs();
  misspelled_fields();
  redeclarations();
  generations();
  descriptions();
  return finish_checks();
}
