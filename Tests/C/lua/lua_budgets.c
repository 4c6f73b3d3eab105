/* lua_budgets.c: what a script may have open, store and write as text, whatever
 * options it gives. */
#include <poll.h>

#include "lua_support.h"

static const char preparing[] = HELPERS
    "function refused(message, call, ...)\n"
    "  local found = problem(call, ...)\n"
    "  if found.code == 'limit_exceeded' and\n"
    "      found.message:find(message, 1, true) then\n"
    "    return found\n"
    "  end\n"
    "  print('#', found.code, (tostring(found.message):sub(1, 200)))\n"
    "end\n"
    "return true\n";

static lua_State *open_state(lua_State *L, kv_lua_options options,
                             const kv_store *store) {
  options.size = sizeof options;
  open_libraries(L);
  CHECK(kv_lua_open(L, &options, NULL) == KV_OK);
  lua_setglobal(L, "kv");
  CHECK(kv_lua_push_store(L, store, NULL, 0, 0, NULL) == KV_OK);
  lua_setglobal(L, "s");
  CHECK(holds(L, preparing));
  return L;
}

/* ---- Watches */

/* proves: G97 */
static void check_watches(void) {
  kv_store *store = new_store("{}");
  kv_lua_options options = {.max_watches = 3};
  lua_State *L = open_state(luaL_newstate(), options, store);
  CHECK_NAMED(
      holds(L,
            "local function no(...)\n"
            "  return refused('More than 3 watches', ...)\n"
            "end\n"
            "local first = s:watch('a', print)\n"
            "local second = s:events(print)\n"
            "local third = s:watch('a', print, { subtree = true })\n"
            "assert(no(s.watch, s, 'b', print) and no(s.events, s, print))\n"
            "first:cancel() first:cancel()\n"
            "first = s:watch('b', print)\n"
            "assert(no(s.watch, s, 'b', print))\n"
            "second:cancel()\n"
            "second = s:events(print)\n"
            "return no(s.watch, s, 'b', print) and true"),
      "the host says how many watches there may be; a cancelled one frees its "
      "place");
  CHECK_NAMED(
      holds(L,
            "local other = kv.open_file('x', { engine = 'memory' })\n"
            "s:close()\n"
            "for i = 1, 10 do\n"
            "  for j = 1, 3 do other:watch('a', print) end\n"
            "  assert(refused('More than 3 watches', other.events, other,\n"
            "    print))\n"
            "  other:close()\n"
            "  other = kv.open_file('x', { engine = 'memory' })\n"
            "end\n"
            "for i = 1, 10 do\n"
            "  assert(not pcall(other.watch, other, { {} }, print))\n"
            "  assert(not pcall(other.watch, other, 'a', 7))\n"
            "end\n"
            "for j = 1, 3 do other:watch('a', print) end\n"
            "return refused('More than 3 watches', other.watch, other, 'a',\n"
            "  print) and true"),
      "so does a store that is closed, and a watch that did not come about "
      "takes none");
  lua_close(L);
  kv_lua_options sandbox = {.policy = KV_LUA_SANDBOX};
  L = open_state(luaL_newstate(), sandbox, store);
  CHECK_NAMED(holds(L,
                    "for i = 1, 64 do s:watch('a', print) end\n"
                    "return refused('More than 64 watches', s.watch, s, 'a',\n"
                    "  print) and true"),
              "under a policy there are 64");
  lua_close(L);
  kv_lua_options none = {0};
  L = open_state(luaL_newstate(), none, store);
  CHECK_NAMED(holds(L,
                    "for i = 1, 1000 do s:watch('a', print) end\n"
                    "return true"),
              "without one there is no limit");
  lua_close(L);
  kv_store_free(store);
}

/* ---- Pumping */

static int is_readable(lua_State *L) {
  lua_getglobal(L, "descriptor");
  struct pollfd wait = {(int)lua_tointeger(L, -1), POLLIN, 0};
  lua_pop(L, 1);
  return poll(&wait, 1, 0) == 1;
}

