/*
 * module.h: what the files of the Lua module share.
 *
 *   module.c   opens the module
 *   host.c     what programs that embed Lua call
 *   walk.c     Lua value -> document
 *   build.c    document -> Lua value
 *   values.c   data, uint64, uid, null; tags of arrays and dictionaries
 *   date.c     dates
 *   errors.c   the error object
 *   types.c    type arguments
 *   options.c  tables of options, and methods that there are not
 *   codec.c    decode, encode, read, write
 *   path.c     the paths that scripts give and get
 *   session.c  the life of handles (session.h)
 *   store.c    the methods of stores and transactions
 *   transaction.c  transactions and updates
 *   migrate.c  versions of what is stored
 *   open.c     opening stores
 *   whole.c    layers, converting getters, whole stores
 *   notes.c    what watches have to tell, noted in C memory (notes.h)
 *   watch.c    watches, kv.pump and kv.fd
 *
 * and in Lua, embedded as chunks.h: one file that runs at each `require`, and
 * those that run, in this order, when a script first needs one of them:
 *
 *   sugar.lua         built-in types, tags, loops over stores
 *   types.lua         what a type is, its methods, names of types
 *   words.lua         what is wrong in a type, in its author's words
 *   converters.lua    converters of what is in a type
 *   declarations.lua  types made of types
 *   compiling.lua     expressions, and what the library makes of types
 *
 * Two rules keep a Lua error, which is a longjmp, from losing anything: no Lua
 * error is raised while Swift is on the stack, and whatever the library gave is
 * owned by a userdata before the next call that can raise.
 */
#ifndef KVCODABLE_MODULE_H
#define KVCODABLE_MODULE_H

#include <lauxlib.h>
#include <lua.h>
#include <stddef.h>

#include "kvcodable.h"
#include "kvcodable_lua.h"
#include "kvcodable_nodes.h"

/* What a value may grow to where the host does not say: under a policy, and
 * without one. */
#define KVL_SCRIPT_NODES ((size_t)1 << 20)
#define KVL_SCRIPT_BYTES ((size_t)64 << 20)
#define KVL_NODES ((size_t)1 << 24)
#define KVL_BYTES ((size_t)256 << 20)

/* ---- State: one for each Lua state, upvalue 1 of every function */

typedef struct kvl_buffer {
  void *data;
  size_t count;
  size_t capacity;
} kvl_buffer;

typedef void (*kvl_free)(void *object);

typedef struct kvl_state {
  kvl_buffer nodes; /* the document being written: kv_node */
  kvl_buffer keys;  /* its keys that wait for their dictionary's end: kv_node */
  kvl_buffer bytes; /* its strings and data: char */
  kvl_buffer steps; /* where the last walk failed: kv_step */
  kvl_buffer kept;  /* what the library gave and Lua has not taken: kvl_kept */
  /* The metatables, as luaL_ref made them. Comparing pointers is the fastest
   * way to tell what a table or userdata is. */
  const void *array_tag;
  const void *dictionary_tag;
  int array_ref;
  const void *value_meta[5];
  const void *type_meta; /* of what types compile to */
  const void *type_tag;  /* of types */
  kv_registry *registry;
  uint32_t policy;  /* what the host forbids: KV_LUA_... */
  size_t max_nodes; /* of a value that is written or decoded */
  size_t max_bytes; /* of its strings, keys and data */
  int is_bounded;   /* decoding, too: a policy or the host's own limits hold */
  size_t levels;    /* of the last value written: of its nodes, added up */
  int epoll;        /* what kv.fd() gave; 0 for none */
  int is_over;      /* the Lua state is being closed */
} kvl_state;

/* The state of the function that runs. Raises in a finalizer that outlives
 * it. */
kvl_state *kvl_state_of(lua_State *L);

/* The state, or NULL where the module is not open. Raises nothing. */
kvl_state *kvl_find_state(lua_State *L);

/* Whether the module is open, by whichever copy of this library. May raise for
 * lack of memory. */
int kvl_is_open(lua_State *L);

/* Pushes the module's table; the options count where it is opened first. */
void kvl_open_module(lua_State *L, const kv_lua_options *options);

#define KVL_POLICIES (KV_LUA_NO_STORES | KV_LUA_NO_FILES | KV_LUA_READ_ONLY)

/* Whether the host forbids one of these: then nil and the error are on top. */
int kvl_is_forbidden(lua_State *L, const kvl_state *state, uint32_t policy);

/* ---- Values */

enum { KVL_DATE, KVL_DATA, KVL_UINT64, KVL_UID, KVL_NULL };

void kvl_open_values(lua_State *L, kvl_state *state);

/* Which of the kinds above the value is, or -1. */
int kvl_value_kind(lua_State *L, kvl_state *state, int index);

#define KVL_DATE_NAME "kvcodable.date"
extern const luaL_Reg kvl_date_methods[];

/* kv.date(unix) or kv.date "2026-11-21T08:00:00Z"; self is argument 1 */
int kvl_new_date(lua_State *L);

/* Whether both operands are userdata of the name; the other one raises, as Lua
 * does for what has no order, where they are not. */
