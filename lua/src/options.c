/* options.c: tables of options and of methods, in which a name or word that
 * the function does not know is an error. */
#include <stdint.h>
#include <string.h>

#include "arguments.h"
#include "errors.h"

/* Appends "a, b or c", quoted, to the message. */
static void add_words(luaL_Buffer *message, const char *const *words) {
  for (int i = 0; words[i]; i++) {
    if (i > 0) luaL_addstring(message, words[i + 1] ? ", " : " or ");
    luaL_addchar(message, '"');
    luaL_addstring(message, words[i]);
    luaL_addchar(message, '"');
  }
}

/* Raises an error about the name on top, or about the word on top as the option
 * `name`, which names those that would do. */
static int raise(lua_State *L, const char *name, const char *const *words) {
  luaL_Buffer message;
  const char *found = kvl_push_shown(L, -1);
  luaL_buffinit(L, &message);
  luaL_where(L, 1);
  luaL_addvalue(&message);
  luaL_addstring(&message, "bad option '");
  luaL_addstring(&message, name ? name : found);
  luaL_addstring(&message, name ? "': " : "'");
  if (name) luaL_addstring(&message, found);
  luaL_addstring(&message, ", expected ");
  add_words(&message, words);
  luaL_pushresult(&message);
  return lua_error(L);
}

static int is_among(lua_State *L, const char *const *words, int *which) {
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  for (*which = 0; words[*which]; (*which)++)
    if (strcmp(words[*which], text) == 0) return 1;
  return 0;
}

void kvl_check_options(lua_State *L, int index, const char *const *names) {
  int which;
  if (lua_isnoneornil(L, index)) return;
  luaL_checktype(L, index, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    if (!is_among(L, names, &which)) raise(L, NULL, names);
  }
}

int kvl_check_word_option(lua_State *L, int options, const char *name,
                          const char *const *words) {
  int which = 0;
  if (lua_isnoneornil(L, options)) return 0;
  if (lua_getfield(L, options, name) != LUA_TNIL && !is_among(L, words, &which))
    raise(L, name, words);
  lua_pop(L, 1);
  return which;
}

int kvl_get_option(lua_State *L, int options, const char *name, int type) {
  int found = lua_getfield(L, options, name);
  if (found != type && found != LUA_TNIL)
    luaL_error(L, "bad option '%s': expected %s, found %s", name,
               lua_typename(L, type), lua_typename(L, found));
  return found != LUA_TNIL;
}

/* ---- Methods */

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
      if (row > 1 && column > 1 && left[row - 1] == right[column - 2] &&
          left[row - 2] == right[column - 1])
        line[column] = least(line[column], older[column - 2] + 1);
    }
  }
  return lines[rows % 3][columns];
}

/* Pushes the method in the table at 1 that was most likely meant, or nil: at
 * most a third of the name differs. */
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

kv_format kvl_check_format(lua_State *L, int options) {
  static const char *const formats[] = {"any",      "xml",  "binary",
                                        "openstep", "json", NULL};
  return (kv_format)kvl_check_word_option(L, options, "format", formats);
}
