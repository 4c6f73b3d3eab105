/* classes.h: functions of the module, and kinds of userdata with methods. */
#ifndef KVCODABLE_CLASSES_H
#define KVCODABLE_CLASSES_H

#include "state.h"

/* Adds functions that have the state as upvalue 1. */
void kvl_set_functions(lua_State *L, const luaL_Reg *functions);

/* Pushes the metatable of a new kind of userdata, which scripts cannot reach:
 * neither its metamethods nor the table of its methods. */
void kvl_new_class(lua_State *L, const char *name, const luaL_Reg *functions);

/* Makes an unknown method of the class whose metatable is on top an error. It
 * says that `what` has no such method, and names the one that was most likely
 * meant. */
void kvl_name_methods(lua_State *L, const char *what);

/* Raises the error of the name at 2 that is no method in the table at 1. */
int kvl_refuse_method(lua_State *L, const char *what);

/* Adds methods, and metamethods, to the class whose metatable is on top. */
void kvl_add_methods(lua_State *L, const luaL_Reg *functions);

#endif
