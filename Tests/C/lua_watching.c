/* lua_watching.c: the descriptor that kv.fd() gives is readable when there is
 * something to pump, and not otherwise: for stores that were watched before it
 * was asked for, after, and for what another handle of the host's changes. */
#define _XOPEN_SOURCE 700

#include <poll.h>
#include <sys/resource.h>

#include "lua_support.h"

/* Whether the descriptor of the state becomes readable soon. */
static int is_readable(lua_State *L, int milliseconds) {
  struct pollfd entry = {.fd = -1, .events = POLLIN};
  if (!run_script(L, "return kv.fd()", 1)) return 0;
  entry.fd = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return poll(&entry, 1, milliseconds) == 1;
}

static void check_pumped(lua_State *L, const char *change) {
  CHECK(!is_readable(L, 0));
  CHECK(run_script(L, change, 0));
  CHECK(is_readable(L, 5000));
  CHECK(holds(L, "local calls = kv.pump() return calls == 1"));
  CHECK(holds(L, "return kv.pump() == 0"));
  CHECK(!is_readable(L, 0));
}

static void check_scripts(int asks_first) {
  lua_State *L = new_state(0);
  if (asks_first) CHECK(run_script(L, "return kv.fd()", 0));
  CHECK(run_script(L,
                   "for i = 1, 2 do"
                   "  local name = 'store' .. i"
                   "  _G[name] = kv.open_file(name, { engine = 'memory' })"
                   "  _G['watch' .. i] = _G[name]:watch('a', function() end)"
                   "end",
                   0));
  CHECK(holds(L, "return kv.fd() > 0 and kv.fd() == kv.fd()"));
  check_pumped(L, "store1:set('a', 1)");
  check_pumped(L, "store2:set('a', 1)");
  CHECK(run_script(L, "watch1:cancel()", 0));
  check_pumped(L, "store2:set('a', 2)");
  CHECK(run_script(L, "store1:close() store2:close()", 0));
  CHECK(holds(L, "return kv.pump() == 0"));
  lua_close(L);
}

/* Another handle on the same file, of the host's. */
static void check_host(void) {
  const char *path = in_folder("shared.plist");
  kv_str name = {path, strlen(path)};
  kv_step key = {.key = {"a", 1}};
  kv_store *store = NULL;
  lua_State *L = new_state(0);
  CHECK(kv_store_open_file(name, NULL, &store, NULL) == KV_OK);
  lua_pushstring(L, path);
  lua_setglobal(L, "path");
  CHECK(run_script(L,
                   "store = kv.open_file(path)"
                   "watch = store:watch('a', function(_, new) seen = new end)",
                   0));
  CHECK(!is_readable(L, 0));
  CHECK(kv_store_set_integer(store, &key, 1, 42, NULL) == KV_OK);
  CHECK(is_readable(L, 5000));
  CHECK(holds(L, "return kv.pump() == 1 and seen == 42"));
  lua_close(L);
  kv_store_free(store);
}

/* More stores than Lua has places for on the stack of a C function. */
static void check_many(void) {
  lua_State *L = new_state(0);
  CHECK(run_script(L,
                   "stores = {}"
                   "for i = 1, 500 do"
                   "  stores[i] = kv.open_file('x', { engine = 'memory' })"
                   "  stores[i]:watch('a', function() end)"
                   "end "
                   "stores[250]:close()",
                   0));
  check_pumped(L, "stores[1]:set('a', 1)");
  check_pumped(L, "stores[500]:set('a', 1)");
  lua_close(L);
}

/* Where a process has no descriptor left there is an error, and no more than
 * that. */
static void check_no_descriptor(void) {
  struct rlimit limit, none;
  lua_State *L = new_state(0);
  CHECK(run_script(L,
                   "store = kv.open_file('x', { engine = 'memory' })"
                   "store:watch('a', function() end)",
                   0));
  getrlimit(RLIMIT_NOFILE, &limit);
  none = limit;
  none.rlim_cur = 0;
  setrlimit(RLIMIT_NOFILE, &none);
  CHECK(holds(L,
              "local ok, problem = pcall(kv.fd)"
              "return not ok and problem:find 'epoll_create1 failed'"
              "  and not pcall(kv.fd)"));
  setrlimit(RLIMIT_NOFILE, &limit);
  check_pumped(L, "store:set('a', 1)");
  lua_close(L);
}

int main(void) {
  make_folder();
  check_scripts(0);
  check_scripts(1);
  check_host();
  check_many();
  check_no_descriptor();
  remove_folder();
  return finish_checks();
}
