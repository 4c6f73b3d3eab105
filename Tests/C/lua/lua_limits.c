/* lua_limits.c: what values of scripts may grow to that are small in Lua and
 * large outside of it. */
#include <malloc.h>
#include <sys/resource.h>

#include "lua_support.h"

static const char preparing[] =
    "function doubled(n)\n"
    "  local t = {}\n"
    "  for _ = 1, n do t = { t, t } end\n"
    "  return t\n"
    "end\n" HELPERS
    "function refused(code, message, call, ...)\n"
    "  local found = problem(call, ...)\n"
    "  if found.code == code and found.message:find(message, 1, true) then\n"
    "    return found\n"
    "  end\n"
    "  print('#', found.code, (tostring(found.message):sub(1, 200)))\n"
    "end\n"
    "-- A struct whose default has 2 ^ n structs in it.\n"
    "function nested(n, name)\n"
    "  local last = kv.struct(name .. 0) { v = kv.int:default(1) }\n"
    "  for i = 1, n do\n"
    "    last = last:default {}\n"
    "    last = kv.struct(name .. i) { a = last, b = last }\n"
    "  end\n"
    "  return last\n"
    "end\n"
    "return true\n";

static lua_State *limited_state(uint32_t policy, size_t nodes, size_t bytes,
                                const kv_store *store, uint32_t flags) {
  kv_lua_options options = {0};
  lua_State *L = luaL_newstate();
  options.size = sizeof options;
  options.policy = policy;
  options.max_nodes = nodes;
  options.max_bytes = bytes;
  open_libraries(L);
  CHECK(kv_lua_open(L, &options, NULL) == KV_OK);
  lua_setglobal(L, "kv");
  CHECK(kv_lua_push_store(L, store, NULL, 0, flags, NULL) == KV_OK);
  lua_setglobal(L, "s");
  CHECK(holds(L, preparing));
  return L;
}

static void check_walks(void) {
  kv_store *store = new_store("{\"kept\": 1}");
  lua_State *L = limited_state(KV_LUA_SANDBOX, 0, 0, store, 0);
  long before = resident_kilobytes();
  CHECK_NAMED(
      holds(
          L,
          "local many = 'More than 524288 values and keys at '\n"
          "local function all(value, message)\n"
          "  local function no(...)\n"
          "    return refused('limit_exceeded', message, ...)\n"
          "  end\n"
          "  return no(s.set, s, 'x', value)\n"
          "    and no(s.set, s, 'x', value, 'Any')\n"
          "    and no(s.compare_and_set, s, 'x', value, 0)\n"
          "    and no(s.register, s, { a = value })\n"
          "    and no(s.update, s, 'x', function() return value end)\n"
          "    and no(s.transaction, s, function(tx) tx:set('x', value) end)\n"
          "    and no(kv.encode, value) and no(kv.unarchive, value)\n"
          "    and kv.is_archive(value) == false\n"
          "    and no(s.get, s, 'kept', kv.any:default(value))\n"
          "end\n"
          "local loop = {}\n"
          "for i = 1, 26 do loop = { a = loop, b = loop } end\n"
          "return all(doubled(26), 'More than 524288 values and keys')\n"
          "  and all(loop, 'More than 524288 values and keys')\n"
          "  and s:get 'x' == nil and s:get 'kept' == 1"),
      "tables that are in a value many times are counted each time");
  CHECK_NAMED(
      holds(L,
            "local long = ('x'):rep(1048576)\n"
            "local data = kv.data(long)\n"
            "local message = 'More than 67108864 bytes of strings and data'\n"
            "local one = refused('limit_exceeded', message .. ' at x[65]',\n"
            "  s.set, s, 'x', repeated(100, long))\n"
            "local keys = repeated(100, { [long] = 1 })\n"
            "return one and one.path[1] == 'x' and one.path[2] == 65\n"
            "  and refused('limit_exceeded', message, s.set, s, 'x', keys)\n"
            "  and refused('limit_exceeded', message, kv.encode,\n"
            "    repeated(100, data))\n"
            "  and s:get 'x' == nil and true"),
      "and so are long strings and data");
  CHECK_NAMED(
      holds(L,
            "local deep = repeated(500000, 1)\n"
            "for i = 1, 400 do deep = { deep } end\n"
            "local text = ('['):rep(600) .. (']'):rep(600)\n"
            "return refused('limit_exceeded',\n"
            "  'More than 67108864 bytes of text', kv.encode, deep)\n"
            "  and refused('limit_exceeded', 'Deeper than 512 levels',\n"
            "    kv.decode, text, nil, { depth = 2000 })\n"
            "  and kv.encode(deep, nil, { format = 'binary' }) and true"),
      "and the indentation of text");
  long grown = (resident_kilobytes() - before) >> 10;
  printf("# the process grew by %ld MB\n", grown);
  CHECK_NAMED(is_checked() || grown < 300, "at most 300 MB is taken for them");
  lua_close(L);
  kv_store_free(store);
}

