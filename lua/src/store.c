/* store.c: the methods of stores and of transactions. */
#include "handle.h"

/* ---- Reading and writing */

static kv_status get_tree(kvl_handle *session, const kvl_path *path,
                          const kv_type *type, kv_tree **tree,
                          kv_error **error) {
  return session->transaction
             ? kv_transaction_get(session->transaction, path->steps,
                                  path->count, type, tree, error)
             : kv_store_get(session->store, path->steps, path->count, type,
                            tree, error);
}

static void free_lease(void *lease) { kv_lease_free((kv_lease *)lease); }

/* Pushes a stored value in one call, read from the document itself. */
static void push_stored(lua_State *L, kvl_state *state, kv_store *store,
                        const kvl_path *path, const kv_type *type) {
  kv_error *error = NULL;
  kv_lease *lease = NULL;
  kv_view view;
  kv_status status = kv_store_get_view(store, path->steps, path->count, type,
                                       &view, &lease, &error);
  if (status < 0) kvl_raise(L, state, status, error);
  if (status == KV_ABSENT)
    lua_pushnil(L);
  else
    kvl_push_view(L, state, &view, lease, free_lease);
}

static void push_value(lua_State *L, kvl_state *state, kvl_handle *session,
                       const kvl_path *path, const kv_type *type) {
  if (session->store) {
    push_stored(L, state, session->store, path, type);
    return;
  }
  if (!session->transaction) kvl_refuse_handle(L); /* a Lua call closed it */
  kv_error *error = NULL;
  kv_tree *tree = NULL;
  kv_status status = get_tree(session, path, type, &tree, &error);
  if (status < 0) kvl_raise(L, state, status, error);
  if (status == KV_ABSENT)
    lua_pushnil(L);
  else
    kvl_push_tree(L, state, tree);
}

void kvl_push_typed(lua_State *L, kvl_state *state, const kvl_handle *handle) {
  kvl_path path;
  int converts = 0;
  const kv_type *type = kvl_check_own_type(L, state, 3, &converts);
  kvl_path_below(L, handle, 2, &path);
  int context = converts ? kvl_push_context(L) : 0;
  push_value(L, state, handle->session, &path, type);
  if (converts) kvl_convert_decoded(L, 3, context, 2);
  if (!type && handle->converts) kvl_convert_by_schema(L, 2, 1);
}

/* store:get(path, type?) */
static int store_get(lua_State *L) {
  kvl_path path;
  const kvl_handle *handle = kvl_check_handle(L);
  kvl_state *state = handle->state;
  if (lua_isnoneornil(L, 3) && !handle->converts) {
    kvl_path_below(L, handle, 2, &path);
    push_value(L, state, handle->session, &path, NULL);
    return 1;
  }
  kvl_push_typed(L, state, handle);
  return 1;
}

void kvl_check_set_options(lua_State *L, int index) {
  static const char *const names[] = {"replace", NULL};
  kvl_check_options(L, index, names);
}

static uint32_t check_flags(lua_State *L, int options) {
  if (lua_isnoneornil(L, options)) return 0;
  kvl_check_set_options(L, options);
  lua_getfield(L, options, "replace");
  uint32_t flags = lua_toboolean(L, -1) ? KV_REPLACE : 0;
  lua_pop(L, 1);
  return flags;
}

void kvl_check_writable(lua_State *L, kvl_state *state, const kv_store *store,
                        const kvl_path *path) {
  kv_error *error = NULL;
  if (!kv_store_is_read_only(store)) return;
  /* The call changes nothing, and gives the store's error. */
  kv_status status =
      kv_store_remove((kv_store *)store, path->steps, path->count, &error);
  kvl_raise(L, state, status, error);
}

/* Stores the Lua value at `value`, as the type says, unless that is NULL. */
static kv_status put(lua_State *L, kvl_state *state, kvl_handle *session,
                     const kvl_path *path, int value, const kv_type *type,
                     uint32_t flags, size_t *dropped, kv_error **error) {
  if (session->store) { /* in one call */
    kvl_check_writable(L, state, session->store, path);
    if (!kvl_to_nodes(L, state, value, path)) lua_error(L);
    kvl_settle(state, session, path, type);
    return kv_store_set_nodes(session->store, path->steps, path->count,
                              state->nodes.data, state->nodes.count,
                              state->bytes.data, state->bytes.count, type,
                              flags, dropped, error);
  }
  if (!session->transaction) kvl_refuse_handle(L); /* a Lua call closed it */
  if (!kvl_to_nodes(L, state, value, path)) lua_error(L);
  kvl_settle(state, session, path, type);
  kv_tree *tree = kvl_written_tree(L, state, path);
  if (!tree) lua_error(L);
  kv_status status =
      kv_transaction_set(session->transaction, path->steps, path->count, tree,
                         type, flags, dropped, error);
  kv_tree_free(tree);
  return status;
}

