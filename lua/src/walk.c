/* walk.c: Lua value -> document, by raw access alone. */
#include "walk.h"

static inline int write_value(Walk *walk, int index, Frame *frame)
    __attribute__((always_inline));

/* ---- Tables */

static size_t begin(kvl_state *state, uint32_t kind) {
  size_t header = state->nodes.count;
  return append_node(&state->nodes, kind, 0, 0) ? header : SIZE_MAX;
}

static void close_container(kvl_state *state, size_t header, size_t count) {
  kv_node *node = (kv_node *)state->nodes.data + header;
  node->count = (uint32_t)count;
  node->payload = state->nodes.count - header;
}

/* The traversal is at its first entry: key and value are on the stack. */
static int write_array(Walk *walk, int table, Frame *frame) {
  lua_State *L = walk->L;
  size_t header = begin(walk->state, KV_NODE_ARRAY);
  lua_Integer count = 0;
  int value = lua_gettop(L);
  int in_order = 1;
  if (header == SIZE_MAX) return no_memory(walk, frame);
  do {
    frame->index = ++count;
    if (lua_isinteger(L, value - 1) && lua_tointeger(L, value - 1) == count) {
      if (!write_value(walk, value, frame)) return 0;
    } else {
      in_order = 0;
      break;
    }
    lua_pop(L, 1);
  } while (lua_next(L, table));
  if (!in_order) {
    /* Keys that the table keeps out of order, holes, or other keys: count. */
    lua_Integer length = (lua_Integer)lua_rawlen(L, table);
    lua_pop(L, 2);
    size_t entries = 0;
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1), entries++) {
      if (lua_isinteger(L, -2)) {
        frame->index = lua_tointeger(L, -2);
        if (frame->index >= 1 && frame->index <= length) continue;
        return fail(walk, frame->outer, KV_INVALID_VALUE,
                    "Expected an array without holes", NULL);
      }
      return fail(walk, frame->outer, KV_INVALID_VALUE,
                  "Expected only indexes in an array, or only string keys",
                  lua_typename(L, lua_type(L, -2)));
    }
    if ((lua_Integer)entries != length)
      return fail(walk, frame->outer, KV_INVALID_VALUE,
                  "Expected an array without holes", NULL);
    for (count--; count < length; count++) {
      frame->index = count + 1;
      lua_rawgeti(L, table, count + 1);
      if (!write_value(walk, value - 1, frame)) return 0;
      lua_pop(L, 1);
    }
  }
  if ((uint64_t)count > UINT32_MAX)
    return fail(walk, frame->outer, KV_LIMIT_EXCEEDED, "too many elements",
                NULL);
  close_container(walk->state, header, (size_t)count);
  return 1;
}

/* As long as the table gives the keys of a shape in the order that was learned,
 * only how far the values are from the header is noted. Gives how many entries
 * that were, with the first that differs on the stack, unless the table is
 * over; SIZE_MAX when a value could not be written.
 *
 * A key is known by its address alone: what else could stand there is a light
 * userdata, which only C can make, and the key that it passes for is checked
 * like every other. */
static size_t write_shaped(Walk *walk, int table, Frame *frame,
                           const kvl_shape *shape, size_t header,
                           uint32_t *distances, int *is_over) {
  lua_State *L = walk->L;
  size_t count = 0;
  frame->shape = shape;
  do {
    if (count == shape->count || lua_topointer(L, -2) != shape->written[count])
      break;
    size_t distance = walk->state->nodes.count - header;
    frame->index = (lua_Integer)count;
    if (distance >= KV_NODE_KEY) {
      fail(walk, frame, KV_LIMIT_EXCEEDED, "too many values", NULL);
      return SIZE_MAX;
    }
    distances[count++] = (uint32_t)distance;
    if (!write_value(walk, -1, frame)) return SIZE_MAX;
    lua_pop(L, 1);
    *is_over = !lua_next(L, table);
  } while (!*is_over);
  frame->shape = NULL;
  return count;
}

