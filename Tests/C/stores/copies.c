/* copies.c: what a store's file holds after each call that changes something,
 * over a suite, the global domain and registered defaults: what was set, and
 * nothing of these layers. An array of theirs of which an element changes is
 * copied. */
#define _XOPEN_SOURCE 700
#include "check.h"
#include "kvcodable_fields.h"
#include "kvcodable_nodes.h"

#define PATH(...) \
  (kv_step[]) { __VA_ARGS__ }
#define WIDTH PATH(kv_key("window"), kv_key("width")), 2
#define TITLE PATH(kv_key("window"), kv_key("title")), 2
#define WINDOW PATH(kv_key("window")), 1
#define THEME PATH(kv_key("theme")), 1

/* ---- Calls. Each gives whether it went well. */

static int good(kv_status status) { return status == KV_OK; }

static int set_width(kv_store *store, uint32_t flags) {
  kv_tree *width = integer_tree(800);
  kv_status status = kv_store_set(store, WIDTH, width, NULL, flags, NULL, NULL);
  kv_tree_free(width);
  return good(status);
}
static int set_path(kv_store *store) { return set_width(store, 0); }
static int replace_path(kv_store *store) {
  return set_width(store, KV_REPLACE);
}
static int set_whole(kv_store *store) {
  kv_tree *whole = parse("{\"width\": 800, \"title\": \"A\"}");
  kv_status status = kv_store_set(store, WINDOW, whole, NULL, 0, NULL, NULL);
  kv_tree_free(whole);
  return good(status);
}
static int set_scalars(kv_store *store) {
  return good(kv_store_set_integer(store, WIDTH, 800, NULL)) &&
         good(kv_store_set_boolean(
             store, PATH(kv_key("window"), kv_key("open")), 2, 1, NULL)) &&
         good(kv_store_set_real(store, PATH(kv_key("window"), kv_key("scale")),
                                2, 1.5, NULL)) &&
         good(kv_store_set_string(store, TITLE, kv_string("A"), NULL));
}
static int set_nodes(kv_store *store) {
  kv_node node = {KV_NODE_INTEGER, 0, 800};
  return good(kv_store_set_nodes(store, WIDTH, &node, 1, NULL, 0, NULL, 0, NULL,
                                 NULL, NULL, NULL));
}
static int compare_and_set(kv_store *store) {
  kv_tree *tree = integer_tree(800);
  kv_status status = kv_store_compare_and_set(store, WIDTH, tree,
                                              kv_store_generation(store), NULL);
  kv_tree_free(tree);
  return good(status);
}
static int set_element(kv_store *store) {
  return good(kv_store_set_integer(store, PATH(kv_key("list"), kv_index(1)), 2,
                                   9, NULL));
}
static int remove_element(kv_store *store) {
  return good(
      kv_store_remove(store, PATH(kv_key("list"), kv_index(0)), 2, NULL));
}
static int remove_key(kv_store *store) {
  return kv_store_remove(store, THEME, NULL) == KV_ABSENT;
}
static int remove_part(kv_store *store) {
  return good(kv_store_remove(store, TITLE, NULL));
}
static int reset_path(kv_store *store) {
  return set_path(store) && remove_part(store) &&
         good(kv_store_reset(store, WIDTH, NULL)) &&
         good(kv_store_reset(store, TITLE, NULL));
}
static int rename_lower(kv_store *store) {
  return kv_store_rename(store, THEME, PATH(kv_key("look")), 1, NULL) ==
         KV_ABSENT;
}
static int rename_own(kv_store *store) {
  return set_path(store) &&
         good(kv_store_rename(store, WIDTH, PATH(kv_key("wide")), 1, NULL));
}

static int merge_into(kv_store *store, kv_transaction *transaction) {
  kv_tree *old = parse("{\"width\": 640}"), *new = parse("{\"width\": 800}");
  kv_status status =
      transaction
          ? kv_transaction_merge(transaction, WINDOW, old, new, NULL, NULL,
                                 NULL, NULL)
          : kv_store_merge(store, WINDOW, old, new, NULL, NULL, NULL, NULL);
  kv_tree_free(old);
  kv_tree_free(new);
  return good(status);
}
static int merge(kv_store *store) { return merge_into(store, NULL); }

