/* given.c: what get gave a script. */
#include "given.h"

#include <stdlib.h>
#include <string.h>

#define SWEEPER_NAME "kvcodable.sweeper"

/* The value that a get gave, with its place and its type. */
typedef struct kvl_given {
  struct kvl_given *next;
  kvl_found found;
  kv_type *type;    /* NULL for the schema's, or none */
  uint64_t session; /* the number of its handle */
  int is_alive;     /* its table is: only while a sweep runs */
  size_t count;
  kv_step steps[]; /* and the bytes of their keys behind them */
} kvl_given;

/* The values that are noted. The weak table refers to them by light userdata:
 * a userdata with a finalizer for each get would take as long as the get. One
 * userdata without a reference, the sweeper, is finalized in each cycle of the
 * collector, and frees the values whose tables are gone. */
struct kvl_givens {
  kvl_given *first;
  int table_ref; /* of the registry: the values by their tables */
  int has_sweeper;
};

static void free_given(void *object) {
  kvl_given *given = object;
  kv_lease_free(given->found.lease);
  kv_type_free(given->type);
  free(given);
}

static void free_givens(void *object) {
  struct kvl_givens *givens = object;
  while (givens->first) {
    kvl_given *given = givens->first;
    givens->first = given->next;
    free_given(given);
  }
  free(givens);
}

/* ---- Sweeping */

static void mark(lua_State *L, const struct kvl_givens *givens) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, givens->table_ref);
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
    ((kvl_given *)lua_touserdata(L, -1))->is_alive = 1;
  lua_pop(L, 1);
}

/* The finalizer of the sweeper. The next note makes another one. */
static int sweep(lua_State *L) {
  kvl_state *state = lua_touserdata(L, lua_upvalueindex(1));
  if (state->is_over) return 0;
  state->givens->has_sweeper = 0;
  mark(L, state->givens);
  for (kvl_given **link = &state->givens->first; *link;) {
    kvl_given *given = *link;
    if (given->is_alive) {
      given->is_alive = 0;
      link = &given->next;
    } else {
      *link = given->next;
      free_given(given);
    }
  }
  return 0;
}

void kvl_open_given(lua_State *L) {
  kvl_state *state = lua_touserdata(L, lua_upvalueindex(1));
  luaL_newmetatable(L, SWEEPER_NAME);
  lua_pushvalue(L, lua_upvalueindex(1)); /* the state */
  lua_pushcclosure(L, sweep, 1);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  kvl_owned *owned = kvl_own(L, state);
  state->givens = calloc(1, sizeof *state->givens);
  if (!state->givens) luaL_error(L, "not enough memory");
  owned->object = state->givens;
  owned->free_object = free_givens;
  lua_newtable(L);
  lua_newtable(L);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  state->givens->table_ref = luaL_ref(L, LUA_REGISTRYINDEX);
}

/* ---- Places */

static size_t key_bytes(const kvl_path *path) {
  size_t length = 0;
  for (size_t i = 0; i < path->count; i++)
    if (path->steps[i].key.data) length += path->steps[i].key.length;
  return length;
}

static void copy_path(kvl_given *given, const kvl_path *path) {
  char *text = (char *)(given->steps + path->count);
  given->count = path->count;
  for (size_t i = 0; i < path->count; i++) {
    kv_step *step = &given->steps[i];
    *step = path->steps[i];
    if (!step->key.data) continue;
    memcpy(text, step->key.data, step->key.length);
    step->key.data = text;
    text += step->key.length;
  }
}

static int is_same_step(const kv_step *left, const kv_step *right) {
  if (!left->key.data || !right->key.data)
    return !left->key.data && !right->key.data && left->index == right->index;
  return left->key.length == right->key.length &&
         memcmp(left->key.data, right->key.data, left->key.length) == 0;
}

static int is_at(const kvl_given *given, const kvl_path *path) {
  if (given->count != path->count) return 0;
  for (size_t i = 0; i < path->count; i++)
    if (!is_same_step(&given->steps[i], &path->steps[i])) return 0;
  return 1;
}

/* ---- Values */

void kvl_keep_given(lua_State *L, kvl_state *state, const kvl_handle *session,
                    const kvl_path *path, const kv_type *type,
                    const kvl_found *found) {
  kvl_given *given = malloc(sizeof *given + path->count * sizeof *given->steps +
                            key_bytes(path));
  if (!given) {
    kv_lease_free(found->lease);
    luaL_error(L, "not enough memory");
    return;
  }
  given->found = *found;
  given->type = type ? kv_type_copy(type) : NULL;
  given->session = session->number;
  given->is_alive = 0;
  copy_path(given, path);
  kvl_keep(L, state, given, free_given);
}

void kvl_note_given(lua_State *L, kvl_state *state) {
  if (!lua_istable(L, -1)) {
    kvl_drop(L, state, -2);
    return;
  }
  if (!state->givens->has_sweeper) {
    lua_newuserdatauv(L, 1, 0);
    luaL_setmetatable(L, SWEEPER_NAME);
    lua_pop(L, 1);
    state->givens->has_sweeper = 1;
  }
  kvl_given *given = kvl_take(L, state, -2);
  given->next = state->givens->first;
  state->givens->first = given;
  /* Runs no finalizer, so that no sweep comes before the table has the value. */
  lua_rawgeti(L, LUA_REGISTRYINDEX, state->givens->table_ref);
  lua_pushvalue(L, -2);
  lua_pushlightuserdata(L, given);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

kvl_found *kvl_given_at(lua_State *L, int index, const kvl_handle *session,
                        const kvl_path *path, const kv_type *type) {
  if (!lua_istable(L, index)) return NULL;
  index = lua_absindex(L, index);
  lua_rawgeti(L, LUA_REGISTRYINDEX, session->state->givens->table_ref);
  lua_pushvalue(L, index);
  lua_rawget(L, -2);
  kvl_given *given = lua_touserdata(L, -1);
  lua_pop(L, 2);
  if (!given || given->session != session->number) return NULL;
  if (given->type != type && !kv_type_equal(given->type, type)) return NULL;
  return is_at(given, path) ? &given->found : NULL;
}
