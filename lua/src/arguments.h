/* arguments.h: paths, and tables of options. */
#ifndef KVCODABLE_ARGUMENTS_H
#define KVCODABLE_ARGUMENTS_H

#include "state.h"

/* ---- Paths */

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

/* Adds the steps of the value at `index`: a string, or a table of strings and
 * of indexes from 1. Borrows from the Lua values. Raises, also where the keys
 * are too long together: the table may hold one long string many times. */
void kvl_add_path(lua_State *L, int index, kvl_path *path);

/* The whole path of the argument at `index`, below the handle at 1. Raises. */
void kvl_full_path(lua_State *L, int index, kvl_path *path);

/* A copy in memory of its own, the keys behind the steps, for free(); NULL for
 * lack of memory. */
kv_step *kvl_copy_steps(const kv_step *steps, size_t count);

/* Pushes a key, or an index from 1; a table of them. */
void kvl_push_step(lua_State *L, const kv_step *step);
void kvl_push_steps(lua_State *L, const kv_step *steps, size_t count);

/* ---- Options */

/* Raises where options, which may be nil or none, are no table, or have a name
 * that is not among `names`, which end with NULL. */
void kvl_check_options(lua_State *L, int index, const char *const *names);

/* The same of the options of a typed set. */
void kvl_check_set_options(lua_State *L, int index);

/* The index in `words`, which end with NULL, of an option that
 * kvl_check_options() has accepted: 0 where it or all options are absent.
 * Raises. */
int kvl_check_word_option(lua_State *L, int options, const char *name,
                          const char *const *words);

/* Pushes the option, which is nil or of the type; gives whether it is given.
 * Raises. */
int kvl_get_option(lua_State *L, int options, const char *name, int type);

/* The format that options name; the options may be nil or none. Raises. */
kv_format kvl_check_format(lua_State *L, int options);

/* Whether options, which may be nil or none, have nulls = "drop", and not the
 * `other` word, which stands for no such option. Raises. */
int kvl_check_nulls(lua_State *L, int options, const char *other);

#endif
