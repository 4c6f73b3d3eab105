/* lua_hosts.c: what kvcodable_lua.h offers to programs that embed Lua. */
#include "lua_support.h"

/* The script of the examples finds ways out where a host leaves them open: its
 * silence elsewhere means something. */
static void check_escapes(void) {
  kv_store *store = new_store("{\"secret\": \"keep out\"}");
  lua_State *L = new_state(0);
  CHECK(kv_lua_push_store(L, store, NULL, 0, 0, NULL) == KV_OK);
  lua_pushvalue(L, -1);
  lua_setglobal(L, "ui");
  lua_setglobal(L, "mine");
  lua_pushliteral(L, "/nowhere");
  lua_setglobal(L, "home");
  int good = luaL_loadfile(L, "lua/examples/hosts/escape.lua") == LUA_OK &&
             lua_pcall(L, 0, 2, 0) == LUA_OK;
  CHECK_NAMED(good, "the escaping script runs in an open state");
  int found = good ? (int)lua_rawlen(L, -1) : 0;
  printf("# %d ways out of an open state\n", found);
  CHECK_NAMED(found > 40, "and finds its ways out");
  lua_close(L);
  kv_store_free(store);
}

/* Whether the function's one upvalue is a store, and an absent one none. */
static int has_upvalue(lua_State *L) {
  kv_store *store = NULL, *none = NULL;
  kv_status own = kv_lua_to_store(L, lua_upvalueindex(1), &store, NULL);
  kv_status next = kv_lua_to_store(L, lua_upvalueindex(2), &none, NULL);
  kv_store_free(store);
  lua_pushboolean(L, own == KV_OK && next == KV_TYPE_MISMATCH && !none);
  return 1;
}

/* Roots that no handle can have, and the steps of one that it has. */
static void check_roots(void) {
  kv_error *error = NULL;
  kv_step root[] = {kv_key("ui"), kv_index(1)}, step;
  kv_store *store = new_store("{\"ui\": [0, {\"a\": 1}], \"b\": 2}");
  lua_State *L = new_state(0);
  CHECK(failed_with(kv_lua_push_store(L, NULL, NULL, 0, 0, &error),
                    KV_INVALID_ARGUMENT, &error));
  CHECK(failed_with(kv_lua_push_store(L, store, NULL, 1, 0, &error),
                    KV_INVALID_ARGUMENT, &error));
  CHECK(failed_with(kv_lua_push_store(L, store, root, 2, 64, &error),
                    KV_INVALID_ARGUMENT, &error));
  root[1].index = -1;
  CHECK(failed_with(kv_lua_push_store(L, store, root, 2, 0, &error),
                    KV_INVALID_ARGUMENT, &error));
  root[1] = kv_key("\xff");
  CHECK_NAMED(failed_with(kv_lua_push_store(L, store, root, 2, 0, &error),
                          KV_INVALID_ARGUMENT, &error),
              "a root that is not UTF-8 is refused, also without a quota");
  root[1] = kv_index(1);
  CHECK(lua_gettop(L) == 0);
  CHECK(kv_lua_push_store(L, store, root, 2, 0, &error) == KV_OK);
  CHECK(kv_lua_store_root(L, -1, 0, &step) == KV_OK &&
        text_equals(step.key, "ui"));
  CHECK(kv_lua_store_root(L, 1, 1, &step) == KV_OK && !step.key.data &&
        step.index == 1);
  CHECK(kv_lua_store_root(L, 1, 2, &step) == KV_ABSENT);
  lua_close(L);
  kv_store_free(store);
}

