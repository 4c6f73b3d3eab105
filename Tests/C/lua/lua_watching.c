/* lua_watching.c: the descriptor that kv.fd() gives is readable when there is
 * something to pump, and not otherwise: for stores that were watched before it
 * was asked for, after, and for what another handle of the host's changes. */
#define _XOPEN_SOURCE 700

#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Changes that wait for one watch when another of the same path comes. */
static void check_shared(int asks_first) {
  lua_State *L = new_state(0);
  if (asks_first) CHECK(run_script(L, "return kv.fd()", 0));
  CHECK(holds(L,
              "store = kv.open_file('x', { engine = 'memory' })"
              "store:watch('a', function() end)"
              "store:set('a', 1)"
              "store:watch('a', function() end)"
              "return kv.fd() > 0"));
  CHECK_NAMED(is_readable(L, 5000),
              "what waits is shown, too, where a second "
              "watch of its place has come");
  CHECK(holds(L, "return kv.pump() == 1 and kv.pump() == 0"));
  CHECK(!is_readable(L, 0));
  lua_close(L);
}

/* A host has the descriptor in an epoll of its own, where it stays. */
static void check_outer(void) {
  lua_State *L = new_state(0);
  struct epoll_event event = {.events = EPOLLIN};
  int outer = epoll_create1(EPOLL_CLOEXEC);
  CHECK(run_script(L,
                   "store = kv.open_file('x', { engine = 'memory' })"
                   "store:watch('a', function() end)"
                   "return kv.fd()",
                   1));
  int descriptor = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  CHECK(epoll_ctl(outer, EPOLL_CTL_ADD, descriptor, &event) == 0);
  for (int i = 0; i < 3; i++) {
    CHECK(
        run_script(L, "kv.pump() store:set('a', (store:get 'a' or 0) + 1)", 0));
    CHECK_NAMED(epoll_wait(outer, &event, 1, 5000) == 1,
                "the descriptor stays in a host's epoll");
  }
  close(outer);
  lua_close(L);
}

/* The child of a fork has a descriptor of its own, by the same number. */
static void check_child(void) {
  lua_State *L = new_state(0);
  int seen[2], done[2];
  char byte = 0;
  lua_pushstring(L, in_folder("forked.plist"));
  lua_setglobal(L, "path");
  CHECK(run_script(L,
                   "store = kv.open_file(path)"
                   "store:watch('a', function() end)"
                   "own = kv.open_file('x', { engine = 'memory' })"
                   "own:watch('m', function() end)"
                   "kv.pump() -- the first one looks at the file\n"
                   "return kv.fd()",
                   0));
  CHECK(!is_readable(L, 0) && pipe(seen) == 0 && pipe(done) == 0);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    int good = run_script(L, "kv.pump() store:set('a', 1)", 0) &&
               is_readable(L, 5000) && holds(L, "return kv.pump() == 1") &&
               !is_readable(L, 0) &&
               run_script(L, "store:sync() own:set('m', 1)", 0) &&
               is_readable(L, 5000);
    close(done[1]);
    good =
        write(seen[1], &byte, 1) == 1 && read(done[0], &byte, 1) == 0 && good;
    _exit(good ? 0 : 1);
  }
  CHECK(read(seen[0], &byte, 1) == 1);
  /* The child's change of the file is the parent's to see. */
  for (int i = 0; i < 10 && is_readable(L, 50); i++)
    CHECK(run_script(L, "kv.pump()", 0));
  CHECK_NAMED(!is_readable(L, 100), "a parent is not shown its child's");
  close(done[1]);
  int status = -1;
  CHECK_NAMED(waitpid(child, &status, 0) == child && status == 0,
              "a child is shown its own changes");
  CHECK(run_script(L, "kv.pump() store:set('a', 2)", 0));
  CHECK(is_readable(L, 5000));
  close(done[0]);
  close(seen[0]);
  close(seen[1]);
  lua_close(L);
}

static struct {
  lua_Alloc call;
  void *data;
} usual;

static void *refuses_large(void *data, void *block, size_t old, size_t size) {
  (void)data;
  return size > 1 << 20 ? NULL : usual.call(usual.data, block, old, size);
}

/* A lack of memory in a watch's function is an error with a code. */
static void check_memory(void) {
  lua_State *L = new_state(0);
  usual.call = lua_getallocf(L, &usual.data);
  lua_setallocf(L, refuses_large, NULL);
  /* By `..`, since string.rep has a text of its own for this in 5.3. */
  CHECK(run_script(L,
                   "function doubling()"
                   "  local text = 'x'"
                   "  while true do text = text .. text end "
                   "end",
                   0));
  CHECK_NAMED(holds(L,
                    "local store = kv.open_file('x', { engine = 'memory' })"
                    "store:watch('a', doubling)"
                    "store:set('a', 1)"
                    "local good, problem = pcall(kv.pump)"
                    "return not good and problem.code == 'limit_exceeded'"),
              "a lack of memory in a watch's function has a code");
  CHECK_NAMED(
      holds(L,
            "local store = kv.open_file('x', { engine = 'memory' })"
            "store:watch('a', function() error('first', 0) end)"
            "store:set('a', 1)"
            "local other = kv.open_file('y', { engine = 'memory' })"
            "other:watch('a', doubling)"
            "local good, problem = pcall(kv.pump)"
            "return not good and tostring(problem):find 'first$' ~= nil"),
      "and none where another error came first");
  lua_setallocf(L, usual.call, usual.data);
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
                   "watch = store:watch('a', function(_, new) seen = new end)"
                   "kv.pump() -- the first one looks at the file\n",
                   0));
  CHECK(!is_readable(L, 0));
  CHECK(kv_store_set_integer(store, &key, 1, 42, NULL) == KV_OK);
  CHECK(is_readable(L, 5000));
  CHECK(holds(L, "return kv.pump() == 1 and seen == 42"));
  lua_close(L);
  kv_store_free(store);
}

/* More stores than Lua has slots for on the stack of a C function. */
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
  check_shared(0);
  check_shared(1);
  check_outer();
  check_child();
  check_memory();
  check_host();
  check_many();
  check_no_descriptor();
  remove_folder();
  return finish_checks();
}
