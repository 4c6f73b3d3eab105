/*
 * given.h: what get gave a script, so that a set of the same table stores what
 * the script changed in it.
 */
#ifndef KVCODABLE_GIVEN_H
#define KVCODABLE_GIVEN_H

#include "../handle.h"

/* The value that a get gave: its place, and its tree and type, which the
 * userdata owns. */
typedef struct kvl_given {
  kvl_owned *tree;
  kvl_owned *type;  /* NULL for the schema's, or none */
  uint64_t session; /* its number: a transaction merges nothing, and what it
                       gave ends with it */
  size_t length;
  char path[]; /* the steps as bytes */
} kvl_given;

/* Makes the class of these userdata, and the weak table of them, in a function
 * whose upvalue 1 is the state. */
void kvl_open_given(lua_State *L);

/* Pushes a userdata for what a get at the path will give. Raises. */
kvl_given *kvl_push_given(lua_State *L, kvl_state *state,
                          const kvl_handle *session, const kvl_path *path,
                          const kv_type *type);

/* Notes that the table on top is what the userdata below it says, and removes
 * that userdata. Another value than a table is not noted. */
void kvl_note_given(lua_State *L);

/* What get gave with the value at `index`, if it was at this place; else NULL.
 * Lasts as long as the value. */
kvl_given *kvl_given_at(lua_State *L, int index, const kvl_handle *session,
                        const kvl_path *path, const kv_type *type);

/* Replaces the tree. Takes it. */
void kvl_set_given(kvl_given *given, kv_tree *tree);

static inline const kv_tree *kvl_given_tree(const kvl_given *given) {
  return (const kv_tree *)given->tree->object;
}

#endif