static void check_stores(void) {
  const kv_step root[] = {kv_key("ui"), kv_index(1)};
  kv_store *store = new_store("{\"ui\": [0, {\"a\": 1}], \"b\": 2}");
  kv_store *back = NULL;
  int64_t number = 0;
  lua_State *L = new_state(0);
  CHECK(kv_lua_push_store(L, store, root, 2, 0, NULL) == KV_OK);
  CHECK(kv_lua_to_store(L, -1, &back, NULL) == KV_OK);
  kv_step b = kv_key("b");
  CHECK(kv_store_get_integer(back, &b, 1, &number, NULL) == KV_OK &&
        number == 2);
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, has_upvalue, 1);
  lua_setglobal(L, "has_upvalue");
  CHECK_NAMED(holds(L, "return has_upvalue()"), "an upvalue is taken");
  lua_setglobal(L, "s");
  CHECK(holds(L, "s:set('c', 3); return s:get 'a' == 1 and s:get 'b' == nil"));
  CHECK_NAMED(holds(L,
                    "local function told(value)\n"
                    "  local ok, problem = pcall(s.set, s, {}, value)\n"
                    "  return not ok and problem.path[1] == 'f'\n"
                    "    and problem.message:find(' at f,', 1, true)\n"
                    "end\n"
                    "return told { f = print } and told { f = '\\255' }\n"
                    "  and true"),
              "a place in the whole of what the script sees is its own, too");
  CHECK(kv_store_remove(store, root, 2, NULL) == KV_OK);
  CHECK(holds(L, "return s:get 'a' == nil"));
  CHECK(kv_store_close(store, NULL) == KV_OK);
  kv_store_free(store);
  CHECK_NAMED(holds(L, "return s:set('a', 4) == nil and s:get 'a' == 4"),
              "the script's handle outlives the host's");
  CHECK(holds(L, "s:close(); return not pcall(s.get, s, 'a')"));
  CHECK_NAMED(kv_store_get_integer(back, &b, 1, &number, NULL) == KV_OK,
              "what the script closes is its own handle");
  lua_close(L);
  kv_store_free(back);
}

/* Where no store is, or none that is open, none is given. */
static void check_no_stores(void) {
  kv_error *error = NULL;
  kv_store *store = new_store("{}"), *none = NULL;
  lua_State *L = new_state(0);
  CHECK(kv_lua_push_store(L, store, NULL, 0, 0, NULL) == KV_OK);
  lua_setglobal(L, "s");
  CHECK(holds(L, "s:close(); return true"));
  lua_getglobal(L, "s");
  CHECK(failed_with(kv_lua_to_store(L, -1, &none, &error), KV_CLOSED, &error));
  lua_pushinteger(L, 1);
  CHECK(failed_with(kv_lua_to_store(L, -1, &none, &error), KV_TYPE_MISMATCH,
                    &error));
  CHECK(!none && lua_gettop(L) == 2);
  const int outside[] = {
      0, 3, 4, 5, 6, 7, -3, lua_upvalueindex(1), lua_upvalueindex(256)};
  /* What was on the stack is not there any more. */
  for (int i = 3; i <= 9; i++) lua_pushvalue(L, 1);
  lua_settop(L, 2);
  for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
    CHECK_NAMED(failed_with(kv_lua_to_store(L, outside[i], &none, &error),
                            KV_TYPE_MISMATCH, &error) &&
                    !none && lua_gettop(L) == 2,
                "where nothing is there is no store");
  lua_close(L);
  kv_store_free(store);
}

/* The keys of a root, however many, are bounded together. */
static void check_long_roots(void) {
  static char text[KV_PATH_BYTES / 2 + 2];
  kv_error *error = NULL;
  kv_store *store = new_store("{}");
  lua_State *L = new_state(0);
  memset(text, 'x', sizeof text - 1);
  kv_step root[] = {kv_key(text), kv_key(text)};
  CHECK(kv_lua_push_store(L, store, root, 1, 0, NULL) == KV_OK);
  CHECK(failed_with(kv_lua_push_store(L, store, root, 2, 0, &error),
                    KV_LIMIT_EXCEEDED, &error));
  root[0].key.length -= 2;
  CHECK(kv_lua_push_store(L, store, root, 2, 0, NULL) == KV_OK);
  CHECK(lua_gettop(L) == 2);
  lua_close(L);
  kv_store_free(store);
}

/* What scripts keep of the transactions of a handle that was pushed: the freed
 * memory gets contents of the script's choice. */
