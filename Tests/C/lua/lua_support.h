/* lua_support.h: what the tests of Lua hosts share. */
#ifndef LUA_SUPPORT_H
#define LUA_SUPPORT_H

#include <kvcodable_lua.h>
#include <lualib.h>

#include "../../../lua/src/compat.h"
#include "check.h"

#if LUA_VERSION_NUM >= 505
#define lua_newstate(allocator, data) lua_newstate(allocator, data, 1)
#endif

/* The libraries, and two functions that all versions have by these names then:
 * unpack, and collected(call), which has the collector call a function when it
 * collects what is returned. Before 5.2 tables have no finalizers. */
static inline void open_libraries(lua_State *L) {
  static const char functions[] =
      "unpack = table.unpack or unpack\n"
      "function collected(call)\n"
      "  if _VERSION ~= 'Lua 5.1' then\n"
      "    return setmetatable({}, { __gc = call })\n"
      "  end\n"
      "  local proxy = newproxy(true)\n"
      "  getmetatable(proxy).__gc = call\n"
      "  return proxy\n"
      "end\n";
  luaL_openlibs(L);
  if (luaL_dostring(L, functions) != LUA_OK) printf("# no functions\n");
}

/* Functions for the scripts of tests. */
#define HELPERS                                     \
  "function repeated(n, value)\n"                   \
  "  local t = {}\n"                                \
  "  for i = 1, n do t[i] = value end\n"            \
  "  return t\n"                                    \
  "end\n"                                           \
  "-- The error that a call raises or returns.\n"   \
  "function problem(call, ...)\n"                   \
  "  local ok, one, other = pcall(call, ...)\n"     \
  "  return ok and other or not ok and one or {}\n" \
  "end\n"

/* Runs a chunk with a number of results; on failure says why and gives 0, with
 * nothing pushed. */
static inline int run_script(lua_State *L, const char *script, int results) {
  if (luaL_loadstring(L, script) == LUA_OK &&
      lua_pcall(L, 0, results, 0) == LUA_OK)
    return 1;
  printf("# %s\n", luaL_tolstring(L, -1, NULL));
  lua_settop(L, -3);
  return 0;
}

/* Whether a chunk returns true. */
static inline int holds(lua_State *L, const char *script) {
  if (!run_script(L, script, 1)) return 0;
  int good = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return good;
}

/* Whether a call failed as expected, with a message; frees the error. */
static inline int failed_with(kv_status status, kv_status expected,
                              kv_error **error) {
  int good = status == expected && kv_error_status(*error) == expected &&
             kv_error_message(*error).length > 0;
  if (!good) printf("# %d: %s\n", status, kv_error_message(*error).data);
  kv_error_free(*error);
  *error = NULL;
  return good;
}

/* A state with all libraries and the module as `kv`. */
static inline lua_State *new_state(uint32_t policy) {
  kv_lua_options options = {0};
  lua_State *L = luaL_newstate();
  options.size = sizeof options;
  options.policy = policy;
  open_libraries(L);
  if (kv_lua_open(L, &options, NULL) != KV_OK) printf("# not open\n");
  lua_setglobal(L, "kv");
  return L;
}

/* Whether a checker runs the program, which holds freed memory back. */
static inline int is_checked(void) {
  return getenv("KVCODABLE_CHECKED") != NULL;
}

static inline long resident_kilobytes(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file && fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (file) fclose(file);
  return resident * 4;
}

#endif
