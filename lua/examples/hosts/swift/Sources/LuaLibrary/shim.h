#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include "../../../limits.h"