static void check_lifetimes(void) {
  static const char script[] =
      "local function fill()\n"
      "  collectgarbage() collectgarbage()\n"
      "  local blocks = {}\n"
      "  for size = 0, 400, 8 do\n"
      "    for _ = 1, 40 do\n"
      "      blocks[#blocks + 1] = kv.data(('Z'):rep(size))\n"
      "    end\n"
      "  end\n"
      "  return blocks\n"
      "end\n"
      "local part, inner\n"
      "mine:transaction(function(tx)\n"
      "  part = tx:at 'p'\n"
      "  part:transaction(function(t) inner = t:at 'q' end)\n"
      "end)\n"
      "for _, handle in ipairs { part, inner } do\n"
      "  for _, method in ipairs { 'get', 'remove', 'at' } do\n"
      "    local blocks = fill()\n"
      "    local ok, problem = pcall(handle[method], handle, 'a')\n"
      "    if ok or problem.code ~= 'closed' or #blocks == 0 then\n"
      "      return false\n"
      "    end\n"
      "  end\n"
      "end\n"
      "local only = mine:at 'p'\n"
      "mine = nil\n"
      "local blocks = fill()\n"
      "return only:get 'a' == 1 and #blocks > 0";
  kv_step root = kv_key("ui");
  for (size_t steps = 0; steps <= 1; steps++) {
    kv_store *store = new_store(steps ? "{\"ui\": {\"p\": {\"a\": 1}}}"
                                      : "{\"p\": {\"a\": 1}}");
    lua_State *L = new_state(KV_LUA_SANDBOX);
    CHECK(kv_lua_push_store(L, store, &root, steps, 0, NULL) == KV_OK);
    kv_store_free(store);
    lua_setglobal(L, "mine");
    CHECK_NAMED(holds(L, script),
                "parts of transactions keep what they are parts of");
    lua_close(L);
  }
}

/* A script sees a handle's root nowhere, in a transaction neither, and writes
 * nothing beside it. */
static void check_root(void) {
  static const char hiding[] =
      "local function hides(handle, tx)\n"
      "  for _, call in ipairs {\n"
      "    { 'set', 'a', print }, { 'get', 'a', 'Bool' },\n"
      "    { 'set', { 'a', 'b' }, 1 }, { 'set', 'a', true, 'Int' },\n"
      "  } do\n"
      "    local ok, problem = pcall(handle[call[1]], handle,\n"
      "      unpack(call, 2))\n"
      "    if ok or problem.path[1] ~= 'a' or problem.message:find 'secret' "
      "then\n"
      "      print('#', call[1], problem, ok or problem.path[1])\n"
      "      return false\n"
      "    end\n"
      "  end\n"
      "  return true\n"
      "end\n"
      "return hides(s) and hides(s:at {})\n"
      "  and s:transaction(function(tx)\n"
      "    return hides(tx) and hides(tx:at {})\n"
      "      and tx:at {}:transaction(hides)\n"
      "  end)\n";
  static const char keeping[] =
      "local archive = { ['$archiver'] = 'NSKeyedArchiver',\n"
      "  ['$version'] = 100000, ['$top'] = { root = kv.uid(1) },\n"
      "  ['$objects'] = { '$null', 'text' } }\n"
      "s:set('b', archive)\n"
      "assert(s:migrate_archive('b', 'String', { keep = true }))\n"
      "assert(s:get 'b' == 'text' and kv.is_archive(s:get 'b.archive'))\n"
      "s:set({}, archive)\n"
      "local ok, problem = pcall(s.migrate_archive, s, {}, 'String',\n"
      "  { keep = true })\n"
      "return not ok and problem.code == 'access_denied'\n"
      "  and kv.is_archive(s:get {})\n"
      "  and s:migrate_archive({}, 'String') and s:get {} == 'text'\n";
  static const char own[] =
      "local archive = { ['$archiver'] = 'NSKeyedArchiver',\n"
      "  ['$version'] = 100000, ['$top'] = { root = kv.uid(1) },\n"
      "  ['$objects'] = { '$null', 'text' } }\n"
      "local own = kv.open_file('x', { engine = 'memory' })\n"
      "own:set('a', archive)\n"
      "return own:at 'a':migrate_archive({}, 'String', { keep = true })\n"
      "  and kv.is_archive(own:get 'a.archive')\n";
  kv_step root[] = {kv_key("secret"), kv_key("ui")};
  kv_store *store = new_store("{\"secret\": {\"ui\": {\"a\": 1}}}");
  lua_State *L = new_state(0);
  kv_lua_push_store(L, store, root, 2, 0, NULL);
  lua_setglobal(L, "s");
  CHECK_NAMED(holds(L, hiding), "no error names a handle's root");
  CHECK_NAMED(holds(L, keeping), "no archive is kept beside a handle's root");
  CHECK_NAMED(holds(L, own), "but where a part is a script's own");
  lua_close(L);
  kv_store_free(store);
}

