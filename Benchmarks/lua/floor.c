/*
 * floor.c: the least that any store outside Lua has to do with a new table:
 * visit each entry and build an equal table. Numbers are copied, strings are
 * taken out as bytes and pushed as bytes; nothing is stored, checked or sorted.
 * A module that has seen a table's keys before can push them without hashing
 * their bytes, and be faster.
 *
 *   local copy = require "floor"
 *   local same = copy(table)
 */
#include <lauxlib.h>
#include <lua.h>

static void copy_value(lua_State *L, int index) {
  size_t length;
  const char *text;
  switch (lua_type(L, index)) {
    case LUA_TNUMBER:
      if (lua_isinteger(L, index))
        lua_pushinteger(L, lua_tointeger(L, index));
      else
        lua_pushnumber(L, lua_tonumber(L, index));
      break;
    case LUA_TSTRING:
      text = lua_tolstring(L, index, &length);
      lua_pushlstring(L, text, length);
      break;
    case LUA_TBOOLEAN:
      lua_pushboolean(L, lua_toboolean(L, index));
      break;
    case LUA_TTABLE: {
      int target, array = (int)lua_rawlen(L, index);
      luaL_checkstack(L, 6, NULL);
      int entries = 0;
      if (array == 0) /* to make room at once, as every good builder does */
        for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) entries++;
      lua_createtable(L, array, entries);
      target = lua_gettop(L);
      for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        int value = lua_gettop(L);
        if (lua_isinteger(L, value - 1)) {
          lua_Integer key = lua_tointeger(L, value - 1);
          copy_value(L, value);
          lua_rawseti(L, target, key);
        } else {
          text = lua_tolstring(L, value - 1, &length);
          lua_pushlstring(L, text, length);
          copy_value(L, value);
          lua_rawset(L, target);
        }
      }
      break;
    }
    default:
      luaL_error(L, "no such value in the benchmark");
  }
}

static int copy(lua_State *L) {
  luaL_checkany(L, 1);
  copy_value(L, 1);
  return 1;
}

int luaopen_floor(lua_State *L);
int luaopen_floor(lua_State *L) {
  lua_pushcfunction(L, copy);
  return 1;
}
