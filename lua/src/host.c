/* host.c: the functions of programs that embed Lua (kvcodable_lua.h).
 *
 * Each function packs its arguments and runs its body under lua_pcall, so that
 * no Lua error, which is a longjmp, crosses a frame of the program. */
#include "kvcodable_lua.h"

#include <string.h>

#include "module.h"
#include "stores/watch.h"
#include "values/conversion.h"

#define EXPORT __attribute__((visibility("default")))

typedef struct Call {
  kvl_state *state;
  const kv_lua_options *options;
  const kv_store *store;
  const kv_tree *tree;
  const kv_step *root;
  size_t root_count;
  uint32_t flags;
  kv_store **given_store;
  kv_tree **given_tree;
  size_t *calls;
} Call;

static kv_status fail(kv_status status, const char *message, kv_error **error) {
  if (error) *error = kv_error_new(status, kv_string(message), NULL, 0);
  return status;
}

/* ---- Protected calls */

#if LUA_VERSION_NUM < 502

/* In Lua 5.1 a function of C is made, and making one, or room on the stack, may
 * raise. So one function is made in a protected call, and kept: it calls the
 * body that its upvalue, a userdata, has. */
typedef struct Protected {
  lua_CFunction body;
  void *data;
} Protected;

static const char protected_key; /* of the registry */

/* The arguments are the body's, but that the first, nil, is its data. */
static int call_protected(lua_State *L) {
  Protected now = *(Protected *)lua_touserdata(L, lua_upvalueindex(1));
  lua_pushlightuserdata(L, now.data);
  lua_replace(L, 1);
  return now.body(L);
}

/* Makes room and the function, where there is none. */
static int prepare(lua_State *L) {
  luaL_checkstack(L, *(int *)lua_touserdata(L, 1) + LUA_MINSTACK, NULL);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &protected_key) == LUA_TFUNCTION)
    return 0;
  lua_newuserdata(L, sizeof(Protected));
  lua_pushcclosure(L, call_protected, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &protected_key);
  return 0;
}

/* The stack keeps the room that a call had on it, until a collector runs. */
static int make_room(lua_State *L, int slots) {
  if (lua_cpcall(L, prepare, &slots) == LUA_OK) return lua_checkstack(L, slots);
  lua_pop(L, 1);
  return 0;
}

/* Pushes a function that calls the body with the data and its own arguments
 * behind the first, which is nil. */
static void push_protected(lua_State *L, lua_CFunction body, void *data) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &protected_key);
  lua_getupvalue(L, -1, 1);
  *(Protected *)lua_touserdata(L, -1) = (Protected){body, data};
  lua_pop(L, 1);
  lua_pushnil(L);
}

#else

static int make_room(lua_State *L, int slots) {
  return lua_checkstack(L, slots);
}

/* Pushes the body and its first argument, the data. */
static void push_protected(lua_State *L, lua_CFunction body, void *data) {
  lua_pushcfunction(L, body);
  lua_pushlightuserdata(L, data);
}

#endif

/* ---- Calling without Lua errors */

static int text_of(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  return 1;
}

/* Pushes the text of the problem at 1. A script's __tostring may raise, or give
 * no text: then the problem has none. */
static void push_text(lua_State *L) {
  lua_pushcfunction(L, text_of);
  lua_pushvalue(L, 1);
  int outcome = lua_pcall(L, 1, 1, 0);
  if (outcome == LUA_OK) return;
  if (outcome == LUA_ERRMEM) lua_error(L);
  lua_pop(L, 1);
  lua_pushliteral(L, "an error without a text");
}

/* describe(status, problem): its path, if it has one, and its message. Raises
 * nothing but a lack of memory. */
static int describe(lua_State *L) {
  kv_status *status = lua_touserdata(L, 1);
  lua_remove(L, 1);
  if (kvl_is_error(L, 1)) {
    *status = kvl_error_status(L, 1);
    lua_pushliteral(L, "path");
    lua_rawget(L, 1);
  } else {
    lua_pushnil(L);
  }
  push_text(L);
  return 2;
}

/* Turns the Lua error on top into a kv_error, and takes it off the stack. */
static kv_status report(lua_State *L, kv_error **error) {
  kv_status status = KV_MISUSE;
  kv_step steps[KVL_STEPS];
  push_protected(L, describe, &status);
  lua_pushvalue(L, -3);
  lua_remove(L, -4);
  if (lua_pcall(L, 2, 2, 0) != LUA_OK) {
    lua_pop(L, 1);
    return fail(KV_LIMIT_EXCEEDED, "not enough memory", error);
  }
  if (error) {
    kv_str message = {NULL, 0};
    message.data = lua_tolstring(L, -1, &message.length);
    size_t count = kvl_steps_at(L, lua_absindex(L, -2), steps);
    *error = kv_error_new(status, message, steps, count);
    if (!*error) fail(status, "an error whose text is not UTF-8", error);
  }
  lua_pop(L, 2);
  return status;
}

