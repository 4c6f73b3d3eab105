/*
 * collecting.h: has Lua collect at every allocation of the module. The module is
 * compiled with it (-include) for make stress and make fuzz.
 *
 * Lua collects, and runs finalizers, wherever it allocates something that it
 * collects, when enough has become garbage: which call of the module that hits
 * is chance. Here it is each of them, so that what the module still uses and
 * nothing keeps alive is found by the first test that comes by. Where the
 * collector is stopped, it stays stopped.
 *
 * A collection takes as long as the state is large: a line of the module that
 * has come by 4,000 times collects at each 16th time, and at each 1,000th where
 * the state holds more than 8 MB.
 */
#ifndef KVCODABLE_COLLECTING_H
#define KVCODABLE_COLLECTING_H

#define _GNU_SOURCE /* as watch.c says, before any header */
#include <lauxlib.h>
#include <lua.h>

static inline void collect_at(lua_State *L, unsigned long *times) {
  unsigned long time = (*times)++;
  if (time > 4000 && time % 16 != 0) return;
  if (lua_gc(L, LUA_GCISRUNNING) != 1) return;
  if (lua_gc(L, LUA_GCCOUNT) < 8192 || time % 1000 == 0)
    lua_gc(L, LUA_GCCOLLECT);
}

#define collect(L)               \
  __extension__({                \
    static unsigned long times_; \
    collect_at(L, &times_);      \
  })

/* Calls, then collects, as the functions themselves do; gives what the call
 * gave. */
#define COLLECTING(L, call)       \
  __extension__({                 \
    __auto_type result_ = (call); \
    collect(L);                   \
    result_;                      \
  })

#define lua_newuserdatauv(L, size, values) \
  COLLECTING(L, lua_newuserdatauv(L, size, values))
#define lua_pushlstring(L, text, length) \
  COLLECTING(L, lua_pushlstring(L, text, length))
#undef lua_pushliteral
#define lua_pushliteral(L, text) lua_pushstring(L, "" text)
#define lua_pushstring(L, text) COLLECTING(L, lua_pushstring(L, text))
#define lua_pushfstring(L, ...) COLLECTING(L, lua_pushfstring(L, __VA_ARGS__))
#define luaL_tolstring(L, index, length) \
  COLLECTING(L, luaL_tolstring(L, index, length))
#define luaL_ref(L, table) COLLECTING(L, luaL_ref(L, table))
#define lua_createtable(L, elements, entries) \
  (lua_createtable(L, elements, entries), collect(L))
#define lua_pushcclosure(L, function, values) \
  (lua_pushcclosure(L, function, values), collect(L))
#define lua_concat(L, count) (lua_concat(L, count), collect(L))
#define lua_callk(L, arguments, results, context, after) \
  (lua_callk(L, arguments, results, context, after), collect(L))
#define lua_pcallk(L, arguments, results, handler, context, after) \
  COLLECTING(L, lua_pcallk(L, arguments, results, handler, context, after))

#endif