/* Appends the keys of a shape, whose values have been written. In the order of
 * their bytes, unless the library would then have to search for the values: it
 * does in a dictionary of more nodes than a word has bits. */
static int append_shape(kvl_state *state, const kvl_shape *shape, size_t header,
                        const uint32_t *distances) {
  kvl_buffer *text = &state->bytes;
  if (!reserve(text, shape->text_length, 1) ||
      !reserve(&state->nodes, shape->count, sizeof(kv_node)))
    return 0;
  int is_sorted = state->nodes.count - header <= 64;
  kv_node *keys = (kv_node *)state->nodes.data + state->nodes.count;
  for (size_t i = 0; i < shape->count; i++) {
    size_t place = shape->places[i];
    kv_node *key = keys + (is_sorted ? place : i);
    key->head = KV_NODE_KEY | distances[i];
    key->count = shape->lengths[place];
    key->payload = text->count + shape->offsets[place];
  }
  memcpy((char *)text->data + text->count, shape->text, shape->text_length);
  text->count += shape->text_length;
  state->nodes.count += shape->count;
  return 1;
}

/* Holds back the first `count` keys of the shape, as write_entries() does,
 * since what follows is not of the shape. */
static int leave_shape(Walk *walk, const kvl_shape *shape, size_t count,
                       const uint32_t *distances, Frame *frame) {
  for (size_t i = 0; i < count; i++) {
    size_t place = shape->places[i];
    if (!append_bytes(walk, &walk->state->keys, KV_NODE_KEY | distances[i],
                      shape->texts[place], shape->lengths[place], frame))
      return 0;
    frame->signature += (uintptr_t)shape->texts[place];
  }
  return 1;
}

static int append_keys(kvl_state *state, size_t first) {
  size_t count = state->keys.count - first;
  if (!reserve(&state->nodes, count, sizeof(kv_node))) return 0;
  memcpy((kv_node *)state->nodes.data + state->nodes.count,
         (kv_node *)state->keys.data + first, count * sizeof(kv_node));
  state->nodes.count += count;
  return 1;
}

/* Writes the entry on the stack and those behind it, and holds the keys
 * back. */
static int write_entries(Walk *walk, int table, Frame *frame, size_t header) {
  lua_State *L = walk->L;
  kvl_state *state = walk->state;
  int value = lua_gettop(L);
  do {
    if (lua_type(L, value - 1) != LUA_TSTRING)
      return fail(walk, frame->outer, KV_INVALID_VALUE,
                  "Expected string keys in a dictionary",
                  lua_typename(L, lua_type(L, -2)));
    frame->key = lua_tolstring(L, value - 1, &frame->key_length);
    frame->signature += (uintptr_t)frame->key;
    size_t distance = state->nodes.count - header;
    if (distance >= KV_NODE_KEY)
      return fail(walk, frame, KV_LIMIT_EXCEEDED, "too many values", NULL);
    if (!append_bytes(walk, &state->keys, KV_NODE_KEY | (uint32_t)distance,
                      frame->key, frame->key_length, frame))
      return 0;
    if (!write_value(walk, value, frame)) return 0;
    lua_pop(L, 1);
  } while (lua_next(L, table));
  return 1;
}

static int write_dictionary(Walk *walk, int table, Frame *frame) {
  lua_State *L = walk->L;
  kvl_state *state = walk->state;
  uint32_t distances[KVL_SHAPE_KEYS];
  size_t header = begin(state, KV_NODE_DICTIONARY);
  size_t first = state->keys.count;
  size_t shaped = 0;
  int is_over = 0;
  if (header == SIZE_MAX) return no_memory(walk, frame);
  const void *start = lua_topointer(L, -2);
  kvl_shape *shape = state->written[kvl_shape_slot(start)];
  if (shape && shape->written[0] == start) {
    shape->uses++;
    shaped =
        write_shaped(walk, table, frame, shape, header, distances, &is_over);
    shape->uses--;
    if (shaped == SIZE_MAX) return 0;
    if (is_over && shaped == shape->count) {
      shape->missed = 0;
      if (walk->takes_records && !frame->outer &&
          state->nodes.count - header == shaped + 1) {
        state->record = shape->record;
        if (state->record) return 1;
      }
      if (!append_shape(state, shape, header, distances))
        return no_memory(walk, frame);
      close_container(state, header, shaped);
      return 1;
    }
    if (!leave_shape(walk, shape, shaped, distances, frame)) return 0;
  }
  if (!is_over && !write_entries(walk, table, frame, header)) return 0;
  size_t count = state->keys.count - first;
  if (!append_keys(state, first)) return no_memory(walk, frame);
  kvl_learn_shape(L, state, table, count, frame->signature);
  state->keys.count = first;
  close_container(state, header, count);
  return 1;
}

