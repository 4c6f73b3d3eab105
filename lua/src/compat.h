/*
 * compat.h: Lua 5.1 to 5.5 and LuaJIT, by the names of Lua 5.4.
 *
 * The module is written for 5.4. Whatever another version lacks, or means
 * differently, is here, under 5.4's name and with 5.4's meaning: macros and
 * inline functions, of which 5.4 itself sees lua_cpcall alone. LuaJIT has the C
 * interface of 5.1, so that one module serves both: no code here asks which of
 * the two is running.
 *
 *   5.1, 5.2  lua_Number alone: a whole number may have been an integer or a
 *             real (KVL_HAS_INTEGERS); `%I` is no format: KVL_DIGITS
 *   5.1       environments instead of upvalue _ENV (kvl_set_globals);
 *             functions of C are made, which may fail (lua_cpcall), and
 *             lua_checkstack raises (host.c)
 *   5.5       no lua_numbertointeger (kvl_to_whole)
 */
#ifndef KVCODABLE_COMPAT_H
#define KVCODABLE_COMPAT_H

#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if LUA_VERSION_NUM < 501 || LUA_VERSION_NUM > 505
#error "kvcodable's module is for Lua 5.1 to 5.5 and LuaJIT"
#endif

#define KVL_HAS_INTEGERS (LUA_VERSION_NUM >= 503)

/* The largest number up to which each whole one is a double of its own. */
#define KVL_MOST_WHOLE 9007199254740991.0

/* An integer's digits, as an argument for "%s". */
typedef struct kvl_digits {
  char text[24];
} kvl_digits;

static inline kvl_digits kvl_digits_of(int64_t value) {
  kvl_digits digits;
  snprintf(digits.text, sizeof digits.text, "%lld", (long long)value);
  return digits;
}
#define KVL_DIGITS(value) (kvl_digits_of((int64_t)(value)).text)

/* The integer that a real is; 0 where it is none. */
static inline int kvl_to_whole(double real, int64_t *whole) {
  if (!(real >= -0x1p63 && real < 0x1p63)) return 0;
  *whole = (int64_t)real;
  return (double)*whole == real;
}

/* Whether a number of a Lua without integers counts as an integer. */
static inline int kvl_is_whole(double real) {
  int64_t whole;
  return real >= -KVL_MOST_WHOLE && real <= KVL_MOST_WHOLE &&
         kvl_to_whole(real, &whole) && !(whole == 0 && signbit(real));
}

/* ---- Before 5.2 */

#if LUA_VERSION_NUM < 502

#define LUA_OK 0
#define lua_rawlen(L, index) lua_objlen(L, index)
#define lua_getuservalue(L, index) lua_getfenv(L, index)
#define lua_setuservalue(L, index) lua_setfenv(L, index)
#define lua_pushglobaltable(L) lua_pushvalue(L, LUA_GLOBALSINDEX)
#define lua_absindex(L, index)                           \
  ((index) > 0 || (index) <= LUA_REGISTRYINDEX ? (index) \
                                               : lua_gettop(L) + (index) + 1)
#define lua_load(L, reader, data, name, mode) lua_load(L, reader, data, name)
#define luaL_setmetatable(L, name) \
  (luaL_getmetatable(L, name), (void)lua_setmetatable(L, -2))

static inline void kvl_old_rawgetp(lua_State *L, int index, const void *key) {
  index = lua_absindex(L, index);
  lua_pushlightuserdata(L, (void *)key);
  lua_rawget(L, index);
}
#define lua_rawgetp kvl_old_rawgetp

static inline void kvl_old_rawsetp(lua_State *L, int index, const void *key) {
  index = lua_absindex(L, index);
  lua_pushlightuserdata(L, (void *)key);
  lua_insert(L, -2);
  lua_rawset(L, index);
}
#define lua_rawsetp kvl_old_rawsetp

static inline void kvl_old_setfuncs(lua_State *L, const luaL_Reg *functions,
                                    int count) {
  for (; functions->name; functions++) {
    for (int i = 0; i < count; i++) lua_pushvalue(L, -count);
    lua_pushcclosure(L, functions->func, count);
    lua_setfield(L, -(count + 2), functions->name);
  }
  lua_pop(L, count);
}
#define luaL_setfuncs kvl_old_setfuncs