static void check_order(void) {
  kv_store *store = new_store("{\"kept\": 1}");
  lua_State *L = limited_state(KV_LUA_SANDBOX, 0, 0, store, KV_LUA_READ_ONLY);
  CHECK(kv_store_is_read_only(store) == 0 && kv_store_is_read_only(NULL) == 0);
  kv_store *shared = NULL;
  CHECK(kv_store_share(store, KV_READ_ONLY_HANDLE, NULL, 0, 0, &shared, NULL) ==
        KV_OK);
  CHECK(kv_store_is_read_only(shared) == 1);
  kv_store_free(shared);
  CHECK_NAMED(
      holds(L,
            "local value, part = doubled(40), s:at 'a'\n"
            "local text = 'The store was opened read-only'\n"
            "local one = refused('read_only', text .. ' at a.x',\n"
            "  part.set, part, 'x', value)\n"
            "return one and one.path[1] == 'a' and one.path[2] == 'x'\n"
            "  and refused('read_only', text, s.set, s, 'x', value, 'Any')\n"
            "  and refused('read_only', text, s.compare_and_set, s, 'x',\n"
            "    value, 0)\n"
            "  and true"),
      "a store that is read-only says so before a value is looked at");
  lua_close(L);
  L = limited_state(KV_LUA_SANDBOX, 0, 0, store, 0);
  CHECK_NAMED(holds(L,
                    "local value = doubled(40)\n"
                    "return refused('invalid_type', 'Nope', s.set, s, 'x',\n"
                    "  value, '[Nope]')\n"
                    "  and refused('invalid_type', 'Nope', kv.encode, value,\n"
                    "  'Nope?') and true"),
              "and so does a type that is wrong");
  lua_close(L);
  kv_store_free(store);
}

static void check_defaults(void) {
  kv_store *store = new_store("{\"list\": [{}, {}, {}, {}, {}, {}]}");
  lua_State *L = limited_state(KV_LUA_SANDBOX, 0, 0, store, 0);
  CHECK_NAMED(
      holds(L,
            "local deep = nested(28, 'Deep')\n"
            "local text = 'grow to more than 1048576 nodes or 64 MB'\n"
            "return refused('limit_exceeded', text, kv.decode, '{}', deep)\n"
            "  and refused('limit_exceeded', text, kv.encode, {}, deep)\n"
            "  and refused('limit_exceeded', text, s.set, s, 'x', {}, deep)\n"
            "  and true"),
      "defaults that hold one another do not grow without bounds");
  CHECK_NAMED(
      holds(L,
            "local quarter = kv.struct 'Quarter' {\n"
            "  a = kv.any:default(repeated(262144, 1)) }\n"
            "local text = 'grow to more than 1048576 nodes or 64 MB'\n"
            "assert(kv.decode('{}', quarter)); collectgarbage()\n"
            "local list = kv.array_of(quarter)\n"
            "local one = refused('limit_exceeded', text .. ' at list',\n"
            "  s.get, s, 'list', list)\n"
            "return one and one.path[1] == 'list'\n"
            "  and refused('limit_exceeded', text, kv.decode,\n"
            "    '[{}, {}, {}, {}]', list) and true"),
      "nor does what is decoded with them");
  lua_close(L);
  kv_store_free(store);
  kv_registry *registry = kv_registry_new(NULL, 0);
  kv_error *error = NULL;
  char text[4096] = "struct T0 { v: Int = 1 }\n";
  for (int i = 1; i <= 28; i++) {
    char line[96];
    snprintf(line, sizeof line, "struct T%d { a: T%d = [:]; b: T%d = [:] }\n",
             i, i - 1, i - 1);
    strcat(text, line);
  }
  CHECK_NAMED(failed_with(kv_registry_declare(registry, kv_string(text),
                                              kv_string(""), NULL, &error),
                          KV_LIMIT_EXCEEDED, &error),
              "a C program is told, too");
  kv_registry_free(registry);
}

