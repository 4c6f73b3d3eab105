/* types.c: type arguments. The parts of a type are described in types.lua. */
#include <string.h>
#include <sys/stat.h>

#include "conversion.h"

#define TYPE_NAME "kvcodable.type"

/* The compiled form of a type: a userdata in its table, under a key that
 * scripts cannot make. */
typedef struct Compiled {
  const void *mark; /* of the Lua state's module, which no other userdata has */
  kv_type *type;
  kvl_owned *owned;    /* of the type */
  uint64_t generation; /* of the registry, as it was then */
  int converts;        /* whether a converter is in it */
  kvl_size size;       /* of its description */
} Compiled;
static const char compiled_key;
/* Keys of the registry: functions that sugar.lua installs, and a table of types
 * by the texts that mean them. */
static const char compile_function, decode_function, encode_function;
static const char scope_function, known_types;

static int type_gc(lua_State *L) {
  Compiled *compiled = luaL_checkudata(L, 1, TYPE_NAME);
  kvl_state *state = lua_touserdata(L, lua_upvalueindex(1));
  state->types.nodes -= compiled->size.nodes;
  state->types.bytes -= compiled->size.bytes;
  compiled->size = (kvl_size){0, 0};
  compiled->mark = NULL;
  compiled->type = NULL;
  kvl_release(state, &compiled->owned);
  return 0;
}

/* Pushes a userdata for a type. */
static Compiled *new_type(lua_State *L, kvl_state *state) {
  Compiled *compiled = lua_newuserdatauv(L, sizeof *compiled, 0);
  memset(compiled, 0, sizeof *compiled);
  luaL_setmetatable(L, TYPE_NAME);
  compiled->mark = state->type_meta;
  compiled->owned = kvl_own(L, state);
  return compiled;
}

static void free_type(void *type) { kv_type_free((kv_type *)type); }

/* Has the userdata own its type, which was made. */
static void own_type(Compiled *compiled) {
  compiled->owned->object = compiled->type;
  compiled->owned->free_object = free_type;
}

/* ---- The budget of a state's types
 *
 * A type's own memory is outside of Lua's, and one default may be in many
 * types. All that are alive, and those that have a name, have together at most
 * half as much again as one value may have. */

static kvl_size most_of_types(const kvl_state *state) {
  return (kvl_size){state->max_nodes + state->max_nodes / 2,
                    state->max_bytes + state->max_bytes / 2};
}

static int fits(const kvl_state *state, kvl_size size) {
  kvl_size most = most_of_types(state);
  return state->types.nodes + size.nodes <= most.nodes &&
         state->types.bytes + size.bytes <= most.bytes;
}

/* Raises the error of what does not fit. */
static void refuse(lua_State *L, const kvl_state *state, kvl_size size) {
  kvl_size most = most_of_types(state);
  if (state->types.nodes + size.nodes > most.nodes)
    kvl_push_too_large(L, most.nodes, "values and keys in types");
  else
    kvl_push_too_large(L, most.bytes, "bytes of strings and data in types");
  lua_error(L);
}

/* Whether it is time to look for types that are garbage: where as much was
 * described since the last time as is worth it. */
static int may_collect(kvl_state *state) {
  if (state->described.nodes < state->max_nodes / 4 &&
      state->described.bytes < state->max_bytes / 4)
    return 0;
  state->described = (kvl_size){0, 0};
  return 1;
}

/* Writes the description at 1, but no more of its strings than is left for
 * them; gives its size. 0 where it does not fit, or is not whole. Raises. */
static int write_description(lua_State *L, kvl_state *state, kvl_size *size) {
  size_t kept = most_of_types(state).bytes - state->types.bytes;
  *size = kvl_to_nodes_renamed(L, state, 2, kept);
  /* In LuaJIT, finalizers may have made and freed types meanwhile. */
  return fits(state, *size) && size->bytes <= kept;
}

/* Writes the description at 1, counted for a type; gives its size. Raises. */
static kvl_size count_description(lua_State *L, kvl_state *state) {
  kvl_size size;
  int is_written = write_description(L, state, &size);
  state->described.nodes += size.nodes;
  state->described.bytes += size.bytes;
  if (!is_written && (fits(state, size) || may_collect(state))) {
    lua_gc(L, LUA_GCCOLLECT, 0);
    /* A finalizer may have written another value. */
    is_written = write_description(L, state, &size);
  }
  if (!is_written) {
    kvl_trim(state);
    refuse(L, state, size);
  }
  return size;
}

