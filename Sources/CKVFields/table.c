/* table.c: walks over a table of fields, its checks, and the bytes of
 * members. */
#include "CKVFields.h"

#include <kvcodable_nodes.h>
#include <stdio.h>

/* ---- Walks */

kv_walk kv_walk_begin(kv_error **error) {
  kv_walk walk;
  memset(&walk, 0, sizeof walk);
  walk.error = error;
  if (error) *error = NULL;
  return walk;
}

kv_status kv_walk_fail_with(const kv_walk *walk, kv_status status,
                            const char *words, const char *found) {
  if (!walk->error) return status;
  /* The library makes the path's text. */
  kv_error *bare = kv_error_new(status, kv_string(""), walk->path, walk->steps);
  kv_str path = kv_error_path(bare);
  size_t size = strlen(words) + path.length + strlen(found) + 5;
  char *text = kv_fields_memory(NULL, size);
  snprintf(text, size, "%s%s%s%s", words, path.length ? " at " : "",
           path.length ? path.data : "", found);
  *walk->error = kv_error_new(status, kv_string(text), walk->path, walk->steps);
  free(text);
  kv_error_free(bare);
  return status;
}

kv_status kv_walk_fail(const kv_walk *walk, kv_status status,
                       const char *words) {
  return kv_walk_fail_with(walk, status, words, "");
}

kv_status kv_walk_fail_inside(const kv_walk *walk, kv_error *error) {
  kv_status status = kv_error_status(error);
  if (walk->error)
    *walk->error = kv_error_placed(error, walk->path, walk->steps);
  kv_error_free(error);
  return status;
}

kv_status kv_walk_push(kv_walk *walk, kv_step step) {
  if (walk->steps == KV_FIELD_DEPTH)
    return kv_walk_fail(walk, KV_LIMIT_EXCEEDED,
                        "Expected tables of at most 64 levels");
  walk->path[walk->steps++] = step;
  return KV_OK;
}

kv_status kv_walk_push_path(kv_walk *walk, const kv_field *field) {
  kv_status status = KV_OK;
  for (int i = 0; i < KV_FIELD_STEPS && field->path[i] && !status; i++)
    status = kv_walk_push(walk, kv_key(field->path[i]));
  return status;
}

/* ---- Kinds */

static const struct kind {
  const char *type;
  size_t size; /* of the member; 0 if it may have several */
} kinds[] = {
    {"", 0},
    {"Bool", 0},
    {"Int8", 1},
    {"Int16", 2},
    {"Int32", 4},
    {"Int64", 8},
    {"UInt8", 1},
    {"UInt16", 2},
    {"UInt32", 4},
    {"UInt64", 8},
    {"Float", sizeof(float)},
    {"Double", sizeof(double)},
    {"String", 0},
    {"String", sizeof(char *)},
    {"Date", sizeof(double)},
    {"Date", 0},
    {"[String: Any]", 0},
};

const char *kv_field_type_name(kv_field_kind kind) { return kinds[kind].type; }

bool kv_field_is_signed(kv_field_kind kind) {
  return kind >= KV_FIELD_INT8 && kind <= KV_FIELD_INT64;
}

bool kv_field_is_unsigned(kv_field_kind kind) {
  return kind >= KV_FIELD_UINT8 && kind <= KV_FIELD_UINT64;
}

bool kv_field_is_optional(const kv_field *field) {
  return !field->room && field->mark_size;
}

/* ---- The check of a table */

bool kv_fields_may_be(const kv_field *fields, size_t count) {
  return (fields || !count) && count <= SIZE_MAX / sizeof *fields;
}

bool kv_field_ends(const kv_field *field, int depth) {
  return depth + 1 == KV_FIELD_STEPS || !field->path[depth + 1];
}

bool kv_field_shares(const kv_field *left, const kv_field *right, int depth) {
  for (int i = 0; i < depth; i++)
    if (!left->path[i] || !right->path[i] ||
        strcmp(left->path[i], right->path[i]))
      return false;
  return true;
}

bool kv_field_is_repeated(const kv_field *fields, size_t index, int depth) {
  for (size_t i = 0; i < index; i++)
    if (kv_field_shares(&fields[i], &fields[index], depth + 1)) return true;
  return false;
}

/* Whether the path of one field begins with that of the other. */
static bool overlaps(const kv_field *left, const kv_field *right) {
  for (int i = 0; i < KV_FIELD_STEPS; i++) {
    if (!left->path[i] || !right->path[i]) return true;
    if (strcmp(left->path[i], right->path[i])) return false;
  }
  return true;
}

static bool is_integer_size(size_t size) {
  return size == 1 || size == 2 || size == 4 || size == 8;
}

