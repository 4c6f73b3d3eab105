/* writing.c: the difference between two structs, merged into a store.
 *
 * Each struct becomes a tree in stored form. kv_store_merge() stores the members
 * that differ between the two trees. Values of the type Any are given as they
 * are stored, and with a type a set wins over other programs' changes. */
#include "CKVFields.h"

/* ---- Trees of structs */

static kv_status append_table(kv_walk *walk, kv_builder *builder,
                              const kv_field *fields, size_t count,
                              const char *values);

/* Appends a value of a struct that is no array. */
static kv_status append_value(kv_walk *walk, kv_builder *builder,
                              const kv_field *field, const char *value) {
  kv_error **error = walk->error;
  switch (field->kind) {
    case KV_FIELD_TABLE:
      return append_table(walk, builder, field->fields, field->field_count,
                          value);
    case KV_FIELD_BOOL:
      return kv_builder_boolean(builder, kv_field_bits(value, field->size) != 0,
                                error);
    case KV_FIELD_TEXT:
      if (!memchr(value, 0, field->size))
        return kv_walk_fail(walk, KV_INVALID_ARGUMENT,
                            "Expected a NUL behind the text");
      return kv_builder_string(builder, kv_field_text(field, value), error);
    case KV_FIELD_STRING:
      return kv_builder_string(builder, kv_field_text(field, value), error);
    case KV_FIELD_DATE:
    case KV_FIELD_TIME:
      return kv_builder_date(builder, kv_field_real(field, value), error);
    case KV_FIELD_FLOAT:
    case KV_FIELD_DOUBLE:
      return kv_builder_real(builder, kv_field_real(field, value), error);
    default:
      if (kv_field_is_signed(field->kind))
        return kv_builder_integer(builder, kv_field_integer(value, field->size),
                                  error);
      return kv_builder_unsigned(builder, kv_field_bits(value, field->size),
                                 error);
  }
}

static kv_status append_array(kv_walk *walk, kv_builder *builder,
                              const kv_field *field, const char *values) {
  const char *element = values + field->offset;
  if (kv_field_bits(values + field->mark, field->mark_size) > field->room)
    return kv_walk_fail(walk, KV_INVALID_ARGUMENT,
                        "the count is larger than the array");
  size_t elements = kv_field_elements(field, values);
  kv_status status = kv_builder_begin_array(builder, walk->error);
  for (size_t i = 0; i < elements && !status; i++, element += field->size) {
    status = kv_walk_push(walk, kv_index((int64_t)i));
    if (!status) status = append_value(walk, builder, field, element);
    if (!status) walk->steps--;
  }
  return status ? status : kv_builder_end(builder, walk->error);
}

/* Appends the value at the end of a field's path, if there is one. A struct
 * that is not optional has its dictionary in any case. */
static kv_status append_member(kv_walk *walk, kv_builder *builder,
                               const kv_field *field, kv_str key,
                               const char *values) {
  if (!kv_field_is_there(field, values)) return KV_OK;
  kv_status status = kv_builder_key(builder, key, walk->error);
  if (status) return status;
  if (field->room) return append_array(walk, builder, field, values);
  return append_value(walk, builder, field, values + field->offset);
}

static kv_status append_fields(kv_walk *walk, kv_builder *builder,
                               const kv_field *fields, size_t count,
                               const kv_field *first, int depth,
                               const char *values);

/* Appends the dictionary at a key on the way to values. One without values is
 * there as well: removing the last value leaves the dictionary. */
static kv_status append_dictionary(kv_walk *walk, kv_builder *builder,
                                   const kv_field *fields, size_t count,
                                   const kv_field *first, int depth,
                                   const char *values) {
  kv_str key = kv_string(first->path[depth]);
  kv_status status = kv_builder_key(builder, key, walk->error);
  if (!status) status = kv_builder_begin_dictionary(builder, walk->error);
  if (!status)
    status =
        append_fields(walk, builder, fields, count, first, depth + 1, values);
  return status ? status : kv_builder_end(builder, walk->error);
}

/* Appends the entries of a dictionary: those of the fields that share the first
 * `depth` keys of `first`. */
static kv_status append_fields(kv_walk *walk, kv_builder *builder,
                               const kv_field *fields, size_t count,
                               const kv_field *first, int depth,
                               const char *values) {
  size_t before = walk->steps;
  for (size_t i = 0; i < count; i++) {
    const kv_field *field = &fields[i];
    bool is_last = kv_field_ends(field, depth);
    if (!kv_field_shares(field, first, depth)) continue;
    if (!is_last && kv_field_is_repeated(fields, i, depth)) continue;
    kv_step step = kv_key(field->path[depth]);
    kv_status status = kv_walk_push(walk, step);
    if (!status && is_last)
      status = append_member(walk, builder, field, step.key, values);
    else if (!status)
      status =
          append_dictionary(walk, builder, fields, count, field, depth, values);
    if (status) return status;
    walk->steps = before;
  }
  return KV_OK;
}