static void check_given(void) {
  kv_store *store = new_store("{\"kept\": 1}");
  lua_State *L = limited_state(0, 100, 1000, store, 0);
  CHECK_NAMED(
      holds(L,
            "local function no(...)\n"
            "  return refused('limit_exceeded', ...)\n"
            "end\n"
            "s:set('x', repeated(99, 1))\n"
            "s:set('x', { ('x'):rep(1000) })\n"
            "return no('More than 100 values and keys at x[100]', s.set, s,\n"
            "    'x', repeated(100, 1))\n"
            "  and no('More than 1000 bytes of strings and data at x[2]',\n"
            "    s.set, s, 'x', { ('x'):rep(999), 'yy' })\n"
            "  and true"),
      "a host's limits are exact");
  lua_close(L);
  kv_store_free(store);
}

static void check_decoded(void) {
  kv_store *store = new_store("{\"kept\": 1}");
  lua_State *L = limited_state(0, 100, 1000, store, 0);
  CHECK_NAMED(
      holds(
          L,
          "local function no(...)\n"
          "  return refused('limit_exceeded', ...)\n"
          "end\n"
          "local function list(n)\n"
          "  return '[' .. ('1,'):rep(n - 1) .. '1]'\n"
          "end\n"
          "-- The end of a file: all but the number of objects and the "
          "table's\n"
          "-- place, each below 256, is the same.\n"
          "local function trailer(count, place)\n"
          "  return ('\\0'):rep(6) .. '\\1\\1' .. ('\\0'):rep(7)\n"
          "    .. string.char(count) .. ('\\0'):rep(15) .. string.char(place)\n"
          "end\n"
          "local shared = 'bplist00'\n"
          "local lots = { expanded_nodes = 1099511627776, expanded_bytes = "
          "1099511627776,\n"
          "  depth = 2000 }\n"
          "assert(#kv.decode(list(99)) == 99)\n"
          "assert(#kv.decode(list(9) .. (' '):rep(231)) == 9)\n"
          "for _ = 1, 1000 do assert(kv.encode { { 1 } }) end\n"
          "-- Objects 0 to 5, each twice the next: 127 nodes.\n"
          "local parts, offsets = {}, {}\n"
          "for i = 0, 5 do\n"
          "  offsets[#offsets + 1] = #shared\n"
          "  shared = shared .. '\\162' .. string.char(i + 1, i + 1)\n"
          "end\n"
          "offsets[#offsets + 1] = #shared\n"
          "shared = shared .. '\\016\\001'\n"
          "local table_at = #shared\n"
          "shared = shared .. string.char(unpack(offsets))\n"
          "  .. trailer(#offsets, table_at)\n"
          "-- An array of one string of 100 bytes, twenty times.\n"
          "local strings = 'bplist00\\175\\016\\020' .. ('\\1'):rep(20)\n"
          "  .. '\\095\\016\\100' .. ('s'):rep(100)\n"
          "strings = strings .. string.char(8, 31)\n"
          "  .. trailer(2, #strings)\n"
          "return no('More than 100 values and keys', kv.decode, list(101))\n"
          "  and no('More than 250 bytes to decode', kv.decode,\n"
          "    list(9) .. (' '):rep(300))\n"
          "  and no('More than 250 bytes to decode', kv.unarchive,\n"
          "    kv.data(('x'):rep(300)))\n"
          "  and no('100 nodes', kv.decode, shared, nil, lots)\n"
          "  and no('100 nodes', kv.decode, shared)\n"
          "  and no('50 nodes', kv.decode, shared, nil, { expanded_nodes = 50 "
          "})\n"
          "  and no('1000 bytes', kv.decode, strings, nil, lots) and true"),
      "for what scripts decode, too, whose own limits only lower them");
  lua_close(L);
  kv_store_free(store);
}

