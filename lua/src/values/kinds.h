/* kinds.h: the kinds of values that Lua does not have, as userdata. */
#ifndef KVCODABLE_KINDS_H
#define KVCODABLE_KINDS_H

#include "../state.h"

enum {
  KVL_DATE,
  KVL_DATA,
  KVL_UINT64,
  KVL_UID,
  KVL_NULL,
  KVL_ABSENT,
#if !KVL_HAS_INTEGERS
  KVL_INT64,
  KVL_REAL,
#endif
  KVL_KINDS
};

/* The names of their metatables. */
#define KVL_DATE_NAME "kvcodable.date"
extern const char *const kvl_kind_names[KVL_KINDS];

/* The kind of the value, one of those above, or -1. */
int kvl_value_kind(lua_State *L, kvl_state *state, int index);

/* Whether both operands are userdata of the name; the second function raises
 * where they are not, as Lua does for values without an order. */
int kvl_are_alike(lua_State *L, const char *name);
void kvl_check_alike(lua_State *L, const char *name);

/* The value of a kind that has 64 bits: pushes one; gives that of the argument,
 * and raises where it is none; compares the arguments 1 and 2. */
void kvl_push_word(lua_State *L, int kind, uint64_t bits);
uint64_t kvl_check_bits(lua_State *L, int index, int kind);
int kvl_are_same(lua_State *L, int kind);

/* A text argument, which may be a number; one without NUL. Raise. */
const char *kvl_check_text(lua_State *L, int index, size_t *length);
const char *kvl_check_word(lua_State *L, int index);

/* Raises the problem, with the line where the script called kv.date or its
 * kin. */
int kvl_value_error(lua_State *L, const char *problem);

/* Pushes a value of the kind that has `size` bytes; data of `length` bytes.
 * Gives the bytes, for the caller to fill in. */
void *kvl_new_value(lua_State *L, int kind, size_t size);
char *kvl_new_data(lua_State *L, size_t length);

void kvl_push_date(lua_State *L, double seconds_since_2001);
void kvl_push_data(lua_State *L, const char *bytes, size_t length);

/* The bytes of the data at `index`, which is one. */
const char *kvl_data_at(lua_State *L, int index, size_t *length);
void kvl_push_uint64(lua_State *L, uint64_t value);
void kvl_push_uid(lua_State *L, uint32_t value);
void kvl_push_null(lua_State *L);

/* Whether an integer is a number in this Lua, and no userdata. */
static inline int kvl_is_number(int64_t value) {
#if KVL_HAS_INTEGERS
  (void)value;
  return 1;
#else
  return value >= -(int64_t)KVL_MOST_WHOLE && value <= (int64_t)KVL_MOST_WHOLE;
#endif
}

/* Pushes an integer: where it would not be a number that no other integer is
 * taken for, as kv.int64 makes it. */
static inline void kvl_push_integer(lua_State *L, int64_t value) {
#if KVL_HAS_INTEGERS
  lua_pushinteger(L, (lua_Integer)value);
#else
  if (kvl_is_number(value))
    lua_pushinteger(L, value);
  else
    kvl_push_word(L, KVL_INT64, (uint64_t)value);
#endif
}

/* ---- Numbers and dates */

/* kv.int64, kv.uint64, whose self is argument 1, and kv.real. */
int kvl_new_int64(lua_State *L);
int kvl_new_uint64(lua_State *L);
int kvl_new_real(lua_State *L);
extern const luaL_Reg kvl_uint64_methods[], kvl_int64_methods[];
extern const luaL_Reg kvl_real_methods[];

/* The bits of the value at `index`, where it is an integer of any kind: a whole
 * number, kv.int64, kv.uint64, an integer of LuaJIT's. Gives KV_NODE_INTEGER or
 * KV_NODE_UNSIGNED, or KV_NODE_NULL where it is none. */
int kvl_integer_kind(lua_State *L, int index, uint64_t *bits);

/* The bits of the value at `index`, where it is an int64_t or uint64_t of
 * LuaJIT: gives KV_NODE_INTEGER or KV_NODE_UNSIGNED, or KV_NODE_NULL where it is
 * no such value. */
int kvl_cdata_kind(lua_State *L, int index, uint64_t *bits);

/* Prepares telling them, where the FFI library is loaded. */
void kvl_open_cdata(lua_State *L);

/* The integer of an argument, also as kv.int64 makes it. Raises. */
int64_t kvl_check_integer(lua_State *L, int index);

/* kv.date(unix) or kv.date "2026-11-21T08:00:00Z"; self is argument 1 */
int kvl_new_date(lua_State *L);
extern const luaL_Reg kvl_date_methods[];

#endif
