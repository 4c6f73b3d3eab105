/* values.c: kinds of property lists that Lua does not have. */
#include <stdio.h>
#include <string.h>

#include "conversion.h"

static const char *const names[] = {KVL_DATE_NAME, "kvcodable.data",
                                    "kvcodable.uint64", "kvcodable.uid",
                                    "kvcodable.null"};

int kvl_value_kind(lua_State *L, kvl_state *state, int index) {
  if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index))
    return -1;
  const void *meta = lua_topointer(L, -1);
  lua_pop(L, 1);
  for (int kind = KVL_DATE; kind <= KVL_NULL; kind++)
    if (state->value_meta[kind] == meta) return kind;
  return -1;
}

static void *new_value(lua_State *L, int kind, size_t size) {
  void *value = lua_newuserdatauv(L, size, 0);
  luaL_setmetatable(L, names[kind]);
  return value;
}

void kvl_push_date(lua_State *L, double seconds_since_2001) {
  *(double *)new_value(L, KVL_DATE, sizeof(double)) = seconds_since_2001;
}

/* A word of 0 comes before the bytes, which scripts choose: the module knows
 * handles and types by their first word (handle.h). */
static char *new_bytes(lua_State *L, size_t length) {
  void *value = new_value(L, KVL_DATA, sizeof(void *) + length);
  memset(value, 0, sizeof(void *));
  return (char *)value + sizeof(void *);
}

void kvl_push_data(lua_State *L, const char *bytes, size_t length) {
  char *value = new_bytes(L, length);
  if (length > 0) memcpy(value, bytes, length);
}

const char *kvl_data_at(lua_State *L, int index, size_t *length) {
  *length = lua_rawlen(L, index) - sizeof(void *);
  return (const char *)lua_touserdata(L, index) + sizeof(void *);
}

void kvl_push_uint64(lua_State *L, uint64_t value) {
  *(uint64_t *)new_value(L, KVL_UINT64, sizeof(uint64_t)) = value;
}

void kvl_push_uid(lua_State *L, uint32_t value) {
  *(uint64_t *)new_value(L, KVL_UID, sizeof(uint64_t)) = value;
}

void kvl_push_null(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, "kvcodable.the_null");
}

const char *kvl_check_word(lua_State *L, int index) {
  size_t length;
  const char *text = luaL_checklstring(L, index, &length);
  if (strlen(text) != length) kvl_value_error(L, "a NUL in the text");
  return text;
}

int kvl_value_error(lua_State *L, const char *problem) {
  luaL_where(L, 2); /* behind the metamethod that calls a type */
  lua_pushstring(L, problem);
  lua_concat(L, 2);
  return lua_error(L);
}

/* ---- Comparing */

/* The kind that Lua names in its error about an operand without an order. */
static const char *kind_name(lua_State *L, int index) {
  if (luaL_getmetafield(L, index, "__name") == LUA_TSTRING)
    return lua_tostring(L, -1);
  return luaL_typename(L, index);
}

int kvl_are_alike(lua_State *L, const char *name) {
  return luaL_testudata(L, 1, name) && luaL_testudata(L, 2, name);
}

void kvl_check_alike(lua_State *L, const char *name) {
  if (kvl_are_alike(L, name)) return;
  luaL_error(L, "attempt to compare %s with %s", kind_name(L, 1),
             kind_name(L, 2));
}

/* ---- Data */

static const char *check_data(lua_State *L, int index, size_t *length) {
  luaL_checkudata(L, index, names[KVL_DATA]);
  return kvl_data_at(L, index, length);
}

/* kv.data(bytes) */
static int new_data(lua_State *L) {
  size_t length;
  const char *bytes = luaL_checklstring(L, 2, &length);
  kvl_push_data(L, bytes, length);
  return 1;
}

static int data_bytes(lua_State *L) {
  size_t length;
  const char *bytes = check_data(L, 1, &length);
  lua_pushlstring(L, bytes, length);
  return 1;
}

static int data_len(lua_State *L) {
  size_t length;
  check_data(L, 1, &length);
  lua_pushinteger(L, (lua_Integer)length);
  return 1;
}

static int data_tostring(lua_State *L) {
  size_t length;
  check_data(L, 1, &length);
  lua_pushfstring(L, "data (%s bytes)", KVL_DIGITS(length));
  return 1;
}

static int data_order(lua_State *L) {
  size_t left, right;
  const char *a = check_data(L, 1, &left), *b = check_data(L, 2, &right);
  int order = memcmp(a, b, left < right ? left : right);
  return order ? order : (left > right) - (left < right);
}

static int data_eq(lua_State *L) {
  lua_pushboolean(L, kvl_are_alike(L, names[KVL_DATA]) && data_order(L) == 0);
  return 1;
}

static int data_lt(lua_State *L) {
  kvl_check_alike(L, names[KVL_DATA]);
  lua_pushboolean(L, data_order(L) < 0);
  return 1;
}

static int data_le(lua_State *L) {
  kvl_check_alike(L, names[KVL_DATA]);
  lua_pushboolean(L, data_order(L) <= 0);
  return 1;
}

static const char *data_or_string(lua_State *L, int index, size_t *length) {
  if (lua_type(L, index) == LUA_TSTRING) return lua_tolstring(L, index, length);
  return check_data(L, index, length);
}

static int data_concat(lua_State *L) {
  size_t left, right;
  const char *a = data_or_string(L, 1, &left),
             *b = data_or_string(L, 2, &right);
  char *bytes = new_bytes(L, left + right);
  memcpy(bytes, a, left);
  memcpy(bytes + left, b, right);
  return 1;
}