/* Ends a script as script_limits.h does: at each instruction from now on. */
static void end_script(lua_State *L, lua_Debug *event) {
  (void)event;
  lua_sethook(L, end_script, LUA_MASKCOUNT, 1);
  luaL_error(L, "the script takes too long");
}

/* A host's hook ends a pump, however many calls are left. */
static void check_hook(void) {
  kv_store *store = new_store("{}");
  kv_lua_options options = {.policy = KV_LUA_SANDBOX};
  lua_State *L = open_state(luaL_newstate(), options, store);
  size_t calls = 0;
  kv_error *error = NULL;
  CHECK(run_script(L,
                   "if jit then jit.off() end\n"
                   "descriptor, told = kv.fd(), 0\n"
                   "for i = 1, 64 do\n"
                   "  s:watch({}, function()\n"
                   "    told = told + 1\n"
                   "    if told == 100 then while true do end end\n"
                   "  end)\n"
                   "end\n"
                   "local all = {}\n"
                   "for i = 1, 1000 do all['k' .. i] = i end\n"
                   "s:set({}, all)",
                   0));
  lua_sethook(L, end_script, LUA_MASKCOUNT, 10000);
  CHECK_NAMED(kv_lua_pump(L, &calls, &error) == KV_MISUSE && calls == 0 &&
                  strstr(kv_error_message(error).data, "takes too long"),
              "a hook ends a pump");
  kv_error_free(error);
  lua_sethook(L, NULL, 0, 0);
  CHECK_NAMED(holds(L, "return told == 100") && is_readable(L),
              "when it ends a function; the descriptor shows what is left");
  CHECK_NAMED(holds(L,
                    "s:set('k1', 2) s:set('k1', 3)\n"
                    "return kv.pump() == 64 * 1000 - 100 + 64\n"
                    "  and told == 64 * 1001"),
              "the next pump tells the rest, and then what came after");
  CHECK_NAMED(!is_readable(L), "then nothing is left");
  lua_close(L);
  kv_store_free(store);
}

static void check_sharing(void) {
  kv_store *store = new_store("{}");
  kv_lua_options none = {0};
  lua_State *L = open_state(luaL_newstate(), none, store);
  CHECK_NAMED(
      holds(
          L,
          "local early, late = {}, {}\n"
          "local function note(list)\n"
          "  return function(_, new, old) list[#list + 1] = { old, new } end\n"
          "end\n"
          "s:set('b', 1)\n"
          "local first = s:watch('b', note(early))\n"
          "s:set('b', 2)\n"
          "local second = s:watch('b', note(late))\n"
          "s:set('b', 3)\n"
          "kv.pump()\n"
          "assert(#late == 1 and late[1][1] == 2 and late[1][2] == 3)\n"
          "assert(#early == 2 and early[1][1] == 1 and early[2][2] == 3)\n"
          "first:cancel()\n"
          "s:set('b', 4)\n"
          "kv.pump()\n"
          "assert(#early == 2 and late[2][2] == 4)\n"
          "second:cancel()\n"
          "s:set('b', 5)\n"
          "return kv.pump() == 0"),
      "watches of one place are told of what came after they began, until they "
      "are cancelled");
  lua_close(L);
  kv_store_free(store);
}

/* ---- Errors */

static void check_collections(void) {
  kv_store *store = new_store("{}");
  kv_lua_options none = {0};
  lua_State *L = open_state(luaL_newstate(), none, store);
  CHECK_NAMED(
      holds(L,
            "local cycles, live = 0, {}\n"
            "local function count()\n"
            "  collected(function()\n"
            "    cycles = cycles + 1\n"
            "    count()\n"
            "  end)\n"
            "end\n"
            "for i = 1, 50000 do live[i] = { i } end\n"
            "collectgarbage() collectgarbage()\n"
            "count()\n"
            "for i = 1, 1000 do\n"
            "  assert(problem(kv.encode, { a = print }).path[1] == 'a')\n"
            "end\n"
            "print('#', cycles, 'collections')\n"
            "return cycles < 50"),
      "an error is not a collection");
  lua_close(L);
  kv_store_free(store);
}

/* ---- No memory */

typedef struct Memory {
  size_t used, most;
} Memory;