static void check_paths(void) {
  kv_store *store = new_store("{\"kept\": 1}");
  lua_State *L = limited_state(KV_LUA_SANDBOX, 0, 0, store, KV_LUA_READ_ONLY);
  static const kv_step root = {{"part", 4}, 0};
  CHECK(kv_lua_push_store(L, store, &root, 1, 0, NULL) == KV_OK);
  lua_setglobal(L, "part");
  long before = resident_kilobytes();
  CHECK_NAMED(
      holds(L,
            "local path = repeated(500, ('k'):rep(8388608))\n"
            "local text = 'The keys of a path have at most 1048576 bytes'\n"
            "local function no(...)\n"
            "  return refused('limit_exceeded', text, ...)\n"
            "end\n"
            "local function all(handle)\n"
            "  return no(handle.get, handle, path)\n"
            "    and no(handle.get, handle, path, 'Int')\n"
            "    and no(handle.set, handle, path, 1)\n"
            "    and no(handle.set, handle, path, print)\n"
            "    and no(handle.set, handle, path, 1, 'Int')\n"
            "    and no(handle.remove, handle, path)\n"
            "    and no(handle.at, handle, path)\n"
            "    and no(handle.watch, handle, path, print)\n"
            "    and no(handle.is_forced, handle, path)\n"
            "    and no(handle.compare_and_set, handle, path, 1, 0)\n"
            "    and no(handle.migrate_archive, handle, path, 'Int')\n"
            "end\n"
            "part:transaction(function(tx)\n"
            "  assert(no(tx.get, tx, path) and no(tx.set, tx, path, 1))\n"
            "  assert(no(tx.remove, tx, path) and no(tx.at, tx, path))\n"
            "  assert(no(tx.update, tx, path, function() return 1 end))\n"
            "end)\n"
            "local long = ('k'):rep(1048576)\n"
            "return all(s) and all(part) and s:get(long) == nil\n"
            "  and no(part.get, part, long) and no(s.get, s, { long, 'k' })\n"
            "  and no(s.bool_for_key, s, long .. 'k')"),
      "the keys of a path are counted before they are copied");
  long grown = (resident_kilobytes() - before) >> 10;
  printf("# the process grew by %ld MB\n", grown);
  CHECK_NAMED(is_checked() || grown < 50, "and take no memory");
  kv_error *error = NULL;
  static char text[KV_PATH_BYTES + 1];
  memset(text, 'k', sizeof text);
  const kv_step longer = {{text, sizeof text}, 0};
  CHECK_NAMED(failed_with(kv_lua_push_store(L, store, &longer, 1, 0, &error),
                          KV_LIMIT_EXCEEDED, &error),
              "a host's root is counted, too");
  lua_close(L);
  kv_store_free(store);
}

