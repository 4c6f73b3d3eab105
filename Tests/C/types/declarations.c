/* declarations.c: facts about declared types, and the default registry. */
#define _XOPEN_SOURCE 700
#include <sys/stat.h>

#include "check.h"

static const char shapes[] =
    "enum Shape { circle(radius: Double), square(Double), empty }\n"
    "struct Window { width: Int(1...); shape: Shape = empty }";

static int holds(kv_bytes text, const char *part) {
  return text.data && strstr(text.data, part) != NULL;
}

static void annotations(void) {
  kv_registry *outer = kv_registry_new(NULL, 0);
  kv_bytes text = {NULL, 0};
  CHECK(kv_registry_declare(outer, kv_string(shapes), kv_string(""), NULL,
                            NULL) == KV_OK);
  kv_registry *registry = kv_registry_new(outer, 0);
  CHECK(kv_registry_declare(registry,
                            kv_string("enum Mode: Int { off, on = 5 }"),
                            kv_string(""), NULL, NULL) == KV_OK);
  CHECK(kv_registry_annotations(registry, &text, NULL) == KV_OK);
  CHECK_NAMED(holds(text, "---@meta\n"), "the text says what file it is");
  CHECK_NAMED(holds(text, "---@alias Mode 0|5\n"), "an enum's raw values");
  CHECK_NAMED(holds(text, "---@alias Shape { circle: { radius: number } }|"),
              "the outer registry's types");
  CHECK_NAMED(holds(text, "---@field width integer Int(1...)\n"), "limits");
  kv_bytes_free(&text);
  CHECK(kv_registry_annotations(outer, &text, NULL) == KV_OK);
  CHECK_NAMED(!holds(text, "Mode"), "inner types are not seen outside");
  kv_bytes_free(&text);
  CHECK(kv_registry_annotations(registry, NULL, NULL) == KV_OK);
  CHECK(kv_registry_annotations(NULL, &text, NULL) == KV_INVALID_ARGUMENT);
  kv_registry_free(registry);
  kv_registry_free(outer);
}

static void declarations(void) {
  kv_registry *registry = kv_registry_new(NULL, 0),
              *other = kv_registry_new(NULL, 0);
  kv_type *type = NULL;
  kv_bytes text = {NULL, 0};
  CHECK(kv_registry_declare(registry, kv_string(shapes), kv_string(""), NULL,
                            NULL) == KV_OK);
  CHECK(kv_registry_type(registry, kv_string("Shape"), &type, NULL) == KV_OK);
  CHECK(kv_type_declaration(type, &text, NULL) == KV_OK);
  CHECK(strcmp(text.data,
               "enum Shape { circle(radius: Double), "
               "square(Double), empty }") == 0);
  CHECK(kv_registry_declare(other, kv_string(text.data), kv_string(""), NULL,
                            NULL) == KV_OK);
  CHECK(kv_registry_declare(registry, kv_string(text.data), kv_string(""), NULL,
                            NULL) == KV_OK);
  kv_bytes_free(&text);
  CHECK(kv_type_declaration(type, NULL, NULL) == KV_OK);
  kv_type_free(type);
  CHECK(kv_registry_type(registry, kv_string("[Shape]"), &type, NULL) == KV_OK);
  CHECK(kv_type_declaration(type, &text, NULL) == KV_ABSENT && !text.data);
  kv_type_free(type);
  CHECK(kv_type_declaration(NULL, &text, NULL) == KV_INVALID_ARGUMENT);
  kv_registry_free(registry);
  kv_registry_free(other);
}

static int is_names(kv_tree *names, const char *json) {
  kv_tree *expected = parse(json);
  int good = kv_tree_equal(names, expected);
  kv_tree_free(names);
  kv_tree_free(expected);
  return good;
}

/* Texts from files, which errors name. */
/* proves: G59 */
static void files(void) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_tree *names = NULL;
  kv_error *error = NULL;
  kv_type *type = NULL;
  char message[400];
  int64_t line = 0, column = 0;
  kv_str good = kv_string(in_folder("good.kvtypes"));
  kv_str wrong = kv_string(in_folder("wrong.kvtypes"));
  write_file(good.data, "\xEF\xBB\xBFstruct A { b: B }\r\nenum B { c, d }\n");
  write_file(wrong.data, "struct C { x: Int }\nstruct D { x: Nix }\n");
  CHECK(kv_registry_declare_file(registry, good, &names, &error) == KV_OK);
  CHECK(is_names(names, "[\"A\", \"B\"]"));
  CHECK(kv_registry_type(registry, kv_string("[A]"), &type, NULL) == KV_OK);
  kv_type_free(type);
  names = NULL;
  CHECK(kv_registry_declare_file(registry, wrong, &names, &error) ==
        KV_INVALID_TYPE);
  CHECK(!names && kv_error_position(error, &line, &column) == KV_OK);
  CHECK(line == 2 && column == 15);
  snprintf(message, sizeof message,
           "No type is named Nix (line 2, column 15) (%s)", wrong.data);
  CHECK(error_says(error, KV_INVALID_TYPE, message));
  CHECK(kv_registry_type(registry, kv_string("C"), &type, NULL) ==
        KV_INVALID_TYPE);
  CHECK(kv_registry_declare(registry, kv_string("struct"), wrong, NULL,
                            &error) == KV_INVALID_TYPE);
  CHECK(strstr(kv_error_message(error).data, wrong.data) != NULL);
  kv_error_free(error);
  CHECK(kv_registry_declare(registry, kv_string("enum E: Int { one = 1 }"),
                            kv_string(""), &names, NULL) == KV_OK);
  CHECK(is_names(names, "[\"E\"]"));
  write_file(wrong.data, "struct F { x: Int }\n// \xFF");
  CHECK(kv_registry_declare_file(registry, wrong, NULL, &error) ==
        KV_INVALID_TYPE);
  snprintf(message, sizeof message,
           "Expected UTF-8, found other bytes (line 2, column 4) (%s)",
           wrong.data);
  CHECK(error_says(error, KV_INVALID_TYPE, message));
  CHECK(kv_registry_declare_file(registry, kv_string(in_folder("none")), &names,
                                 &error) == KV_ABSENT);
  CHECK(!error);
  CHECK(kv_registry_declare_file(registry, kv_string(folder), NULL, NULL) ==
        KV_IO);
  kv_registry_free(registry);
}

