/* classes.c: the functions of the module, and the kinds of userdata with their
 * methods: an unknown one is an error. */
#include "classes.h"

#include <stdint.h>
#include <string.h>

#include "errors.h"

void kvl_set_functions(lua_State *L, const luaL_Reg *functions) {
  lua_pushvalue(L, lua_upvalueindex(1));
  luaL_setfuncs(L, functions, 1);
}

void kvl_add_methods(lua_State *L, const luaL_Reg *functions) {
  lua_getfield(L, -1, "__index");
  for (; functions->name; functions++) {
    int is_metamethod = strncmp(functions->name, "__", 2) == 0;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushcclosure(L, functions->func, 1);
    lua_setfield(L, is_metamethod ? -3 : -2, functions->name);
  }
  lua_pop(L, 1);
}

void kvl_new_class(lua_State *L, const char *name, const luaL_Reg *functions) {
  luaL_newmetatable(L, name);
  lua_newtable(L);
  lua_setfield(L, -2, "__index");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable"); /* getmetatable gives it */
  kvl_add_methods(L, functions);
}

/* ---- Unknown methods */

enum { LONGEST_NAME = 64 };

static size_t least(size_t one, size_t other) {
  return one < other ? one : other;
}

/* A small letter for a capital one. */
static int letter(char byte) {
  return byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte;
}

/* The number of letters that differ: wrong, missing, extra or swapped. */
static size_t distance(const char *left, size_t rows, const char *right,
                       size_t columns) {
  size_t lines[3][LONGEST_NAME + 1];
  for (size_t column = 0; column <= columns; column++)
    lines[0][column] = column;
  for (size_t row = 1; row <= rows; row++) {
    size_t *older = lines[(row + 1) % 3], *old = lines[(row + 2) % 3];
    size_t *line = lines[row % 3];
    line[0] = row;
    for (size_t column = 1; column <= columns; column++) {
      int differs = letter(left[row - 1]) != letter(right[column - 1]);
      line[column] = least(least(old[column], line[column - 1]) + 1,
                           old[column - 1] + (size_t)differs);
      if (row > 1 && column > 1 &&
          letter(left[row - 1]) == letter(right[column - 2]) &&
          letter(left[row - 2]) == letter(right[column - 1]))
        line[column] = least(line[column], older[column - 2] + 1);
    }
  }
  return lines[rows % 3][columns];
}

/* Pushes the method in the table at 1 that was most likely meant, or nil: at
 * most a third of the name differs. CloseNames in Swift says why this search is
 * the module's own. */
static void push_closest(lua_State *L, const char *given, size_t length) {
  size_t best = SIZE_MAX;
  lua_pushnil(L); /* the method found */
  if (length > LONGEST_NAME) return;
  for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
    size_t count;
    const char *name = lua_tolstring(L, -2, &count);
    if (count > LONGEST_NAME) continue;
    size_t found = distance(given, length, name, count);
    size_t longer = length > count ? length : count;
    if (found > best || found > (longer < 6 ? 1 : longer / 3)) continue;
    /* The order of the table is chance: of two as close, the first by name. */
    if (found == best && strcmp(name, lua_tostring(L, -3)) > 0) continue;
    best = found;
    lua_pushvalue(L, -2);
    lua_replace(L, -4);
  }
}

int kvl_refuse_method(lua_State *L, const char *what) {
  size_t length;
  const char *given = luaL_tolstring(L, 2, &length);
  push_closest(L, given, length);
  const char *meant = lua_tostring(L, -1);
  given = kvl_push_shown(L, 2);
  if (!meant) return luaL_error(L, "%s has no method '%s'", what, given);
  return luaL_error(L, "%s has no method '%s'; did you mean '%s'?", what, given,
                    meant);
}

/* The __index of a table of methods: raises for an unknown one. */
static int no_method(lua_State *L) {
  return kvl_refuse_method(L, lua_tostring(L, lua_upvalueindex(1)));
}

void kvl_name_methods(lua_State *L, const char *what) {
  lua_getfield(L, -1, "__index");
  lua_createtable(L, 0, 1);
  lua_pushstring(L, what);
  lua_pushcclosure(L, no_method, 1);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}
