/* lua_states.c: many states, one after another, on several threads, and closed
 * with everything open. */
#define _XOPEN_SOURCE 700
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>

#include "lua_support.h"

static int count_descriptors(void) {
  int count = 0;
  for (int descriptor = 0; descriptor < 1024; descriptor++)
    count += fcntl(descriptor, F_GETFD) >= 0;
  return count;
}

/* ---- One after another */

/* With all that the module keeps for a state: a descriptor, types, and what it
 * needs for large values and for the paths of those that are wrong. */
static const char script[] =
    "local kv = require 'kvcodable'\n"
    "local Window = kv.struct 'Window' { width = kv.int, tags = "
    "kv.array_of(kv.string):default {} }\n"
    "local s = assert(kv.open_file('memory.plist', { engine = 'memory' }))\n"
    "for i = 1, 20 do\n"
    "  s:set('window', { width = i, tags = { 'a' } }, Window)\n"
    "  assert(s:get('window', Window).width == i)\n"
    "end\n"
    "local large, deep = {}, print\n"
    "for i = 1, 1000 do large['key' .. i] = i end\n"
    "s:set('large', large)\n"
    "for _ = 1, 500 do deep = { deep } end\n"
    "assert(not pcall(s.set, s, 'deep', deep))\n"
    "for i = 1, 60 do kv.encode({}, kv.struct('Type' .. i) {}) end\n"
    "return kv.fd() > 0 and s:get({ 'window', 'width' }) == 20\n";

static int use_state(void) {
  lua_State *L = luaL_newstate();
  open_libraries(L);
  lua_getglobal(L, "package");
  lua_pushstring(
      L, getenv("KVCODABLE_CPATH") ? getenv("KVCODABLE_CPATH") : "build/?.so");
  lua_setfield(L, -2, "cpath");
  lua_pop(L, 1);
  int good = holds(L, script);
  lua_close(L);
  return good;
}

/* proves: G109 */
static void check_sequence(void) {
  int good = 0;
  for (int i = 0; i < 50; i++) good += use_state();
  CHECK_NAMED(good == 50, "50 states opened and closed one after another");
  long early = resident_kilobytes();
  int descriptors = count_descriptors();
  for (int i = 0; i < 400; i++) good += use_state();
  CHECK_NAMED(good == 450, "400 more states");
  long growth = resident_kilobytes() - early;
  printf("# resident memory grew by %ld KB over 400 states\n", growth);
  CHECK_NAMED(is_checked() || growth < 2048,
              "what is held does not grow with the states");
  CHECK_NAMED(count_descriptors() == descriptors, "nor do the descriptors");
}

/* ---- Scripts that are unloaded and loaded again in one state */

static const char plugin[] =
    "local kv, host = kv, host\n"
    "local Theme = kv.enum 'Theme' { 'light', 'dark' }\n"
    "local Window = kv.struct 'Window' {\n"
    "  width = kv.int:range(1, 16384), theme = Theme:default 'dark',\n"
    "  color = kv.array_of(kv.double):optional():convert {\n"
    "    decode = function(c) return { r = c[1] } end,\n"
    "    encode = function(c) return { c.r } end } }\n"
    "local s = host:at 'window'\n"
    "local told = 0\n"
    "host:watch('window', function() told = told + 1 end)\n"
    "host:update('window', Window, function(w)\n"
    "  w = w or { width = 0, color = { r = 0.5 } }\n"
    "  w.width = w.width + 1\n"
    "  return w\n"
    "end)\n"
    "kv.pump()\n"
    "local own = assert(kv.open_file('own', { engine = 'memory' }))\n"
    "own:set('a', { 1, 2, 3 })\n"
    "local ownwatch = own:watch('a', print)\n"
    "pcall(own.set, own, 'a', { print })\n"
    "pcall(own.set, own, 'a', 'x', kv.int)\n"
    "if load_number % 2 == 0 then own:close() else ownwatch:cancel() end\n"
    "return s:get 'width' == load_number and told == 1\n";

