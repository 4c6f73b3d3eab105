/* A host that pushes a store of a fleet to scripts: what a script may not do,
 * and what it learns of the server.
 *
 *   fleet_sandbox SERVER STORE
 */
#include <kvcodable_lua.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

static const char names_server[] =
    "local s, e = kv.open('other', { engine = 'postgresql', server = 'x=y' })\n"
    "print(tostring(e.code) .. ' ' .. tostring(e))";
static const char asks[] =
    "local ok, e = pcall(s.transaction, s, function() end)\n"
    "print(tostring(e.code) .. ' ' .. tostring(e))";

static const char names_origin[] =
    "local o = s:origin 'a'\n"
    "print(o.layer, o.revision, o.file, o.store, o.author)";

static const char origins[] = "for _ = 1, 15000 do s:origin 'a' end";

static long resident_kilobytes(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (file) fclose(file);
  return resident * 4;
}

static lua_State *new_state(uint32_t policy) {
  kv_lua_options options = {.size = sizeof options, .policy = policy};
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (kv_lua_open(L, &options, NULL) != KV_OK) return NULL;
  lua_setglobal(L, "kv");
  return L;
}

static void run(lua_State *L, const char *script) {
  if (luaL_dostring(L, script) != LUA_OK)
    printf("error %s\n", lua_tostring(L, -1));
  fflush(stdout);
}

int main(int count, char **arguments) {
  if (count < 3) return 2;
  kv_store_options options = {.size = sizeof options,
                              .engine = KV_ENGINE_POSTGRESQL,
                              .timeout = 2,
                              .server = kv_string(arguments[1])};
  kv_store *store;
  kv_error *error;
  if (kv_store_open(kv_string(arguments[2]), &options, &store, &error) < 0) {
    printf("%s\n", kv_error_message(error).data);
    return 1;
  }
  puts("opened");
  fflush(stdout);
  lua_State *L = new_state(KV_LUA_SANDBOX);
  if (kv_lua_push_store(L, store, NULL, 0, 0, NULL) == KV_OK)
    lua_setglobal(L, "s");
  run(L, "s:set('a', 1) s:sync()");
  run(L, names_origin);
  run(L, origins);
  long before = resident_kilobytes();
  run(L, origins);
  printf("%ld\n", resident_kilobytes() - before);
  fflush(stdout);
  lua_close(L);
  getchar();
  L = new_state(KV_LUA_NO_SERVERS);
  run(L, names_server);
  lua_close(L);
  L = new_state(KV_LUA_NO_FILES);
  run(L, names_server);
  lua_close(L);
  L = new_state(KV_LUA_SANDBOX);
  if (kv_lua_push_store(L, store, NULL, 0, 0, NULL) == KV_OK)
    lua_setglobal(L, "s");
  run(L, asks);
  lua_close(L);
  kv_store_free(store);
  return 0;
}
