/* nulls.c: every pointer argument of every function as NULL, and every other
 * argument as something that no caller should give. The rows are made from the
 * headers by rows.py. */
/* proves: G100 */
#define _XOPEN_SOURCE 700
#include <limits.h>
#include <math.h>

#include "check.h"
#include "kvcodable_fields.h"
#include "kvcodable_nodes.h"

/* A struct with a table. */
struct values {
  int32_t width;
};

static const kv_field table[] = {
    KV_FIELD(struct values, width, KV_FIELD_INT32, "window"),
};

/* Good arguments, made anew for each row. */
struct fixture {
  kv_error *problem;
  kv_tree *tree, *description;
  kv_cursor cursor;
  kv_builder *builder;
  kv_registry *registry;
  kv_type *type;
  kv_store *store, *target;
  kv_transaction *open_transaction;
  kv_step path[1];
  kv_str text, file, types, document, name, expression, declaration;
  kv_decode_options decode_options;
  kv_store_options store_options;
  kv_view view, leased;
  kv_lease *lease;
  size_t node_count, byte_count;
  const kv_field *fields;
  struct values values, copy;
  kv_error *error;
  /* What calls write. */
  struct outputs {
    kv_tree *tree;
    kv_type *type;
    kv_store *store;
    kv_transaction *transaction;
    kv_watch *watch;
    kv_lease *lease;
    kv_cursor cursor;
    kv_view view;
    kv_step step;
    kv_str text;
    kv_bytes bytes;
    kv_origin origin;
    kv_format format;
    int number;
    int64_t integer;
    uint32_t small;
    uint64_t unsigned_integer;
    double real;
    size_t size;
  } out;
} g;

#define out_tree out.tree
#define out_type out.type
#define out_store out.store
#define out_transaction out.transaction
#define out_watch out.watch
#define out_lease out.lease
#define out_cursor out.cursor
#define out_view out.view
#define out_step out.step
#define out_text out.text
#define out_bytes out.bytes
#define out_origin out.origin
#define out_format out.format
#define out_int out.number
#define out_integer out.integer
#define out_small out.small
#define out_unsigned out.unsigned_integer
#define out_real out.real
#define out_size out.size

static const struct outputs nothing = {.origin = {.size = sizeof(kv_origin)}};
static const kv_str no_text = {NULL, 3}, endless = {"endless", SIZE_MAX};

static int change_nothing(void *context, const kv_tree *old,
                          kv_tree **changed) {
  (void)context, (void)old, (void)changed;
  return 0;
}

static void told_change(void *context, const kv_step *path, size_t steps,
                        const kv_tree *old_value, const kv_tree *new_value) {
  (void)context, (void)path, (void)steps, (void)old_value, (void)new_value;
}

static void told_event(void *context, kv_event event, kv_str message) {
  (void)context, (void)event, (void)message;
}

static kv_transaction *transaction(void) {
  if (!g.open_transaction)
    kv_store_begin(g.store, 0, &g.open_transaction, NULL);
  return g.open_transaction;
}

static kv_transaction *take_transaction(void) {
  kv_transaction *taken = transaction();
  g.open_transaction = NULL;
  return taken;
}

static void make_texts(void) {
  g.path[0] = kv_key("window");
  g.text = kv_string("window");
  g.file = kv_string(in_folder("file.plist"));
  g.types = kv_string(in_folder("file.kvtypes"));
  g.document = kv_string("<plist><dict/></plist>");
  g.name = kv_string("org.example.nulls");
  g.expression = kv_string("[String: Int]");
  g.declaration = kv_string("struct Window { width: Int }");
  g.decode_options.size = sizeof g.decode_options;
  g.store_options = store_options(KV_ENGINE_MEMORY);
}

static void make_objects(void) {
  g.tree = parse("{\"window\": 7}");
  g.description = parse("\"Int\"");
  g.cursor = kv_tree_root(g.tree);
  kv_tree_view(g.tree, &g.view);
  g.fields = table;
  g.node_count = 3;
  g.byte_count = 6;
  g.builder = kv_builder_new();
  g.registry = kv_registry_new(NULL, 0);
  kv_registry_type(NULL, g.expression, &g.type, NULL);
  kv_store_open_file(kv_string("a.plist"), &g.store_options, &g.store, NULL);
  kv_store_get_view(g.store, NULL, 0, NULL, &g.leased, &g.lease, NULL);
  kv_store_open_file(kv_string("b.plist"), &g.store_options, &g.target, NULL);
  kv_decode(kv_string("nonsense\x01"), NULL, NULL, NULL, NULL, &g.problem);
}

static void make_row(void) {
  memset(&g, 0, sizeof g);
  g.out = nothing;
  make_texts();
  make_objects();
}

static void free_outputs(void) {
  kv_watch_cancel(g.out.watch);
  kv_transaction_rollback(g.out.transaction);
  kv_store_free(g.out.store);
  kv_type_free(g.out.type);
  kv_lease_free(g.out.lease);
  kv_tree_free(g.out.tree);
  kv_bytes_free(&g.out.bytes);
  kv_bytes_free(&g.out.origin.file);
}

static void free_row(void) {
  free_outputs();
  kv_transaction_rollback(g.open_transaction);
  kv_lease_free(g.lease);
  kv_store_free(g.store);
  kv_store_free(g.target);
  kv_type_free(g.type);
  kv_registry_free(g.registry);
  kv_builder_free(g.builder);
  kv_tree_free(g.tree);
  kv_tree_free(g.description);
  kv_error_free(g.problem);
  kv_error_free(g.error);
}

/* Nothing was written. */
static int is_refused(kv_status status) {
  if (status != KV_INVALID_ARGUMENT) printf("# status %d\n", (int)status);
  return status == KV_INVALID_ARGUMENT &&
         memcmp(&g.out, &nothing, sizeof nothing) == 0;
}

#include "rows.h"

int main(void) {
  make_folder();
  setenv("XDG_CONFIG_HOME", folder, 1);
  setenv("XDG_DATA_HOME", folder, 1);
  write_file(in_folder("file.plist"), "<plist><dict/></plist>");
  write_file(in_folder("file.kvtypes"), "struct Filed { x: Int }");
#include "null_rows.h"
  remove_folder();
  return finish_checks();
}
