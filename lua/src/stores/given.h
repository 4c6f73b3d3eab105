/*
 * given.h: what get gave a script, so that a set of the same table stores what
 * the script changed in it.
 */
#ifndef KVCODABLE_GIVEN_H
#define KVCODABLE_GIVEN_H

#include "../handle.h"

/* Makes the weak table of given values, in a function whose upvalue 1 is the
 * state. */
void kvl_open_given(lua_State *L);

/* Pushes a box (kvl_keep) with the value that a get at the path found. Takes
 * the value, also when it raises for lack of memory. */
void kvl_keep_given(lua_State *L, kvl_state *state, const kvl_handle *session,
                    const kvl_path *path, const kv_type *type,
                    const kvl_found *found);

/* Notes that a get gave the table on top for the value in the box below it, and
 * removes the box. Another value than a table is not noted. */
void kvl_note_given(lua_State *L, kvl_state *state);

/* The value for which a get at the path gave the table at `index`, as this type;
 * NULL for another value. A transaction's values end with it. The result lasts
 * as long as the table. */
kvl_found *kvl_given_at(lua_State *L, int index, const kvl_handle *session,
                        const kvl_path *path, const kv_type *type);

#endif