/* Whether something may be at the index: Lua checks none. Upvalues, and an
 * environment, are those of the C function that runs, if one does. */
static int is_index(lua_State *L, int index) {
  lua_Debug running;
  int top = lua_gettop(L);
  if (index > LUA_REGISTRYINDEX)
    return index != 0 && index >= -top && index <= top;
  if (index == LUA_REGISTRYINDEX) return 1;
#ifdef LUA_GLOBALSINDEX
  if (index == LUA_GLOBALSINDEX) return 1;
#endif
  return index >= lua_upvalueindex(255) && lua_getstack(L, 0, &running) &&
         lua_getinfo(L, "S", &running) && *running.what == 'C';
}

/* Calls `body` with the call, and with the value at `index`, where there is
 * one, as arguments; leaves its results. */
static kv_status protect(lua_State *L, lua_CFunction body, Call *call,
                         int index, int results, kv_error **error) {
  if (!is_index(L, index)) index = 0;
  if (index) index = lua_absindex(L, index);
  push_protected(L, body, call);
  if (index)
    lua_pushvalue(L, index);
  else
    lua_pushnil(L);
  int outcome = lua_pcall(L, 2, results, 0);
  if (outcome == LUA_OK) return KV_OK;
  if (outcome != LUA_ERRMEM) return report(L, error);
  lua_pop(L, 1);
  return fail(KV_LIMIT_EXCEEDED, "not enough memory", error);
}

/* Runs a body that needs the module; the call's state is set. */
static kv_status protect_open(lua_State *L, lua_CFunction body, Call *call,
                              int index, int results, kv_error **error) {
  if (error) *error = NULL;
  if (!L) return fail(KV_INVALID_ARGUMENT, "the Lua state is NULL", error);
  if (!make_room(L, 8))
    return fail(KV_LIMIT_EXCEEDED, "the Lua stack is full", error);
  call->state = kvl_find_state(L);
  if (!call->state || call->state->is_over)
    return fail(KV_MISUSE, "the module is not open: call kv_lua_open() first",
                error);
  return protect(L, body, call, index, results, error);
}

/* ---- Opening */

static int open_body(lua_State *L) {
  const Call *call = lua_touserdata(L, 1);
  lua_settop(L, 0);
  if (call->options && kvl_is_open(L))
    return luaL_error(L, "the module is open already: its policy stays");
  kvl_open_module(L, call->options);
  if (!kvl_find_state(L))
    return luaL_error(L,
                      "another copy of this library has opened the module, "
                      "and values of the one are none of the other");
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "kvcodable");
  lua_pop(L, 1);
  return 1;
}

/* Copies a program's options, which are fewer where it was built with an older
 * header; gives whether this version knows them all. */
static int copy_options(const kv_lua_options *given, kv_lua_options *options) {
  if (given->size < sizeof given->size || given->size > sizeof *options)
    return 0;
  memset(options, 0, sizeof *options);
  memcpy(options, given, given->size);
  return !(options->policy & ~KVL_POLICIES);
}

EXPORT kv_status kv_lua_open(struct lua_State *L, const kv_lua_options *options,
                             kv_error **error) {
  Call call = {0};
  kv_lua_options copy;
  if (!L) return fail(KV_INVALID_ARGUMENT, "the Lua state is NULL", error);
  if (options && !copy_options(options, &copy))
    return fail(KV_INVALID_ARGUMENT, "Expected the options of this version",
                error);
  call.options = options ? &copy : NULL;
  if (error) *error = NULL;
  if (!make_room(L, 8))
    return fail(KV_LIMIT_EXCEEDED, "the Lua stack is full", error);
  return protect(L, open_body, &call, 0, 1, error);
}

/* ---- Stores */

static int push_store_body(lua_State *L) {
  const Call *call = lua_touserdata(L, 1);
  kv_error *error = NULL;
  lua_settop(L, 0);
  kvl_handle *handle = kvl_new_store(L);
  kv_store *store = NULL;
  uint32_t flags = (call->flags | call->state->policy) & KV_LUA_READ_ONLY
                       ? KV_READ_ONLY_HANDLE
                       : 0;
  kv_status status =
      kv_store_share(call->store, flags, call->root, call->root_count,
                     call->state->quota, &store, &error);
  if (status != KV_OK) return kvl_raise(L, call->state, status, error);
  kvl_set_store(handle, store);
  handle->is_hosts = 1;
  handle->root = call->root_count;
  if (call->root_count > 0)
    kvl_push_part(L, call->root, call->root_count)->owns_session = 1;
  return 1;
}