int kvl_are_alike(lua_State *L, const char *name);
void kvl_check_alike(lua_State *L, const char *name);

/* A text argument without NUL. Raises. */
const char *kvl_check_word(lua_State *L, int index);

/* Raises, where the script called kv.date and its kin, what was wrong. */
int kvl_value_error(lua_State *L, const char *problem);

void kvl_push_date(lua_State *L, double seconds_since_2001);
void kvl_push_data(lua_State *L, const char *bytes, size_t length);

/* The bytes of the data at `index`, which is one. */
const char *kvl_data_at(lua_State *L, int index, size_t *length);
void kvl_push_uint64(lua_State *L, uint64_t value);
void kvl_push_uid(lua_State *L, uint32_t value);
void kvl_push_null(lua_State *L);

/* ---- Walking and building */

/* Walking and building take up to 4 places of the stack for each level of
 * tables and 4 besides. Lua gives a C function 20 without being asked, of which
 * its own work takes up to 8: the first levels need not ask. */
enum { KVL_FREE_LEVELS = 2, KVL_PLACES = 8 };

/* The most steps that a path can have: as many as a tree is deep. */
#define KVL_STEPS KV_DEPTH

typedef struct kvl_path {
  size_t count;
  size_t root; /* how many steps are the handle's own */
  kv_step steps[KVL_STEPS];
} kvl_path;

/* Writes the Lua value into the state's buffers. Pushes nothing and gives 1, or
 * pushes an error object and gives 0: the place in it begins with the one that
 * the value is meant for, where that is not NULL. Calls no metamethod and raises
 * nothing but that error's own lack of memory. */
int kvl_walk(lua_State *L, kvl_state *state, int index, const kvl_path *place);

/* Gives a tree of the Lua value: the caller frees it before the next call that
 * can raise, or keeps it. NULL with the error object on the stack. */
kv_tree *kvl_try_tree(lua_State *L, kvl_state *state, int index,
                      const kvl_path *place);

/* The same, but that it raises the error. */
kv_tree *kvl_walk_tree(lua_State *L, kvl_state *state, int index,
                       const kvl_path *place);

/* Pushes the Lua value of a tree. Takes the tree, also when it raises. */
void kvl_build(lua_State *L, kvl_state *state, kv_tree *tree);

/* Pushes the Lua value of what a view shows. Takes the view's owner, also when
 * it raises. */
void kvl_build_view(lua_State *L, kvl_state *state, const kv_view *view,
                    void *owner, kvl_free free_owner);

/* ---- Keeping: the state owns what a Lua error would otherwise lose */

typedef struct kvl_kept {
  void *object;
  kvl_free free_object;
} kvl_kept;

/* Lets the state own the object until kvl_drop() frees it; where an error came
 * in between, until the next is kept. Takes the object, also when it raises. */
size_t kvl_keep(lua_State *L, kvl_state *state, void *object,
                kvl_free free_object);

/* The same while something else is kept. */
size_t kvl_keep_more(lua_State *L, kvl_state *state, void *object,
                     kvl_free free_object);
void kvl_drop(kvl_state *state, size_t slot);
void kvl_free_tree(void *tree); /* a kvl_free */
size_t kvl_keep_tree(lua_State *L, kvl_state *state, kv_tree *tree);

/* Notes the userdata on top, which frees what it has of the library in its
 * finalizer. While a Lua state is being closed, Lua runs no finalizer of what is
 * made then: that of the module's state, which is the last, does. May raise for
 * lack of memory. */
void kvl_hold(lua_State *L);

/* Makes room for `extra` elements of `size` bytes; 0 when there is no
 * memory. */
int kvl_grow(kvl_buffer *buffer, size_t extra, size_t size);

/* ---- Errors */

/* Pushes the error object of a kv_error. Takes it. It names no file where the
 * function that runs is a method of a handle that a host pushed. */
void kvl_push_error(lua_State *L, kvl_state *state, kv_status status,
                    kv_error *error);

/* The same for the handle at `handle`, if one is there. */
void kvl_push_error_of(lua_State *L, kvl_state *state, int handle,
                       kv_status status, kv_error *error);

/* Pushes the error object of a failure in the module itself: what was expected,
 * where, and what was found there or NULL. */
void kvl_push_failure(lua_State *L, kv_status status, const kv_step *steps,
                      size_t count, const char *expected, const char *found);

/* The same of what failed, where, and a message about it. */
void kvl_push_complaint(lua_State *L, kv_status status, const kv_step *steps,
                        size_t count, const char *what, const char *why);

/* Raises the error object of a kv_error. Takes it. */
int kvl_raise(lua_State *L, kvl_state *state, kv_status status,
              kv_error *error);

/* Leaves nil and the error object on top, as io.open does. */
int kvl_return_failure(lua_State *L);

/* The same for a kv_error. Takes it. */
int kvl_return_error(lua_State *L, kvl_state *state, kv_status status,
                     kv_error *error);

/* Whether an error object of this module is at `index`, and its status. Raise
 * nothing but a lack of memory. */
int kvl_is_error(lua_State *L, int index);
kv_status kvl_error_status(lua_State *L, int index);

