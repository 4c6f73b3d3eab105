/* numbers.c: integers and reals that a number of Lua's does not stand for: kv.int64,
 * kv.uint64, kv.real, and the integers of LuaJIT's FFI. */
#include <string.h>

#include "kinds.h"

/* ---- From texts and numbers */

/* Raises where the value at 2 is no text, or has other bytes than digits after
 * its sign, or is more than `most`. */
static uint64_t check_digits(lua_State *L, const char *text, uint64_t most,
                             const char *too_large) {
  uint64_t value = 0;
  if (!*text) kvl_value_error(L, "expected digits");
  for (; *text; text++) {
    uint64_t digit = (uint64_t)(unsigned char)*text - '0';
    if (digit > 9) kvl_value_error(L, "expected digits");
    if (value > (most - digit) / 10) kvl_value_error(L, too_large);
    value = value * 10 + digit;
  }
  return value;
}

int kvl_integer_kind(lua_State *L, int index, uint64_t *bits) {
  int64_t value = 0;
  if (luaL_testudata(L, index, "kvcodable.uint64")) {
    *bits = kvl_check_bits(L, index, KVL_UINT64);
    return KV_NODE_UNSIGNED;
  }
#if !KVL_HAS_INTEGERS
  if (luaL_testudata(L, index, "kvcodable.int64")) {
    *bits = kvl_check_bits(L, index, KVL_INT64);
    return KV_NODE_INTEGER;
  }
#endif
  if (lua_type(L, index) != LUA_TNUMBER) return kvl_cdata_kind(L, index, bits);
  if (lua_isinteger(L, index))
    value = (int64_t)lua_tointeger(L, index);
  else if (!kvl_to_whole(lua_tonumber(L, index), &value))
    return KV_NODE_NULL;
  *bits = (uint64_t)value;
  return KV_NODE_INTEGER;
}

/* kv.uint64(n) or kv.uint64 "18446744073709551615" */
int kvl_new_uint64(lua_State *L) {
  static const char too_large[] = "expected at most 18446744073709551615";
  uint64_t value = 0;
  int kind = kvl_integer_kind(L, 2, &value);
  if (kind == KV_NODE_NULL && lua_type(L, 2) == LUA_TNUMBER)
    return kvl_value_error(L, "expected a whole number");
  if (kind == KV_NODE_INTEGER && value > INT64_MAX)
    return kvl_value_error(L, "expected 0 or more");
  if (kind == KV_NODE_NULL)
    value = check_digits(L, kvl_check_word(L, 2), UINT64_MAX, too_large);
  kvl_push_uint64(L, value);
  return 1;
}

/* kv.int64(n) or kv.int64 "-9223372036854775808": an integer, which is one of
 * Lua's own where it has them */
int kvl_new_int64(lua_State *L) {
  static const char bounds[] =
      "expected -9223372036854775808 to 9223372036854775807";
  uint64_t bits = 0;
  int kind = kvl_integer_kind(L, 2, &bits);
  if (kind == KV_NODE_UNSIGNED && bits > INT64_MAX)
    return kvl_value_error(L, bounds);
  if (kind == KV_NODE_NULL && lua_type(L, 2) == LUA_TNUMBER)
    return kvl_value_error(L, "expected a whole number");
  if (kind == KV_NODE_NULL) {
    const char *text = kvl_check_word(L, 2);
    int is_negative = *text == '-';
    bits = check_digits(L, text + is_negative,
                        (uint64_t)INT64_MAX + (uint64_t)is_negative, bounds);
    if (is_negative) bits = 0 - bits;
  }
#if KVL_HAS_INTEGERS
  lua_pushinteger(L, (lua_Integer)bits);
#else
  kvl_push_word(L, KVL_INT64, bits);
#endif
  return 1;
}

/* kv.real(n): a number that is no integer, also where it is whole */
int kvl_new_real(lua_State *L) {
  union {
    double real;
    uint64_t bits;
  } number;
  number.real = luaL_checknumber(L, 1);
#if KVL_HAS_INTEGERS
  lua_pushnumber(L, number.real);
#else
  kvl_push_word(L, KVL_REAL, number.bits);
#endif
  return 1;
}

