/* writing.c: the difference between two structs, merged into a store.
 *
 * Each struct becomes a tree in stored form, and kv_store_merge() stores what
 * differs between the two. Before that, what the two have in common with the
 * store gets the form that it has there: with keys that the table does not
 * know, without members that are not stored, and with numbers that are stored
 * more exactly than a member can hold. Otherwise a value that the struct
 * removes would look like one that another program changed, and would
 * stay. */
#include "CKVFields.h"

/* ---- Trees of structs and of stored values
 *
 * What a tree is made from: a struct, a stored dictionary, or both. With both
 * it is what reading the dictionary into the struct gives, as the struct would
 * write it; a value that does not fit its member is taken as it is stored. */
typedef struct source {
  const char *values;      /* the struct, or NULL */
  const kv_cursor *stored; /* the dictionary, or NULL */
} source;

static kv_status append_table(kv_walk *walk, kv_builder *builder,
                              const kv_field *fields, size_t count,
                              source from);

/* Appends a value of a struct that is no array. */
static kv_status append_value(kv_walk *walk, kv_builder *builder,
                              const kv_field *field, const char *value) {
  kv_error **error = walk->error;
  switch (field->kind) {
    case KV_FIELD_TABLE:
      return append_table(walk, builder, field->fields, field->field_count,
                          (source){value, NULL});
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

/* Appends a stored value that is no array. `below` is the struct that it would
 * be read into, or NULL. */
static kv_status append_stored_value(kv_walk *walk, kv_builder *builder,
                                     const kv_field *field,
                                     const kv_cursor *value,
                                     const char *below) {
  kv_walk quiet = *walk;
  uint64_t member = 0;
  quiet.error = NULL;
  if (field->kind == KV_FIELD_TABLE && kv_cursor_kind(value) == KV_DICTIONARY)
    return append_table(walk, builder, field->fields, field->field_count,
                        (source){below, value});
  /* Strings have one form alone. */
  if (field->kind != KV_FIELD_TABLE && field->kind != KV_FIELD_TEXT &&
      field->kind != KV_FIELD_STRING &&
      kv_field_read_value(&quiet, value, field, (char *)&member) == KV_OK)
    return append_value(walk, builder, field, (const char *)&member);
  return kv_builder_cursor(builder, value, walk->error);
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

static kv_status append_stored_array(kv_walk *walk, kv_builder *builder,
                                     const kv_field *field,
                                     const kv_cursor *array) {
  kv_cursor element;
  uint64_t state = 0;
  if (kv_cursor_kind(array) != KV_ARRAY)
    return kv_builder_cursor(builder, array, walk->error);
  /* Elements begin as zeros when they are read. */
  char *zeros = kv_fields_memory(NULL, field->size);
  memset(zeros, 0, field->size);
  kv_status status = kv_builder_begin_array(builder, walk->error);
  while (!status && kv_cursor_next(array, &state, &element) == KV_OK)
    status = append_stored_value(walk, builder, field, &element, zeros);
  free(zeros);
  return status ? status : kv_builder_end(builder, walk->error);
}

/* Appends the value at the end of a field's path, if there is one. A struct
 * that is not optional has its dictionary in any case. */
static kv_status append_member(kv_walk *walk, kv_builder *builder,
                               const kv_field *field, kv_str key, source from) {
  kv_cursor stored;
  bool is_stored = from.stored && !kv_cursor_key(from.stored, key, &stored);
  const char *values =
      from.values && kv_field_is_there(field, from.values) ? from.values : NULL;
  bool is_dictionary = field->kind == KV_FIELD_TABLE && !field->mark_size;
  if (!is_stored && !values && !is_dictionary) return KV_OK;
  kv_status status = kv_builder_key(builder, key, walk->error);
  if (status) return status;
  if (is_stored && field->room)
    return append_stored_array(walk, builder, field, &stored);
  if (field->room) return append_array(walk, builder, field, values);
  const char *member = values ? values + field->offset : NULL;
  if (is_stored)
    return append_stored_value(walk, builder, field, &stored, member);
  if (member) return append_value(walk, builder, field, member);
  return append_table(walk, builder, field->fields, field->field_count,
                      (source){NULL, NULL});
}

static kv_status append_fields(kv_walk *walk, kv_builder *builder,
                               const kv_field *fields, size_t count,
                               const kv_field *first, int depth, source from);

/* Appends the dictionary at a key on the way to values. One without values is
 * there as well: removing the last value leaves the dictionary. */
static kv_status append_dictionary(kv_walk *walk, kv_builder *builder,
                                   const kv_field *fields, size_t count,
                                   const kv_field *first, int depth,
                                   source from) {
  kv_str key = kv_string(first->path[depth]);
  kv_cursor next = kv_tree_root(NULL);
  kv_status status = kv_builder_key(builder, key, walk->error);
  if (status) return status;
  if (from.stored) {
    bool is_there = !kv_cursor_key(from.stored, key, &next);
    if (is_there && kv_cursor_kind(&next) != KV_DICTIONARY)
      return kv_builder_cursor(builder, &next, walk->error);
    from.stored = &next;
  }
  status = kv_builder_begin_dictionary(builder, walk->error);
  if (!status)
    status =
        append_fields(walk, builder, fields, count, first, depth + 1, from);
  return status ? status : kv_builder_end(builder, walk->error);
}

/* Appends the entries of a dictionary: those of the fields that share the first
 * `depth` keys of `first`. */
static kv_status append_fields(kv_walk *walk, kv_builder *builder,
                               const kv_field *fields, size_t count,
                               const kv_field *first, int depth, source from) {
  size_t before = walk->steps;
  for (size_t i = 0; i < count; i++) {
    const kv_field *field = &fields[i];
    bool is_last = kv_field_ends(field, depth);
    if (!kv_field_shares(field, first, depth)) continue;
    if (!is_last && kv_field_is_repeated(fields, i, depth)) continue;
    kv_step step = kv_key(field->path[depth]);
    kv_status status = kv_walk_push(walk, step);
    if (!status && is_last)
      status = append_member(walk, builder, field, step.key, from);
    else if (!status)
      status =
          append_dictionary(walk, builder, fields, count, field, depth, from);
    if (status) return status;
    walk->steps = before;
  }
  return KV_OK;
}

static kv_status append_table(kv_walk *walk, kv_builder *builder,
                              const kv_field *fields, size_t count,
                              source from) {
  kv_status status = kv_builder_begin_dictionary(builder, walk->error);
  if (!status)
    status = append_fields(walk, builder, fields, count, fields, 0, from);
  return status ? status : kv_builder_end(builder, walk->error);
}

static kv_status make_tree(kv_walk *walk, const kv_field *fields, size_t count,
                           source from, kv_tree **tree) {
  kv_builder *builder = kv_builder_new();
  kv_status status = append_table(walk, builder, fields, count, from);
  if (!status) status = kv_builder_finish(builder, tree, walk->error);
  kv_builder_free(builder);
  return status;
}

/* ---- What the store has */

/* Whether both dictionaries have the same value for the key. */
static bool has_same(const kv_tree *left, const kv_tree *right, kv_str key) {
  const kv_tree *trees[] = {left, right};
  kv_tree *values[] = {NULL, NULL};
  for (int i = 0; i < 2; i++) {
    kv_cursor root = kv_tree_root(trees[i]), value;
    if (!kv_cursor_key(&root, key, &value)) kv_cursor_copy(&value, &values[i]);
  }
  bool is_same = kv_tree_equal(values[0], values[1]);
  kv_tree_free(values[0]);
  kv_tree_free(values[1]);
  return is_same;
}

static kv_status append_key(const kv_store *store, kv_builder *builder,
                            kv_step step, const kv_type *any,
                            kv_error **error) {
  kv_tree *value = NULL;
  kv_status status = kv_store_get(store, &step, 1, any, &value, error);
  if (status) return status < 0 ? status : KV_OK;
  kv_cursor root = kv_tree_root(value);
  status = kv_builder_key(builder, step.key, error);
  if (!status) status = kv_builder_cursor(builder, &root, error);
  kv_tree_free(value);
  return status;
}

/* Gives the stored values of the top-level keys that differ between the trees,
 * or of all keys of the table if `old` is NULL. */
static kv_status get_stored(const kv_store *store, const kv_field *fields,
                            size_t count, const kv_tree *old,
                            const kv_tree *ours, kv_tree **stored,
                            kv_error **error) {
  kv_builder *builder = kv_builder_new();
  kv_type *any = NULL; /* gives values as they are stored */
  kv_status status = kv_registry_type(NULL, kv_string("Any"), &any, error);
  if (!status) status = kv_builder_begin_dictionary(builder, error);
  for (size_t i = 0; i < count && !status; i++) {
    kv_step step = kv_key(fields[i].path[0]);
    if (kv_field_is_repeated(fields, i, 0)) continue;
    if (old && has_same(old, ours, step.key)) continue;
    status = append_key(store, builder, step, any, error);
  }
  if (!status) status = kv_builder_end(builder, error);
  if (!status) status = kv_builder_finish(builder, stored, error);
  kv_type_free(any);
  kv_builder_free(builder);
  return status;
}

/* ---- What the table does not know */

/* Gives the steps of a conflict's path; 0 if there are more than fit. */
static size_t conflict_path(const kv_cursor *conflict, kv_step *path) {
  kv_cursor steps, step;
  uint64_t state = 0;
  size_t count = 0;
  if (kv_cursor_key(conflict, kv_string("path"), &steps)) return 0;
  while (kv_cursor_next(&steps, &state, &step) == KV_OK) {
    if (count == KV_FIELD_DEPTH) return 0;
    path[count] = kv_key("");
    if (kv_cursor_kind(&step) == KV_STRING) {
      kv_cursor_string(&step, &path[count].key);
      if (!path[count].key.length) path[count] = kv_key("");
    } else {
      path[count].key.data = NULL;
      kv_cursor_integer(&step, &path[count].index);
    }
    count++;
  }
  return count;
}

/* Removes what the merge kept only because the table does not know all of it:
 * here a removal wins. */
static kv_status remove_kept(kv_tree **tree, const kv_cursor *conflict,
                             kv_error **error) {
  kv_step path[KV_FIELD_DEPTH];
  kv_cursor ours;
  kv_tree *rest = NULL;
  if (!kv_cursor_key(conflict, kv_string("ours"), &ours)) return KV_OK;
  size_t steps = conflict_path(conflict, path);
  if (!steps) return KV_OK;
  kv_status status = kv_tree_remove(*tree, path, steps, &rest, error);
  if (status) return status < 0 ? status : KV_OK;
  kv_tree_free(*tree);
  *tree = rest;
  return KV_OK;
}

/* Gives the tree of a struct in the form of the store. `known` is what reading
 * `stored` would give. */
static kv_status keep_unknown(const kv_tree *known, const kv_tree *tree,
                              const kv_tree *stored, kv_tree **result,
                              kv_error **error) {
  kv_tree *conflicts = NULL;
  kv_status status = kv_merge(known, tree, stored, result, &conflicts, error);
  kv_cursor root = kv_tree_root(conflicts), conflict;
  /* The last first: a removal moves the elements behind it. */
  for (size_t i = kv_cursor_count(&root); i > 0 && !status; i--) {
    kv_step step = kv_index((int64_t)i - 1);
    if (!kv_cursor_path(&root, &step, 1, &conflict))
      status = remove_kept(result, &conflict, error);
  }
  kv_tree_free(conflicts);
  return status;
}

/* ---- Writing */

/* The trees of one write. All may be NULL. */
typedef struct trees {
  kv_tree *old, *ours;
  kv_tree *stored;            /* of the keys that differ */
  kv_tree *theirs;            /* the same with all dictionaries */
  kv_tree *known;             /* the tree of what reading them would give */
  kv_tree *ancestor, *result; /* old and ours in the form of the store */
} trees;

static void free_trees(trees *all) {
  kv_tree_free(all->old);
  kv_tree_free(all->ours);
  kv_tree_free(all->stored);
  kv_tree_free(all->theirs);
  kv_tree_free(all->known);
  kv_tree_free(all->ancestor);
  kv_tree_free(all->result);
}

/* Gives the stored values with all dictionaries on the way to the table's
 * values: so a dictionary that is not stored gets the members that differ and
 * no others. */
static kv_status add_dictionaries(kv_walk *walk, const kv_field *fields,
                                  size_t count, const kv_tree *stored,
                                  kv_tree **result) {
  kv_tree *empty = NULL;
  kv_status status =
      make_tree(walk, fields, count, (source){NULL, NULL}, &empty);
  if (!status)
    status = kv_merge(NULL, stored, empty, result, NULL, walk->error);
  kv_tree_free(empty);
  return status;
}

/* Makes the two trees to merge, from those of the structs. */
static kv_status make_difference(kv_walk *walk, const kv_store *store,
                                 const kv_field *fields, size_t count,
                                 const char *old, trees *all) {
  kv_error **error = walk->error;
  kv_status status = get_stored(store, fields, count, all->old, all->ours,
                                &all->stored, error);
  if (!status)
    status = add_dictionaries(walk, fields, count, all->stored, &all->theirs);
  kv_cursor root = kv_tree_root(all->theirs);
  if (!status)
    status = make_tree(walk, fields, count, (source){old, &root}, &all->known);
  if (!status)
    status = keep_unknown(all->known, all->old ? all->old : all->known,
                          all->theirs, &all->ancestor, error);
  if (!status)
    status =
        keep_unknown(all->known, all->ours, all->theirs, &all->result, error);
  return status;
}

/* Puts back the keys that a failed merge has changed. */
static void undo(kv_store *store, const kv_field *fields, size_t count,
                 const trees *all) {
  kv_tree *now = NULL;
  if (!get_stored(store, fields, count, all->old, all->ours, &now, NULL))
    kv_store_merge(store, NULL, 0, now, all->stored, NULL, NULL, NULL, NULL);
  kv_tree_free(now);
}

/* One key changes at once. Several are set one after the other, and put back if
 * one of them is refused. A transaction would change them together, but waits
 * for the disk and for other programs, which a set does only with immediate
 * durability. A program that needs a transaction begins one itself. */
static kv_status merge(kv_store *store, const kv_field *fields, size_t count,
                       const trees *all, kv_error **error) {
  kv_status status = kv_store_merge(store, NULL, 0, all->ancestor, all->result,
                                    NULL, NULL, NULL, error);
  if (status < 0 && status != KV_OUTCOME_UNKNOWN)
    undo(store, fields, count, all);
  return status;
}

kv_status kv_write_fields(kv_store *store, const kv_field *fields, size_t count,
                          const void *old, const void *values,
                          kv_error **error) {
  kv_walk walk = kv_walk_begin(error);
  trees all = {NULL, NULL, NULL, NULL, NULL, NULL, NULL};
  if (!store || !values)
    return kv_walk_fail(&walk, KV_INVALID_ARGUMENT,
                        store ? "values is NULL" : "store is NULL");
  kv_status status = kv_fields_check(&walk, fields, count);
  if (!status)
    status = make_tree(&walk, fields, count, (source){values, NULL}, &all.ours);
  if (!status && old)
    status = make_tree(&walk, fields, count, (source){old, NULL}, &all.old);
  if (!status && !kv_tree_equal(all.old, all.ours)) {
    status = make_difference(&walk, store, fields, count, old, &all);
    if (!status) status = merge(store, fields, count, &all, error);
  }
  free_trees(&all);
  return status;
}