EXPORT kv_status kv_lua_push_store(struct lua_State *L, const kv_store *store,
                                   const kv_step *root, size_t root_count,
                                   uint32_t flags, kv_error **error) {
  Call call = {0};
  call.store = store;
  call.root = root;
  call.root_count = root_count;
  call.flags = flags;
  if (flags & ~KV_LUA_READ_ONLY)
    return fail(KV_INVALID_ARGUMENT, "flags that do not exist", error);
  if (root_count > KVL_STEPS || (!root && root_count > 0))
    return fail(KV_INVALID_ARGUMENT, "Expected a path as root", error);
  size_t room = KV_PATH_BYTES;
  for (size_t i = 0; i < root_count; i++) {
    if (!root[i].key.data && root[i].index < 0)
      return fail(KV_INVALID_ARGUMENT, "Expected indexes from 0", error);
    size_t length = root[i].key.data ? root[i].key.length : 0;
    if (length > room)
      return fail(KV_LIMIT_EXCEEDED, "The keys of the root are too long",
                  error);
    room -= length;
  }
  return protect_open(L, push_store_body, &call, 0, 1, error);
}

static int to_store_body(lua_State *L) {
  const Call *call = lua_touserdata(L, 1);
  kv_error *error = NULL;
  const kvl_handle *handle = kvl_handle_at(L, 2);
  if (!handle || handle->session->is_transaction) {
    kvl_push_failure(L, KV_TYPE_MISMATCH, NULL, 0, "Expected a store",
                     handle ? "a transaction" : luaL_typename(L, 2));
    return lua_error(L);
  }
  if (!handle->session->store) {
    kvl_push_failure(L, KV_CLOSED, NULL, 0, "The store is closed", NULL);
    return lua_error(L);
  }
  kv_status status = kv_store_share(handle->session->store, 0, NULL, 0, 0,
                                    call->given_store, &error);
  if (status != KV_OK) return kvl_raise(L, call->state, status, error);
  return 0;
}

EXPORT kv_status kv_lua_to_store(struct lua_State *L, int index,
                                 kv_store **store, kv_error **error) {
  Call call = {0};
  call.given_store = store;
  return protect_open(L, to_store_body, &call, index, 0, error);
}

EXPORT kv_status kv_lua_store_root(struct lua_State *L, int index, size_t step,
                                   kv_step *root) {
  if (!L) return KV_INVALID_ARGUMENT;
  if (!make_room(L, 8)) return KV_ABSENT;
  const kvl_handle *handle =
      is_index(L, index) ? kvl_handle_at(L, index) : NULL;
  if (!handle || !handle->is_part) return KV_ABSENT;
  lua_getiuservalue(L, index, KVL_PREFIX);
  kv_status status = KV_ABSENT;
  if (step < lua_rawlen(L, -1)) {
    status = KV_OK;
    kv_step found = {{NULL, 0}, 0};
    if (lua_rawgeti(L, -1, (lua_Integer)step + 1) == LUA_TSTRING)
      found.key.data = lua_tolstring(L, -1, &found.key.length);
    else
      found.index = lua_tointeger(L, -1) - 1;
    if (root) *root = found;
    lua_pop(L, 1); /* the handle's table keeps the string */
  }
  lua_pop(L, 1);
  return status;
}

/* ---- Values and watches */

static int push_tree_body(lua_State *L) {
  const Call *call = lua_touserdata(L, 1);
  kv_tree *copy = NULL;
  kv_cursor root = kv_tree_root(call->tree);
  if (kv_cursor_copy(&root, &copy) != KV_OK)
    return luaL_error(L, "the tree is NULL");
  kvl_push_tree(L, call->state, copy);
  return 1;
}

EXPORT kv_status kv_lua_push_tree(struct lua_State *L, const kv_tree *tree,
                                  kv_error **error) {
  Call call = {0};
  call.tree = tree;
  if (!tree) return fail(KV_INVALID_ARGUMENT, "the tree is NULL", error);
  return protect_open(L, push_tree_body, &call, 0, 1, error);
}

static int to_tree_body(lua_State *L) {
  const Call *call = lua_touserdata(L, 1);
  kv_tree *tree = kvl_to_tree(L, call->state, 2, NULL);
  if (call->given_tree)
    *call->given_tree = tree;
  else
    kv_tree_free(tree);
  return 0;
}

EXPORT kv_status kv_lua_to_tree(struct lua_State *L, int index, kv_tree **tree,
                                kv_error **error) {
  Call call = {0};
  call.given_tree = tree;
  return protect_open(L, to_tree_body, &call, index, 0, error);
}

static int pump_body(lua_State *L) {
  const Call *call = lua_touserdata(L, 1);
  lua_Integer calls = kvl_pump(L, call->state);
  if (call->calls) *call->calls = (size_t)calls;
  return 0;
}

EXPORT kv_status kv_lua_pump(struct lua_State *L, size_t *calls,
                             kv_error **error) {
  Call call = {0};
  call.calls = calls;
  return protect_open(L, pump_body, &call, 0, 0, error);
}