static inline int kvl_old_getsubtable(lua_State *L, int index,
                                      const char *name) {
  index = lua_absindex(L, index);
  lua_getfield(L, index, name);
  if (lua_istable(L, -1)) return 1;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, index, name);
  return 0;
}
#define luaL_getsubtable kvl_old_getsubtable

#else

/* Calls the function, to which nothing is given but the data: in 5.1, where
 * functions of C are made, it is made in the protected call. */
static inline int lua_cpcall(lua_State *L, lua_CFunction function, void *data) {
  lua_pushcfunction(L, function);
  lua_pushlightuserdata(L, data);
  return lua_pcall(L, 1, 0, 0);
}

#endif

/* Takes the table on top as the globals of the function below it. */
static inline void kvl_set_globals(lua_State *L) {
#if LUA_VERSION_NUM < 502
  lua_setfenv(L, -2);
#else
  lua_setupvalue(L, -2, 1);
#endif
}

/* ---- Before 5.3: functions that get a value do not give its type, and there
 * are no integers */

#if LUA_VERSION_NUM < 503

#define KVL_TYPED(name, parameters, arguments)    \
  static inline int kvl_typed_##name parameters { \
    name arguments;                               \
    return lua_type(L, -1);                       \
  }
KVL_TYPED(lua_getfield, (lua_State * L, int index, const char *name),
          (L, index, name))
KVL_TYPED(lua_rawget, (lua_State * L, int index), (L, index))
KVL_TYPED(lua_rawgeti, (lua_State * L, int index, lua_Integer n),
          (L, index, (int)n))
KVL_TYPED(lua_rawgetp, (lua_State * L, int index, const void *key),
          (L, index, key))
#undef KVL_TYPED
#undef lua_rawgetp
#define lua_getfield kvl_typed_lua_getfield
#define lua_rawget kvl_typed_lua_rawget
#define lua_rawgeti kvl_typed_lua_rawgeti
#define lua_rawgetp kvl_typed_lua_rawgetp
#define lua_rawseti(L, index, n) (lua_rawseti)(L, index, (int)(n))

static inline int kvl_old_getmetafield(lua_State *L, int index,
                                       const char *name) {
  return luaL_getmetafield(L, index, name) ? lua_type(L, -1) : LUA_TNIL;
}
#define luaL_getmetafield kvl_old_getmetafield

/* An integer is a whole number here that no other integer is taken for. */
static inline int kvl_old_isinteger(lua_State *L, int index) {
  return lua_type(L, index) == LUA_TNUMBER &&
         kvl_is_whole(lua_tonumber(L, index));
}
#define lua_isinteger kvl_old_isinteger
#define lua_pushinteger(L, value) lua_pushnumber(L, (lua_Number)(value))

static inline lua_Integer kvl_old_tointegerx(lua_State *L, int index,
                                             int *is_integer) {
  int64_t whole = 0;
  int is_whole =
      lua_isnumber(L, index) && kvl_to_whole(lua_tonumber(L, index), &whole);
  if (is_integer) *is_integer = is_whole;
  return is_whole ? (lua_Integer)whole : 0;
}
#define lua_tointegerx kvl_old_tointegerx

static inline lua_Integer kvl_old_checkinteger(lua_State *L, int index) {
  int is_integer;
  luaL_checknumber(L, index);
  lua_Integer value = kvl_old_tointegerx(L, index, &is_integer);
  if (!is_integer)
    luaL_argerror(L, index, "number has no integer representation");
  return value;
}
#define luaL_checkinteger kvl_old_checkinteger
#undef luaL_optinteger
#define luaL_optinteger(L, index, value) \
  luaL_opt(L, kvl_old_checkinteger, index, value)

/* Notes the name of a class in its metatable, for messages. */
static inline int kvl_old_newmetatable(lua_State *L, const char *name) {
  if (!luaL_newmetatable(L, name)) return 0;
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  return 1;
}
#define luaL_newmetatable kvl_old_newmetatable

