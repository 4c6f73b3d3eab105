/* handle.h: the handle of a store or a transaction. */
#ifndef KVCODABLE_HANDLE_H
#define KVCODABLE_HANDLE_H

#include "steps.h"

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
  struct kvl_handle *owner; /* of a transaction: its store's session */
  kv_store *store;          /* NULL once closed, or in a transaction */
  uint64_t number;  /* of the session, which no other one of the state has */
  kvl_owned *owned; /* of the store, in its own handle */
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

extern const char kvl_handle_mark;

/* The handle at `index`, or NULL. Raises nothing. A light userdata has no
 * length, and a userdata as long as a handle begins with a word. */
static inline kvl_handle *kvl_handle_at(lua_State *L, int index) {
  kvl_handle *handle = lua_touserdata(L, index);
  if (!handle || lua_rawlen(L, index) != sizeof *handle) return NULL;
  return handle->mark == &kvl_handle_mark ? handle : NULL;
}

/* A value of the library, and the lease that keeps it alive. */
typedef struct kvl_found {
  kv_view view;
  kv_lease *lease;
} kvl_found;

/* Finds the value at a path in the store or the transaction of a session. */
static inline kv_status kvl_find(const kvl_handle *session,
                                 const kv_step *steps, size_t count,
                                 const kv_type *type, kvl_found *found,
                                 kv_error **error) {
  return session->store
             ? kv_store_get_view(session->store, steps, count, type,
                                 &found->view, &found->lease, error)
             : kv_transaction_get_view(session->transaction, steps, count, type,
                                       &found->view, &found->lease, error);
}

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

/* Pushes a handle for a store that is to be opened. */
kvl_handle *kvl_new_store(lua_State *L);

/* Has the handle of kvl_new_store() own the store that was opened for it. */
void kvl_set_store(kvl_handle *handle, kv_store *store);

/* Frees the handle's store, if it has one. */
void kvl_free_store(kvl_handle *handle);

/* Takes the value on top as the context for the converters of a handle; as the
 * scope of its types' names. */
void kvl_set_context(lua_State *L, int handle);
void kvl_set_scope(lua_State *L, int handle);

/* Sets the type at `schema`, which has converters, as the schema of a handle. */
void kvl_set_schema(lua_State *L, int handle, int schema);

/* The store of the handle at `index`; NULL where it is closed. */
kv_store *kvl_store_at(lua_State *L, int index);

#endif