/* A plug-in gets globals of its own, which go with it. */
static int load_plugin(lua_State *L, int number) {
  luaL_loadstring(L, plugin);
  lua_newtable(L);
  lua_pushinteger(L, number);
  lua_setfield(L, -2, "load_number");
  lua_newtable(L);
  lua_pushglobaltable(L);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  kvl_set_globals(L);
  int good = lua_pcall(L, 0, 1, 0) == LUA_OK && lua_isboolean(L, -1) &&
             lua_toboolean(L, -1);
  if (!good) printf("# load %d: %s\n", number, luaL_tolstring(L, -1, NULL));
  lua_settop(L, 0);
  return good;
}

/* The host closes what it gave; the watches of the script go with it. */
static int give_again(lua_State *L, kv_store *store) {
  if (!run_script(L, "if host then host:close() end", 0)) return 0;
  int good = kv_lua_push_store(L, store, NULL, 0, 0, NULL) == KV_OK;
  lua_setglobal(L, "host");
  return good;
}

/* Kilobytes: LuaJIT keeps the traces of functions that are gone, of which it has
 * so many that it begins anew. */
#ifdef LUA_JITLIBNAME
#define LUA_GROWTH 1024
#else
#define LUA_GROWTH 64
#endif

static void check_reloading(void) {
  kv_store *store = new_store("{}");
  lua_State *L = new_state(0);
  int good = 0;
  long early = 0, lua_early = 0;
  for (int i = 1; i <= 1200; i++) {
    good += give_again(L, store) && load_plugin(L, i);
    if (i != 200) continue;
    lua_gc(L, LUA_GCCOLLECT, 0);
    early = resident_kilobytes();
    lua_early = lua_gc(L, LUA_GCCOUNT, 0);
  }
  CHECK_NAMED(good == 1200, "a script loaded and unloaded 1,200 times");
  lua_gc(L, LUA_GCCOLLECT, 0);
  long growth = resident_kilobytes() - early;
  long lua_growth = lua_gc(L, LUA_GCCOUNT, 0) - lua_early;
  printf("# over 1,000 loads the process grew by %ld KB, Lua by %ld KB\n",
         growth, lua_growth);
  CHECK_NAMED((is_checked() || growth < 2048) && lua_growth < LUA_GROWTH,
              "what is held does not grow with the loads");
  lua_close(L);
  kv_store_free(store);
}

/* ---- Several threads, one store */

#define THREADS 4
#define ROUNDS 250

static const char adding[] =
    "for i = 1, 250 do\n"
    "  s:update('count', function(n) return (n or 0) + 1 end)\n"
    "  s:set({ 'own', name }, i)\n"
    "  assert(s:get({ 'own', name }) == i)\n"
    "  if i % 50 == 0 then collectgarbage(); kv.pump() end\n"
    "end\n"
    "return true\n";

typedef struct Worker {
  pthread_t thread;
  kv_store *store;
  int number;
  int good;
} Worker;

static void *work(void *argument) {
  Worker *worker = argument;
  lua_State *L = new_state(0);
  kv_lua_push_store(L, worker->store, NULL, 0, 0, NULL);
  lua_setglobal(L, "s");
  lua_pushfstring(L, "thread %d", worker->number);
  lua_setglobal(L, "name");
  worker->good = holds(L, "s:watch({ 'own' }, function() end) return true") &&
                 holds(L, adding);
  lua_close(L);
  return NULL;
}

/* On how many threads all went well. */
static int run_threads(void *(*body)(void *), kv_store *store) {
  Worker workers[THREADS];
  int good = 0;
  for (int i = 0; i < THREADS; i++) {
    workers[i].store = store;
    workers[i].number = i;
    pthread_create(&workers[i].thread, NULL, body, &workers[i]);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(workers[i].thread, NULL);
    good += workers[i].good;
  }
  return good;
}

static int lost_none(const kv_store *store) {
  kv_step path = kv_key("count");
  int64_t count = 0;
  CHECK(kv_store_get_integer(store, &path, 1, &count, NULL) == KV_OK);
  return count == THREADS * ROUNDS;
}

static void check_threads(void) {
  kv_store *store = new_store("{\"count\": 0, \"own\": {}}");
  CHECK_NAMED(run_threads(work, store) == THREADS,
              "states on four threads share a store");
  CHECK_NAMED(lost_none(store), "and lose no update");
  kv_store_free(store);
}

