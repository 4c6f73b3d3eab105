/* store.c: stores and transactions. */
#include <string.h>

#include "module.h"

#define STORE_NAME "kvcodable.store"

/* A store, a transaction, or a part of either.
 *
 * What is alive is in one place, the session: the store's own handle or the
 * transaction's, which a part refers to. User value 1 keeps the session alive,
 * 2 is the path of a part, 3 the context for converters. */
typedef struct Handle {
  struct Handle *session;
  kv_store *store;             /* NULL once closed, or in a transaction */
  kv_transaction *transaction; /* NULL once over, or in a store */
  int is_transaction;
  int is_part; /* whether user value 2 is set */
} Handle;

enum { SESSION = 1, PREFIX = 2, CONTEXT = KVL_CONTEXT };

/* Pushes a session's handle. */
static Handle *new_session(lua_State *L) {
  Handle *handle = lua_newuserdatauv(L, sizeof *handle, 3);
  handle->session = handle;
  handle->store = NULL;
  handle->transaction = NULL;
  handle->is_transaction = 0;
  handle->is_part = 0;
  luaL_setmetatable(L, STORE_NAME);
  return handle;
}

static Handle *check_handle(lua_State *L, kvl_state *state) {
  Handle *handle = lua_touserdata(L, 1);
  if (handle && lua_getmetatable(L, 1)) {
    const void *meta = lua_topointer(L, -1);
    lua_pop(L, 1);
    if (meta == state->store_meta) return handle;
  }
  return luaL_checkudata(L, 1, STORE_NAME); /* raises */
}

/* The session of the handle at 1; raises unless it is open. */
static Handle *check_session(lua_State *L, kvl_state *state) {
  Handle *session = check_handle(L, state)->session;
  if (session->store || session->transaction) return session;
  kvl_push_failure(L, KV_CLOSED, NULL, 0,
                   session->is_transaction ? "The transaction is over"
                                           : "The store is closed",
                   NULL);
  lua_error(L);
  return NULL;
}

/* Copies a user value of the handle at 1 to the handle on top. */
static void inherit(lua_State *L, int value) {
  lua_getiuservalue(L, 1, value);
  lua_setiuservalue(L, -2, value);
}

/* ---- Paths */

static kv_step *new_step(lua_State *L, kvl_path *path) {
  if (path->count == KVL_STEPS)
    luaL_error(L, "a path has at most %d steps", KVL_STEPS);
  return &path->steps[path->count++];
}

/* The value is a string. */
static void add_key(lua_State *L, int index, kvl_path *path) {
  kv_step *step = new_step(L, path);
  step->key.data = lua_tolstring(L, index, &step->key.length);
}

static void add_step(lua_State *L, int index, kvl_path *path) {
  if (lua_type(L, index) == LUA_TSTRING) {
    add_key(L, index, path);
  } else if (lua_isinteger(L, index) && lua_tointeger(L, index) >= 1) {
    kv_step *step = new_step(L, path);
    step->key.data = NULL;
    step->key.length = 0;
    step->index = lua_tointeger(L, index) - 1;
  } else {
    const char *found = luaL_tolstring(L, index, NULL);
    luaL_error(L, "expected a string or an index from 1 in a path, found %s",
               found);
  }
}

void kvl_add_path(lua_State *L, int index, kvl_path *path) {
  if (lua_type(L, index) == LUA_TSTRING) {
    add_key(L, index, path);
    return;
  }
  if (!lua_istable(L, index))
    luaL_typeerror(L, index, "string or table of a path");
  lua_Unsigned count = lua_rawlen(L, index);
  for (lua_Unsigned i = 1; i <= count; i++) {
    lua_rawgeti(L, index, (lua_Integer)i);
    add_step(L, -1, path);
    lua_pop(L, 1); /* the table keeps the string */
  }
}

/* The whole path of argument `index` below the handle at 1. */
void kvl_full_path(lua_State *L, int index, kvl_path *path) {
  const Handle *handle = lua_touserdata(L, 1);
  path->count = 0;
  if (handle->is_part) {
    lua_getiuservalue(L, 1, PREFIX);
    kvl_add_path(L, lua_gettop(L), path);
    lua_pop(L, 1); /* the handle keeps the table */
  }
  kvl_add_path(L, index, path);
}

static int push_context(lua_State *L) {
  lua_getiuservalue(L, 1, CONTEXT);
  return lua_gettop(L);
}

/* ---- Reading and writing */

