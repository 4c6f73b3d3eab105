local kv = require "kvcodable"
local support = require "lua.spec.support"
local failure = support.failure

-- Messages are in the words of the type language and of property lists: Lua has
-- no Swift types.
describe("the words of a message", function()
  local store
  support.in_memory(before_each, after_each, function(opened)
    store = opened
  end)

  kv.struct "Worded" { a = kv.int }
  kv.enum "WordedTheme" { "light", "dark" }
  kv.enum "WordedLevel" { low = 0, high = 10 }
  kv.enum "WordedShape" { "none", dot = kv.double }
  local types = { "Bool", "Int", "Int8", "Int16", "Int32", "Int64", "UInt",
    "UInt8", "UInt16", "UInt32", "UInt64", "Float", "Double", "Decimal",
    "String", "Data", "Date", "URL", "UUID", "Duration", "UID", "[Int]",
    "[String: Int]", "[[String]]", "Int?", "[String: [Bool]]?", "Worded",
    "[Worded]", "WordedTheme", "WordedLevel", "WordedShape" }
  local values = { { "Bool", true }, { "Int", -1 }, { "Double", 0.5 },
    { "String", "text" }, { "String", "" }, { "Data", kv.data "x" },
    { "Date", kv.date(0) }, { "UID", kv.uid(7) }, { "Array", { 1 } },
    { "Array", kv.array {} }, { "Array", { "a" } },
    { "Dictionary", kv.dictionary {} },
    { "Dictionary", { a = "x" } }, { "Dictionary", { b = {} } },
    { "UInt64", kv.uint64 "18446744073709551615" }, { "Int", 1099511627776 } }

  local foreign = { "<", ">", "Binary", "PropertyList", "NS", "__", "SELF",
    "Optional", "Swift", "CodingKey" }

  local function check(problem)
    local text = tostring(problem)
    assert.equal("table", type(problem), text)
    for _, word in ipairs(foreign) do
      assert.is_nil(text:find(word, 1, true), text)
    end
    return text
  end

  for _, as in ipairs(types) do
    it("is none of Swift's for " .. as, function()
      local refused = 0
      for _, row in ipairs(values) do
        local found, value = row[1], row[2]
        store:set("v", value)
        local ok, problem = pcall(store.get, store, "v", as)
        if not ok then
          refused = refused + 1
          local text = check(problem)
          if text:find(", found ", 1, true)
            and #problem.path == 1 and not text:find "found [%-%d\"]"
            and not text:find "found nothing$"
            and not text:find "^Expected one key of " then
            assert.matches(" at v, found " .. found .. "$", text)
          end
        end
        ok, problem = pcall(store.set, store, "w", value, as)
        if not ok then check(problem) end
      end
      assert.is_true(refused >= 5)
    end)
  end

  local rows = {
    { "Int8", "x", "Expected Int at v, found String" },
    { "[Int]", 1, "Expected Array at v, found Int" },
    { "[Int]", {}, "Expected Array at v, found Dictionary" },
    { "Worded", 1, "Expected Dictionary at v, found Int" },
    { "Worded", { 1 }, "Expected Dictionary at v, found Array" },
    { "[String: Int]", { 1 }, "Expected Dictionary at v, found Array" },
    { "String", kv.uid(1), "Expected String at v, found UID" },
    { "Worded", { b = 1 }, "Expected Int at v.a, found nothing" },
    { "Duration", { 1 }, "Expected a value at v[2], found nothing" },
    { "[Worded]", { { a = 1 }, { a = true } },
      "Expected Int at v[2].a, found Bool" },
  }
  for _, row in ipairs(rows) do
    it(("is exactly: %s"):format(row[3]), function()
      store:set("v", row[2])
      assert.equal(row[3], tostring(failure(store.get, store, "v", row[1])))
    end)
  end

  it("takes no time that grows with the square of a type's text", function()
    local text = "[String:" .. (" "):rep(40000) .. "Nope"
    local start = os.clock()
    local problem = failure(kv.encode, 1, text)
    assert.matches("^No type is named Nope", tostring(problem))
    assert.is_true(os.clock() - start < 3)
  end)

  it("is none of Swift's in a type that is wrong", function()
    for _, call in ipairs {
      function() kv.decode("{}", "struct") end,
      function() store:get("v", kv.struct "WordedWrong" {
        a = kv.int:default "x" }) end,
      function() store:get("v", kv.struct "WordedWrong" {
        a = kv.array_of(kv.int):default(1) }) end,
      function() store:get("v", kv.struct "WordedWrong" {
        a = kv.dictionary_of(kv.int):default { 1 } }) end,
    } do
      check(failure(call))
    end
  end)
end)
