/* options.h: tables of options. */
#ifndef KVCODABLE_OPTIONS_H
#define KVCODABLE_OPTIONS_H

#include "state.h"

/* Raises where options, which may be nil or none, are no table, or have a name
 * that is not among `names`, which end with NULL. */
void kvl_check_options(lua_State *L, int index, const char *const *names);

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
