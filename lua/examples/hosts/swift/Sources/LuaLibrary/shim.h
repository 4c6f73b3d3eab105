#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include "../../../script_limits.h"
