/* merging.c: merges of trees, of a store's values, and in a transaction. */
#include "check.h"

#include <kvcodable_nodes.h>

/* Whether the store holds this JSON under "w"; frees nothing of the caller's. */
static int holds(const kv_store *store, const char *json) {
  kv_step path = kv_key("w");
  kv_tree *found = NULL, *expected = parse(json);
  kv_store_get(store, &path, 1, NULL, &found, NULL);
  int result = kv_tree_equal(found, expected);
  kv_tree_free(found);
  kv_tree_free(expected);
  return result;
}

static void stores(void) {
  kv_step path = kv_key("w");
  kv_store *store = new_store("{\"w\": {\"a\": 1, \"b\": 2}}");
  kv_tree *before = parse("{\"a\": 1}"), *ours = parse("{\"a\": 5, \"c\": 3}");
  kv_tree *conflicts = NULL;
  size_t dropped = 7;
  CHECK(kv_store_merge(store, &path, 1, before, ours, NULL, &dropped,
                       &conflicts, NULL) == KV_OK);
  CHECK(holds(store, "{\"a\": 5, \"b\": 2, \"c\": 3}") && dropped == 0);
  kv_cursor root = kv_tree_root(conflicts);
  CHECK(kv_cursor_kind(&root) == KV_ARRAY && kv_cursor_count(&root) == 0);
  kv_tree_free(conflicts);
  /* A removal that yields is reported by the next sync, without a list. */
  CHECK(kv_store_merge(store, &path, 1, before, NULL, NULL, NULL, NULL, NULL) ==
        KV_OK);
  CHECK(holds(store, "{\"a\": 5, \"b\": 2, \"c\": 3}"));
  CHECK(kv_store_sync(store, NULL) == KV_CONFLICT);
  CHECK(kv_store_sync(store, NULL) == KV_OK);
  kv_transaction *transaction = NULL;
  CHECK(kv_store_begin(store, 0, &transaction, NULL) == KV_OK);
  kv_tree *more = parse("{\"a\": 5, \"c\": 3, \"d\": 4}");
  CHECK(kv_transaction_merge(transaction, &path, 1, ours, more, NULL, NULL,
                             &conflicts, NULL) == KV_OK);
  CHECK(kv_transaction_commit(transaction, NULL) == KV_OK);
  CHECK(holds(store, "{\"a\": 5, \"b\": 2, \"c\": 3, \"d\": 4}"));
  kv_tree_free(conflicts);
  kv_tree_free(more);
  kv_tree_free(ours);
  kv_tree_free(before);
  kv_store_free(store);
}

/* With a type the unknown keys stay, and what the program had counts. */
static void types(void) {
  kv_step path = kv_key("w");
  kv_type *type = NULL, *copy;
  kv_registry *registry = kv_registry_new(NULL, 0);
  CHECK(kv_registry_declare(registry,
                            kv_string("struct W { a: Int = 1; b: Int = 2 }"),
                            kv_string(""), NULL, NULL) == KV_OK);
  CHECK(kv_registry_type(registry, kv_string("W"), &type, NULL) == KV_OK);
  copy = kv_type_copy(type);
  CHECK(kv_type_equal(type, copy) && kv_type_equal(NULL, NULL));
  CHECK(!kv_type_equal(type, NULL) && !kv_type_copy(NULL));
  kv_store *store = new_store("{\"w\": {\"x\": 9}}");
  kv_tree *had = parse("{\"a\": 1, \"b\": 2}"),
          *now = parse("{\"a\": 1, \"b\": 3}");
  CHECK(kv_store_merge(store, &path, 1, had, now, copy, NULL, NULL, NULL) ==
        KV_OK);
  CHECK(holds(store, "{\"b\": 3, \"x\": 9}"));
  kv_tree_free(had);
  kv_tree_free(now);
  kv_type_free(type);
  kv_type_free(copy);
  kv_registry_free(registry);
  kv_store_free(store);
}

/* {"a": value}, as nodes with the text "a". */
#define RECORD(value)                                            \
  {                                                              \
    {KV_NODE_DICTIONARY, 1, 3}, {KV_NODE_INTEGER, 0, (value)}, { \
      KV_NODE_KEY | 1, 1, 0                                      \
    }                                                            \
  }

/* A lease has what the program had, and then what it set. */
static void leases(void) {
  kv_step path = kv_key("w"), inner = kv_key("b");
  kv_store *store = new_store("{\"w\": {\"a\": 1}}");
  kv_tree *other = parse("[2]");
  kv_step steps[2] = {path, inner};
  kv_node two[] = RECORD(2), three[] = RECORD(3);
  kv_transaction *transaction = NULL;
  kv_view view;
  kv_lease *lease = NULL;
  CHECK(kv_store_get_view(store, &path, 1, NULL, &view, &lease, NULL) == KV_OK);
  CHECK(kv_store_set(store, steps, 2, other, NULL, 0, NULL, NULL) == KV_OK);
  CHECK(kv_store_set_nodes(store, &path, 1, two, 3, "a", 1, NULL, 0, &view,
                           &lease, NULL, NULL) == KV_OK);
  CHECK_NAMED(view.node[1].payload == 2, "the lease has what was set");
  CHECK(holds(store, "{\"a\": 2, \"b\": [2]}"));
  CHECK(kv_store_begin(store, 1, &transaction, NULL) == KV_OK);
  CHECK(kv_transaction_set_nodes(transaction, &path, 1, three, 3, "a", 1, NULL,
                                 0, &view, &lease, NULL, NULL) == KV_OK);
  CHECK(kv_transaction_set_nodes(transaction, &path, 1, two, 2, "a", 1, NULL, 0,
                                 &view, &lease, NULL, NULL) == KV_MALFORMED);
  CHECK_NAMED(view.node[1].payload == 3, "a call that fails leaves it alone");
  kv_lease_free(lease);
  CHECK(kv_transaction_get_view(transaction, &path, 1, NULL, &view, &lease,
                                NULL) == KV_OK);
  CHECK(view.node->count == 2);
  CHECK(kv_transaction_commit(transaction, NULL) == KV_OK);
  CHECK(holds(store, "{\"a\": 3, \"b\": [2]}"));
  CHECK(kv_store_set_nodes(store, &path, 1, two, 3, "a", 1, NULL, KV_REPLACE,
                           &view, &lease, NULL, NULL) == KV_OK);
  CHECK(holds(store, "{\"a\": 2}"));
  kv_lease_free(lease);
  kv_tree_free(other);
  kv_store_free(store);
}

int main(void) {
  kv_tree *merged = NULL;
  CHECK(kv_merge(NULL, NULL, NULL, &merged, NULL, NULL) == KV_ABSENT);
  stores();
  types();
  leases();
  return finish_checks();
}
