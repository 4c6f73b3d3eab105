/* conversion.h: Lua values, documents and types, each made of the other. */
#ifndef KVCODABLE_CONVERSION_H
#define KVCODABLE_CONVERSION_H

#include "../classes.h"
#include "../errors.h"
#include "../options.h"
#include "kinds.h"
#include "nodes.h"

/* Each adds its functions to the table of the module, on top. */
void kvl_open_values(lua_State *L, kvl_state *state);
void kvl_open_types(lua_State *L);
void kvl_open_codec(lua_State *L);
void kvl_open_merging(lua_State *L);

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

/* Writes the Lua value at 1 in the same way; gives its size. One with more than
 * `kept` bytes of strings and data is not whole: it is to be refused. Raises
 * the error, whose path is renamed by the function at `renaming`, if one is
 * there (errors.h). */
kvl_size kvl_to_nodes_renamed(lua_State *L, kvl_state *state, int renaming,
                              size_t kept);

/* Frees the state's buffers that have become large, when the value in them is
 * stored or refused: the next may be small. */
void kvl_trim(kvl_state *state);

/* Gives the value that is written as a tree. Raises nothing. */
kv_status kvl_take_tree(kvl_state *state, kv_tree **tree, kv_error **error);

/* Gives the value that kvl_to_nodes() has written as a tree. NULL with the error
 * object on the stack. */
kv_tree *kvl_written_tree(lua_State *L, kvl_state *state, const kvl_path *path);

/* Gives a tree of the Lua value: the caller frees it before the next call that
 * can raise, or keeps it. NULL with the error object on the stack. */
kv_tree *kvl_try_tree(lua_State *L, kvl_state *state, int index,
                      const kvl_path *path);

/* Gives a tree of the Lua value, as kvl_try_tree() does; raises the error. */
kv_tree *kvl_to_tree(lua_State *L, kvl_state *state, int index,
                     const kvl_path *path);

/* The kind that the table at `index` is written as, "array" or "dictionary";
 * "table" for a type. Calls no metamethod. */
const char *kvl_table_kind(lua_State *L, const kvl_state *state, int index);

/* Settles what the whole numbers of the value that kvl_to_nodes() has written
 * are, where Lua has no integers, and its empty tables: by the value that get
 * gives at the path, by the type unless that is NULL. */
void kvl_settle(kvl_state *state, const kvl_handle *session,
                const kvl_path *path, const kv_type *type);

/* Whether the bytes of a property list are within the limits of decoding in
 * this state; else the error is on top. Other faults of the bytes are left to
 * the reader. */
int kvl_may_decode(lua_State *L, kvl_state *state, kv_str bytes,
                   const kv_decode_options *given);

/* Whether the text of a tree in the format is within this state's limits of
 * bytes: text is escaped and indented. Raises nothing. */
int kvl_may_write(const kvl_state *state, kv_format format,
                  const kv_tree *tree);

/* Pushes the Lua value of a tree. Takes the tree, also when it raises. */
void kvl_push_tree(lua_State *L, kvl_state *state, kv_tree *tree);

/* Pushes the Lua value of a view, which lasts until then. Raises. */
void kvl_push_borrowed(lua_State *L, kvl_state *state, const kv_view *view);

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

/* Pushes the type that is published for a store, and gives it; the pushed value
 * keeps it alive. */
kv_status kvl_push_published(lua_State *L, kv_str name, const kv_type **found,
                             kv_error **error);

/* Gives the type at `index`, as kvl_check_type() does, with names looked up in
 * the scope at `scope` before this Lua state's. */
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

/* Convert for functions that give nil and an error: 0 with that error on top
 * where a converter raised a text. Any other error is raised on. */
int kvl_try_decoded(lua_State *L, int type, int context);
int kvl_try_encoded(lua_State *L, int type, int context);

/* Has the converters of the schema's type at the path, the whole one below the
 * handle at `handle`, which converts, change a value that was read, on top. The
 * path's strings stay where they are. Raises. */
void kvl_decode_by_schema(lua_State *L, int handle, kvl_path *path);

/* Has the converters of the schema change the value on top by the path of the
 * argument at `index`, below a handle at 1: one that was read, or one that is to
 * be stored. */
void kvl_convert_by_schema(lua_State *L, int index, int is_decoding);

#endif
