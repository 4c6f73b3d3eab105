/* codec.c: bytes and files in every format, and keyed archives. */
#define _XOPEN_SOURCE 700
#include "check.h"

static void codec(void) {
  static const char text[] =
      "<plist><dict><key>width</key><integer>3</integer></dict></plist>";
  kv_tree *tree = NULL, *same = NULL;
  kv_bytes bytes;
  kv_format found;
  kv_str data;
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
  CHECK(kv_decode(kv_string(text), &wrong, NULL, NULL, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  kv_bytes_free(&bytes);
  kv_tree_free(tree);
  kv_tree_free(same);
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
  kv_store *store = memory_store();
  kv_step key = kv_key("n"), kept = kv_key("n.archive");
  int64_t value = 0;
  kv_str none = {NULL, 0};
  CHECK(kv_tree_is_archive(archive) == 1 && kv_tree_is_archive(NULL) == 0);
  CHECK(kv_tree_unarchive(archive, none, NULL, &plain, NULL) == KV_OK);
  kv_cursor root = kv_tree_root(plain);
  CHECK(kv_cursor_integer(&root, &value) == KV_OK && value == 5);
  CHECK(kv_tree_unarchive(plain, none, NULL, NULL, NULL) == KV_MALFORMED);
  kv_tree_free(plain);
  /* The form is that of an archive, by any maker and with any content. */
  kv_tree *foreign = parse("{\"$archiver\": \"Other\", \"$top\": {}}");
  kv_error *problem = NULL;
  CHECK(kv_tree_is_archive(foreign) == 1);
  CHECK(kv_tree_unarchive(foreign, none, NULL, NULL, &problem) == KV_MALFORMED);
  CHECK(strstr(kv_error_message(problem).data, "Other") != NULL);
  printf("# %s\n", kv_error_message(problem).data);
  kv_error_free(problem);
  kv_tree_free(foreign);
  CHECK(kv_registry_type(NULL, kv_string("Int"), &type, NULL) == KV_OK);
  CHECK(kv_decode(kv_string(text), NULL, type, &plain, NULL, &problem) ==
        KV_TYPE_MISMATCH);
  CHECK(strcmp(kv_error_message(problem).data,
               "Expected Int, found a keyed archive (NSKeyedArchiver); "
               "migrate_archive stores it in the type's form, unarchive gives "
               "its plain value") == 0);
  kv_error_free(problem);
  CHECK(kv_store_set(store, &key, 1, archive, NULL, 0, NULL, NULL) == KV_OK);
  CHECK(kv_store_get(store, &key, 1, type, &plain, NULL) == KV_TYPE_MISMATCH);
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

/* The same value in a file of each format that is written. */
static void files(void) {
  static const kv_format formats[] = {KV_FORMAT_XML, KV_FORMAT_BINARY,
                                      KV_FORMAT_JSON};
  kv_tree *tree = parse("{\"a\": [1, 2.5, true, \"text\"]}");
  for (int i = 0; i < 3; i++) {
    kv_str path = kv_string(in_folder("file"));
    kv_tree *same = NULL;
    kv_format found = KV_FORMAT_ANY;
    CHECK(kv_write_file(path, tree, formats[i], NULL, NULL) == KV_OK);
    CHECK(kv_read_file(path, NULL, NULL, &same, &found, NULL) == KV_OK);
    CHECK(found == formats[i] && kv_tree_equal(tree, same));
    kv_tree_free(same);
  }
  kv_tree_free(tree);
}

static void open_step(void) {
  kv_tree *tree = NULL;
  kv_format found = KV_FORMAT_ANY;
  kv_str text = kv_string("{ a = (1, \"two words\"); }");
  kv_bytes bytes;
  CHECK(kv_decode(text, NULL, NULL, &tree, &found, NULL) == KV_OK);
  CHECK(found == KV_FORMAT_OPENSTEP);
  CHECK(kv_encode(tree, KV_FORMAT_OPENSTEP, NULL, &bytes, NULL) ==
        KV_INVALID_VALUE);
  kv_tree_free(tree);
}

/* A file read and written as a declared type. */
static void typed_files(void) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_type *type = NULL;
  kv_tree *tree = NULL;
  kv_error *error = NULL;
  kv_str path = kv_string(in_folder("typed.plist"));
  kv_registry_declare(registry, kv_string("struct A { n: Int @key(\"a b\") }"),
                      kv_string(""), NULL, NULL);
  kv_registry_type(registry, kv_string("A"), &type, NULL);
  write_file(path.data, "{\"a b\": 4}");
  CHECK(kv_read_file(path, NULL, type, &tree, NULL, NULL) == KV_OK);
  kv_cursor root = kv_tree_root(tree), found;
  CHECK(kv_cursor_key(&root, kv_string("n"), &found) == KV_OK);
  CHECK(kv_write_file(path, tree, KV_FORMAT_XML, type, NULL) == KV_OK);
  kv_tree_free(tree);
  tree = parse("{\"n\": true}");
  CHECK(kv_write_file(path, tree, KV_FORMAT_XML, type, &error) < 0);
  CHECK(error_says(error, KV_TYPE_MISMATCH, "Expected Int at n, found Bool"));
  kv_tree_free(tree);
  kv_type_free(type);
  kv_registry_free(registry);
}

static void limits(void) {
  kv_decode_options options;
  char deep[4098];
  kv_str text;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.depth = 2;
  CHECK(kv_decode(kv_string("[[1]]"), &options, NULL, NULL, NULL, NULL) ==
        KV_OK);
  CHECK(kv_decode(kv_string("[[[1]]]"), &options, NULL, NULL, NULL, NULL) ==
        KV_LIMIT_EXCEEDED);
  options.depth = SIZE_MAX;
  memset(deep, '[', 2049);
  memset(deep + 2049, ']', 2049);
  text.data = deep + 1;
  text.length = 4096;
  CHECK(kv_decode(text, &options, NULL, NULL, NULL, NULL) == KV_OK);
  text.data = deep;
  text.length = 4098;
  CHECK(kv_decode(text, &options, NULL, NULL, NULL, NULL) == KV_LIMIT_EXCEEDED);
  options.size = 0;
  CHECK(kv_decode(kv_string("[]"), &options, NULL, NULL, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  options.size = sizeof options + 1;
  CHECK(kv_decode(kv_string("[]"), &options, NULL, NULL, NULL, NULL) ==
        KV_INVALID_ARGUMENT);
  options.size = sizeof(size_t);
  options.depth = 2;
  CHECK_NAMED(kv_decode(kv_string("[[[1]]]"), &options, NULL, NULL, NULL,
                        NULL) == KV_OK,
              "options of an older header have what it knew");
}

/* A file of holes: it would not be in memory before it was refused. */
static void file_limit(void) {
  char path[400];
  kv_decode_options options = {0};
  kv_tree *tree = NULL;
  kv_error *error = NULL;
  snprintf(path, sizeof path, "%s", in_folder("huge.plist"));
  write_file(path, "{\"a\": 1}");
  CHECK(truncate(path, ((off_t)1 << 30) + 1) == 0);
  CHECK(kv_read_file(kv_string(path), NULL, NULL, &tree, NULL, &error) ==
        KV_LIMIT_EXCEEDED);
  CHECK(strstr(kv_error_message(error).data,
               "Expected a file of at most 1073741824 bytes, found "
               "1073741825") != NULL);
  kv_error_free(error);
  options.size = sizeof options;
  options.file_bytes = 8;
  CHECK(truncate(path, 8) == 0);
  CHECK(kv_read_file(kv_string(path), &options, NULL, &tree, NULL, NULL) ==
        KV_OK);
  kv_tree_free(tree);
  CHECK(truncate(path, 9) == 0);
  CHECK_NAMED(kv_read_file(kv_string(path), &options, NULL, &tree, NULL,
                           NULL) == KV_LIMIT_EXCEEDED,
              "a file is no larger than the program says");
}

/* A fault in a file is told with the file, also a value of another type. */
static void errors_in_files(void) {
  char path[256], expected[512];
  kv_error *error = NULL;
  kv_tree *tree = NULL;
  kv_type *type = NULL;
  snprintf(path, sizeof path, "%s", in_folder("wrong.json"));
  write_file(path, "{\"a\": }");
  CHECK(kv_read_file(kv_string(path), NULL, NULL, &tree, NULL, &error) ==
        KV_MALFORMED);
  snprintf(expected, sizeof expected, " (line 1, column 7) (%s)", path);
  CHECK(strstr(kv_error_message(error).data, expected) != NULL);
  CHECK(text_equals(kv_error_file(error), path));
  kv_error_free(error);
  write_file(path, "{\"a\": 1}");
  CHECK(kv_registry_type(NULL, kv_string("[String: String]"), &type, NULL) ==
        KV_OK);
  CHECK(kv_read_file(kv_string(path), NULL, type, &tree, NULL, &error) ==
        KV_TYPE_MISMATCH);
  snprintf(expected, sizeof expected, "Expected String at a, found Int (%s)",
           path);
  CHECK(text_equals(kv_error_message(error), expected));
  CHECK(text_equals(kv_error_file(error), path));
  kv_error_free(error);
  kv_type_free(type);
}

int main(void) {
  make_folder();
  codec();
  files();
  file_limit();
  errors_in_files();
  open_step();
  typed_files();
  limits();
  archives();
  remove_folder();
  return finish_checks();
}
