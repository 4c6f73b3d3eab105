/*
 * state.h: the state that all files of the Lua module share, and the objects
 * that it keeps.
 *
 * Two rules keep a Lua error, which is a longjmp, from losing anything: no Lua
 * error is raised while Swift is on the stack, and every object of the library
 * is owned by a userdata before the next call that can raise.
 */
#ifndef KVCODABLE_STATE_H
#define KVCODABLE_STATE_H

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
typedef struct kvl_owned kvl_owned;

typedef struct kvl_state {
  kvl_buffer nodes;     /* the document being written: kv_node */
  kvl_buffer unsettled; /* the nodes that may be of another kind: size_t */
  uint64_t walks;       /* the number of values that were written to them */
  kvl_buffer keys;  /* its keys that wait for their dictionary's end: kv_node */
  kvl_buffer bytes; /* its strings and data: char */
  kvl_buffer steps; /* path of the last refused value: kv_step */
  kvl_owned *owned; /* what Lua's userdata own, the newest first */
  kvl_owned
      *ready;   /* that of the box which is used again; NULL if it is gone */
  int box_ref;  /* where the registry has that box while no one uses it */
  size_t boxed; /* the boxes that have an object */
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
  uint64_t sessions;  /* those that began, to number them */
  uint32_t policy;    /* the host's policy: KV_LUA_... */
  size_t max_nodes;   /* of a value that is written or decoded */
  size_t max_bytes;   /* of its strings, keys and data */
  int is_bounded; /* decoding, too: a policy or the host's own limits hold */
  size_t max_watches;
  uint64_t quota;             /* of a store's bytes, or a part's; 0 for none */
  size_t watches;             /* those that are open */
  struct kvl_source *sources; /* of the watches (watch_source.h) */
  int lost;                   /* there was no memory: kv.pump() raises that */
  struct kvl_givens *givens;  /* what get gave (given.c) */
  int epoll;                  /* the descriptor of kv.fd(); 0 for none */
  int rest;      /* in it: an eventfd, readable while something is untold */
  pid_t process; /* that made them */
  int is_over;   /* the Lua state is being closed */
} kvl_state;

/* The state of the running function. Raises in a finalizer that outlives it. */
kvl_state *kvl_state_of(lua_State *L);

/* Pushes a new state; takes the one on top as the state of all functions. */
void kvl_new_state(lua_State *L, const kv_lua_options *options);
void kvl_set_state(lua_State *L);

/* The state, or NULL where the module is not open. Raises nothing. */
kvl_state *kvl_find_state(lua_State *L);

/* Pushes a function that has the state as upvalue 1. */
void kvl_push_function(lua_State *L, lua_CFunction function);

#define KVL_POLICIES (KV_LUA_NO_STORES | KV_LUA_NO_FILES | KV_LUA_READ_ONLY)

/* ---- Owning: what frees objects of the library
 *
 * A userdata that owns an object refers to a kvl_owned, and its finalizer
 * releases that. While a Lua state is being closed, Lua may collect a userdata
 * made then without its finalizer, or run that late: the finalizer of the
 * module's state releases what is left. */

struct kvl_owned {
  void *object;
  kvl_free free_object; /* NULL for no object */
  kvl_owned *next;      /* the one made before it */
  kvl_owned **link;     /* that refers to it */
};

/* Gives an owner without an object. Raises for lack of memory: the userdata
 * that releases it must be there already. */
kvl_owned *kvl_own(lua_State *L, kvl_state *state);

/* Frees the object of the owner at `place`, and the owner; leaves NULL. Does
 * nothing after the state's end, which has freed them. */
void kvl_release(const kvl_state *state, kvl_owned **place);

/* Pushes a box that owns the object until kvl_drop(), or until an error takes it
 * from the stack and it is collected. Takes the object, also when it raises for
 * lack of memory. Another box may be made for it: what lasts until the next
 * allocation of Lua is taken after this call. */
void kvl_keep(lua_State *L, kvl_state *state, void *object,
              kvl_free free_object);

/* Removes the box at `index`, and gives its object. Raises nothing. */
void *kvl_take(lua_State *L, kvl_state *state, int index);

/* Frees the object of the box at `index`, and removes the box. Raises
 * nothing. */
void kvl_drop(lua_State *L, kvl_state *state, int index);

void kvl_free_tree(void *tree); /* a kvl_free */
void kvl_free_text(void *data); /* a kvl_free, of the data of kv_bytes */

/* Pushes the bytes as a string. Takes them, also when it raises. */
void kvl_push_bytes(lua_State *L, kvl_state *state, kv_bytes *bytes);

/* Takes more memory, with room for `extra` elements of `size` bytes; 0 when there
 * is none. For kvl_reserve(). */
int kvl_grow(kvl_buffer *buffer, size_t extra, size_t size);

/* Makes room for `extra` elements of `size` bytes; 0 when there is no
 * memory. */
static inline int kvl_reserve(kvl_buffer *buffer, size_t extra, size_t size) {
  if (buffer->capacity - buffer->count >= extra) return 1;
  return kvl_grow(buffer, extra, size);
}

#endif
