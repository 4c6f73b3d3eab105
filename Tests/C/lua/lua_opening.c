/* lua_opening.c: how programs that embed Lua open the module, and under what
 * policy. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "lua_support.h"

static void check_opening(void) {
  kv_error *error = NULL;
  kv_lua_options options = {0};
  lua_State *L = luaL_newstate();
  CHECK(luaopen_kvcodable(NULL) == 0);
  CHECK_NAMED(failed_with(kv_lua_open(L, NULL, &error), KV_MISUSE, &error),
              "a state that is opened too early is told so");
  open_libraries(L);
  CHECK(failed_with(kv_lua_open(NULL, NULL, &error), KV_INVALID_ARGUMENT,
                    &error));
  CHECK(failed_with(kv_lua_open(L, &options, &error), KV_INVALID_ARGUMENT,
                    &error));
  options.size = sizeof options;
  options.policy = 16;
  CHECK(failed_with(kv_lua_open(L, &options, &error), KV_INVALID_ARGUMENT,
                    &error));
  CHECK(failed_with(kv_lua_pump(L, NULL, &error), KV_MISUSE, &error));
  CHECK(failed_with(kv_lua_to_tree(L, 1, NULL, &error), KV_MISUSE, &error));
  CHECK(lua_gettop(L) == 0);
  options.policy = KV_LUA_SANDBOX;
  CHECK(kv_lua_open(L, &options, &error) == KV_OK);
  CHECK(lua_gettop(L) == 1 && lua_istable(L, 1));
  CHECK(failed_with(kv_lua_open(L, &options, &error), KV_MISUSE, &error));
  CHECK(kv_lua_open(L, NULL, &error) == KV_OK && lua_rawequal(L, 1, 2));
  CHECK(holds(L,
              "package.loaded.kvcodable = nil\n"
              "package.preload.kvcodable = ...\n"
              "return true"));
  lua_pushcfunction(L, luaopen_kvcodable);
  lua_call(L, 0, 1);
  CHECK_NAMED(lua_rawequal(L, 1, 3), "a second opening gives the same table");
  lua_close(L);
}

/* Options of a program that was built with an older header are fewer. */
static void check_older_options(void) {
  static const char refused[] =
      "return select(2, kv.open 'com.example.none').code == 'access_denied'";
  kv_error *error = NULL;
  kv_lua_options options = {0};
  options.policy = KV_LUA_SANDBOX;
  options.registry = (kv_registry *)&options; /* not looked at */
  for (options.size = 0; options.size < 9; options.size++) {
    lua_State *L = luaL_newstate();
    open_libraries(L);
    if (options.size < sizeof(size_t))
      CHECK(failed_with(kv_lua_open(L, &options, &error), KV_INVALID_ARGUMENT,
                        &error));
    else
      CHECK(kv_lua_open(L, &options, &error) == KV_OK);
    lua_close(L);
  }
  options.size = offsetof(kv_lua_options, registry);
  lua_State *L = luaL_newstate();
  open_libraries(L);
  CHECK(kv_lua_open(L, &options, &error) == KV_OK);
  lua_setglobal(L, "kv");
  CHECK_NAMED(holds(L, refused), "what an older header has counts");
  lua_close(L);
  L = luaL_newstate();
  open_libraries(L);
  options.size = sizeof options + 1;
  CHECK(failed_with(kv_lua_open(L, &options, &error), KV_INVALID_ARGUMENT,
                    &error));
  lua_close(L);
}

/* ---- A second copy of the library, as where a rock is beside an install */

static lua_CFunction opener_of_copy(void) {
  char bytes[4096];
  size_t count;
  Dl_info info;
  lua_CFunction opener = NULL;
  make_folder();
  if (dladdr((void *)(uintptr_t)&luaopen_kvcodable, &info)) {
    FILE *from = fopen(info.dli_fname, "rb");
    FILE *to = fopen(in_folder("copy.so"), "wb");
    while ((count = fread(bytes, 1, sizeof bytes, from)) > 0)
      fwrite(bytes, 1, count, to);
    fclose(from);
    fclose(to);
    void *copy = dlopen(in_folder("copy.so"), RTLD_NOW | RTLD_LOCAL);
    if (!copy) printf("# %s\n", dlerror());
    if (copy) *(void **)&opener = dlsym(copy, "luaopen_kvcodable");
  }
  remove_folder();
  return opener;
}