static void check_texts(void) {
  kv_store *store = new_store("{\"list\": [{}, {}, {}, {}, {}, {}]}");
  lua_State *L = limited_state(KV_LUA_SANDBOX, 0, 0, store, 0);
  CHECK_NAMED(
      holds(L,
            "local long = ('k'):rep(1048576)\n"
            "local text = 'grow to more than 1048576 nodes or 64 MB'\n"
            "local function no(...)\n"
            "  return refused('limit_exceeded', text, ...)\n"
            "end\n"
            "local K = kv.array_of(kv.struct 'K' { a = kv.int:key(long) })\n"
            "local N = kv.array_of(kv.struct 'N' {\n"
            "  [long] = kv.int:default(1) })\n"
            "local D = kv.array_of(kv.struct 'D' {\n"
            "  a = kv.string:default(long) })\n"
            "local list = repeated(200, { a = 1 })\n"
            "local empty = '[' .. ('{},'):rep(199) .. '{}]'\n"
            "return no(kv.encode, list, K) and no(s.set, s, 'x', list, K)\n"
            "  and no(kv.encode, list, K, { format = 'binary' })\n"
            "  and no(kv.decode, empty, N) and no(kv.decode, empty, D)\n"
            "  and s:get 'x' == nil and true"),
      "keys, names and defaults count each time that they are written");
  CHECK_NAMED(
      holds(L,
            "local long, x = ('x'):rep(8388608), ('x'):rep(40)\n"
            "local shown = x .. '\u2026' .. x\n"
            "local function is(text, ...)\n"
            "  local message = problem(...).message\n"
            "  if message == text then return true end\n"
            "  print('#', #message, message:sub(1, 200))\n"
            "end\n"
            "return is('Quoted has no field ' .. shown, kv.encode,\n"
            "    { [long] = 1 }, kv.struct 'Quoted' { a = 'Int?' })\n"
            "  and is('Expected a, found \"' .. shown .. '\"',\n"
            "    kv.encode, long, kv.enum 'Raw' { 'a' })\n"
            "  and is('No type is named ' .. shown .. ' (line 1, column 1)',\n"
            "    kv.encode, 1, long:sub(1, 131072))\n"
            "  and is('Expected a property-list value at a.' .. shown\n"
            "    .. ', found function', kv.encode, { a = { [long] = print } "
            "})"),
      "what is long is quoted by its beginning and end");
  lua_close(L);
  kv_store_free(store);
}

static void check_imports(void) {
  kv_store *store = new_store("{\"kept\": 1}");
  lua_State *L = limited_state(0, 100, 1000, store, 0);
  CHECK_NAMED(holds(L,
                    "local function no(...)\n"
                    "  return refused('limit_exceeded', ...)\n"
                    "end\n"
                    "local function list(n)\n"
                    "  return '{\"a\":[' .. ('1,'):rep(n - 1) .. '1]}'\n"
                    "end\n"
                    "s:import(list(97))\n"
                    "assert(#s:get 'a' == 97)\n"
                    "s:import '{\"a\": 2}'\n"
                    "return no('More than 100 values and keys', s.import, s,\n"
                    "    list(98))\n"
                    "  and no('More than 250 bytes to decode', s.import, s,\n"
                    "    list(9) .. (' '):rep(250))\n"
                    "  and refused('corrupt', '', s.import, s, '{')\n"
                    "  and refused('invalid_value', '', s.import, s, '[1]')\n"
                    "  and s:get 'a' == 2"),
              "what is imported has the limits of what is decoded");
  lua_close(L);
  L = limited_state(0, 100, 100000, store, 0);
  CHECK_NAMED(holds(L,
                    "local archive = { ['$archiver'] = 'NSKeyedArchiver',\n"
                    "  ['$version'] = 100000, ['$objects'] = { '$null' },\n"
                    "  ['$top'] = { root = kv.uid(9) } }\n"
                    "local bytes = kv.encode(archive, nil,\n"
                    "  { format = 'binary' })\n"
                    "return refused('corrupt', '', s.import, s, bytes)\n"
                    "  and s:get 'a' == 2"),
              "and no archive that is broken");
  lua_close(L);
  kv_store_free(store);
}

