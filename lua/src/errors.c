/* errors.c: the error object. */
#include <stdlib.h>
#include <string.h>

#include "errors.h"

#define ERROR_NAME "kvcodable.error"

static const char *code_name(kv_status status) {
  switch (status) {
    case KV_OK:
      return "ok";
    case KV_ABSENT:
      return "absent";
    case KV_INVALID_ARGUMENT:
      return "invalid_argument";
    case KV_MALFORMED:
      return "malformed";
    case KV_INVALID_VALUE:
      return "invalid_value";
    case KV_LIMIT_EXCEEDED:
      return "limit_exceeded";
    case KV_PATH_MISMATCH:
      return "path_mismatch";
    case KV_TYPE_MISMATCH:
      return "type_mismatch";
    case KV_INVALID_TYPE:
      return "invalid_type";
    case KV_IO:
      return "io";
    case KV_TIMED_OUT:
      return "timed_out";
    case KV_READ_ONLY:
      return "read_only";
    case KV_CLOSED:
      return "closed";
    case KV_CORRUPT:
      return "corrupt";
    case KV_MISUSE:
      return "misuse";
    case KV_UNSUPPORTED:
      return "unsupported";
    case KV_ACCESS_DENIED:
      return "access_denied";
    case KV_NO_SPACE:
      return "no_space";
    case KV_FORCED:
      return "forced";
    case KV_REFUSED:
      return "refused";
    case KV_UNSAFE_LOCATION:
      return "unsafe_location";
    case KV_CONFLICT:
      return "conflict";
    case KV_ROLLED_BACK:
      return "rolled_back";
    case KV_MIGRATION:
      return "migration";
    case KV_INVALID_NAME:
      return "invalid_name";
    case KV_OUTCOME_UNKNOWN:
      return "outcome_unknown";
  }
  return "unknown";
}

/* error:__tostring() */
static int error_tostring(lua_State *L) {
  lua_getfield(L, 1, "message");
  return 1;
}

int kvl_is_error(lua_State *L, int index) {
  if (!lua_istable(L, index) || !lua_getmetatable(L, index)) return 0;
  luaL_getmetatable(L, ERROR_NAME);
  int is_error = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return is_error;
}

/* The operands as texts, as io.open's errors are joined. */
static int error_concat(lua_State *L) {
  for (int i = 1; i <= 2; i++) {
    if (!lua_isstring(L, i) && !kvl_is_error(L, i))
      return luaL_error(L, "attempt to concatenate a %s value",
                        luaL_typename(L, i));
    luaL_tolstring(L, i, NULL);
  }
  lua_concat(L, 2);
  return 1;
}

kv_status kvl_error_status(lua_State *L, int index) {
  kv_status status = KV_MISUSE;
  lua_pushliteral(L, "code");
  if (lua_rawget(L, index) == LUA_TSTRING)
    for (int code = -1; strcmp(code_name((kv_status)code), "unknown") != 0;
         code--)
      if (strcmp(code_name((kv_status)code), lua_tostring(L, -1)) == 0)
        status = (kv_status)code;
  lua_pop(L, 1);
  return status;
}