static kv_status get_tree(Handle *session, const kvl_path *path,
                          const kv_type *type, kv_tree **tree,
                          kv_error **error) {
  return session->transaction
             ? kv_transaction_get(session->transaction, path->steps,
                                  path->count, type, tree, error)
             : kv_store_get(session->store, path->steps, path->count, type,
                            tree, error);
}

static void free_lease(void *lease) { kv_lease_free((kv_lease *)lease); }

/* The most frequent way: a store's value, in one call. */
static void push_stored(lua_State *L, kvl_state *state, Handle *session,
                        const kvl_path *path) {
  kv_error *error = NULL;
  kv_lease *lease = NULL;
  kv_view view;
  kv_status status = kv_store_get_view(session->store, path->steps, path->count,
                                       &view, &lease, &error);
  if (status < 0) kvl_raise(L, state, status, error);
  if (status == KV_ABSENT)
    lua_pushnil(L);
  else
    kvl_build_view(L, state, &view, lease, free_lease);
}

static void push_value(lua_State *L, kvl_state *state, Handle *session,
                       const kvl_path *path, const kv_type *type) {
  if (!type && session->store) {
    push_stored(L, state, session, path);
    return;
  }
  kv_error *error = NULL;
  kv_tree *tree = NULL;
  kv_status status = get_tree(session, path, type, &tree, &error);
  if (status < 0) kvl_raise(L, state, status, error);
  if (status == KV_ABSENT)
    lua_pushnil(L);
  else
    kvl_build(L, state, tree);
}

/* store:get(path, type?) */
static int store_get(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kvl_path path;
  Handle *session = check_session(L, state);
  if (lua_isnoneornil(L, 3)) {
    kvl_full_path(L, 2, &path);
    push_value(L, state, session, &path, NULL);
    return 1;
  }
  lua_settop(L, 3);
  const kv_type *type = kvl_check_type(L, state, 3);
  kvl_full_path(L, 2, &path);
  int context = type ? push_context(L) : 0;
  push_value(L, state, session, &path, type);
  if (type) kvl_convert_decoded(L, 3, context);
  return 1;
}

static uint32_t check_flags(lua_State *L, int options) {
  if (lua_isnoneornil(L, options)) return 0;
  luaL_checktype(L, options, LUA_TTABLE);
  lua_getfield(L, options, "replace");
  uint32_t flags = lua_toboolean(L, -1) ? KV_REPLACE : 0;
  lua_pop(L, 1);
  return flags;
}

/* Stores the tree of the Lua value at `value`. */
static kv_status put_tree(lua_State *L, kvl_state *state, Handle *session,
                          const kvl_path *path, int value, const kv_type *type,
                          uint32_t flags, kv_error **error) {
  if (!type && session->store) { /* the most frequent way: in one call */
    if (!kvl_walk(L, state, value)) lua_error(L);
    return kv_store_set_nodes(session->store, path->steps, path->count,
                              state->nodes.data, state->nodes.count,
                              state->bytes.data, state->bytes.count, error);
  }
  kv_tree *tree = kvl_walk_tree(L, state, value);
  kv_status status =
      session->transaction
          ? kv_transaction_set(session->transaction, path->steps, path->count,
                               tree, type, flags, error)
          : kv_store_set(session->store, path->steps, path->count, tree, type,
                         flags, error);
  kv_tree_free(tree);
  return status;
}

/* Stores the value at `value` as the type at `type_index` says. */
static void put_value(lua_State *L, kvl_state *state, Handle *session,
                      int path_index, int value, int type_index, int options) {
  kvl_path path;
  kv_error *error = NULL;
  const kv_type *type = kvl_check_type(L, state, type_index);
  uint32_t flags = check_flags(L, options);
  if (type) {
    int context = push_context(L);
    lua_pushvalue(L, value);
    kvl_convert_encoded(L, type_index, context);
    value = lua_gettop(L);
  }
  kvl_full_path(L, path_index, &path);
  kv_status status =
      put_tree(L, state, session, &path, value, type, flags, &error);
  if (status != KV_OK) kvl_raise(L, state, status, error);
}

/* store:set(path, value, type?, options?) */
static int store_set(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  Handle *session = check_session(L, state);
  if (lua_isnoneornil(L, 3))
    return luaL_argerror(L, 3, "nil is no value; use remove");
  put_value(L, state, session, 2, 3, 4, 5);
  return 0;
}