/* ---- Making types */

/* describe(description, named_path?): a type from the table that describes it;
 * an error has the path that the function makes of its path and the
 * description */
static int describe(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  lua_settop(L, 2);
  Compiled *compiled = new_type(L, state);
  kvl_size size = count_description(L, state);
  kv_tree *tree = NULL;
  kv_status status = kvl_take_tree(state, &tree, &error);
  if (status != KV_OK) return kvl_raise_renamed(L, state, status, error, 2);
  compiled->size = size;
  state->types.nodes += size.nodes;
  state->types.bytes += size.bytes;
  status = kv_registry_describe(state->registry, tree, &compiled->type, &error);
  kv_tree_free(tree);
  own_type(compiled);
  if (status == KV_OK) return 1;
  return kvl_raise_renamed(L, state, status, error, 2);
}

/* expression(text): a type from its text */
static int expression(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_str text;
  text.data = luaL_checklstring(L, 1, &text.length);
  Compiled *compiled = new_type(L, state);
  kv_status status =
      kv_registry_type(state->registry, text, &compiled->type, &error);
  own_type(compiled);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  return 1;
}

/* Counts a text's types, which stay as long as the state, where a host bounds
 * it: whatever they mean, they are about as large as the text. Raises. */
static void count_text(lua_State *L, kvl_state *state, size_t length) {
  kvl_size size = {length / 4, length};
  if (!state->is_bounded) return;
  if (!fits(state, size)) refuse(L, state, size);
  state->types.nodes += size.nodes;
  state->types.bytes += size.bytes;
}

/* declare_text(text): the names of the types that a text declares */
static int declare_text(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_tree *names = NULL;
  const kv_str none = {NULL, 0};
  kv_str text;
  text.data = luaL_checklstring(L, 1, &text.length);
  if (state->is_bounded && text.length > state->max_bytes / 4) {
    kvl_push_too_large(L, state->max_bytes / 4, "bytes of a text");
    return lua_error(L);
  }
  count_text(L, state, text.length);
  kv_status status =
      kv_registry_declare(state->registry, text, none, &names, &error);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  kvl_push_tree(L, state, names);
  return 1;
}

/* declare_file(path): the names of the types that the text in a file declares;
 * or nil and an error */
static int declare_file(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_tree *names = NULL;
  kv_str path;
  path.data = luaL_checklstring(L, 1, &path.length);
  struct stat file;
  if (kvl_is_forbidden(L, state, KV_LUA_NO_FILES)) return 2;
  if (stat(path.data, &file) == 0 && file.st_size > 0)
    count_text(L, state, (size_t)file.st_size);
  kv_status status =
      kv_registry_declare_file(state->registry, path, &names, &error);
  if (status == KV_ABSENT) return kvl_no_file(L, path.data);
  if (status != KV_OK) return kvl_return_error(L, state, status, error);
  kvl_push_tree(L, state, names);
  return 1;
}

/* annotate(): the text for editors about the types of the state's registry */
static int annotate(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_bytes text = {NULL, 0};
  kv_status status = kv_registry_annotations(state->registry, &text, &error);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  kvl_push_bytes(L, state, &text);
  return 1;
}

kv_status kvl_push_published(lua_State *L, kv_str name, const kv_type **found,
                             kv_error **error) {
  Compiled *compiled = new_type(L, kvl_state_of(L));
  kv_status status = kv_type_published(name, &compiled->type, error);
  own_type(compiled);
  *found = compiled->type;
  return status;
}

/* kv.json_schema(type) */
static int json_schema(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_bytes text = {NULL, 0};
  luaL_checkany(L, 1);
  const kv_type *type = kvl_check_type(L, state, 1, NULL);
  kv_status status = kv_type_json_schema(type, &text, &error);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  kvl_push_bytes(L, state, &text);
  return 1;
}

/* kv.publish(name, type): the type by its name, which it has in the registry
 * once it is compiled */
