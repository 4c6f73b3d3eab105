/* The system's Lua, as pkg-config finds it: see Package.swift. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
