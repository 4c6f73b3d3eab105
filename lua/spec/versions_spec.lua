-- What differs between the versions of Lua where a program compiles and is
-- wrong: each of these failed in one of them once.
local kv = require "kvcodable"
local support = require "lua.spec.support"
local failure = support.failure

-- proves: G87
describe("in every Lua", function()
  local store
  support.in_memory(before_each, after_each, function(made) store = made end)

  -- lua_topointer of a string is NULL before 5.4.
  it("keys of the same length are told apart", function()
    for round = 1, 3 do
      store:set("r", { one = round, two = "2", six = { 6 } })
      store:set("r", { six = 1, two = { round }, one = "6" })
      assert.same({ six = 1, two = { round }, one = "6" }, store:get "r")
    end
    local Pair = kv.struct "VersionPair" { one = kv.int, two = kv.string }
    store:set("p", { one = 1, two = "x" }, Pair)
    assert.same({ one = 1, two = "x" }, store:get("p", Pair))
  end)

  -- %I is no format of lua_pushfstring before 5.3, nor in LuaJIT.
  it("messages have their numbers", function()
    assert.equal("data (3 bytes)", tostring(kv.data "abc"))
    assert.equal("uid 4294967295", tostring(kv.uid(4294967295)))
    assert.equal(
      "Expected a property-list value at a[12].b[3], found function",
      failure(store.set, store, "a", { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
        { b = { 1, 2, print } } }).message)
    assert.matches("expected a function as step 12, found number",
      failure(store.migrate, store, { [12] = 1 }), 1, true)
    assert.matches("function expected, got kvcodable.null",
      failure(store.transaction, store, kv.null), 1, true)
    local many = {}
    for i = 1, 200 do many[i] = many end
    assert.matches("contains itself",
      failure(store.set, store, "a", many).message, 1, true)
  end)

  -- A chunk's globals are upvalue 1 from 5.2 on, and an environment before; a
  -- script that changes those of a function changes nothing of ours.
  it("the module's Lua has globals of its own", function()
    local program = os.tmpname()
    support.write(program, [[
      local kv = require "kvcodable"
      local assert, pcall, ipairs = assert, pcall, ipairs
      local getfenv, setfenv, tostring = getfenv, setfenv, tostring
      local next, type, find = next, type, string.find
      local globals = _G
      for _, name in ipairs { "error", "pairs", "type", "setmetatable",
        "string", "table", "math", "tostring", "select", "next" } do
        globals[name] = nil
      end
      if setfenv then
        for _, f in next, { kv.struct, kv.array_of, kv.array, kv.is_array,
          debug.getmetatable(kv.int).__tostring } do
          assert(next(getfenv(f)) == nil)
          setfenv(f, { error = assert, type = assert })
        end
      end
      local T = kv.struct "T" { a = kv.array_of(kv.int):optional() }
      local s = kv.open_file("x", { engine = "memory" })
      s:set("t", { a = { 1 } }, T)
      assert(s:get("t", T).a[1] == 1)
      local ok, problem = pcall(kv.array, 1)
      assert(not ok and find(problem, "expected a table to tag"))
      assert(kv.is_array(kv.array {}) and tostring(kv.int) == "Int")
    ]])
    local log = program .. ".log"
    local good = support.run(program .. " 2>" .. log)
    local text = support.contents(log)
    os.remove(program)
    os.remove(log)
    assert.is_true(good, text)
  end)

  -- "\x80" is "x80" in 5.1; math.type does not exist below 5.3.
  it("types have names beyond ASCII, and elements indexes", function()
    kv.struct "Größe" { breite = kv.int }
    store:set("g", { { breite = 1 }, { breite = 2 } }, "[Größe]")
    assert.equal(2, store:get("g", "[Größe]")[2].breite)
    local Picky = kv.int:convert { decode = function() error("no", 0) end }
    store:set("list", { 1, 2 })
    local problem = failure(store.get, store, "list", kv.array_of(Picky))
    assert.equal("list", problem.path[1])
    assert.is_true(problem.path[2] == 1 or problem.path[2] == 2)
    local Level = kv.enum "VersionLevel" { low = 0, high = 10 }
    store:set("level", 10, Level)
    assert.equal(10, store:get("level", Level))
    assert.matches("found float",
      failure(kv.enum "VersionWrong", { low = 0.5 }), 1, true)
  end)

  -- A loop's variable cannot be changed in 5.5.
  it("cases have values by place, by label, and none", function()
    local Shape = kv.enum "VersionShape" {
      "empty", "full", pair = { kv.int, kv.string }, dot = { at = kv.int },
    }
    for _, value in ipairs { { empty = {} }, { full = {} },
      { pair = { _0 = 1, _1 = "x" } }, { dot = { at = 2 } } } do
      store:set("shape", value, Shape)
      assert.same(value, store:get("shape", Shape))
    end
  end)

  -- The finalizer uses boxes of its own for the objects that it works with.
  it("a finalizer in the middle of a get takes nothing away", function()
    local rows, ran = {}, 0
    for i = 1, 200 do rows[i] = { name = "row " .. i, value = { i } } end
    store:set("rows", rows)
    local text = kv.encode(rows, nil, { format = "json" })
    local other = text:gsub("row", "cow"):gsub("value", "eulav")
    for _ = 1, 60 do
      support.finalizer(function()
        ran = ran + 1
        assert(#store:get "rows" == 200 and store:keys()[1] == "rows")
        assert(not pcall(store.set, store, "x", print))
        for _ = 1, 5 do assert(kv.decode(other)[200].name == "cow 200") end
      end)
      assert.same(rows[200], store:get("rows")[200])
      assert.same(rows, kv.decode(text)) -- which nothing else keeps
    end
    collectgarbage()
    collectgarbage()
    assert.is_true(ran > 30)
    assert.same(rows, store:get "rows")
  end)

  -- __pairs, __len of tables, __name, __gc of tables and __close: see also
  -- close_spec.lua.
  it("a store is walked, counted and closed", function()
    store:set("b", 1)
    store:set("a", { c = 2 })
    local found = {}
    for key, value in store:pairs() do found[#found + 1] = { key, value } end
    assert.same({ { "a", { c = 2 } }, { "b", 1 } }, found)
    assert.equal(2, #store)
    if _VERSION ~= "Lua 5.1" then
      for key, value in pairs(store) do assert.same(value, store:get(key)) end
    end
    assert.matches("kvcodable.store expected, got kvcodable.date",
      failure(store.get, kv.date(0), "a"), 1, true)
  end)

  it("a store is used from coroutines", function()
    local told = 0
    coroutine.wrap(function()
      store:watch("a", function() told = told + 1 end)
      store:transaction(function(tx)
        coroutine.wrap(function() tx:set("a", 1) end)()
        tx:update("a", function(n) return n + 1 end)
      end)
    end)()
    assert.equal(2, store:get "a")
    assert.equal(1, coroutine.wrap(function() return (kv.pump()) end)())
    assert.equal(1, told)
    -- A function that is called back must not yield.
    for _, call in ipairs {
      function() store:transaction(coroutine.yield) end,
      function() store:update("a", function() coroutine.yield() end) end,
      function() store:with(coroutine.yield) end,
    } do
      local ok, problem = coroutine.resume(coroutine.create(call))
      assert.is_false(ok)
      assert.matches("attempt to yield across", problem, 1, true)
    end
    assert.matches("(closed)", tostring(store), 1, true)
  end)

  it("an error is at the script's own line", function()
    local function place(call)
      local problem = failure(call)
      return type(problem) == "string" and problem:match "^([^:]*:%d+):"
    end
    local here = debug.getinfo(1, "Sl")
    for i, call in ipairs {
      function() kv.int64 "x" end, function() kv.uid(-1) end,
      function() kv.struct(1) end, function() kv.array_of(1) end,
      function() kv.array(1) end, function() store:get("a", {}) end,
      function() kv.encode(1, nil, { zzz = 1 }) end,
      function() local _ = store.zzz end,
    } do
      local found = place(call)
      assert.matches(here.short_src, found, 1, true)
      local line = tonumber(found:match ":(%d+)$")
      assert.is_true(line > here.currentline and line < here.currentline + 7, i)
    end
  end)
end)