/* A host's check that asks a script, which does what it likes meanwhile. */
static int ask_script(void *context, const kv_step *path, size_t steps,
                      const kv_tree *value) {
  lua_State *L = *(lua_State **)context;
  (void)path, (void)steps, (void)value;
  lua_getglobal(L, "check");
  int good = !lua_isfunction(L, -1) || lua_pcall(L, 0, 0, 0) == LUA_OK;
  lua_settop(L, -(good ? 1 : 2));
  return 0;
}

static void check_checks(void) {
  static const char records[] =
      "for i = 1, 4 do s:set('r', { a = i, b = 'x' .. i }) end\n"
      "function check()\n"
      "  check = nil\n"
      "  for i = 1, 40 do s:get 'r' end\n"
      "  for i = 1, 4 do s:set('other', { z = i, y = 'other' }) end\n"
      "end\n"
      "s:set('r', { a = 5, b = 'kept' })\n"
      "local r = s:get 'r'\n"
      "return check == nil and r.a == 5 and r.b == 'kept'";
  static const char closing[] =
      "local function try(call)\n"
      "  local handle = table.remove(handles)\n"
      "  function check() check = nil; handle:close() end\n"
      "  call(handle)\n"
      "  local ok, problem = pcall(handle.get, handle, 'a')\n"
      "  return not ok and problem.code == 'closed'\n"
      "end\n"
      "return try(function(h) pcall(h.set, h, 'a', { b = 1, c = 2 }) end)\n"
      "  and try(function(h) pcall(h.set, h, 'a', { 1 }, '[Int]') end)\n"
      "  and try(function(h) pcall(h.set, h, { 'a', 'b' }, 1) end)\n"
      "  and try(function(h) pcall(h.remove, h, 'r') end)\n"
      "  and try(function(h) pcall(h.import, h, '{\"a\": 1}') end)\n"
      "  and try(function(h) pcall(h.transaction, h, function(tx)\n"
      "    tx:set('a', 1) end) end)\n";
  lua_State *L = new_state(0);
  kv_store *store = NULL;
  kv_store_options options = store_options(KV_ENGINE_MEMORY);
  options.check = ask_script;
  options.check_context = &L;
  CHECK(kv_store_open_file(kv_string("none.plist"), &options, &store, NULL) ==
        KV_OK);
  kv_lua_push_store(L, store, NULL, 0, 0, NULL);
  lua_setglobal(L, "s");
  CHECK_NAMED(holds(L, records), "a check may set records meanwhile");
  lua_createtable(L, 6, 0);
  for (int i = 1; i <= 6; i++) {
    kv_lua_push_store(L, store, NULL, 0, 0, NULL);
    lua_rawseti(L, -2, i);
  }
  lua_setglobal(L, "handles");
  CHECK_NAMED(holds(L, closing), "a check may close the handle that sets");
  lua_close(L);
  kv_store_free(store);
}

