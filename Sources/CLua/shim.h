/* Lua 5.4, as the system has it (pkg-config lua5.4). */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
