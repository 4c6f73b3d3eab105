/* nodes.c: trees from nodes and as nodes, by kvcodable_nodes.h. */
#include "kvcodable_nodes.h"
#include "check.h"

/* {"n": 7}: the header, the value, the key. */
static const kv_node nodes[3] = {{KV_NODE_DICTIONARY, 1, 3},
                                 {KV_NODE_INTEGER, 0, 7},
                                 {KV_NODE_KEY | 1, 1, 0}};

static void copies(void) {
  kv_tree *tree = NULL, *expected = parse("{\"n\": 7}");
  kv_node wrong[3];
  kv_error *error = NULL;
  memcpy(wrong, nodes, sizeof nodes);
  CHECK(kv_tree_from_nodes(nodes, 3, "n", 1, &tree, NULL) == KV_OK);
  CHECK(kv_tree_equal(tree, expected));
  CHECK(kv_tree_from_nodes(nodes, 3, "\xFF", 1, NULL, &error) ==
        KV_INVALID_VALUE);
  kv_error_free(error);
  CHECK(kv_tree_from_nodes(nodes, 2, "n", 1, NULL, NULL) == KV_MALFORMED);
  CHECK(kv_tree_from_nodes(nodes, 3, "", 0, NULL, NULL) == KV_MALFORMED);
  wrong[2].head = KV_NODE_KEY | 9;
  CHECK(kv_tree_from_nodes(wrong, 3, "n", 1, NULL, NULL) == KV_MALFORMED);
  wrong[0].head = 77;
  CHECK(kv_tree_from_nodes(wrong, 3, "n", 1, NULL, NULL) == KV_MALFORMED);
  kv_tree_free(tree);
  kv_tree_free(expected);
}

static int shows_seven(kv_view view) {
  const kv_node *key = view.node + 2;
  return view.node[0].head == KV_NODE_DICTIONARY && view.node[1].payload == 7 &&
         key->count == 1 && view.bytes[key->payload] == 'n';
}

static void views(void) {
  kv_tree *tree = parse("{\"n\": 7}");
  kv_view view;
  CHECK(kv_tree_view(tree, &view) == KV_OK);
  CHECK(shows_seven(view));
  kv_tree_free(tree);
}

static void leases(void) {
  kv_store *store = memory_store();
  kv_step key = kv_key("w");
  kv_view view;
  kv_lease *lease = NULL;
  CHECK(kv_store_set_nodes(store, &key, 1, nodes, 3, "n", 1, NULL, 0, NULL,
                           NULL, NULL, NULL) == KV_OK);
  CHECK(kv_store_get_view(store, &key, 1, NULL, &view, &lease, NULL) == KV_OK);
  CHECK(kv_store_remove(store, &key, 1, NULL) == KV_OK);
  kv_store_free(store);
  CHECK_NAMED(shows_seven(view), "a lease outlives the value and the store");
  kv_lease_free(lease);
}

/* {"n": 7, "a": "hi"}, whose keys are not yet in their order. */
static void records(void) {
  kv_node record[5] = {{KV_NODE_DICTIONARY, 2, 5},
                       {KV_NODE_INTEGER, 0, 7},
                       {KV_NODE_STRING, 2, 2},
                       {KV_NODE_KEY | 1, 1, 0},
                       {KV_NODE_KEY | 2, 1, 1}};
  kv_store *store = memory_store();
  kv_step key = kv_key("w");
  kv_tree *found = NULL, *expected = parse("{\"a\": \"hi\", \"n\": 7}");
  kv_error *error = NULL;
  CHECK(kv_store_set_nodes(store, &key, 1, record, 5, "nahi", 4, NULL, 0, NULL,
                           NULL, NULL, NULL) == KV_OK);
  CHECK(kv_store_get(store, &key, 1, NULL, &found, NULL) == KV_OK);
  CHECK(kv_tree_equal(found, expected));
  CHECK(kv_store_set_nodes(store, &key, 1, record, 5, "nah\xFF", 4, NULL, 0,
                           NULL, NULL, NULL, &error) == KV_INVALID_VALUE);
  CHECK_NAMED(text_equals(kv_error_path(error), "w.a"),
              "the place begins with the path that is set");
  kv_error_free(error);
  CHECK_NAMED(kv_store_set_nodes(store, &key, 1, record, 5, "nah", 3, NULL, 0,
                                 NULL, NULL, NULL, NULL) == KV_MALFORMED,
              "a string that reaches beyond the bytes");
  CHECK_NAMED(kv_store_set_nodes(store, &key, 1, record, 5, "nnhi", 4, NULL, 0,
                                 NULL, NULL, NULL, NULL) == KV_INVALID_VALUE,
              "a key that stands twice");
  record[1].head = KV_NODE_DICTIONARY;
  record[1].payload = 1;
  CHECK_NAMED(kv_store_set_nodes(store, &key, 1, record, 5, "nahi", 4, NULL, 0,
                                 NULL, NULL, NULL, NULL) == KV_OK,
              "an empty dictionary is one node");
  record[3].head = KV_NODE_KEY | 2;
  CHECK_NAMED(kv_store_set_nodes(store, &key, 1, record, 5, "nahi", 4, NULL, 0,
                                 NULL, NULL, NULL, NULL) == KV_MALFORMED,
              "two keys that lead to one value");
  kv_tree_free(found);
  kv_tree_free(expected);
  kv_store_free(store);
}

static void errors(void) {
  kv_step path[2] = {kv_key("tags"), kv_index(2)};
  kv_error *error = kv_error_new(KV_REFUSED, kv_string("No"), path, 2);
  CHECK(text_equals(kv_error_path(error), "tags[2]"));
  CHECK(error_says(error, KV_REFUSED, "No"));
}

int main(void) {
  errors();
  copies();
  views();
  leases();
  records();
  return finish_checks();
}
