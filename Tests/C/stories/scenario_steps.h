/* scenario_steps.h: the steps of Tests/Scenarios in C; README.md there has their
 * meaning. */
#ifndef SCENARIO_STEPS_H
#define SCENARIO_STEPS_H

#include "check.h"
#include "kvcodable_fields.h"

/* One scenario with one engine. */
typedef struct run {
  const char *file; /* the store's */
  const char *name; /* of a store that is opened by its name; else NULL */
  kv_store_options options;
  kv_store *store;
  kv_watch *watch;
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

/* ---- Steps about the layers */

static void note_event(void *context, kv_event event, kv_str message) {
  run *run = context;
  if (event != KV_EVENT_CONFLICT) return;
  run->events++;
  snprintf(run->event, sizeof run->event, "%.*s", (int)message.length,
           message.data);
}

static kv_status open_store(run *run) {
  kv_error *error = NULL;
  kv_status status =
      run->name ? kv_store_open(kv_string(run->name), &run->options,
                                &run->store, &error)
                : kv_store_open_file(kv_string(run->file), &run->options,
                                     &run->store, &error);
  expect(run, status == KV_OK, "open",
         error ? kv_error_message(error).data : NULL);
  kv_error_free(error);
  return status;
}

static void watch_events(run *run) {
  kv_watch_cancel(run->watch);
  kv_store_watch_events(run->store, note_event, run, &run->watch, NULL);
}

static void reopen(run *run) {
  if (run->options.engine != KV_ENGINE_MEMORY) {
    kv_store_free(run->store);
    run->store = NULL;
    if (open_store(run) != KV_OK) return;
  }
  watch_events(run);
}

static int has_element(const kv_cursor *list, const kv_cursor *wanted) {
  kv_cursor element;
  kv_tree *one = NULL, *other = NULL;
  int found = 0;
  kv_cursor_copy(wanted, &one);
  for (uint64_t state = 0;
       !found && kv_cursor_next(list, &state, &element) == KV_OK;) {
    kv_cursor_copy(&element, &other);
    found = kv_tree_equal(one, other);
    kv_tree_free(other);
  }
  kv_tree_free(one);
  return found;
}

/* Whether two arrays have the same elements in any order. */
static int same_elements(const kv_cursor *one, const kv_cursor *other) {
  kv_cursor element;
  if (kv_cursor_count(one) != kv_cursor_count(other)) return 0;
  for (uint64_t state = 0; kv_cursor_next(one, &state, &element) == KV_OK;)
    if (!has_element(other, &element)) return 0;
  return 1;
}

/* Takes the unset paths out of a tree, and gives them. */
static kv_tree *without_unset(kv_tree *tree, kv_tree **unset) {
  kv_step key = kv_key("KVUnset");
  kv_cursor root = kv_tree_root(tree);
  kv_tree *rest = NULL;
  *unset = tree_of(&root, "KVUnset");
  if (!*unset) return tree;
  kv_tree_remove(tree, &key, 1, &rest, NULL);
  kv_tree_free(tree);
  return rest;
}

/* Expects a tree to be what the store has of its own. The order of the unset
 * paths does not count, and a layer that is read through the store has none. */
static void compare_stored(run *run, const kv_cursor *step, const char *key,
                           kv_tree *found, int is_file) {
  kv_tree *paths = NULL, *expected_paths = NULL;
  kv_tree *expected = without_unset(tree_of(step, key), &expected_paths);
  kv_tree *holder = parse("{}"), *wanted = NULL;
  kv_step place = kv_key(key);
  found = without_unset(found, &paths);
  kv_cursor one = kv_tree_root(paths), other = kv_tree_root(expected_paths);
  if (is_file)
    expect(run, !paths == !expected_paths && same_elements(&one, &other), key,
           "other unset paths");
  kv_tree_set(holder, &place, 1, expected, &wanted, NULL);
  kv_cursor root = kv_tree_root(wanted);
  compare(run, &root, key, found);
  kv_tree *trees[] = {paths, expected_paths, expected, holder, wanted};
  for (int i = 0; i < 5; i++) kv_tree_free(trees[i]);
}

static int is_property_list(const run *run) {
  return run->options.engine == KV_ENGINE_AUTOMATIC;
}

static kv_status expect_file(run *run, const kv_cursor *step,
                             kv_error **error) {
  kv_tree *found = NULL;
  kv_status status = KV_OK;
  if (!is_property_list(run)) {
    status = kv_store_layer(run->store, KV_LAYER_APPLICATION, 0, &found, error);
  } else if ((status = kv_store_sync(run->store, error)) == KV_OK) {
    if (kv_read_file(kv_string(run->file), NULL, NULL, &found, NULL, NULL) !=
        KV_OK)
      found = parse("{}");
  }
  if (status == KV_OK)
    compare_stored(run, step, "file", found, is_property_list(run));
  return status;
}

/* The name of a layer in the scenarios. */
static const char *layer_name(kv_layer layer) {
  static const char *names[] = {"managed", "arguments",    "application",
                                "suite",   "global",       "registered",
                                "schema",  "administrator"};
  return (size_t)layer < sizeof names / sizeof *names ? names[layer] : "other";
}

static kv_status expect_origin(run *run, const kv_cursor *step,
                               kv_error **error) {
  kv_step path[8];
  kv_cursor value;
  int64_t suite = 0;
  kv_origin origin = {.size = sizeof origin};
  size_t count = read_path(step, "origin", path);
  kv_status status = kv_store_origin(run->store, path, count, &origin, error);
  const char *found = status == KV_OK ? layer_name(origin.layer) : "";
  if (has(step, "suite", &value)) kv_cursor_integer(&value, &suite);
  expect(run, strcmp(found, word(step, "layer")) == 0, place(step, "origin"),
         found);
  expect(run, status != KV_OK || origin.suite == (size_t)suite, "suite",
         "another one");
  if (status == KV_OK) kv_bytes_free(&origin.file);
  return status == KV_ABSENT ? KV_OK : status;
}

static kv_status expect_keys(run *run, const kv_cursor *step,
                             kv_error **error) {
  kv_step path[8];
  kv_tree *keys = NULL, *expected = tree_of(step, "are");
  size_t count = read_path(step, "keys", path);
  kv_status status = kv_store_keys(run->store, path, count, &keys, error);
  kv_cursor one = kv_tree_root(keys), other = kv_tree_root(expected);
  expect(run, same_elements(&one, &other), "keys", "others");
  kv_tree_free(expected);
  kv_tree_free(keys);
  return status;
}

static kv_status register_defaults(run *run, const kv_cursor *step,
                                   kv_error **error) {
  kv_tree *defaults = tree_of(step, "register");
  kv_status status = kv_store_register(run->store, defaults, error);
  kv_tree_free(defaults);
  return status;
}

/* Takes a step that is about the layers. */
static kv_status take_of_layers(run *run, const kv_cursor *step,
                                kv_error **error) {
  kv_cursor value;
  if (has(step, "file", &value)) return expect_file(run, step, error);
  if (has(step, "origin", &value)) return expect_origin(run, step, error);
  if (has(step, "keys", &value)) return expect_keys(run, step, error);
  if (has(step, "register", &value)) return register_defaults(run, step, error);
  if (has(step, "reopen", &value))
    reopen(run);
  else
    expect(run, 0, "a step that no driver knows", NULL);
  return KV_OK;
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
  if (!has(step, "event", &value)) return take_of_layers(run, step, error);
  expect_event(run, step);
  return KV_OK;
}

#endif
