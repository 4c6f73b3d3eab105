/* to_document.c: Lua value -> document, by raw access alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conversion.h"

/* A number's text in a string literal. */
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

/* A table on the way to the value being written; they live on the C stack. */
typedef struct Frame {
  const struct Frame *outer;
  int table;       /* stack index */
  const char *key; /* of a dictionary, or NULL */
  size_t key_length;
  lua_Integer index; /* of an array */
  int depth;
} Frame;

/* The walk, with its failure, which is filled in where it is noticed. */
typedef struct Walk {
  lua_State *L;
  kvl_state *state;
  size_t kept;  /* once there are more bytes, they are only counted */
  size_t bytes; /* of strings and data so far */
  kv_status status;
  const char *message;
  const char *found;
  char text[64]; /* for a message with a number */
} Walk;

static int write_value(Walk *walk, int index, const Frame *frame);

/* ---- Buffers */

/* Appends a node, for which there is room. */
static void append_node(kvl_buffer *buffer, uint32_t head, uint32_t count,
                        uint64_t payload) {
  kv_node *node = (kv_node *)buffer->data + buffer->count++;
  node->head = head;
  node->count = count;
  node->payload = payload;
}

/* Notes the failure and its path; the frames live only until the walk unwinds.
 * The keys are borrowed from the table's own strings. */
static int fail(Walk *walk, const Frame *frame, kv_status status,
                const char *message, const char *found) {
  kvl_buffer *steps = &walk->state->steps;
  walk->status = status;
  walk->message = message;
  walk->found = found;
  size_t depth = frame ? (size_t)frame->depth : 0;
  steps->count = 0;
  if (!kvl_reserve(steps, depth, sizeof(kv_step))) return 0;
  steps->count = depth;
  for (; frame; frame = frame->outer) {
    kv_step *step = (kv_step *)steps->data + --depth;
    step->key.data = frame->key;
    step->key.length = frame->key_length;
    step->index = frame->index - 1;
  }
  return 0;
}

static int no_memory(Walk *walk, const Frame *frame) {
  return fail(walk, frame, KV_LIMIT_EXCEEDED, "not enough memory", NULL);
}

/* A table that is in a value many times is written many times: a few hundred
 * bytes of Lua's can stand for more nodes than there is memory. */
static int too_large(Walk *walk, const Frame *frame, const char *what,
                     size_t limit) {
  snprintf(walk->text, sizeof walk->text, "More than %zu %s", limit, what);
  return fail(walk, frame, KV_LIMIT_EXCEEDED, walk->text, NULL);
}

/* Copies the bytes, if they are kept, and appends a node that refers to them,
 * for which there is room. */
static int append_bytes(Walk *walk, kvl_buffer *nodes, uint32_t head,
                        const char *bytes, size_t length, const Frame *frame) {
  kvl_buffer *text = &walk->state->bytes;
  size_t offset = walk->bytes;
  if (length > UINT32_MAX)
    return fail(walk, frame, KV_LIMIT_EXCEEDED, "a string is too long", NULL);
  if (length > walk->state->max_bytes - offset)
    return too_large(walk, frame, "bytes of strings and data",
                     walk->state->max_bytes);
  append_node(nodes, head, (uint32_t)length, offset);
  walk->bytes = offset + length;
  if (walk->bytes > walk->kept) return 1;
  if (!kvl_reserve(text, length, 1)) return no_memory(walk, frame);
  if (length > 0) memcpy((char *)text->data + offset, bytes, length);
  text->count = walk->bytes;
  return 1;
}

static int scalar(Walk *walk, uint32_t kind, uint64_t payload) {
  append_node(&walk->state->nodes, kind, 0, payload);
  return 1;
}

/* ---- Tables */

/* Notes that the next node may be of another kind (settling.c). */
static int note_unsettled(Walk *walk, const Frame *frame) {
  kvl_buffer *unsettled = &walk->state->unsettled;
  if (!kvl_reserve(unsettled, 1, sizeof(size_t))) return no_memory(walk, frame);
  ((size_t *)unsettled->data)[unsettled->count++] = walk->state->nodes.count;
  return 1;
}

static size_t begin(kvl_state *state, uint32_t kind) {
  size_t header = state->nodes.count;
  append_node(&state->nodes, kind, 0, 0);
  return header;
}

static void close_container(kvl_state *state, size_t header, size_t count) {
  kv_node *node = (kv_node *)state->nodes.data + header;
  node->count = (uint32_t)count;
  node->payload = state->nodes.count - header;
}

/* Writes an array. The traversal is at its first entry: key and value are on
 * the stack. */
