-- LuaJIT alone has a compiler and numbers of C.
local kv = require "kvcodable"
local support = require "lua.spec.support"
if not rawget(_G, "jit") then return end
local ffi = require "ffi"
local most = ffi.cast("uint64_t", ffi.new("int64_t", -1))

-- proves: G87
describe("in LuaJIT", function()
  local store
  support.in_memory(before_each, after_each, function(made) store = made end)

  it("hot loops get what they set", function()
    assert.is_true((jit.status()))
    local sum, path = 0, { "ui", "width" }
    for i = 1, 1000000 do
      store:set("count", i)
      sum = sum + store:get "count"
    end
    assert.equal(500000500000, sum)
    for i = 1, 100000 do
      store:set(path, i % 7 == 0 and i + 0.5 or i)
      assert(store:get(path) == (i % 7 == 0 and i + 0.5 or i))
      if i % 1000 == 0 then
        assert(not pcall(store.set, store, path, print))
        assert(store:get("none", "Int?") == nil)
      end
    end
    local Point = kv.struct "HotPoint" { x = kv.int, y = kv.double }
    local rows = {}
    for i = 1, 20000 do
      store:set("point", { x = i, y = i / 2 }, Point)
      local point = store:get("point", Point)
      rows[i % 100 + 1] = point
      assert(point.x == i and point.y == i / 2)
    end
    assert.equal(100, #rows)
  end)

  it("integers of C are integers", function()
    local least = ffi.new("int64_t", 1) * -2 ^ 62 * 2
    for value, text in pairs {
      [ffi.new("int64_t", 5)] = "5", [ffi.new("uint64_t", 6)] = "6",
      [ffi.new("int64_t", -1)] = "-1", [least] = "-9223372036854775808",
      [most] = "18446744073709551615",
    } do
      store:set("n", value)
      assert.equal(text, tostring(store:get "n"))
      assert.matches("<integer>" .. text:gsub("%-", "%%-") .. "</integer>",
        store:export { format = "xml" })
      store:set("list", { value, { a = value } })
      assert.equal(text, tostring(store:get { "list", 2, "a" }))
    end
    assert.equal("-1", tostring(kv.int64(ffi.new("int64_t", -1))))
    assert.equal("7", tostring(kv.uint64(ffi.new("int64_t", 7))))
    assert.matches("0 or more",
      support.failure(kv.uint64, ffi.new("int64_t", -7)))
    assert.matches("expected %-9223",
      support.failure(kv.int64, most))
    assert.equal(kv.date(5), kv.date(ffi.new("int64_t", 5)))
    assert.equal(kv.uid(5), kv.uid(ffi.new("uint64_t", 5)))
    local _, problem = pcall(function() kv.date(ffi.new "char[8]") end)
    assert.matches("luajit_spec.lua:%d+: expected a string .* cdata", problem)
    store:set("list", { "a", "b" })
    assert.equal("b", store:get { "list", ffi.new("int64_t", 2) })
  end)

  it("integers of the module become some of C", function()
    for _, text in ipairs { "9007199254740993", "-1",
      "-9223372036854775808" } do
      local value = kv.int64(text):cdata()
      assert.is_true(ffi.istype("int64_t", value))
      assert.equal(kv.int64(text), kv.int64(value))
    end
    local made = kv.uint64 "18446744073709551615":cdata()
    assert.is_true(ffi.istype("uint64_t", made))
    assert.is_true(made == most)
  end)

  it("other values of C are refused, with their place", function()
    local kept = ffi.new("int64_t[1]", 7)
    for _, value in ipairs { ffi.new "int32_t", ffi.new "double",
      ffi.new "char[8]", ffi.new "void *", ffi.cast("int64_t &", kept),
      ffi.typeof "int64_t", ffi.typeof "uint64_t" } do
      local problem = support.failure(store.set, store, "x", { a = value })
      assert.equal("Expected a property-list value at x.a, found cdata",
        problem.message)
    end
  end)

  it("a struct's own functions are not called", function()
    local called = 0
    local function call() called = called + 1 return "9" end
    local Odd = ffi.metatype("struct { int64_t n; }", { __tostring = call,
      __eq = call, __index = call, __add = call, __len = call })
    assert.equal("invalid_value",
      support.failure(store.set, store, "x", Odd()).code)
    assert.equal(0, called)
  end)
end)