/* store:remove(path): whether something was there */
static int store_remove(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kvl_path path;
  kv_error *error = NULL;
  Handle *session = check_session(L, state);
  lua_settop(L, 2);
  kvl_full_path(L, 2, &path);
  kv_status status =
      session->transaction
          ? kv_transaction_remove(session->transaction, path.steps, path.count,
                                  &error)
          : kv_store_remove(session->store, path.steps, path.count, &error);
  if (status < 0) return kvl_raise(L, state, status, error);
  lua_pushboolean(L, status == KV_OK);
  return 1;
}

/* store:keys(): of the dictionary that the handle is rooted at, sorted */
static int store_keys(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kvl_path path;
  kv_error *error = NULL;
  kv_tree *tree = NULL;
  kv_str key;
  Handle *session = check_session(L, state);
  lua_settop(L, 1);
  lua_newtable(L);
  kvl_full_path(L, 2, &path);
  kv_status status = get_tree(session, &path, NULL, &tree, &error);
  if (status < 0) return kvl_raise(L, state, status, error);
  size_t slot = kvl_keep_tree(L, state, tree);
  kv_cursor root = kv_tree_root(tree);
  for (size_t i = 0; kv_cursor_entry(&root, i, &key, NULL) == KV_OK; i++) {
    lua_pushlstring(L, key.data, key.length);
    lua_rawseti(L, 2, (lua_Integer)i + 1);
  }
  kvl_drop(state, slot);
  return 1;
}

/* store:at(path): a handle on a part, with the same methods */
static int store_at(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kvl_path path;
  Handle *session = check_session(L, state);
  lua_settop(L, 2);
  kvl_full_path(L, 2, &path);
  Handle *part = new_session(L);
  part->session = session;
  if (lua_getiuservalue(L, 1, SESSION) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_pushvalue(L, 1); /* the handle at 1 is the session */
  }
  lua_setiuservalue(L, 3, SESSION);
  inherit(L, CONTEXT);
  lua_createtable(L, (int)path.count, 0);
  for (size_t i = 0; i < path.count; i++) {
    const kv_step *step = &path.steps[i];
    if (step->key.data)
      lua_pushlstring(L, step->key.data, step->key.length);
    else
      lua_pushinteger(L, (lua_Integer)step->index + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setiuservalue(L, 3, PREFIX);
  part->is_part = 1;
  return 1;
}

/* ---- Transactions */

/* Calls `body` with the arguments of the function that runs, but that 1 is a
 * transaction; gives how many results are on top. Commits, or rolls back and
 * raises. Inside a transaction, it is that transaction. */
static int run(lua_State *L, kvl_state *state, lua_CFunction body) {
  kv_error *error = NULL;
  int arguments = lua_gettop(L);
  Handle *session = check_session(L, state);
  luaL_checkstack(L, arguments + 8, NULL);
  Handle *transaction = NULL;
  if (session->transaction) {
    lua_pushvalue(L, 1);
  } else {
    transaction = new_session(L);
    transaction->is_transaction = 1;
    transaction->is_part = ((const Handle *)lua_touserdata(L, 1))->is_part;
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, SESSION); /* keeps the store's handle alive */
    inherit(L, PREFIX);
    inherit(L, CONTEXT);
    kv_status status =
        kv_store_begin(session->store, 0, &transaction->transaction, &error);
    if (status != KV_OK) return kvl_raise(L, state, status, error);
  }
  int first = lua_gettop(L); /* the transaction, to stay below the results */
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushcclosure(L, body, 1);
  lua_pushvalue(L, first);
  for (int i = 2; i <= arguments; i++) lua_pushvalue(L, i);
  if (!transaction) {
    lua_call(L, arguments, LUA_MULTRET);
    return lua_gettop(L) - first;
  }
  int outcome = lua_pcall(L, arguments, LUA_MULTRET, 0);
  kv_transaction *over = transaction->transaction;
  transaction->transaction = NULL;
  if (outcome != LUA_OK) {
    kv_transaction_rollback(over);
    return lua_error(L);
  }
  kv_status status = kv_transaction_commit(over, &error);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  return lua_gettop(L) - first;
}

static int transaction_body(lua_State *L) {
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 1);
  lua_call(L, 1, LUA_MULTRET);
  return lua_gettop(L) - 2;
}

/* store:transaction(function(tx) ... end): what the function returns */
static int store_transaction(lua_State *L) {
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  return run(L, kvl_state_of(L), transaction_body);
}

