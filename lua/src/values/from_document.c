/* from_document.c: document -> Lua value. */
#include "conversion.h"

typedef struct Build {
  lua_State *L;
  kvl_state *state;
  const char *bytes;
  int depth; /* the number of containers that are being built */
} Build;

static void push_container(Build *build, const kv_node *node);

static inline void push_scalar(Build *build, const kv_node *node) {
  union {
    uint64_t bits;
    double real;
  } payload;
  lua_State *L = build->L;
  payload.bits = node->payload;
  switch (node->head) {
    case KV_NODE_BOOLEAN:
      lua_pushboolean(L, (int)node->payload);
      break;
    case KV_NODE_INTEGER:
      kvl_push_integer(L, (int64_t)node->payload);
      break;
    case KV_NODE_REAL:
      lua_pushnumber(L, payload.real);
      break;
    case KV_NODE_STRING:
      lua_pushlstring(L, build->bytes + node->payload, node->count);
      break;
    case KV_NODE_UNSIGNED:
      kvl_push_uint64(L, node->payload);
      break;
    case KV_NODE_DATE:
      kvl_push_date(L, payload.real);
      break;
    case KV_NODE_UID:
      kvl_push_uid(L, (uint32_t)node->payload);
      break;
    case KV_NODE_DATA:
      kvl_push_data(L, build->bytes + node->payload, node->count);
      break;
    default:
      kvl_push_null(L);
  }
}

static inline void push_value(Build *build, const kv_node *node) {
  if (node->head >= KV_NODE_ARRAY)
    push_container(build, node);
  else
    push_scalar(build, node);
}

static void push_array(Build *build, const kv_node *node, int size) {
  lua_State *L = build->L;
  const kv_node *element = node + 1;
  lua_createtable(L, size, 0);
  int table = lua_gettop(L);
  for (lua_Integer i = 1; i <= size; i++) {
    push_value(build, element);
    element += kvl_span(element);
    lua_rawseti(L, table, i);
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, build->state->array_ref);
  lua_setmetatable(L, table);
}

static void push_dictionary(Build *build, const kv_node *node, int size) {
  lua_State *L = build->L;
  const kv_node *key = node + node->payload - node->count;
  lua_createtable(L, 0, size);
  int table = lua_gettop(L);
  for (const kv_node *end = node + node->payload; key < end; key++) {
    lua_pushlstring(L, build->bytes + key->payload, key->count);
    push_value(build, node + (key->head & ~KV_NODE_KEY));
    lua_rawset(L, table);
  }
}

/* Recursion is bounded by the depth of a document. */
static void push_container(Build *build, const kv_node *node) {
  if (++build->depth > KVL_FREE_LEVELS)
    luaL_checkstack(build->L, KVL_SLOTS, "the value is too deep");
  int size = node->count > INT32_MAX ? INT32_MAX : (int)node->count;
  if (node->head == KV_NODE_ARRAY)
    push_array(build, node, size);
  else
    push_dictionary(build, node, size);
  build->depth--;
}

void kvl_push_view(lua_State *L, kvl_state *state, const kv_view *view,
                   void *owner, kvl_free free_owner) {
  Build build = {L, state, view->bytes, 0};
  char text[256];
  const size_t length = view->node->count;
  /* What needs no box: kinds that Lua pushes without an allocation, and short
   * texts, of which a get takes a quarter longer with one. */
  switch (view->node->head) {
    case KV_NODE_INTEGER:
      if (!kvl_is_number((int64_t)view->node->payload)) break;
      /* fall through */
    case KV_NODE_BOOLEAN:
    case KV_NODE_REAL:
      push_scalar(&build, view->node);
      free_owner(owner);
      return;
    case KV_NODE_STRING:
      if (length > sizeof text) break;
      memcpy(text, view->bytes + view->node->payload, length);
      free_owner(owner);
      lua_pushlstring(L, text, length);
      return;
    default:
      break;
  }
  kvl_keep(L, state, owner, free_owner);
  push_value(&build, view->node);
  kvl_drop(L, state, -2);
}

void kvl_push_borrowed(lua_State *L, kvl_state *state, const kv_view *view) {
  Build build = {L, state, view->bytes, 0};
  push_value(&build, view->node);
}

void kvl_push_tree(lua_State *L, kvl_state *state, kv_tree *tree) {
  kv_view view;
  if (kv_tree_view(tree, &view) == KV_OK)
    kvl_push_view(L, state, &view, tree, kvl_free_tree);
  else
    lua_pushnil(L);
}
