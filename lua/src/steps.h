/* steps.h: the steps of paths. */
#ifndef KVCODABLE_STEPS_H
#define KVCODABLE_STEPS_H

#include "state.h"

/* The most steps that a path can have: as many as a tree is deep. */
#define KVL_STEPS KV_DEPTH

typedef struct kvl_path {
  size_t count;
  size_t bytes; /* of its keys: KV_PATH_BYTES at most */
  size_t root;  /* the number of the handle's own steps */
  kv_step steps[KVL_STEPS];
} kvl_path;

/* A path without steps. */
void kvl_clear_path(kvl_path *path);

/* A copy in memory of its own, the keys behind the steps, for free(); NULL for
 * lack of memory. */
kv_step *kvl_copy_steps(const kv_step *steps, size_t count);

/* Pushes a key, or an index from 1; a table of them. */
void kvl_push_step(lua_State *L, const kv_step *step);
void kvl_push_steps(lua_State *L, const kv_step *steps, size_t count);

/* Fills in the steps of the table at `index`, which keeps the strings, up to
 * the first that is none: a script may have put anything there. */
size_t kvl_steps_at(lua_State *L, int index, kv_step *steps);

#endif
