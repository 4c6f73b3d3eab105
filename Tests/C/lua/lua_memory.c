/* lua_memory.c: Lua states whose memory runs out, whose collector runs all the
 * time, and whose blocks move whenever they can.
 *
 *   lua_memory [STEP]   tries every STEP-th point of failure: 1 for all */
#define _XOPEN_SOURCE 700
#include <fcntl.h>

#include "lua_support.h"

/* ---- An allocator that fails, moves and wipes */

typedef struct Memory {
  size_t used;    /* bytes */
  size_t largest; /* block; 0 for any */
  long calls;     /* that asked for more */
  long failing;   /* from this call on; 0 for never */
  int once;       /* fail that call alone, which Lua gets over */
  int failed;     /* how often it did */
} Memory;

static void *allocate(void *context, void *block, size_t old, size_t size) {
  Memory *memory = context;
  if (!block) old = 0;
  if (memory->largest && size > memory->largest) return NULL;
  if (size > old) {
    long call = ++memory->calls;
    if (memory->failing &&
        (memory->once ? call == memory->failing : call >= memory->failing)) {
      memory->failed++;
      return NULL;
    }
  }
  /* A new block each time, with other contents than anybody wants, and the old
   * one wiped: who looks back is caught. */
  void *moved = NULL;
  if (size > 0) {
    moved = malloc(size);
    if (!moved) return NULL;
    memset(moved, 0xda, size);
    if (block) memcpy(moved, block, old < size ? old : size);
  }
  if (block) {
    memset(block, 0xdb, old);
    free(block);
  }
  memory->used += size - old;
  return moved;
}

static int panic(lua_State *L) {
  printf("# panic: %s\n", lua_tostring(L, -1));
  return 0;
}

/* LuaJIT's compiler crashes where it gets no memory, and its parser keeps some:
 * so do they without the module. */
#ifdef LUA_JITLIBNAME
#include <luajit.h>
#endif

static int is_all_free(const Memory *memory) {
#ifdef LUA_JITLIBNAME
  (void)memory;
  return 1;
#else
  return memory->used == 0;
#endif
}

static lua_State *limited_state(Memory *memory) {
  memset(memory, 0, sizeof *memory);
  lua_State *L = lua_newstate(allocate, memory);
  lua_atpanic(L, panic);
  return L;
}

static void open_all(lua_State *L) {
  open_libraries(L);
#ifdef LUA_JITLIBNAME
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
#endif
}

/* ---- What the states do */

static const char preparing[] =
    "Window = kv.struct 'Window' {\n"
    "  width = kv.int:range(1, 16384), title = kv.string:key 'window_title'\n"
    "    :optional(), tags = kv.array_of(kv.string):default {},\n"
    "  color = kv.array_of(kv.double):optional():convert {\n"
    "    decode = function(c) return { r = c[1] } end,\n"
    "    encode = function(c) return { c.r } end } }\n"
    "s:set('window', { width = 1, tags = { 'a' }, color = { r = 1 } },\n"
    "  Window)\n"
    "s:set('count', 0)\n"
    "watch = s:watch({}, function(key, new, old) told = { key, new } end)\n";

