/* nodes.c: sizes of values in documents, and their comparison. */
#include <string.h>

#include "nodes.h"

void kvl_add_size(kvl_size *size, const kv_node *node) {
  size_t count = kvl_span(node);
  size->nodes += count;
  for (const kv_node *end = node + count; node < end; node++)
    if (node->head & KV_NODE_KEY || node->head == KV_NODE_STRING ||
        node->head == KV_NODE_DATA)
      size->bytes += node->count;
}

/* The bytes that a text takes in a file of text: escaped, as the library's
 * writers escape it, or more. */
static size_t escaped(const char *text, size_t length, kv_format format) {
  const unsigned char *byte = (const unsigned char *)text;
  const unsigned char *end = byte + length;
  size_t more = 0;
  if (format == KV_FORMAT_JSON)
    for (; byte < end; byte++)
      more += *byte < ' ' || *byte == '"' || *byte == '\\' ? 5 : 0;
  else
    for (; byte < end; byte++)
      more +=
          *byte == '&' || *byte == '<' || *byte == '>' || *byte == '\r' ? 5 : 0;
  return length + more;
}

static size_t text_size(const kv_view *view, kv_format format) {
  const kv_node *node = view->node, *end = node + kvl_span(node);
  size_t sum = 0;
  for (; node < end; node++)
    if (node->head & KV_NODE_KEY || node->head == KV_NODE_STRING)
      sum += escaped(view->bytes + node->payload, node->count, format);
    else if (node->head == KV_NODE_DATA) /* the shortest lines of base64 */
      sum += ((size_t)node->count + 8) / 9 * 21;
  return sum;
}

/* The levels of the lines of a value, added up: one for a value and for a key,
 * and one more for the end of a container. Recursion is bounded by the depth of
 * a document. */
static size_t levels_of(const kv_node *node, size_t level) {
  if (node->head < KV_NODE_ARRAY || node->count == 0) return level;
  size_t sum = 2 * level;
  if (node->head == KV_NODE_DICTIONARY) sum += node->count * (level + 1);
  const kv_node *value = node + 1;
  for (uint32_t left = node->count; left > 0; left--) {
    sum += levels_of(value, level + 1);
    value += kvl_span(value);
  }
  return sum;
}

size_t kvl_text_size(const kv_view *view, kv_format format) {
  size_t levels = format == KV_FORMAT_JSON ? 0 : levels_of(view->node, 0);
  return levels + text_size(view, format);
}

int kvl_compare_keys(const kv_view *one, const kv_node *key,
                     const kv_view *other, const kv_node *other_key) {
  uint32_t shorter =
      key->count < other_key->count ? key->count : other_key->count;
  int order = memcmp(one->bytes + key->payload,
                     other->bytes + other_key->payload, shorter);
  if (order != 0) return order;
  return (key->count > other_key->count) - (key->count < other_key->count);
}

/* Whether two arrays with as many elements are equal. */
static int are_arrays_equal(const kv_view *one, const kv_view *other) {
  kv_view element = {one->node + 1, one->bytes};
  kv_view another = {other->node + 1, other->bytes};
  for (uint32_t left = one->node->count; left > 0; left--) {
    if (!kvl_are_equal(&element, &another)) return 0;
    element.node += kvl_span(element.node);
    another.node += kvl_span(another.node);
  }
  return 1;
}

/* Whether two dictionaries with as many keys are equal: their keys are in order,
 * their values are not. */
static int are_dictionaries_equal(const kv_view *one, const kv_view *other) {
  uint32_t count = one->node->count;
  const kv_node *key = one->node + one->node->payload - count;
  const kv_node *other_key = other->node + other->node->payload - count;
  for (; count > 0; count--, key++, other_key++) {
    kv_view value = {one->node + (key->head & ~KV_NODE_KEY), one->bytes};
    kv_view another = {other->node + (other_key->head & ~KV_NODE_KEY),
                       other->bytes};
    if (kvl_compare_keys(one, key, other, other_key) != 0 ||
        !kvl_are_equal(&value, &another))
      return 0;
  }
  return 1;
}

int kvl_are_equal(const kv_view *one, const kv_view *other) {
  const kv_node *node = one->node, *other_node = other->node;
  if (node->head != other_node->head || node->count != other_node->count)
    return 0;
  switch (node->head) {
    case KV_NODE_NULL:
      return 1;
    case KV_NODE_STRING:
    case KV_NODE_DATA:
      return kvl_compare_keys(one, node, other, other_node) == 0;
    case KV_NODE_ARRAY:
      return are_arrays_equal(one, other);
    case KV_NODE_DICTIONARY:
      return are_dictionaries_equal(one, other);
    default:
      return node->payload == other_node->payload;
  }
}
