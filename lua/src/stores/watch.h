/* watch.h: watches. */
#ifndef KVCODABLE_WATCH_H
#define KVCODABLE_WATCH_H

#include "../state.h"

/* Adds its functions to the table of the module, on top. */
void kvl_open_watch(lua_State *L);

/* Forgets the watches of stores that are closed. */
void kvl_end_watches(lua_State *L);

/* Calls the functions of watches; gives the number of calls. Raises their first
 * error, when all were called. */
lua_Integer kvl_pump(lua_State *L, kvl_state *state);

#endif