static const char working[] =
    "s:update('count', function(n) return n + 1 end)\n"
    "s:update('window', Window, function(w)\n"
    "  w.width = w.width + 1\n"
    "  w.tags[#w.tags % 3 + 1] = tostring(w.width)\n"
    "end)\n"
    "local ok, wrong\n"
    "s:transaction(function(tx)\n"
    "  tx:set({ 'deep', 'er' }, { 1, 2.5, 'three', kv.date(4),\n"
    "    kv.data 'five', kv.uint64 '18446744073709551615' })\n"
    "  tx:get('deep')\n"
    "end)\n"
    "local Shade = kv.enum 'Shade' { 'light', 'dark' }\n"
    "local Pane = kv.struct 'Pane' { shade = Shade:default 'dark',\n"
    "  size = kv.array_of(kv.double):length(2):default { 1.0, 2.0 }:convert {\n"
    "    decode = function(n) return { w = n[1] } end,\n"
    "    encode = function(n) return { n.w, 0.0 } end },\n"
    "  side = kv.enum 'Side' { 'none', left = kv.int }:optional(),\n"
    "  inner = 'Pane?' }\n"
    "s:set('pane', { inner = { side = { left = { _0 = 1 } } } }, Pane)\n"
    "assert(s:get('pane', Pane).inner.size.w == 1)\n"
    "s:set('panes', { s:get('pane', Pane) }, '[Pane]?'); kv.annotations()\n"
    "ok, wrong = pcall(kv.struct 'Wrong', { a = kv.int:range(2, 1), 7 })\n"
    "assert(not ok)\n"
    "local Twisted = kv.struct 'Twisted' { a = kv.int:range(2, 1) }\n"
    "ok, wrong = pcall(s.get, s, 'pane', Twisted); assert(not ok)\n"
    "ok, wrong = pcall(s.get, s, 'pane', '[None')\n"
    "assert(not ok and not (kv.date(1) == kv.null))\n"
    "local t = s:get {}\n"
    "local bytes = assert(kv.encode(t, nil, { format = 'binary' }))\n"
    "assert(kv.decode(bytes)); assert(kv.decode(bytes, '[String: Any]'))\n"
    "local value, problem = kv.decode '<plist><dict><key>'\n"
    "assert(value == nil and tostring(problem))\n"
    "ok, wrong = pcall(s.set, s, 'window', { wdth = 1 }, Window)\n"
    "assert(not ok)\n"
    "ok, wrong = pcall(s.set, s, 'x', { { print } })\n"
    "assert(not ok)\n"
    "local part = s:at { 'deep' }\n"
    "part:keys(); for k, v in part:pairs() do local _ = k, v end\n"
    "kv.open_file('own', { engine = 'memory',\n"
    "  defaults = { a = 1 } }):with(function(own)\n"
    "  own:watch('a', function() end)\n"
    "  own:set('a', { tostring(own) }); kv.pump()\n"
    "end)\n"
    "assert(kv.encode(t, nil, { format = 'xml' })); s:origin 'deep'\n"
    "s:export(); s:layer 'application'; s:compare_and_set('b', 1, 0)\n"
    "acknowledged = s:get 'count'\n";

/* The host's part of a round, each call of which may fail. */
static int host_round(lua_State *L, kv_store *store) {
  static const kv_status fine[] = {KV_OK, KV_LIMIT_EXCEEDED, KV_MISUSE};
  kv_tree *tree = NULL;
  kv_step root = kv_key("deep");
  int good = 1, top = lua_gettop(L);
  kv_status statuses[4] = {KV_OK, KV_OK, KV_OK, KV_OK};
  statuses[0] = kv_lua_push_store(L, store, &root, 1, 0, NULL);
  if (statuses[0] == KV_OK) lua_pop(L, 1);
  kv_store_snapshot(store, &tree, NULL);
  statuses[1] = kv_lua_push_tree(L, tree, NULL);
  kv_tree_free(tree);
  tree = NULL;
  if (statuses[1] == KV_OK) {
    statuses[2] = kv_lua_to_tree(L, -1, &tree, NULL);
    lua_pop(L, 1);
    kv_tree_free(tree);
  }
  statuses[3] = kv_lua_pump(L, NULL, NULL);
  for (int i = 0; i < 4; i++) {
    int known = 0;
    for (int j = 0; j < 3; j++) known |= statuses[i] == fine[j];
    good &= known;
  }
  return good && lua_gettop(L) == top;
}

/* ---- Failing while it works */

/* Before 5.2 what has a finalizer goes with the collection after it. */
static void collect_all(lua_State *L) {
  for (int i = 0; i < 3; i++) lua_gc(L, LUA_GCCOLLECT, 0);
}

static long long count_of(const kv_store *store) {
  kv_step path = kv_key("count");
  int64_t value = -1;
  kv_store_get_integer(store, &path, 1, &value, NULL);
  return value;
}

