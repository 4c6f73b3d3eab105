/* bulk.c: layers, converting getters, and the functions of whole stores. */
#include <string.h>

#include "store.h"

static kv_str check_text(lua_State *L, int index) {
  kv_str text;
  text.data = luaL_checklstring(L, index, &text.length);
  return text;
}

/* The names of layers, in the order of kv_layer. */
static const char *const layers[] = {"managed", "arguments",     "application",
                                     "suite",   "global",        "registered",
                                     "schema",  "administrator", NULL};

/* store:layer(name, index?): the dictionary of one layer; suites count from 1
 */
static int store_layer(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_tree *tree = NULL;
  kvl_check_whole(L);
  int layer = luaL_checkoption(L, 2, NULL, layers);
  lua_Integer suite = luaL_optinteger(L, 3, 1);
  luaL_argcheck(L, suite >= 1, 3, "suites count from 1");
  kv_store *store = kvl_check_whole(L);
  kv_status status =
      kv_store_layer(store, (kv_layer)layer, (size_t)suite - 1, &tree, &error);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  kvl_push_tree(L, state, tree);
  return 1;
}

/* store:file(): its path; nil for a store in memory; nil and an error where it
 * is the host's, whose file is not named */
static int store_file(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_bytes file = {NULL, 0};
  kv_store *store = kvl_check_store(L);
  if (kvl_is_hosts(L, 1)) {
    kvl_push_failure(L, KV_ACCESS_DENIED, NULL, 0,
                     "The host of this script does not tell the store's file",
                     NULL);
    return kvl_return_failure(L);
  }
  kv_status status = kv_store_file(store, &file, &error);
  if (status < 0) return kvl_raise(L, state, status, error);
  if (status == KV_ABSENT)
    lua_pushnil(L);
  else
    kvl_push_bytes(L, state, &file);
  return 1;
}

/* store:origin(path): a table of the layer, a suite's number, and the file,
 * unless that is a host's; nil where there is no value */
static int store_origin(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kvl_path path;
  kv_error *error = NULL;
  kv_origin origin = {.size = sizeof origin};
  kv_store *store = kvl_check_store(L);
  int is_hosts = kvl_is_hosts(L, 1);
  kvl_full_path(L, 2, &path);
  lua_newtable(L);
  kv_status status =
      kv_store_origin(store, path.steps, path.count, &origin, &error);
  if (status < 0) return kvl_raise(L, state, status, error);
  if (status == KV_ABSENT) return 0;
  if (is_hosts) kv_bytes_free(&origin.file);
  if (origin.file.data) {
    kvl_push_bytes(L, state, &origin.file);
    lua_setfield(L, -2, "file");
  }
  lua_pushstring(L, layers[origin.layer]);
  lua_setfield(L, -2, "layer");
  if (origin.layer == KV_LAYER_SUITE) {
    lua_pushinteger(L, (lua_Integer)origin.suite + 1);
    lua_setfield(L, -2, "suite");
  }
  return 1;
}

/* store:is_forced(path) */
static int store_is_forced(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kvl_path path;
  kv_error *error = NULL;
  int is_forced = 0;
  kv_store *store = kvl_check_store(L);
  kvl_full_path(L, 2, &path);
  luaL_argcheck(L, path.count > 0, 2, "expected a key");
  kv_status status =
      kv_store_is_forced(store, path.steps, path.count, &is_forced, &error);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  lua_pushboolean(L, is_forced);
  return 1;
}

/* store:NAME_for_key(key): the value, converted as UserDefaults converts */
#define CONVERTING(name, value_type, push)                                    \
  static int store_##name(lua_State *L) {                                     \
    kvl_state *state = kvl_state_of(L);                                       \
    kv_error *error = NULL;                                                   \
    value_type value = 0;                                                     \
    kv_str key = check_text(L, 2);                                            \
    kv_store *store = kvl_check_whole(L);                                     \
    kv_status status = kv_store_##name##_for_key(store, key, &value, &error); \
    if (status != KV_OK) return kvl_raise(L, state, status, error);           \
    push(L, value);                                                           \
    return 1;                                                                 \
  }

CONVERTING(bool, int, lua_pushboolean)
CONVERTING(integer, int64_t, kvl_push_integer)
CONVERTING(double, double, lua_pushnumber)

/* store:string_for_key(key) */
static int store_string(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_bytes value = {NULL, 0};
  kv_str key = check_text(L, 2);
  kv_store *store = kvl_check_whole(L);
  kv_status status = kv_store_string_for_key(store, key, &value, &error);
  if (status < 0) return kvl_raise(L, state, status, error);
  if (status == KV_ABSENT)
    lua_pushnil(L);
  else
    kvl_push_bytes(L, state, &value);
  return 1;
}

