/* open.c: opening stores. */
#include <string.h>

#include "store.h"

/* The value of the option, an integer from 1; 0 where it is not given. */
static uint64_t check_limit(lua_State *L, int index, const char *name) {
  int is_integer = 1;
  lua_Integer limit = 0;
  if (kvl_get_option(L, index, name, LUA_TNUMBER)) {
    limit = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || limit < 1)
      luaL_error(L, "bad option '%s': expected an integer from 1", name);
  }
  lua_pop(L, 1);
  return (uint64_t)limit;
}

/* In the order of kv_engine. */
static const char *const engines[] = {"automatic", "memory", "file", "sqlite",
                                      NULL};

static void lower(uint64_t *limit, uint64_t most) {
  if (*limit == 0 || *limit > most) *limit = most;
}

static void check_options(lua_State *L, int index, kv_store_options *options) {
  static const char *const durabilities[] = {"coalesced", "immediate", "manual",
                                             NULL};
  static const char *const names[] = {
      "defaults",    "format",        "durability",
      "synchronous", "engine",        "timeout",
      "read_only",   "global_domain", "arguments",
      "suites",      "context",       "managed_file",
      "types",       "schema",        "on_corruption",
      "max_bytes",   "max_nodes",     "settle_time",
      NULL};
  options->size = sizeof *options;
  if (lua_isnoneornil(L, index)) return;
  kvl_check_options(L, index, names);
  options->format = kvl_check_format(L, index);
  options->durability = (kv_durability)kvl_check_word_option(
      L, index, "durability", durabilities);
  options->engine =
      (kv_engine)kvl_check_word_option(L, index, "engine", engines);
  static const char *const synchronous[] = {"full", "normal", NULL};
  options->sqlite_normal =
      kvl_check_word_option(L, index, "synchronous", synchronous);
  static const char *const corruptions[] = {"error", "recover", NULL};
  options->on_corruption = (kv_corruption)kvl_check_word_option(
      L, index, "on_corruption", corruptions);
  options->max_bytes = check_limit(L, index, "max_bytes");
  options->max_nodes = check_limit(L, index, "max_nodes");
  lua_getfield(L, index, "read_only");
  options->read_only = lua_toboolean(L, -1);
  if (kvl_get_option(L, index, "timeout", LUA_TNUMBER))
    options->timeout = lua_tonumber(L, -1);
  if (kvl_get_option(L, index, "settle_time", LUA_TNUMBER))
    options->settle_time = lua_tonumber(L, -1);
  lua_getfield(L, index, "global_domain");
  options->without_global_domain =
      lua_isboolean(L, -1) && !lua_toboolean(L, -1);
  lua_pop(L, 4);
}