static void check_filled(void) {
  kv_store *store = new_store("{}");
  lua_State *L = limited_state(0, 100, 100000, store, 0);
  CHECK_NAMED(
      holds(L,
            "local fields = {}\n"
            "for i = 1, 4 do fields['f' .. i] = kv.int:default(1) end\n"
            "local T = kv.array_of(kv.struct 'Filled' (fields))\n"
            "local function decode(n)\n"
            "  return kv.decode('[' .. ('{},'):rep(n - 1) .. '{}]', T)\n"
            "end\n"
            "local json = { format = 'json' }\n"
            "assert(kv.decode('1000', nil, json) == 1000)\n"
            "assert(assert(decode(11))[11].f4 == 1)\n"
            "return refused('limit_exceeded',\n"
            "  'More than 100 values and keys', decode, 12)"),
      "what a type adds to what is decoded counts, too");
  lua_close(L);
  kv_store_free(store);
}

static void check_registered(void) {
  kv_store *store = new_store("{\"kept\": 1, \"a\": 2}");
  lua_State *L = limited_state(0, 100, 1000, store, KV_LUA_READ_ONLY);
  CHECK_NAMED(holds(L,
                    "local function no(...)\n"
                    "  return refused('limit_exceeded', ...)\n"
                    "end\n"
                    "local long = ('x'):rep(600)\n"
                    "s:register { b = long, d = 1 }\n"
                    "s:register { a = 1, b = long, c = {} }\n"
                    "s:register { b = long }\n"
                    "assert(no('More than 1000 bytes of registered defaults',\n"
                    "  s.register, s, { a = long }))\n"
                    "s:register { b = 1 }\n"
                    "s:register { a = long }\n"
                    "local data = kv.data(long)\n"
                    "s:register { a = data, b = 1 }\n"
                    "assert(no('More than 1000 bytes of registered defaults',\n"
                    "  s.register, s, { b = data }))\n"
                    "s:register { a = repeated(91, 1) }\n"
                    "return no('More than 100 registered values and keys',\n"
                    "    s.register, s, { e = 1 })\n"
                    "  and no('More than 100 registered values and keys',\n"
                    "    s.register, s, { a = repeated(92, 1) })\n"
                    "  and #s:layer('registered').a == 91\n"
                    "  and s:get 'e' == nil and s:get 'd' == 1"),
              "what is registered counts together, on a read-only handle, too");
  lua_close(L);
  kv_store *other = new_store("{}");
  L = limited_state(0, 100, 1000, other, 0);
  CHECK_NAMED(holds(L,
                    "local long = ('k'):rep(600)\n"
                    "s:register { [long] = 1 }\n"
                    "s:register { [long] = 2 }\n"
                    "return s:get(long) == 2"),
              "and a key that is registered again counts once");
  lua_close(L);
  kv_store_free(other);
  kv_store_free(store);
}

static void check_exports(void) {
  kv_store *store = new_store("{}");
  lua_State *L = limited_state(0, 100, 1000, store, 0);
  CHECK_NAMED(
      holds(
          L,
          "local function no(text, format)\n"
          "  return refused('limit_exceeded', text, s.export, s,\n"
          "    { format = format })\n"
          "end\n"
          "-- 31 arrays, each of two lines, at the levels 1 to 31, one value\n"
          "-- at 32, one key at 1: 1025 tabs.\n"
          "local deep = 1\n"
          "for i = 1, 31 do deep = { deep } end\n"
          "s:set('a', deep)\n"
          "local text = 'More than 1000 bytes of text'\n"
          "assert(no(text, 'xml') and no(text))\n"
          "assert(refused('limit_exceeded', text, kv.encode, s:get {}))\n"
          "assert(kv.decode(s:export { format = 'binary' }))\n"
          "assert(s:export { format = 'json' } ==\n"
          "  kv.encode(s:get {}, nil, { format = 'json' }))\n"
          "-- With 30 arrays: 962.\n"
          "s:set('a', deep[1])\n"
          "assert(s:export() == kv.encode(s:get {}))\n"
          "s:set('a', repeated(49, 1)) s:set('b', repeated(46, 1))\n"
          "assert(#s:export { format = 'xml' } > 1000)\n"
          "s:set('c', 1)\n"
          "assert(no('More than 100 values and keys', 'xml'))\n"
          "s:remove 'a' s:remove 'c' s:set('b', ('&'):rep(160))\n"
          "assert(#s:export { format = 'xml' } > 800)\n"
          "s:set('b', ('&'):rep(500))\n"
          "assert(no(text, 'xml'))\n"
          "-- One byte of a key, and one tab for it and for its value.\n"
          "s:set('b', ('x'):rep(998))\n"
          "assert(no(text, 'xml'))\n"
          "s:set('b', ('x'):rep(997))\n"
          "assert(#s:export { format = 'xml' } > 997)\n"
          "s:set('c', 1) s:set('d', 1) s:set('e', 1)\n"
          "return no('More than 1000 bytes of strings and data', 'xml')\n"
          "  and s:export { format = 'binary' } and true"),
      "what is exported as text has the limits of what is encoded");
  lua_close(L);
  L = limited_state(0, 0, 0, store, 0);
  CHECK_NAMED(holds(L,
                    "local deep = repeated(1000, 1)\n"
                    "for i = 1, 400 do deep = { deep } end\n"
                    "s:set('a', deep)\n"
                    "return #s:export { format = 'xml' } > 400000"),
              "and those of the store alone without a policy");
  lua_close(L);
  kv_store_free(store);
}