static kvl_size size_of(const kv_tree *tree) {
  kvl_size size = {0, 0};
  kv_view view;
  if (kv_tree_view(tree, &view) == KV_OK) kvl_add_size(&size, view.node);
  return size;
}

/* Raises unless what the store exports is within the limits of what kv.encode
 * writes in the format. As text it may be many times as large as the store,
 * whose own limits count what its file takes. */
static void check_export(lua_State *L, const kvl_state *state,
                         const kv_store *store, kv_format format) {
  kv_tree *tree = NULL;
  if (!state->is_bounded || format == KV_FORMAT_BINARY ||
      kv_store_layer(store, KV_LAYER_APPLICATION, 0, &tree, NULL) != KV_OK)
    return; /* exporting gives that error */
  kvl_size size = size_of(tree);
  int may_write = kvl_may_write(state, format, tree);
  kv_tree_free(tree);
  if (size.nodes > state->max_nodes)
    kvl_push_too_large(L, state->max_nodes, "values and keys");
  else if (size.bytes > state->max_bytes)
    kvl_push_too_large(L, state->max_bytes, "bytes of strings and data");
  else if (!may_write)
    kvl_push_too_large(L, state->max_bytes, "bytes of text");
  else
    return;
  lua_error(L);
}

/* store:export(options?): bytes */
static int store_export(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_bytes bytes = {NULL, 0};
  static const char *const names[] = {"format", NULL};
  kvl_check_whole(L);
  kvl_check_options(L, 2, names);
  kv_format format = kvl_check_format(L, 2);
  kv_store *store = kvl_check_whole(L);
  check_export(L, state, store, format);
  kv_status status = kv_store_export(store, format, &bytes, &error);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  kvl_push_bytes(L, state, &bytes);
  return 1;
}

/* store:import(bytes, options?): sets the entries of a property list, all or
 * none */
static int store_import(lua_State *L) {
  static const char *const names[] = {"format", "nulls", NULL};
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_decode_options options;
  kv_str bytes = check_text(L, 2);
  kvl_check_whole(L);
  kvl_check_options(L, 3, names);
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.format = kvl_check_format(L, 3);
  options.drop_nulls = kvl_check_nulls(L, 3, "refuse");
  if (!kvl_may_decode(L, state, bytes, &options)) return lua_error(L);
  kv_store *store = kvl_check_whole(L);
  kv_status status = kv_store_import(store, bytes, &options, &error);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  return 0;
}

/* store:copy_to(other): replaces the other's values */
static int store_copy(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_store *store = kvl_check_whole(L);
  const kvl_handle *other = kvl_handle_at(L, 2);
  luaL_argcheck(L, other && !other->is_part && other->store, 2,
                "expected an open, whole store");
  kv_status status = kv_store_copy(store, other->store, &error);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  return 0;
}

/* store:generation() */
static int store_generation(lua_State *L) {
  kv_store *store = kvl_check_store(L);
  kvl_push_integer(L, (int64_t)kv_store_generation(store));
  return 1;
}

/* store:compare_and_set(path, value, generation): false where the store has
 * changed since */
static int store_compare_and_set(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kvl_path path;
  kv_error *error = NULL;
  kv_store *store = kvl_check_store(L);
  uint64_t generation = (uint64_t)kvl_check_integer(L, 4);
  lua_settop(L, 3);
  if (((const kvl_handle *)lua_touserdata(L, 1))->converts)
    kvl_convert_by_schema(L, 2, 0);
  kvl_full_path(L, 2, &path);
  kvl_check_writable(L, state, store, &path);
  if (!kvl_to_nodes(L, state, 3, &path)) return lua_error(L);
  store = kvl_check_store(L); /* after the last Lua call */
  kvl_settle(state, kvl_check_session(L), &path, NULL);
  kv_tree *tree = kvl_written_tree(L, state, &path);
  if (!tree) return lua_error(L);
  kv_status status = kv_store_compare_and_set(store, path.steps, path.count,
                                              tree, generation, &error);
  kv_tree_free(tree);
  if (status == KV_CONFLICT) {
    kv_error_free(error);
    lua_pushboolean(L, 0);
    return 1;
  }
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  lua_pushboolean(L, 1);
  return 1;
}

