/* given.c: what get gave a script. */
#include "given.h"

#include <string.h>

#define GIVEN_NAME "kvcodable.given"

static const char table_key; /* of the registry: the userdata by their tables */

static int given_gc(lua_State *L) {
  kvl_state *state = lua_touserdata(L, lua_upvalueindex(1));
  kvl_given *given = lua_touserdata(L, 1);
  kvl_release(state, &given->tree);
  kvl_release(state, &given->type);
  return 0;
}

void kvl_open_given(lua_State *L) {
  luaL_newmetatable(L, GIVEN_NAME);
  lua_pushvalue(L, lua_upvalueindex(1)); /* the state */
  lua_pushcclosure(L, given_gc, 1);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  lua_newtable(L);
  lua_newtable(L);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &table_key);
}

/* The bytes of a path, each step with its length or its index in front; only
 * counts them without a target. */
static size_t encode(const kvl_path *path, char *target) {
  size_t length = 0;
  for (size_t i = 0; i < path->count; i++) {
    const kv_step *step = &path->steps[i];
    const int64_t head[2] = {step->key.data ? (int64_t)step->key.length : -1,
                             step->key.data ? 0 : step->index};
    if (target) memcpy(target + length, head, sizeof head);
    length += sizeof head;
    if (!step->key.data) continue;
    if (target) memcpy(target + length, step->key.data, step->key.length);
    length += step->key.length;
  }
  return length;
}

static void free_type(void *type) { kv_type_free((kv_type *)type); }

kvl_given *kvl_push_given(lua_State *L, kvl_state *state,
                          const kvl_handle *session, const kvl_path *path,
                          const kv_type *type) {
  size_t length = encode(path, NULL);
  kvl_given *given = lua_newuserdatauv(L, sizeof *given + length, 0);
  given->tree = given->type = NULL;
  given->session = session->number;
  given->length = length;
  encode(path, given->path);
  luaL_setmetatable(L, GIVEN_NAME);
  given->tree = kvl_own(L, state);
  if (!type) return given;
  given->type = kvl_own(L, state);
  given->type->object = kv_type_copy(type);
  given->type->free_object = free_type;
  return given;
}

void kvl_note_given(lua_State *L) {
  if (lua_istable(L, -1)) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &table_key);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -4);
    lua_rawset(L, -3);
    lua_pop(L, 1);
  }
  lua_remove(L, -2);
}

kvl_given *kvl_given_at(lua_State *L, int index, const kvl_handle *session,
                        const kvl_path *path, const kv_type *type) {
  if (!lua_istable(L, index)) return NULL;
  index = lua_absindex(L, index);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &table_key);
  lua_pushvalue(L, index);
  lua_rawget(L, -2);
  kvl_given *given = lua_touserdata(L, -1);
  lua_pop(L, 2);
  if (!given || !given->tree || !given->tree->object) return NULL;
  if (given->session != session->number) return NULL;
  const kv_type *had = given->type ? given->type->object : NULL;
  if (had != type && !kv_type_equal(had, type)) return NULL;
  char bytes[256];
  size_t length = encode(path, NULL);
  if (length != given->length || length > sizeof bytes) return NULL;
  encode(path, bytes);
  return memcmp(bytes, given->path, length) == 0 ? given : NULL;
}

void kvl_set_given(kvl_given *given, kv_tree *tree) {
  kvl_owned *owned = given->tree;
  if (owned->free_object) owned->free_object(owned->object);
  owned->object = tree;
  owned->free_object = tree ? kvl_free_tree : NULL;
}
