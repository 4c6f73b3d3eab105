/* handle.c: the life of handles. */
#include "handle.h"

#include <stdlib.h>
#include <string.h>

const char kvl_handle_mark = 0;

kvl_handle *kvl_new_handle(lua_State *L) {
  kvl_state *state = kvl_find_state(L);
  kvl_handle *handle = lua_newuserdatauv(L, sizeof *handle, KVL_USER_VALUES);
  memset(handle, 0, sizeof *handle);
  handle->mark = &kvl_handle_mark;
  handle->state = state;
  handle->session = handle;
  luaL_getmetatable(L, KVL_STORE_NAME);
  lua_setmetatable(L, -2);
  return handle;
}

void kvl_make_part(lua_State *L, kvl_handle *handle) {
  handle->is_part = 1;
  luaL_getmetatable(L, KVL_PART_NAME);
  lua_setmetatable(L, -2);
}

/* The handle at 1, open or not. Raises. */
static kvl_handle *check_any_handle(lua_State *L) {
  kvl_handle *handle = kvl_handle_at(L, 1);
  if (!handle) luaL_typeerror(L, 1, KVL_STORE_NAME);
  return handle;
}

void kvl_refuse_handle(lua_State *L) {
  const kvl_handle *handle = check_any_handle(L);
  if (handle->state->is_over) luaL_error(L, "the Lua state is being closed");
  kvl_push_failure(L, KV_CLOSED, NULL, 0,
                   handle->session->is_transaction ? "The transaction is over"
                                                   : "The store is closed",
                   NULL);
  lua_error(L);
  abort(); /* lua_error() does not return */
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

const kv_type *kvl_check_own_type(lua_State *L, kvl_state *state, int index,
                                  int *converts) {
  int kind = lua_type(L, index);
  if (kind <= LUA_TNIL) return NULL;
  if (kind != LUA_TSTRING) return kvl_check_type(L, state, index, converts);
  lua_getiuservalue(L, 1, KVL_SCOPE);
  const kv_type *type =
      kvl_check_type_in(L, state, index, lua_gettop(L), converts);
  lua_pop(L, 1);
  return type;
}

/* ---- For the files of methods of stores alone */

kv_store **kvl_new_store(lua_State *L) {
  kvl_handle *handle = kvl_new_handle(L);
  kvl_hold(L);
  return &handle->store;
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

kv_store *kvl_check_store(lua_State *L) {
  kvl_handle *session = kvl_check_session(L);
  if (session->is_transaction)
    luaL_error(L, "expected a store, found a transaction");
  return session->store;
}

kv_store *kvl_check_whole(lua_State *L) {
  kv_store *store = kvl_check_store(L);
  if (((const kvl_handle *)lua_touserdata(L, 1))->is_part)
    luaL_error(L, "expected a whole store, found a handle on a part");
  return store;
}

kv_store *kvl_store_at(lua_State *L, int index) {
  const kvl_handle *handle = kvl_handle_at(L, index);
  return handle ? handle->session->store : NULL;
}

/* ---- Closing */

/* Closes the session that the handle at 1 owns: a part owns none. */
static kv_status close_handle(lua_State *L, kv_error **error) {
  kvl_handle *handle = check_any_handle(L);
  if (handle->owns_session) handle = handle->session;
  kv_store *store = handle->store;
  if (!store) return KV_OK;
  kv_status status = kv_store_close(store, error);
  handle->store = NULL;
  kv_store_free(store);
  kvl_end_watches(L);
  return status;
}

/* store:close(): true; or nil and the error of writing: it is closed all the
 * same */
static int store_close(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_status status = close_handle(L, &error);
  if (status != KV_OK) return kvl_return_error(L, state, status, error);
  lua_pushboolean(L, 1);
  return 1;
}

/* __close: raises where no other error is under way */
static int store_close_scope(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_status status = close_handle(L, &error);
  if (status == KV_OK) return 0;
  if (lua_isnoneornil(L, 2)) return kvl_raise(L, state, status, error);
  kv_error_free(error);
  return 0;
}

/* store:with(function(store) ... end): the function's results; closes the store
 * whatever happens, and raises as __close does */
static int store_with(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kvl_check_store(L);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  lua_pushvalue(L, 1);
  int outcome = lua_pcall(L, 1, LUA_MULTRET, 0);
  kv_status status = close_handle(L, &error);
  if (outcome != LUA_OK) {
    kv_error_free(error);
    return lua_error(L);
  }
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  return lua_gettop(L) - 1;
}

static int store_gc(lua_State *L) {
  kvl_handle *handle = check_any_handle(L);
  kv_transaction_rollback(handle->transaction);
  kv_store_free(handle->store);
  handle->transaction = NULL;
  handle->store = NULL;
  return 0;
}

static int store_tostring(lua_State *L) {
  const kvl_handle *session = check_any_handle(L)->session;
  int is_open = session->store || session->transaction;
  lua_pushfstring(L, "kvcodable %s (%s): %p",
                  session->is_transaction ? "transaction" : "store",
                  is_open ? "open" : "closed", lua_touserdata(L, 1));
  return 1;
}

void kvl_add_closing(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"close", store_close},         {"with", store_with},
      {"__close", store_close_scope}, {"__gc", store_gc},
      {"__tostring", store_tostring}, {NULL, NULL}};
  kvl_add_methods(L, methods);
}