/* A call refused again and again takes no more memory than once. */
static void check_refusals(void) {
  static const char script[] =
      "local list = '[' .. ('1,'):rep(1000) .. '1]'\n"
      "local deep = repeated(500, 1)\n"
      "for i = 1, 400 do deep = { deep } end\n"
      "for i = 1, 500 do\n"
      "  assert(problem(kv.decode, list).code == 'limit_exceeded')\n"
      "  assert(problem(kv.encode, deep).code == 'limit_exceeded')\n"
      "end\n"
      "collectgarbage()";
  kv_store *store = new_store("{}");
  lua_State *L = limited_state(0, 1000, 100000, store, 0);
  CHECK(run_script(L, script, 0));
  long early = resident_kilobytes();
  CHECK(run_script(L, script, 0));
  long growth = resident_kilobytes() - early;
  printf("# the process grew by %ld KB\n", growth);
  CHECK_NAMED(is_checked() || growth < 2048, "what is refused is let go of");
  lua_close(L);
  kv_store_free(store);
}

/* What the process has allocated; of LuaJIT's memory nothing. */
static size_t allocated_bytes(void) {
  struct mallinfo2 memory = mallinfo2();
  return memory.uordblks + memory.hblkhd;
}

/* The bytes that are allocated after a call with a large value, which stays, and
 * were not before. Each of the module's buffers keeps 1 MB at most. */
static int is_let_go(lua_State *L, const char *call) {
  CHECK(run_script(L, "collectgarbage() collectgarbage()", 0));
  size_t before = allocated_bytes();
  CHECK(run_script(L, call, 0));
  CHECK(run_script(L, "collectgarbage() collectgarbage()", 0));
  size_t after = allocated_bytes();
  if (after < before + (6 << 20)) return 1;
  printf("# %zu bytes more: %s\n", after - before, call);
  return 0;
}

static void check_large(lua_State *L) {
  CHECK_NAMED(is_let_go(L, "s:set('x', large) s:remove 'x'") &&
                  is_let_go(L,
                            "s:transaction(function(tx)\n"
                            "  tx:set('x', large)\n"
                            "  tx:remove 'x'\n"
                            "end)") &&
                  is_let_go(L, "kv.encode(large)"),
              "the memory for a large value is let go of");
  CHECK_NAMED(is_let_go(L,
                        "assert(refused('type_mismatch', '', s.set, s, 'x',\n"
                        "  large, 'Int'))"),
              "and for one that is not of its type");
  CHECK_NAMED(is_let_go(L,
                        "assert(refused('invalid_value', '', s.set, s, 'x',\n"
                        "  { large, print }))"),
              "and for one that is no value");
}