/* One round with a failure; whether the state is as good as before. */
static int fail_at(lua_State *L, Memory *memory, kv_store *store, long point,
                   int once) {
  long long before = count_of(store);
  memory->calls = 0;
  memory->failed = 0;
  memory->once = once;
  memory->failing = point;
  lua_getglobal(L, "work");
  int outcome = lua_pcall(L, 0, 0, 0);
  if (outcome != LUA_OK) lua_pop(L, 1);
  int good = host_round(L, store);
  memory->failing = 0;
  long long after = count_of(store);
  if (after != before && after != before + 1) good = 0;
  if (outcome == LUA_OK && after != before + 1) good = 0;
  /* From 5.2 on Lua collects and tries again; and where nothing fails, all
   * works. */
  if (LUA_VERSION_NUM < 502 && point) once = 0;
  if ((once || !point) && outcome != LUA_OK) good = 0;
  if (!good)
    printf("# failing at %ld: outcome %d, count %lld after %lld\n", point,
           outcome, after, before);
  return good;
}

/* proves: G92 */
static void check_failures(long step) {
  Memory memory;
  kv_store *store = new_store("{}");
  lua_State *L = limited_state(&memory);
  open_all(L);
  kv_lua_open(L, NULL, NULL);
  lua_setglobal(L, "kv");
  kv_lua_push_store(L, store, NULL, 0, 0, NULL);
  lua_setglobal(L, "s");
  CHECK(run_script(L, preparing, 0) && luaL_loadstring(L, working) == LUA_OK);
  lua_setglobal(L, "work");
  for (int i = 0; i < 3; i++) fail_at(L, &memory, store, 0, 0);
  collect_all(L);
  size_t used = memory.used;
  long rounds = 0, good = 0, point = 1;
  for (memory.failed = 1; memory.failed && point < 100000; point += step) {
    good += fail_at(L, &memory, store, point, 0);
    int failed = memory.failed;
    good += fail_at(L, &memory, store, point, 1);
    good += fail_at(L, &memory, store, 0, 0); /* all works as before */
    memory.failed = failed;
    rounds += 3;
  }
  collect_all(L);
  printf("# %ld points of failure, up to call %ld; Lua's memory grew by %ld\n",
         rounds / 3, point, (long)memory.used - (long)used);
  CHECK_NAMED(good == rounds, "memory that runs out harms and loses nothing");
  CHECK_NAMED(memory.used < used + 16384, "and leaves nothing behind");
  lua_close(L);
  CHECK(is_all_free(&memory));
  kv_store_free(store);
}

/* ---- Failing while it opens, and compiles what types are made with */

static const char first_use[] =
    "kv.struct 'First' { a = kv.int:range(1, 2), b = 'First?' }\n";

static int open_body(lua_State *L) {
  luaopen_kvcodable(L);
  lua_setglobal(L, "kv");
  if (luaL_dostring(L, first_use) != LUA_OK) lua_error(L);
  return 0;
}

static void check_opening(long step) {
  Memory memory;
  long point = 1, good = 0, rounds = 0;
  int failed = 1;
  for (; failed && point < 100000; point += step, rounds++) {
    lua_State *L = limited_state(&memory);
    open_all(L);
    lua_pushcfunction(L, open_body);
    memory.calls = 0;
    memory.failing = point;
    int outcome = lua_pcall(L, 0, 0, 0);
    failed = memory.failed;
    memory.failing = 0;
    lua_settop(L, 0);
    int opened = kv_lua_open(L, NULL, NULL) == KV_OK; /* works then */
    lua_setglobal(L, "kv");
    good += opened && (failed ? outcome != LUA_OK : outcome == LUA_OK) &&
            run_script(L, first_use, 0) &&
            holds(L,
                  "s = kv.open_file('x', { engine = 'memory' })\n"
                  "s:set('a', { 1 }, '[Int]'); s:set('b', { a = 2 }, 'First')\n"
                  "return s:get('a')[1] == 1");
    collect_all(L); /* what is left of the attempt that failed */
    good += holds(L, "return s:get('a')[1] == 1");
    lua_close(L);
    if (!is_all_free(&memory)) good--;
  }
  printf("# %ld points of failure while opening, up to call %ld\n", rounds,
         point);
  CHECK_NAMED(good == 2 * rounds, "a state that could not open the module can");
}

/* ---- Collecting all the time */

