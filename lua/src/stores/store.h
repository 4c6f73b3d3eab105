/*
 * store.h: the session of a handle, for the files that hold the methods of
 * stores and transactions.
 */
#ifndef KVCODABLE_STORE_H
#define KVCODABLE_STORE_H

#include "../values/conversion.h"

/* Each adds its functions to the table of the module, on top; the first makes
 * the class of stores, to which the others add methods. */
void kvl_open_store(lua_State *L);
void kvl_open_closing(lua_State *L);
void kvl_open_transactions(lua_State *L);
void kvl_open_migrations(lua_State *L);
void kvl_open_opening(lua_State *L);
void kvl_open_bulk(lua_State *L);

/* Adds methods to the class of stores that the table on top has. */
void kvl_add_store_methods(lua_State *L, const luaL_Reg *methods);

/* ---- Sessions */

/* The handle at 1, open or not. Raises. */
kvl_handle *kvl_check_any_handle(lua_State *L);

/* Raises the error of a value at 1 that is no handle, or whose session or Lua
 * state is over. */
_Noreturn void kvl_refuse_handle(lua_State *L);

/* The handle at 1; raises unless its session is open. */
static inline kvl_handle *kvl_check_handle(lua_State *L) {
  kvl_handle *handle = kvl_handle_at(L, 1);
  if (!handle || handle->state->is_over ||
      !(handle->session->store || handle->session->transaction))
    kvl_refuse_handle(L);
  return handle;
}

/* The session of the handle at 1; raises unless it is open. */
static inline kvl_handle *kvl_check_session(lua_State *L) {
  return kvl_check_handle(L)->session;
}

/* The open store of the handle at 1, which is no transaction. Raises. Lasts
 * until the next call or allocation of Lua: a metamethod or a finalizer may
 * close the store. So a function that makes one checks its arguments first, and
 * takes the store last. */
kv_store *kvl_check_store(lua_State *L);

/* The store of kvl_check_store(), of a handle that is no part. Raises. */
kv_store *kvl_check_whole(lua_State *L);

/* ---- Values */

/* Raises where the store must not be changed: before a value for it is walked,
 * which may be large. */
void kvl_check_writable(lua_State *L, kvl_state *state, const kv_store *store,
                        const kvl_path *path);

/* Pushes the value at the path of argument 2, as the type at 3 shows it, which
 * may be nil; nil where there is none. Raises. */
void kvl_push_typed(lua_State *L, kvl_state *state, const kvl_handle *handle);

/* Stores the value at `value` as the type at `type_index` says, which may be
 * nil. If a get gave the table at `had`, stores what differs from what it gave.
 * With a type, pushes the number of elements of stored arrays that are gone with
 * keys that the type does not know, and gives 1; otherwise gives 0. Raises. */
int kvl_put_value(lua_State *L, kvl_state *state, const kvl_handle *handle,
                  int path_index, int value, int had, int type_index,
                  int options);

/* Removes the value at the path of the argument at `index`, below the handle at
 * 1, of that session; gives whether there was one. Raises. */
int kvl_remove(lua_State *L, kvl_state *state, kvl_handle *session, int index);

/* Raises where the options of a typed set, which may be nil or none, have a
 * name that it does not know. */
void kvl_check_set_options(lua_State *L, int index);

#endif