int64_t kvl_check_integer(lua_State *L, int index) {
  uint64_t bits = 0;
  if (lua_type(L, index) != LUA_TSTRING &&
      kvl_integer_kind(L, index, &bits) == KV_NODE_INTEGER)
    return (int64_t)bits;
  return (int64_t)luaL_checkinteger(L, index);
}

/* ---- Methods that all kinds have */

/* The order of two values of the kind `name`, and value:number(), the nearest
 * number of Lua; check_NAME gives the value at an index. */
#define COMPARED(name)                                            \
  static int name##_lt(lua_State *L) {                            \
    kvl_check_alike(L, "kvcodable." #name);                       \
    lua_pushboolean(L, check_##name(L, 1) < check_##name(L, 2));  \
    return 1;                                                     \
  }                                                               \
  static int name##_le(lua_State *L) {                            \
    kvl_check_alike(L, "kvcodable." #name);                       \
    lua_pushboolean(L, check_##name(L, 1) <= check_##name(L, 2)); \
    return 1;                                                     \
  }                                                               \
  static int name##_number(lua_State *L) {                        \
    lua_pushnumber(L, (lua_Number)check_##name(L, 1));            \
    return 1;                                                     \
  }

/* ---- Unsigned integers */

static uint64_t check_uint64(lua_State *L, int index) {
  return kvl_check_bits(L, index, KVL_UINT64);
}

static int uint64_tostring(lua_State *L) {
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)check_uint64(L, 1));
  lua_pushstring(L, text);
  return 1;
}

static int uint64_eq(lua_State *L) {
  lua_pushboolean(L, kvl_are_same(L, KVL_UINT64));
  return 1;
}

COMPARED(uint64)

#if KVL_HAS_INTEGERS

const luaL_Reg kvl_uint64_methods[] = {
    {"number", uint64_number}, {"__tostring", uint64_tostring},
    {"__eq", uint64_eq},       {"__lt", uint64_lt},
    {"__le", uint64_le},       {NULL, NULL}};

int kvl_cdata_kind(lua_State *L, int index, uint64_t *bits) {
  (void)L, (void)index, (void)bits;
  return KV_NODE_NULL;
}

void kvl_open_cdata(lua_State *L) { (void)L; }

#else

/* ---- Integers of a Lua that has none */

static int64_t check_int64(lua_State *L, int index) {
  return (int64_t)kvl_check_bits(L, index, KVL_INT64);
}

static int int64_tostring(lua_State *L) {
  lua_pushstring(L, KVL_DIGITS(check_int64(L, 1)));
  return 1;
}

static int int64_eq(lua_State *L) {
  lua_pushboolean(L, kvl_are_same(L, KVL_INT64));
  return 1;
}

COMPARED(int64)

/* ---- Integers of LuaJIT's FFI */

static const char kind_function; /* of the registry: what tells them apart */

/* Pushes the number that the digits and LL or ULL behind them are in LuaJIT:
 * its parser makes such numbers without the FFI library. */
static int push_cdata(lua_State *L, const char *digits) {
  const char *text = lua_pushfstring(L, "return %s", digits);
  if (luaL_loadbuffer(L, text, strlen(text), "=kvcodable.cdata") != LUA_OK)
    return luaL_error(L, "only LuaJIT has numbers of C");
  lua_call(L, 0, 1);
  return 1;
}

/* value:cdata(): an int64_t, on LuaJIT */
static int int64_cdata(lua_State *L) {
  char text[32];
  snprintf(text, sizeof text, "%lldLL", (long long)check_int64(L, 1));
  return push_cdata(L, text);
}

/* value:cdata(): a uint64_t, on LuaJIT */
static int uint64_cdata(lua_State *L) {
  char text[32];
  snprintf(text, sizeof text, "%lluULL",
           (unsigned long long)check_uint64(L, 1));
  return push_cdata(L, text);
}

/* Whether the cdata at 1, whose type is at 2, is a number itself: ffi.istype()
 * also takes references, of types such as "ctype<int64_t &>", and the type
 * itself, whose text begins with "ctype". */