static kv_status append_table(kv_walk *walk, kv_builder *builder,
                              const kv_field *fields, size_t count,
                              const char *values) {
  kv_status status = kv_builder_begin_dictionary(builder, walk->error);
  if (!status)
    status = append_fields(walk, builder, fields, count, fields, 0, values);
  return status ? status : kv_builder_end(builder, walk->error);
}

static kv_status make_tree(kv_walk *walk, const kv_field *fields, size_t count,
                           const char *values, kv_tree **tree) {
  kv_builder *builder = kv_builder_new();
  kv_status status = append_table(walk, builder, fields, count, values);
  if (!status) status = kv_builder_finish(builder, tree, walk->error);
  kv_builder_free(builder);
  return status;
}

/* ---- What differs */

/* Whether the value at a key is the same in both dictionaries. */
static bool has_same(const kv_cursor *left, const kv_cursor *right,
                     kv_str key) {
  const kv_cursor *dictionaries[] = {left, right};
  kv_tree *values[] = {NULL, NULL};
  for (int i = 0; i < 2; i++) {
    kv_cursor value;
    if (!kv_cursor_key(dictionaries[i], key, &value))
      kv_cursor_copy(&value, &values[i]);
  }
  bool is_same = kv_tree_equal(values[0], values[1]);
  kv_tree_free(values[0]);
  kv_tree_free(values[1]);
  return is_same;
}

/* The ancestor has these keys in each dictionary, and no other side does: a
 * merge takes dictionaries of one key for enums, whose cases it does not mix. */
static const char *const ancestor_keys[] = {"KVAncestor", "KVAncestor2"};

/* Appends the entries of a dictionary that another one has not, at every
 * depth. */
static kv_status append_difference(kv_builder *builder, const kv_cursor *from,
                                   const kv_cursor *other, bool is_ancestor,
                                   kv_error **error) {
  kv_str key;
  kv_cursor value, same;
  kv_status status = kv_builder_begin_dictionary(builder, error);
  for (int i = 0; i < 2 && is_ancestor && !status; i++) {
    status = kv_builder_key(builder, kv_string(ancestor_keys[i]), error);
    if (!status) status = kv_builder_boolean(builder, 1, error);
  }
  for (size_t i = 0; !status && !kv_cursor_entry(from, i, &key, &value); i++) {
    if (has_same(from, other, key)) continue;
    bool is_inner = kv_cursor_kind(&value) == KV_DICTIONARY &&
                    !kv_cursor_key(other, key, &same) &&
                    kv_cursor_kind(&same) == KV_DICTIONARY;
    status = kv_builder_key(builder, key, error);
    if (status) break;
    status = is_inner
                 ? append_difference(builder, &value, &same, is_ancestor, error)
                 : kv_builder_cursor(builder, &value, error);
  }
  return status ? status : kv_builder_end(builder, error);
}

/* Gives what a value has at a key and another one has not; NULL for nothing. */
static kv_status get_difference(const kv_tree *from, const kv_tree *other,
                                kv_str key, bool is_ancestor, kv_tree **result,
                                kv_error **error) {
  kv_cursor left = kv_tree_root(from), right = kv_tree_root(other), value, same;
  *result = NULL;
  if (kv_cursor_key(&left, key, &value)) return KV_OK;
  if (kv_cursor_kind(&value) != KV_DICTIONARY ||
      kv_cursor_key(&right, key, &same))
    return kv_cursor_copy(&value, result);
  kv_builder *builder = kv_builder_new();
  kv_status status =
      append_difference(builder, &value, &same, is_ancestor, error);
  if (!status) status = kv_builder_finish(builder, result, error);
  kv_builder_free(builder);
  return status;
}

/* ---- Writing */

/* One write: the trees of both structs; the types of the values, Any with an
 * old struct and the table's otherwise. */
typedef struct writing {
  kv_store *store;
  kv_tree *old, *ours;
  kv_type *any, *type;
} writing;

/* Gives the type of the table's struct, all of whose members may be absent. */
static kv_status get_type(const kv_field *fields, size_t count, kv_type **type,
                          kv_error **error) {
  kv_registry *registry = kv_registry_new(NULL, 0);
  char *text = kv_fields_declaration("Fields", fields, count, NULL);
  kv_status status = kv_registry_declare(registry, kv_string(text),
                                         kv_string(""), NULL, error);
  if (!status)
    status = kv_registry_type(registry, kv_string("Fields"), type, error);
  free(text);
  kv_registry_free(registry);
  return status;
}