static void *allocate(void *context, void *block, size_t old, size_t size) {
  Memory *memory = context;
  if (!block) old = 0;
  if (size > old && memory->used + size - old > memory->most) return NULL;
  memory->used += size - old;
  if (size > 0) return realloc(block, size);
  free(block);
  return NULL;
}

static void check_memory(void) {
  Memory memory = {0, (size_t)64 << 20};
  kv_store *store = new_store("{}");
  kv_lua_options none = {0};
  kv_error *error = NULL;
  size_t calls = 0;
  lua_State *L = open_state(lua_newstate(allocate, &memory), none, store);
  CHECK(run_script(L,
                   "told = 0\n"
                   "s:watch('a', function()\n"
                   "  local t = {} for i = 1, 1e9 do t[i] = i end\n"
                   "end)\n"
                   "s:watch('a', function() told = told + 1 end)\n"
                   "s:set('a', 1)",
                   0));
  CHECK_NAMED(
      failed_with(kv_lua_pump(L, &calls, &error), KV_LIMIT_EXCEEDED, &error),
      "no memory in a watch's function is no misuse");
  CHECK_NAMED(holds(L,
                    "s:set('a', 2)\n"
                    "local ok, found = pcall(kv.pump)\n"
                    "return not ok and found.code == 'limit_exceeded' and\n"
                    "  found.message == 'not enough memory' and told == 2"),
              "a script is told its code, too, when the others were called");
  CHECK(run_script(L,
                   "s:watch('b', function() error('first', 0) end)\n"
                   "s:set('b', 1)",
                   0));
  CHECK_NAMED(failed_with(kv_lua_pump(L, &calls, &error), KV_MISUSE, &error),
              "another error is the script's own");
  lua_close(L);
  kv_store_free(store);
}

/* ---- Text */

static void check_text(void) {
  kv_store *store = new_store("{}");
  kv_lua_options options = {.max_bytes = 6000};
  lua_State *L = open_state(luaL_newstate(), options, store);
  CHECK_NAMED(
      holds(
          L,
          "local function no(...)\n"
          "  return refused('More than 6000 bytes of text', ...)\n"
          "end\n"
          "local xml, json = { format = 'xml' }, { format = 'json' }\n"
          "local binary = { format = 'binary' }\n"
          "local function all(text, options)\n"
          "  assert(kv.encode(text:rep(1000), nil, options))\n"
          "  assert(kv.encode(text:rep(1001), nil, binary))\n"
          "  if text ~= '\\1' then\n"
          "    s:set('x', { [text:rep(400)] = text:rep(601) })\n"
          "    assert(no(s.export, s, options) and s:export(binary))\n"
          "  end\n"
          "  return no(kv.encode, text:rep(1001), nil, options)\n"
          "    and no(kv.encode, { text:rep(1001) }, '[String]', options)\n"
          "    and no(kv.encode, { [text:rep(1001)] = 1 }, nil, options)\n"
          "end\n"
          "return all('\\1', json) and all('\"', json) and all('\\\\', json)\n"
          "  and all('&', xml) and all('<', xml) and all('>', xml)\n"
          "  and all('\\r', xml) and s:export(binary)\n"
          "  and no(kv.encode, kv.data(('x'):rep(2600)), nil, xml)\n"
          "  and kv.encode(kv.data(('x'):rep(2500)), nil, xml) and true"),
      "text counts as it is escaped in a file");
  CHECK_NAMED(
      holds(L,
            "local deep = {}\n"
            "for i = 1, 100 do deep = { deep } end\n"
            "local binary = { format = 'binary' }\n"
            "assert(kv.encode({ 1, deep }, nil, binary))\n"
            "return refused('More than 6000 bytes of text', kv.encode,\n"
            "  { 1, deep }, nil, { format = 'xml' }) and true"),
      "and with the tabs before each line");
  CHECK_NAMED(holds(L,
                    "local path = os.tmpname()\n"
                    "local function read(count)\n"
                    "  local file = assert(io.open(path, 'w'))\n"
                    "  file:write((' '):rep(count), '{\"a\":1}')\n"
                    "  file:close()\n"
                    "  return kv.read(path)\n"
                    "end\n"
                    "assert(read(1000).a == 1)\n"
                    "local value, problem = read(2000)\n"
                    "os.remove(path)\n"
                    "return value == nil and problem.code == 'limit_exceeded'"),
              "a file of a quarter of the host's bytes is read");
  lua_close(L);
  kv_store_free(store);
}