static int write_array(Walk *walk, int table, Frame *frame) {
  lua_State *L = walk->L;
  size_t header = begin(walk->state, KV_NODE_ARRAY);
  lua_Integer count = 0;
  int value = lua_gettop(L);
  int in_order = 1;
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

static int append_keys(kvl_state *state, size_t first) {
  size_t count = state->keys.count - first;
  if (!kvl_reserve(&state->nodes, count, sizeof(kv_node))) return 0;
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
    size_t distance = state->nodes.count - header;
    if (distance >= KV_NODE_KEY)
      return fail(walk, frame, KV_LIMIT_EXCEEDED, "too many values", NULL);
    if (!kvl_reserve(&state->keys, 1, sizeof(kv_node)))
      return no_memory(walk, frame);
    if (!append_bytes(walk, &state->keys, KV_NODE_KEY | (uint32_t)distance,
                      frame->key, frame->key_length, frame))
      return 0;
    if (!write_value(walk, value, frame)) return 0;
    lua_pop(L, 1);
  } while (lua_next(L, table));
  return 1;
}

static int write_dictionary(Walk *walk, int table, Frame *frame) {
  kvl_state *state = walk->state;
  size_t header = begin(state, KV_NODE_DICTIONARY);
  size_t first = state->keys.count;
  if (!write_entries(walk, table, frame, header)) return 0;
  size_t count = state->keys.count - first;
  if (!append_keys(state, first)) return no_memory(walk, frame);
  state->keys.count = first;
  close_container(state, header, count);
  return 1;
}

/* Writes an empty table, whose tag says the kind; without one it is 0. */
static int write_empty(Walk *walk, uint32_t kind, const Frame *frame) {
  if (!kind && !note_unsettled(walk, frame)) return 0;
  if (!kind) kind = KV_NODE_DICTIONARY;
  close_container(walk->state, begin(walk->state, kind), 0);
  return 1;
}

static int is_cycle(lua_State *L, const Frame *frame, int table) {
  for (; frame; frame = frame->outer)
    if (lua_rawequal(L, frame->table, table)) return 1;
  return 0;
}

/* The kind that a tag says; 0 for another metatable. */
static uint32_t tagged_kind(const kvl_state *state, const void *tag) {
  if (tag == state->array_tag) return KV_NODE_ARRAY;
  return tag == state->dictionary_tag ? KV_NODE_DICTIONARY : 0;
}

/* The kind of a table without a tag whose first entry is on the stack. */
static uint32_t first_kind(lua_State *L, int index) {
  return lua_type(L, -2) == LUA_TSTRING && lua_rawlen(L, index) == 0
             ? KV_NODE_DICTIONARY
             : KV_NODE_ARRAY;
}

const char *kvl_table_kind(lua_State *L, const kvl_state *state, int index) {
  uint32_t kind = 0;
  if (lua_getmetatable(L, index)) {
    const void *tag = lua_topointer(L, -1);
    lua_pop(L, 1);
    if (tag == state->type_tag) return "table";
    kind = tagged_kind(state, tag);
  }
  if (kind) return kind == KV_NODE_ARRAY ? "array" : "dictionary";
  lua_pushnil(L);
  if (!lua_next(L, index)) return "dictionary";
  kind = first_kind(L, index);
  lua_pop(L, 2);
  return kind == KV_NODE_ARRAY ? "array" : "dictionary";
}

/* Writes a table as an array or a dictionary: its tag decides, else its first
 * key. */
static int write_table(Walk *walk, int index, const Frame *outer) {
  lua_State *L = walk->L;
  Frame frame = {outer, index, NULL, 0, 0, 0};
  uint32_t kind = 0;
  frame.depth = outer ? outer->depth + 1 : 1;
  if (frame.depth > KV_DEPTH)
    return fail(walk, outer, KV_LIMIT_EXCEEDED,
                is_cycle(L, outer, index)
                    ? "Expected a tree, found a table that contains itself"
                    : "Deeper than " TEXT(KV_DEPTH) " levels",
                NULL);
  if (frame.depth > KVL_FREE_LEVELS && !lua_checkstack(L, KVL_SLOTS))
    return fail(walk, outer, KV_LIMIT_EXCEEDED, "not enough memory", NULL);
  if (lua_getmetatable(L, index)) {
    const void *tag = lua_topointer(L, -1);
    lua_pop(L, 1);
    kind = tagged_kind(walk->state, tag);
    if (tag == walk->state->type_tag)
      return fail(walk, outer, KV_INVALID_VALUE,
                  "Expected a property-list value", "a type");
  }
  lua_pushnil(L);
  if (!lua_next(L, index)) return write_empty(walk, kind, &frame);
  if (!kind) kind = first_kind(L, index);
  return kind == KV_NODE_ARRAY ? write_array(walk, index, &frame)
                               : write_dictionary(walk, index, &frame);
}

