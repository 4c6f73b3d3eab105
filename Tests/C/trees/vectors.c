/* vectors.c: the rows of Tests/Vectors, read by the library's own reader of
 * JSON, give in C what they give in Swift. */
/* proves: G77 */
#include "check.h"

#include <math.h>

/* ---- The notation of Tests/Vectors/README.md */

typedef struct text {
  char *data;
  size_t length, capacity;
} text;

static void append(text *out, const char *bytes, size_t length) {
  if (out->length + length + 1 > out->capacity) {
    out->capacity = (out->length + length + 1) * 2;
    out->data = realloc(out->data, out->capacity);
    if (!out->data) abort();
  }
  if (length > 0) memcpy(out->data + out->length, bytes, length);
  out->length += length;
  out->data[out->length] = 0;
}

static void append_string(text *out, const char *string) {
  append(out, string, strlen(string));
}

static void append_real(text *out, const char *prefix, double value) {
  char number[64];
  snprintf(number, sizeof number, "%s%.17g", prefix, value);
  if (isnan(value)) snprintf(number, sizeof number, "%snan", prefix);
  append_string(out, number);
}

static void append_quoted(text *out, kv_str value) {
  append_string(out, "\"");
  for (size_t i = 0; i < value.length; i++) {
    unsigned char byte = (unsigned char)value.data[i];
    char escape[8];
    if (byte == '"' || byte == '\\') {
      snprintf(escape, sizeof escape, "\\%c", byte);
      append_string(out, escape);
    } else if (byte < 0x20 || byte == 0x7f) {
      snprintf(escape, sizeof escape, "\\u%04x", byte);
      append_string(out, escape);
    } else {
      append(out, value.data + i, 1);
    }
  }
  append_string(out, "\"");
}

static void append_data(text *out, kv_str value) {
  char digits[4];
  append_string(out, "<");
  for (size_t i = 0; i < value.length; i++) {
    snprintf(digits, sizeof digits, "%02x", (unsigned char)value.data[i]);
    append_string(out, digits);
  }
  append_string(out, ">");
}

static void append_scalar(text *out, const kv_cursor *value) {
  char number[64] = "null";
  int boolean = 0;
  int64_t integer = 0;
  uint64_t natural = 0;
  uint32_t uid = 0;
  double real = 0;
  kv_str bytes = {NULL, 0};
  switch (kv_cursor_kind(value)) {
    case KV_BOOLEAN:
      kv_cursor_boolean(value, &boolean);
      append_string(out, boolean ? "true" : "false");
      return;
    case KV_INTEGER:
      kv_cursor_integer(value, &integer);
      snprintf(number, sizeof number, "%lld", (long long)integer);
      break;
    case KV_UNSIGNED:
      kv_cursor_unsigned(value, &natural);
      snprintf(number, sizeof number, "%lluu", (unsigned long long)natural);
      break;
    case KV_UID:
      kv_cursor_uid(value, &uid);
      snprintf(number, sizeof number, "uid %lu", (unsigned long)uid);
      break;
    case KV_REAL:
      kv_cursor_real(value, &real);
      append_real(out, "real ", real);
      return;
    case KV_DATE:
      kv_cursor_date(value, &real);
      append_real(out, "date ", real);
      return;
    case KV_STRING:
      kv_cursor_string(value, &bytes);
      append_quoted(out, bytes);
      return;
    case KV_DATA:
      kv_cursor_data(value, &bytes);
      append_data(out, bytes);
      return;
    case KV_NULL:
    case KV_ARRAY:
    case KV_DICTIONARY:
      break;
  }
  append_string(out, number);
}

/* Recursive: no tree is deeper than the reader's limit of 512. */
static void append_value(text *out, const kv_cursor *value) {
  kv_cursor inner;
  kv_str key;
  uint64_t state = 0;
  size_t index = 0;
  if (kv_cursor_kind(value) == KV_ARRAY) {
    append_string(out, "[");
    while (kv_cursor_next(value, &state, &inner) == KV_OK) {
      if (index++ > 0) append_string(out, ", ");
      append_value(out, &inner);
    }
    append_string(out, "]");
  } else if (kv_cursor_kind(value) == KV_DICTIONARY) {
    append_string(out, "{");
    for (; kv_cursor_entry(value, index, &key, &inner) == KV_OK; index++) {
      if (index > 0) append_string(out, ", ");
      append_quoted(out, key);
      append_string(out, ": ");
      append_value(out, &inner);
    }
    append_string(out, "}");
  } else {
    append_scalar(out, value);
  }
}

/* ---- Rows */

static kv_str member(const kv_cursor *row, const char *key) {
  kv_cursor value;
  kv_str result = {NULL, 0};
  if (kv_cursor_key(row, kv_string(key), &value) == KV_OK)
    kv_cursor_string(&value, &result);
  return result;
}

static int same(kv_str left, kv_str right) {
  return left.length == right.length &&
         (left.length == 0 || memcmp(left.data, right.data, left.length) == 0);
}