static inline const char *kvl_old_tolstring(lua_State *L, int index,
                                            size_t *length) {
  index = lua_absindex(L, index);
  if (luaL_callmeta(L, index, "__tostring")) {
    if (!lua_isstring(L, -1))
      luaL_error(L, "'__tostring' must return a string");
    return lua_tolstring(L, -1, length);
  }
  switch (lua_type(L, index)) {
    case LUA_TNUMBER:
    case LUA_TSTRING:
      lua_pushvalue(L, index);
      break;
    case LUA_TBOOLEAN:
      lua_pushstring(L, lua_toboolean(L, index) ? "true" : "false");
      break;
    case LUA_TNIL:
      lua_pushliteral(L, "nil");
      break;
    default: {
      int kind = luaL_getmetafield(L, index, "__name");
      lua_pushfstring(
          L, "%s: %p",
          kind == LUA_TSTRING ? lua_tostring(L, -1) : luaL_typename(L, index),
          lua_topointer(L, index));
      if (kind != LUA_TNIL) lua_remove(L, -2);
    }
  }
  return lua_tolstring(L, -1, length);
}
#define luaL_tolstring kvl_old_tolstring

static inline void *kvl_old_testudata(lua_State *L, int index,
                                      const char *name) {
  void *data = lua_touserdata(L, index);
  if (!data || !lua_getmetatable(L, index)) return NULL;
  luaL_getmetatable(L, name);
  if (!lua_rawequal(L, -1, -2)) data = NULL;
  lua_pop(L, 2);
  return data;
}
#define luaL_testudata kvl_old_testudata

#endif

/* ---- Before 5.4: one user value, which is a table in 5.1 and 5.2 */

#if LUA_VERSION_NUM < 504

#ifndef LUA_LOADED_TABLE
#define LUA_LOADED_TABLE "_LOADED"
#endif

static inline int kvl_old_typeerror(lua_State *L, int index,
                                    const char *wanted) {
  const char *found = luaL_typename(L, index);
  if (luaL_getmetafield(L, index, "__name") == LUA_TSTRING)
    found = lua_tostring(L, -1);
  else if (lua_type(L, index) == LUA_TLIGHTUSERDATA)
    found = "light userdata";
  return luaL_argerror(
      L, index, lua_pushfstring(L, "%s expected, got %s", wanted, found));
}
#define luaL_typeerror kvl_old_typeerror

#if LUA_VERSION_NUM < 503
/* With the name of a userdata's kind, as 5.3 tells it. */
static inline void kvl_old_checktype(lua_State *L, int argument, int type) {
  if (lua_type(L, argument) != type)
    luaL_typeerror(L, argument, lua_typename(L, type));
}
#define luaL_checktype kvl_old_checktype
#endif

static inline void *kvl_old_checkudata(lua_State *L, int index,
                                       const char *name) {
  void *data = luaL_testudata(L, index, name);
  if (!data) luaL_typeerror(L, index, name);
  return data;
}
#define luaL_checkudata kvl_old_checkudata

static inline void *kvl_old_newuserdatauv(lua_State *L, size_t size,
                                          int values) {
  void *data = lua_newuserdata(L, size);
  if (values > 0) {
    lua_createtable(L, values, 0);
    lua_setuservalue(L, -2);
  }
  return data;
}
#define lua_newuserdatauv kvl_old_newuserdatauv

static inline int kvl_old_getiuservalue(lua_State *L, int index, int n) {
  lua_getuservalue(L, index);
  int type = lua_rawgeti(L, -1, n);
  lua_remove(L, -2);
  return type;
}
#define lua_getiuservalue kvl_old_getiuservalue

static inline int kvl_old_setiuservalue(lua_State *L, int index, int n) {
  lua_getuservalue(L, index);
  lua_insert(L, -2);
  lua_rawseti(L, -2, n);
  lua_pop(L, 1);
  return 1;
}
#define lua_setiuservalue kvl_old_setiuservalue

#endif

#endif
