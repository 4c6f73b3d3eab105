/* state.c: the state that all files share, and the objects that it keeps. */
#include "state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATE_NAME "kvcodable.state"
#define BOX_NAME "kvcodable.box"

static const char state_key; /* of the registry */

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

/* ---- Objects that Lua owns */

kvl_owned *kvl_own(lua_State *L, kvl_state *state) {
  kvl_owned *owned = malloc(sizeof *owned);
  if (!owned) luaL_error(L, "not enough memory");
  *owned = (kvl_owned){NULL, NULL, state->owned, &state->owned};
  if (owned->next) owned->next->link = &owned->next;
  state->owned = owned;
  return owned;
}

void kvl_release(const kvl_state *state, kvl_owned **place) {
  kvl_owned *owned = *place;
  if (!owned || state->is_over) return;
  *place = NULL;
  *owned->link = owned->next;
  if (owned->next) owned->next->link = owned->link;
  if (owned->free_object) owned->free_object(owned->object);
  free(owned);
}

/* ---- Boxes
 *
 * A function that works with an object of the library has a box for it on the
 * stack. An error takes the box from the stack, and the box's finalizer frees
 * the object.
 *
 * One box is ready in the registry while no function uses it. It is older than
 * the state: while a Lua state is being closed, Lua 5.1 may finalize a userdata
 * that a function uses, but none that is older than the state before the state
 * itself. All other boxes are used once: for an object that is kept beside
 * another one, by a finalizer in the middle of a function, and after an error
 * that cost the ready box. */

static int box_gc(lua_State *L) {
  kvl_state *state = lua_touserdata(L, lua_upvalueindex(1));
  kvl_owned **box = lua_touserdata(L, 1);
  if (state->is_over || !*box) return 0;
  if ((*box)->free_object) state->boxed--;
  if (*box == state->ready) state->ready = NULL;
  kvl_release(state, box);
  return 0;
}

/* make_box(state): puts a box into the registry. Lua does not count the memory
 * of objects that errors left in boxes: a few such boxes are reason enough to
 * collect garbage. */
static int make_box(lua_State *L) {
  enum { MOST_BOXED = 4 };
  kvl_state *state = lua_touserdata(L, 1);
  if (state->boxed >= MOST_BOXED) lua_gc(L, LUA_GCCOLLECT, 0);
  kvl_owned **box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = NULL;
  luaL_setmetatable(L, BOX_NAME);
  *box = kvl_own(L, state);
  lua_rawseti(L, LUA_REGISTRYINDEX, state->box_ref);
  return 0;
}

void kvl_keep(lua_State *L, kvl_state *state, void *object,
              kvl_free free_object) {
  while (lua_rawgeti(L, LUA_REGISTRYINDEX, state->box_ref) != LUA_TUSERDATA) {
    lua_pop(L, 1);
    if (lua_cpcall(L, make_box, state) == LUA_OK) continue;
    free_object(object);
    lua_error(L);
  }
  kvl_owned *owned = *(kvl_owned **)lua_touserdata(L, -1);
  owned->object = object;
  owned->free_object = free_object;
  state->boxed++;
  lua_pushboolean(L, 0);
  lua_rawseti(L, LUA_REGISTRYINDEX, state->box_ref);
}

void *kvl_take(lua_State *L, kvl_state *state, int index) {
  index = lua_absindex(L, index);
  kvl_owned *owned = *(kvl_owned **)lua_touserdata(L, index);
  void *object = owned->object;
  owned->free_object = NULL;
  state->boxed--;
  if (owned == state->ready) {
    lua_pushvalue(L, index);
    lua_rawseti(L, LUA_REGISTRYINDEX, state->box_ref);
  }
  lua_remove(L, index);
  return object;
}

void kvl_drop(lua_State *L, kvl_state *state, int index) {
  const kvl_owned *owned = *(kvl_owned **)lua_touserdata(L, index);
  kvl_free free_object = owned->free_object;
  free_object(kvl_take(L, state, index));
}

void kvl_free_tree(void *tree) { kv_tree_free((kv_tree *)tree); }

void kvl_free_text(void *data) {
  kv_bytes text = {(char *)data, 0};
  kv_bytes_free(&text);
}

void kvl_push_bytes(lua_State *L, kvl_state *state, kv_bytes *bytes) {
  kvl_keep(L, state, bytes->data, kvl_free_text);
  lua_pushlstring(L, bytes->data, bytes->length);
  kvl_drop(L, state, -2);
}

/* ---- The state's life */

static int state_gc(lua_State *L) {
  kvl_state *state = lua_touserdata(L, 1);
  while (state->owned) {
    kvl_owned *newest = state->owned;
    kvl_release(state, &newest);
  }
  kv_registry_free(state->registry);
  if (state->epoll > 0) close(state->epoll);
  if (state->rest > 0) close(state->rest);
  free(state->nodes.data);
  free(state->unsettled.data);
  free(state->keys.data);
  free(state->bytes.data);
  free(state->steps.data);
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

/* Gives the userdata at `index` a class that has nothing but a finalizer, whose
 * upvalue is the state on top. */
static void set_finalizer(lua_State *L, int index, const char *name,
                          lua_CFunction finalizer) {
  luaL_newmetatable(L, name);
  lua_pushvalue(L, -2);
  lua_pushcclosure(L, finalizer, 1);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, index);
}

void kvl_new_state(lua_State *L, const kv_lua_options *options) {
  kvl_owned **box = lua_newuserdatauv(L, sizeof *box, 0);
  int ready = lua_gettop(L);
  *box = NULL;
  kvl_state *state = lua_newuserdatauv(L, sizeof *state, 0);
  memset(state, 0, sizeof *state);
  set_finalizer(L, ready, BOX_NAME, box_gc);
  set_finalizer(L, ready + 1, STATE_NAME, state_gc);
  *box = state->ready = kvl_own(L, state);
  lua_pushvalue(L, ready);
  state->box_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_remove(L, ready);
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
