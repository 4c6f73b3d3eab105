/* codec.c: decode, encode, read, write. */
#include "module.h"

kv_format kvl_check_format(lua_State *L, int options) {
  static const char *const formats[] = {"any",      "xml",  "binary",
                                        "openstep", "json", NULL};
  if (lua_isnoneornil(L, options)) return KV_FORMAT_ANY;
  luaL_checktype(L, options, LUA_TTABLE);
  kv_format format = KV_FORMAT_ANY;
  if (lua_getfield(L, options, "format") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TSTRING)
      luaL_argerror(L, options, "expected a string as format");
    format = (kv_format)luaL_checkoption(L, -1, NULL, formats);
  }
  lua_pop(L, 1);
  return format;
}

/* Pushes the options' context, or nil; gives where it stands. */
static int push_context(lua_State *L, int options) {
  if (lua_istable(L, options))
    lua_getfield(L, options, "context");
  else
    lua_pushnil(L);
  return lua_gettop(L);
}

/* The outcome of decoding: the value, nil, or nil and the error. */
static int push_decoded(lua_State *L, kvl_state *state, kv_status status,
                        kv_tree *tree, kv_error *error, int type, int context) {
  if (status != KV_OK) return kvl_return_error(L, state, status, error);
  kvl_build(L, state, tree);
  kvl_convert_decoded(L, type, context);
  return 1;
}

/* kv.decode(bytes, type?, options?) */
static int decode(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_tree *tree = NULL;
  kv_str bytes;
  lua_settop(L, 3);
  bytes.data = luaL_checklstring(L, 1, &bytes.length);
  const kv_type *type = kvl_check_type(L, state, 2);
  kv_format format = kvl_check_format(L, 3);
  int context = push_context(L, 3);
  kv_status status = kv_decode(bytes, format, type, &tree, NULL, &error);
  return push_decoded(L, state, status, tree, error, 2, context);
}

/* kv.read(path, type?, options?) */
static int read_file(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_tree *tree = NULL;
  kv_str path;
  lua_settop(L, 3);
  path.data = luaL_checklstring(L, 1, &path.length);
  const kv_type *type = kvl_check_type(L, state, 2);
  kv_format format = kvl_check_format(L, 3);
  int context = push_context(L, 3);
  kv_status status = kv_read_file(path, format, type, &tree, NULL, &error);
  if (status == KV_ABSENT) {
    lua_pushfstring(L, "Expected a file at %s", path.data);
    kvl_push_failure(L, KV_ABSENT, NULL, 0, lua_tostring(L, -1), "none");
    return kvl_return_failure(L);
  }
  return push_decoded(L, state, status, tree, error, 2, context);
}

static void free_text(void *data) {
  kv_bytes text = {(char *)data, 0};
  kv_bytes_free(&text);
}

/* Replaces the value at `value` by what is stored of it. */
static void to_stored(lua_State *L, int value, int type, int context) {
  lua_pushvalue(L, value);
  kvl_convert_encoded(L, type, context);
  lua_replace(L, value);
}

/* kv.encode(value, type?, options?) */
static int encode(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_bytes bytes = {NULL, 0};
  lua_settop(L, 3);
  const kv_type *type = kvl_check_type(L, state, 2);
  kv_format format = kvl_check_format(L, 3);
  to_stored(L, 1, 2, push_context(L, 3));
  kv_tree *tree = kvl_try_tree(L, state, 1);
  if (!tree) return kvl_return_failure(L);
  kv_status status = kv_encode(tree, format, type, &bytes, &error);
  kv_tree_free(tree);
  if (status != KV_OK) return kvl_return_error(L, state, status, error);
  size_t slot = kvl_keep(L, state, bytes.data, free_text);
  lua_pushlstring(L, bytes.data, bytes.length);
  kvl_drop(state, slot);
  return 1;
}

/* kv.write(path, value, type?, options?) */
static int write_file(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_str path;
  lua_settop(L, 4);
  path.data = luaL_checklstring(L, 1, &path.length);
  const kv_type *type = kvl_check_type(L, state, 3);
  kv_format format = kvl_check_format(L, 4);
  to_stored(L, 2, 3, push_context(L, 4));
  kv_tree *tree = kvl_try_tree(L, state, 2);
  if (!tree) return kvl_return_failure(L);
  kv_status status = kv_write_file(path, format, type, tree, &error);
  kv_tree_free(tree);
  if (status != KV_OK) return kvl_return_error(L, state, status, error);
  lua_pushboolean(L, 1);
  return 1;
}

void kvl_open_codec(lua_State *L) {
  static const luaL_Reg functions[] = {{"decode", decode},
                                       {"encode", encode},
                                       {"read", read_file},
                                       {"write", write_file},
                                       {NULL, NULL}};
  kvl_set_functions(L, functions);
}
