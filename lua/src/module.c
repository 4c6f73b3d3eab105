/* module.c: opens the module. */
#include "module.h"

#include "embedded.h"
#include "stores/given.h"
#include "stores/store.h"
#include "stores/watch.h"

/* The key of the module's table in the registry: a text, so that a second copy
 * of this library in the program finds it too. */
#define MODULE_NAME "kvcodable.module"

/* ---- Opening */

/* Copies the fields of these names from the table on top to the one below it,
 * and pops the first. */
static void copy_names(lua_State *L, const char *library,
                       const char *const *names) {
  for (; *names; names++) {
    if (!lua_istable(L, -1) || lua_getfield(L, -1, *names) == LUA_TNIL)
      luaL_error(L,
                 "no %s in %s: kvcodable needs Lua's base library, string, "
                 "table and math, when it is opened",
                 *names, library);
    lua_setfield(L, -3, *names);
  }
  lua_pop(L, 1);
}

#if !KVL_HAS_INTEGERS
/* math.type, where a whole number counts as an integer */
static int math_type(lua_State *L) {
  luaL_checkany(L, 1);
  if (lua_type(L, 1) != LUA_TNUMBER)
    lua_pushnil(L);
  else
    lua_pushstring(L, lua_isinteger(L, 1) ? "integer" : "float");
  return 1;
}
#endif

/* getmetatable, of protected ones too */
static int raw_metatable(lua_State *L) {
  if (!lua_getmetatable(L, 1)) lua_pushnil(L);
  return 1;
}

/* Pushes the globals of the embedded Lua. They are those of the state at this
 * time: a host may take them away from its scripts, and scripts may change
 * them, before all of it has run. */
static void push_globals(lua_State *L) {
  static const char *const base[] = {
      "error",  "ipairs",       "next",     "pairs", "pcall", "rawget",
      "select", "setmetatable", "tostring", "type",  NULL};
  static const char *const math[] = {
    "abs",
    "huge",
#if KVL_HAS_INTEGERS
    "type",
#endif
    NULL
  };
  static const char *const string[] = {"find", "format", "gsub", "match",
                                       "rep",  "sub",    NULL};
  static const char *const table[] = {"concat", "sort", NULL};
  static const char *const libraries[] = {"math", "string", "table"};
  static const char *const *const names[] = {math, string, table};
  lua_newtable(L);
  lua_pushglobaltable(L);
  copy_names(L, "_G", base);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    lua_newtable(L);
    lua_getglobal(L, libraries[i]);
    copy_names(L, libraries[i], names[i]);
    lua_setfield(L, -2, libraries[i]);
  }
  lua_pushcfunction(L, raw_metatable);
  lua_setfield(L, -2, "getmetatable");
#if !KVL_HAS_INTEGERS
  lua_getfield(L, -1, "math");
  lua_pushcfunction(L, math_type);
  lua_setfield(L, -2, "type");
  lua_pop(L, 1);
#endif
}

/* Gives the next text of a chunk. */
static const char *read_text(lua_State *L, void *data, size_t *length) {
  const Text **next = data, *text = (*next)++;
  (void)L;
  *length = 0;
  if (text->begin)
    *length =
        text->end ? (size_t)(text->end - text->begin) : strlen(text->begin);
  return text->begin;
}

/* Calls a chunk of embedded Lua with the values above `base`, of which the
 * first is the table of its globals. */
static int run_chunk(lua_State *L, const Text *chunk, const char *name,
                     int base) {
  if (lua_load(L, read_text, &chunk, name, "t") != LUA_OK) return lua_error(L);
  lua_newtable(L);
  kvl_set_globals(L);
  lua_insert(L, base + 1);
  lua_call(L, lua_gettop(L) - base - 1, 1);
  return 1;
}

/* run_types(shared): the results of the files behind sugar.lua; upvalue 1 is
 * the table of globals */
static int run_types(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  return run_chunk(L, types_chunk, "=kvcodable.types", 0);
}

/* Makes the module's table; upvalue 1 is the state. */
static int make_module(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  lua_newtable(L);
  kvl_open_errors(L);
  kvl_open_values(L, state);
  kvl_open_types(L);
  kvl_open_codec(L);
  kvl_open_merging(L);
  kvl_open_given(L);
  kvl_open_store(L);
  kvl_open_closing(L);
  kvl_open_transactions(L);
  kvl_open_migrations(L);
  kvl_open_opening(L);
  kvl_open_bulk(L);
  kvl_open_watch(L);
  lua_pushfstring(L, "kvcodable %s", kv_version());
  lua_setfield(L, -2, "_VERSION");
  lua_pushinteger(L, KV_DEPTH);
  lua_setfield(L, -2, "depth");
  push_globals(L);
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, run_types, 1);
  lua_setfield(L, -3, "run_types");
  lua_insert(L, 1);
  return run_chunk(L, sugar_chunk, "=kvcodable.sugar", 0);
}

/* Pushes the module's table, or another value where there is none. */
static int push_module(lua_State *L) {
  return lua_getfield(L, LUA_REGISTRYINDEX, MODULE_NAME) == LUA_TTABLE;
}

int kvl_is_open(lua_State *L) {
  int is_open = push_module(L);
  lua_pop(L, 1);
  return is_open;
}

void kvl_open_module(lua_State *L, const kv_lua_options *options) {
  if (kv_abi_version() < KV_ABI_VERSION)
    luaL_error(L,
               "libkvcodable has version %d of the contract, the module needs "
               "%d",
               (int)kv_abi_version(), KV_ABI_VERSION);
  if (push_module(L)) return;
  lua_pop(L, 1);
  kvl_new_state(L, options);
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, make_module, 1);
  lua_call(L, 0, 1);
  lua_insert(L, -2);
  kvl_set_state(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, MODULE_NAME); /* last: all is there */
}

__attribute__((visibility("default"))) int luaopen_kvcodable(lua_State *L) {
  if (!L) return 0;
  kvl_open_module(L, NULL);
  return 1;
}