static int publish(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_bytes file = {NULL, 0};
  kv_str name, expression;
  if (kvl_is_forbidden(L, state, KVL_POLICIES)) return 2;
  name.data = luaL_checklstring(L, 1, &name.length);
  luaL_checkany(L, 2);
  expression.data = luaL_tolstring(L, 2, &expression.length);
  kvl_check_type(L, state, 2, NULL);
  kv_status status =
      kv_registry_publish(state->registry, expression, name, &file, &error);
  if (status != KV_OK) return kvl_return_error(L, state, status, error);
  kvl_push_bytes(L, state, &file);
  return 1;
}

/* attach(table, type, converts): sets the compiled form of a type's table */
static int attach(lua_State *L) {
  Compiled *compiled = luaL_checkudata(L, 2, TYPE_NAME);
  compiled->converts = lua_toboolean(L, 3);
  compiled->generation = kv_registry_generation(kvl_state_of(L)->registry);
  lua_pushvalue(L, 2);
  lua_rawsetp(L, 1, &compiled_key);
  return 0;
}

/* install(Type, compile, decode, encode, scope, known): the sugar's part of the
 * work, and the metatable of types, which they keep */
static int install(lua_State *L) {
  kvl_state_of(L)->type_tag = lua_topointer(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &known_types);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &scope_function);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &encode_function);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &decode_function);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &compile_function);
  return 0;
}

/* The compiled form of the table at `index`, or NULL. A script may have found
 * the key, by next, and set another value. */
static const Compiled *compiled_at(lua_State *L, const kvl_state *state,
                                   int index) {
  lua_rawgetp(L, index, &compiled_key);
  const Compiled *compiled = lua_touserdata(L, -1);
  if (compiled && (lua_rawlen(L, -1) != sizeof *compiled ||
                   compiled->mark != state->type_meta))
    compiled = NULL;
  lua_pop(L, 1);
  return compiled;
}

/* The compiled form of the text at `index`, which its type replaces; or NULL,
 * also where a name of the host's may have got another meaning since. */
static const Compiled *known_at(lua_State *L, const kvl_state *state, int index,
                                int scope) {
  if (scope && lua_istable(L, scope))
    lua_getfield(L, scope, "known");
  else
    lua_rawgetp(L, LUA_REGISTRYINDEX, &known_types);
  lua_pushvalue(L, index);
  lua_rawget(L, -2);
  const Compiled *compiled =
      lua_istable(L, -1) ? compiled_at(L, state, lua_gettop(L)) : NULL;
  if (compiled &&
      compiled->generation == kv_registry_generation(state->registry))
    lua_replace(L, index);
  else
    compiled = NULL;
  lua_pop(L, compiled ? 1 : 2);
  return compiled;
}

const kv_type *kvl_check_type_in(lua_State *L, kvl_state *state, int index,
                                 int scope, int *converts) {
  const Compiled *compiled = NULL;
  switch (lua_type(L, index)) {
    case LUA_TNONE:
    case LUA_TNIL:
      return NULL;
    case LUA_TTABLE:
      compiled = compiled_at(L, state, index);
      break;
    case LUA_TSTRING:
      compiled = known_at(L, state, index, scope);
  }
  if (compiled) {
    if (converts) *converts = compiled->converts;
    return compiled->type;
  }
  lua_rawgetp(L, LUA_REGISTRYINDEX, &compile_function);
  lua_pushvalue(L, index);
  if (scope)
    lua_pushvalue(L, scope);
  else
    lua_pushnil(L);
  lua_call(L, 2, 1); /* gives the type's table, compiled, or raises */
  lua_replace(L, index);
  compiled = compiled_at(L, state, index);
  if (!compiled) luaL_argerror(L, index, "expected a type");
  if (converts) *converts = compiled->converts;
  return compiled->type;
}

const kv_type *kvl_check_type(lua_State *L, kvl_state *state, int index,
                              int *converts) {
  return kvl_check_type_in(L, state, index, 0, converts);
}

