/* module.c: opens the module. */
#include "module.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvcodable_lua.h"
#include "sugar.h"

#define STATE_NAME "kvcodable.state"

kvl_state *kvl_state_of(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

/* ---- Memory that the state owns */

int kvl_grow(kvl_buffer *buffer, size_t extra, size_t size) {
  if (extra > SIZE_MAX / size - buffer->count) return 0;
  size_t wanted = buffer->count + extra;
  if (wanted < buffer->capacity + buffer->capacity / 2)
    wanted = buffer->capacity + buffer->capacity / 2;
  if (wanted < 64) wanted = 64;
  if (wanted > SIZE_MAX / size) return 0;
  void *data = realloc(buffer->data, wanted * size);
  if (!data) return 0;
  buffer->data = data;
  buffer->capacity = wanted;
  return 1;
}

size_t kvl_keep(lua_State *L, kvl_state *state, void *object,
                kvl_free free_object) {
  kvl_buffer *kept = &state->kept;
  if (kept->count == kept->capacity && !kvl_grow(kept, 1, sizeof(kvl_kept))) {
    free_object(object);
    luaL_error(L, "not enough memory");
  }
  kvl_kept *entry = (kvl_kept *)kept->data + kept->count;
  entry->object = object;
  entry->free_object = free_object;
  return kept->count++;
}

void kvl_drop(kvl_state *state, size_t slot) {
  kvl_kept *entries = state->kept.data;
  entries[slot].free_object(entries[slot].object);
  entries[slot].object = NULL;
  /* Entries above are left over from an error: nobody will drop them. */
  while (state->kept.count > 0 && (state->kept.count > slot + 1 ||
                                   !entries[state->kept.count - 1].object)) {
    kvl_kept *last = &entries[--state->kept.count];
    if (last->object) last->free_object(last->object);
  }
}

void kvl_free_tree(void *tree) { kv_tree_free((kv_tree *)tree); }

size_t kvl_keep_tree(lua_State *L, kvl_state *state, kv_tree *tree) {
  return kvl_keep(L, state, tree, kvl_free_tree);
}

static int state_gc(lua_State *L) {
  kvl_state *state = lua_touserdata(L, 1);
  if (state->kept.count > 0) kvl_drop(state, 0);
  kvl_free_shapes(state);
  kv_registry_free(state->registry);
  if (state->epoll > 0) close(state->epoll);
  free(state->nodes.data);
  free(state->keys.data);
  free(state->bytes.data);
  free(state->steps.data);
  free(state->kept.data);
  memset(state, 0, sizeof *state);
  return 0;
}

static kvl_state *new_state(lua_State *L) {
  kvl_state *state = lua_newuserdatauv(L, sizeof *state, 0);
  memset(state, 0, sizeof *state);
  if (luaL_newmetatable(L, STATE_NAME)) {
    lua_pushcfunction(L, state_gc);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  state->registry = kv_registry_new(KV_REDECLARE);
  return state;
}

/* ---- Opening */

void kvl_set_functions(lua_State *L, const luaL_Reg *functions) {
  lua_pushvalue(L, lua_upvalueindex(1));
  luaL_setfuncs(L, functions, 1);
}

/* Makes the module's table; upvalue 1 is the state. */
static int open_module(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  lua_newtable(L);
  kvl_open_errors(L);
  kvl_open_values(L, state);
  kvl_open_types(L);
  kvl_open_codec(L);
  kvl_open_store(L);
  kvl_open_opening(L);
  kvl_open_whole(L);
  kvl_open_watch(L);
  lua_pushfstring(L, "kvcodable %s", kv_version());
  lua_setfield(L, -2, "_VERSION");
  if (luaL_loadbufferx(L, (const char *)sugar, sizeof sugar, "=kvcodable.sugar",
                       "t") != LUA_OK)
    return lua_error(L);
  lua_pushvalue(L, -2);
  lua_call(L, 1, 1);
  return 1;
}

__attribute__((visibility("default"))) int luaopen_kvcodable(lua_State *L) {
  if (kv_abi_version() < KV_ABI_VERSION)
    return luaL_error(L,
                      "libkvcodable has version %d of the contract, "
                      "the module needs %d",
                      (int)kv_abi_version(), KV_ABI_VERSION);
  new_state(L);
  lua_pushcclosure(L, open_module, 1);
  lua_call(L, 0, 1);
  return 1;
}
