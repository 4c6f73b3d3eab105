/*
 * shapes.c: the keys of dictionaries that come again and again.
 *
 * The records of a program have few sets of keys, and Lua interns short
 * strings. So what was once found out about such a set, a shape, is kept: its
 * strings in the order of their bytes, held alive by a table, which a reader
 * pushes without hashing their text, and a writer knows by their address.
 *
 * A shape is made where a dictionary is built and has been met twice. The walk
 * over a table to be written makes none, for it may not allocate in Lua: it
 * learns in which order such a table gives its keys, and makes the library's own
 * shape of them, which checks the keys once. A record then brings its values
 * alone; a dictionary with others in it brings its keys, checked each time.
 */
#include <stdlib.h>
#include <string.h>

#include "module.h"

/* ---- Reading */

static int has_keys(const kvl_shape *shape, const kv_node *keys, size_t count,
                    const char *bytes) {
  if (shape->count != count || keys[0].count != shape->lengths[0]) return 0;
  uint64_t start = keys[0].payload;
  uint32_t other_lengths = 0;
  uint64_t other_places = 0;
  for (size_t i = 0; i < count; i++) {
    other_lengths |= keys[i].count ^ shape->lengths[i];
    other_places |= (keys[i].payload - start) ^ shape->offsets[i];
  }
  if (other_lengths) return 0;
  if (!other_places) /* the keys stand together, as this module writes them */
    return memcmp(bytes + start, shape->text, shape->text_length) == 0;
  for (size_t i = 0; i < count; i++)
    if (memcmp(bytes + keys[i].payload, shape->text + shape->offsets[i],
               shape->lengths[i]) != 0)
      return 0;
  return 1;
}

/* Of what costs little to look at; never 0. */
static uint32_t hash_keys(const kv_node *keys, size_t count,
                          const char *bytes) {
  uint32_t hash = (uint32_t)count;
  for (size_t i = 0; i < count; i++) {
    uint32_t last =
        keys[i].count == 0
            ? 0
            : (unsigned char)bytes[keys[i].payload + keys[i].count - 1];
    hash = (hash ^ (keys[i].count << 8 | last)) * 0x9E3779B1u;
  }
  return hash | 1;
}

static size_t text_length(const kv_node *keys, size_t count) {
  size_t length = 0;
  for (size_t i = 0; i < count; i++) {
    length += keys[i].count;
    if (length > KVL_SHAPE_TEXT) return length;
  }
  return length;
}

static void free_shape(kvl_shape *shape) {
  if (shape) kv_shape_free(shape->record);
  free(shape);
}

static void evict(lua_State *L, kvl_state *state, size_t slot) {
  kvl_shape *shape = state->shapes[slot];
  if (!shape) return;
  luaL_unref(L, LUA_REGISTRYINDEX, shape->anchor);
  for (size_t i = 0; i < KVL_SHAPES; i++)
    if (state->written[i] == shape) state->written[i] = NULL;
  if (state->shown == shape) state->shown = NULL;
  state->shapes[slot] = NULL;
  free_shape(shape);
}

/* The strings are in the table on top. Calls nothing that can raise. */
static void fill(lua_State *L, kvl_shape *shape, const kv_node *keys,
                 size_t count, const char *bytes) {
  memset(shape, 0, sizeof *shape);
  shape->count = count;
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    shape->keys[i] = lua_topointer(L, -1);
    shape->texts[i] = lua_tostring(L, -1);
    shape->signature += (uintptr_t)shape->texts[i];
    lua_pop(L, 1);
    shape->lengths[i] = keys[i].count;
    shape->offsets[i] = (uint32_t)shape->text_length;
    if (keys[i].count > 0)
      memcpy(shape->text + shape->text_length, bytes + keys[i].payload,
             keys[i].count);
    shape->text_length += keys[i].count;
  }
}

static kvl_shape *make(lua_State *L, kvl_state *state, size_t slot,
                       const kv_node *keys, size_t count, const char *bytes) {
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_pushlstring(L, bytes + keys[i].payload, keys[i].count);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushvalue(L, -1);
  int anchor = luaL_ref(L, LUA_REGISTRYINDEX);
  kvl_shape *shape = malloc(sizeof *shape);
  if (shape) {
    evict(L, state, slot);
    fill(L, shape, keys, count, bytes);
    shape->anchor = anchor;
    state->shapes[slot] = state->shown = shape;
  } else {
    luaL_unref(L, LUA_REGISTRYINDEX, anchor);
  }
  lua_pop(L, 1);
  return shape;
}

const kvl_shape *kvl_shape_of(lua_State *L, kvl_state *state,
                              const kv_node *keys, size_t count,
                              const char *bytes) {
  if (state->shown && has_keys(state->shown, keys, count, bytes))
    return state->shown;
  uint32_t hash = hash_keys(keys, count, bytes);
  size_t slot = hash >> 24 & (KVL_SHAPES - 1);
  if (state->shapes[slot] && has_keys(state->shapes[slot], keys, count, bytes))
    return state->shown = state->shapes[slot];
  if (state->met[slot] != hash) {
    state->met[slot] = hash;
    return NULL;
  }
  if (text_length(keys, count) > KVL_SHAPE_TEXT) return NULL;
  return make(L, state, slot, keys, count, bytes);
}

void kvl_free_shapes(kvl_state *state) {
  for (size_t i = 0; i < KVL_SHAPES; i++) free_shape(state->shapes[i]);
}

/* ---- Writing */

static size_t find_key(const kvl_shape *shape, const void *key) {
  size_t i = 0;
  while (i < shape->count && shape->keys[i] != key) i++;
  return i;
}

/* The library's shape, of the order that was learned; NULL where it has no
 * memory for one: then the keys are written each time. */
static kv_shape *make_record(const kvl_shape *shape) {
  kv_str keys[KVL_SHAPE_KEYS];
  kv_error *error = NULL;
  kv_shape *record = NULL;
  for (size_t i = 0; i < shape->count; i++) {
    keys[i].data = shape->texts[shape->places[i]];
    keys[i].length = shape->lengths[shape->places[i]];
  }
  kv_shape_new(keys, shape->count, &record, &error);
  kv_error_free(error);
  return record;
}

/* Notes the order in which the table at `table` gives the keys. */
static void learn(lua_State *L, kvl_state *state, kvl_shape *shape, int table) {
  size_t count = 0;
  shape->is_learned = 0;
  kv_shape_free(shape->record);
  shape->record = NULL;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1), count++) {
    const void *key = lua_topointer(L, -2);
    size_t place = find_key(shape, key);
    if (count == shape->count || place == shape->count) {
      lua_pop(L, 2);
      return;
    }
    shape->written[count] = key;
    shape->places[count] = (uint8_t)place;
  }
  if (count != shape->count) return;
  shape->is_learned = 1;
  shape->missed = 0;
  shape->record = make_record(shape);
  state->written[kvl_shape_slot(shape->written[0])] = shape;
}

void kvl_learn_shape(lua_State *L, kvl_state *state, int table, size_t count,
                     uintptr_t signature) {
  if (count < 2 || count > KVL_SHAPE_KEYS) return;
  for (size_t i = 0; i < KVL_SHAPES; i++) {
    kvl_shape *shape = state->shapes[i];
    if (!shape || shape->signature != signature || shape->count != count ||
        shape->uses > 0)
      continue;
    /* Tables that give the keys in another order come now and then. */
    if (!shape->is_learned || ++shape->missed > 8)
      learn(L, state, shape, table);
    return;
  }
}
