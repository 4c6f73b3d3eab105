/* codec.c: decode, encode, read, write. */
#include <string.h>

#include "conversion.h"

/* Checks the options of this file's functions: one table may serve them all. */
static void check_options(lua_State *L, int index) {
  static const char *const names[] = {
      "format",         "depth",      "expanded_nodes",
      "expanded_bytes", "file_bytes", "context",
      "class_name_key", "nulls",      NULL};
  kvl_check_options(L, index, names);
}

static size_t limit(lua_State *L, int options, const char *name) {
  lua_getfield(L, options, name);
  int is_integer = 1;
  lua_Integer value = lua_isnil(L, -1) ? 0 : lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || value < 0)
    luaL_error(L, "expected an integer from 0 as '%s'", name);
  lua_pop(L, 1);
  return (size_t)value;
}

/* A script's own limits only lower the host's. */
static void bound(size_t *limit, size_t most) {
  if (*limit == 0 || *limit > most) *limit = most;
}

/* The most bytes that may be decoded. A value of one byte takes 16 bytes, and a
 * key 80 while its dictionary is read: max_nodes ends that long before all
 * bytes are read. */
static size_t most_input(const kvl_state *state) {
  return state->is_bounded ? state->max_bytes / 4 : SIZE_MAX;
}

static void lower(const kvl_state *state, kv_decode_options *options) {
  if (!state->is_bounded) return;
  bound(&options->depth, KV_DEPTH);
  bound(&options->expanded_nodes, state->max_nodes);
  bound(&options->expanded_bytes, state->max_bytes);
  bound(&options->file_bytes, most_input(state));
}

/* The options of reading: format and limits. Raises. */
static kv_decode_options check_decode_options(lua_State *L,
                                              const kvl_state *state,
                                              int index) {
  kv_decode_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  check_options(L, index);
  options.format = kvl_check_format(L, index);
  options.drop_nulls = kvl_check_nulls(L, index, "keep");
  if (!lua_isnoneornil(L, index)) {
    options.depth = limit(L, index, "depth");
    options.expanded_nodes = limit(L, index, "expanded_nodes");
    options.expanded_bytes = limit(L, index, "expanded_bytes");
    options.file_bytes = limit(L, index, "file_bytes");
  }
  lower(state, &options);
  return options;
}

/* Leaves nil and the error of a value larger than the host allows. */
static int too_large(lua_State *L, size_t limit, const char *what) {
  kvl_push_too_large(L, limit, what);
  return kvl_return_failure(L);
}

static int is_too_large(const kvl_state *state, const kv_tree *tree) {
  kv_view view;
  return state->is_bounded && kv_tree_view(tree, &view) == KV_OK &&
         view.node->head >= KV_NODE_ARRAY &&
         view.node->payload > state->max_nodes;
}

/* Gives the stack index of the options' context; without options it is nil, as
 * they are. */
static int push_context(lua_State *L, int options) {
  if (!lua_istable(L, options)) return options;
  lua_getfield(L, options, "context");
  return lua_gettop(L);
}

/* The outcome of decoding: the value, nil, or nil and the error. */
static int push_decoded(lua_State *L, kvl_state *state, kv_status status,
                        kv_tree *tree, kv_error *error, int type, int converts,
                        int context) {
  if (status != KV_OK) return kvl_return_error(L, state, status, error);
  if (is_too_large(state, tree)) {
    kv_tree_free(tree);
    return too_large(L, state->max_nodes, "values and keys");
  }
  kvl_push_tree(L, state, tree);
  if (converts && !kvl_try_decoded(L, type, context))
    return kvl_return_failure(L);
  return 1;
}

/* The tree of the bytes, of a keyed archive that of its plain value. */
static kv_status read_plain(kv_str bytes, const kv_decode_options *options,
                            kv_tree **tree, kv_error **error) {
  const kv_str no_key = {NULL, 0};
  kv_tree *archive = NULL;
  kv_status status = kv_decode(bytes, options, NULL, tree, NULL, error);
  if (status != KV_OK || !kv_tree_is_archive(*tree)) return status;
  archive = *tree;
  *tree = NULL;
  status = kv_tree_unarchive(archive, no_key, options, tree, error);
  kv_tree_free(archive);
  return status;
}

int kvl_may_decode(lua_State *L, kvl_state *state, kv_str bytes,
                   const kv_decode_options *given) {
  kv_decode_options options = *given;
  kv_error *error = NULL;
  kv_tree *tree = NULL;
  if (!state->is_bounded) return 1;
  if (bytes.length > most_input(state)) {
    kvl_push_too_large(L, most_input(state), "bytes to decode");
    return 0;
  }
  lower(state, &options);
  kv_status status = read_plain(bytes, &options, &tree, &error);
  kv_tree_free(tree);
  if (status == KV_LIMIT_EXCEEDED) {
    kvl_push_error(L, state, status, error);
    return 0;
  }
  kv_error_free(error);
  return 1;
}

typedef kv_status (*Reader)(kv_str, const kv_decode_options *, const kv_type *,
                            kv_tree **, kv_format *, kv_error **);

/* The arguments are bytes or a path, a type and options. */
static int read_with(lua_State *L, Reader reader, int is_file) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_tree *tree = NULL;
  kv_str source;
  lua_settop(L, 3);
  source.data = luaL_checklstring(L, 1, &source.length);
  kv_decode_options options = check_decode_options(L, state, 3);
  if (!is_file && source.length > most_input(state))
    return too_large(L, most_input(state), "bytes to decode");
  int context = push_context(L, 3), converts = 0;
  const kv_type *type =
      kvl_check_type(L, state, 2, &converts); /* after all Lua calls */
  kv_status status = reader(source, &options, type, &tree, NULL, &error);
  if (status == KV_ABSENT) return kvl_no_file(L, source.data);
  return push_decoded(L, state, status, tree, error, 2, converts, context);
}