static void check_long_text(void) {
  kv_store *store = new_store("{}");
  kv_lua_options sandbox = {.policy = KV_LUA_SANDBOX};
  lua_State *L = open_state(luaL_newstate(), sandbox, store);
  long before = resident_kilobytes();
  CHECK_NAMED(
      holds(L,
            "local text = 'More than 67108864 bytes of text'\n"
            "for format, byte in pairs { json = '\\1', xml = '&' } do\n"
            "  local value = repeated(63, byte:rep(1048576))\n"
            "  assert(refused(text, kv.encode, value, nil,\n"
            "    { format = format }))\n"
            "  value = repeated(31, byte:rep(1048576))\n"
            "  local Key = kv.array_of(kv.struct 'Key' {\n"
            "    a = kv.int:key(byte:rep(1048576)) })\n"
            "  assert(refused(text, kv.encode, repeated(31, { a = 1 }), Key,\n"
            "    { format = format }))\n"
            "end\n"
            "local deep = {}\n"
            "for i = 1, 450 do deep = { k = deep } end\n"
            "return refused(text, kv.encode, repeated(570, deep), nil,\n"
            "  { format = 'xml' }) and true"),
      "also where a type makes it long, or tabs do");
  long grown = (resident_kilobytes() - before) >> 10;
  printf("# the process grew by %ld MB\n", grown);
  CHECK_NAMED(is_checked() || grown < 300, "and the text is not made");
  lua_close(L);
  kv_store_free(store);
}

/* ---- Archives */

static const char archiving[] =
    "local function uid(n) return "
    "'<dict><key>CF$UID</key><integer>'..n..'</integer></dict>' end\n"
    "function archive(count, text)\n"
    "  return "
    "'<plist><dict><key>$archiver</key><string>NSKeyedArchiver</string>'\n"
    "    .. "
    "'<key>$version</key><integer>100000</integer><key>$top</key><dict>'\n"
    "    .. '<key>root</key>' .. uid(1) .. "
    "'</dict><key>$objects</key><array>'\n"
    "    .. '<string>$null</string><dict><key>$class</key>' .. uid(2)\n"
    "    .. '<key>NS.keys</key><array>' .. uid(3) .. '</array>'\n"
    "    .. '<key>NS.objects</key><array>' .. uid(5) .. '</array></dict>'\n"
    "    .. '<dict><key>$classname</key><string>NSDictionary</string>'\n"
    "    .. "
    "'<key>$classes</key><array><string>NSDictionary</string></array></dict>'\n"
    "    .. '<string>a</string><string>' .. text .. '</string>'\n"
    "    .. '<dict><key>$class</key>' .. uid(6) .. "
    "'<key>NS.objects</key><array>'\n"
    "    .. uid(4):rep(count) .. '</array></dict>'\n"
    "    .. '<dict><key>$classname</key><string>NSArray</string>'\n"
    "    .. "
    "'<key>$classes</key><array><string>NSArray</string></array></dict>'\n"
    "    .. '</array></dict></plist>'\n"
    "end\n"
    "return true\n";

/* The size of an archive's expanded objects counts before a store takes it. */
static void check_archives(void) {
  kv_store *store = new_store("{}");
  kv_lua_options options = {.max_bytes = 24000};
  lua_State *L = open_state(luaL_newstate(), options, store);
  CHECK(holds(L, archiving));
  CHECK_NAMED(
      holds(L,
            "s:import(archive(2, 'x'))\n"
            "assert(#s:get 'a' == 2 and s:get { 'a', 2 } == 'x')\n"
            "local message = 'Shared objects grow to more than 24000 bytes'\n"
            "assert(refused(message, s.import, s,\n"
            "  archive(10, ('y'):rep(4000))))\n"
            "return #s:get 'a' == 2"),
      "a small archive of a large value is not imported");
  lua_close(L);
  kv_store_free(store);
}

