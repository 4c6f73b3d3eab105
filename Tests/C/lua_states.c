/* lua_states.c: a host that opens, uses and closes one Lua state after another. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "check.h"
static const char script[] =
    "local kv = require 'kvcodable'\n"
    "local Window = kv.struct 'Window' { width = kv.int, tags = "
    "kv.array_of(kv.string):default {} }\n"
    "local s = assert(kv.open_file(..., { engine = 'memory' }))\n"
    "for i = 1, 20 do\n"
    "  s:set('window', { width = i, tags = { 'a' } }, Window)\n"
    "  assert(s:get('window', Window).width == i)\n"
    "end\n"
    "return s:get({ 'window', 'width' })\n";

static long resident_kilobytes(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file && fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (file) fclose(file);
  return resident * 4;
}

static int use_state(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_pushstring(
      L, getenv("KVCODABLE_CPATH") ? getenv("KVCODABLE_CPATH") : "build/?.so");
  lua_setfield(L, -2, "cpath");
  lua_pop(L, 1);
  int good = luaL_loadstring(L, script) == LUA_OK;
  lua_pushliteral(L, "memory.plist");
  good = good && lua_pcall(L, 1, 1, 0) == LUA_OK && lua_tointeger(L, -1) == 20;
  if (!good) printf("# %s\n", lua_tostring(L, -1));
  lua_close(L);
  return good;
}

int main(void) {
  int good = 0;
  long early = 0;
  for (int i = 0; i < 50; i++) good += use_state();
  CHECK_NAMED(good == 50, "50 states opened and closed one after another");
  early = resident_kilobytes();
  for (int i = 0; i < 400; i++) good += use_state();
  CHECK_NAMED(good == 450, "400 more states");
  long growth = resident_kilobytes() - early;
  printf("# resident memory grew by %ld KB over 400 states\n", growth);
  CHECK_NAMED(growth < 2048, "what is held does not grow with the states");
  return finish_checks();
}