static void collect_always(lua_State *L, int generational) {
#if LUA_VERSION_NUM >= 505
  lua_gc(L, generational ? LUA_GCGEN : LUA_GCINC);
  lua_gc(L, LUA_GCPARAM, LUA_GCPPAUSE, 1);
  lua_gc(L, LUA_GCPARAM, LUA_GCPSTEPMUL, 1000);
#elif LUA_VERSION_NUM == 504
  if (generational)
    lua_gc(L, LUA_GCGEN, 1, 1);
  else
    lua_gc(L, LUA_GCINC, 1, 1000, 40); /* a whole cycle at every check */
#else
  (void)generational;
  lua_gc(L, LUA_GCSETPAUSE, 1);
  lua_gc(L, LUA_GCSETSTEPMUL, 100000);
#endif
}

/* Tables that are changed, and things that are used, while finalizers run. */
static const char finalizing[] =
    "local count = 0\n"
    "victim = {}\n"
    "local function litter()\n"
    "  collected(function()\n"
    "    count = count + 1\n"
    "    victim.list = { tostring(count) }\n"
    "    victim['key' .. count % 7] = nil\n"
    "    if count % 50 == 0 then\n"
    "      pcall(s.set, s, 'gc', { count }); pcall(s.get, s, 'window')\n"
    "      pcall(s.set, s, 'gc', { { print } })\n"
    "      pcall(kv.pump)\n"
    "    end\n"
    "    if count < 2000 then litter() end\n"
    "  end)\n"
    "end\n"
    "for i = 1, 10 do litter() end\n"
    "for i = 1, 200 do\n"
    "  victim = { list = { 'a' .. i } }\n"
    "  for j = 0, 6 do victim['key' .. j] = { 'v' .. j, { j } } end\n"
    "  s:set('victim', victim); s:get 'victim'\n"
    "  victim.key3 = { ['bad' .. i] = { print } }\n"
    "  pcall(s.set, s, 'victim', victim); pcall(s.at, s, { 'a' .. i, 1, 'b' "
    "})\n"
    "  pcall(kv.encode, victim)\n"
    "end\n"
    "return count > 150\n";

/* proves: G92 */
static void check_collecting(int generational) {
  Memory memory;
  kv_store *store = new_store("{}");
  lua_State *L = limited_state(&memory);
  open_all(L);
  collect_always(L, generational);
  CHECK(kv_lua_open(L, NULL, NULL) == KV_OK);
  lua_setglobal(L, "kv");
  kv_lua_push_store(L, store, NULL, 0, 0, NULL);
  lua_setglobal(L, "s");
  int good = run_script(L, preparing, 0);
  for (int i = 0; i < 3; i++) good = good && run_script(L, working, 0);
  CHECK_NAMED(good, generational ? "the generational collector, all the time"
                                 : "a collection at every allocation");
  CHECK_NAMED(holds(L, finalizing),
              "finalizers that use and change everything");
  good = 1;
  for (int i = 0; i < 5; i++) good = good && host_round(L, store);
  CHECK(good);
  lua_close(L);
  CHECK(is_all_free(&memory));
  kv_store_free(store);
}

/* ---- Finalizers at each allocation in turn */

/* arm(turn, call): a finalizer calls at the collection that is the turn-th. */
static const char arming[] =
    "local left = 0\n"
    "local function again(call)\n"
    "  collected(function()\n"
    "    left = left - 1\n"
    "    if left == 0 then call() elseif left > 0 then again(call) end\n"
    "  end)\n"
    "end\n"
    "function arm(turn, call) left = turn; again(call) end\n"
    "function disarm() left = 0 end\n"
    "s = kv.open_file('x', { engine = 'memory' })";

static int holds_armed(const char *script) {
  Memory memory;
  lua_State *L = limited_state(&memory);
  open_all(L);
  CHECK(kv_lua_open(L, NULL, NULL) == KV_OK);
  lua_setglobal(L, "kv");
  CHECK(run_script(L, arming, 0));
  collect_always(L, 0);
  int good = holds(L, script);
  lua_close(L);
  return good && is_all_free(&memory);
}