static int write_empty(Walk *walk, uint32_t kind, const Frame *frame) {
  size_t header = begin(walk->state, kind);
  if (header == SIZE_MAX) return no_memory(walk, frame);
  close_container(walk->state, header, 0);
  return 1;
}

static int is_cycle(lua_State *L, const Frame *frame, int table) {
  for (; frame; frame = frame->outer)
    if (lua_rawequal(L, frame->table, table)) return 1;
  return 0;
}

/* Which container a table is: its tag decides, else its first key. */
KVL_HOT __attribute__((noinline)) static int write_table(Walk *walk, int index,
                                                         const Frame *outer) {
  lua_State *L = walk->L;
  Frame frame = {outer, index, NULL, 0, NULL, 0, 0, 0};
  uint32_t kind = 0;
  frame.depth = outer ? outer->depth + 1 : 1;
  if (frame.depth > KVL_DEPTH)
    return fail(walk, outer, KV_LIMIT_EXCEEDED,
                is_cycle(L, outer, index)
                    ? "Expected a tree, found a table that contains itself"
                    : "Deeper than 512 levels",
                NULL);
  if (frame.depth > KVL_FREE_LEVELS && !lua_checkstack(L, KVL_PLACES))
    return fail(walk, outer, KV_LIMIT_EXCEEDED, "not enough memory", NULL);
  if (lua_getmetatable(L, index)) {
    const void *tag = lua_topointer(L, -1);
    lua_pop(L, 1);
    if (tag == walk->state->array_tag) kind = KV_NODE_ARRAY;
    if (tag == walk->state->dictionary_tag) kind = KV_NODE_DICTIONARY;
    if (tag == walk->state->type_tag)
      return fail(walk, outer, KV_INVALID_VALUE,
                  "Expected a property-list value", "a type");
  }
  lua_pushnil(L);
  if (!lua_next(L, index))
    return write_empty(walk, kind ? kind : KV_NODE_DICTIONARY, &frame);
  if (!kind)
    kind = lua_type(L, -2) == LUA_TSTRING && lua_rawlen(L, index) == 0
               ? KV_NODE_DICTIONARY
               : KV_NODE_ARRAY;
  return kind == KV_NODE_ARRAY ? write_array(walk, index, &frame)
                               : write_dictionary(walk, index, &frame);
}

/* ---- Values */

__attribute__((noinline)) static int write_userdata(Walk *walk, int index,
                                                    const Frame *frame) {
  lua_State *L = walk->L;
  const void *data = lua_touserdata(L, index);
  uint64_t bits = 0;
  if (lua_rawlen(L, index) == sizeof bits) memcpy(&bits, data, sizeof bits);
  switch (kvl_value_kind(L, walk->state, index)) {
    case KVL_DATE:
      return scalar(walk, KV_NODE_DATE, bits, frame);
    case KVL_UINT64:
      return scalar(walk, bits > INT64_MAX ? KV_NODE_UNSIGNED : KV_NODE_INTEGER,
                    bits, frame);
    case KVL_UID:
      return scalar(walk, KV_NODE_UID, bits, frame);
    case KVL_NULL:
      return scalar(walk, KV_NODE_NULL, 0, frame);
    case KVL_DATA: {
      size_t length;
      const char *bytes = kvl_data_at(L, index, &length);
      return append_bytes(walk, &walk->state->nodes, KV_NODE_DATA, bytes,
                          length, frame);
    }
    default:
      return fail(walk, frame, KV_INVALID_VALUE,
                  "Expected a property-list value", "userdata");
  }
}