static void check_access(void) {
  kv_store *store = new_store("{\"a\": {\"b\": 1}}"), *back = NULL;
  kv_step root = kv_key("a");
  lua_State *L = new_state(0);
  kv_lua_push_store(L, store, &root, 1, KV_LUA_READ_ONLY, NULL);
  CHECK(kv_lua_to_store(L, -1, &back, NULL) == KV_OK);
  lua_setglobal(L, "s");
  CHECK(kv_store_remove(back, &root, 1, NULL) == KV_READ_ONLY);
  CHECK(holds(L,
              "local ok, problem = pcall(s.set, s, 'b', 2)\n"
              "return not ok and problem.code == 'read_only'"));
  CHECK(holds(L,
              "local keys = {}\n"
              "watch = s:watch({}, function(key) told = key end)\n"
              "return true"));
  kv_step path[] = {kv_key("a"), kv_key("b")};
  kv_tree *two = NULL;
  kv_builder *builder = kv_builder_new();
  kv_builder_integer(builder, 2, NULL);
  kv_builder_finish(builder, &two, NULL);
  kv_store_set(store, path, 2, two, NULL, 0, NULL, NULL);
  size_t calls = 0;
  CHECK(kv_lua_pump(L, &calls, NULL) == KV_OK && calls == 1);
  CHECK_NAMED(holds(L, "return told == 'b'"),
              "a place is told as the handle's own path");
  kv_tree_free(two);
  kv_builder_free(builder);
  lua_close(L);
  kv_store_free(back);
  kv_store_free(store);
}

/* Memory that is given out looks like a handle's. */
static void *allocate_marked(void *mark, void *block, size_t old, size_t size) {
  if (size == 0) {
    free(block);
    return NULL;
  }
  if (block) return realloc(block, size);
  (void)old; /* says what it is for */
  char *made = malloc(size);
  for (size_t i = 0; made && i + sizeof(void *) <= size; i += sizeof(void *))
    memcpy(made + i, mark, sizeof(void *));
  return made;
}

/* Data with the very bytes of a handle, or of a type, is neither: scripts
 * choose the bytes of data. */
static void check_forgery(void) {
  static const char compiled[] =
      "T = kv.struct 'T' { a = kv.int }\n"
      "s:set('t', { a = 1 }, T)\n"
      "for key in next, T do\n"
      "  if type(key) == 'userdata' then held = key end\n"
      "end\n"
      "return rawget(T, held)\n";
  static const char forging[] =
      "rawset(T, held, kv.data(bytes))\n"
      "return s:get('t', T).a == 1\n";
  void *mark;
  kv_store *store = new_store("{\"a\": 1}");
  lua_State *L = new_state(0);
  kv_lua_push_store(L, store, NULL, 0, 0, NULL);
  memcpy(&mark, lua_touserdata(L, -1), sizeof mark);
  lua_pushlstring(L, lua_touserdata(L, -1), lua_rawlen(L, -1));
  lua_setglobal(L, "bytes");
  lua_setglobal(L, "s");
  CHECK(holds(L, "return s:get 'a' == 1 and s.get(s, 'a') == 1"));
  CHECK_NAMED(holds(L, "return not pcall(s.get, kv.data(bytes), 'a')"),
              "data with a handle's bytes is no handle");
#ifdef LUA_JITLIBNAME
  printf("# skipped: memory like a handle's: LuaJIT's own is not malloc's\n");
  (void)allocate_marked, (void)mark;
#else
  void *context;
  lua_Alloc allocate = lua_getallocf(L, &context);
  lua_setallocf(L, allocate_marked, &mark);
  CHECK_NAMED(holds(L, "return not pcall(s.get, kv.data(bytes:sub(9)), 'a')"),
              "nor is it where a handle has been");
  lua_setallocf(L, allocate, context);
#endif
  CHECK(run_script(L, compiled, 1) && lua_isuserdata(L, -1));
  lua_pushlstring(L, lua_touserdata(L, -1), lua_rawlen(L, -1));
  lua_setglobal(L, "bytes");
  CHECK_NAMED(holds(L, forging), "data with a type's bytes is no type");
  lua_close(L);
  kv_store_free(store);
}