/* The bytes of a row, in memory of their own. */
static text input(const kv_cursor *row) {
  text bytes = {NULL, 0, 0};
  kv_str plain = member(row, "text"), hex = member(row, "hex");
  append(&bytes, plain.data, plain.length);
  for (size_t i = 0; i + 1 < hex.length; i += 2) {
    char digits[3] = {hex.data[i], hex.data[i + 1], 0};
    char byte = (char)strtol(digits, NULL, 16);
    append(&bytes, &byte, 1);
  }
  return bytes;
}

static kv_format format_of(const kv_cursor *row) {
  kv_str name = member(row, "format");
  if (text_equals(name, "xml")) return KV_FORMAT_XML;
  if (text_equals(name, "binary")) return KV_FORMAT_BINARY;
  if (text_equals(name, "openStep")) return KV_FORMAT_OPENSTEP;
  return text_equals(name, "json") ? KV_FORMAT_JSON : KV_FORMAT_ANY;
}

static kv_status status_of(kv_str code) {
  if (text_equals(code, "malformed")) return KV_MALFORMED;
  if (text_equals(code, "invalidValue")) return KV_INVALID_VALUE;
  return text_equals(code, "limitExceeded") ? KV_LIMIT_EXCEEDED : KV_OK;
}

/* Whether a number that a row may give is the one that was found. */
static int agrees(const kv_cursor *expected, const char *key, int64_t found) {
  kv_cursor value;
  int64_t number = 0;
  if (kv_cursor_key(expected, kv_string(key), &value) != KV_OK) return 1;
  return kv_cursor_integer(&value, &number) == KV_OK && number == found;
}

static int expected_error(const kv_cursor *row, const kv_error *error) {
  kv_cursor expected, path;
  int64_t line = -1, column = -1, offset = -1;
  if (!error || kv_cursor_key(row, kv_string("error"), &expected) != KV_OK)
    return 0;
  kv_error_position(error, &line, &column);
  kv_error_offset(error, &offset);
  if (kv_cursor_key(&expected, kv_string("path"), &path) == KV_OK &&
      !same(member(&expected, "path"), kv_error_path(error)))
    return 0;
  return kv_error_status(error) == status_of(member(&expected, "code")) &&
         agrees(&expected, "line", line) &&
         agrees(&expected, "column", column) &&
         agrees(&expected, "offset", offset);
}

/* Takes the tree and the error. */
static void compare(const kv_cursor *row, const char *name, kv_tree *tree,
                    kv_error *error) {
  text found = {NULL, 0, 0};
  if (tree) {
    kv_cursor root = kv_tree_root(tree);
    kv_str shown;
    append_value(&found, &root);
    shown.data = found.data;
    shown.length = found.length;
    CHECK_NAMED(same(shown, member(row, "tree")), name);
  } else {
    CHECK_NAMED(expected_error(row, error), name);
  }
  free(found.data);
  kv_tree_free(tree);
  kv_error_free(error);
}

static kv_tree *decode(const text *bytes, kv_format format, kv_error **error) {
  kv_decode_options options = {0};
  kv_str file;
  kv_tree *tree = NULL;
  options.size = sizeof options;
  options.format = format;
  file.data = bytes->data;
  file.length = bytes->length;
  kv_decode(file, &options, NULL, &tree, NULL, error);
  return tree;
}

static void check_format(const kv_cursor *row, const char *name) {
  kv_error *error = NULL;
  text bytes = input(row);
  kv_tree *tree = decode(&bytes, format_of(row), &error);
  compare(row, name, tree, error);
  free(bytes.data);
}

static void check_archive(const kv_cursor *row, const char *name) {
  kv_error *error = NULL;
  text bytes = input(row);
  kv_tree *plain = NULL, *tree = decode(&bytes, KV_FORMAT_XML, &error);
  CHECK_NAMED(tree && !error, name);
  kv_tree_unarchive(tree, member(row, "classNameKey"), NULL, &plain, &error);
  compare(row, name, plain, error);
  kv_tree_free(tree);
  free(bytes.data);
}

static void check_file(const char *path, size_t fewest,
                       void (*check)(const kv_cursor *, const char *)) {
  kv_decode_options options = {0};
  kv_tree *file = NULL;
  kv_cursor root, rows, row;
  uint64_t state = 0;
  size_t count = 0;
  options.size = sizeof options;
  options.format = KV_FORMAT_JSON;
  CHECK(kv_read_file(kv_string(path), &options, NULL, &file, NULL, NULL) ==
        KV_OK);
  root = kv_tree_root(file);
  CHECK(kv_cursor_key(&root, kv_string("rows"), &rows) == KV_OK);
  while (kv_cursor_next(&rows, &state, &row) == KV_OK) {
    kv_str name = member(&row, "name"), kind = member(&row, "format");
    char shown[160];
    snprintf(shown, sizeof shown, "%.*s %.*s", (int)kind.length,
             kind.length ? kind.data : "", (int)name.length,
             name.length ? name.data : "");
    check(&row, shown);
    count++;
  }
  CHECK(count >= fewest);
  kv_tree_free(file);
}

int main(void) {
  check_file("Tests/Vectors/formats.json", 193, check_format);
  check_file("Tests/Vectors/json.json", 201, check_format);
  check_file("Tests/Vectors/archives.json", 58, check_archive);
  return finish_checks();
}
