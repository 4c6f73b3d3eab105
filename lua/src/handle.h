/*
 * handle.h: the handle of a store or a transaction, for the files that hold
 * their methods.
 */
#ifndef KVCODABLE_HANDLE_H
#define KVCODABLE_HANDLE_H

#include "values/conversion.h"

#define KVL_STORE_NAME "kvcodable.store"
#define KVL_PART_NAME "kvcodable.part"

/* A store, a transaction, or a part of either.
 *
 * The living store or transaction is held once, in the session: its own handle,
 * which a part refers to. */
typedef struct kvl_handle {
  const void *mark; /* &kvl_handle_mark, which no other userdata begins with */
  kvl_state *state;
  struct kvl_handle *session;
  struct kvl_handle *owner;    /* of a transaction: its store's session */
  kv_store *store;             /* NULL once closed, or in a transaction */
  kv_transaction *transaction; /* NULL once over, or in a store */
  int is_transaction;
  int is_part;      /* whether user value KVL_PREFIX is set */
  int owns_session; /* a part that closes its session: one of a host */
  int is_hosts;     /* pushed by a host, or made of such a one: errors do not
                       name the file */
  int converts;     /* the store's schema has converters: KVL_SCHEMA is set */
  size_t root;      /* the number of the path's steps that are the host's:
                       scripts count steps from there */
} kvl_handle;

/* User values of a handle: the handle that it needs, which is a part's session,
 * and for a transaction the handle that it was begun with; the path of a part;
 * the context for converters; the scope of types' names, or nil; the type of the
 * store's schema, where it has converters. */
enum {
  KVL_SESSION = 1,
  KVL_PREFIX = 2,
  KVL_CONTEXT = 3,
  KVL_SCOPE = 4,
  KVL_SCHEMA = 5,
  KVL_USER_VALUES = 5
};

/* Pushes a handle that is a session of its own. */
kvl_handle *kvl_new_handle(lua_State *L);

/* Gives the handle on top the class of parts, which may be on arrays: such a
 * handle has elements besides its methods. */
void kvl_make_part(lua_State *L, kvl_handle *handle);

/* Raises the error of a value at 1 that is no handle, or whose session or Lua
 * state is over. */
_Noreturn void kvl_refuse_handle(lua_State *L);

extern const char kvl_handle_mark;

/* The handle at `index`, or NULL. Raises nothing. A light userdata has no
 * length, and a userdata as long as a handle begins with a word. */
static inline kvl_handle *kvl_handle_at(lua_State *L, int index) {
  kvl_handle *handle = lua_touserdata(L, index);
  if (!handle || lua_rawlen(L, index) != sizeof *handle) return NULL;
  return handle->mark == &kvl_handle_mark ? handle : NULL;
}

/* The handle at 1; raises unless its session is open. */
static inline kvl_handle *kvl_check_handle(lua_State *L) {
  kvl_handle *handle = kvl_handle_at(L, 1);
  if (!handle || handle->state->is_over ||
      !(handle->session->store || handle->session->transaction))
    kvl_refuse_handle(L);
  return handle;
}

/* The session of the handle at 1; raises unless it is open. */
static inline kvl_handle *kvl_check_session(lua_State *L) {
  return kvl_check_handle(L)->session;
}

/* The whole path of the argument at `index`, below a handle at 1. Raises. */
void kvl_path_below(lua_State *L, const kvl_handle *handle, int index,
                    kvl_path *path);

/* The steps of a path that a script knows of, below a handle at 1. */
const kv_step *kvl_shown_steps(lua_State *L, const kvl_path *path,
                               size_t *count);

/* Whether the handle at `index` is the host's: its script must not learn where
 * the store is kept. */
int kvl_is_hosts(lua_State *L, int index);

/* Replaces the path at `index` by one that no finalizer can change. */
void kvl_own_path(lua_State *L, int index);

/* Pushes a handle rooted at the path, below the session of the handle at 1. */
kvl_handle *kvl_push_part(lua_State *L, const kv_step *steps, size_t count);

/* Copies a user value of the handle at 1 to the handle on top. */
void kvl_inherit(lua_State *L, int value);

/* Pushes the context for converters; gives its stack index. */
int kvl_push_context(lua_State *L);

/* The type at `index`, in the scope of the handle at 1; see kvl_check_type. */
const kv_type *kvl_check_own_type(lua_State *L, kvl_state *state, int index,
                                  int *converts);

/* Has the converters of the schema's type at the path, the whole one below the
 * handle at `handle`, which converts, change a value that was read, on top. The
 * path's strings stay where they are. Raises. */
void kvl_decode_by_schema(lua_State *L, int handle, kvl_path *path);

/* The same by the path of the argument at `index`, below a handle at 1; also of
 * a value that is to be stored. */
void kvl_convert_by_schema(lua_State *L, int index, int is_decoding);

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

/* Raises where the store must not be changed: before a value for it is walked,
 * which may be large. */
void kvl_check_writable(lua_State *L, kvl_state *state, const kv_store *store,
                        const kvl_path *path);

/* Pushes the value at the path of argument 2, as the type at 3 shows it, which
 * may be nil; nil where there is none. Raises. */
void kvl_push_typed(lua_State *L, kvl_state *state, const kvl_handle *handle);

/* Stores the value at `value` as the type at `type_index` says, which may be
 * nil. With a type, pushes the number of elements of stored arrays that were
 * dropped with keys that the type does not know, and gives 1; else gives 0.
 * Raises. */
int kvl_put_value(lua_State *L, kvl_state *state, const kvl_handle *handle,
                  int path_index, int value, int type_index, int options);

/* Removes the value at the path of the argument at `index`, below the handle at
 * 1, of that session; gives whether there was one. Raises. */
int kvl_remove(lua_State *L, kvl_state *state, kvl_handle *session, int index);

/* Pushes a store's handle; gives the address for the store. */
kv_store **kvl_new_store(lua_State *L);

/* Takes the value on top as the context for the converters of a handle; as the
 * scope of its types' names. */
void kvl_set_context(lua_State *L, int handle);
void kvl_set_scope(lua_State *L, int handle);

/* Sets the type at `schema`, which has converters, as the schema of a handle. */
void kvl_set_schema(lua_State *L, int handle, int schema);

/* The open store of the handle at 1, which is no transaction. Raises. Lasts
 * until the next call or allocation of Lua: a metamethod or a finalizer may
 * close the store. So a function that makes one checks its arguments first, and
 * takes the store last. */
kv_store *kvl_check_store(lua_State *L);

/* The same of a handle that is no part. Raises. */
kv_store *kvl_check_whole(lua_State *L);

/* The store of the handle at `index`; NULL where it is closed. */
kv_store *kvl_store_at(lua_State *L, int index);

/* Each adds its functions to the table of the module, on top. */
void kvl_open_store(lua_State *L);
void kvl_open_opening(lua_State *L);
void kvl_open_bulk(lua_State *L);
void kvl_open_watch(lua_State *L);

/* Forgets the watches of stores that are closed. */
void kvl_end_watches(lua_State *L);

/* Calls the functions of watches; gives the number of calls. Raises their first
 * error, when all were called. */
lua_Integer kvl_pump(lua_State *L, kvl_state *state);

/* Parts of the store's methods: each adds them to the table on top. */
void kvl_add_closing(lua_State *L);
void kvl_add_transactions(lua_State *L);
void kvl_add_migrations(lua_State *L);

#endif
