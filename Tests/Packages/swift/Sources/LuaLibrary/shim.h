#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

/* What a script gives with the module as `kv`, which is on top of the stack: a
 * text, or the error. Much of this is macros, and not the same ones everywhere. */
static inline const char *run_script(lua_State *state, const char *script) {
  lua_setglobal(state, "kv");
  (void)luaL_dostring(state, script);
  return lua_tostring(state, -1);
}
