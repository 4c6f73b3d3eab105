/* scenario_steps.h: the steps of Tests/Scenarios in C; README.md there has their
 * meaning. */
#ifndef SCENARIO_STEPS_H
#define SCENARIO_STEPS_H

#include "check.h"
#include "kvcodable_fields.h"

/* One scenario with one engine. */
typedef struct run {
  const char *file;
  kv_store *store;
  kv_registry *types;
  int failures;
  int events; /* conflicts that no step expected yet */
  char event[300];
} run;

/* Notes a failure unless the condition holds, with what was found. */
static void expect(run *run, int condition, const char *what,
                   const char *found) {
  if (condition) return;
  printf("# %s: %s\n", what, found ? found : "nothing");
  run->failures++;
}

/* ---- Parts of a step */

static int has(const kv_cursor *step, const char *key, kv_cursor *value) {
  return kv_cursor_key(step, kv_string(key), value) == KV_OK;
}

/* Walks the array under a key; `state` is 0 at first. 0 at its end. */
static int next_of(const kv_cursor *step, const char *key, uint64_t *state,
                   kv_cursor *element) {
  kv_cursor list;
  return has(step, key, &list) &&
         kv_cursor_next(&list, state, element) == KV_OK;
}

/* The text under a key; empty without one. Valid until the next call but 3. */
static const char *word(const kv_cursor *step, const char *key) {
  static char buffers[4][200];
  static int turn = 0;
  char *buffer = buffers[turn++ % 4];
  kv_cursor value;
  kv_str text = {"", 0};
  if (has(step, key, &value)) kv_cursor_string(&value, &text);
  snprintf(buffer, sizeof buffers[0], "%.*s", (int)text.length, text.data);
  return buffer;
}

static size_t read_path(const kv_cursor *step, const char *key,
                        kv_step path[8]) {
  size_t count = 0;
  kv_cursor value;
  for (uint64_t state = 0; count < 8 && next_of(step, key, &state, &value);
       count++) {
    path[count] = kv_index(0);
    if (kv_cursor_integer(&value, &path[count].index) != KV_OK)
      kv_cursor_string(&value, &path[count].key);
  }
  return count;
}

/* The path under a key as messages show it. */
static const char *place(const kv_cursor *step, const char *key) {
  static char text[300];
  kv_step path[8];
  int end = 0, count = (int)read_path(step, key, path);
  text[0] = 0;
  for (int i = 0; i < count && end < 200; i++)
    if (path[i].key.data)
      end += sprintf(text + end, "%s%.*s", i > 0 ? "." : "",
                     (int)path[i].key.length, path[i].key.data);
    else
      end += sprintf(text + end, "[%d]", (int)path[i].index);
  return text;
}

/* The value under a key; NULL without one. */
static kv_tree *tree_of(const kv_cursor *step, const char *key) {
  kv_tree *tree = NULL;
  kv_cursor value;
  if (has(step, key, &value)) kv_cursor_copy(&value, &tree);
  return tree;
}

static kv_type *type_of(const run *run, const kv_cursor *step,
                        const char *key) {
  kv_type *type = NULL;
  kv_str name = kv_string(word(step, key));
  if (name.length > 0) kv_registry_type(run->types, name, &type, NULL);
  return type;
}

/* Expects a tree to be the value under a key, and frees the tree. */
static void compare(run *run, const kv_cursor *step, const char *key,
                    kv_tree *found) {
  kv_tree *expected = tree_of(step, key);
  kv_bytes text = {NULL, 0};
  if (found) kv_encode(found, KV_FORMAT_JSON, NULL, &text, NULL);
  expect(run, kv_tree_equal(expected, found), key, text.data);
  kv_bytes_free(&text);
  kv_tree_free(expected);
  kv_tree_free(found);
}

/* ---- Steps, by their verbs */

static void take_all(run *run, const kv_cursor *step, const char *key);

static kv_status set(run *run, const kv_cursor *step, kv_error **error) {
  kv_step path[8];
  kv_cursor flag;
  size_t count = read_path(step, "set", path);
  kv_tree *value = tree_of(step, "to");
  kv_type *type = type_of(run, step, "type");
  uint32_t flags = has(step, "replace", &flag) ? KV_REPLACE : 0;
  kv_status status =
      kv_store_set(run->store, path, count, value, type, flags, NULL, error);
  kv_type_free(type);
  kv_tree_free(value);
  return status;
}

static kv_status get(run *run, const kv_cursor *step, kv_error **error) {
  kv_step path[8];
  size_t count = read_path(step, "get", path);
  kv_tree *value = NULL;
  kv_type *type = type_of(run, step, "type");
  kv_status status = kv_store_get(run->store, path, count, type, &value, error);
  kv_cursor failure;
  if (!has(step, "fails", &failure)) compare(run, step, "is", value);
  kv_type_free(type);
  return status;
}