/* ---- Unsigned integers, UIDs, null */

static uint64_t check_number(lua_State *L, int index, int kind) {
  return *(uint64_t *)luaL_checkudata(L, index, names[kind]);
}

/* kv.uint64(n) or kv.uint64 "18446744073709551615" */
static int new_uint64(lua_State *L) {
  uint64_t value = 0;
  if (lua_isinteger(L, 2)) {
    if (lua_tointeger(L, 2) < 0)
      return kvl_value_error(L, "expected 0 or more");
    kvl_push_uint64(L, (uint64_t)lua_tointeger(L, 2));
    return 1;
  }
  const char *text = kvl_check_word(L, 2);
  if (!*text) return kvl_value_error(L, "expected digits");
  for (; *text; text++) {
    uint64_t digit = (uint64_t)(unsigned char)*text - '0';
    if (digit > 9) return kvl_value_error(L, "expected digits");
    if (value > (UINT64_MAX - digit) / 10)
      return kvl_value_error(L, "expected at most 18446744073709551615");
    value = value * 10 + digit;
  }
  kvl_push_uint64(L, value);
  return 1;
}

static void push_digits(lua_State *L, uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  lua_pushstring(L, text);
}

static int uint64_tostring(lua_State *L) {
  push_digits(L, check_number(L, 1, KVL_UINT64));
  return 1;
}

static int number_eq(lua_State *L, int kind) {
  lua_pushboolean(L, kvl_are_alike(L, names[kind]) &&
                         check_number(L, 1, kind) == check_number(L, 2, kind));
  return 1;
}

static int uint64_eq(lua_State *L) { return number_eq(L, KVL_UINT64); }

static int uint64_lt(lua_State *L) {
  kvl_check_alike(L, names[KVL_UINT64]);
  lua_pushboolean(
      L, check_number(L, 1, KVL_UINT64) < check_number(L, 2, KVL_UINT64));
  return 1;
}

static int uint64_le(lua_State *L) {
  kvl_check_alike(L, names[KVL_UINT64]);
  lua_pushboolean(
      L, check_number(L, 1, KVL_UINT64) <= check_number(L, 2, KVL_UINT64));
  return 1;
}

/* value:number(): the nearest Lua float */
static int uint64_number(lua_State *L) {
  lua_pushnumber(L, (lua_Number)check_number(L, 1, KVL_UINT64));
  return 1;
}

/* kv.uid(n) */
static int new_uid(lua_State *L) {
  int is_integer;
  lua_Integer value = lua_tointegerx(L, 2, &is_integer);
  if (!is_integer || value < 0 || value > (lua_Integer)UINT32_MAX)
    return kvl_value_error(L, "expected 0 to 4294967295");
  kvl_push_uid(L, (uint32_t)value);
  return 1;
}

static int uid_tostring(lua_State *L) {
  lua_pushfstring(L, "uid %s", KVL_DIGITS(check_number(L, 1, KVL_UID)));
  return 1;
}

static int uid_value(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_number(L, 1, KVL_UID));
  return 1;
}

static int uid_eq(lua_State *L) { return number_eq(L, KVL_UID); }

static int null_tostring(lua_State *L) {
  lua_pushliteral(L, "null");
  return 1;
}

/* ---- Opening */

static const luaL_Reg data_methods[] = {
    {"bytes", data_bytes},     {"__tostring", data_tostring},
    {"__len", data_len},       {"__eq", data_eq},
    {"__lt", data_lt},         {"__le", data_le},
    {"__concat", data_concat}, {NULL, NULL}};

static const luaL_Reg uint64_methods[] = {
    {"number", uint64_number}, {"__tostring", uint64_tostring},
    {"__eq", uint64_eq},       {"__lt", uint64_lt},
    {"__le", uint64_le},       {NULL, NULL}};

static const luaL_Reg uid_methods[] = {{"value", uid_value},
                                       {"__tostring", uid_tostring},
                                       {"__eq", uid_eq},
                                       {NULL, NULL}};

static const luaL_Reg null_methods[] = {{"__tostring", null_tostring},
                                        {NULL, NULL}};

static const luaL_Reg *const methods[] = {
    kvl_date_methods, data_methods, uint64_methods, uid_methods, null_methods};

/* Makers of values, called through the types of the same names. */
static const luaL_Reg makers[] = {{"new_date", kvl_new_date},
                                  {"new_data", new_data},
                                  {"new_uint64", new_uint64},
                                  {"new_uid", new_uid},
                                  {NULL, NULL}};

/* The tag of decoded arrays, and of the tables that kv.array and kv.dictionary
 * return. */
static const void *open_tag(lua_State *L, const char *name, const char *field) {
  luaL_newmetatable(L, name);
  const void *tag = lua_topointer(L, -1);
  lua_setfield(L, -2, field); /* for the sugar, which removes it */
  return tag;
}

void kvl_open_values(lua_State *L, kvl_state *state) {
  for (int kind = KVL_DATE; kind <= KVL_NULL; kind++) {
    kvl_new_class(L, names[kind], methods[kind]);
    state->value_meta[kind] = lua_topointer(L, -1);
    lua_pop(L, 1);
  }
  luaL_setfuncs(L, makers, 0);
  new_value(L, KVL_NULL, 1);
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, "kvcodable.the_null");
  lua_setfield(L, -2, "null");
  state->array_tag = open_tag(L, "kvcodable.array", "array_tag");
  state->dictionary_tag = open_tag(L, "kvcodable.dictionary", "dictionary_tag");
  luaL_getmetatable(L, "kvcodable.array");
  state->array_ref = luaL_ref(L, LUA_REGISTRYINDEX);
}