/* What is wrong with the member of a field; NULL if nothing is. */
static const char *member_fault(const kv_field *field) {
  if (field->kind < KV_FIELD_BOOL || field->kind > KV_FIELD_TABLE)
    return "the field's kind is none of kv_field_kind";
  size_t size = kinds[field->kind].size;
  bool is_integer =
      field->kind == KV_FIELD_BOOL || field->kind == KV_FIELD_TIME;
  if ((size && size != field->size) || !field->size ||
      (is_integer && !is_integer_size(field->size)))
    return "the member's size is not that of the field's kind";
  if (field->kind == KV_FIELD_TIME && field->size < 4)
    return "the member of a KV_FIELD_TIME has 4 or 8 bytes";
  if ((field->room && !field->mark_size) ||
      (field->mark_size && !is_integer_size(field->mark_size)))
    return "the field's flag or count is no integer";
  return NULL;
}

static kv_status check_field(kv_walk *walk, const kv_field *fields,
                             size_t index) {
  const kv_field *field = &fields[index];
  if (!field->path[0])
    return kv_walk_fail(walk, KV_INVALID_ARGUMENT,
                        "a field of the table has no path");
  kv_status status = kv_walk_push_path(walk, field);
  if (status) return status;
  for (size_t i = 0; i < index; i++)
    if (overlaps(field, &fields[i]))
      return kv_walk_fail(walk, KV_INVALID_ARGUMENT,
                          "the path of one field begins with that of another");
  const char *fault = member_fault(field);
  if (fault) return kv_walk_fail(walk, KV_INVALID_ARGUMENT, fault);
  if (field->kind != KV_FIELD_TABLE) return KV_OK;
  return kv_fields_check(walk, field->fields, field->field_count);
}

kv_status kv_fields_check(kv_walk *walk, const kv_field *fields, size_t count) {
  if (!kv_fields_may_be(fields, count))
    return kv_walk_fail(
        walk, KV_INVALID_ARGUMENT,
        fields ? "count is larger than any table" : "fields is NULL");
  size_t before = walk->steps;
  for (size_t i = 0; i < count; i++) {
    kv_status status = check_field(walk, fields, i);
    if (status) return status;
    walk->steps = before;
  }
  return KV_OK;
}

/* ---- Members */

void kv_field_put_bits(void *target, size_t size, uint64_t bits) {
  uint8_t one = (uint8_t)bits;
  uint16_t two = (uint16_t)bits;
  uint32_t four = (uint32_t)bits;
  if (size == 1) memcpy(target, &one, size);
  if (size == 2) memcpy(target, &two, size);
  if (size == 4) memcpy(target, &four, size);
  if (size == 8) memcpy(target, &bits, size);
}

uint64_t kv_field_bits(const void *source, size_t size) {
  uint8_t one = 0;
  uint16_t two = 0;
  uint32_t four = 0;
  uint64_t eight = 0;
  if (size == 1) memcpy(&one, source, size);
  if (size == 2) memcpy(&two, source, size);
  if (size == 4) memcpy(&four, source, size);
  if (size == 8) memcpy(&eight, source, size);
  return one | two | four | eight;
}

int64_t kv_field_integer(const void *source, size_t size) {
  uint64_t bits = kv_field_bits(source, size);
  uint64_t sign = (uint64_t)1 << (size * 8 - 1);
  int64_t result;
  if (bits & sign) bits |= ~(sign | (sign - 1));
  memcpy(&result, &bits, sizeof result);
  return result;
}

double kv_field_real(const kv_field *field, const char *source) {
  double real;
  float small;
  if (field->kind == KV_FIELD_TIME)
    return (double)kv_field_integer(source, field->size) - 978307200;
  if (field->kind == KV_FIELD_FLOAT) {
    memcpy(&small, source, sizeof small);
    return small;
  }
  memcpy(&real, source, sizeof real);
  return real;
}

kv_str kv_field_text(const kv_field *field, const char *source) {
  kv_str text = {source, field->size};
  if (field->kind == KV_FIELD_STRING) {
    memcpy(&text.data, source, sizeof text.data);
    return kv_string(text.data);
  }
  const char *end = memchr(source, 0, field->size);
  if (end) text.length = (size_t)(end - source);
  return text;
}

bool kv_field_is_there(const kv_field *field, const char *values) {
  if (kv_field_is_optional(field))
    return kv_field_bits(values + field->mark, field->mark_size) != 0;
  return field->room || field->kind != KV_FIELD_STRING ||
         kv_field_text(field, values + field->offset).data;
}

size_t kv_field_elements(const kv_field *field, const char *values) {
  if (!field->room) return 1;
  uint64_t count = kv_field_bits(values + field->mark, field->mark_size);
  return count < field->room ? (size_t)count : field->room;
}