/* ---- Types */

static const char making[] =
    "long = ('x'):rep(1000)\n"
    "function make(i)\n"
    "  local made = kv.array_of(kv.struct 'S' {\n"
    "    a = kv.string:default(long .. i) })\n"
    "  kv.encode({}, made)\n"
    "  return made\n"
    "end\n"
    "function count(call)\n"
    "  for i = 1, 100 do\n"
    "    local good, problem = pcall(call, i)\n"
    "    if not good then return i - 1, problem.message end\n"
    "  end\n"
    "end\n"
    "return true\n";

/* A state on the store in which `make` makes types, and `count` counts. */
static lua_State *making_state(kv_lua_options options, kv_store *store) {
  lua_State *L = open_state(luaL_newstate(), options, store);
  CHECK(holds(L, making));
  return L;
}

static void check_types(void) {
  kv_store *store = new_store("{}");
  kv_lua_options options = {.max_bytes = 6000};
  lua_State *L = making_state(options, store);
  CHECK_NAMED(
      holds(L,
            "local alive = {}\n"
            "local made, message = count(function(i) alive[i] = make(i) end)\n"
            "return made == 8 and message ==\n"
            "  'More than 9000 bytes of strings and data in types'"),
      "the types of a state have half as much again as one value");
  CHECK_NAMED(holds(L, "collectgarbage() return count(make) == nil"),
              "those that are garbage do not count");
  CHECK_NAMED(holds(L,
                    "local made, message = count(function(i)\n"
                    "  kv.declare('struct T' .. i .. ' { a: Int }' .. long)\n"
                    "end)\n"
                    "return made == 0 and message:find 'line 1'"),
              "a text that is wrong is told first");
  CHECK_NAMED(holds(L,
                    "local kept = kv.any:default { long:rep(5) }\n"
                    "kv.encode({}, kept)\n"
                    "local function refused_from(first, step)\n"
                    "  for size = first, 6000, step do\n"
                    "    collectgarbage() collectgarbage()\n"
                    "    local good, problem = pcall(kv.encode, {},\n"
                    "      kv.any:default { ('x'):rep(size) })\n"
                    "    if not good then return size, problem.message end\n"
                    "  end\n"
                    "end\n"
                    "local _, message =\n"
                    "  refused_from(refused_from(500, 100) - 100, 1)\n"
                    "return message ==\n"
                    "  'More than 9000 bytes of strings and data in types'"),
              "one that fits to the byte is whole");
  lua_close(L);
  kv_lua_options none = {0};
  L = making_state(none, store);
  CHECK_NAMED(holds(L,
                    "return count(function(i)\n"
                    "  kv.declare('struct T' .. i .. ' { a: Int }')\n"
                    "  make(i)\n"
                    "end) == nil"),
              "without a host's limits there is room");
  lua_close(L);
  kv_store_free(store);
}

static void check_type_texts(void) {
  kv_store *store = new_store("{}");
  kv_lua_options options = {.max_bytes = 6000};
  lua_State *L = making_state(options, store);
  CHECK_NAMED(holds(L,
                    "local made, message = count(function(i)\n"
                    "  kv.declare('struct T' .. i .. ' { a: Int }' ..\n"
                    "    (' '):rep(1000))\n"
                    "end)\n"
                    "return made == 8 and message ==\n"
                    "  'More than 9000 bytes of strings and data in types'"),
              "texts count by their length");
  lua_close(L);
  L = making_state(options, store);
  CHECK_NAMED(holds(L,
                    "local path = os.tmpname()\n"
                    "local file = io.open(path, 'w')\n"
                    "file:write('struct F { a: Int }', (' '):rep(3500))\n"
                    "file:close()\n"
                    "local made, message = count(function()\n"
                    "  kv.types_from(path)\n"
                    "end)\n"
                    "os.remove(path)\n"
                    "return made == 2 and message ==\n"
                    "  'More than 9000 bytes of strings and data in types'"),
              "and so do files");
  lua_close(L);
  L = open_state(luaL_newstate(), options, store);
  CHECK_NAMED(holds(L,
                    "local text = 'struct L { a: Int }'\n"
                    "local rest = (' '):rep(1500 - #text)\n"
                    "return refused('More than 1500 bytes of a text',\n"
                    "    kv.declare, text .. rest .. ' ')\n"
                    "  and kv.declare(text .. rest) ~= nil"),
              "one text has a quarter of what one value may have");
  lua_close(L);
  kv_store_free(store);
}

