/* store.c: the methods of stores and of transactions. */
#include "given.h"
#include "store.h"

#include <stdlib.h>

#define WHAT "a store or transaction"

/* ---- Sessions */

kvl_handle *kvl_check_any_handle(lua_State *L) {
  kvl_handle *handle = kvl_handle_at(L, 1);
  if (!handle) luaL_typeerror(L, 1, KVL_STORE_NAME);
  return handle;
}

void kvl_refuse_handle(lua_State *L) {
  const kvl_handle *handle = kvl_check_any_handle(L);
  if (handle->state->is_over) luaL_error(L, "the Lua state is being closed");
  kvl_push_failure(L, KV_CLOSED, NULL, 0,
                   handle->session->is_transaction ? "The transaction is over"
                                                   : "The store is closed",
                   NULL);
  lua_error(L);
  abort(); /* lua_error() does not return */
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

static int is_container(const kv_view *view) {
  return view->node->head == KV_NODE_ARRAY ||
         view->node->head == KV_NODE_DICTIONARY;
}

/* Pushes the value at the path, or nil. Pushes the box that kvl_note_given()
 * takes below an array or a dictionary, and gives 1. */
static int push_value(lua_State *L, kvl_state *state, kvl_handle *session,
                      const kvl_path *path, const kv_type *type) {
  if (!session->store && !session->transaction)
    kvl_refuse_handle(L); /* a Lua call closed it */
  kv_error *error = NULL;
  kvl_found found = {0};
  kv_status status =
      kvl_find(session, path->steps, path->count, type, &found, &error);
  if (status < 0) kvl_raise(L, state, status, error);
  if (status == KV_ABSENT) {
    lua_pushnil(L);
    return 0;
  }
  if (is_container(&found.view)) {
    kvl_keep_given(L, state, session, path, type, &found);
    kvl_push_borrowed(L, state, &found.view);
    return 1;
  }
  kvl_push_view(L, state, &found.view, found.lease, free_lease);
  return 0;
}

void kvl_push_typed(lua_State *L, kvl_state *state, const kvl_handle *handle) {
  kvl_path path;
  int converts = 0;
  const kv_type *type = kvl_check_own_type(L, state, 3, &converts);
  kvl_path_below(L, handle, 2, &path);
  int context = converts ? kvl_push_context(L) : 0;
  int is_noted = push_value(L, state, handle->session, &path, type);
  if (converts) kvl_convert_decoded(L, 3, context, 2);
  if (!type && handle->converts) kvl_convert_by_schema(L, 2, 1);
  if (is_noted) kvl_note_given(L, state);
}

/* store:get(path, type?) */
static int store_get(lua_State *L) {
  kvl_path path;
  const kvl_handle *handle = kvl_check_handle(L);
  kvl_state *state = handle->state;
  if (lua_isnoneornil(L, 3) && !handle->converts) {
    kvl_path_below(L, handle, 2, &path);
    if (push_value(L, state, handle->session, &path, NULL))
      kvl_note_given(L, state);
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

/* Stores the Lua value at `value`, as the type says, unless that is NULL. Where
 * get gave the table at `had`, what differs from what it gave. */
static kv_status put(lua_State *L, kvl_state *state, kvl_handle *session,
                     const kvl_path *path, int value, int had,
                     const kv_type *type, uint32_t flags, size_t *dropped,
                     kv_error **error) {
  if (session->store) kvl_check_writable(L, state, session->store, path);
  if (!session->store && !session->transaction)
    kvl_refuse_handle(L); /* a Lua call closed it */
  if (!kvl_to_nodes(L, state, value, path)) lua_error(L);
  kvl_settle(state, session, path, type);
  kvl_found none = {0};
  kvl_found *given =
      flags & KV_REPLACE ? NULL : kvl_given_at(L, had, session, path, type);
  if (!given) given = &none;
  kv_status status =
      session->store
          ? kv_store_set_nodes(
                session->store, path->steps, path->count, state->nodes.data,
                state->nodes.count, state->bytes.data, state->bytes.count, type,
                flags, &given->view, &given->lease, dropped, error)
          : kv_transaction_set_nodes(
                session->transaction, path->steps, path->count,
                state->nodes.data, state->nodes.count, state->bytes.data,
                state->bytes.count, type, flags, &given->view, &given->lease,
                dropped, error);
  kvl_trim(state);
  return status;
}

int kvl_put_value(lua_State *L, kvl_state *state, const kvl_handle *handle,
                  int path_index, int value, int had, int type_index,
                  int options) {
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
  kv_status status = put(L, state, handle->session, &path, value, had, type,
                         flags, &dropped, &error);
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
  return kvl_put_value(L, state, handle, 2, 3, 3, 4, 5);
}

int kvl_remove(lua_State *L, kvl_state *state, kvl_handle *session, int index) {
  kvl_path path;
  kv_error *error = NULL;
  kvl_full_path(L, index, &path);
  kv_status status =
      session->transaction
          ? kv_transaction_remove(session->transaction, path.steps, path.count,
                                  &error)
          : kv_store_remove(session->store, path.steps, path.count, &error);
  if (status < 0) kvl_raise(L, state, status, error);
  return status == KV_OK;
}

/* store:remove(path): whether there was a value */
static int store_remove(lua_State *L) {
  kvl_handle *session = kvl_check_session(L);
  lua_settop(L, 2);
  lua_pushboolean(L, kvl_remove(L, kvl_state_of(L), session, 2));
  return 1;
}

/* store:has(path): whether there is a value, in any layer */
static int store_has(lua_State *L) {
  kvl_path path;
  kv_error *error = NULL;
  kvl_handle *session = kvl_check_session(L);
  kvl_full_path(L, 2, &path);
  kv_status status = get_tree(session, &path, NULL, NULL, &error);
  if (status < 0) return kvl_raise(L, kvl_state_of(L), status, error);
  lua_pushboolean(L, status == KV_OK);
  return 1;
}

/* The store of a session. In a transaction, whose thread this is, its functions
 * are part of that. Raises. */
static kv_store *store_of(lua_State *L, const kvl_handle *session) {
  kv_store *store =
      session->is_transaction ? session->owner->store : session->store;
  if (!store) {
    kvl_push_failure(L, KV_CLOSED, NULL, 0, "The store is closed", NULL);
    lua_error(L);
  }
  return store;
}

/* store:reset(path): whether there was something over the lower layers */
static int store_reset(lua_State *L) {
  kvl_path path;
  kv_error *error = NULL;
  kvl_handle *session = kvl_check_session(L);
  kvl_full_path(L, 2, &path);
  kv_status status =
      kv_store_reset(store_of(L, session), path.steps, path.count, &error);
  if (status < 0) return kvl_raise(L, kvl_state_of(L), status, error);
  lua_pushboolean(L, status == KV_OK);
  return 1;
}

/* store:rename(from, to): whether there was a value */
static int store_rename(lua_State *L) {
  kvl_path from, to;
  kv_error *error = NULL;
  kvl_handle *session = kvl_check_session(L);
  kvl_full_path(L, 2, &from);
  kvl_full_path(L, 3, &to);
  kv_status status = kv_store_rename(store_of(L, session), from.steps,
                                     from.count, to.steps, to.count, &error);
  if (status < 0) return kvl_raise(L, kvl_state_of(L), status, error);
  lua_pushboolean(L, status == KV_OK);
  return 1;
}

/* The keys of the dictionary at the path; of a transaction too: what its thread
 * reads of the store is its own. Raises where that is closed. */
static kv_status get_keys(lua_State *L, const kvl_handle *session,
                          const kvl_path *path, kv_tree **keys,
                          kv_error **error) {
  const kv_store *store =
      session->transaction ? session->owner->store : session->store;
  if (!store) kvl_refuse_handle(L);
  return kv_store_keys(store, path->steps, path->count, keys, error);
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
  kvl_full_path(L, 2, &path);
  kv_status status = get_keys(L, session, &path, &tree, &error);
  if (status < 0) return kvl_raise(L, state, status, error);
  kvl_keep(L, state, tree, kvl_free_tree);
  kv_cursor keys = kv_tree_root(tree);
  for (lua_Integer i = 1; kv_cursor_next(&keys, &at, &key) == KV_OK; i++) {
    kv_cursor_string(&key, &text);
    lua_pushlstring(L, text.data, text.length);
    lua_rawseti(L, 2, i);
  }
  kvl_drop(L, state, -1);
  return 1;
}

/* The kind of the value that the handle at 1 is rooted at, and the number of its
 * keys or elements. Raises. */
static kv_kind look_at(lua_State *L, size_t *count) {
  kvl_state *state = kvl_state_of(L);
  kvl_path path;
  kv_error *error = NULL;
  kv_tree *keys = NULL, *value = NULL;
  kvl_handle *session = kvl_check_session(L);
  lua_settop(L, 1);
  lua_newtable(L);
  kvl_full_path(L, 2, &path);
  kv_status status = get_keys(L, session, &path, &keys, &error);
  if (status < 0) kvl_raise(L, state, status, error);
  kv_cursor root = kv_tree_root(keys);
  *count = kv_cursor_count(&root);
  kv_tree_free(keys);
  if (*count > 0) return KV_DICTIONARY;
  status = get_tree(session, &path, NULL, &value, &error);
  if (status < 0) kvl_raise(L, state, status, error);
  root = kv_tree_root(value);
  kv_kind kind = kv_cursor_kind(&root);
  *count = kv_cursor_count(&root);
  kv_tree_free(value);
  return kind;
}

/* #store: the number of keys, and of a handle on an array, of elements */
static int store_len(lua_State *L) {
  size_t count;
  kv_kind kind = look_at(L, &count);
  int is_container = kind == KV_ARRAY || kind == KV_DICTIONARY;
  lua_pushinteger(L, is_container ? (lua_Integer)count : 0);
  return 1;
}

/* is_list(store): whether the handle is on an array */
static int is_list(lua_State *L) {
  size_t count;
  lua_pushboolean(L, look_at(L, &count) == KV_ARRAY);
  return 1;
}

/* element(part, index): the element of an array, else nil */
static int element(lua_State *L) {
  const kvl_handle *handle = kvl_check_handle(L);
  kvl_path path;
  int is_index = 0;
  lua_Integer index = lua_tointegerx(L, 2, &is_index);
  lua_newtable(L);
  kvl_path_below(L, handle, 3, &path);
  if (!is_index || index < 1 || path.count == KVL_STEPS) return 0;
  path.steps[path.count++] = (kv_step){{NULL, 0}, index - 1};
  if (push_value(L, handle->state, handle->session, &path, NULL))
    kvl_drop(L, handle->state, -2);
  if (handle->converts) kvl_decode_by_schema(L, 1, &path);
  return 1;
}

/* The __index of parts: methods, and the elements of an array. Upvalue 2 is the
 * table of methods. */
static int part_index(lua_State *L) {
  if (lua_type(L, 2) == LUA_TNUMBER) return element(L);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL) return 1;
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_replace(L, 1);
  return kvl_refuse_method(L, WHAT);
}

/* make_parts(): makes the class of parts one of stores with elements, once its
 * methods are complete */
static int make_parts(lua_State *L) {
  luaL_getmetatable(L, KVL_STORE_NAME);
  luaL_newmetatable(L, KVL_PART_NAME);
  for (lua_pushnil(L); lua_next(L, -3);) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, -4);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_getfield(L, -2, "__index");
  lua_pushcclosure(L, part_index, 2);
  lua_setfield(L, -2, "__index");
  return 0;
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

void kvl_add_store_methods(lua_State *L, const luaL_Reg *methods) {
  lua_getfield(L, -1, "store");
  kvl_add_methods(L, methods);
  lua_pop(L, 1);
}

void kvl_open_store(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"get", store_get},   {"set", store_set},     {"remove", store_remove},
      {"has", store_has},   {"reset", store_reset}, {"rename", store_rename},
      {"keys", store_keys}, {"at", store_at},       {"__len", store_len},
      {NULL, NULL}};
  static const luaL_Reg functions[] = {{"is_list", is_list},
                                       {"element", element},
                                       {"make_parts", make_parts},
                                       {NULL, NULL}};
  kvl_set_functions(L, functions); /* for the sugar, which removes them */
  kvl_new_class(L, KVL_STORE_NAME, methods);
  kvl_name_methods(L, WHAT);
  lua_setfield(L, -2, "store"); /* for the sugar, which removes it */
}