const kv_type *kvl_check_own_type(lua_State *L, kvl_state *state, int index,
                                  int *converts) {
  int kind = lua_type(L, index);
  if (kind <= LUA_TNIL) return NULL;
  if (kind != LUA_TSTRING) return kvl_check_type(L, state, index, converts);
  lua_getiuservalue(L, 1, KVL_SCOPE);
  const kv_type *type =
      kvl_check_type_in(L, state, index, lua_gettop(L), converts);
  lua_pop(L, 1);
  return type;
}

void kvl_push_scope(lua_State *L, int names) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &scope_function);
  lua_pushvalue(L, names);
  lua_call(L, 1, 1);
}

/* Pushes the error of a converter of the value at the path: its message and the
 * table of steps below the value are on top. */
static void push_complaint_at(lua_State *L, kvl_path *path) {
  size_t count;
  luaL_checkstack(L, 8, NULL);
  if (path->count + lua_rawlen(L, -1) <= KVL_STEPS)
    kvl_add_path(L, lua_gettop(L), path);
  const kv_step *steps = kvl_shown_steps(L, path, &count);
  kvl_push_complaint(L, KV_REFUSED, steps, count, "The converter failed",
                     lua_tostring(L, -2));
}

static void push_complaint(lua_State *L, int path_index) {
  kvl_path path;
  kvl_clear_path(&path);
  luaL_checkstack(L, 8, NULL);
  if (path_index) kvl_full_path(L, path_index, &path);
  push_complaint_at(L, &path);
}

static int convert(lua_State *L, const void *function, int type, int context,
                   int path_index) {
  int value = lua_gettop(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, function);
  lua_pushvalue(L, type);
  lua_pushvalue(L, value);
  lua_pushvalue(L, context);
  lua_call(L, 3, 3); /* the value; or nil, the message and the path */
  if (!lua_isnil(L, -1)) {
    push_complaint(L, path_index);
    return 0;
  }
  lua_pop(L, 2);
  lua_replace(L, value);
  return 1;
}

int kvl_try_decoded(lua_State *L, int type, int context) {
  return convert(L, &decode_function, type, context, 0);
}

int kvl_try_encoded(lua_State *L, int type, int context) {
  return convert(L, &encode_function, type, context, 0);
}

void kvl_convert_decoded(lua_State *L, int type, int context, int path_index) {
  if (!convert(L, &decode_function, type, context, path_index)) lua_error(L);
}

void kvl_convert_encoded(lua_State *L, int type, int context, int path_index) {
  if (!convert(L, &encode_function, type, context, path_index)) lua_error(L);
}

/* Calls the function with the schema, the value on top, the context, and the
 * steps of the path, by which it finds the type. */
static void convert_part(lua_State *L, const void *function, int handle,
                         kvl_path *path) {
  int value = lua_gettop(L);
  luaL_checkstack(L, 8, NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, function);
  lua_getiuservalue(L, handle, KVL_SCHEMA);
  lua_pushvalue(L, value);
  lua_getiuservalue(L, handle, KVL_CONTEXT);
  kvl_push_steps(L, path->steps, path->count);
  lua_call(L, 4, 3); /* the value; or nil, the message and the path */
  if (!lua_isnil(L, -1)) {
    push_complaint_at(L, path);
    lua_error(L);
  }
  lua_pop(L, 2);
  lua_replace(L, value);
}

void kvl_decode_by_schema(lua_State *L, int handle, kvl_path *path) {
  convert_part(L, &decode_function, handle, path);
}

void kvl_convert_by_schema(lua_State *L, int index, int is_decoding) {
  kvl_path path;
  kvl_own_path(L, index);
  kvl_full_path(L, index, &path);
  convert_part(L, is_decoding ? &decode_function : &encode_function, 1, &path);
}

void kvl_open_types(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"describe", describe},         {"expression", expression},
      {"annotate", annotate},         {"attach", attach},
      {"install", install},           {"declare_text", declare_text},
      {"declare_file", declare_file}, {"publish", publish},
      {"json_schema", json_schema},   {NULL, NULL}};
  static const luaL_Reg methods[] = {{"__gc", type_gc}, {NULL, NULL}};
  kvl_new_class(L, TYPE_NAME, methods);
  kvl_state_of(L)->type_meta = lua_topointer(L, -1);
  lua_pop(L, 1);
  kvl_set_functions(L, functions);
}