static int widen(void *context, const kv_tree *old, kv_tree **changed) {
  kv_tree *width = integer_tree(800);
  (void)context;
  kv_status status =
      kv_tree_set(old, PATH(kv_key("width")), 1, width, changed, NULL);
  kv_tree_free(width);
  return status == KV_OK ? 0 : 1;
}
static int update(kv_store *store) {
  return good(kv_store_update(store, WINDOW, NULL, 0, widen, NULL, NULL, NULL));
}
static int import(kv_store *store) {
  return good(kv_store_import(
      store, kv_string("{\"window\": {\"width\": 800}}"), NULL, NULL));
}

static int transact(kv_store *store) {
  kv_transaction *transaction = NULL;
  kv_tree *five = integer_tree(5);
  int is_good = good(kv_store_begin(store, 0, &transaction, NULL)) &&
                good(kv_transaction_set(
                    transaction, PATH(kv_key("window"), kv_key("height")), 2,
                    five, NULL, 0, NULL, NULL)) &&
                good(kv_transaction_remove(transaction, TITLE, NULL)) &&
                merge_into(store, transaction) &&
                good(kv_transaction_commit(transaction, NULL));
  kv_tree_free(five);
  return is_good;
}
static int migrate(kv_store *store) {
  kv_transaction *transaction = NULL;
  int64_t found;
  return good(kv_store_begin(store, 0, &transaction, NULL)) &&
         good(kv_transaction_migrate(transaction, 1, &found, NULL)) &&
         set_path(store) && good(kv_transaction_commit(transaction, NULL));
}

/* ---- Structs, and types */

typedef struct window {
  int64_t width, x, y;
  char title[20];
  bool has_title;
} window;
static const kv_field fields[] = {
    KV_FIELD(window, width, KV_FIELD_INT64, "window", "width"),
    KV_FIELD(window, x, KV_FIELD_INT64, "window", "frame", "x"),
    KV_FIELD(window, y, KV_FIELD_INT64, "window", "frame", "y"),
    KV_FIELD_OPTIONAL(window, title, has_title, KV_FIELD_TEXT, "window",
                      "title"),
};

static int write_difference(kv_store *store) {
  window old = {0}, new;
  if (!good(kv_read_fields(store, KV_FIELDS(fields), &old, NULL))) return 0;
  new = old;
  new.width = 800;
  return good(kv_write_fields(store, KV_FIELDS(fields), &old, &new, NULL));
}
static int write_struct(kv_store *store) {
  window new = {.width = 800, .x = 1, .y = 5, .has_title = false};
  return good(kv_write_fields(store, KV_FIELDS(fields), NULL, &new, NULL));
}

static kv_type *window_type(kv_registry *types) {
  kv_type *type = NULL;
  CHECK(kv_registry_declare(types,
                            kv_string("struct Frame { x: Int?; y: Int? }\n"
                                      "struct Window { width: Int = 1; "
                                      "title: String?; frame: Frame? }"),
                            kv_string(""), NULL, NULL) == KV_OK);
  kv_registry_type(types, kv_string("Window"), &type, NULL);
  return type;
}
static int set_typed(kv_store *store) {
  kv_registry *types = kv_registry_new(NULL, 0);
  kv_type *type = window_type(types);
  kv_tree *value = parse("{\"width\": 800}");
  kv_status status = kv_store_set(store, WINDOW, value, type, 0, NULL, NULL);
  kv_tree_free(value);
  kv_type_free(type);
  kv_registry_free(types);
  return good(status);
}
static int update_typed(kv_store *store) {
  kv_registry *types = kv_registry_new(NULL, 0);
  kv_type *type = window_type(types);
  kv_status status =
      kv_store_update(store, WINDOW, type, 0, widen, NULL, NULL, NULL);
  kv_type_free(type);
  kv_registry_free(types);
  return good(status);
}

/* ---- The file after each of them */

