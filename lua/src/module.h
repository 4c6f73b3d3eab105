/*
 * module.h: the state that all files of the Lua module share, and the objects
 * that it keeps.
 *
 *   module.c           opens the module; keeps the library's objects (module.h)
 *   compat.h           the versions of Lua
 *   host.c             the functions of programs that embed Lua
 *   errors.c           the error object (errors.h)
 *   options.c          tables of options, and unknown methods (arguments.h)
 *   handle.c           the life of handles (handle.h)
 *
 *   values/            between Lua and documents (conversion.h)
 *     to_document.c    Lua value -> document
 *     from_document.c  document -> Lua value
 *     nodes.c          sizes of values in documents, and their comparison
 *     values.c         data, uid, null; tags of arrays and dictionaries
 *     numbers.c        int64, uint64, real, and the numbers of LuaJIT
 *     wholes.c         what a number is where Lua has no integers
 *     date.c           dates
 *     types.c          type arguments, converters
 *     codec.c          decode, encode, read, write
 *     path.c           the paths that scripts give and get (arguments.h)
 *
 *   stores/            stores, and what is told of their changes
 *     open.c           opening stores
 *     store.c          the methods of stores and transactions
 *     transaction.c    transactions and updates
 *     migrate.c        versions of stores, and their migrations
 *     bulk.c           layers, converting getters, whole stores
 *     watch.c          watches, kv.pump and kv.fd
 *     watch_queue.c    notes of the watches, until kv.pump (watch_queue.h)
 *     watch_source.c   what the watches of one place share (watch_queue.h)
 *
 * and in Lua, embedded as chunks.h: one file that runs at each `require`, and
 * those that run, in this order, when a script first needs one of them:
 *
 *   sugar.lua         built-in types, tags, loops over stores
 *   types.lua         the table of a type, its methods, names of types
 *   words.lua         errors in a type, in its author's words
 *   converters.lua    converters of the parts of a type
 *   declarations.lua  types made of types
 *   compiling.lua     expressions, and the library's form of types
 *
 * Two rules keep a Lua error, which is a longjmp, from losing anything: no Lua
 * error is raised while Swift is on the stack, and every object of the library
 * is owned by a userdata before the next call that can raise.
 */
#ifndef KVCODABLE_MODULE_H
#define KVCODABLE_MODULE_H

#include <stddef.h>
#include <sys/types.h>

#include "compat.h"
#include "kvcodable.h"
#include "kvcodable_lua.h"
#include "kvcodable_nodes.h"

/* Limits of a value where the host gives none: under a policy, and without
 * one. */
#define KVL_SCRIPT_NODES ((size_t)1 << 19)
#define KVL_SCRIPT_BYTES ((size_t)64 << 20)
#define KVL_SCRIPT_WATCHES ((size_t)64)
#define KVL_NODES ((size_t)1 << 24)
#define KVL_BYTES ((size_t)256 << 20)

/* ---- State: one for each Lua state, upvalue 1 of every function */

typedef struct kvl_buffer {
  void *data;
  size_t count;
  size_t capacity;
} kvl_buffer;

/* A number of nodes, and of bytes of strings, keys and data. */
typedef struct kvl_size {
  size_t nodes;
  size_t bytes;
} kvl_size;

typedef void (*kvl_free)(void *object);

typedef struct kvl_state {
  kvl_buffer nodes;  /* the document being written: kv_node */
  kvl_buffer wholes; /* the nodes that may be reals as well: size_t */
  uint64_t walks;    /* the number of values that were written to them */
  kvl_buffer keys;  /* its keys that wait for their dictionary's end: kv_node */
  kvl_buffer bytes; /* its strings and data: char */
  kvl_buffer steps; /* path of the last refused value: kv_step */
  kvl_buffer kept;  /* objects that Lua has not taken yet: kvl_kept */
  /* The metatables, as luaL_ref made them. Comparing pointers is the fastest
   * way to tell the kind of a table or userdata. */
  const void *array_tag;
  const void *dictionary_tag;
  int array_ref;
  const void *value_meta[8];
  const void *type_meta; /* of the compiled forms of types */
  const void *type_tag;  /* of types */
  kv_registry *registry;
  kvl_size types;     /* of the descriptions of types that are alive */
  kvl_size described; /* since garbage was collected for them */
  uint32_t policy;    /* the host's policy: KV_LUA_... */
  size_t max_nodes;   /* of a value that is written or decoded */
  size_t max_bytes;   /* of its strings, keys and data */
  int is_bounded; /* decoding, too: a policy or the host's own limits hold */
  size_t max_watches;
  uint64_t quota;     /* of a store's bytes, or a part's; 0 for none */
  size_t watches;     /* those that are open */
  size_t noted;       /* the notes of watches that wait, and count */
  size_t noted_nodes; /* in these */
  size_t noted_bytes;
  struct kvl_source *sources; /* of the watches (watch_queue.h) */
  size_t told_nodes;          /* of the values told in this kv.pump() */
  size_t told_bytes;
  int is_pumping;
  int epoll;     /* the descriptor of kv.fd(); 0 for none */
  int rest;      /* in it: an eventfd, readable while notes wait */
  pid_t process; /* that made them */
  int is_over;   /* the Lua state is being closed */
} kvl_state;

