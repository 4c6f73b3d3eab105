/* migrate.c: bringing an older program's store up to date. */
#include "store.h"

/* Versions are tried one by one, up to this one. */
#define MOST_VERSIONS 1000000

/* How often the steps are run, where a program that knows nothing of the
 * library's lock writes the file meanwhile. */
#define MOST_MIGRATIONS 10

/* The highest version that the steps at 2 lead to: a table of functions with
 * versions from 1 as keys. Raises. */
static lua_Integer check_steps(lua_State *L) {
  lua_Integer last = 0;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1 ||
        lua_tointeger(L, -2) > MOST_VERSIONS)
      luaL_error(L, "expected versions from 1 as keys of the steps, found %s",
                 luaL_tolstring(L, -2, NULL));
    lua_Integer version = lua_tointeger(L, -2);
    if (!lua_isfunction(L, -1))
      luaL_error(L, "expected a function as step %d, found %s", (int)version,
                 luaL_typename(L, -1));
    if (version > last) last = version;
    lua_pop(L, 1);
  }
  if (last == 0) luaL_argerror(L, 2, "no steps");
  return last;
}

/* 1 transaction, upvalue 2 the steps, 3 the last version: whether a step was
 * run */
static int migration(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kvl_handle *session = kvl_check_session(L);
  lua_Integer last = lua_tointeger(L, lua_upvalueindex(3));
  int64_t found = 0;
  kv_error *error = NULL;
  kv_status status =
      kv_transaction_migrate(session->transaction, last, &found, &error);
  if (status < 0) return kvl_raise(L, state, status, error);
  lua_pushboolean(L, status == KV_OK);
  if (status != KV_OK) return 1;
  session->converts = 0; /* values are as they are stored */
  lua_settop(L, 1);
  for (lua_Integer version = found + 1; version <= last; version++) {
    if (lua_rawgeti(L, lua_upvalueindex(2), version) == LUA_TFUNCTION) {
      lua_pushvalue(L, 1);
      lua_call(L, 1, 0);
    } else {
      lua_pop(L, 1);
    }
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* Runs the steps at 2 in a transaction; whether that ended without an error, and
 * then whether a step was run, or the error, on top. */
static int run_steps(lua_State *L, lua_Integer last) {
  lua_getfield(L, 1, "transaction");
  lua_pushvalue(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 2);
  lua_pushinteger(L, last);
  lua_pushcclosure(L, migration, 3);
  return lua_pcall(L, 2, 1, 0) == LUA_OK;
}

/* store:migrate(steps): whether a step had to be run. Runs the functions whose
 * versions the store has not seen, in order, in one transaction: an error rolls
 * all of them back. Where another program writes the file meanwhile, they run
 * again on the values of then. */
static int store_migrate(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  int64_t found = 0;
  kv_error *error = NULL;
  lua_settop(L, 2);
  kv_store *store = kvl_check_store(L);
  if (((const kvl_handle *)lua_touserdata(L, 1))->is_part)
    return luaL_error(L, "a part of a store has no version of its own");
  lua_Integer last = check_steps(L);
  kv_status status = kv_store_version(store, &found, &error);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  if (found == last) {
    lua_pushboolean(L, 0);
    return 1;
  }
  for (int i = 1; !run_steps(L, last); i++) {
    if (i == MOST_MIGRATIONS || !kvl_is_error(L, -1) ||
        kvl_error_status(L, lua_gettop(L)) != KV_CONFLICT)
      return lua_error(L);
    lua_settop(L, 2);
  }
  return 1;
}

/* store:version(): the version of the stored values; 0 before a migration */
static int store_version(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  int64_t found = 0;
  kv_error *error = NULL;
  kv_store *store = kvl_check_store(L);
  kv_status status = kv_store_version(store, &found, &error);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  lua_pushinteger(L, found);
  return 1;
}

void kvl_open_migrations(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"migrate", store_migrate}, {"version", store_version}, {NULL, NULL}};
  kvl_add_store_methods(L, methods);
}