static void check_copies(void) {
  kv_error *error = NULL;
  kv_lua_options options = {0};
  lua_CFunction opener = opener_of_copy();
  CHECK_NAMED(opener && opener != luaopen_kvcodable, "there are two copies");
  options.size = sizeof options;
  options.policy = KV_LUA_SANDBOX;
  lua_State *L = new_state(KV_LUA_SANDBOX);
  lua_pushcfunction(L, opener);
  lua_call(L, 0, 1);
  lua_getglobal(L, "kv");
  CHECK_NAMED(lua_rawequal(L, 1, 2), "a script gets the one that its host has");
  lua_close(L);
  L = luaL_newstate();
  open_libraries(L);
  lua_pushcfunction(L, opener);
  lua_call(L, 0, 0);
  CHECK_NAMED(failed_with(kv_lua_open(L, &options, &error), KV_MISUSE, &error),
              "no policy is taken where a script has opened another copy");
  CHECK(failed_with(kv_lua_open(L, NULL, &error), KV_MISUSE, &error));
  CHECK(lua_gettop(L) == 0);
  lua_close(L);
}

/* Publishing writes a file that others read, and shows where it is. */
static void check_publishing(void) {
  static const char refused[] =
      "local file, problem = kv.publish('com.example.opening',\n"
      "  kv.struct 'Opened' { a = kv.int })\n"
      "return file == nil and (problem.code == 'access_denied' or\n"
      "  problem.code == 'read_only')\n";
  static const char is_there[] =
      "return kv.open('com.example.opening',\n"
      "  { engine = 'memory', schema = 'published' }) ~= nil\n";
  static const uint32_t policies[] = {KV_LUA_NO_STORES, KV_LUA_NO_FILES,
                                      KV_LUA_READ_ONLY, KV_LUA_SANDBOX};
  CHECK(mkdir(folder, 0700) == 0);
  setenv("XDG_DATA_HOME", folder, 1);
  for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
    lua_State *L = new_state(policies[i]);
    CHECK_NAMED(holds(L, refused), "no script under a policy publishes");
    lua_close(L);
  }
  lua_State *L = new_state(0);
  CHECK_NAMED(!holds(L, is_there), "nothing is published then");
  CHECK_NAMED(!holds(L, refused) && holds(L, is_there),
              "a script without a policy publishes");
  lua_close(L);
  remove_folder();
}

/* proves: G95 */
static void check_policies(void) {
  static const char refused[] =
      "local kv, code = kv, ...\n"
      "local value, problem = kv.open 'com.example.none'\n"
      "local file, other = kv.read '/etc/hostname'\n"
      "return value == nil and problem.code == 'access_denied'\n"
      "  and file == nil and other.code == 'access_denied'\n";
  static const char read_only[] =
      "local s = assert(kv.open_file('x', { engine = 'memory' }))\n"
      "local ok, problem = pcall(s.set, s, 'a', 1)\n"
      "local written, other = kv.write('/nowhere/x', 1)\n"
      "return not ok and problem.code == 'read_only' and not written\n"
      "  and other.code == 'read_only' and kv.read '/nowhere/x' == nil";
  static const char no_files[] =
      "local function refused(options)\n"
      "  local value, problem = kv.open('com.example.none', options)\n"
      "  return value == nil and problem.code == 'access_denied'\n"
      "end\n"
      "local asked = 0\n"
      "return refused { managed_file = '/etc/hostname', read_only = true }\n"
      "  and refused(setmetatable({}, { __index = function(_, name)\n"
      "    if name ~= 'managed_file' then return nil end\n"
      "    asked = asked + 1\n"
      "    return '/etc/hostname'\n"
      "  end })) and asked == 1\n"
      "  and not kv.open_file('x', { engine = 'memory' })\n";
  lua_State *L = new_state(KV_LUA_SANDBOX);
  CHECK_NAMED(holds(L, refused), "a sandbox opens and reads nothing");
  lua_close(L);
  L = new_state(KV_LUA_NO_FILES);
  CHECK_NAMED(holds(L, no_files),
              "a state without files reads none as a layer");
  lua_close(L);
  L = new_state(KV_LUA_READ_ONLY);
  CHECK_NAMED(holds(L, read_only), "a read-only state changes nothing");
  lua_close(L);
  L = new_state(0);
  CHECK_NAMED(!holds(L, refused), "a state without a policy may open");
  lua_close(L);
}

/* Opens the module over a host's registry. */
static lua_State *state_over(kv_registry *registry) {
  kv_lua_options options = {0};
  lua_State *L = luaL_newstate();
  open_libraries(L);
  options.size = sizeof options;
  options.registry = registry;
  CHECK(kv_lua_open(L, &options, NULL) == KV_OK);
  lua_setglobal(L, "kv");
  return L;
}