static void check_armed(void) {
  static const char pumping[] =
      "local told = 0\n"
      "s:watch('a', function() told = told + 1 end)\n"
      "for turn = 1, 60 do\n"
      "  told = 0\n"
      "  s:set('a', turn)\n"
      "  arm(turn, kv.pump)\n"
      "  kv.pump()\n"
      "  if told ~= 1 then return false end\n"
      "  disarm(); collectgarbage()\n"
      "end\n"
      "return true";
  static const char paths[] =
      "for i = 0, 29 do\n"
      "  path = { ('k'):rep(50) .. i }\n"
      "  arm(i % 10 + 1, function() path[1] = nil end)\n"
      "  local part = s:at(path)\n"
      "  disarm()\n"
      "  local ok, problem = pcall(part.set, part, 'x', print)\n"
      "  local first = problem.path[1]\n"
      "  if first ~= ('k'):rep(50) .. i and first ~= 'x' then return false "
      "end\n"
      "end\n"
      "return true";
  static const char types[] =
      "local closed = 0\n"
      "for i = 0, 119 do\n"
      "  local own = kv.open_file('own', { engine = 'memory' })\n"
      "  local type = kv.array_of(kv.int:range(0, 9))\n"
      "  own:set('a', { 1 })\n"
      "  arm(i % 40 + 1, function() own:close() end)\n"
      "  local ok, problem = pcall(own.get, own, 'a', type)\n"
      "  disarm()\n"
      "  if not ok then closed = closed + 1 end\n"
      "  if not ok and problem.code ~= 'closed' then return false end\n"
      "end\n"
      "-- When others collect is another matter.\n"
      "return closed > (_VERSION == 'Lua 5.4' and 10 or -1)";
  CHECK_NAMED(holds_armed(pumping),
              "a pump inside a pump tells each note once");
  CHECK_NAMED(holds_armed(paths), "a handle's path is the one that was given");
  CHECK_NAMED(holds_armed(types), "a store that is gone is an error");
}

/* ---- Closing */

/* Where memory runs out for what the library gave, that goes all the same. */
static void check_leftovers(void) {
  static const char script[] =
      "text = '[\"' .. ('x'):rep(524288) .. '\"]'\n"
      "function fail()\n"
      "  for _ = 1, 20 do\n"
      "    if pcall(kv.decode, text) then return false end\n"
      "  end\n"
      "  return true\n"
      "end\n"
      "collectgarbage() -- a string that is there is not made again\n"
      "return true";
  Memory memory;
  lua_State *L = limited_state(&memory);
  open_all(L);
  CHECK(kv_lua_open(L, NULL, NULL) == KV_OK);
  lua_setglobal(L, "kv");
  CHECK(holds(L, script));
  memory.largest = 1 << 19;
  CHECK(holds(L, "return fail()"));
  long early = resident_kilobytes();
  CHECK(holds(L, "return fail()"));
  long growth = resident_kilobytes() - early;
  printf("# the process grew by %ld KB\n", growth);
  CHECK_NAMED(is_checked() || growth < 4096,
              "what Lua has no memory for is let go of");
  lua_close(L);
}

/* Lua runs no finalizers of what is made while a state is closed, and collects it
 * where memory runs out meanwhile. */
static void check_closing(void) {
  static const char script[] =
      "long = ('x'):rep(524288)\n"
      "finalizer = collected(function()\n"
      "  for _ = 1, 20 do\n"
      "    local own = kv.open_file('own', { engine = 'memory' })\n"
      "    own:transaction(function(tx) tx:set('a', { 1 }, '[Int]') end)\n"
      "    own = nil\n"
      "    ran_out = not pcall(function() return long .. long end)\n"
      "    kept = kv.open_file('kept', { engine = 'memory' }):at 'a'\n"
      "  end\n"
      "end)\n"
      "return true";
  Memory memory;
  lua_State *L = limited_state(&memory);
  open_all(L);
  CHECK(kv_lua_open(L, NULL, NULL) == KV_OK);
  lua_setglobal(L, "kv");
  CHECK(holds(L, script));
  memory.largest = 1 << 19;
  lua_close(L);
  CHECK_NAMED(is_all_free(&memory),
              "a state is closed whose finalizers run out of memory");
}