static const char *domain; /* the path of its file */

/* Each state opens the domain itself; half of them leave it open. */
static void *work_alone(void *argument) {
  static const char opening[] =
      "s = assert(kv.open_file(path))\n"
      "s:watch({ 'own' }, function() end)\n"
      "return true\n";
  Worker *worker = argument;
  lua_State *L = new_state(0);
  lua_pushstring(L, domain);
  lua_setglobal(L, "path");
  lua_pushfstring(L, "thread %d", worker->number);
  lua_setglobal(L, "name");
  worker->good = holds(L, opening) && holds(L, adding) &&
                 (worker->number % 2 || holds(L, "return s:close()"));
  lua_close(L);
  return NULL;
}

static void check_domain(void) {
  kv_store *store = NULL;
  domain = in_folder("shared.plist");
  CHECK_NAMED(run_threads(work_alone, NULL) == THREADS,
              "states on four threads each open one domain");
  CHECK(kv_store_open_file(kv_string(domain), NULL, &store, NULL) == KV_OK);
  CHECK_NAMED(lost_none(store), "and lose no update either");
  kv_store_free(store);
}

/* ---- Closed with everything open */

static int refusals; /* of what was called after the module's end */

/* note(pcall(call)) */
static int note(lua_State *L) {
  const char *problem = luaL_tolstring(L, 2, NULL);
  refusals += !lua_toboolean(L, 1) &&
              (strstr(problem, "the Lua state is being closed") ||
               strcmp(problem, "The transaction is over") == 0);
  return 0;
}

/* proves: G92 */
static void check_closing(void) {
  static const char open[] =
      "stores, watches = {}, {}\n"
      "for i = 1, 5 do\n"
      "  stores[i] = assert(kv.open_file('x', { engine = 'memory' }))\n"
      "  watches[i] = stores[i]:watch({}, print)\n"
      "  stores[i]:set('a', { i })\n"
      "end\n"
      "s:watch({}, print); s:events(print); s:set('left', 'behind')\n"
      "co = coroutine.create(function()\n"
      "  local own = kv.open_file('y', { engine = 'memory' })\n"
      "  coroutine.yield(own:at 'part')\n"
      "end)\n"
      "assert(coroutine.resume(co))\n"
      "finalizer = collected(function()\n"
      "  pcall(s.set, s, 'finalizer', 1); pcall(kv.encode, { 1 }) end)\n"
      "return true\n";
  kv_store *store = new_store("{\"a\": 1}");
  kv_step left = kv_key("left");
  lua_State *L = luaL_newstate();
  open_libraries(L);
  lua_register(L, "note", note);
  /* Finalized after the module, which it calls. */
  CHECK(run_script(L,
                   "early = collected(function()\n"
                   "  note(pcall(kv.decode, '[1]'))\n"
                   "  note(pcall(s.get, s, 'a'))\n"
                   "  note(pcall(s.set, s, 'late', { 1 })) end)",
                   0));
  kv_lua_open(L, NULL, NULL);
  lua_setglobal(L, "kv");
  kv_lua_push_store(L, store, NULL, 0, 0, NULL);
  lua_setglobal(L, "s");
  CHECK(holds(L, open));
  lua_close(L);
  CHECK_NAMED(kv_store_get(store, &left, 1, NULL, NULL, NULL) == KV_OK,
              "a state closed with stores, watches and coroutines open");
  CHECK_NAMED(refusals == 3, "what finalizers call after it is refused");
  kv_store_free(store);
}

