/*
 * kvcodable_lua.h: for programs that embed Lua and open the module themselves.
 */
#ifndef KVCODABLE_LUA_H
#define KVCODABLE_LUA_H

struct lua_State;

/* The module's opener, a lua_CFunction: for luaL_requiref or package.preload. */
int luaopen_kvcodable(struct lua_State *L);

#endif