/* Stores what differs at a top-level key. */
static kv_status write_difference(const writing *all, kv_step step,
                                  kv_error **error) {
  static const kv_str no_bytes = {"{}", 2};
  kv_tree *old = NULL, *ours = NULL;
  kv_status status =
      get_difference(all->old, all->ours, step.key, true, &old, error);
  if (!status)
    status = get_difference(all->ours, all->old, step.key, false, &ours, error);
  /* Without an old value, keys of other programs stay. */
  if (!status && !old)
    status = kv_decode(no_bytes, NULL, NULL, &old, NULL, error);
  if (!status && ours)
    status = kv_store_merge(all->store, &step, 1, old, ours, all->any, NULL,
                            NULL, error);
  else if (!status)
    status = kv_store_remove(all->store, &step, 1, error);
  kv_tree_free(old);
  kv_tree_free(ours);
  return status < 0 ? status : KV_OK;
}

/* Stores what the struct has at a top-level key, in place of what the table
 * knows of the stored value. */
static kv_status write_whole(const writing *all, kv_step step,
                             const kv_tree *before, kv_error **error) {
  kv_cursor root = kv_tree_root(all->ours), value;
  kv_type *type = NULL;
  kv_tree *ours = NULL;
  kv_status status;
  bool is_there = !kv_cursor_key(&root, step.key, &value);
  if (is_there && !before)
    is_there =
        kv_cursor_kind(&value) != KV_DICTIONARY || kv_cursor_count(&value);
  if (!is_there) {
    status = kv_store_remove(all->store, &step, 1, error);
    return status < 0 ? status : KV_OK;
  }
  status = kv_type_at(all->type, &step, 1, &type, error);
  if (!status) status = kv_cursor_copy(&value, &ours);
  if (!status)
    status = kv_store_set(all->store, &step, 1, ours, type, 0, NULL, error);
  kv_tree_free(ours);
  kv_type_free(type);
  return status;
}

/* Puts back the value of a top-level key. */
static void put_back(const writing *all, kv_step step, const kv_tree *before) {
  kv_tree *now = NULL;
  kv_store_get(all->store, &step, 1, all->any, &now, NULL);
  if (before)
    kv_store_merge(all->store, &step, 1, now, before, all->any, NULL, NULL,
                   NULL);
  else if (now)
    kv_store_remove(all->store, &step, 1, NULL);
  kv_tree_free(now);
}

/* Writes the keys of the fields from `index` on: one key changes at once, and
 * is put back if a later one is refused. A transaction would change all
 * together, but waits for the disk and for other programs, which a set does
 * only with immediate durability. A program that needs a transaction begins one
 * itself. Recursion is bounded by the number of the table's top-level keys. */
static kv_status write_keys(const writing *all, const kv_field *fields,
                            size_t count, size_t index, kv_error **error) {
  kv_cursor old = kv_tree_root(all->old), ours = kv_tree_root(all->ours);
  while (
      index < count &&
      (kv_field_is_repeated(fields, index, 0) ||
       (all->old && has_same(&old, &ours, kv_string(fields[index].path[0])))))
    index++;
  if (index >= count) return KV_OK;
  kv_step step = kv_key(fields[index].path[0]);
  kv_tree *before = NULL;
  kv_status status =
      kv_store_get(all->store, &step, 1, all->any, &before, error);
  if (status >= 0)
    status = all->old ? write_difference(all, step, error)
                      : write_whole(all, step, before, error);
  if (!status) {
    status = write_keys(all, fields, count, index + 1, error);
    if (status && status != KV_OUTCOME_UNKNOWN) put_back(all, step, before);
  }
  kv_tree_free(before);
  return status;
}

kv_status kv_write_fields(kv_store *store, const kv_field *fields, size_t count,
                          const void *old, const void *values,
                          kv_error **error) {
  kv_walk walk = kv_walk_begin(error);
  writing all = {store, NULL, NULL, NULL, NULL};
  if (!store || !values)
    return kv_walk_fail(&walk, KV_INVALID_ARGUMENT,
                        store ? "values is NULL" : "store is NULL");
  kv_status status = kv_fields_check(&walk, fields, count);
  if (!status) status = make_tree(&walk, fields, count, values, &all.ours);
  if (!status && old) status = make_tree(&walk, fields, count, old, &all.old);
  if (!status && !old) status = get_type(fields, count, &all.type, error);
  if (!status)
    status = kv_registry_type(NULL, kv_string("Any"), &all.any, error);
  if (!status) status = write_keys(&all, fields, count, 0, error);
  kv_tree_free(all.old);
  kv_tree_free(all.ours);
  kv_type_free(all.type);
  kv_type_free(all.any);
  return status;
}