static void check_trees(void) {
  kv_error *error = NULL;
  kv_tree *tree = NULL, *again = NULL;
  kv_step step;
  lua_State *L = new_state(0);
  CHECK(failed_with(kv_lua_push_tree(L, NULL, &error), KV_INVALID_ARGUMENT,
                    &error));
  CHECK(holds(L,
              "value = { a = { 1, 2.5, 'x' }, d = kv.date(0),\n"
              "  e = kv.array {} } return true"));
  lua_getglobal(L, "value");
  CHECK(kv_lua_to_tree(L, -1, &tree, &error) == KV_OK);
  CHECK(kv_lua_push_tree(L, tree, &error) == KV_OK && lua_gettop(L) == 2);
  CHECK(kv_lua_to_tree(L, 2, &again, &error) == KV_OK);
  CHECK(kv_tree_equal(tree, again));
  CHECK(kv_lua_to_tree(L, 2, NULL, NULL) == KV_OK);
  kv_tree_free(tree);
  kv_tree_free(again);
  CHECK(run_script(L, "return { list = { 1, { f = print } } }", 1));
  tree = NULL;
  CHECK(kv_lua_to_tree(L, -1, &tree, &error) == KV_INVALID_VALUE && !tree);
  CHECK(lua_gettop(L) == 3);
  CHECK(text_equals(kv_error_message(error),
                    "Expected a property-list value at list[2].f, found "
                    "function"));
  CHECK(path_length(error) == 3);
  CHECK(kv_error_path_step(error, 1, &step) == KV_OK && !step.key.data &&
        step.index == 1);
  CHECK(kv_error_path_step(error, 2, &step) == KV_OK &&
        text_equals(step.key, "f"));
  kv_error_free(error);
  lua_settop(L, 0);
  char deep[1024];
  memset(deep, '[', 500);
  memset(deep + 500, ']', 500);
  deep[1000] = 0;
  tree = parse(deep);
  CHECK(kv_lua_push_tree(L, tree, &error) == KV_OK && lua_gettop(L) == 1);
  CHECK(kv_lua_to_tree(L, 1, &again, &error) == KV_OK);
  CHECK_NAMED(kv_tree_equal(tree, again),
              "deep values find the room they need");
  kv_tree_free(tree);
  kv_tree_free(again);
  lua_close(L);
}

/* Errors, and values that only are to be checked. */
static int run_repeatedly(lua_State *L) {
  static const char script[] =
      "for i = 1, rounds do\n"
      "  pcall(s.get, s, 'a', 'String'); pcall(part.get, part, 'b', 'String')\n"
      "end\n"
      "collectgarbage(); collectgarbage()";
  int rounds = is_checked() ? 100 : 20000;
  lua_pushinteger(L, rounds);
  lua_setglobal(L, "rounds");
  int good = run_script(L, script, 0);
  for (int i = 0; i < rounds; i++)
    good &= kv_lua_to_tree(L, -1, NULL, NULL) == KV_OK;
  return good;
}

/* A call made again and again takes no more memory than once. */
static void check_growth(void) {
  kv_store *store = new_store("{\"a\": {\"b\": 1}}");
  kv_step root = kv_key("a");
  lua_State *L = new_state(0);
  kv_lua_push_store(L, store, NULL, 0, 0, NULL);
  lua_setglobal(L, "s");
  kv_lua_push_store(L, store, &root, 1, 0, NULL);
  lua_setglobal(L, "part");
  CHECK(run_script(L, "return { 1, 'two', { 3 } }", 1));
  CHECK(run_repeatedly(L));
  long early = resident_kilobytes();
  CHECK(run_repeatedly(L));
  long growth = resident_kilobytes() - early;
  printf("# the process grew by %ld KB\n", growth);
  CHECK_NAMED(is_checked() || growth < 2048,
              "errors and checks leave nothing behind");
  lua_close(L);
  kv_store_free(store);
}

static void check_pumping(void) {
  kv_error *error = NULL;
  size_t calls = 9;
  kv_store *store = new_store("{}");
  lua_State *L = new_state(0);
  kv_lua_push_store(L, store, NULL, 0, 0, NULL);
  lua_setglobal(L, "s");
  CHECK(kv_lua_pump(L, &calls, &error) == KV_OK && calls == 0);
  CHECK(holds(L,
              "n = 0\n"
              "s:watch('a', function() n = n + 1; error 'mine' end)\n"
              "s:watch('a', function() n = n + 1 end)\n"
              "s:set('a', 1) return true"));
  lua_pushliteral(L, "below");
  CHECK(kv_lua_pump(L, &calls, &error) == KV_MISUSE);
  CHECK(strncmp(kv_error_message(error).data,
                "A watch's function failed at a: ", 32) == 0);
  CHECK(strstr(kv_error_message(error).data, "mine") != NULL);
  CHECK(lua_gettop(L) == 1);
  CHECK(holds(L, "return n == 2"));
  kv_error_free(error);
  CHECK(kv_lua_pump(L, NULL, NULL) == KV_OK);
  CHECK(run_script(L,
                   "s:watch('b', function() error('\\255', 0) end)\n"
                   "s:set('b', 1)",
                   0));
  CHECK(kv_lua_pump(L, NULL, &error) == KV_MISUSE);
  CHECK(
      text_equals(kv_error_message(error), "an error whose text is not UTF-8"));
  kv_error_free(error);
  lua_close(L);
  kv_store_free(store);
}