/* ---- Values */

static int write_userdata(Walk *walk, int index, const Frame *frame) {
  lua_State *L = walk->L;
  const void *data = lua_touserdata(L, index);
  uint64_t bits = 0;
  if (lua_rawlen(L, index) == sizeof bits) memcpy(&bits, data, sizeof bits);
  switch (kvl_value_kind(L, walk->state, index)) {
    case KVL_DATE:
      return scalar(walk, KV_NODE_DATE, bits);
    case KVL_UINT64:
      return scalar(walk, bits > INT64_MAX ? KV_NODE_UNSIGNED : KV_NODE_INTEGER,
                    bits);
    case KVL_UID:
      return scalar(walk, KV_NODE_UID, bits);
    case KVL_NULL:
      return scalar(walk, KV_NODE_NULL, 0);
    case KVL_ABSENT:
      return fail(walk, frame, KV_INVALID_VALUE,
                  "Expected a property-list value", "kv.absent");
    case KVL_DATA: {
      size_t length;
      const char *bytes = kvl_data_at(L, index, &length);
      return append_bytes(walk, &walk->state->nodes, KV_NODE_DATA, bytes,
                          length, frame);
    }
#if !KVL_HAS_INTEGERS
    case KVL_INT64:
      return scalar(walk, KV_NODE_INTEGER, bits);
    case KVL_REAL:
      return scalar(walk, KV_NODE_REAL, bits);
#endif
    default:
      return fail(walk, frame, KV_INVALID_VALUE,
                  "Expected a property-list value", "userdata");
  }
}

/* Writes a number of LuaJIT's own kinds. */
static int write_foreign(Walk *walk, int index, const Frame *frame) {
  uint64_t bits = 0, walks = walk->state->walks;
  int kind = kvl_cdata_kind(walk->L, index, &bits);
  if (walks != walk->state->walks) /* a finalizer wrote another value */
    return fail(walk, frame, KV_CONFLICT,
                "A finalizer changed a store while a value was taken", NULL);
  if (kind == KV_NODE_UNSIGNED && bits <= INT64_MAX) kind = KV_NODE_INTEGER;
  if (kind != KV_NODE_NULL) return scalar(walk, (uint32_t)kind, bits);
  return fail(walk, frame, KV_INVALID_VALUE, "Expected a property-list value",
              luaL_typename(walk->L, index));
}

static int write_number(Walk *walk, int index, const Frame *frame) {
  union {
    lua_Number real;
    uint64_t bits;
  } number;
#if KVL_HAS_INTEGERS
  (void)frame;
  if (lua_isinteger(walk->L, index))
    return scalar(walk, KV_NODE_INTEGER,
                  (uint64_t)lua_tointeger(walk->L, index));
  number.real = lua_tonumber(walk->L, index);
#else
  number.real = lua_tonumber(walk->L, index);
  if (kvl_is_whole(number.real)) {
    if (!note_unsettled(walk, frame)) return 0;
    return scalar(walk, KV_NODE_INTEGER, (uint64_t)(int64_t)number.real);
  }
#endif
  return scalar(walk, KV_NODE_REAL, number.bits);
}

static int write_value(Walk *walk, int index, const Frame *frame) {
  lua_State *L = walk->L;
  kvl_state *state = walk->state;
  int type = lua_type(L, index);
  if (state->nodes.count + state->keys.count >= state->max_nodes)
    return too_large(walk, frame, "values and keys", state->max_nodes);
  if (!kvl_reserve(&state->nodes, 1, sizeof(kv_node)))
    return no_memory(walk, frame);
  switch (type) {
    case LUA_TNUMBER:
      return write_number(walk, index, frame);
    case LUA_TSTRING: {
      size_t length;
      const char *text = lua_tolstring(L, index, &length);
      return append_bytes(walk, &state->nodes, KV_NODE_STRING, text, length,
                          frame);
    }
    case LUA_TBOOLEAN:
      return scalar(walk, KV_NODE_BOOLEAN, (uint64_t)lua_toboolean(L, index));
    case LUA_TTABLE:
      return write_table(walk, index, frame);
    case LUA_TUSERDATA:
      return write_userdata(walk, index, frame);
    default:
      return write_foreign(walk, index, frame);
  }
}

