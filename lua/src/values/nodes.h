/* nodes.h: sizes of values in documents, and their comparison. */
#ifndef KVCODABLE_VALUES_NODES_H
#define KVCODABLE_VALUES_NODES_H

#include "../state.h"

/* The most bytes of a value's text, keys, data and indentation in a file of the
 * format, which is not binary. */
size_t kvl_text_size(const kv_view *view, kv_format format);

/* Adds the size of the value at the node. */
void kvl_add_size(kvl_size *size, const kv_node *node);

/* How many nodes a value takes, with all that is in it. */
static inline size_t kvl_span(const kv_node *node) {
  return node->head >= KV_NODE_ARRAY ? (size_t)node->payload : 1;
}

/* The order of two keys, strings or data, as memcmp gives it. */
int kvl_compare_keys(const kv_view *one, const kv_node *key,
                     const kv_view *other, const kv_node *other_key);

/* Whether two values are equal, as kv_tree_equal. */
int kvl_are_equal(const kv_view *one, const kv_view *other);

#endif
