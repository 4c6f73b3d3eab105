/* merge.c: kv.merge. */
#include "conversion.h"

/* Replaces the argument at `index` by a box that owns its tree; nil or none is
 * no tree. Raises. */
static const kv_tree *box_tree(lua_State *L, kvl_state *state, int index) {
  if (lua_isnoneornil(L, index)) return NULL;
  kv_tree *tree = kvl_to_tree(L, state, index, NULL);
  kvl_keep(L, state, tree, kvl_free_tree);
  lua_replace(L, index);
  return tree;
}

/* Adds 1 to the indexes of the path that the conflict on top has. */
static void count_from_one(lua_State *L) {
  lua_getfield(L, -1, "path");
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    if (lua_type(L, -1) == LUA_TNUMBER) {
      lua_pushinteger(L, lua_tointeger(L, -1) + 1);
      lua_rawseti(L, -3, i);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 3);
}

/* Pushes a box for a tree that comes later. */
static kvl_owned *push_box(lua_State *L, kvl_state *state) {
  kvl_keep(L, state, NULL, kvl_free_tree);
  return *(kvl_owned **)lua_touserdata(L, -1);
}

/* Pushes the value of a box's tree; nil for none. */
static void push_boxed(lua_State *L, kvl_state *state, const kvl_owned *box) {
  kv_view view;
  if (kv_tree_view((const kv_tree *)box->object, &view) == KV_OK)
    kvl_push_borrowed(L, state, &view);
  else
    lua_pushnil(L);
}

/* merge(ancestor, ours, theirs): the merged value, or nil for none, and a list
 * of the conflicts */
static int merge(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_tree *result = NULL, *list = NULL;
  kv_error *error = NULL;
  lua_settop(L, 3);
  const kv_tree *ancestor = box_tree(L, state, 1);
  const kv_tree *ours = box_tree(L, state, 2);
  const kv_tree *theirs = box_tree(L, state, 3);
  kvl_owned *merged = push_box(L, state);
  kvl_owned *conflicts = push_box(L, state);
  kv_status status = kv_merge(ancestor, ours, theirs, &result, &list, &error);
  merged->object = result;
  conflicts->object = list;
  if (status < 0) return kvl_raise(L, state, status, error);
  push_boxed(L, state, merged);
  push_boxed(L, state, conflicts);
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++)
    count_from_one(L);
  lua_pop(L, 1);
  return 2;
}

void kvl_open_merging(lua_State *L) {
  static const luaL_Reg functions[] = {{"merge", merge}, {NULL, NULL}};
  kvl_set_functions(L, functions);
}