/* Stores the value at `value` as the type at `type_index` says. */
int kvl_put_value(lua_State *L, kvl_state *state, const kvl_handle *handle,
                  int path_index, int value, int type_index, int options) {
  kvl_path path;
  kv_error *error = NULL;
  int converts = 0;
  uint32_t flags = check_flags(L, options);
  const kv_type *type = kvl_check_own_type(L, state, type_index, &converts);
  if (converts) {
    int context = kvl_push_context(L);
    lua_pushvalue(L, value);
    kvl_convert_encoded(L, type_index, context, path_index);
    value = lua_gettop(L);
    type = kvl_check_type(L, state, type_index, NULL); /* after Lua calls */
  } else if (!type && handle->converts) {
    lua_pushvalue(L, value);
    kvl_convert_by_schema(L, path_index, 0);
    value = lua_gettop(L);
  }
  kvl_path_below(L, handle, path_index, &path);
  size_t dropped = 0;
  kv_status status = put(L, state, handle->session, &path, value, type, flags,
                         &dropped, &error);
  if (status != KV_OK) kvl_raise(L, state, status, error);
  if (type) lua_pushinteger(L, (lua_Integer)dropped);
  return type != NULL;
}

/* store:set(path, value, type?, options?): with a type, the number of elements
 * of stored arrays that were dropped with unknown keys */
static int store_set(lua_State *L) {
  const kvl_handle *handle = kvl_check_handle(L);
  kvl_state *state = handle->state;
  if (lua_isnoneornil(L, 3))
    return luaL_argerror(L, 3, "nil is no value; use remove");
  return kvl_put_value(L, state, handle, 2, 3, 4, 5);
}

/* store:remove(path): whether there was a value */
static int store_remove(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kvl_path path;
  kv_error *error = NULL;
  kvl_handle *session = kvl_check_session(L);
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

/* store:keys(): those of the dictionary that the handle is rooted at, sorted */
static int store_keys(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kvl_path path;
  kv_error *error = NULL;
  kv_tree *tree = NULL;
  kv_str text;
  kv_cursor key;
  uint64_t at = 0;
  lua_settop(L, 1);
  lua_newtable(L);
  const kvl_handle *session = kvl_check_session(L);
  /* Of a transaction too: what its thread reads of the store is its own. */
  const kv_store *store =
      session->transaction ? session->owner->store : session->store;
  if (!store) kvl_refuse_handle(L);
  kvl_full_path(L, 2, &path);
  kv_status status =
      kv_store_keys_at(store, path.steps, path.count, &tree, &error);
  if (status < 0) return kvl_raise(L, state, status, error);
  size_t slot = kvl_keep_tree(L, state, tree);
  kv_cursor keys = kv_tree_root(tree);
  for (lua_Integer i = 1; kv_cursor_next(&keys, &at, &key) == KV_OK; i++) {
    kv_cursor_string(&key, &text);
    lua_pushlstring(L, text.data, text.length);
    lua_rawseti(L, 2, i);
  }
  kvl_drop(state, slot);
  return 1;
}

/* store:at(path): a handle on a part, with the same methods */
static int store_at(lua_State *L) {
  kvl_path path;
  kvl_check_session(L);
  kvl_own_path(L, 2);
  kvl_full_path(L, 2, &path);
  kvl_push_part(L, path.steps, path.count);
  return 1;
}

void kvl_open_store(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"get", store_get},   {"set", store_set}, {"remove", store_remove},
      {"keys", store_keys}, {"at", store_at},   {NULL, NULL}};
  kvl_new_class(L, KVL_STORE_NAME, methods);
  kvl_name_methods(L, "a store or transaction");
  kvl_add_closing(L);
  kvl_add_transactions(L);
  kvl_add_migrations(L);
  lua_setfield(L, -2, "store"); /* for the sugar, which removes it */
}