/* The names that an option lists, borrowed: they stay on the stack. */
static void check_names(lua_State *L, int index, const char *option,
                        const kv_str **names, size_t *count) {
  if (!kvl_get_option(L, index, option, LUA_TTABLE)) return;
  int table = lua_gettop(L);
  *count = (size_t)lua_rawlen(L, table);
  kv_str *found = lua_newuserdatauv(L, (*count + 1) * sizeof *found, 0);
  lua_createtable(L, (int)*count,
                  0); /* of the strings, which stay as they are */
  for (size_t i = 0; i < *count; i++) {
    if (lua_rawgeti(L, table, (lua_Integer)i + 1) != LUA_TSTRING)
      luaL_error(L, "bad option '%s': expected names, found %s", option,
                 luaL_typename(L, -1));
    found[i].data = lua_tolstring(L, -1, &found[i].length);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  *names = found;
}

/* Strings that the options name are borrowed: they stay on the stack. 0 where
 * the host forbids one: then nil and the error are on top. */
static int check_layers(lua_State *L, const kvl_state *state, int index,
                        kv_store_options *options) {
  if (kvl_get_option(L, index, "managed_file", LUA_TSTRING)) {
    if (kvl_is_forbidden(L, state, KV_LUA_NO_FILES)) return 0;
    options->managed_file.data =
        lua_tolstring(L, -1, &options->managed_file.length);
  }
  check_names(L, index, "suites", &options->suites, &options->suite_count);
  return 1;
}

typedef kv_status (*Opener)(kv_str, const kv_store_options *, kv_store **,
                            kv_error **);

/* The dictionary at `index`, in a box on top; NULL for nil. */
static kv_tree *option_tree(lua_State *L, kvl_state *state, int index) {
  if (lua_isnil(L, index)) return NULL;
  kv_tree *tree = kvl_to_tree(L, state, index, NULL);
  kvl_keep(L, state, tree, kvl_free_tree);
  return tree;
}

/* Pushes the scope of the types in the options at 2, and sets it in the handle
 * at 3; gives its stack index, 0 for none. */
static int push_scope(lua_State *L) {
  if (lua_getfield(L, 2, "types") == LUA_TNIL) return 0;
  kvl_push_scope(L, lua_gettop(L));
  lua_pushvalue(L, -1);
  kvl_set_scope(L, 3);
  return lua_gettop(L);
}

/* Whether the option `schema` is the word for the type that others publish. */
static int is_published(lua_State *L, int index) {
  return lua_type(L, index) == LUA_TSTRING &&
         strcmp(lua_tostring(L, index), "published") == 0;
}

static int no_published_type(lua_State *L) {
  kvl_push_failure(L, KV_INVALID_TYPE, NULL, 0,
                   "No type is published for the store", NULL);
  return kvl_return_failure(L);
}

static int open_with(lua_State *L, Opener opener, uint32_t forbidden) {
  kvl_state *state = kvl_state_of(L);
  kv_store_options options;
  kv_error *error = NULL;
  kv_tree *defaults = NULL, *arguments = NULL;
  kv_store *store = NULL;
  const kv_type *published = NULL;
  kv_str name;
  memset(&options, 0, sizeof options);
  if (kvl_is_forbidden(L, state, forbidden)) return 2;
  name.data = luaL_checklstring(L, 1, &name.length);
  lua_settop(L, 2);
  luaL_checkstack(L, LUA_MINSTACK * 2, NULL); /* borrowed strings stay on it */
  check_options(L, 2, &options);
  if (state->policy & KV_LUA_READ_ONLY) options.read_only = 1;
  /* A script's own limits only lower the host's. */
  if (state->policy) {
    lower(&options.max_bytes, state->quota);
    lower(&options.max_nodes, state->max_nodes);
  }
  kvl_handle *handle = kvl_new_store(L);
  if (lua_istable(L, 2)) {
    lua_getfield(L, 2, "context");
    kvl_set_context(L, 3);
    int scope = push_scope(L);
    lua_getfield(L, 2, "schema");
    int schema = lua_gettop(L);
    if (is_published(L, schema)) {
      kv_status status = kvl_push_published(L, name, &published, &error);
      if (status == KV_ABSENT) return no_published_type(L);
      if (status != KV_OK) return kvl_return_error(L, state, status, error);
    }
    if (!check_layers(L, state, 2, &options)) return 2;
    lua_getfield(L, 2, "arguments");
    lua_getfield(L, 2, "defaults");
    int top = lua_gettop(L);
    defaults = option_tree(L, state, top);
    arguments = option_tree(L, state, top - 1);
    /* After the last Lua call: a metamethod may do anything. */
    int converts = 0;
    options.schema =
        published ? published
                  : kvl_check_type_in(L, state, schema, scope, &converts);
    if (converts) kvl_set_schema(L, 3, schema);
  }
  options.defaults = defaults;
  options.arguments = arguments;
  kv_status status = opener(name, &options, &store, &error);
  if (store) kvl_set_store(handle, store);
  if (arguments) kvl_drop(L, state, -1);
  if (defaults) kvl_drop(L, state, -1);
  if (status != KV_OK) return kvl_return_error(L, state, status, error);
  lua_settop(L, 3);
  return 1;
}

/* kv.open(name, options?) */
static int open_name(lua_State *L) {
  return open_with(L, kv_store_open, KV_LUA_NO_STORES);
}

/* kv.open_file(path, options?) */
static int open_file(lua_State *L) {
  return open_with(L, kv_store_open_file, KV_LUA_NO_STORES | KV_LUA_NO_FILES);
}

/* The engine that the options at `index`, which have no other, name. */
static kv_engine check_engine(lua_State *L, int index) {
  static const char *const names[] = {"engine", NULL};
  kvl_check_options(L, index, names);
  return (kv_engine)kvl_check_word_option(L, index, "engine", engines);
}

/* kv.stores(options?): the names of the stores that kv.open finds, sorted */
static int stores(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_tree *names = NULL;
  if (kvl_is_forbidden(L, state, KV_LUA_NO_STORES)) return 2;
  lua_settop(L, 1);
  kv_status status = kv_store_names(check_engine(L, 1), &names, &error);
  if (status != KV_OK) return kvl_return_error(L, state, status, error);
  kvl_push_tree(L, state, names);
  return 1;
}

/* kv.path(name, options?): the file of the store; nil for one in memory */
static int path_of(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_bytes path = {NULL, 0};
  kv_str name;
  if (kvl_is_forbidden(L, state, KV_LUA_NO_STORES)) return 2;
  name.data = luaL_checklstring(L, 1, &name.length);
  lua_settop(L, 2);
  kv_status status = kv_store_path(name, check_engine(L, 2), &path, &error);
  if (status < 0) return kvl_return_error(L, state, status, error);
  if (status == KV_ABSENT)
    lua_pushnil(L);
  else
    kvl_push_bytes(L, state, &path);
  return 1;
}

void kvl_open_opening(lua_State *L) {
  static const luaL_Reg functions[] = {{"open", open_name},
                                       {"open_file", open_file},
                                       {"stores", stores},
                                       {"path", path_of},
                                       {NULL, NULL}};
  kvl_set_functions(L, functions);
}
