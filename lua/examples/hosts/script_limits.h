/* script_limits.h: the bounds that a host puts around a script which it does not
 * trust, beside those of the module: Lua's memory, the steps of its virtual
 * machine, its time, finalizers, and the calls that make the text of an error.
 * For C, C++ and Swift, and every Lua; LuaJIT interprets such a script, since
 * what it compiles runs no hook.
 *
 * A call in C is not interrupted: one with an evil pattern, such as string.find
 * can be given, may take long. A host that must not wait for it runs the script
 * in a process of its own.
 */
#ifndef SCRIPT_LIMITS_H
#define SCRIPT_LIMITS_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef LUA_JITLIBNAME
#include <luajit.h>
#endif

typedef struct script_limits {
  size_t memory; /* bytes that the script may have, the state's own included */
  long long steps; /* instructions of Lua that it may take */
  double seconds;  /* of the processor's time, the host's included */
  size_t used;
  clock_t start; /* when the state was opened */
} script_limits;

/* Steps between two looks, and those that a coroutine costs each time it is
 * resumed: each counts its own steps, and may end before its first look. */
enum { SCRIPT_STEPS = 1000, SCRIPT_RESUME = 100 };

/* Gives memory while there is some left; Lua makes an error of NULL. */
static inline void *script_allocate(void *context, void *block, size_t old,
                                    size_t size) {
  script_limits *limits = (script_limits *)context;
  if (!block) old = 0; /* what it says then is the kind of the object */
  if (size == 0) {
    free(block);
    limits->used -= old;
    return NULL;
  }
  if (size > old && size - old > limits->memory - limits->used) return NULL;
  block = realloc(block, size);
  if (block) limits->used = limits->used - old + size;
  return block;
}

static inline void script_count(lua_State *L, lua_Debug *event);

/* Ends a script that has taken its steps or its time: at once, since what a
 * pcall catches is raised again at the next instruction. */
static inline void script_charge(lua_State *L, int steps) {
  void *context;
  lua_getallocf(L, &context);
  script_limits *limits = (script_limits *)context;
  limits->steps -= steps;
  double taken = (double)(clock() - limits->start) / CLOCKS_PER_SEC;
  if (limits->steps > 0 && taken < limits->seconds) return;
  lua_sethook(L, script_count, LUA_MASKCOUNT, 1);
  luaL_error(L, "the script takes too long");
}

static inline void script_count(lua_State *L, lua_Debug *event) {
  (void)event;
  script_charge(L, SCRIPT_STEPS);
}

/* coroutine.wrap, and coroutine.resume, each with the original as upvalue 1. A
 * coroutine that was begun before the script's end has the old hook: the charge
 * ends it. */
static inline int script_resume(lua_State *L) {
  script_charge(L, SCRIPT_RESUME);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static inline int script_wrap(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  lua_pushcclosure(L, script_resume, 1);
  return 1;
}

/* Puts a function in front of one of the coroutine library's. */
static inline void script_replace(lua_State *L, const char *name,
                                  lua_CFunction function) {
  lua_getglobal(L, "coroutine");
  lua_getfield(L, -1, name);
  lua_pushcclosure(L, function, 1);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

/* setmetatable without finalizers: Lua runs no hook in them. */
static inline int script_set_metatable(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  if (lua_istable(L, 2)) {
    lua_pushliteral(L, "__gc");
    lua_rawget(L, 2);
    if (!lua_isnil(L, -1)) return luaL_error(L, "__gc is the host's alone");
  }
  lua_settop(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 2, 1);
  return 1;
}

/* A state within the limits, which must stay where they are as long as it is
 * open; NULL where there is no memory. */
static inline lua_State *script_open(script_limits *limits) {
  limits->used = 0;
  limits->start = clock();
  lua_State *L = lua_newstate(script_allocate, limits);
  if (L) lua_sethook(L, script_count, LUA_MASKCOUNT, SCRIPT_STEPS);
  return L;
}

/* Opens the libraries that reach nothing outside the state, without what loads
 * files and bytecode, which could be made to crash Lua. Takes away what runs
 * without the hook, too: finalizers, newproxy, which Lua 5.1 has, and LuaJIT's
 * compiler. Raises an error where there is no memory: for a protected call. */
static inline int script_open_libraries(lua_State *L) {
  static const luaL_Reg safe[] = {
    {"_G", luaopen_base},
    {LUA_TABLIBNAME, luaopen_table},
    {LUA_STRLIBNAME, luaopen_string},
    {LUA_MATHLIBNAME, luaopen_math},
#if LUA_VERSION_NUM >= 502 /* luaopen_base of 5.1 has coroutines */
    {LUA_COLIBNAME, luaopen_coroutine},
#endif
#ifdef LUA_UTF8LIBNAME
    {LUA_UTF8LIBNAME, luaopen_utf8},
#endif
    {NULL, NULL}
  };
  static const char *const unsafe[] = {"dofile",     "loadfile", "load",
                                       "loadstring", "getfenv",  "setfenv",
                                       "newproxy",   NULL};
  for (size_t i = 0; safe[i].name; i++) {
    lua_pushcfunction(L, safe[i].func);
    lua_pushstring(L, LUA_VERSION_NUM < 502 && i == 0 ? "" : safe[i].name);
    lua_call(L, 1, 1);
    if (LUA_VERSION_NUM < 502) /* it has made the global */
      lua_pop(L, 1);
    else
      lua_setglobal(L, safe[i].name);
  }
  for (size_t i = 0; unsafe[i]; i++) {
    lua_pushnil(L);
    lua_setglobal(L, unsafe[i]);
  }
#ifdef LUA_JITLIBNAME
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
#endif
  script_replace(L, "resume", script_resume);
  script_replace(L, "wrap", script_wrap);
  lua_getglobal(L, "setmetatable");
  lua_pushcclosure(L, script_set_metatable, 1);
  lua_setglobal(L, "setmetatable");
  return 0;
}

/* Loads a script's text and leaves the function, or the text of an error, on
 * the stack; gives 0 where it is loaded. No bytecode. */
static inline int script_load(lua_State *L, const char *path) {
#if LUA_VERSION_NUM >= 502
  return luaL_loadfilex(L, path, "t");
#else
  FILE *file = fopen(path, "rb");
  int byte = file ? getc(file) : 0;
  while (byte == '#' && byte != EOF) { /* the line that names an interpreter */
    while (byte != '\n' && byte != EOF) byte = getc(file);
    byte = getc(file);
  }
  if (file) fclose(file);
  if (byte != *LUA_SIGNATURE) return luaL_loadfile(L, path);
  lua_pushfstring(L, "%s: attempt to load a binary chunk, expected text", path);
  return LUA_ERRSYNTAX;
#endif
}

static inline int script_make_text(lua_State *L) {
  if (!luaL_callmeta(L, 1, "__tostring")) lua_tostring(L, 1);
  return 1;
}

/* The text of the error on top of the stack, valid as long as it stays there.
 * The script's own __tostring makes it, and may raise an error itself. */
static inline const char *script_error_text(lua_State *L) {
  if (lua_type(L, -1) != LUA_TSTRING) {
    lua_pushcfunction(L, script_make_text);
    lua_insert(L, -2);
    lua_pcall(L, 1, 1, 0);
  }
  return lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1)
                                        : "an error without a text";
}

#endif