void kvl_open_errors(lua_State *L) {
  luaL_newmetatable(L, ERROR_NAME);
  lua_pushcfunction(L, error_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pushcfunction(L, error_concat);
  lua_setfield(L, -2, "__concat");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
}

/* Turns the message on top into the error object. */
static void begin_object(lua_State *L, kv_status status) {
  lua_createtable(L, 0, 6);
  lua_insert(L, -2);
  lua_setfield(L, -2, "message");
  lua_pushstring(L, code_name(status));
  lua_setfield(L, -2, "code");
  luaL_setmetatable(L, ERROR_NAME);
}

static void free_error(void *error) { kv_error_free((kv_error *)error); }

static void add_positions(lua_State *L, const kv_error *error) {
  int64_t line, column;
  if (kv_error_position(error, &line, &column) == KV_OK) {
    lua_pushinteger(L, line);
    lua_setfield(L, -2, "line");
    lua_pushinteger(L, column);
    lua_setfield(L, -2, "column");
  }
  if (kv_error_offset(error, &line) == KV_OK) {
    lua_pushinteger(L, line);
    lua_setfield(L, -2, "offset");
  }
  kv_str file = kv_error_file(error);
  if (file.data) {
    lua_pushlstring(L, file.data, file.length);
    lua_setfield(L, -2, "file");
  }
}

/* The error of the host's handle at `index` as the script may see it. Takes the
 * error; raises nothing. */
static kv_error *confine(lua_State *L, int index, kv_error *error) {
  kv_step root[KVL_STEPS];
  const kvl_handle *handle = kvl_handle_at(L, index);
  kv_error *confined = NULL;
  if (handle->root == 0) {
    confined = kv_error_confined(error, NULL, 0);
  } else if (lua_checkstack(L, 4)) {
    lua_getiuservalue(L, index, KVL_PREFIX);
    size_t count = kvl_steps_at(L, lua_gettop(L), root);
    lua_pop(L, 1); /* the handle keeps the table */
    if (count >= handle->root)
      confined = kv_error_confined(error, root, handle->root);
  }
  kv_error_free(error);
  return confined;
}

void kvl_push_error(lua_State *L, kvl_state *state, kv_status status,
                    kv_error *error) {
  /* The store of a method of stores is its first argument, and that of a copy's
   * target the second. */
  int index = kvl_is_hosts(L, 1) ? 1 : 2;
  kvl_push_error_of(L, state, index, status, error);
}

/* Pushes the table of the error's path. */
static void push_error_path(lua_State *L, const kv_error *error) {
  kv_step step;
  lua_newtable(L);
  for (size_t i = 0; kv_error_path_step(error, i, &step) == KV_OK; i++) {
    kvl_push_step(L, &step);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

void kvl_push_error_of(lua_State *L, kvl_state *state, int handle,
                       kv_status status, kv_error *error) {
  kv_bytes text = {NULL, 0};
  if (kvl_is_hosts(L, handle)) error = confine(L, handle, error);
  kvl_keep(L, state, error, free_error);
  luaL_checkstack(L, 8, NULL);
  if (kv_error_describe(error, 1, &text) == KV_OK) {
    kvl_push_bytes(L, state, &text);
  } else {
    lua_pushstring(L, code_name(status));
  }
  begin_object(L, status);
  push_error_path(L, error);
  lua_setfield(L, -2, "path");
  add_positions(L, error);
  kvl_drop(L, state, -2);
}

int kvl_raise(lua_State *L, kvl_state *state, kv_status status,
              kv_error *error) {
  kvl_push_error(L, state, status, error);
  return lua_error(L);
}

/* The error with another path for its own: the library makes its text anew. The
 * error as it is where it cannot have that path. Raises nothing. */
static kv_error *moved(const kv_error *error, const kv_step *path,
                       size_t count) {
  kv_step old[KVL_STEPS];
  size_t length = 0;
  while (length < KVL_STEPS &&
         kv_error_path_step(error, length, &old[length]) == KV_OK)
    length++;
  kv_error *bare = kv_error_confined(error, old, length);
  kv_error *there = kv_error_placed(bare, path, count);
  kv_error_free(bare);
  return there ? there : kv_error_placed(error, NULL, 0);
}

size_t kvl_renamed_steps(lua_State *L, int renaming, kv_step *path) {
  lua_pushvalue(L, renaming);
  lua_insert(L, -2);
  lua_pushvalue(L, 1);
  lua_call(L, 2, 1);
  return kvl_steps_at(L, lua_gettop(L), path);
}

int kvl_raise_renamed(lua_State *L, kvl_state *state, kv_status status,
                      kv_error *error, int renaming) {
  kv_step path[KVL_STEPS];
  if (!lua_isfunction(L, renaming)) return kvl_raise(L, state, status, error);
  kvl_keep(L, state, error, free_error);
  luaL_checkstack(L, 8, NULL);
  push_error_path(L, error);
  size_t count = kvl_renamed_steps(L, renaming, path);
  kv_error *renamed = moved(error, path, count);
  kvl_drop(L, state, -2);
  return kvl_raise(L, state, status, renamed);
}

int kvl_return_failure(lua_State *L) {
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

int kvl_return_error(lua_State *L, kvl_state *state, kv_status status,
                     kv_error *error) {
  kvl_push_error(L, state, status, error);
  return kvl_return_failure(L);
}

static int is_continuation(char byte) { return (byte & 0xC0) == 0x80; }

/* Adds a text as a message quotes it: of more than 80 characters the first and
 * the last 40, as the library does. */
static void add_shown(luaL_Buffer *message, const char *text, size_t length) {
  enum { SHOWN = 40 };
  size_t head = 0, tail = length;
  for (int i = 0; i < SHOWN && head < length; i++)
    for (head++; head < length && is_continuation(text[head]);) head++;
  for (int i = 0; i < SHOWN && tail > head; i++)
    for (tail--; tail > head && is_continuation(text[tail]);) tail--;
  luaL_addlstring(message, text, head);
  if (tail > head) luaL_addstring(message, "\xE2\x80\xA6"); /* … */
  luaL_addlstring(message, text + tail, length - tail);
}

const char *kvl_push_shown(lua_State *L, int index) {
  luaL_Buffer shown;
  size_t length;
  const char *text = luaL_tolstring(L, index, &length);
  luaL_buffinit(L, &shown);
  add_shown(&shown, text, length);
  luaL_pushresult(&shown);
  lua_remove(L, -2);
  return lua_tostring(L, -1);
}

static void add_path_text(luaL_Buffer *text, const kv_step *steps,
                          size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (steps[i].key.data) {
      if (i > 0) luaL_addchar(text, '.');
      add_shown(text, steps[i].key.data, steps[i].key.length);
    } else {
      lua_pushfstring(text->L, "[%s]", KVL_DIGITS(steps[i].index + 1));
      luaL_addvalue(text);
    }
  }
}

typedef struct Failure {
  kv_status status;
  const kv_step *steps;
  size_t count;
  const char *expected;
  const char *separator; /* before the words for the found value */
  const char *found;
} Failure;

static void build_failure(lua_State *L, const Failure *failure) {
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  luaL_addstring(&text, failure->expected);
  if (failure->count > 0 && failure->count < 64) {
    luaL_addstring(&text, " at ");
    add_path_text(&text, failure->steps, failure->count);
  }
  if (failure->found) {
    luaL_addstring(&text, failure->separator);
    luaL_addstring(&text, failure->found);
  }
  luaL_pushresult(&text);
  begin_object(L, failure->status);
  kvl_push_steps(L, failure->steps, failure->count);
  lua_setfield(L, -2, "path");
}

/* The steps borrow from the script's tables and from the state's buffers, which
 * a finalizer could change: they are copied before anything is pushed. To stop
 * the collector instead would cost a collection for each error: it starts
 * without its pause. */
static void push_failure(lua_State *L, Failure *failure) {
  kvl_state *state = kvl_find_state(L);
  luaL_checkstack(L, 16, NULL);
  if (failure->count == 0) {
    build_failure(L, failure);
    return;
  }
  kv_step *steps = kvl_copy_steps(failure->steps, failure->count);
  if (!steps) luaL_error(L, "not enough memory");
  kvl_keep(L, state, steps, free);
  failure->steps = steps;
  build_failure(L, failure);
  kvl_drop(L, state, -2);
}

void kvl_push_failure(lua_State *L, kv_status status, const kv_step *steps,
                      size_t count, const char *expected, const char *found) {
  Failure failure = {status, steps, count, expected, ", found ", found};
  push_failure(L, &failure);
}

void kvl_push_complaint(lua_State *L, kv_status status, const kv_step *steps,
                        size_t count, const char *what, const char *why) {
  Failure failure = {status, steps, count, what, ": ", why};
  push_failure(L, &failure);
}

void kvl_push_too_large(lua_State *L, size_t limit, const char *what) {
  lua_pushfstring(L, "More than %s %s", KVL_DIGITS(limit), what);
  kvl_push_failure(L, KV_LIMIT_EXCEEDED, NULL, 0, lua_tostring(L, -1), NULL);
}

/* Pushes a copy of the error object at `index`: a script may have kept it. */
static void push_copy(lua_State *L, int index) {
  lua_newtable(L);
  int copy = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, index);) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, copy);
  }
  luaL_setmetatable(L, ERROR_NAME);
}