/* kv.decode(bytes, type?, options?) */
static int decode(lua_State *L) { return read_with(L, kv_decode, 0); }

/* kv.read(path, type?, options?) */
static int read_file(lua_State *L) {
  if (kvl_is_forbidden(L, kvl_state_of(L), KV_LUA_NO_FILES)) return 2;
  return read_with(L, kv_read_file, 1);
}

/* The tree to store for the value at `value`, by the type and the options
 * behind it. NULL with the error object on top. */
static kv_tree *to_stored(lua_State *L, kvl_state *state, int value,
                          const kv_type **type, kv_format *format) {
  int converts = 0;
  kvl_check_type(L, state, value + 1, &converts);
  check_options(L, value + 2);
  *format = kvl_check_format(L, value + 2);
  int context = push_context(L, value + 2);
  lua_pushvalue(L, value);
  if (converts && !kvl_try_encoded(L, value + 1, context)) return NULL;
  *type = kvl_check_type(L, state, value + 1, NULL); /* after all Lua calls */
  return kvl_try_tree(L, state, lua_gettop(L), NULL);
}

int kvl_may_write(const kvl_state *state, kv_format format,
                  const kv_tree *tree) {
  kv_view view;
  return !state->is_bounded || format == KV_FORMAT_BINARY ||
         kv_tree_view(tree, &view) != KV_OK ||
         kvl_text_size(&view, format) <= state->max_bytes;
}

/* Replaces the tree by the one to store, where there is a type. */
static kv_status encode_tree(const kv_type *type, kv_tree **tree,
                             kv_error **error) {
  kv_tree *value = *tree;
  if (!type) return KV_OK;
  *tree = NULL;
  kv_status status = kv_type_encode(type, value, NULL, 0, tree, error);
  kv_tree_free(value);
  return status;
}

/* kv.encode(value, type?, options?) */
static int encode(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_bytes bytes = {NULL, 0};
  const kv_type *type;
  kv_format format;
  lua_settop(L, 3);
  kv_tree *tree = to_stored(L, state, 1, &type, &format);
  if (!tree) return kvl_return_failure(L);
  kv_status status = encode_tree(type, &tree, &error);
  if (status != KV_OK) return kvl_return_error(L, state, status, error);
  if (!kvl_may_write(state, format, tree)) {
    kv_tree_free(tree);
    return too_large(L, state->max_bytes, "bytes of text");
  }
  status = kv_encode(tree, format, NULL, &bytes, &error);
  kv_tree_free(tree);
  if (status != KV_OK) return kvl_return_error(L, state, status, error);
  kvl_push_bytes(L, state, &bytes);
  return 1;
}

/* kv.write(path, value, type?, options?) */
static int write_file(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  const kv_type *type;
  kv_format format;
  kv_str path;
  if (kvl_is_forbidden(L, state, KV_LUA_NO_FILES | KV_LUA_READ_ONLY)) return 2;
  lua_settop(L, 4);
  path.data = luaL_checklstring(L, 1, &path.length);
  kv_tree *tree = to_stored(L, state, 2, &type, &format);
  if (!tree) return kvl_return_failure(L);
  kv_status status = kv_write_file(path, tree, format, type, &error);
  kv_tree_free(tree);
  if (status != KV_OK) return kvl_return_error(L, state, status, error);
  lua_pushboolean(L, 1);
  return 1;
}

/* kv.unarchive(value, type?, options?): the plain value of a keyed archive,
 * given as a table or data */
static int unarchive(lua_State *L) {
  kvl_state *state = kvl_state_of(L);
  kv_error *error = NULL;
  kv_tree *plain = NULL, *value = NULL;
  kv_str key = {NULL, 0};
  lua_settop(L, 3);
  kv_decode_options options = check_decode_options(L, state, 3);
  if (kvl_value_kind(L, state, 1) == KVL_DATA) {
    size_t length;
    kvl_data_at(L, 1, &length);
    if (length > most_input(state))
      return too_large(L, most_input(state), "bytes to decode");
  }
  int context = push_context(L, 3), converts = 0;
  if (lua_istable(L, 3) && kvl_get_option(L, 3, "class_name_key", LUA_TSTRING))
    key.data = lua_tolstring(L, -1, &key.length);
  const kv_type *type = kvl_check_type(L, state, 2, &converts);
  kv_tree *tree = kvl_try_tree(L, state, 1, NULL);
  if (!tree) return kvl_return_failure(L);
  kv_status status = kv_tree_unarchive(tree, key, &options, &plain, &error);
  kv_tree_free(tree);
  if (status == KV_OK && type) {
    status = kv_type_decode(type, plain, &value, &error);
    kv_tree_free(plain);
    plain = value;
  }
  return push_decoded(L, state, status, plain, error, 2, converts, context);
}

/* kv.is_archive(value) */
static int is_archive(lua_State *L) {
  luaL_checkany(L, 1);
  kv_tree *tree = kvl_try_tree(L, kvl_state_of(L), 1, NULL);
  int found = kv_tree_is_archive(tree);
  kv_tree_free(tree);
  lua_pushboolean(L, found);
  return 1;
}

void kvl_open_codec(lua_State *L) {
  static const luaL_Reg functions[] = {{"decode", decode},
                                       {"encode", encode},
                                       {"read", read_file},
                                       {"write", write_file},
                                       {"unarchive", unarchive},
                                       {"is_archive", is_archive},
                                       {NULL, NULL}};
  kvl_set_functions(L, functions);
}