void kvl_open_errors(lua_State *L);

/* ---- Arguments */

/* Adds the steps of the value at `index`: a string, or a table of strings and
 * of indexes from 1. Borrows from the Lua values. Raises. */
void kvl_add_path(lua_State *L, int index, kvl_path *path);

/* The whole path of the argument at `index`, below the handle at 1. Raises. */
void kvl_full_path(lua_State *L, int index, kvl_path *path);

/* Pushes a key, or an index from 1; a table of them. */
void kvl_push_step(lua_State *L, const kv_step *step);
void kvl_push_steps(lua_State *L, const kv_step *steps, size_t count);

/* ---- Types */

/* The type at `index`: NULL for nil or none; a type of the module, or an
 * expression, which is replaced by its type. Borrows; lasts as long as the Lua
 * value at `index`. Sets `converts`, unless it is NULL or there is no type, to
 * whether a converter is in it. Raises. */
const kv_type *kvl_check_type(lua_State *L, kvl_state *state, int index,
                              int *converts);

/* The same, in which names mean what the scope at `scope` says before they mean
 * what they do in this Lua state. */
const kv_type *kvl_check_type_in(lua_State *L, kvl_state *state, int index,
                                 int scope, int *converts);

/* Pushes a scope: what the names in the table at `names` mean. Raises. */
void kvl_push_scope(lua_State *L, int names);

/* Replaces the value on top, as it is stored, by what the converters of the
 * type at `type`, which has some, make of it; and the other way. Raises what
 * they raise; a text becomes an error with its place, which is below the path
 * of the argument at `place`, unless that is 0. `context` is where the context
 * stands. */
void kvl_convert_decoded(lua_State *L, int type, int context, int place);
void kvl_convert_encoded(lua_State *L, int type, int context, int place);

/* The same for what gives nil and an error: 0 with that error on top where a
 * converter raised a text. What else it raises goes on. */
int kvl_try_decoded(lua_State *L, int type, int context);
int kvl_try_encoded(lua_State *L, int type, int context);

/* Pushes the bytes as a string. Takes them, also when it raises. */
void kvl_push_bytes(lua_State *L, kvl_state *state, kv_bytes *bytes);

/* ---- Stores */

/* Pushes a store's handle; gives where the store goes. */
kv_store **kvl_new_store(lua_State *L);

/* Takes what is on top as the context for the converters of a handle; as the
 * scope of its types' names. */
void kvl_set_context(lua_State *L, int handle);
void kvl_set_scope(lua_State *L, int handle);

/* The open store of the handle at 1, which is no transaction. Raises. Lasts until
 * something of Lua's is called or allocated: a metamethod or a finalizer may close
 * the store. So a function that does either checks first, and takes it last. */
kv_store *kvl_check_store(lua_State *L);

/* The same of a handle that is no part. Raises. */
kv_store *kvl_check_whole(lua_State *L);

/* The store of the handle at `index`; NULL where it is closed. */
kv_store *kvl_store_at(lua_State *L, int index);

/* Raises where options, which may be nil or none, are no table, or have a name
 * that is not among `names`, which end with NULL. */
void kvl_check_options(lua_State *L, int index, const char *const *names);

/* The same of the options of a typed set. */
void kvl_check_set_options(lua_State *L, int index);

/* Which of `words`, which end with NULL, an option is, of those that
 * kvl_check_options() has looked at: the first where it or all options are
 * absent. Raises. */
int kvl_check_word_option(lua_State *L, int options, const char *name,
                          const char *const *words);

/* Pushes the option, which is nil or of the type; whether it is there.
 * Raises. */
int kvl_get_option(lua_State *L, int options, const char *name, int type);

/* The format that options name; the options may be nil or none. Raises. */
kv_format kvl_check_format(lua_State *L, int options);

/* Forgets the watches of stores that are closed. */
void kvl_end_watches(lua_State *L);

/* Calls the functions of watches; gives how many calls that were. Raises the
 * first error of theirs, when all were called. */
lua_Integer kvl_pump(lua_State *L, kvl_state *state);

/* ---- Parts of the module: each adds its functions to the table on top */

void kvl_open_types(lua_State *L);
void kvl_open_codec(lua_State *L);
void kvl_open_store(lua_State *L);
void kvl_open_opening(lua_State *L);
void kvl_open_whole(lua_State *L);
void kvl_open_watch(lua_State *L);

/* Pushes a function that has the state as upvalue 1. */
void kvl_push_function(lua_State *L, lua_CFunction function);

/* Adds functions that have the state as upvalue 1. */
void kvl_set_functions(lua_State *L, const luaL_Reg *functions);

/* Pushes the metatable of a new kind of userdata, which scripts cannot reach:
 * neither its metamethods nor the table of its methods. */
void kvl_new_class(lua_State *L, const char *name, const luaL_Reg *functions);

/* Makes a method that the class whose metatable is on top does not have an
 * error, which names `what` has none and the one that was most likely meant. */
void kvl_name_methods(lua_State *L, const char *what);

/* Adds methods, and metamethods, to the class whose metatable is on top. */
void kvl_add_methods(lua_State *L, const luaL_Reg *functions);

#endif