/* Changes a dictionary as the step says. */
static int change(void *step, const kv_tree *old, kv_tree **changed) {
  kv_cursor entries, value, root = kv_tree_root(old);
  kv_step key = kv_key("");
  kv_tree *next = NULL, *entry = NULL;
  *changed = old ? NULL : parse("{}");
  if (old) kv_cursor_copy(&root, changed);
  for (size_t i = 0; has(step, "with", &entries) &&
                     kv_cursor_entry(&entries, i, &key.key, &value) == KV_OK;
       i++) {
    kv_cursor_copy(&value, &entry);
    kv_tree_set(*changed, &key, 1, entry, &next, NULL);
    kv_tree_free(entry);
    kv_tree_free(*changed);
    *changed = next;
  }
  for (uint64_t state = 0; next_of(step, "without", &state, &value);) {
    kv_cursor_string(&value, &key.key);
    if (kv_tree_remove(*changed, &key, 1, &next, NULL) != KV_OK) continue;
    kv_tree_free(*changed);
    *changed = next;
  }
  return 0;
}

/* The type Record, at the key w. */
typedef struct record {
  int64_t x, y;
  char title[40];
  bool has_x, has_y, has_title;
} record;

static const kv_field record_fields[] = {
    KV_FIELD_OPTIONAL(record, x, has_x, KV_FIELD_INT64, "w", "x"),
    KV_FIELD_OPTIONAL(record, y, has_y, KV_FIELD_INT64, "w", "y"),
    KV_FIELD_OPTIONAL(record, title, has_title, KV_FIELD_TEXT, "w", "title"),
};

static kv_status edit(run *run, const kv_cursor *step, kv_error **error) {
  record old = {0}, changed_record = {0};
  kv_step key = kv_key("w");
  kv_tree *before = NULL, *changed = NULL, *root = NULL, *empty = parse("{}");
  kv_status status =
      kv_read_fields(run->store, KV_FIELDS(record_fields), &old, error);
  kv_store_get(run->store, &key, 1, NULL, &before, NULL);
  take_all(run, step, "meanwhile");
  kv_cursor copy = *step;
  change(&copy, before, &changed);
  kv_tree_set(empty, &key, 1, changed, &root, NULL);
  if (status == KV_OK)
    status = kv_tree_read_fields(root, NULL, KV_FIELDS(record_fields),
                                 &changed_record, error);
  if (status == KV_OK)
    status = kv_write_fields(run->store, KV_FIELDS(record_fields), &old,
                             &changed_record, error);
  kv_tree *trees[] = {before, changed, root, empty};
  for (int i = 0; i < 4; i++) kv_tree_free(trees[i]);
  return status;
}

static kv_status transact(run *run, const kv_cursor *step, kv_error **error) {
  kv_transaction *transaction;
  kv_cursor flag;
  kv_status status = kv_store_begin(run->store, 0, &transaction, error);
  if (status != KV_OK) return status;
  take_all(run, step, "transaction");
  if (!has(step, "rolls back", &flag))
    return kv_transaction_commit(transaction, error);
  kv_transaction_rollback(transaction);
  return KV_OK;
}

static void expect_event(run *run, const kv_cursor *step) {
  char words[310];
  kv_store_pump(run->store, NULL, NULL);
  snprintf(words, sizeof words, " at %s", place(step, "path"));
  expect(run, run->events == 1 && strstr(run->event, words), words, run->event);
  run->events = 0;
  run->event[0] = 0;
}

/* Takes a step of A or B. */
static kv_status take_own(run *run, const kv_cursor *step, kv_error **error) {
  kv_step path[8];
  kv_cursor value;
  size_t count;
  if (has(step, "set", &value)) return set(run, step, error);
  if (has(step, "get", &value)) return get(run, step, error);
  if (has(step, "edit", &value)) return edit(run, step, error);
  if (has(step, "transaction", &value)) return transact(run, step, error);
  if (has(step, "sync", &value)) return kv_store_sync(run->store, error);
  if (has(step, "close", &value)) return kv_store_close(run->store, error);
  if ((count = read_path(step, "remove", path)) > 0)
    return kv_store_remove(run->store, path, count, error);
  if ((count = read_path(step, "reset", path)) > 0)
    return kv_store_reset(run->store, path, count, error);
  if ((count = read_path(step, "update", path)) > 0) {
    kv_cursor copy = *step;
    return kv_store_update(run->store, path, count, NULL, 0, change, &copy,
                           NULL, error);
  }
  if (has(step, "event", &value)) expect_event(run, step);
  return KV_OK;
}

#endif
