/*
 * kvcodable_nodes.h: the layout of a document, shared by the Swift tree, the
 * C API and the Lua module.
 *
 * This header is outside the stability promise of kvcodable.h: it has a
 * version of its own, KV_NODES_VERSION, and a program that uses it is built
 * together with the library it runs with. C programs that want stability use
 * cursors and paths.
 *
 * A document is an array of 16-byte nodes and a block of bytes. The value of
 * the document is the node at index 0.
 *
 *   scalar      one node
 *   string,     one node: `count` bytes at offset `payload` of the bytes;
 *   data        a string is valid UTF-8, without a terminator
 *   array       the header, then each element's nodes in order;
 *               `count` elements, `payload` nodes in all, header included
 *   dictionary  the header, then each value's nodes, then `count` key nodes;
 *               `payload` nodes in all, header and keys included
 *
 * A key node is no value: its `head` is KV_NODE_KEY plus the distance in nodes
 * from the dictionary's header to the key's value, `count` the key's length in
 * bytes, `payload` its offset. The keys are the last `count` nodes of the
 * dictionary's span, sorted by their bytes (as memcmp, the shorter first) and
 * unique. The values stand in any order. Thanks to the mark, one pass from the
 * first node to the last can tell the kind of every node.
 *
 * Why the keys come last: a writer that meets an entry at a time does not know
 * their number. With the keys behind the values it writes each value where it
 * stays, holds the keys back, and no node is ever moved.
 *
 * Native byte order. Never written to a file.
 */
#ifndef KVCODABLE_NODES_H
#define KVCODABLE_NODES_H

#include "kvcodable.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KV_NODES_VERSION 3

/* The kinds of a value, in a value node's `head`. */
enum {
  KV_NODE_NULL = 0,     /* in memory only; no property-list format has one */
  KV_NODE_BOOLEAN = 1,  /* payload: 0 or 1 */
  KV_NODE_INTEGER = 2,  /* payload: the bits of an int64_t */
  KV_NODE_UNSIGNED = 3, /* payload: a uint64_t above INT64_MAX */
  KV_NODE_REAL = 4,     /* payload: the bits of a double */
  KV_NODE_DATE = 5,     /* payload: the bits of a double, seconds since
                             2001-01-01T00:00:00Z */
  KV_NODE_UID = 6,      /* payload: a uint32_t, a keyed archive's reference */
  KV_NODE_STRING = 7,
  KV_NODE_DATA = 8,
  KV_NODE_ARRAY = 9,
  KV_NODE_DICTIONARY = 10
};

/* The mark of a key node; the other 31 bits of its head are the distance. */
#define KV_NODE_KEY 0x80000000u

/* The most containers inside one another, unless a reader is told otherwise. */
#define KV_DEPTH 512

/* A node of a document.
 *
 * Example:
 *
 *   kv_node nodes[] = {{KV_NODE_ARRAY, 2, 3},
 *                      {KV_NODE_INTEGER, 0, 640},
 *                      {KV_NODE_BOOLEAN, 0, 1}};
 *   kv_tree *array;
 *   if (kv_tree_from_nodes(nodes, 3, NULL, 0, &array, NULL) == KV_OK)
 *     kv_tree_free(array);
 */
typedef struct kv_node {
  uint32_t head;    /* a value: its kind; a key: mark and distance */
  uint32_t count;   /* string, data, key: bytes; container: elements; else 0 */
  uint64_t payload; /* bits, offset into the bytes, or span in nodes */
} kv_node;

/* Gives a tree copied from nodes, once they are found to be laid out as above.
 * Here, and only here, the keys of a dictionary may stand in any order.
 * KV_MALFORMED, or KV_INVALID_VALUE with the path of a string that is not
 * UTF-8. */
kv_status kv_tree_from_nodes(const kv_node *nodes, size_t node_count,
                             const char *bytes, size_t byte_count,
                             kv_tree **tree, kv_error **error);

/* The first node of a tree's value, and the bytes that its offsets count from.
 * Borrows: lasts as long as the tree.
 *
 * Example:
 *
 *   kv_view view;
 *   if (kv_tree_view(tree, &view) == KV_OK &&
 *       view.node->head == KV_NODE_STRING)
 *     fwrite(view.bytes + view.node->payload, 1, view.node->count, stdout);
 */
typedef struct kv_view {
  const kv_node *node;
  const char *bytes;
} kv_view;

/* Sets `view` to the tree's own nodes; KV_INVALID_ARGUMENT for NULL. */
kv_status kv_tree_view(const kv_tree *tree, kv_view *view);

/* A lease keeps the memory of a view alive.
 *
 * Example:
 *
 *   kv_step path = kv_key("volume");
 *   kv_view view;
 *   kv_lease *lease;
 *   if (kv_store_get_view(store, &path, 1, NULL, &view, &lease, NULL) ==
 *       KV_OK) {
 *     if (view.node->head == KV_NODE_INTEGER)
 *       printf("%lld\n", (long long)view.node->payload);
 *     kv_lease_free(lease);
 *   }
 */
typedef struct kv_lease kv_lease;

/* As kv_store_get and kv_tree_view of its result, in one call. Gives a lease:
 * the view lasts as long as it. */
kv_status kv_store_get_view(const kv_store *store, const kv_step *path,
                            size_t path_count, const kv_type *type,
                            kv_view *view, kv_lease **lease, kv_error **error);

/* The same in a transaction. */
kv_status kv_transaction_get_view(const kv_transaction *transaction,
                                  const kv_step *path, size_t path_count,
                                  const kv_type *type, kv_view *view,
                                  kv_lease **lease, kv_error **error);

/* As kv_store_set, of a tree that kv_tree_from_nodes would give, in one call.
 * With a lease, and without flags, as kv_store_merge: the view has what the
 * program had. A view and a lease of the new value take its place, unless the
 * call fails. `view` and `lease` may be NULL, and so may what `lease` points
 * to. */
kv_status kv_store_set_nodes(kv_store *store, const kv_step *path,
                             size_t path_count, const kv_node *nodes,
                             size_t node_count, const char *bytes,
                             size_t byte_count, const kv_type *type,
                             uint32_t flags, kv_view *view, kv_lease **lease,
                             size_t *dropped, kv_error **error);

/* The same in a transaction. */
kv_status kv_transaction_set_nodes(kv_transaction *transaction,
                                   const kv_step *path, size_t path_count,
                                   const kv_node *nodes, size_t node_count,
                                   const char *bytes, size_t byte_count,
                                   const kv_type *type, uint32_t flags,
                                   kv_view *view, kv_lease **lease,
                                   size_t *dropped, kv_error **error);

/* Frees a lease: its view ends with it. */
void kv_lease_free(kv_lease *lease);

/* Gives an error with this message and path, for code that reports in the
 * library's way. NULL where the message or a key is not UTF-8. */
kv_error *kv_error_new(kv_status status, kv_str message, const kv_step *path,
                       size_t path_count);

/* Gives the same error of a value that was to be set at the path: its own path
 * goes on below that. NULL for NULL, and for an invalid path. */
kv_error *kv_error_placed(const kv_error *error, const kv_step *path,
                          size_t path_count);

#ifdef __cplusplus
}
#endif

#endif