static int is_number(lua_State *L) {
  const char *text = NULL, *type = NULL;
  lua_settop(L, 2);
  if (luaL_callmeta(L, 1, "__tostring")) text = lua_tostring(L, -1);
  if (luaL_callmeta(L, 2, "__tostring")) type = lua_tostring(L, -1);
  lua_pushboolean(L, text && *text != 'c' && type && !strchr(type, '&'));
  return 1;
}

/* Makes the function that tells the kinds apart: there is no other way for a
 * module that Lua 5.1 loads as well. LuaJIT has loaded its FFI library where
 * there is a number of it. */
static int make_kind_function(lua_State *L) {
  static const char text[] =
      "local ffi, is_number = ... local is, type = ffi.istype, ffi.typeof "
      "local int, uint = type('int64_t'), type('uint64_t') "
      "return function(v) local kind = is(int, v) and 2 or is(uint, v) and 3 "
      "return kind and is_number(v, type(v)) and kind or 0 end";
  if (luaL_loadbuffer(L, text, sizeof text - 1, "=kvcodable.cdata") != LUA_OK)
    return lua_error(L);
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "ffi");
  lua_remove(L, -2);
  lua_pushcfunction(L, is_number);
  lua_call(L, 2, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &kind_function);
  return 0;
}

void kvl_open_cdata(lua_State *L) {
  lua_pushcfunction(L, make_kind_function);
  int outcome = lua_pcall(L, 0, 0, 0);
  if (outcome == LUA_ERRMEM) lua_error(L);
  if (outcome != LUA_OK) lua_pop(L, 1); /* no FFI, or not yet */
}

int kvl_cdata_kind(lua_State *L, int index, uint64_t *bits) {
  int kind = KV_NODE_NULL;
  if (lua_type(L, index) <= LUA_TTHREAD || !lua_checkstack(L, 8)) return kind;
  index = lua_absindex(L, index);
  const void *data = lua_topointer(L, index);
  if (strcmp(luaL_typename(L, index), "cdata") != 0 || !data) return kind;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &kind_function) == LUA_TNIL) {
    lua_pop(L, 1);
    kvl_open_cdata(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &kind_function);
  }
  lua_pushvalue(L, index);
  if (lua_pcall(L, 1, 1, 0) == LUA_OK) kind = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  if (kind != KV_NODE_INTEGER && kind != KV_NODE_UNSIGNED) return KV_NODE_NULL;
  memcpy(bits, data, sizeof *bits);
  return kind;
}

const luaL_Reg kvl_uint64_methods[] = {{"number", uint64_number},
                                       {"cdata", uint64_cdata},
                                       {"__eq", uint64_eq},
                                       {"__tostring", uint64_tostring},
                                       {"__lt", uint64_lt},
                                       {"__le", uint64_le},
                                       {NULL, NULL}};

const luaL_Reg kvl_int64_methods[] = {{"number", int64_number},
                                      {"cdata", int64_cdata},
                                      {"__eq", int64_eq},
                                      {"__tostring", int64_tostring},
                                      {"__lt", int64_lt},
                                      {"__le", int64_le},
                                      {NULL, NULL}};

/* ---- Reals */

static double check_real(lua_State *L, int index) {
  union {
    uint64_t bits;
    double real;
  } number;
  number.bits = kvl_check_bits(L, index, KVL_REAL);
  return number.real;
}

static int real_tostring(lua_State *L) {
  lua_pushnumber(L, check_real(L, 1));
  lua_tostring(L, -1);
  return 1;
}

static int real_eq(lua_State *L) {
  lua_pushboolean(L, kvl_are_alike(L, "kvcodable.real") &&
                         check_real(L, 1) == check_real(L, 2));
  return 1;
}

COMPARED(real)

const luaL_Reg kvl_real_methods[] = {
    {"number", real_number}, {"__tostring", real_tostring},
    {"__eq", real_eq},       {"__lt", real_lt},
    {"__le", real_le},       {NULL, NULL}};

#endif
