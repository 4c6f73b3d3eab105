/* conversion.h: Lua values, documents and types, each made of the other. */
#ifndef KVCODABLE_CONVERSION_H
#define KVCODABLE_CONVERSION_H

#include "../classes.h"
#include "../errors.h"
#include "../options.h"

/* Each adds its functions to the table of the module, on top. */
void kvl_open_values(lua_State *L, kvl_state *state);
void kvl_open_types(lua_State *L);
void kvl_open_codec(lua_State *L);

/* ---- Values */

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
extern const char *const kvl_kind_names[KVL_KINDS];

/* The kind of the value, one of those above, or -1. */
int kvl_value_kind(lua_State *L, kvl_state *state, int index);

#define KVL_DATE_NAME "kvcodable.date"
extern const luaL_Reg kvl_date_methods[];

/* kv.date(unix) or kv.date "2026-11-21T08:00:00Z"; self is argument 1 */
int kvl_new_date(lua_State *L);

/* Whether both operands are userdata of the name; the second function raises
 * where they are not, as Lua does for values without an order. */
int kvl_are_alike(lua_State *L, const char *name);
void kvl_check_alike(lua_State *L, const char *name);

/* The value of a kind that has 64 bits: pushes one; gives that of the argument,
 * and raises where it is none; compares the arguments 1 and 2. */
void kvl_push_word(lua_State *L, int kind, uint64_t bits);
uint64_t kvl_check_bits(lua_State *L, int index, int kind);
int kvl_are_same(lua_State *L, int kind);

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

/* The integer of an argument, also as kv.int64 makes it. Raises. */
int64_t kvl_check_integer(lua_State *L, int index);

/* A text argument, which may be a number; one without NUL. Raise. */
const char *kvl_check_text(lua_State *L, int index, size_t *length);
const char *kvl_check_word(lua_State *L, int index);

/* Raises the problem, with the line where the script called kv.date or its
 * kin. */
int kvl_value_error(lua_State *L, const char *problem);

/* Pushes a value of the kind that has `size` bytes; data of `length` bytes. Gives
 * the bytes, for the caller to fill in. */
void *kvl_new_value(lua_State *L, int kind, size_t size);
char *kvl_new_data(lua_State *L, size_t length);

void kvl_push_date(lua_State *L, double seconds_since_2001);
void kvl_push_data(lua_State *L, const char *bytes, size_t length);

/* The bytes of the data at `index`, which is one. */
const char *kvl_data_at(lua_State *L, int index, size_t *length);
void kvl_push_uint64(lua_State *L, uint64_t value);
void kvl_push_uid(lua_State *L, uint32_t value);
void kvl_push_null(lua_State *L);

/* ---- Paths */

/* Adds the steps of the value at `index`: a string, or a table of strings and
 * of indexes from 1. Borrows from the Lua values. Raises, also where the keys
 * are too long together: the table may hold one long string many times. */
void kvl_add_path(lua_State *L, int index, kvl_path *path);

/* The whole path of the argument at `index`, below the handle at 1. Raises. */
void kvl_full_path(lua_State *L, int index, kvl_path *path);

/* The whole path of the argument at `index`, below a handle at 1. Raises. */
void kvl_path_below(lua_State *L, const kvl_handle *handle, int index,
                    kvl_path *path);

/* ---- Documents */

/* Both ways take up to 4 slots of the stack for each level of tables and 4
 * besides. Lua gives a C function 20 without being asked, of which the
 * function's own work takes up to 8: the first levels need not ask. */
enum { KVL_FREE_LEVELS = 2, KVL_SLOTS = 8 };

/* Writes the Lua value into the state's buffers. Pushes nothing and gives 1, or
 * pushes an error object and gives 0: the path in it begins with `path`, at
 * which the value is to be set, where that is not NULL. Calls no metamethod and
 * raises nothing but that error's own lack of memory. */
int kvl_to_nodes(lua_State *L, kvl_state *state, int index,
                 const kvl_path *path);

/* Settles what the whole numbers of the value that kvl_to_nodes() has written
 * are, where Lua has no integers: by the value that get gives at the path, by
 * the type unless that is NULL. */
#if KVL_HAS_INTEGERS
static inline void kvl_settle(kvl_state *state, const kvl_handle *session,
                              const kvl_path *path, const kv_type *type) {
  (void)state, (void)session, (void)path, (void)type;
}
#else
void kvl_settle(kvl_state *state, const kvl_handle *session,
                const kvl_path *path, const kv_type *type);
#endif

/* The kind that the table at `index` is written as, "array" or "dictionary";
 * "table" for a type. Calls no metamethod. */