/* Lua runs no finalizer of what finalizers make while a state is closed. */
static void check_finalizers(void) {
  static const char script[] =
      "finalizer = collected(function()\n"
      "  local store = assert(kv.open_file(path,\n"
      "    { durability = 'immediate' }))\n"
      "  store:watch({}, print)\n"
      "  part = store:at { 'a' }\n"
      "  part:set('b', { 1 }, '[Int]'); part:get('b', kv.array_of(kv.int))\n"
      "  part:transaction(function(tx) tx:at 'c' end)\n"
      "  store:watch('d', function() done = true; pcall(kv.pump) end)\n"
      "  store:set('d', 1); kv.pump()\n"
      "end)\n"
      "return true\n";
  enum { STATES = 5 };
  int before = count_descriptors(), good = 1;
  for (int i = 0; i < STATES; i++) {
    lua_State *L = new_state(0);
    lua_pushstring(L, in_folder("closing.plist"));
    lua_setglobal(L, "path");
    good &= holds(L, script);
    lua_close(L);
  }
  /* What the library's own thread still writes has a descriptor or two. */
  CHECK_NAMED(good && count_descriptors() < before + STATES,
              "what finalizers make while a state is closed is freed");
}

/* What a finalizer makes in a state that lives on is noted as what the closing
 * state frees, and has a finalizer of its own: it is freed once. */
static void check_once(void) {
  static const char script[] =
      "collected(function()\n"
      "  store = assert(kv.open_file('x', { engine = 'memory' }))\n"
      "  watch = store:watch('a', function() end)\n"
      "  for i = 1, 50 do\n"
      "    store:set('a', { 1 }, kv.array_of(kv.int:range(0, i)))\n"
      "  end\n"
      "  kv.pump()\n"
      "  store:set('a', { 2 })\n"
      "end)\n"
      "collectgarbage()\n"
      "return store ~= nil";
  int good = 0;
  for (int i = 0; i < 20; i++) {
    lua_State *L = new_state(0);
    good += holds(L, script);
    lua_close(L);
  }
  CHECK_NAMED(good == 20, "what finalizers made before is freed once");
}

static int leave(lua_State *L) { return luaL_error(L, "leave"); }

static void check_transaction(void) {
  kv_store *store = new_store("{\"a\": 1}");
  kv_step path = kv_key("a");
  int64_t value = 0;
  lua_State *L = new_state(0);
  kv_lua_push_store(L, store, NULL, 0, 0, NULL);
  lua_setglobal(L, "s");
  lua_register(L, "leave", leave);
  CHECK(holds(L,
              "return not pcall(s.transaction, s, function(tx)\n"
              "  tx:set('a', 2); kept = tx; leave() end)\n"
              "  and not pcall(kept.get, kept, 'a')"));
  CHECK(kv_store_get_integer(store, &path, 1, &value, NULL) == KV_OK &&
        value == 1);
  lua_close(L);
  kv_store_free(store);
}

/* A program that leaves a script for good, by its own longjmp. */
static jmp_buf way_out;

static int abandon(lua_State *L) {
  (void)L;
  longjmp(way_out, 1);
}

/* Closes the state from inside a transaction, as os.exit(code, true) does. */
static void check_abandoned(void) {
  static const char script[] =
      "s:watch({}, print)\n"
      "collected(function()\n"
      "  note(pcall(left.get, left, 'a')) end)\n"
      "s:transaction(function(tx) left = tx; tx:set('a', 2); abandon() end)\n";
  kv_store *store = new_store("{\"a\": 1}");
  kv_step path = kv_key("a");
  int64_t value = 0;
  lua_State *L = new_state(0);
  kv_lua_push_store(L, store, NULL, 0, 0, NULL);
  lua_setglobal(L, "s");
  lua_register(L, "abandon", abandon);
  lua_register(L, "note", note);
  refusals = 0;
  if (!setjmp(way_out)) run_script(L, script, 0);
  lua_close(L);
  CHECK_NAMED(kv_store_get_integer(store, &path, 1, &value, NULL) == KV_OK &&
                  value == 1,
              "a state closed in a transaction rolls it back");
  CHECK_NAMED(refusals == 1, "and finalizers are told that it is over");
  CHECK_NAMED(kv_store_set_integer(store, &path, 1, 3, NULL) == KV_OK,
              "and leaves the store unlocked");
  kv_store_free(store);
}

int main(void) {
  make_folder();
  check_sequence();
  check_reloading();
  check_threads();
  check_domain();
  check_closing();
  check_finalizers();
  check_once();
  check_transaction();
  check_abandoned();
  remove_folder();
  return finish_checks();
}
