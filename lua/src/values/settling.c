/* settling.c: the kinds that Lua does not tell: of an empty table, and of a whole
 * number where Lua has no integers.
 *
 * There 2 may have been an integer or a real when it was read. Written as an
 * integer, it becomes a real where the value that `get` gives at its path is
 * one, before it is set: a value that was read comes back as it was. Written as
 * a dictionary, an empty table becomes an array where an array is. A type
 * decides by itself, when the value is set: its fields are integers or reals,
 * arrays or dictionaries, whatever it is given, and `get` gives these kinds by
 * the type. */
#include <string.h>

#include "conversion.h"

/* The walk over the written nodes, with the value that is there now. */
typedef struct Settling {
  kv_node *nodes;
  const char *bytes;
  const size_t *next; /* the next node that may become one of another kind */
  const size_t *end;
  kv_view old;
} Settling;

static void settle(Settling *settling, size_t index, const kv_node *old,
                   int is_among_reals);

/* Whether there are numbers in the array, all of them reals. */
static int has_reals_alone(const kv_node *array) {
  const kv_node *element = array + 1;
  int found = 0;
  for (uint32_t left = array->count; left > 0; left--) {
    if (element->head == KV_NODE_REAL) found = 1;
    if (element->head == KV_NODE_INTEGER || element->head == KV_NODE_UNSIGNED)
      return 0;
    element += kvl_span(element);
  }
  return found;
}

static void settle_array(Settling *settling, size_t index, const kv_node *old) {
  const kv_node *array = settling->nodes + index;
  const kv_node *element = old + 1, *end = old + kvl_span(old);
  int is_real = has_reals_alone(old);
  index++;
  for (uint32_t left = array->count; left > 0; left--) {
    settle(settling, index, element < end ? element : NULL, is_real);
    index += kvl_span(settling->nodes + index);
    if (element < end) element += kvl_span(element);
  }
}

/* The value of a written key in a dictionary of the present value, or NULL. */
static const kv_node *find(const Settling *settling, const kv_node *key,
                           const kv_node *dictionary) {
  const kv_view view = {key, settling->bytes};
  const kv_node *keys = dictionary + dictionary->payload - dictionary->count;
  uint32_t from = 0, to = dictionary->count;
  while (from < to) {
    uint32_t middle = from + (to - from) / 2;
    int order = kvl_compare_keys(&view, key, &settling->old, keys + middle);
    if (order == 0) return dictionary + (keys[middle].head & ~KV_NODE_KEY);
    if (order < 0)
      to = middle;
    else
      from = middle + 1;
  }
  return NULL;
}

/* The keys stand in the order of their values, as these were written. */
static void settle_dictionary(Settling *settling, size_t index,
                              const kv_node *old) {
  const kv_node *dictionary = settling->nodes + index;
  const kv_node *key = dictionary + dictionary->payload - dictionary->count;
  for (uint32_t left = dictionary->count; left > 0; left--, key++)
    settle(settling, index + (key->head & ~KV_NODE_KEY),
           find(settling, key, old), 0);
}

static void make_real(kv_node *node) {
  union {
    double real;
    uint64_t bits;
  } number;
  number.real = (double)(int64_t)node->payload;
  node->head = KV_NODE_REAL;
  node->payload = number.bits;
}

/* Settles the value at the index, where `old` is now, which may be NULL.
 * Recursion is bounded by the depth of a document. */
static void settle(Settling *settling, size_t index, const kv_node *old,
                   int is_among_reals) {
  kv_node *node = settling->nodes + index;
  while (settling->next < settling->end && *settling->next < index)
    settling->next++;
  if (settling->next == settling->end) return;
  if (*settling->next == index) {
    if (node->head == KV_NODE_DICTIONARY) {
      if (old && old->head == KV_NODE_ARRAY) node->head = KV_NODE_ARRAY;
    } else if (is_among_reals || (old && old->head == KV_NODE_REAL)) {
      make_real(node);
    }
  } else if (old && old->head == node->head) {
    if (node->head == KV_NODE_ARRAY) settle_array(settling, index, old);
    if (node->head == KV_NODE_DICTIONARY)
      settle_dictionary(settling, index, old);
  }
}

/* The value at a path, before it is set; without a node if there is none. */
static kvl_found present_value(const kvl_handle *session, const kv_step *steps,
                               size_t count, const kv_type *type) {
  kvl_found found = {0};
  kvl_find(session, steps, count, type, &found, NULL);
  return found;
}

static int is_integer(const kv_node *node) {
  return node &&
         (node->head == KV_NODE_INTEGER || node->head == KV_NODE_UNSIGNED);
}

/* Whether the array that the last step of a path goes into has numbers, all of
 * them reals. An integer in front of the new element answers at once, so that
 * not each of many appended elements reads the whole array. */
static int is_in_reals(const kvl_handle *session, const kvl_path *path) {
  kv_step steps[KVL_STEPS];
  size_t count = path->count;
  int is_real = 0;
  memcpy(steps, path->steps, count * sizeof *steps);
  if (steps[count - 1].index > 0) {
    steps[count - 1].index--;
    kvl_found before = present_value(session, steps, count, NULL);
    int is_among_integers = is_integer(before.view.node);
    kv_lease_free(before.lease);
    if (is_among_integers) return 0;
  }
  kvl_found array = present_value(session, steps, count - 1, NULL);
  if (array.view.node && array.view.node->head == KV_NODE_ARRAY)
    is_real = has_reals_alone(array.view.node);
  kv_lease_free(array.lease);
  return is_real;
}

void kvl_settle(kvl_state *state, const kvl_handle *session,
                const kvl_path *path, const kv_type *type) {
  const size_t *first = state->unsettled.data;
  kv_node *nodes = state->nodes.data;
  size_t count = path->count;
  if (state->unsettled.count == 0) return;
  kvl_found old = present_value(session, path->steps, count, type);
  int has_number = is_integer(old.view.node);
  if (old.view.node) {
    Settling settling = {nodes, state->bytes.data, first,
                         first + state->unsettled.count, old.view};
    settle(&settling, 0, old.view.node, 0);
    has_number |= old.view.node->head == KV_NODE_REAL;
  }
  kv_lease_free(old.lease);
  /* A whole number that replaces no number goes by the other elements of its
   * array, where no type says its kind. */
  if (is_integer(nodes) && !has_number && !type && count > 0 &&
      !path->steps[count - 1].key.data && is_in_reals(session, path))
    make_real(nodes);
}
