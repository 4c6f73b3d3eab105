local kv = require "kvcodable"
local support = require "lua.spec.support"

-- Through the library and back, without a file.
local function pass(value)
  local store = assert(kv.open_file("none.plist",
    { engine = "memory", format = "binary" }))
  store:set("value", value)
  local passed = store:get "value"
  store:close()
  return passed
end

describe("values", function()
  -- proves: G88
  it("keeps integers and floats apart", function()
    for _, value in ipairs { 0, 1, -1, support.most, support.least,
      2 ^ 53 + 1, 1.0, support.minus_zero, 0.1, math.huge, -math.huge,
      kv.int64 "9007199254740993" } do
      local back = pass(value)
      assert.equal(value, back)
      assert.equal(support.kind(value), support.kind(back))
    end
    assert.equal(-math.huge, 1 / pass(support.minus_zero))
    local nan = pass(0 / 0)
    assert.is_true(nan ~= nan)
  end)

  it("keeps strings byte for byte, NUL included", function()
    for _, value in ipairs { "", "a", "a\0b", "ümläut", ("x"):rep(100000) } do
      assert.equal(value, pass(value))
    end
  end)

  it("refuses strings that are not UTF-8, and points to data", function()
    local ok, problem = pcall(pass, { list = { "good", "bad \255" } })
    assert.is_false(ok)
    assert.equal("invalid_value", problem.code)
    assert.same({ "value", "list", 2 }, problem.path)
    assert.matches("use data for bytes", problem.message, 1, true)
  end)

  -- proves: G88
  it("gives dates, data, uint64 and uid back as what they were", function()
    local date = kv.date "2026-11-21T08:00:00Z"
    assert.equal(date, pass(date))
    assert.equal(1795248000, pass(date):unix())
    assert.equal("2026-11-21T08:00:00Z", tostring(pass(date)))
    assert.equal(1.5, pass(kv.date(1.5)):unix())
    local data = kv.data "\0\255"
    assert.equal(data, pass(data))
    assert.equal(2, #pass(data))
    assert.equal("\0\255", pass(data):bytes())
    local big = kv.uint64 "18446744073709551615"
    assert.equal(big, pass(big))
    assert.equal("18446744073709551615", tostring(pass(big)))
    assert.equal(42, pass(kv.uint64(42)))
    assert.equal(kv.uid(7), pass(kv.uid(7)))
  end)

  it("takes integers of every kind where integers are expected", function()
    local large = kv.int64 "9007199254740993"
    local eighteen = kv.uint64 "18446744073709551615"
    assert.equal(large, kv.int64(large))
    assert.equal("9007199254740993", tostring(kv.uint64(large)))
    assert.equal(eighteen, kv.uint64(eighteen))
    assert.equal(large, kv.int64(kv.uint64 "9007199254740993"))
    assert.equal("5", tostring(kv.uint64(5.0)))
    assert.matches("expected %-9223", support.failure(kv.int64, eighteen))
    assert.matches("0 or more",
      support.failure(kv.uint64, kv.int64 "-9007199254740993"))
    assert.equal(kv.date(5), kv.date(kv.uint64(5)))
    assert.equal(kv.date(-5), kv.date(kv.int64 "-5"))
    assert.equal(kv.uid(5), kv.uid(kv.uint64(5)))
    assert.matches("0 to 4294967295", support.failure(kv.uid, large))
    local list = assert(kv.open_file("none.plist", { engine = "memory" }))
    list:set("list", { "a", "b" })
    assert.equal("b", list:get { "list", kv.uint64(2) })
    assert.equal("b", list:get { "list", kv.int64 "2" })
    assert.matches("index from 1", support.failure(list.get, list,
      { "list", eighteen }))
    local Large = kv.enum "LargeCase" { small = 1, large = large }
    list:set("case", large, Large)
    assert.equal(large, list:get("case", Large))
    list:close()
  end)

  it("orders dates and data, and joins data", function()
    assert.is_true(kv.date(1) < kv.date(2))
    assert.is_true(kv.date(2) <= kv.date(2))
    assert.is_false(kv.date(2) <= kv.date(1))
    assert.is_true(kv.data "a" < kv.data "ab")
    assert.is_false(kv.data "ab" <= kv.data "a")
    assert.equal(kv.data "abc", kv.data "a" .. "bc")
    assert.equal(kv.data "abc", "a" .. kv.data "bc")
    assert.is_true(kv.uint64(1) < kv.uint64 "18446744073709551615")
    assert.is_false(kv.uint64(2) <= kv.uint64(1))
  end)

  describe("of different kinds", function()
    local function all()
      return {
        date = kv.date(1), data = kv.data "a", uint64 = kv.uint64(1),
        uid = kv.uid(1), null = kv.null, file = io.stdout, number = 1,
        text = "a", table = {},
      }
    end
    local ordered = { date = true, data = true, uint64 = true }

    it("are equal to their like alone, and never raise", function()
      for name, one in pairs(all()) do
        for other_name, other in pairs(all()) do
          local is_same = name == other_name and name ~= "table"
          assert.equal(is_same, one == other, name .. " == " .. other_name)
          assert.equal(not is_same, one ~= other, name .. " ~= " .. other_name)
        end
      end
    end)

    it("have an order among their like alone", function()
      local operators = {
        ["<"] = function(a, b) return a < b end,
        ["<="] = function(a, b) return a <= b end,
        [">"] = function(a, b) return a > b end,
        [">="] = function(a, b) return a >= b end,
      }
      for name, one in pairs(all()) do
        for other_name, other in pairs(all()) do
          for operator, compare in pairs(operators) do
            if ordered[name] and name == other_name then
              assert.equal(#operator == 2, compare(one, other))
            elseif ordered[name] or ordered[other_name] then
              local ok, problem = pcall(compare, one, other)
              assert.is_false(ok, name .. operator .. other_name)
              assert.matches("attempt to compare", problem, 1, true)
              if support.has_integers then
                assert.matches("kvcodable.", problem, 1, true)
              end
            end
          end
        end
      end
    end)

    it("are told apart in the words of Lua", function()
      local ok, problem = pcall(function() return kv.date(1) < 5 end)
      assert.is_false(ok)
      -- In 5.1 Lua finds no operator of both, and does not know our names.
      assert.matches(_VERSION == "Lua 5.1"
        and "attempt to compare userdata with number"
        or "attempt to compare kvcodable.date with number", problem, 1, true)
    end)
  end)

  it("joins data with data and strings alone", function()
    for _, other in ipairs { 1, kv.null, kv.date(1), {} } do
      assert.has_error(function() return kv.data "a" .. other end)
      assert.has_error(function() return other .. kv.data "a" end)
    end
    assert.equal("", (kv.data "" .. ""):bytes())
  end)

  it("reads dates of every century, and refuses what is none", function()
    for text, seconds in pairs {
      ["1970-01-01T00:00:00Z"] = 0, ["2000-02-29T12:00:00Z"] = 951825600,
      ["1900-03-01T00:00:00Z"] = -2203891200,
      ["0001-01-01T00:00:00Z"] = -62135596800,
      ["9999-12-31T23:59:59Z"] = 253402300799 } do
      assert.equal(seconds, kv.date(text):unix())
    end
    for _, text in ipairs { "", "2026", "2026-02-30T00:00:00Z",
      "2026-13-01T00:00:00Z", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00",
      "2026-01-01T24:00:00Z", "2026-01-01T00:00:00Zx" } do
      assert.has_error(function() kv.date(text) end)
    end
    -- Where the script says it, and not where the module does.
    for make, wrong in pairs {
      [kv.date] = "today", [kv.uint64] = "-1", [kv.uid] = -1,
    } do
      assert.matches("^[^:]*values_spec.lua:%d+: expected ",
        support.failure(function()
          local value = make(wrong)
          return value
        end))
    end
  end)

  it("reads fractions of seconds, and counts whole ones as integers", function()
    assert.equal(0.25, kv.date "1970-01-01T00:00:00.25Z":unix())
    assert.equal(-0.5, kv.date "1969-12-31T23:59:59.5Z":unix())
    assert.equal("integer", support.kind(kv.date(5.0):unix()))
    assert.equal("float", support.kind(kv.date(1.5):unix()))
    assert.equal(1e300, kv.date(1e300):unix())
    for _, text in ipairs { "1970-01-01T00:00:00.2", "1970-01-01T00:00:00.2.5Z",
      "1970-01-01T00:00:00.:Z", "1970-01-01T00:00:00./Z" } do
      assert.has_error(function() kv.date(text) end)
    end
  end)

  it("shows dates beyond the calendar, and uint64 as floats", function()
    assert.equal("date (1e+15 seconds since 1970)", tostring(kv.date(1e15)))
    assert.equal("date (-1e+15 seconds since 1970)", tostring(kv.date(-1e15)))
    -- What no integer holds, for the sanitizers.
    assert.equal("date (-1e+300 seconds since 1970)", tostring(kv.date(-1e300)))
    assert.matches("^date %(9", tostring(kv.date(2 ^ 63)))
    assert.equal(2.0 ^ 64, kv.uint64 "18446744073709551615":number())
    assert.is_true(support.is_real(kv.uint64(1):number()))
  end)

  -- proves: G88
  it("keeps empty arrays arrays and empty tables dictionaries", function()
    assert.is_true(kv.is_array(pass(kv.array {})))
    assert.is_true(kv.is_array(pass(pass(kv.array {}))))
    assert.is_false(kv.is_array(pass {}))
    assert.is_true(kv.is_array(pass { 1 }))
    assert.same({ a = {}, b = { 1, { 2 } } }, pass { a = {}, b = { 1, { 2 } } })
  end)

  it("accepts arrays whose elements Lua keeps out of order", function()
    local list = {}
    for i = 40, 1, -1 do list[i] = i end
    local back = pass(list)
    assert.equal(40, #back)
    for i = 1, 40 do assert.equal(i, back[i]) end
  end)

  it("accepts arrays whose first element is not the first for Lua", function()
    local list = { a = 1, b = 2, c = 3, d = 4 }
    for key in pairs(list) do list[key] = nil end
    for i = 3, 1, -1 do list[i] = i * 10 end
    -- Where each Lua puts its first element is its own.
    if _VERSION == "Lua 5.4" then assert.not_equal(1, (next(list))) end
    assert.same({ 10, 20, 30 }, pass(list))
    list[1] = print
    assert.same({ "value", 1 }, support.failure(pass, list).path)
  end)

  local refused = {
    { "keys that are numbers as texts", kv.array { ["1"] = 1 },
      "only string keys", { "value" } },
    { "indexes where a dictionary is meant", kv.dictionary { 1 },
      "string keys in a dictionary", { "value" } },
    { "a hole", { 1, nil, 3 }, "array without holes", { "value" } },
    { "mixed keys", { a = { 1, x = 2 } }, "only string keys",
      { "value", "a" } },
    { "float keys", { [1.5] = 1 }, "only string keys", { "value" } },
    { "boolean keys", { [true] = 1 }, "only string keys", { "value" } },
    { "a function", { a = { print } }, "found function",
      { "value", "a", 1 } },
    { "a coroutine", { a = coroutine.create(function() end) }, "found thread",
      { "value", "a" } },
    { "a file", { io.stdout }, "found userdata", { "value", 1 } },
    { "a type", kv.int, "found a type", { "value" } },
    { "a type made of types", { kv.array_of(kv.int) }, "found a type",
      { "value", 1 } },
  }
  for _, row in ipairs(refused) do
    it("refuses " .. row[1] .. ", and says where", function()
      local ok, problem = pcall(pass, row[2])
      assert.is_false(ok)
      assert.equal("invalid_value", problem.code)
      assert.matches(row[3], problem.message, 1, true)
      assert.same(row[4], problem.path)
    end)
  end

  it("refuses cycles and depth without limit", function()
    local cycle = {}
    cycle.inner = { cycle }
    local ok, problem = pcall(pass, cycle)
    assert.is_false(ok)
    assert.matches("contains itself", problem.message, 1, true)
    local deep = {}
    for _ = 1, 100000 do deep = { deep } end
    ok, problem = pcall(pass, deep)
    assert.is_false(ok)
    assert.equal("limit_exceeded", problem.code)
  end)

  it("calls no metamethods of the tables that it walks", function()
    local called = false
    local function note() called = true end
    local value = setmetatable({ a = 1 }, { __index = note, __len = note,
      __pairs = note, __newindex = note })
    assert.same({ a = 1 }, pass(value))
    assert.is_false(called)
  end)
end)
