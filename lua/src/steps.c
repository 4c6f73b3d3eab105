/* steps.c: the steps of paths, between Lua and the library. */
#include "steps.h"

#include <stdlib.h>
#include <string.h>

void kvl_clear_path(kvl_path *path) {
  path->count = path->bytes = path->root = 0;
}

kv_step *kvl_copy_steps(const kv_step *steps, size_t count) {
  size_t size = count * sizeof *steps, bytes = 0;
  for (size_t i = 0; i < count; i++)
    if (steps[i].key.data) bytes += steps[i].key.length;
  kv_step *copies = malloc(size + bytes + 1);
  if (!copies) return NULL;
  char *text = (char *)copies + size;
  for (size_t i = 0; i < count; i++) {
    copies[i] = steps[i];
    if (!steps[i].key.data) continue;
    memcpy(text, steps[i].key.data, steps[i].key.length);
    copies[i].key.data = text;
    text += steps[i].key.length;
  }
  return copies;
}

void kvl_push_step(lua_State *L, const kv_step *step) {
  if (step->key.data)
    lua_pushlstring(L, step->key.data, step->key.length);
  else
    lua_pushinteger(L, (lua_Integer)step->index + 1);
}

void kvl_push_steps(lua_State *L, const kv_step *steps, size_t count) {
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    kvl_push_step(L, &steps[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Fills in the step on top; 0 where that is none. */
static int fill_step(lua_State *L, kv_step *step) {
  memset(step, 0, sizeof *step);
  if (lua_type(L, -1) == LUA_TSTRING) {
    step->key.data = lua_tolstring(L, -1, &step->key.length);
    return 1;
  }
  if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 1) return 0;
  step->index = lua_tointeger(L, -1) - 1;
  return 1;
}

size_t kvl_steps_at(lua_State *L, int index, kv_step *steps) {
  size_t count = 0;
  int is_step = lua_istable(L, index);
  size_t length = is_step ? (size_t)lua_rawlen(L, index) : 0;
  while (is_step && count < length && count < KVL_STEPS) {
    lua_rawgeti(L, index, (lua_Integer)count + 1);
    is_step = fill_step(L, &steps[count]);
    count += (size_t)is_step;
    lua_pop(L, 1);
  }
  return count;
}