static const char wide[] = "{\"window\": {\"width\": 800}}";

static const struct {
  const char *name;
  int (*call)(kv_store *store);
  const char *file;
} rows[] = {
    {"a set of a path", set_path, wide},
    {"a set of a whole", set_whole,
     "{\"window\": {\"width\": 800, \"title\": \"A\"},"
     " \"KVUnset\": [[\"window\", \"frame\"]]}"},
    {"a replace of a path", replace_path, wide},
    {"sets of scalars", set_scalars,
     "{\"window\": {\"width\": 800, \"open\": true, \"scale\": 1.5,"
     " \"title\": \"A\"}}"},
    {"a set of nodes", set_nodes, wide},
    {"a set at a generation", compare_and_set, wide},
    {"a set of an element", set_element, "{\"list\": [1, 9, 3]}"},
    {"a removal of an element", remove_element, "{\"list\": [2, 3]}"},
    {"a removal of a key", remove_key, "{}"},
    {"a removal of a part", remove_part,
     "{\"KVUnset\": [[\"window\", \"title\"]]}"},
    {"a reset", reset_path, "{}"},
    {"a rename of a lower value", rename_lower, "{}"},
    {"a rename", rename_own, "{\"wide\": 800}"},
    {"a merge", merge, wide},
    {"an update", update, wide},
    {"an import", import, wide},
    {"a transaction", transact,
     "{\"window\": {\"width\": 800, \"height\": 5},"
     " \"KVUnset\": [[\"window\", \"title\"]]}"},
    {"a migration", migrate,
     "{\"window\": {\"width\": 800}, \"KVStoreVersion\": 1}"},
    {"a struct's difference", write_difference, wide},
    {"a struct", write_struct,
     "{\"window\": {\"width\": 800, \"frame\": {\"y\": 5}},"
     " \"KVUnset\": [[\"window\", \"title\"]]}"},
    {"a typed set", set_typed, wide},
    {"a typed update", update_typed, wide},
};

static void compare_file(const char *name, const char *expected) {
  kv_tree *found = NULL, *tree = parse(expected);
  char what[100];
  kv_bytes text = {NULL, 0};
  if (kv_read_file(kv_string(in_folder("settings.plist")), NULL, NULL, &found,
                   NULL, NULL) != KV_OK)
    found = parse("{}");
  int is_equal = kv_tree_equal(tree, found);
  if (!is_equal && kv_encode(found, KV_FORMAT_JSON, NULL, &text, NULL) == KV_OK)
    printf("# %s\n", text.data);
  snprintf(what, sizeof what, "%s stores what it sets alone", name);
  CHECK_NAMED(is_equal, what);
  kv_bytes_free(&text);
  kv_tree_free(tree);
  kv_tree_free(found);
}

/* proves: G46 */
static void each_row(void) {
  kv_str suite = kv_string("suite");
  kv_tree *defaults = parse("{\"window\": {\"frame\": {\"x\": 1}}}");
  kv_store_options options = store_options(KV_ENGINE_AUTOMATIC);
  options.durability = KV_MANUAL;
  options.defaults = defaults;
  options.suites = &suite;
  options.suite_count = 1;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    kv_store *store = NULL;
    remove(in_folder("settings.plist"));
    CHECK(kv_store_open(kv_string("settings"), &options, &store, NULL) ==
          KV_OK);
    CHECK_NAMED(rows[i].call(store), rows[i].name);
    CHECK(kv_store_close(store, NULL) == KV_OK);
    kv_store_free(store);
    compare_file(rows[i].name, rows[i].file);
  }
  kv_tree_free(defaults);
}

int main(void) {
  make_folder();
  setenv("XDG_CONFIG_HOME", folder, 1);
  write_file(in_folder("suite.plist"),
             "{\"window\": {\"title\": \"Suite\", \"frame\": {\"y\": 2}},"
             " \"list\": [1, 2, 3], \"theme\": \"light\"}");
  write_file(in_folder(".GlobalPreferences.plist"),
             "{\"window\": {\"width\": 640}}");
  each_row();
  remove_folder();
  return finish_checks();
}
