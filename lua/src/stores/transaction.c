/* transaction.c: transactions and updates. */
#include "store.h"

/* ---- Transactions */

/* Pushes a handle for a transaction of the handle at 1, to be begun. */
static kvl_handle *new_transaction(lua_State *L) {
  kvl_handle *transaction = kvl_new_handle(L);
  transaction->is_transaction = 1;
  const kvl_handle *handle = lua_touserdata(L, 1);
  kvl_handle *session = handle->session;
  transaction->owner = session->is_transaction ? session->owner : session;
  if (handle->is_part) kvl_make_part(L, transaction);
  transaction->is_hosts = handle->is_hosts;
  transaction->root = handle->root;
  transaction->converts = handle->converts;
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, KVL_SESSION); /* keeps the store's handle alive */
  kvl_inherit(L, KVL_PREFIX);
  kvl_inherit(L, KVL_CONTEXT);
  kvl_inherit(L, KVL_SCOPE);
  kvl_inherit(L, KVL_SCHEMA);
  return transaction;
}

/* Nothing that can raise stands between the beginning and lua_pcall: a
 * transaction that is never ended would keep the store locked. */
static int begin_and_call(lua_State *L, kvl_state *state,
                          kvl_handle *transaction, int arguments) {
  kv_error *error = NULL;
  kv_store *store = transaction->owner->store;
  if (!store) { /* closed by a finalizer, or inside the outer one */
    kvl_push_failure(L, KV_CLOSED, NULL, 0, "The store is closed", NULL);
    lua_error(L);
  }
  kv_status status =
      kv_store_begin(store, 0, &transaction->transaction, &error);
  if (status != KV_OK) kvl_raise(L, state, status, error);
  return lua_pcall(L, arguments, LUA_MULTRET, 0);
}

/* Commits, or rolls back and raises the error on top. */
static void end(lua_State *L, kvl_state *state, kvl_handle *transaction,
                int outcome) {
  kv_error *error = NULL;
  kv_transaction *over = transaction->transaction;
  transaction->transaction = NULL;
  if (outcome != LUA_OK) {
    kv_transaction_rollback(over);
    lua_error(L);
  }
  kv_status status = kv_transaction_commit(over, &error);
  if (status != KV_OK) kvl_raise(L, state, status, error);
}

/* Calls `body` with the arguments of the running function, but with a
 * transaction as 1; gives the number of results on top. A transaction inside
 * another joins it: one that fails takes the outer one with it, whatever the
 * script does with the error. An update inside one is a part of it: it changes
 * its one value or nothing. */
static int run(lua_State *L, kvl_state *state, lua_CFunction body, int joins) {
  int arguments = lua_gettop(L);
  kvl_handle *session = kvl_check_session(L);
  kvl_handle *transaction = NULL;
  if (session->transaction && !joins)
    lua_pushvalue(L, 1);
  else
    transaction = new_transaction(L);
  int first = lua_gettop(L); /* the transaction, to stay below the results */
  kvl_push_function(L, body);
  lua_pushvalue(L, first);
  for (int i = 2; i <= arguments; i++) lua_pushvalue(L, i);
  if (transaction)
    end(L, state, transaction,
        begin_and_call(L, state, transaction, arguments));
  else
    lua_call(L, arguments, LUA_MULTRET);
  return lua_gettop(L) - first;
}

static int transaction_body(lua_State *L) {
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 1);
  lua_call(L, 1, LUA_MULTRET);
  return lua_gettop(L) - 2;
}

/* store:transaction(function(tx) ... end): the function's results */
static int store_transaction(lua_State *L) {
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  return run(L, kvl_state_of(L), transaction_body, 1);
}

/* 1 transaction, 2 path, 3 type, 4 function, 5 options */
static int update_body(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  const kvl_handle *handle = kvl_check_handle(L);
  kvl_push_typed(L, state, handle);
  int value = lua_gettop(L);
  lua_pushvalue(L, 4);
  lua_pushvalue(L, value);
  lua_call(L, 1, 1);
  if (lua_isnil(L, -1)) lua_pushvalue(L, value); /* changed in place */
  if (lua_isnil(L, -1)) return 0;
  if (kvl_value_kind(L, state, -1) == KVL_ABSENT) {
    kvl_remove(L, state, handle->session, 2);
    return 0;
  }
  return kvl_put_value(L, state, handle, 2, lua_gettop(L), value, 3, 5);
}

/* store:update(path, type?, function(value) ... end, options?): as set; kv.absent
 * removes */
static int store_update(lua_State *L) {
  if (lua_isfunction(L, 3)) {
    lua_pushnil(L);
    lua_insert(L, 3);
  }
  luaL_checktype(L, 4, LUA_TFUNCTION);
  lua_settop(L, 5);
  kvl_check_set_options(L, 5);
  return run(L, kvl_state_of(L), update_body, 0);
}

void kvl_open_transactions(lua_State *L) {
  static const luaL_Reg methods[] = {{"transaction", store_transaction},
                                     {"update", store_update},
                                     {NULL, NULL}};
  kvl_add_store_methods(L, methods);
}