static inline int write_number(Walk *walk, int index, const Frame *frame) {
  union {
    lua_Number real;
    uint64_t bits;
  } number;
  if (lua_isinteger(walk->L, index))
    return scalar(walk, KV_NODE_INTEGER,
                  (uint64_t)lua_tointeger(walk->L, index), frame);
  number.real = lua_tonumber(walk->L, index);
  return scalar(walk, KV_NODE_REAL, number.bits, frame);
}

/* The index counts from the top within a table: what goes deeper makes it one
 * from the bottom. */
static inline int write_value(Walk *walk, int index, Frame *frame) {
  lua_State *L = walk->L;
  int type = lua_type(L, index);
  switch (type) {
    case LUA_TNUMBER:
      return write_number(walk, index, frame);
    case LUA_TSTRING: {
      size_t length;
      const char *text = lua_tolstring(L, index, &length);
      return append_bytes(walk, &walk->state->nodes, KV_NODE_STRING, text,
                          length, frame);
    }
    case LUA_TBOOLEAN:
      return scalar(walk, KV_NODE_BOOLEAN, (uint64_t)lua_toboolean(L, index),
                    frame);
    case LUA_TTABLE:
      return write_table(walk, lua_absindex(L, index), frame);
    case LUA_TUSERDATA:
      return write_userdata(walk, lua_absindex(L, index), frame);
    default:
      return fail(walk, frame, KV_INVALID_VALUE,
                  "Expected a property-list value", lua_typename(L, type));
  }
}

/* Pushes what was noted; where it is, with the place of the whole value before
 * it. */
__attribute__((cold, noinline)) static void push_failure(
    const Walk *walk, const kvl_path *place) {
  kvl_buffer *steps = &walk->state->steps;
  size_t count = 0;
  const kv_step *outer = place ? kvl_shown_steps(walk->L, place, &count) : NULL;
  if (count > 0 && reserve(steps, count, sizeof *outer)) {
    kv_step *first = steps->data;
    if (steps->count > 0)
      memmove(first + count, first, steps->count * sizeof *outer);
    memcpy(first, outer, count * sizeof *outer);
    steps->count += count;
  }
  kvl_push_failure(walk->L, walk->status, steps->data, steps->count,
                   walk->message, walk->found);
}

static int walk_value(lua_State *L, kvl_state *state, int index,
                      int takes_records, const kvl_path *place) {
  Walk walk = {L, state, takes_records, KV_OK, NULL, NULL};
  int top = lua_gettop(L);
  state->nodes.count = state->keys.count = state->bytes.count = 0;
  state->record = NULL;
  if (write_value(&walk, index, NULL)) return 1;
  lua_settop(L, top);
  push_failure(&walk, place);
  return 0;
}

KVL_HOT int kvl_walk(lua_State *L, kvl_state *state, int index,
                     const kvl_path *place) {
  return walk_value(L, state, index, 1, place);
}

kv_tree *kvl_try_tree(lua_State *L, kvl_state *state, int index,
                      const kvl_path *place) {
  kv_error *error = NULL;
  kv_tree *tree = NULL;
  if (!walk_value(L, state, index, 0, place)) return NULL;
  kv_status status = kv_tree_from_nodes(
      (kv_node *)state->nodes.data, state->nodes.count,
      (char *)state->bytes.data, state->bytes.count, &tree, &error);
  if (status == KV_OK) return tree;
  if (place) {
    kv_error *inner = error;
    error = kv_error_placed(inner, place->steps, place->count);
    kv_error_free(inner);
  }
  kvl_push_error(L, state, status, error);
  return NULL;
}

kv_tree *kvl_walk_tree(lua_State *L, kvl_state *state, int index,
                       const kvl_path *place) {
  kv_tree *tree = kvl_try_tree(L, state, index, place);
  if (!tree) lua_error(L);
  return tree;
}
