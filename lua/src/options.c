/* options.c: tables of options, in which a name or word that the function does
 * not know is an error. */
#include <string.h>

#include "options.h"
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

kv_format kvl_check_format(lua_State *L, int options) {
  static const char *const formats[] = {"any",      "xml",  "binary",
                                        "openstep", "json", NULL};
  return (kv_format)kvl_check_word_option(L, options, "format", formats);
}

int kvl_check_nulls(lua_State *L, int options, const char *other) {
  const char *const words[] = {other, "drop", NULL};
  return kvl_check_word_option(L, options, "nulls", words);
}