void kvl_name_failure(lua_State *L, int index, const kv_step *steps,
                      size_t count, const char *what) {
  int is_error = kvl_is_error(L, index);
  if (!is_error && !lua_isstring(L, index)) return;
  lua_pushvalue(L, index);
  if (is_error && lua_getfield(L, -1, "message") != LUA_TSTRING) {
    lua_settop(L, index);
    return;
  }
  kvl_push_complaint(L, KV_MISUSE, steps, count, what,
                     luaL_tolstring(L, -1, NULL));
  if (is_error) {
    push_copy(L, index);
    lua_getfield(L, -2, "message");
    lua_setfield(L, -2, "message");
  }
  lua_replace(L, index);
  lua_settop(L, index);
}

/* ---- Policies, and files that are not there */

int kvl_is_forbidden(lua_State *L, const kvl_state *state, uint32_t policy) {
  uint32_t forbidden = state->policy & policy;
  if (!forbidden) return 0;
  if (forbidden == KV_LUA_READ_ONLY)
    kvl_push_failure(L, KV_READ_ONLY, NULL, 0,
                     "The host of this script allows no writing", NULL);
  else
    kvl_push_failure(
        L, KV_ACCESS_DENIED, NULL, 0,
        forbidden & KV_LUA_NO_FILES
            ? "The host of this script allows no files"
            : "The host of this script allows no opening of stores",
        NULL);
  kvl_return_failure(L);
  return 1;
}

int kvl_no_file(lua_State *L, const char *path) {
  lua_pushfstring(L, "Expected a file at %s", path);
  kvl_push_failure(L, KV_ABSENT, NULL, 0, lua_tostring(L, -1), "none");
  lua_pushstring(L, path);
  lua_setfield(L, -2, "file");
  return kvl_return_failure(L);
}