static void check_type_nodes(void) {
  kv_store *store = new_store("{}");
  kv_lua_options few = {.max_nodes = 400};
  lua_State *L = making_state(few, store);
  CHECK_NAMED(holds(L,
                    "local alive = {}\n"
                    "local made, message = count(function(i)\n"
                    "  local fields = {}\n"
                    "  for j = 1, 10 do fields['f' .. j] = kv.int end\n"
                    "  alive[i] = kv.struct('S' .. i)(fields)\n"
                    "  kv.encode({}, alive[i])\n"
                    "end)\n"
                    "return made == 10 and message ==\n"
                    "  'More than 600 values and keys in types'"),
              "values and keys have a bound of their own");
  lua_close(L);
  L = making_state(few, store);
  CHECK_NAMED(holds(L,
                    "return count(function(i)\n"
                    "  local fields = {}\n"
                    "  for j = 1, 10 do fields['f' .. j] = kv.int end\n"
                    "  kv.encode({}, kv.struct 'S'(fields))\n"
                    "end) == nil"),
              "which those that are garbage do not reach");
  lua_close(L);
  L = making_state(few, store);
  CHECK_NAMED(holds(L,
                    "local made, message = count(function(i)\n"
                    "  kv.declare('struct T' .. i .. ' { a: Int }' ..\n"
                    "    (' '):rep(800))\n"
                    "end)\n"
                    "return made == 2 and message ==\n"
                    "  'More than 600 values and keys in types'"),
              "and texts reach by their length");
  lua_close(L);
  kv_store_free(store);
}

/* In LuaJIT, its 64-bit numbers have the collector work while they are
 * written. */
static const char collecting[] =
    "wide = {}\n"
    "local one = jit and loadstring('return 1LL')() or 1\n"
    "for i = 1, 100000 do wide[i] = one + i end\n"
    "function text(size) return ('x'):rep(size) end\n"
    "function use(...)\n"
    "  return pcall(kv.encode, {}, kv.any:default { ... })\n"
    "end\n"
    "return true\n";

static void check_types_collected(void) {
  kv_store *store = new_store("{}");
  kv_lua_options options = {.max_bytes = 1 << 20};
  lua_State *L = open_state(luaL_newstate(), options, store);
  CHECK(holds(L, collecting));
  CHECK_NAMED(holds(L,
                    "if not jit then return true end\n"
                    "for round = 1, 4 do\n"
                    "  local garbage = {}\n"
                    "  for i = 1, 7 do\n"
                    "    garbage[i] = kv.any:default { text(200000) }\n"
                    "    pcall(kv.encode, {}, garbage[i])\n"
                    "  end\n"
                    "  use(text(250000)) use(text(250000))\n"
                    "  garbage = nil\n"
                    "  assert(use(wide, text(200000)))\n"
                    "end\n"
                    "return true"),
              "what is let go of while a type is written has room for it");
  CHECK_NAMED(holds(L,
                    "if not jit then return true end\n"
                    "local made = kv.any:default { wide, text(900000) }\n"
                    "local spaces, declared = (' '):rep(120000), 0\n"
                    "collectgarbage('setpause', 100)\n"
                    "collectgarbage('setstepmul', 1000)\n"
                    "collectgarbage()\n"
                    "getmetatable(newproxy(true)).__gc = function()\n"
                    "  for i = 1, 12 do kv.declare(spaces) declared = i end\n"
                    "end\n"
                    "local good, problem = pcall(kv.encode, {}, made)\n"
                    "return declared == 12 and not good\n"
                    "  and problem.message:find 'bytes.*in types'"),
              "what is declared while a type is written counts");
  lua_close(L);
  kv_store_free(store);
}

/* ---- Stores of the script's own */