/* store:migrate_archive(path, type, options?): whether there was an archive */
static int store_migrate_archive(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kvl_path path;
  kv_error *error = NULL;
  uint32_t flags = 0;
  kvl_check_store(L);
  lua_settop(L, 4);
  if (!lua_isnil(L, 4)) {
    static const char *const names[] = {"keep", NULL};
    kvl_check_options(L, 4, names);
    lua_getfield(L, 4, "keep");
    if (lua_toboolean(L, -1)) flags = KV_KEEP_OLD;
    lua_pop(L, 1);
  }
  const kv_type *type = kvl_check_own_type(L, state, 3, NULL);
  luaL_argcheck(L, type, 3, "expected a type");
  kvl_full_path(L, 2, &path);
  const kvl_handle *handle = lua_touserdata(L, 1);
  if (flags && handle->is_hosts && path.count == handle->root) {
    kvl_push_failure(L, KV_ACCESS_DENIED, NULL, 0,
                     "Beside the root of the host's handle nothing is kept",
                     NULL);
    return lua_error(L);
  }
  kv_store *store = kvl_check_store(L);
  kv_status status = kv_store_migrate_archive(store, path.steps, path.count,
                                              type, flags, &error);
  if (status < 0) return kvl_raise(L, state, status, error);
  lua_pushboolean(L, status == KV_OK);
  return 1;
}

/* ---- Closing */

/* store:sync() */
static int store_sync(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_store *store = kvl_check_store(L);
  kv_status status = kv_store_sync(store, &error);
  if (status != KV_OK) return kvl_return_error(L, state, status, error);
  lua_pushboolean(L, 1);
  return 1;
}

/* The size of a dictionary's entries whose keys the other has, too. */
static kvl_size size_of_common(const kv_view *view, const kv_view *other) {
  const kv_node *end = view->node + view->node->payload;
  const kv_node *other_end = other->node + other->node->payload;
  const kv_node *key = end - view->node->count;
  const kv_node *other_key = other_end - other->node->count;
  kvl_size sum = {0, 0};
  while (key < end && other_key < other_end) {
    int order = kvl_compare_keys(view, key, other, other_key);
    if (order == 0) {
      kvl_add_size(&sum, view->node + (key->head & ~KV_NODE_KEY));
      sum.nodes++;
      sum.bytes += key->count;
    }
    if (order <= 0) key++;
    if (order >= 0) other_key++;
  }
  return sum;
}

/* The size of the script's defaults with all that are registered; nothing where
 * registering them gives an error. */
static kvl_size size_of_registered(const kv_store *store,
                                   const kv_tree *defaults) {
  kv_tree *registered = NULL;
  kv_view old, new;
  if (kv_tree_view(defaults, &new) != KV_OK ||
      new.node->head != KV_NODE_DICTIONARY ||
      kv_store_layer(store, KV_LAYER_REGISTERED, 0, &registered, NULL) != KV_OK)
    return (kvl_size){0, 0};
  kv_tree_view(registered, &old);
  kvl_size sum = {0, 0};
  kvl_add_size(&sum, old.node);
  kvl_add_size(&sum, new.node);
  kvl_size less = size_of_common(&old, &new);
  kv_tree_free(registered);
  sum.nodes -= less.nodes + 1; /* one root */
  sum.bytes -= less.bytes;
  return sum;
}

/* store:register(defaults) */
static int store_register(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kvl_path everything;
  kvl_check_whole(L);
  luaL_checktype(L, 2, LUA_TTABLE);
  kvl_clear_path(&everything);
  if (!kvl_to_nodes(L, state, 2, NULL)) return lua_error(L);
  kv_store *store = kvl_check_whole(L); /* after the last Lua call */
  kvl_settle(state, kvl_check_session(L), &everything, NULL);
  kv_tree *defaults = kvl_written_tree(L, state, NULL);
  if (!defaults) return lua_error(L);
  kvl_size size = {0, 0};
  kv_status status = KV_OK;
  if (state->is_bounded) size = size_of_registered(store, defaults);
  int fits = size.nodes <= state->max_nodes && size.bytes <= state->max_bytes;
  if (fits) status = kv_store_register(store, defaults, &error);
  kv_tree_free(defaults);
  if (status != KV_OK) return kvl_raise(L, state, status, error);
  if (fits) return 0;
  if (size.nodes > state->max_nodes)
    kvl_push_too_large(L, state->max_nodes, "registered values and keys");
  else
    kvl_push_too_large(L, state->max_bytes, "bytes of registered defaults");
  return lua_error(L);
}

void kvl_open_bulk(lua_State *L) {
  static const luaL_Reg methods[] = {{"sync", store_sync},
                                     {"file", store_file},
                                     {"register", store_register},
                                     {"layer", store_layer},
                                     {"is_forced", store_is_forced},
                                     {"origin", store_origin},
                                     {"bool_for_key", store_bool},
                                     {"integer_for_key", store_integer},
                                     {"double_for_key", store_double},
                                     {"string_for_key", store_string},
                                     {"export", store_export},
                                     {"import", store_import},
                                     {"copy_to", store_copy},
                                     {"generation", store_generation},
                                     {"compare_and_set", store_compare_and_set},
                                     {"migrate_archive", store_migrate_archive},
                                     {NULL, NULL}};
  kvl_add_store_methods(L, methods);
}
