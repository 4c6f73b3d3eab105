/* kinds.c: the kinds of values that Lua does not have, as userdata. */
#include <string.h>

#include "kinds.h"
#include "../errors.h"

const char *const kvl_kind_names[KVL_KINDS] = {
    [KVL_DATE] = KVL_DATE_NAME,        [KVL_DATA] = "kvcodable.data",
    [KVL_UINT64] = "kvcodable.uint64", [KVL_UID] = "kvcodable.uid",
    [KVL_NULL] = "kvcodable.null",     [KVL_ABSENT] = "kvcodable.absent",
#if !KVL_HAS_INTEGERS
    [KVL_INT64] = "kvcodable.int64",   [KVL_REAL] = "kvcodable.real",
#endif
};

int kvl_value_kind(lua_State *L, kvl_state *state, int index) {
  if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index))
    return -1;
  const void *meta = lua_topointer(L, -1);
  lua_pop(L, 1);
  for (int kind = 0; kind < KVL_KINDS; kind++)
    if (state->value_meta[kind] == meta) return kind;
  return -1;
}

void *kvl_new_value(lua_State *L, int kind, size_t size) {
  void *value = lua_newuserdatauv(L, size, 0);
  luaL_setmetatable(L, kvl_kind_names[kind]);
  return value;
}

void kvl_push_date(lua_State *L, double seconds_since_2001) {
  *(double *)kvl_new_value(L, KVL_DATE, sizeof(double)) = seconds_since_2001;
}

/* A word of 0 comes before the bytes, which scripts choose: the module knows
 * handles and types by their first word (handle.h). */
char *kvl_new_data(lua_State *L, size_t length) {
  void *value = kvl_new_value(L, KVL_DATA, sizeof(void *) + length);
  memset(value, 0, sizeof(void *));
  return (char *)value + sizeof(void *);
}

void kvl_push_data(lua_State *L, const char *bytes, size_t length) {
  char *value = kvl_new_data(L, length);
  if (length > 0) memcpy(value, bytes, length);
}

const char *kvl_data_at(lua_State *L, int index, size_t *length) {
  *length = lua_rawlen(L, index) - sizeof(void *);
  return (const char *)lua_touserdata(L, index) + sizeof(void *);
}

void kvl_push_word(lua_State *L, int kind, uint64_t bits) {
  *(uint64_t *)kvl_new_value(L, kind, sizeof(uint64_t)) = bits;
}

uint64_t kvl_check_bits(lua_State *L, int index, int kind) {
  return *(uint64_t *)luaL_checkudata(L, index, kvl_kind_names[kind]);
}

void kvl_push_uint64(lua_State *L, uint64_t value) {
  kvl_push_word(L, KVL_UINT64, value);
}

void kvl_push_uid(lua_State *L, uint32_t value) {
  kvl_push_word(L, KVL_UID, value);
}

void kvl_push_null(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, "kvcodable.the_null");
}

const char *kvl_check_text(lua_State *L, int index, size_t *length) {
  const char *text = lua_tolstring(L, index, length);
  if (!text) {
    const char *found = kvl_push_shown(L, index);
    kvl_value_error(
        L,
        lua_pushfstring(L, "expected a string or a number, found %s", found));
  }
  return text;
}

const char *kvl_check_word(lua_State *L, int index) {
  size_t length;
  const char *text = kvl_check_text(L, index, &length);
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

int kvl_are_same(lua_State *L, int kind) {
  return kvl_are_alike(L, kvl_kind_names[kind]) &&
         kvl_check_bits(L, 1, kind) == kvl_check_bits(L, 2, kind);
}