static void check_own_stores(void) {
  kv_store *store = new_store("{}");
  kv_lua_options options = {.policy = KV_LUA_NO_FILES, .max_bytes = 2000};
  lua_State *L;
  options.max_nodes = 20;
  L = open_state(luaL_newstate(), options, store);
  CHECK_NAMED(
      holds(
          L,
          "local function open(bytes, nodes)\n"
          "  return assert(kv.open('x', { engine = 'memory',\n"
          "    max_bytes = bytes, max_nodes = nodes }))\n"
          "end\n"
          "for _, own in ipairs { open(), open(1099511627776, 1099511627776) } "
          "do\n"
          "  own:set('a', ('x'):rep(1500))\n"
          "  assert(refused('Expected a store of at most 2000 bytes',\n"
          "    own.set, own, 'b', ('x'):rep(500)))\n"
          "  own:set('a', repeated(15, 1))\n"
          "  assert(refused('Expected a store of at most 20 values and keys',\n"
          "    own.set, own, 'b', repeated(5, 1)))\n"
          "end\n"
          "local own = open(1000, 10)\n"
          "assert(refused('Expected a store of at most 10 values and keys',\n"
          "  own.set, own, 'b', repeated(15, 1)))\n"
          "return refused('Expected a store of at most 1000 bytes', own.set,\n"
          "  own, 'a', ('x'):rep(1500)) and true"),
      "a script's options for a store only lower its host's limits");
  lua_close(L);
  options.policy = 0;
  L = open_state(luaL_newstate(), options, store);
  CHECK_NAMED(holds(L,
                    "local own = kv.open('x', { engine = 'memory' })\n"
                    "for i = 1, 20 do own:set('a' .. i, ('x'):rep(1000)) end\n"
                    "return true"),
              "without a policy its stores are its host's");
  lua_close(L);
  kv_store_free(store);
}

/* ---- Quota */

/* Pushes the part `mine` of the store, as `p`. */
static void give_part(lua_State *L, const kv_store *store) {
  static const kv_step mine = {{"mine", 4}, 0};
  CHECK(kv_lua_push_store(L, store, &mine, 1, 0, NULL) == KV_OK);
  lua_setglobal(L, "p");
}

/* proves: G99 */
static void check_quota(void) {
  kv_store *store = new_store("{\"mine\": {\"host\": \"0123456789\"}}");
  kv_lua_options options = {.policy = KV_LUA_NO_FILES, .quota = 2000};
  lua_State *L = open_state(luaL_newstate(), options, store);
  give_part(L, store);
  CHECK_NAMED(
      holds(L,
            "local function no(...)\n"
            "  return refused('Expected a part of at most 2000 bytes, this '\n"
            "    .. 'would make it ', ...)\n"
            "end\n"
            "local long = ('x'):rep(1000)\n"
            "p:set('a', long)\n"
            "local found = no(p.set, p, 'b', long)\n"
            "assert(found.path[1] == 'b' and #found.path == 1)\n"
            "assert(not found.message:find 'mine')\n"
            "assert(no(p.set, p, 'b', { long }) and no(p.set, p, {}, { long,\n"
            "  long }) and no(p.set, p, { 'c', 'd' }, long))\n"
            "assert(no(p.set, p, 'b', long, 'String'))\n"
            "assert(no(p.update, p, 'b', function() return long end))\n"
            "assert(no(p.compare_and_set, p, 'b', long, p:generation()))\n"
            "assert(no(p.transaction, p, function(tx) tx:set('b', long) end))\n"
            "assert(no(p.transaction, p, function(tx)\n"
            "  tx:at 'b':set('c', long)\n"
            "end))\n"
            "assert(no(p:at 'b'.set, p:at 'b', {}, long))\n"
            "p:set('l', {})\n"
            "assert(no(p.set, p, { 'l', 1 }, long))\n"
            "local D = kv.struct 'D' { a = kv.string:default(long),\n"
            "  b = kv.string:default(long) }\n"
            "assert(no(p.set, p, 'd', { a = long .. 'y' }, D))\n"
            "p:set('d', {}, D)\n"
            "assert(no(p.update, p, 'd', D, function(value)\n"
            "  value.a, value.b = long .. 'y', long .. 'y'\n"
            "end))\n"
            "assert(p:get 'b' == nil and next(p:get 'd') == nil)\n"
            "p:transaction(function(tx) tx:remove 'a' tx:set('b', long) end)\n"
            "return p:get 'host' == '0123456789' and #p:get 'b' == 1000"),
      "a part has a quota, by whatever way it is set");
  lua_close(L);
  kv_store_free(store);
}