/* 1 transaction, 2 path, 3 type, 4 function, 5 options */
static int update_body(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kvl_path path;
  Handle *session = check_session(L, state);
  const kv_type *type = kvl_check_type(L, state, 3);
  kvl_full_path(L, 2, &path);
  int context = push_context(L);
  push_value(L, state, session, &path, type);
  if (type) kvl_convert_decoded(L, 3, context);
  int value = lua_gettop(L);
  lua_pushvalue(L, 4);
  lua_pushvalue(L, value);
  lua_call(L, 1, 1);
  if (lua_isnil(L, -1)) lua_pushvalue(L, value); /* changed in place */
  if (lua_isnil(L, -1)) return 0;
  put_value(L, state, session, 2, lua_gettop(L), 3, 5);
  return 0;
}

/* store:update(path, type?, function(value) ... end, options?) */
static int store_update(lua_State *L) {
  if (lua_isfunction(L, 3)) {
    lua_pushnil(L);
    lua_insert(L, 3);
  }
  luaL_checktype(L, 4, LUA_TFUNCTION);
  lua_settop(L, 5);
  return run(L, kvl_state_of(L), update_body);
}

kv_store **kvl_new_store(lua_State *L) { return &new_session(L)->store; }

kv_store *kvl_check_store(lua_State *L, kvl_state *state) {
  Handle *session = check_session(L, state);
  if (session->is_transaction)
    luaL_error(L, "expected a store, found a transaction");
  return session->store;
}

kv_store *kvl_store_at(lua_State *L, int index) {
  Handle *handle = luaL_testudata(L, index, STORE_NAME);
  return handle ? handle->session->store : NULL;
}

/* ---- Closing */

/* store:sync() */
static int store_sync(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  Handle *session = check_session(L, state);
  if (session->is_transaction)
    return luaL_error(L, "sync inside a transaction");
  kv_status status = kv_store_sync(session->store, &error);
  if (status != KV_OK) return kvl_return_error(L, state, status, error);
  lua_pushboolean(L, 1);
  return 1;
}

/* store:register(defaults) */
static int store_register(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  Handle *session = check_session(L, state);
  luaL_checktype(L, 2, LUA_TTABLE);
  if (session->is_transaction)
    return luaL_error(L, "register inside a transaction");
  kv_tree *defaults = kvl_walk_tree(L, state, 2);
  kv_status status = kv_store_register(session->store, defaults, &error);
  kv_tree_free(defaults);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  return 0;
}

/* Closes what the handle at 1 owns: a part owns nothing. */
static kv_status close_handle(lua_State *L, kvl_state *state,
                              kv_error **error) {
  Handle *handle = check_handle(L, state);
  kv_store *store = handle->store;
  if (!store) return KV_OK;
  kv_status status = kv_store_close(store, error);
  if (status == KV_OK) {
    handle->store = NULL;
    kv_store_free(store);
  }
  return status;
}

/* store:close(): true, or nil and an error, and the store stays open */
static int store_close(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_status status = close_handle(L, state, &error);
  if (status != KV_OK) return kvl_return_error(L, state, status, error);
  lua_pushboolean(L, 1);
  return 1;
}

/* __close: raises where no other error is under way */
static int store_close_scope(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_status status = close_handle(L, state, &error);
  if (status == KV_OK) return 0;
  if (lua_isnoneornil(L, 2)) return kvl_raise(L, state, status, error);
  kv_error_free(error);
  return 0;
}

static int store_gc(lua_State *L) {
  Handle *handle = lua_touserdata(L, 1);
  kv_transaction_rollback(handle->transaction);
  kv_store_free(handle->store);
  handle->transaction = NULL;
  handle->store = NULL;
  return 0;
}

static int store_tostring(lua_State *L) {
  Handle *session = check_handle(L, kvl_state_of(L))->session;
  int is_open = session->store || session->transaction;
  lua_pushfstring(L, "kvcodable %s (%s): %p",
                  session->is_transaction ? "transaction" : "store",
                  is_open ? "open" : "closed", lua_touserdata(L, 1));
  return 1;
}

void kvl_open_store(lua_State *L) {
  static const luaL_Reg methods[] = {{"get", store_get},
                                     {"set", store_set},
                                     {"update", store_update},
                                     {"remove", store_remove},
                                     {"keys", store_keys},
                                     {"at", store_at},
                                     {"transaction", store_transaction},
                                     {"register", store_register},
                                     {"sync", store_sync},
                                     {"close", store_close},
                                     {"__close", store_close_scope},
                                     {"__gc", store_gc},
                                     {"__tostring", store_tostring},
                                     {NULL, NULL}};
  luaL_newmetatable(L, STORE_NAME);
  kvl_state_of(L)->store_meta = lua_topointer(L, -1);
  kvl_set_functions(L, methods);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_setfield(L, -2, "store_methods"); /* for the sugar, which removes it */
}
