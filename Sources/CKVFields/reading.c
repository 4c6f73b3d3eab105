/* reading.c: values of a store or tree, read into a struct. Every function with
 * a NULL in place of the struct only checks. */
#include "CKVFields.h"

#include <float.h>
#include <stdio.h>

/* ---- Values that need no conversion */

/* Each gives the bits of the member; false if it cannot hold the value. */
static bool get_signed(const kv_cursor *value, size_t size, uint64_t *bits) {
  int64_t integer, half = size < 8 ? (int64_t)1 << (size * 8 - 1) : 0;
  if (kv_cursor_integer(value, &integer)) return false;
  if (half && (integer < -half || integer >= half)) return false;
  *bits = (uint64_t)integer;
  return true;
}

static bool get_unsigned(const kv_cursor *value, size_t size, uint64_t *bits) {
  if (kv_cursor_unsigned(value, bits)) return false;
  return size == 8 || !(*bits >> (size * 8));
}

static bool get_time(const kv_cursor *value, size_t size, uint64_t *bits) {
  double real, most = size == 4 ? 2147483647.0 : 9e18;
  if (kv_cursor_date(value, &real)) return false;
  real += 978307200;
  if (!(real >= -most && real <= most)) return false;
  int64_t integer = (int64_t)real;
  *bits = (uint64_t)(integer - (real < (double)integer));
  return true;
}

static bool get_bits(const kv_cursor *value, const kv_field *field,
                     uint64_t *bits) {
  int boolean;
  if (field->kind == KV_FIELD_TIME) return get_time(value, field->size, bits);
  if (kv_field_is_signed(field->kind))
    return get_signed(value, field->size, bits);
  if (kv_field_is_unsigned(field->kind))
    return get_unsigned(value, field->size, bits);
  if (kv_cursor_boolean(value, &boolean)) return false;
  *bits = boolean != 0;
  return true;
}

static bool get_text(const kv_cursor *value, const kv_field *field,
                     char *target) {
  kv_str text;
  if (kv_cursor_string(value, &text)) return false;
  if (text.length && memchr(text.data, 0, text.length)) return false;
  if (field->kind == KV_FIELD_TEXT && text.length >= field->size) return false;
  if (!target) return true;
  char *memory = target;
  if (field->kind == KV_FIELD_STRING) {
    memcpy(&memory, target, sizeof memory);
    memory = kv_fields_memory(memory, text.length + 1);
    memcpy(target, &memory, sizeof memory);
  }
  if (text.length) memcpy(memory, text.data, text.length);
  memory[text.length] = 0;
  return true;
}

static bool get_real(const kv_cursor *value, const kv_field *field,
                     char *target) {
  double real;
  if (field->kind == KV_FIELD_DATE ? kv_cursor_date(value, &real)
                                   : kv_cursor_real(value, &real))
    return false;
  if (field->kind == KV_FIELD_FLOAT) {
    bool is_finite = real - real == 0;
    if (is_finite && (real > FLT_MAX || real < -FLT_MAX)) return false;
    float small = (float)real;
    if (target) memcpy(target, &small, sizeof small);
  } else if (target) {
    memcpy(target, &real, sizeof real);
  }
  return true;
}

/* Puts the value into the member; false if it cannot hold it. */
static bool get(const kv_cursor *value, const kv_field *field, char *target) {
  uint64_t bits = 0;
  switch (field->kind) {
    case KV_FIELD_TEXT:
    case KV_FIELD_STRING:
      return get_text(value, field, target);
    case KV_FIELD_FLOAT:
    case KV_FIELD_DOUBLE:
    case KV_FIELD_DATE:
      return get_real(value, field, target);
    default:
      if (!get_bits(value, field, &bits)) return false;
      if (target) kv_field_put_bits(target, field->size, bits);
      return true;
  }
}

/* ---- Values of other kinds, and errors */

/* Gives the value as a type of the type language has it, or reports that type's
 * error. */