/* The state of the running function. Raises in a finalizer that outlives it. */
kvl_state *kvl_state_of(lua_State *L);

/* The state, or NULL where the module is not open. Raises nothing. */
kvl_state *kvl_find_state(lua_State *L);

/* Whether the module is open, by any copy of this library. May raise for lack
 * of memory. */
int kvl_is_open(lua_State *L);

/* Pushes the module's table; the options count where this opens it. */
void kvl_open_module(lua_State *L, const kv_lua_options *options);

#define KVL_POLICIES \
  (KV_LUA_NO_STORES | KV_LUA_NO_FILES | KV_LUA_READ_ONLY | KV_LUA_NO_SERVERS)

/* Whether the host forbids one of these: then nil and the error are on top. */
int kvl_is_forbidden(lua_State *L, const kvl_state *state, uint32_t policy);

/* ---- Keeping: the state owns objects that a Lua error would lose */

typedef struct kvl_kept {
  void *object;
  kvl_free free_object;
  uintptr_t frame; /* where the stack of C was when the object was kept */
} kvl_kept;

/* Lets the state own the object until kvl_drop() frees it; where an error came
 * in between, until the next object is kept. Takes the object, also when it
 * raises. */
size_t kvl_keep(lua_State *L, kvl_state *state, void *object,
                kvl_free free_object);

/* The same while another object is kept. */
size_t kvl_keep_more(lua_State *L, kvl_state *state, void *object,
                     kvl_free free_object);
void kvl_drop(kvl_state *state, size_t slot);
void kvl_free_tree(void *tree); /* a kvl_free */
size_t kvl_keep_tree(lua_State *L, kvl_state *state, kv_tree *tree);

/* Notes the userdata on top, which frees its object of the library in its
 * finalizer. While a Lua state is being closed, Lua runs no finalizer of a
 * userdata made then: that of the module's state, which is the last, runs
 * those. May raise for lack of memory. */
void kvl_hold(lua_State *L);

/* Makes room for `extra` elements of `size` bytes; 0 when there is no
 * memory. */
int kvl_grow(kvl_buffer *buffer, size_t extra, size_t size);

/* ---- Parts of the module: each adds its functions to the table on top */

void kvl_open_errors(lua_State *L);
void kvl_open_values(lua_State *L, kvl_state *state);
void kvl_open_types(lua_State *L);
void kvl_open_codec(lua_State *L);
void kvl_open_store(lua_State *L);
void kvl_open_opening(lua_State *L);
void kvl_open_bulk(lua_State *L);
void kvl_open_watch(lua_State *L);
void kvl_open_watch_queue(lua_State *L);

/* Forgets the watches of stores that are closed. */
void kvl_end_watches(lua_State *L);

/* Calls the functions of watches; gives the number of calls. Raises their first
 * error, when all were called. */
lua_Integer kvl_pump(lua_State *L, kvl_state *state);

/* Pushes a function that has the state as upvalue 1. */
void kvl_push_function(lua_State *L, lua_CFunction function);

/* Adds functions that have the state as upvalue 1. */
void kvl_set_functions(lua_State *L, const luaL_Reg *functions);

/* Pushes the metatable of a new kind of userdata, which scripts cannot reach:
 * neither its metamethods nor the table of its methods. */
void kvl_new_class(lua_State *L, const char *name, const luaL_Reg *functions);

/* Makes an unknown method of the class whose metatable is on top an error. It
 * says that `what` has no such method, and names the one that was most likely
 * meant. */
void kvl_name_methods(lua_State *L, const char *what);

/* Raises the error of the name at 2 that is no method in the table at 1. */
int kvl_refuse_method(lua_State *L, const char *what);

/* Adds methods, and metamethods, to the class whose metatable is on top. */
void kvl_add_methods(lua_State *L, const luaL_Reg *functions);

#endif
