/* values.c: data, uid and null; kv.type, and the tags of tables. */
#include <string.h>

#include "conversion.h"

/* ---- Data */

static const char *check_data(lua_State *L, int index, size_t *length) {
  luaL_checkudata(L, index, kvl_kind_names[KVL_DATA]);
  return kvl_data_at(L, index, length);
}

/* kv.data(bytes) */
static int new_data(lua_State *L) {
  size_t length;
  const char *bytes = kvl_check_text(L, 2, &length);
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
  lua_pushboolean(
      L, kvl_are_alike(L, kvl_kind_names[KVL_DATA]) && data_order(L) == 0);
  return 1;
}

static int data_lt(lua_State *L) {
  kvl_check_alike(L, kvl_kind_names[KVL_DATA]);
  lua_pushboolean(L, data_order(L) < 0);
  return 1;
}

static int data_le(lua_State *L) {
  kvl_check_alike(L, kvl_kind_names[KVL_DATA]);
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
  char *bytes = kvl_new_data(L, left + right);
  memcpy(bytes, a, left);
  memcpy(bytes + left, b, right);
  return 1;
}

/* ---- UIDs, null */

/* kv.uid(n) */
static int new_uid(lua_State *L) {
  uint64_t value = 0;
  if (kvl_integer_kind(L, 2, &value) == KV_NODE_NULL || value > UINT32_MAX)
    return kvl_value_error(L, "expected 0 to 4294967295");
  kvl_push_uid(L, (uint32_t)value);
  return 1;
}

static int uid_tostring(lua_State *L) {
  lua_pushfstring(L, "uid %s", KVL_DIGITS(kvl_check_bits(L, 1, KVL_UID)));
  return 1;
}

static int uid_value(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)kvl_check_bits(L, 1, KVL_UID));
  return 1;
}

static int uid_eq(lua_State *L) {
  lua_pushboolean(L, kvl_are_same(L, KVL_UID));
  return 1;
}

static int null_tostring(lua_State *L) {
  lua_pushliteral(L, "null");
  return 1;
}

static int absent_tostring(lua_State *L) {
  lua_pushliteral(L, "absent");
  return 1;
}

/* ---- Kinds */

static const char *cdata_name(lua_State *L) {
  uint64_t bits;
  int kind = kvl_cdata_kind(L, 1, &bits);
  if (kind == KV_NODE_INTEGER) return "int64";
  if (kind == KV_NODE_UNSIGNED) return "uint64";
  return luaL_typename(L, 1);
}

/* kv.type(value): the kind that the module takes a value for: a table is an array
 * or a dictionary; Lua's own name for a value without a kind here */
static int type_of(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  luaL_checkany(L, 1);
  lua_settop(L, 1);
  int kind = kvl_value_kind(L, state, 1);
  if (kind >= 0)
    lua_pushstring(L, strchr(kvl_kind_names[kind], '.') + 1);
  else if (lua_istable(L, 1))
    lua_pushstring(L, kvl_table_kind(L, state, 1));
  else if (lua_type(L, 1) > LUA_TTHREAD)
    lua_pushstring(L, cdata_name(L));
  else
    lua_pushstring(L, luaL_typename(L, 1));
  return 1;
}

/* ---- Opening */

static const luaL_Reg data_methods[] = {
    {"bytes", data_bytes},     {"__tostring", data_tostring},
    {"__len", data_len},       {"__eq", data_eq},
    {"__lt", data_lt},         {"__le", data_le},
    {"__concat", data_concat}, {NULL, NULL}};

static const luaL_Reg uid_methods[] = {{"value", uid_value},
                                       {"__tostring", uid_tostring},
                                       {"__eq", uid_eq},
                                       {NULL, NULL}};

static const luaL_Reg null_methods[] = {{"__tostring", null_tostring},
                                        {NULL, NULL}};

static const luaL_Reg absent_methods[] = {{"__tostring", absent_tostring},
                                          {NULL, NULL}};

static const luaL_Reg *const methods[KVL_KINDS] = {
    [KVL_DATE] = kvl_date_methods,     [KVL_DATA] = data_methods,
    [KVL_UINT64] = kvl_uint64_methods, [KVL_UID] = uid_methods,
    [KVL_NULL] = null_methods,         [KVL_ABSENT] = absent_methods,
#if !KVL_HAS_INTEGERS
    [KVL_INT64] = kvl_int64_methods,   [KVL_REAL] = kvl_real_methods,
#endif
};

/* Makers of values, called through the types of the same names, and kv.real. */
static const luaL_Reg makers[] = {{"new_date", kvl_new_date},
                                  {"new_data", new_data},
                                  {"new_uint64", kvl_new_uint64},
                                  {"new_int64", kvl_new_int64},
                                  {"new_uid", new_uid},
                                  {"real", kvl_new_real},
                                  {NULL, NULL}};

/* set_tag(table, tag): gives the table the tag instead of another one; a
 * metatable that other code protects stays */
static int set_tag(lua_State *L) {
  if (lua_getmetatable(L, 1)) {
    const kvl_state *state = kvl_state_of(L);
    const void *tag = lua_topointer(L, -1);
    int is_tag = tag == state->array_tag || tag == state->dictionary_tag;
    lua_getfield(L, -1, "__metatable");
    if (!is_tag && !lua_isnil(L, -1))
      return luaL_error(L, "cannot change a protected metatable");
    lua_settop(L, 2);
  }
  lua_setmetatable(L, 1);
  return 1;
}

/* The tag of decoded arrays, and of the tables that kv.array and kv.dictionary
 * return. Scripts do not get hold of it: a finalizer in it would run for every
 * array. */
static const void *open_tag(lua_State *L, const char *name, const char *field) {
  luaL_newmetatable(L, name);
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  const void *tag = lua_topointer(L, -1);
  lua_setfield(L, -2, field); /* for the sugar, which removes it */
  return tag;
}

void kvl_open_values(lua_State *L, kvl_state *state) {
  static const luaL_Reg functions[] = {
      {"type", type_of}, {"set_tag", set_tag}, {NULL, NULL}};
  kvl_set_functions(L, functions);
  kvl_open_cdata(L);
  for (int kind = 0; kind < KVL_KINDS; kind++) {
    kvl_new_class(L, kvl_kind_names[kind], methods[kind]);
    state->value_meta[kind] = lua_topointer(L, -1);
    lua_pop(L, 1);
  }
  luaL_setfuncs(L, makers, 0);
  kvl_new_value(L, KVL_NULL, 1);
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, "kvcodable.the_null");
  lua_setfield(L, -2, "null");
  kvl_new_value(L, KVL_ABSENT, 1);
  lua_setfield(L, -2, "absent");
  state->array_tag = open_tag(L, "kvcodable.array", "array_tag");
  state->dictionary_tag = open_tag(L, "kvcodable.dictionary", "dictionary_tag");
  luaL_getmetatable(L, "kvcodable.array");
  state->array_ref = luaL_ref(L, LUA_REGISTRYINDEX);
}