/* Whether a host is told the message and the path, in that form, of the error
 * that a watch's function raises. */
static int is_told(lua_State *L, const char *raising, const char *message,
                   const char *path) {
  kv_error *error = NULL;
  lua_pushstring(L, raising);
  lua_setglobal(L, "raising");
  if (!run_script(L,
                  "local _, problem = pcall(s.set, s, 'a', { b = print })\n"
                  "local raise = assert((loadstring or load)(raising))\n"
                  "w = s:watch('a', function() raise(problem) end)\n"
                  "s:set('a', (s:get 'a' or 0) + 1)",
                  0))
    return 0;
  kv_status status = kv_lua_pump(L, NULL, &error);
  int good = (status == KV_MISUSE || status == KV_INVALID_VALUE) &&
             text_equals(kv_error_message(error), message) &&
             text_equals(kv_error_path(error), path);
  if (!good)
    printf("# %d: %s [%s]\n", status, kv_error_message(error).data,
           kv_error_path(error).data);
  kv_error_free(error);
  return run_script(L, "w:cancel()", 0) && good;
}

/* No hook ends a call that waits. */
static void check_waiting(void) {
  lua_State *L = new_state(KV_LUA_READ_ONLY);
  CHECK_NAMED(holds(L,
                    "local ok, problem = pcall(kv.wait, 1000)\n"
                    "return not ok and problem.code == 'access_denied' and\n"
                    "  problem.message ==\n"
                    "    'The host of this script allows no waiting'"),
              "a script under a policy does not wait");
  lua_close(L);
  L = new_state(0);
  CHECK_NAMED(holds(L, "return kv.wait(0.001) == 0"), "another one may");
  lua_close(L);
}

/* Scripts raise what they like, and change what they caught. */
static void check_odd_errors(void) {
  static const char none[] = "an error without a text";
  static const char text[] =
      "A watch's function failed at a: "
      "Expected a property-list value at a.b, found function";
  kv_store *store = new_store("{}");
  lua_State *L = new_state(KV_LUA_SANDBOX);
  kv_lua_push_store(L, store, NULL, 0, 0, NULL);
  lua_setglobal(L, "s");
  CHECK_NAMED(
      is_told(L,
              "error(setmetatable({}, { __tostring = function()\n"
              "  error 'x' end }))",
              none, "") &&
          is_told(L,
                  "error(setmetatable({}, { __tostring = function()\n"
                  "  return {} end }))",
                  none, "") &&
          is_told(L, "local e = ... e.message = {} error(e)", none, "a.b"),
      "an error without a text is told, and no lack of memory");
  CHECK_NAMED(
      is_told(L, "local e = ... e.path = { -2 ^ 53 } error(e)", text, "") &&
          is_told(L, "local e = ... e.path = { 'c', 0, 'd' } error(e)", text,
                  "c") &&
          is_told(L, "local e = ... e.path = { 'c', {}, 'd' } error(e)", text,
                  "c") &&
          is_told(L, "local e = ... e.path = { 'c', 1, 'd' } error(e)", text,
                  "c[0].d"),
      "a path ends where it has no step");
  lua_close(L);
  kv_store_free(store);
}

int main(void) {
  check_escapes();
  check_roots();
  check_stores();
  check_no_stores();
  check_long_roots();
  check_lifetimes();
  check_root();
  check_checks();
  check_access();
  check_forgery();
  check_trees();
  check_growth();
  check_pumping();
  check_waiting();
  check_odd_errors();
  return finish_checks();
}
