local kv = require "kvcodable"
local support = require "lua.spec.support"

local most, least = support.most, support.least

-- Each built-in type, by both of its names: what it takes, how that is stored,
-- and what it refuses.
local rows = {
  { kv.bool, "Bool", { true, false }, { 1, "true" } },
  { kv.int, "Int", { 0, most, least },
    { 1.5, "1", true } },
  { kv.int8, "Int8", { -128, 127 }, { -129, 128 } },
  { kv.int16, "Int16", { -32768, 32767 }, { -32769, 32768 } },
  { kv.int32, "Int32", { -2147483648, 2147483647 }, { 2147483648 } },
  { kv.int64, "Int64", { least, most },
    { kv.uint64 "9223372036854775808" } },
  { kv.uint, "UInt", { 0, kv.uint64 "18446744073709551615" }, { -1 } },
  { kv.uint8, "UInt8", { 0, 255 }, { -1, 256 } },
  { kv.uint16, "UInt16", { 0, 65535 }, { -1, 65536 } },
  { kv.uint32, "UInt32", { 0, 4294967295 }, { -1, 4294967296 } },
  { kv.uint64, "UInt64", { 0, kv.uint64 "18446744073709551615" }, { -1 } },
  { kv.float, "Float", { 0.5, -0.25, 1 / 0 }, { "0.5", true } },
  { kv.double, "Double", { 0.1, -1e300, 1 / 0 }, { "0.1", true } },
  { kv.decimal, "Decimal", { "0.1", "-12345678901234567890.5" },
    { "x", true } },
  { kv.string, "String", { "", "a\0b", "\240\159\152\128" }, { 1, true } },
  { kv.data, "Data", { kv.data "", kv.data "\0\255" }, { 1, true } },
  { kv.date, "Date", { kv.date(0), kv.date(1.5) }, { true } },
  { kv.url, "URL", { "https://example.org/a?b#c" }, { 1, true } },
  { kv.uuid, "UUID", { "E621E1F8-C36C-495A-93FC-0C247A3E6E5F" },
    { "E621E1F8", 1 } },
  { kv.duration, "Duration", { { 1, 500 } }, { "1 s", { 1 } } },
  { kv.uid, "UID", { kv.uid(0), kv.uid(4294967295) }, { 1, "1" } },
  { kv.any, "Any", { 1, 1.0, "a", true, { 1, { b = kv.date(0) } } },
    { kv.null } },
}

describe("the built-in type", function()
  local store
  before_each(function()
    store = assert(kv.open_file("none",
      { engine = "memory", format = "binary" }))
  end)
  after_each(function() store:close() end)

  for _, row in ipairs(rows) do
    local type, name, good, bad = support.unpack(row)

    it(name .. " takes its values, and gives them back", function()
      assert.equal(name, tostring(type))
      local Holder = kv.struct("Holder" .. name) { value = type }
      for _, as in ipairs { type, name } do
        for _, value in ipairs(good) do
          store:set("a", value, as)
          local back = store:get("a", as)
          assert.same(value, back)
          assert.equal(support.kind(value), support.kind(back))
          store:set("b", { value }, kv.array_of(as))
          assert.same({ value }, store:get("b", "[" .. name .. "]"))
          store:set("c", { value = value }, Holder)
          assert.same({ value = value }, store:get("c", Holder))
        end
      end
    end)

    it(name .. " refuses what is none of them", function()
      for _, value in ipairs(bad) do
        local problem = support.failure(store.set, store, "a", value, type)
        assert.equal("type_mismatch", problem.code)
        assert.same({ "a" }, { problem.path[1] })
        assert.is_nil(store:get "a")
      end
    end)
  end

  it("is there for every name of the language", function()
    local names, Type = {}, debug.getmetatable(kv.int)
    for _, row in ipairs(rows) do names[row[2]] = row[1] end
    for key, value in pairs(kv) do
      if type(value) == "table" and debug.getmetatable(value) == Type then
        assert.equal(value, names[tostring(value)], key)
      end
    end
  end)
end)
