/* close.c: closing stores. */
#include "store.h"
#include "watch.h"

/* Closes the session that the handle at 1 owns: a part owns none. */
static kv_status close_handle(lua_State *L, kv_error **error) {
  kvl_handle *handle = kvl_check_any_handle(L);
  if (handle->owns_session) handle = handle->session;
  if (!handle->store) return KV_OK;
  kv_status status = kv_store_close(handle->store, error);
  kvl_free_store(handle);
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
  kvl_handle *handle = kvl_check_any_handle(L);
  kv_transaction_rollback(handle->transaction);
  handle->transaction = NULL;
  kvl_free_store(handle);
  return 0;
}

static int store_tostring(lua_State *L) {
  const kvl_handle *session = kvl_check_any_handle(L)->session;
  int is_open = session->store || session->transaction;
  lua_pushfstring(L, "kvcodable %s (%s): %p",
                  session->is_transaction ? "transaction" : "store",
                  is_open ? "open" : "closed", lua_touserdata(L, 1));
  return 1;
}

void kvl_open_closing(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"close", store_close},         {"with", store_with},
      {"__close", store_close_scope}, {"__gc", store_gc},
      {"__tostring", store_tostring}, {NULL, NULL}};
  kvl_add_store_methods(L, methods);
}
