/* state.c: the state that all files share, and the objects that it keeps. */
#include "state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATE_NAME "kvcodable.state"

/* Keys of the registry: of the state, and of the userdata to be freed. */
static const char state_key, held_key;

kvl_state *kvl_state_of(lua_State *L) {
  kvl_state *state = lua_touserdata(L, lua_upvalueindex(1));
  if (state->is_over) luaL_error(L, "the Lua state is being closed");
  return state;
}

kvl_state *kvl_find_state(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
  kvl_state *state = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return state;
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

/* Where the stack of C is in the function that says so. */
#define FRAME ((uintptr_t)__builtin_frame_address(0))

/* A kept object is left over from an error, unless a finalizer runs in the
 * middle of another function: there, and where the script stopped it, no
 * collector runs. Lua 5.1 does not tell. There a function that is in the middle
 * of its work has its frame above those of a finalizer in it, since the stack
 * of C grows down: an object that was kept here or further down is left over,
 * and so are those after it.
 *
 * This rests on what GCC and Clang say of the builtin, on the direction of the
 * stack, and on Lua 5.1 and LuaJIT calling a finalizer, as they do all of C, on
 * the stack of the function that it interrupts. Where a host uses a Lua state on
 * one stack after the other, as threads with a lock and fibers do, leftovers
 * are freed with a later error or with the state. Only a finalizer that
 * changes to another fiber, in the middle of a function of the module's, and
 * calls the module there, would be taken for what came after an error. */
static void drop_leftovers(lua_State *L, kvl_state *state, uintptr_t frame) {
#if KVL_ASKS_COLLECTOR
  (void)frame;
  if (lua_gc(L, LUA_GCISRUNNING, 0) == 1) kvl_drop(state, 0);
#else
  const kvl_kept *kept = state->kept.data;
  size_t slot = 0;
  (void)L;
  while (slot < state->kept.count && kept[slot].frame > frame) slot++;
  if (slot < state->kept.count) kvl_drop(state, slot);
#endif
}

void kvl_reserve_kept(lua_State *L, kvl_state *state, size_t count) {
  if (!kvl_reserve(&state->kept, count, sizeof(kvl_kept)))
    luaL_error(L, "not enough memory");
}

static size_t append_kept(lua_State *L, kvl_state *state, kvl_kept entry) {
  kvl_buffer *kept = &state->kept;
  if (!kvl_reserve(kept, 1, sizeof entry)) {
    entry.free_object(entry.object);
    luaL_error(L, "not enough memory");
  }
  ((kvl_kept *)kept->data)[kept->count] = entry;
  return kept->count++;
}

size_t kvl_keep(lua_State *L, kvl_state *state, void *object,
                kvl_free free_object) {
  if (state->kept.count > 0) drop_leftovers(L, state, FRAME);
  return append_kept(L, state, (kvl_kept){object, free_object, FRAME});
}

size_t kvl_keep_more(lua_State *L, kvl_state *state, void *object,
                     kvl_free free_object) {
  return append_kept(L, state, (kvl_kept){object, free_object, FRAME});
}

void kvl_drop(kvl_state *state, size_t slot) {
  kvl_kept *entries = state->kept.data;
  if (entries[slot].object) entries[slot].free_object(entries[slot].object);
  entries[slot].object = NULL;
  /* Entries above are left over from an error: no caller will drop them. */
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

void kvl_free_text(void *data) {
  kv_bytes text = {(char *)data, 0};
  kv_bytes_free(&text);
}

void kvl_push_bytes(lua_State *L, kvl_state *state, kv_bytes *bytes) {
  size_t slot = kvl_keep_more(L, state, bytes->data, kvl_free_text);
  lua_pushlstring(L, bytes->data, bytes->length);
  kvl_drop(state, slot);
}

#if KVL_ASKS_COLLECTOR

/* While a finalizer runs the collector does not. The list refers to the
 * userdata made there for good: where memory runs out while a state is being
 * closed, Lua frees unreferenced userdata without its finalizer. In a state
 * that lives on the finalizers of such userdata run, and the list is dropped by
 * the next call while the collector runs. */
void kvl_hold(lua_State *L) {
  luaL_checkstack(L, 4, NULL);
  int list = lua_rawgetp(L, LUA_REGISTRYINDEX, &held_key);
  if (lua_gc(L, LUA_GCISRUNNING, 0) == 1) {
    if (list != LUA_TNIL) {
      lua_pushnil(L);
      lua_rawsetp(L, LUA_REGISTRYINDEX, &held_key);
    }
    lua_pop(L, 1);
    return;
  }
  if (list == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &held_key);
  }
  lua_pushvalue(L, -2);
  lua_pushboolean(L, 1);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

#else

/* Lua 5.1 does not tell whether a finalizer runs: the set has each userdata,
 * and keeps none of them alive. */
void kvl_hold(lua_State *L) {
  luaL_checkstack(L, 4, NULL);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &held_key) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &held_key);
  }
  lua_pushvalue(L, -2);
  lua_pushboolean(L, 1);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

#endif

/* Runs the finalizers of the held userdata: those that ran have nothing more to
 * free. */
static void free_held(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &held_key) == LUA_TNIL) return;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    luaL_getmetafield(L, -2, "__gc");
    lua_pushvalue(L, -3);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
  }
}

static int state_gc(lua_State *L) {
  kvl_state *state = lua_touserdata(L, 1);
  /* One whose opening failed goes while the stores of a later one are open. */
  if (kvl_find_state(L) == state) free_held(L);
  if (state->kept.count > 0) kvl_drop(state, 0);
  kv_registry_free(state->registry);
  if (state->epoll > 0) close(state->epoll);
  if (state->rest > 0) close(state->rest);
  free(state->nodes.data);
  free(state->wholes.data);
  free(state->keys.data);
  free(state->bytes.data);
  free(state->steps.data);
  free(state->kept.data);
  memset(state, 0, sizeof *state);
  state->is_over = 1;
  return 0;
}

static void set_limits(kvl_state *state, const kv_lua_options *options) {
  state->policy = options ? options->policy : 0;
  state->max_nodes = state->policy ? KVL_SCRIPT_NODES : KVL_NODES;
  state->max_bytes = state->policy ? KVL_SCRIPT_BYTES : KVL_BYTES;
  state->max_watches = state->policy ? KVL_SCRIPT_WATCHES : 0;
  state->is_bounded = state->policy != 0;
  if (!options) return;
  if (options->max_nodes) state->max_nodes = options->max_nodes;
  if (options->max_bytes) state->max_bytes = options->max_bytes;
  if (options->max_watches) state->max_watches = options->max_watches;
  if (options->quota)
    state->quota = options->quota;
  else if (state->policy)
    state->quota = state->max_bytes;
  state->is_bounded |= options->max_nodes || options->max_bytes;
}

void kvl_new_state(lua_State *L, const kv_lua_options *options) {
  kvl_state *state = lua_newuserdatauv(L, sizeof *state, 0);
  memset(state, 0, sizeof *state);
  luaL_newmetatable(L, STATE_NAME);
  lua_pushcfunction(L, state_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  state->registry =
      kv_registry_new(options ? options->registry : NULL, KV_REDECLARE);
  set_limits(state, options);
}

void kvl_push_function(lua_State *L, lua_CFunction function) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
  lua_pushcclosure(L, function, 1);
}

void kvl_set_state(lua_State *L) {
  lua_rawsetp(L, LUA_REGISTRYINDEX, &state_key);
}
