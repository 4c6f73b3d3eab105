/* handle.c: handles, and the facts that they keep. */
#include "handle.h"

#include <string.h>

const char kvl_handle_mark = 0;

kvl_handle *kvl_new_handle(lua_State *L) {
  kvl_state *state = kvl_find_state(L);
  kvl_handle *handle = lua_newuserdatauv(L, sizeof *handle, KVL_USER_VALUES);
  memset(handle, 0, sizeof *handle);
  handle->mark = &kvl_handle_mark;
  handle->state = state;
  handle->session = handle;
  if (state) handle->number = ++state->sessions;
  luaL_getmetatable(L, KVL_STORE_NAME);
  lua_setmetatable(L, -2);
  return handle;
}

void kvl_make_part(lua_State *L, kvl_handle *handle) {
  handle->is_part = 1;
  luaL_getmetatable(L, KVL_PART_NAME);
  lua_setmetatable(L, -2);
}

int kvl_is_hosts(lua_State *L, int index) {
  const kvl_handle *handle = kvl_handle_at(L, index);
  return handle && handle->is_hosts;
}

const kv_step *kvl_shown_steps(lua_State *L, const kvl_path *path,
                               size_t *count) {
  const kvl_handle *handle = kvl_handle_at(L, 1);
  size_t root = handle && handle->root <= path->count ? handle->root : 0;
  *count = path->count - root;
  return path->steps + root;
}

void kvl_own_path(lua_State *L, int index) {
  if (!lua_istable(L, index)) return;
  lua_Integer count = (lua_Integer)lua_rawlen(L, index);
  lua_newtable(L);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, index, i);
    lua_rawseti(L, -2, i);
  }
  lua_replace(L, index);
}

void kvl_inherit(lua_State *L, int value) {
  lua_getiuservalue(L, 1, value);
  lua_setiuservalue(L, -2, value);
}

kvl_handle *kvl_push_part(lua_State *L, const kv_step *steps, size_t count) {
  kvl_handle *handle = lua_touserdata(L, 1);
  kvl_handle *part = kvl_new_handle(L);
  part->session = handle->session;
  part->is_hosts = handle->is_hosts;
  part->root = handle->root;
  part->converts = handle->converts;
  if (handle->session == handle)
    lua_pushvalue(L, 1); /* also of a transaction, which keeps its store */
  else
    lua_getiuservalue(L, 1, KVL_SESSION);
  lua_setiuservalue(L, -2, KVL_SESSION);
  kvl_inherit(L, KVL_CONTEXT);
  kvl_inherit(L, KVL_SCOPE);
  kvl_inherit(L, KVL_SCHEMA);
  kvl_push_steps(L, steps, count);
  lua_setiuservalue(L, -2, KVL_PREFIX);
  kvl_make_part(L, part);
  return part;
}

int kvl_push_context(lua_State *L) {
  lua_getiuservalue(L, 1, KVL_CONTEXT);
  return lua_gettop(L);
}

kvl_handle *kvl_new_store(lua_State *L) {
  kvl_handle *handle = kvl_new_handle(L);
  handle->owned = kvl_own(L, handle->state);
  return handle;
}

static void free_store(void *store) { kv_store_free((kv_store *)store); }

void kvl_set_store(kvl_handle *handle, kv_store *store) {
  handle->store = store;
  handle->owned->object = store;
  handle->owned->free_object = free_store;
}

void kvl_free_store(kvl_handle *handle) {
  handle->store = NULL;
  kvl_release(handle->state, &handle->owned);
}

void kvl_set_context(lua_State *L, int handle) {
  lua_setiuservalue(L, handle, KVL_CONTEXT);
}

void kvl_set_scope(lua_State *L, int handle) {
  lua_setiuservalue(L, handle, KVL_SCOPE);
}

void kvl_set_schema(lua_State *L, int handle, int schema) {
  lua_pushvalue(L, schema);
  lua_setiuservalue(L, handle, KVL_SCHEMA);
  ((kvl_handle *)lua_touserdata(L, handle))->converts = 1;
}

kv_store *kvl_store_at(lua_State *L, int index) {
  const kvl_handle *handle = kvl_handle_at(L, index);
  return handle ? handle->session->store : NULL;
}