static void check_registry(void) {
  static const char text[] = "struct Point { x: Int; y: Int = 2 }";
  kv_type *type = NULL;
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_registry_declare(registry, kv_string(text), kv_string(""), NULL, NULL);
  lua_State *L = state_over(registry);
  CHECK(holds(L, "return kv.decode('{\"x\": 1}', 'Point').y == 2"));
  CHECK(holds(L,
              "local Local = kv.struct 'Local' { p = 'Point' }\n"
              "return kv.encode({ p = { x = 1 } }, Local) ~= nil"));
  CHECK_NAMED(kv_registry_type(registry, kv_string("Local"), &type, NULL) ==
                  KV_INVALID_TYPE,
              "what a script declares is not seen in the host's registry");
  kv_registry_free(registry);
  CHECK_NAMED(holds(L, "return #kv.decode('[{\"x\": 1}]', '[Point]') == 1"),
              "the state keeps the types of a registry that is freed");
  lua_close(L);
}

/* Opens the module in a state that has all of the libraries but one. */
static void open_library(lua_State *L, const luaL_Reg *library) {
#if LUA_VERSION_NUM < 502
  lua_pushcfunction(L, library->func);
  lua_pushstring(L, strcmp(library->name, "_G") == 0 ? "" : library->name);
  lua_call(L, 1, 0);
#else
  luaL_requiref(L, library->name, library->func, 1);
  lua_pop(L, 1);
#endif
}

static int fails_without(const char *missing, const char *message) {
  static const luaL_Reg libraries[] = {{"_G", luaopen_base},
                                       {"string", luaopen_string},
                                       {"table", luaopen_table},
                                       {"math", luaopen_math}};
  kv_error *error = NULL;
  lua_State *L = luaL_newstate();
  for (size_t i = 0; i < 4; i++) {
    if (strcmp(libraries[i].name, missing) == 0) continue;
    open_library(L, &libraries[i]);
  }
  kv_status status = kv_lua_open(L, NULL, &error);
  int good = *message ? status == KV_MISUSE && lua_gettop(L) == 0 &&
                            strstr(kv_error_message(error).data, message)
                      : status == KV_OK;
  kv_error_free(error);
  lua_close(L);
  return good;
}

static void check_libraries(void) {
  CHECK(fails_without("", ""));
  CHECK(fails_without("_G", "no error in _G: kvcodable needs Lua's base"));
  CHECK(fails_without("math", "no abs in math: kvcodable needs"));
  CHECK(fails_without("string", "no find in string: kvcodable needs"));
  CHECK(fails_without("table", "no concat in table: kvcodable needs"));
}

static void check_redeclaring(void) {
  static const char script[] =
      "local s = kv.open_file('x', { engine = 'memory' })\n"
      "local Holder = kv.struct 'Holder' { p = 'Point' }\n"
      "return function(name)\n"
      "  local value = { [name] = 1 }\n"
      "  s:set('v', value, 'Point', { replace = true })\n"
      "  s:set('all', { value }, '[Point]', { replace = true })\n"
      "  return s:get('v', 'Point')[name] == 1\n"
      "    and s:get('all', '[Point]')[1][name] == 1\n"
      "    and kv.decode('{\"' .. name .. '\": 1}', 'Point')\n"
      "    and not kv.decode('{\"z\": 1}', 'Point')\n"
      "end\n";
  kv_registry *registry = kv_registry_new(NULL, KV_REDECLARE);
  kv_registry_declare(registry, kv_string("struct Point { x: Int }"),
                      kv_string(""), NULL, NULL);
  lua_State *L = state_over(registry);
  CHECK(run_script(L, script, 1));
  lua_setglobal(L, "uses");
  CHECK(holds(L, "return uses 'x' and uses 'x'"));
  kv_registry_declare(registry, kv_string("struct Point { y: Int }"),
                      kv_string(""), NULL, NULL);
  CHECK_NAMED(holds(L, "return uses 'y' and uses 'y' and not pcall(uses, 'x')"),
              "a script goes by what the host declares anew");
  CHECK_NAMED(holds(L,
                    "kv.struct 'Point' { w = kv.int }\n"
                    "return uses 'w' and not pcall(uses, 'y')"),
              "and by what it declares itself");
  lua_close(L);
  kv_registry_free(registry);
}

int main(void) {
  check_opening();
  check_older_options();
  check_libraries();
  check_copies();
  check_policies();
  check_publishing();
  check_registry();
  check_redeclaring();
  return finish_checks();
}