/* A store of the host's tells nothing to watches of a state that is gone. */
static void check_closed_watches(void) {
  Memory memory;
  kv_step path = kv_key("a");
  kv_store *store = new_store("{}");
  lua_State *L = limited_state(&memory);
  open_all(L);
  CHECK(kv_lua_open(L, NULL, NULL) == KV_OK);
  lua_setglobal(L, "kv");
  kv_lua_push_store(L, store, NULL, 0, 0, NULL);
  lua_setglobal(L, "s");
  CHECK(run_script(L,
                   "s:watch({}, print); s:events(print)\n"
                   "s:watch('a', print):cancel()\n"
                   "collectgarbage()",
                   0));
  for (int i = 0; i < 100; i++) kv_store_set_integer(store, &path, 1, i, NULL);
  CHECK(kv_store_pump(store, NULL, NULL) == KV_OK);
  lua_close(L);
  for (int i = 0; i < 100; i++) kv_store_set_integer(store, &path, 1, i, NULL);
  CHECK_NAMED(kv_store_pump(store, NULL, NULL) == KV_OK,
              "a watch ends with its state");
  kv_store_free(store);
}

static int is_done; /* the finalizer came to its end */

static int note_done(lua_State *L) {
  (void)L;
  is_done = 1;
  return 0;
}

static int count_descriptors(void) {
  int count = 0;
  for (int descriptor = 0; descriptor < 1024; descriptor++)
    count += fcntl(descriptor, F_GETFD) >= 0;
  return count;
}

/* Each allocation in turn fails once while a state is closed: Lua collects, and
 * tries again. What its finalizers have made is freed all the same: here the
 * descriptors tell, under a checker of memory the types and watches as well. */
static void check_collected_closing(long step) {
  static const char script[] =
      "finalizer = collected(function()\n"
      "  local function use()\n"
      "    local file = kv.open_file(path, { read_only = true })\n"
      "    file:watch('a', print):cancel()\n"
      "    local own = kv.open_file('own', { engine = 'memory' })\n"
      "    own:set('a', { 1 }, kv.array_of(kv.int:range(0, 9)))\n"
      "    own:transaction(function(tx) tx:at('b'):set({}, 2) end)\n"
      "    local watch = own:watch('a', function() end)\n"
      "    own:set('a', 2)\n"
      "    kv.pump()\n"
      "    watch:cancel()\n"
      "  end\n"
      "  for _ = 1, 3 do use() end\n"
      "  done()\n"
      "end)\n"
      "return true";
  Memory memory;
  long point = 1, states = 0, good = 0;
  int failed = 1, before = count_descriptors();
  for (; failed && point < 100000; point += step, states++) {
    lua_State *L = limited_state(&memory);
    open_all(L);
    good += kv_lua_open(L, NULL, NULL) == KV_OK;
    lua_setglobal(L, "kv");
    lua_pushstring(L, in_folder("closing.plist"));
    lua_setglobal(L, "path");
    is_done = 0;
    lua_register(L, "done", note_done);
    good += holds(L, script);
    memory.calls = 0;
    memory.once = 1;
    memory.failing = point;
    lua_close(L);
    failed = memory.failed;
    /* Only 5.3 and 5.4 collect in a finalizer where memory runs out. */
    good += (is_done || LUA_VERSION_NUM < 503 || LUA_VERSION_NUM > 504) &&
            is_all_free(&memory);
  }
  printf("# %ld points of failure while closing, up to call %ld\n", states,
         point);
  CHECK_NAMED(good == 3 * states, "finalizers run while a collection does");
  /* The library's own thread has one or two. */
  CHECK_NAMED(count_descriptors() < before + 5, "and what they make is freed");
}

int main(int count, char **arguments) {
  long step = count > 1 ? atol(arguments[1]) : 17;
  if (step < 1) step = 1;
  make_folder();
  check_failures(step);
  check_opening(step);
  check_collecting(0);
  if (LUA_VERSION_NUM >= 504) check_collecting(1);
  check_armed();
  check_leftovers();
  check_closing();
  check_closed_watches();
  check_collected_closing(step);
  remove_folder();
  return finish_checks();
}