static kv_status convert(const kv_walk *walk, const kv_cursor *value,
                         const char *expression, kv_tree **result) {
  kv_type *type = NULL;
  kv_tree *stored = NULL;
  kv_error *error = NULL;
  kv_status status =
      kv_registry_type(NULL, kv_string(expression), &type, &error);
  if (!status) status = kv_cursor_copy(value, &stored);
  if (!status) status = kv_type_decode(type, stored, result, &error);
  kv_tree_free(stored);
  kv_type_free(type);
  return error ? kv_walk_fail_inside(walk, error) : status;
}

static kv_status refuse(const kv_walk *walk) {
  return kv_walk_fail(walk, KV_TYPE_MISMATCH,
                      "Expected a value that the member can hold");
}

/* Reports that a value is not of a type, in the type language's words. */
static kv_status refuse_for(const kv_walk *walk, const kv_cursor *value,
                            const char *expression) {
  kv_tree *converted = NULL;
  kv_status status = convert(walk, value, expression, &converted);
  kv_tree_free(converted);
  return status ? status : refuse(walk);
}

static kv_status refuse_text(const kv_walk *walk, const kv_field *field,
                             size_t found) {
  char expected[40], finding[40];
  if (field->kind == KV_FIELD_STRING || found < field->size)
    return kv_walk_fail(walk, KV_TYPE_MISMATCH,
                        "Expected a string without NUL");
  snprintf(expected, sizeof expected, "Expected ...%zu bytes", field->size - 1);
  snprintf(finding, sizeof finding, ", found %zu", found);
  return kv_walk_fail_with(walk, KV_TYPE_MISMATCH, expected, finding);
}

/* ---- Tables */

static kv_status read_table(kv_walk *walk, const kv_cursor *root,
                            const kv_field *fields, size_t count, char *values);

kv_status kv_field_read_value(kv_walk *walk, const kv_cursor *value,
                              const kv_field *field, char *target) {
  kv_tree *converted = NULL;
  if (field->kind == KV_FIELD_TABLE)
    return read_table(walk, value, field->fields, field->field_count, target);
  if (get(value, field, target)) return KV_OK;
  kv_status status =
      convert(walk, value, kv_field_type_name(field->kind), &converted);
  if (status) return status;
  kv_cursor root = kv_tree_root(converted);
  if (get(&root, field, target))
    status = KV_OK;
  else if (kv_cursor_kind(&root) == KV_STRING)
    status = refuse_text(walk, field, kv_cursor_count(&root));
  else
    status = refuse(walk);
  kv_tree_free(converted);
  return status;
}

static kv_status read_element(kv_walk *walk, const kv_cursor *element,
                              const kv_field *field, size_t index,
                              char *values) {
  char *target = values ? values + field->offset + index * field->size : NULL;
  if (target && field->kind == KV_FIELD_TABLE) {
    kv_free_fields(field->fields, field->field_count, target);
    memset(target, 0, field->size);
  }
  kv_status status = kv_walk_push(walk, kv_index((int64_t)index));
  if (!status) status = kv_field_read_value(walk, element, field, target);
  if (!status) walk->steps--;
  return status;
}

static kv_status read_array(kv_walk *walk, const kv_cursor *array,
                            const kv_field *field, char *values) {
  char expression[40];
  kv_status status = KV_OK;
  kv_cursor element;
  uint64_t state = 0;
  size_t found = kv_cursor_count(array);
  snprintf(expression, sizeof expression, "[Any](...%zu)", field->room);
  if (kv_cursor_kind(array) != KV_ARRAY || found > field->room)
    return refuse_for(walk, array, expression);
  for (size_t i = 0; i < found && !status; i++) {
    if (kv_cursor_next(array, &state, &element)) break;
    status = read_element(walk, &element, field, i, values);
  }
  if (values && !status)
    kv_field_put_bits(values + field->mark, field->mark_size, found);
  return status;
}