static void check_quota_of_host(void) {
  kv_store *store = new_store("{\"mine\": {\"host\": \"0123456789\"}}");
  kv_lua_options options = {.policy = KV_LUA_NO_FILES, .quota = 2000};
  lua_State *L = open_state(luaL_newstate(), options, store);
  give_part(L, store);
  kv_step host[] = {kv_key("mine"), kv_key("host")};
  static char text[3000];
  memset(text, 'x', sizeof text - 1);
  CHECK(holds(L, "p:set('b', ('x'):rep(1000)) return true"));
  CHECK(kv_store_set_string(store, host, 2, kv_string(text), NULL) == KV_OK);
  CHECK_NAMED(
      holds(L,
            "assert(refused('Expected a part of at most 2000 bytes', p.set,\n"
            "  p, 'b', ('x'):rep(1001)))\n"
            "p:set('b', ('x'):rep(999))\n"
            "p:set('host', p:get 'host':sub(2))\n"
            "p:remove 'host'\n"
            "p:set('b', ('x'):rep(1500))\n"
            "return true"),
      "the host's values count, and the part may shrink");
  kv_store *given = NULL;
  lua_getglobal(L, "p");
  CHECK(kv_lua_to_store(L, -1, &given, NULL) == KV_OK);
  kv_error *error = NULL;
  host[1] = kv_key("more");
  CHECK_NAMED(
      failed_with(kv_store_set_string(given, host, 2, kv_string(text), &error),
                  KV_LIMIT_EXCEEDED, &error),
      "a handle that a host takes back has the script's quota");
  kv_store_free(given);
  lua_close(L);
  kv_store_free(store);
}

static void check_quota_of_stores(void) {
  kv_store *store = new_store("{\"mine\": {}}");
  kv_lua_options options = {.policy = KV_LUA_NO_FILES, .quota = 2000};
  lua_State *L = open_state(luaL_newstate(), options, store);
  CHECK_NAMED(
      holds(L,
            "local own = kv.open('x', { engine = 'memory',\n"
            "  max_bytes = 1073741824 })\n"
            "for _, whole in ipairs { s, own } do\n"
            "  assert(refused('Expected a store of at most 2000 bytes',\n"
            "    whole.set, whole, 'x', ('x'):rep(2000)))\n"
            "  assert(refused('Expected a store of at most 2000 bytes',\n"
            "    whole.import, whole, '{\"x\": \"' .. ('x'):rep(2000)\n"
            "    .. '\"}'))\n"
            "end\n"
            "return true"),
      "a whole store has one, and one that the script opens");
  lua_close(L);
  kv_lua_options sandbox = {.policy = KV_LUA_SANDBOX};
  L = open_state(luaL_newstate(), sandbox, store);
  give_part(L, store);
  CHECK_NAMED(
      holds(L,
            "local half = repeated(40, ('x'):rep(1048576))\n"
            "p:set('a', half)\n"
            "assert(refused('Expected a part of at most 67108864 bytes',"
            "\n  p.set, p, 'b', half))\n"
            "assert(refused('Expected a store of at most 67108864 '\n"
            "  .. 'bytes', s.set, s, 'b', half))\n"
            "p:set({}, {})\n"
            "return true"),
      "under a policy there is one");
  lua_close(L);
  kv_store_free(store);
}

int main(void) {
  check_quota();
  check_quota_of_host();
  check_quota_of_stores();
  check_own_stores();
  check_watches();
  check_hook();
  check_sharing();
  check_collections();
  check_memory();
  check_text();
  check_long_text();
  check_archives();
  check_types();
  check_type_texts();
  check_type_nodes();
  check_types_collected();
  return finish_checks();
}
