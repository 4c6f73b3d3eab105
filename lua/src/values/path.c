/* path.c: the paths that scripts give. */
#include "conversion.h"

static kv_step *new_step(lua_State *L, kvl_path *path) {
  if (path->count == KVL_STEPS)
    luaL_error(L, "a path has at most %d steps", KVL_STEPS);
  return &path->steps[path->count++];
}

static void raise_too_long(lua_State *L) {
  lua_pushfstring(L, "The keys of a path have at most %d bytes", KV_PATH_BYTES);
  kvl_push_failure(L, KV_LIMIT_EXCEEDED, NULL, 0, lua_tostring(L, -1), NULL);
  lua_error(L);
}

/* Adds the value, which is a string. */
static void add_key(lua_State *L, int index, kvl_path *path) {
  kv_step *step = new_step(L, path);
  step->key.data = lua_tolstring(L, index, &step->key.length);
  if (step->key.length > KV_PATH_BYTES - path->bytes) raise_too_long(L);
  path->bytes += step->key.length;
}

static void add_step(lua_State *L, int index, kvl_path *path) {
  if (lua_type(L, index) == LUA_TSTRING) {
    add_key(L, index, path);
    return;
  }
  uint64_t number = 0;
  if (kvl_integer_kind(L, index, &number) != KV_NODE_NULL && number >= 1 &&
      number <= INT64_MAX) {
    *new_step(L, path) = (kv_step){{NULL, 0}, (int64_t)number - 1};
  } else {
    const char *found = kvl_push_shown(L, index);
    luaL_error(L, "expected a string or an index from 1 in a path, found %s",
               found);
  }
}

/* Raises for a table that has keys of its own and no steps: the whole store
 * would be meant. */
static void check_empty(lua_State *L, int index) {
  lua_pushnil(L);
  if (!lua_next(L, index)) return;
  lua_pop(L, 1);
  const char *found = kvl_push_shown(L, -1);
  luaL_error(L,
             "expected a list of keys and indexes as a path, found the key %s",
             found);
}

void kvl_add_path(lua_State *L, int index, kvl_path *path) {
  if (lua_type(L, index) == LUA_TSTRING) {
    add_key(L, index, path);
    return;
  }
  if (!lua_istable(L, index))
    luaL_typeerror(L, index, "string or table of a path");
  size_t count = lua_rawlen(L, index);
  if (count == 0) check_empty(L, index);
  for (size_t i = 1; i <= count; i++) {
    lua_rawgeti(L, index, (lua_Integer)i);
    add_step(L, -1, path);
    lua_pop(L, 1); /* the table keeps the string */
  }
}

void kvl_path_below(lua_State *L, const kvl_handle *handle, int index,
                    kvl_path *path) {
  kvl_clear_path(path);
  if (handle->is_part) {
    lua_getiuservalue(L, 1, KVL_PREFIX);
    kvl_add_path(L, lua_gettop(L), path);
    lua_pop(L, 1); /* the handle keeps the table */
    path->root = path->count;
  }
  kvl_add_path(L, index, path);
}

void kvl_full_path(lua_State *L, int index, kvl_path *path) {
  kvl_path_below(L, lua_touserdata(L, 1), index, path);
}