/* Cases of an enum with associated values, both ways. */
static void cases(void) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_type *type = NULL;
  kv_error *error = NULL;
  kv_tree *stored =
      parse("{\"circle\": {\"radius\": 2, \"blur\": 1}, \"z\": 1}");
  kv_tree *shown = NULL, *expected = parse("{\"circle\": {\"radius\": 2.0}}");
  kv_tree *back = NULL, *wrong = parse("{\"circel\": {}}");
  CHECK(kv_registry_declare(registry, kv_string(shapes), kv_string(""), NULL,
                            NULL) == KV_OK);
  CHECK(kv_registry_type(registry, kv_string("Shape"), &type, NULL) == KV_OK);
  CHECK(kv_type_decode(type, stored, &shown, NULL) == KV_OK);
  CHECK(kv_tree_equal(shown, expected));
  CHECK(kv_type_encode(type, shown, stored, 0, &back, NULL) == KV_OK);
  kv_tree_free(expected);
  expected = parse("{\"circle\": {\"radius\": 2.0, \"blur\": 1}, \"z\": 1}");
  CHECK(kv_tree_equal(back, expected));
  CHECK(kv_type_encode(type, wrong, NULL, 0, NULL, &error) == KV_TYPE_MISMATCH);
  CHECK(text_equals(kv_error_message(error),
                    "Shape has no case circel; did you mean circle?"));
  kv_error_free(error);
  CHECK(kv_type_decode(type, wrong, NULL, &error) == KV_TYPE_MISMATCH);
  CHECK(text_equals(kv_error_message(error),
                    "Expected one key of circle, square, empty, found "
                    "circel; did you mean circle?"));
  kv_error_free(error);
  kv_tree_free(stored);
  kv_tree_free(shown);
  kv_tree_free(expected);
  kv_tree_free(back);
  kv_tree_free(wrong);
  kv_type_free(type);
  kv_registry_free(registry);
}

static void json_schemas(void) {
  kv_type *type = NULL;
  kv_bytes text = {NULL, 0};
  CHECK(kv_registry_type(NULL, kv_string("Int8(...5)"), &type, NULL) == KV_OK);
  CHECK(kv_type_json_schema(type, &text, NULL) == KV_OK);
  CHECK(strcmp(text.data,
               "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
               "\"maximum\":5,\"minimum\":-128,\"type\":\"integer\"}") == 0);
  kv_bytes_free(&text);
  CHECK(kv_type_json_schema(type, NULL, NULL) == KV_OK);
  CHECK(kv_type_json_schema(NULL, &text, NULL) == KV_INVALID_ARGUMENT);
  kv_type_free(type);
}

/* Types that are published for a store, read by another program's registry. */
/* proves: G60 */
static void published(void) {
  const kv_str name = kv_string("org.example.player");
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_type *type = NULL;
  kv_bytes file = {NULL, 0}, text = {NULL, 0};
  kv_error *error = NULL;
  CHECK(kv_type_published(name, &type, NULL) == KV_ABSENT && !type);
  CHECK(kv_registry_declare(registry, kv_string(shapes), kv_string(""), NULL,
                            NULL) == KV_OK);
  CHECK(kv_registry_publish(registry, kv_string("Window"), name, &file, NULL) ==
        KV_OK);
  CHECK_NAMED(holds(file, "/kvcodable/types/org.example.player.kvtypes"),
              "the file is told");
  CHECK(kv_type_published(name, &type, NULL) == KV_OK);
  CHECK(kv_type_declaration(type, &text, NULL) == KV_OK);
  CHECK(holds(text, "struct Window {\n    width: Int(1...)\n"));
  kv_bytes_free(&text);
  kv_type_free(type);
  CHECK(chmod(file.data, 0666) == 0);
  CHECK(kv_type_published(name, &type, NULL) == KV_UNSAFE_LOCATION);
  FILE *stream = fopen(file.data, "w");
  fputs("root A\nstruct A { x: }", stream);
  fclose(stream);
  CHECK(chmod(file.data, 0600) == 0);
  CHECK(kv_type_published(name, &type, &error) == KV_INVALID_TYPE);
  CHECK(strstr(kv_error_message(error).data, file.data) != NULL);
  CHECK(text_equals(kv_error_file(error), file.data));
  kv_error_free(error);
  CHECK(kv_registry_publish(registry, kv_string("Window"), kv_string("a/../b"),
                            NULL, NULL) == KV_INVALID_NAME);
  CHECK(kv_registry_publish(registry, kv_string("[Int]"), name, NULL, NULL) ==
        KV_MISUSE);
  CHECK(kv_registry_publish(registry, kv_string("None"), name, NULL, NULL) ==
        KV_INVALID_TYPE);
  CHECK(kv_registry_publish(NULL, kv_string("Window"), name, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  kv_bytes_free(&file);
  kv_registry_free(registry);
}

int main(void) {
  make_folder();
  setenv("XDG_DATA_HOME", folder, 1);
  setenv("XDG_DATA_DIRS", folder, 1);
  annotations();
  declarations();
  files();
  cases();
  json_schemas();
  published();
  remove_folder();
  return finish_checks();
}