/* Pushes the failure that was noted, with the path of the whole value before
 * its own. */
static void push_failure(const Walk *walk, const kvl_path *path) {
  kvl_buffer *steps = &walk->state->steps;
  size_t count = 0;
  const kv_step *outer = path ? kvl_shown_steps(walk->L, path, &count) : NULL;
  if (count > 0 && kvl_reserve(steps, count, sizeof *outer)) {
    kv_step *first = steps->data;
    if (steps->count > 0)
      memmove(first + count, first, steps->count * sizeof *outer);
    memcpy(first, outer, count * sizeof *outer);
    steps->count += count;
  }
  kvl_push_failure(walk->L, walk->status, steps->data, steps->count,
                   walk->message, walk->found);
}

/* The steps are copied first: a finalizer may write another value. */
static void push_renamed_failure(const Walk *walk, int renaming) {
  lua_State *L = walk->L;
  const kvl_buffer *steps = &walk->state->steps;
  size_t count = steps->count;
  kv_step path[KVL_STEPS];
  kv_step *old = kvl_copy_steps(steps->data, count);
  if (!old) luaL_error(L, "not enough memory");
  kvl_keep(L, walk->state, old, free);
  luaL_checkstack(L, 8, NULL);
  kvl_push_steps(L, old, count);
  kvl_drop(L, walk->state, -2);
  count = kvl_renamed_steps(L, renaming, path);
  kvl_push_failure(L, walk->status, path, count, walk->message, walk->found);
}

/* Writes the value; 0 for a failure, which the walk has then. */
static int write_nodes(Walk *walk, int index) {
  kvl_state *state = walk->state;
  int top = lua_gettop(walk->L);
  state->nodes.count = state->keys.count = state->bytes.count = 0;
  state->unsettled.count = 0;
  state->walks++;
  if (write_value(walk, lua_absindex(walk->L, index), NULL)) return 1;
  lua_settop(walk->L, top);
  kvl_trim(state);
  return 0;
}

int kvl_to_nodes(lua_State *L, kvl_state *state, int index,
                 const kvl_path *path) {
  Walk walk = {.L = L, .state = state, .kept = SIZE_MAX};
  if (write_nodes(&walk, index)) return 1;
  push_failure(&walk, path);
  return 0;
}

kvl_size kvl_to_nodes_renamed(lua_State *L, kvl_state *state, int renaming,
                              size_t kept) {
  Walk walk = {.L = L, .state = state, .kept = kept};
  if (write_nodes(&walk, 1)) return (kvl_size){state->nodes.count, walk.bytes};
  if (lua_isfunction(L, renaming))
    push_renamed_failure(&walk, renaming);
  else
    push_failure(&walk, NULL);
  lua_error(L);
  return (kvl_size){0, 0};
}

static void trim(kvl_buffer *buffer, size_t size) {
  enum { KEPT = 1 << 20 };
  if (buffer->capacity <= KEPT / size) return;
  free(buffer->data);
  memset(buffer, 0, sizeof *buffer);
}

void kvl_trim(kvl_state *state) {
  trim(&state->nodes, sizeof(kv_node));
  trim(&state->unsettled, sizeof(size_t));
  trim(&state->keys, sizeof(kv_node));
  trim(&state->bytes, 1);
}

kv_tree *kvl_try_tree(lua_State *L, kvl_state *state, int index,
                      const kvl_path *path) {
  if (!kvl_to_nodes(L, state, index, path)) return NULL;
  return kvl_written_tree(L, state, path);
}

kv_status kvl_take_tree(kvl_state *state, kv_tree **tree, kv_error **error) {
  kv_status status = kv_tree_from_nodes(
      (kv_node *)state->nodes.data, state->nodes.count,
      (char *)state->bytes.data, state->bytes.count, tree, error);
  kvl_trim(state);
  return status;
}

kv_tree *kvl_written_tree(lua_State *L, kvl_state *state,
                          const kvl_path *path) {
  kv_error *error = NULL;
  kv_tree *tree = NULL;
  kv_status status = kvl_take_tree(state, &tree, &error);
  if (status == KV_OK) return tree;
  if (path) {
    kv_error *inner = error;
    error = kv_error_placed(inner, path->steps, path->count);
    kv_error_free(inner);
  }
  kvl_push_error(L, state, status, error);
  return NULL;
}

kv_tree *kvl_to_tree(lua_State *L, kvl_state *state, int index,
                     const kvl_path *path) {
  kv_tree *tree = kvl_try_tree(L, state, index, path);
  if (!tree) lua_error(L);
  return tree;
}