/* Values of which each of the module's buffers takes 8 MB and more. */
static void check_let_go(void) {
  kv_store *store = new_store("{}");
  lua_State *L = limited_state(0, 0, 0, store, 0);
  CHECK(run_script(L, "large = { ('x'):rep(2 ^ 24) }", 0));
  check_large(L);
  CHECK(run_script(L, "large = repeated(2 ^ 20, 1)", 0));
  check_large(L);
  CHECK(run_script(L,
                   "large = {}\n"
                   "for i = 1, 2 ^ 19 do large['k' .. i] = true end",
                   0));
  check_large(L);
  lua_close(L);
  kv_store_free(store);
}

/* Whether a script runs with 16 MB more for the process than it has. Checkers
 * have memory of their own. */
static int runs_in_little(lua_State *L, const char *script) {
  struct rlimit limit, little;
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%ld", &pages) == 1);
  fclose(file);
  getrlimit(RLIMIT_AS, &limit);
  little = limit;
  little.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (16 << 20);
  CHECK(is_checked() || setrlimit(RLIMIT_AS, &little) == 0);
  int ran = run_script(L, script, 0);
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  return ran;
}

/* A state with types that are nearly all that it may have, and `last`, the
 * default of one more. */
static lua_State *state_with_types(const kv_store *store, const char *making) {
  lua_State *L = limited_state(0, 1 << 20, 40 << 20, store, 0);
  CHECK(run_script(L,
                   "function described(name, default)\n"
                   "  local whole = type(default) == 'string' and kv.string\n"
                   "    or kv.array_of(kv.int)\n"
                   "  local made = kv.struct(name) {\n"
                   "    a = whole:default(default) }\n"
                   "  s:get('x', made)\n"
                   "  return made\n"
                   "end\n",
                   0));
  CHECK(run_script(L, making, 0));
  return L;
}

/* Each second time, types that are garbage are looked for. */
static void check_descriptions_let_go(void) {
  const char one_more[] =
      "assert(refused('limit_exceeded', 'in types', described, 'Last', last))";
  kv_store *store = new_store("{}");
  lua_State *L = state_with_types(
      store,
      "local function text(megabytes)\n"
      "  return ('x'):rep(megabytes * 2 ^ 20)\n"
      "end\n"
      "kept = { described('A', text(32)), described('B', text(20)) }\n"
      "last = text(36)");
  for (int i = 0; i < 2; i++) {
    CHECK_NAMED(is_let_go(L, one_more), "and for a type that is one too many");
    CHECK_NAMED(runs_in_little(L, one_more),
                "which takes none for a text that is larger than what is left");
  }
  lua_close(L);
  L = state_with_types(store,
                       "last = repeated(900000, 1)\n"
                       "kept = described('A', last)");
  CHECK(run_script(L, one_more, 0)); /* a name keeps its latest default */
  CHECK(run_script(L, "s:set('x', 1)", 0));
  CHECK_NAMED(is_let_go(L, one_more), "and for one with too many values");
  lua_close(L);
  kv_store_free(store);
}

/* Without a policy: as large as a store may be. */
static void check_programs(void) {
  kv_store *store = new_store("{\"kept\": 1}");
  lua_State *L = limited_state(0, 0, 0, store, 0);
  CHECK_NAMED(
      is_checked() ||
          holds(
              L,
              "return refused('limit_exceeded',\n"
              "    'More than 16777216 values and keys', s.set, s, 'x',\n"
              "    doubled(26))\n"
              "  and refused('limit_exceeded',\n"
              "    'More than 268435456 bytes of strings and data at x[257]',\n"
              "    s.set, s, 'x', repeated(300, ('x'):rep(1048576)))\n"
              "  and refused('limit_exceeded', 'grow to more than',\n"
              "    kv.decode, '{}', nested(28, 'Free')) and true"),
      "a program's own scripts have limits, larger ones");
  lua_close(L);
  kv_store_free(store);
}

int main(void) {
  check_refusals(); /* first: no check has freed much yet */
  check_order();
  check_defaults();
  check_given();
  check_decoded();
  check_paths();
  check_texts();
  check_imports();
  check_filled();
  check_registered();
  check_exports();
  check_walks();
  check_let_go();
  check_descriptions_let_go();
  check_programs();
  return finish_checks();
}