const char *kvl_table_kind(lua_State *L, const kvl_state *state, int index);

/* The same as a tree, of what kvl_to_nodes() has written. NULL with the error
 * object on the stack. */
kv_tree *kvl_written_tree(lua_State *L, kvl_state *state, const kvl_path *path);

/* Gives a tree of the Lua value: the caller frees it before the next call that
 * can raise, or keeps it. NULL with the error object on the stack. */
kv_tree *kvl_try_tree(lua_State *L, kvl_state *state, int index,
                      const kvl_path *path);

/* The same, but raises the error. */
kv_tree *kvl_to_tree(lua_State *L, kvl_state *state, int index,
                     const kvl_path *path);

/* Whether the bytes of a property list are within the limits of decoding in
 * this state; else the error is on top. Other faults of the bytes are left to
 * the reader. */
int kvl_may_decode(lua_State *L, kvl_state *state, kv_str bytes,
                   const kv_decode_options *given);

/* Whether a value may be written in the format within this state's limits: text
 * is escaped and indented. Else the error is on top. */
int kvl_may_write(lua_State *L, const kvl_state *state, kv_format format,
                  const kv_view *view);

/* The most bytes of a value's text, keys, data and indentation in a file of the
 * format, which is not binary. */
size_t kvl_text_size(const kv_view *view, kv_format format);

/* Adds the size of the value at the node. */
void kvl_add_size(kvl_size *size, const kv_node *node);

/* How many nodes a value takes, with all that is in it. */
static inline size_t kvl_span(const kv_node *node) {
  return node->head >= KV_NODE_ARRAY ? (size_t)node->payload : 1;
}

/* The order of two keys, strings or data, as memcmp gives it. */
int kvl_compare_keys(const kv_view *one, const kv_node *key,
                     const kv_view *other, const kv_node *other_key);

/* Whether two values are equal, as kv_tree_equal. */
int kvl_are_equal(const kv_view *one, const kv_view *other);

/* Pushes the Lua value of a tree. Takes the tree, also when it raises. */
void kvl_push_tree(lua_State *L, kvl_state *state, kv_tree *tree);

/* Pushes the Lua value of a view. Takes the view's owner, also when it
 * raises. */
void kvl_push_view(lua_State *L, kvl_state *state, const kv_view *view,
                   void *owner, kvl_free free_owner);

/* ---- Types */

/* The type at `index`: NULL for nil or none; a type of the module, or an
 * expression, which is replaced by its type. Borrows; lasts as long as the Lua
 * value at `index`. Sets `converts`, unless it is NULL or there is no type, to
 * whether a converter is in it. Raises. */
const kv_type *kvl_check_type(lua_State *L, kvl_state *state, int index,
                              int *converts);

/* Pushes the type that is published for a store, and gives it; what is pushed
 * keeps it alive. */
kv_status kvl_push_published(lua_State *L, kv_str name, const kv_type **found,
                             kv_error **error);

/* The same, with names looked up in the scope at `scope` before this Lua
 * state's. */
const kv_type *kvl_check_type_in(lua_State *L, kvl_state *state, int index,
                                 int scope, int *converts);

/* The type at `index`, in the scope of the handle at 1; see kvl_check_type. */
const kv_type *kvl_check_own_type(lua_State *L, kvl_state *state, int index,
                                  int *converts);

/* Pushes a scope: the meanings of the names in the table at `names`. Raises. */
void kvl_push_scope(lua_State *L, int names);

/* Replaces the value on top, as it is stored, by the one that the converters of
 * the type at `type`, which has some, make of it; and the other way. Raises the
 * converters' errors; a text becomes an error with its path, which is below the
 * path of the argument at `path_index`, unless that is 0. `context` is the
 * stack index of the context. */
void kvl_convert_decoded(lua_State *L, int type, int context, int path_index);
void kvl_convert_encoded(lua_State *L, int type, int context, int path_index);

/* The same for functions that give nil and an error: 0 with that error on top
 * where a converter raised a text. Any other error is raised on. */
int kvl_try_decoded(lua_State *L, int type, int context);
int kvl_try_encoded(lua_State *L, int type, int context);

/* Has the converters of the schema's type at the path, the whole one below the
 * handle at `handle`, which converts, change a value that was read, on top. The
 * path's strings stay where they are. Raises. */
void kvl_decode_by_schema(lua_State *L, int handle, kvl_path *path);

/* The same by the path of the argument at `index`, below a handle at 1; also of
 * a value that is to be stored. */
void kvl_convert_by_schema(lua_State *L, int index, int is_decoding);

#endif