/* Goes down the field's path. KV_ABSENT if it ends before. */
static kv_status find(kv_walk *walk, const kv_cursor *root,
                      const kv_field *field, kv_cursor *value) {
  *value = *root;
  for (int i = 0; i < KV_FIELD_STEPS && field->path[i]; i++) {
    kv_cursor next;
    kv_step step = kv_key(field->path[i]);
    if (kv_cursor_kind(value) != KV_DICTIONARY)
      return refuse_for(walk, value, "[String: Any]");
    if (kv_cursor_key(value, step.key, &next)) return KV_ABSENT;
    *value = next;
    kv_status status = kv_walk_push(walk, step);
    if (status) return status;
  }
  return KV_OK;
}

static kv_status read_field(kv_walk *walk, const kv_cursor *root,
                            const kv_field *field, char *values) {
  kv_cursor value;
  kv_status status = find(walk, root, field, &value);
  bool is_there = status == KV_OK;
  if (is_there && field->room)
    status = read_array(walk, &value, field, values);
  else if (is_there)
    status = kv_field_read_value(walk, &value, field,
                                 values ? values + field->offset : NULL);
  if (status < 0) return status;
  if (values && kv_field_is_optional(field))
    kv_field_put_bits(values + field->mark, field->mark_size, is_there);
  return KV_OK;
}

static kv_status read_table(kv_walk *walk, const kv_cursor *root,
                            const kv_field *fields, size_t count,
                            char *values) {
  if (kv_cursor_kind(root) != KV_DICTIONARY)
    return refuse_for(walk, root, "[String: Any]");
  size_t before = walk->steps;
  for (size_t i = 0; i < count; i++) {
    kv_status status = read_field(walk, root, &fields[i], values);
    if (status < 0) return status;
    walk->steps = before;
  }
  return KV_OK;
}

kv_status kv_tree_read_fields(const kv_tree *tree, const kv_type *type,
                              const kv_field *fields, size_t count,
                              void *values, kv_error **error) {
  kv_walk walk = kv_walk_begin(error);
  kv_cursor root = kv_tree_root(tree);
  if (!tree || !values)
    return kv_walk_fail(&walk, KV_INVALID_ARGUMENT,
                        tree ? "values is NULL" : "tree is NULL");
  kv_status status = kv_fields_check(&walk, fields, count);
  if (!status && type) status = kv_type_decode(type, tree, NULL, error);
  /* An error is found before the struct is changed. */
  if (!status) status = read_table(&walk, &root, fields, count, NULL);
  if (!status) status = read_table(&walk, &root, fields, count, values);
  return status;
}

/* ---- Stores */

/* Checks the value of a field by the type that the schema has for it. */
static kv_status check_value(kv_walk *walk, const kv_store *store,
                             const kv_cursor *root, const kv_field *field) {
  kv_type *type = NULL;
  kv_tree *stored = NULL;
  kv_error *error = NULL;
  kv_cursor value;
  kv_status status = kv_walk_push_path(walk, field);
  if (status) return status;
  if (!kv_store_type_at(store, walk->path, walk->steps, &type, NULL) &&
      !kv_cursor_path(root, walk->path, walk->steps, &value) &&
      !kv_cursor_copy(&value, &stored))
    status = kv_type_decode(type, stored, NULL, &error);
  if (error) kv_walk_fail_inside(walk, error);
  kv_tree_free(stored);
  kv_type_free(type);
  walk->steps = 0;
  return status;
}

kv_status kv_read_fields(const kv_store *store, const kv_field *fields,
                         size_t count, void *values, kv_error **error) {
  kv_walk walk = kv_walk_begin(error);
  kv_tree *tree = NULL;
  kv_status status = kv_fields_check(&walk, fields, count);
  if (!status) status = kv_store_snapshot(store, &tree, error);
  kv_cursor root = kv_tree_root(tree);
  for (size_t i = 0; i < count && !status; i++)
    status = check_value(&walk, store, &root, &fields[i]);
  if (!status)
    status = kv_tree_read_fields(tree, NULL, fields, count, values, error);
  kv_tree_free(tree);
  return status;
}
