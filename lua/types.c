/* types.c: type arguments. What types are made of is said in sugar.lua. */
#include "module.h"

#define TYPE_NAME "kvcodable.type"

/* Keys of a type's table that scripts cannot reach. */
static const char compiled_key, converters_key;
/* Keys of the registry: functions of sugar.lua. */
static const char compile_function, decode_function, encode_function;
static const char scope_function;

static int type_gc(lua_State *L) {
  kv_type **type = luaL_checkudata(L, 1, TYPE_NAME);
  kv_type_free(*type);
  *type = NULL;
  return 0;
}

/* Pushes a userdata to be filled with a type. */
static kv_type **new_type(lua_State *L) {
  kv_type **type = lua_newuserdatauv(L, sizeof *type, 0);
  *type = NULL;
  luaL_setmetatable(L, TYPE_NAME);
  return type;
}

/* describe(description): a type from the table that describes it */
static int describe(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_type **type = new_type(L);
  kv_tree *tree = kvl_walk_tree(L, state, 1);
  kv_status status = kv_registry_describe(state->registry, tree, type, &error);
  kv_tree_free(tree);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  return 1;
}

/* expression(text): a type from its text */
static int expression(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_str text;
  text.data = luaL_checklstring(L, 1, &text.length);
  kv_type **type = new_type(L);
  kv_status status = kv_registry_type(state->registry, text, type, &error);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  return 1;
}

/* annotate(descriptions): the text for editors about the types of the state's
 * registry, and of these, which are not declared in it */
static int annotate(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_bytes text = {NULL, 0};
  kv_status status = KV_OK;
  kv_tree *tree = kvl_walk_tree(L, state, 1);
  kv_registry *registry = kv_registry_new_over(state->registry, KV_REDECLARE);
  kv_cursor root = kv_tree_root(tree), one;
  for (uint64_t at = 0; status == KV_OK;) {
    kv_tree *description = NULL;
    if (kv_cursor_next(&root, &at, &one) != KV_OK) break;
    status = kv_cursor_copy(&one, &description);
    if (status == KV_OK)
      status = kv_registry_describe(registry, description, NULL, &error);
    kv_tree_free(description);
  }
  if (status == KV_OK)
    status = kv_registry_annotations(registry, &text, &error);
  kv_registry_free(registry);
  kv_tree_free(tree);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  kvl_push_bytes(L, state, &text);
  return 1;
}

/* attach(table, type, converts): what a type's table compiles to */
static int attach(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_pushvalue(L, 2);
  lua_rawsetp(L, 1, &compiled_key);
  if (lua_toboolean(L, 3)) {
    lua_pushboolean(L, 1);
    lua_rawsetp(L, 1, &converters_key);
  }
  return 0;
}

/* install(compile, decode, encode, scope): the sugar's part of the work */
static int install(lua_State *L) {
  lua_settop(L, 4);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &scope_function);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &encode_function);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &decode_function);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &compile_function);
  return 0;
}

/* The compiled type of the table at `index`, or NULL. A script may have found
 * the key, by next, and put something else there. */
static const kv_type *compiled(lua_State *L, const kvl_state *state,
                               int index) {
  const kv_type *type = NULL;
  if (lua_rawgetp(L, index, &compiled_key) == LUA_TUSERDATA &&
      lua_getmetatable(L, -1)) {
    if (lua_topointer(L, -1) == state->type_meta)
      type = *(kv_type **)lua_touserdata(L, -2);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return type;
}

const kv_type *kvl_check_type_in(lua_State *L, kvl_state *state, int index,
                                 int scope) {
  if (lua_isnoneornil(L, index)) return NULL;
  const kv_type *type = NULL;
  if (lua_istable(L, index)) type = compiled(L, state, index);
  if (type) return type;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &compile_function);
  lua_pushvalue(L, index);
  if (scope)
    lua_pushvalue(L, scope);
  else
    lua_pushnil(L);
  lua_call(L, 2, 1); /* gives the type's table, compiled, or raises */
  lua_replace(L, index);
  type = lua_istable(L, index) ? compiled(L, state, index) : NULL;
  if (!type) luaL_argerror(L, index, "expected a type");
  return type;
}

const kv_type *kvl_check_type(lua_State *L, kvl_state *state, int index) {
  return kvl_check_type_in(L, state, index, 0);
}

void kvl_push_scope(lua_State *L, int names) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &scope_function);
  lua_pushvalue(L, names);
  lua_call(L, 1, 1);
}

static void convert(lua_State *L, const void *function, int type, int context) {
  if (!lua_istable(L, type)) return;
  int converts = lua_rawgetp(L, type, &converters_key) != LUA_TNIL;
  lua_pop(L, 1);
  if (!converts) return;
  int value = lua_gettop(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, function);
  lua_pushvalue(L, type);
  lua_pushvalue(L, value);
  if (context)
    lua_pushvalue(L, context);
  else
    lua_pushnil(L);
  lua_call(L, 3, 1);
  lua_replace(L, value);
}

void kvl_convert_decoded(lua_State *L, int type, int context) {
  convert(L, &decode_function, type, context);
}

void kvl_convert_encoded(lua_State *L, int type, int context) {
  convert(L, &encode_function, type, context);
}

void kvl_open_types(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"describe", describe}, {"expression", expression},
      {"annotate", annotate}, {"attach", attach},
      {"install", install},   {NULL, NULL}};
  static const luaL_Reg methods[] = {{"__gc", type_gc}, {NULL, NULL}};
  kvl_new_class(L, TYPE_NAME, methods);
  kvl_state_of(L)->type_meta = lua_topointer(L, -1);
  lua_pop(L, 1);
  kvl_set_functions(L, functions);
}
