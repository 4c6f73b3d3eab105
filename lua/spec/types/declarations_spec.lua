local kv = require "kvcodable"
local support = require "lua.spec.support"

describe("declared types", function()
  local store
  support.in_memory(before_each, after_each, function(opened)
    store = opened
  end)

  local function refused(value, as, message)
    local problem = support.failure(store.set, store, "x", value, as)
    assert.equal("type_mismatch", problem.code)
    assert.equal(message, problem.message)
    assert.is_nil(store:get "x")
  end

  describe("enums with associated values", function()
    local Shape = kv.enum "Shape" {
      "empty", circle = { radius = kv.double:default(1), note = "String?" },
      square = kv.double, pair = { kv.int, kv.int },
    }

    it("are tables with the case and its values", function()
      for _, row in ipairs {
        { { circle = { radius = 2 } }, { circle = { radius = 2.0 } } },
        { { circle = {} }, { circle = { radius = 1.0 } } },
        { { square = { _0 = 2 } }, { square = { _0 = 2.0 } } },
        { { pair = { _0 = 1, _1 = 2 } }, { pair = { _0 = 1, _1 = 2 } } },
        { { empty = {} }, { empty = {} } },
      } do
        store:set("shape", row[1], Shape)
        assert.same(row[2], store:get("shape", Shape))
        assert.same({ row[2] }, (function()
          store:set("shapes", { row[1] }, "[Shape]")
          return store:get("shapes", "[Shape]")
        end)())
      end
    end)

    it("mean the same as their text", function()
      store:set("shape", { pair = { _0 = 1, _1 = 2 } })
      assert.same(store:get("shape", "Shape"), store:get("shape", Shape))
    end)

    it("keep what they do not know", function()
      store:set("shape", { circle = { radius = 5.0, blur = 3 }, future = 1 })
      store:set("shape", { circle = { radius = 2.0 } }, Shape)
      assert.same({ circle = { radius = 2.0, blur = 3 }, future = 1 },
        store:get "shape")
      store:set("shape", { empty = {} }, Shape)
      assert.same({ empty = {}, future = 1 }, store:get "shape")
    end)

    it("refuse what is of no case", function()
      refused({ circel = {} }, Shape,
        "Shape at x has no case circel; did you mean circle?")
      refused({}, Shape,
        "Expected one key of circle, empty, pair, square at x, found 0")
      refused({ oval = {} }, Shape, "Shape at x has no case oval; "
        .. "expected circle, empty, pair, square")
      refused("empty", Shape, "Expected a dictionary with one key of circle, "
        .. 'empty, pair, square at x, found "empty"; did you mean '
        .. '{"empty": {}}?')
      refused(5, Shape, "Expected a dictionary with one key of circle, empty, "
        .. "pair, square at x, found 5")
      refused({ circle = { radus = 1 } }, Shape,
        "Shape.circle at x.circle has no field radus; did you mean radius?")
      refused({ pair = { _0 = 1 } }, Shape,
        "Expected Int at x.pair._1, found nothing")
      store:set("x", { oval = {} })
      local problem = support.failure(store.get, store, "x", Shape)
      assert.equal(
        "Expected one key of circle, empty, pair, square at x, found oval",
        problem.message)
    end)

    it("convert their values", function()
      local Mark = kv.enum "Mark" {
        at = { kv.array_of(kv.int):convert {
          decode = function(list) return { x = list[1], y = list[2] } end,
          encode = function(point) return { point.x, point.y } end,
        } },
        none = {},
      }
      store:set("marks", { { at = { _0 = { x = 1, y = 2 } } }, { none = {} } },
        kv.array_of(Mark))
      assert.same({ { at = { _0 = { 1, 2 } } }, { none = {} } },
        store:get "marks")
      assert.same({ { at = { _0 = { x = 1, y = 2 } } }, { none = {} } },
        store:get("marks", "[Mark]"))
    end)

    it("hold themselves", function()
      local Tree = kv.enum "Tree" {
        leaf = kv.int, node = { left = "Tree", right = "Tree" },
      }
      local leaf = { leaf = { _0 = 1 } }
      local value = { node = { left = { node = { left = leaf, right = leaf } },
        right = leaf } }
      store:set("tree", value, Tree)
      assert.same(value, store:get("tree", Tree))
      refused({ node = { left = leaf, right = { leaf = { _0 = "a" } } } }, Tree,
        "Expected Int at x.node.right.leaf._0, found String")
    end)

    it("are told from raw values", function()
      assert.has_error(function()
        kv.enum "Mixed" { a = 1, b = { kv.int } }
      end, "enum Mixed: a case is a name, or has a table of its values")
    end)
  end)

  it("have open ranges and lengths", function()
    for _, row in ipairs {
      { kv.int:range(1), 1, 0, "Expected 1..., found 0" },
      { kv.int:range(nil, 10), -5, 11, "Expected ...10, found 11" },
      { kv.int:range(1, math.huge), 7, -7, "Expected 1..., found -7" },
      { kv.int:range(0, kv.int64 "9007199254740993"),
        kv.int64 "9007199254740993", kv.int64 "9007199254740994",
        "Expected 0...9007199254740993, found 9007199254740994" },
      { kv.uint64:range(1, kv.uint64 "18446744073709551614"), 7,
        kv.uint64 "18446744073709551615",
        "Expected 1...18446744073709551614, found 18446744073709551615" },
      { kv.string:length(kv.int64 "2"), "ab", "abc",
        "Expected 2 characters, found 3" },
      { kv.double:range "0..<1", 0.5, 1.0, "Expected 0.0..<1.0, found 1.0" },
      { kv.double:range(0.1, 0.2), 0.1, 0.3, "Expected 0.1...0.2, found 0.3" },
      { kv.string:length(2), "ab", "abc", "Expected 2 characters, found 3" },
      { kv.string:length(1, math.huge), "ä", "",
        "Expected 1... characters, found 0" },
      { kv.string:length(nil, 2), "", "abc",
        "Expected ...2 characters, found 3" },
      { kv.data:length(1, 2), kv.data "a", kv.data "",
        "Expected 1...2 bytes, found 0" },
      { kv.array_of(kv.int):length "1...", { 1 }, kv.array {},
        "Expected 1... elements, found 0" },
      { "[Int](1...)", { 1 }, {}, "Expected 1... elements, found 0" },
      { "Int(1...)", 1, 0, "Expected 1..., found 0" },
    } do
      local as, good, bad, message = support.unpack(row)
      store:set("good", good, as)
      assert.same(good, store:get("good", as))
      local problem = support.failure(store.set, store, "x", bad, as)
      assert.equal((message:gsub(", found", " at x, found")), problem.message)
    end
  end)

  it("may be wrong, which is an error about the type", function()
    for _, make in ipairs {
      function() return kv.int:range(5, 1) end,
      function() return kv.bool:range(1, 5) end,
      function() return kv.int:range "1..x" end,
      function() return kv.string:length(-1) end,
      function() return "[Int" end,
    } do
      local problem = support.failure(store.get, store, "x", make())
      assert.equal("invalid_type", problem.code)
    end
  end)

  it("have no limits that would limit nothing", function()
    local Size = kv.struct "LimitedSize" { a = kv.int }
    for _, row in ipairs {
      { kv.int:length(3), "Int has no length at length" },
      { kv.bool:length(3), "Bool has no length at length" },
      { kv.any:range(3), "Any has no range at range" },
      { kv.string:range(3), "String has no range at range" },
      { kv.array_of(kv.int):range(3), "array has no range at range" },
      { kv.dictionary_of(kv.int):length(3),
        "dictionary has no length at length" },
      { Size:range(1, 2), "LimitedSize has no range at range" },
    } do
      local problem = support.failure(store.get, store, "x", row[1])
      assert.equal("invalid_type", problem.code)
      assert.equal(row[2], problem.message)
    end
  end)

  it("are told with the column in the whole expression", function()
    for _, name in ipairs { "Column", "Größe", "Breite", "Ab" } do
      kv.struct(name) { a = kv.int }
    end
    for text, expected in pairs {
      ["[[Int]"] = { 7, 'Expected "]", found the end' },
      ["[String: [Int}]"] = { 14, 'Expected "]", found "}"' },
      ["[String: Foo]"] = { 10, "No type is named Foo" },
      ["[ Foo ]?"] = { 3, "No type is named Foo" },
      ["[Int](a)"] = { 7, 'Expected a range such as 1...10, found "a"' },
      ["[[Column](2)"] = { 13, 'Expected "]", found the end' },
      ["Int Column"] = { 5, 'Expected the end of the type, found "Column"' },
      [" Column  Breite"] =
        { 10, 'Expected the end of the type, found "Breite"' },
      ["[Größe] Größe"] =
        { 9, 'Expected the end of the type, found "Größe"' },
      ["[Größe: Foo"] =
        { 2, 'Expected String as the type of keys, found "Größe"' },
      ["[Ab"] = { 4, 'Expected "]", found the end' },
      ["[Ab: Int]"] =
        { 2, 'Expected String as the type of keys, found "Ab"' },
      ["[Größe] Foo Ab"] =
        { 9, 'Expected the end of the type, found "Foo"' },
    } do
      local problem = support.failure(store.get, store, "x", text)
      assert.equal("invalid_type", problem.code)
      assert.same({ 1, expected[1] }, { problem.line, problem.column })
      assert.equal(("%s (line 1, column %d)"):format(expected[2], expected[1]),
        problem.message)
    end
  end)

  it("are told with the names of fields and cases", function()
    local Inner = kv.struct "InnerWrong" {
      good = kv.int, size = kv.int:default "x" }
    for _, row in ipairs {
      { Inner, "Expected Int at InnerWrong.size.default, found String" },
      { kv.struct "OuterWrong" { a = kv.int, b = kv.array_of(Inner) },
        "Expected Int at InnerWrong.size.default, found String" },
      { kv.array_of(kv.struct "ListWrong" {
        a = kv.array_of(kv.int):default { 1, "b" } }),
        "Expected Int at ListWrong.a.default[2], found String" },
      { kv.struct "TextWrong" { a = "Int", b = "[[Int]" },
        'Expected "]" at TextWrong.b, found the end (line 1, column 7)' },
      { kv.struct "KeysWrong" { a = "[ListWrong: Int]" },
        "Expected String as the type of keys at KeysWrong.a, "
        .. 'found "ListWrong" (line 1, column 2)' },
      { kv.struct "RangeWrong" { a = kv.int, z = kv.int:range(3, 1) },
        "Expected a range with a number in it at RangeWrong.z.range, "
        .. 'found "3" (line 1, column 1)' },
      { kv.enum "CaseWrong" { a = { kv.int, r = kv.int:default "x" } },
        "Expected Int at CaseWrong.a.r.default, found String" },
      { kv.struct "ValueWrong" { a = kv.any:default { 1, print } },
        "Expected a property-list value at ValueWrong.a.default[2], "
        .. "found function", "invalid_value" },
      { kv.struct "BytesWrong" { a = kv.any:default { "a\255" } },
        "Expected UTF-8 in a string at BytesWrong.a.default[1], "
        .. "found invalid bytes after 1; use data for bytes",
        "invalid_value" },
      { "[ListWrong]?",
        "Expected Int at ListWrong.a.default[2], found String" },
    } do
      local problem = support.failure(store.get, store, "x", row[1])
      assert.equal(row[3] or "invalid_type", problem.code)
      assert.equal(row[2], problem.message)
      assert.matches("^%u%a+Wrong$", problem.path[1])
    end
  end)

  it("are told with as much of long names and paths as others", function()
    local long, short = ("a"):rep(200), ("a"):rep(40) .. "…" .. ("a"):rep(40)
    local deep, value, path = kv.int, true, { "DeepWrong", "a", "default" }
    for _ = 1, 40 do deep, value = kv.dictionary_of(deep), { k = value } end
    for i = 4, 43 do path[i] = "k" end
    local Inner = kv.int:default "x"
    for i = 1, 40 do
      Inner = kv.struct("Inside" .. i) { a = kv.int, b = Inner }
    end
    for _, row in ipairs {
      { kv.struct "LongWrong" { [long] = kv.int:default "x" },
        { "LongWrong", long, "default" },
        "Expected Int at LongWrong." .. short .. ".default, found String" },
      { kv.struct "LongWrong" {
        a = kv.dictionary_of(kv.int):default { [long] = "x" } },
        { "LongWrong", "a", "default", long },
        "Expected Int at LongWrong.a.default." .. short .. ", found String" },
      { kv.struct "DeepWrong" { a = deep:default(value) }, path,
        "Expected Int at DeepWrong.a.default" .. (".k"):rep(9)
        .. " … 19 steps … k" .. (".k"):rep(11) .. ", found Bool" },
      { Inner, { "Inside1", "b", "default" },
        "Expected Int at Inside1.b.default, found String" },
    } do
      local problem = support.failure(store.get, store, "x", row[1])
      assert.equal(row[3], problem.message)
      assert.same(row[2], problem.path)
    end
  end)

  it("have names of their own, and say how they are written", function()
    local failure = support.failure
    for _, declare in ipairs { kv.struct, kv.enum } do
      assert.matches("built%-in type", failure(declare, "Int"))
      assert.matches("no name for a type", failure(declare, "a b"))
      assert.matches('"Name" { ... }', failure(declare, { "a" }), 1, true)
      assert.matches('"Name" { ... }', failure(declare, "A", {}), 1, true)
    end
    assert.equal(5, kv.decode("5", "Int", { format = "json" }))
  end)

  it("say what is wrong where it is said", function()
    local bounds = 'expected numbers as bounds, or a text such as "1...10"'
    for _, row in ipairs {
      { function() kv.struct "W" (5) end,
        "struct W: expected a table, found number" },
      { function() kv.enum "W" () end,
        "enum W: expected a table, found nil" },
      { function() kv.enum "W" { "a", b = 1 } end, "enum W: expected a "
        .. "list of cases, or a table of their names with raw values" },
      { function() kv.enum "W" { "a", 1 } end,
        "enum W: expected the names of cases, found integer" },
      { function() kv.enum "W" { a = 1.5 } end,
        "enum W: expected strings or integers as raw values, found float" },
      { function() kv.enum "W" { a = 1, b = "b" } end,
        "enum W: expected raw values of one kind, strings or integers" },
      { function() kv.int:range("a", 3) end, bounds .. ", found string" },
      { function() kv.int:range(0 / 0) end, bounds .. ", found nan" },
      { function() kv.string:length({}) end, bounds .. ", found table" },
      { function() kv.int:key() end, "key: expected a string, found nil" },
      { function() kv.array "x" end,
        "expected a table to tag, found string" },
      { function() kv.dictionary(5) end,
        "expected a table to tag, found number" },
      { function() kv.date() end,
        "Date: expected a string or a number, found nil" },
      { function() kv.uid(1.5) end, "expected 0 to 4294967295" },
      { function() kv.uint64 "1\0" end, "a NUL in the text" },
      { function() kv.uint64(1.5) end, "expected a whole number" },
      { function() kv.int64(0 / 0) end, "expected a whole number" },
      { function() kv.date(kv.uid(5)) end,
        "Date: expected a string or a number, found userdata" },
      { function() kv.data(kv.uint64 "5") end,
        "expected a string or a number, found 5" },
    } do
      local ok, problem = pcall(row[1])
      assert.is_false(ok)
      assert.matches("declarations_spec.lua:%d+: ", problem)
      assert.equal(row[2], (problem:gsub("^.-:%d+: ", "")))
    end
  end)

  it("convert with a table of functions", function()
    for _, wrong in ipairs { print, { decod = print }, { decode = 5 } } do
      assert.matches("table of functions, decode and encode",
        support.failure(kv.int.convert, kv.int, wrong))
    end
  end)

  it("never store transient fields", function()
    local Item = kv.struct "Item" { id = kv.int, cache = kv.any:transient() }
    store:set("item", { id = 1, cache = { "big" } }, Item)
    assert.same({ id = 1 }, store:get "item")
    assert.same({ id = 1 }, store:get("item", Item))
  end)

  it("name themselves, and types that come later", function()
    local colored = kv.string:convert {
      decode = function(text) return "<" .. text .. ">" end,
      encode = function(text) return text:sub(2, -2) end,
    }
    local Node = kv.struct "Node" {
      color = colored, children = kv.array_of("Node"):default {},
      label = "Label?",
    }
    kv.struct "Label" { text = kv.string, of = "Node?" }
    local value = { color = "<a>", children = { { color = "<b>",
      children = { { color = "<c>", children = {} } },
      label = { text = "t" } } } }
    store:set("node", value, Node)
    assert.equal("c",
      store:get { "node", "children", 1, "children", 1, "color" })
    assert.same(value, store:get("node", Node))
    refused({ color = "<a>", children = { { color = "<b>",
      label = { text = 1 } } } }, Node,
      "Expected String at x.children[1].label.text, found Int")
  end)

  it("convert whole structs, with a context", function()
    local Person = kv.struct "Person" {
      first = kv.string:key "firstName", last = kv.string:key "lastName",
    }:convert {
      decode = function(stored, context)
        return { name = stored.first .. context.gap .. stored.last }
      end,
      encode = function(person, context)
        local first, last = person.name:match("(.-)" .. context.gap .. "(.*)")
        return { first = first, last = last }
      end,
    }
    local people = assert(kv.open_file("none.plist",
      { engine = "memory", context = { gap = " " } }))
    people:set("one", { name = "Ada Lovelace" }, Person)
    assert.same({ firstName = "Ada", lastName = "Lovelace" },
      people:get "one")
    assert.same({ name = "Ada Lovelace" }, people:get("one", Person))
    people:set("all", { { name = "Alan Turing" } }, "[Person]")
    assert.same({ { firstName = "Alan", lastName = "Turing" } },
      people:get "all")
    -- A missing context is the converter's error, and nothing is changed.
    assert.has_error(function()
      store:set("one", { name = "A B" }, Person)
    end)
    assert.is_nil(store:get "one")
    people:close()
  end)

  it("mean one thing in each state, and another when defined again", function()
    local First = kv.struct "Again" { a = kv.int }
    local Outer = kv.struct "Outer" { inner = First }
    store:set("x", { inner = { a = 1 } }, Outer)
    kv.struct "Again" { b = kv.string }
    store:set("y", { b = "text" }, "Again")
    -- What was made of the old one keeps its meaning.
    assert.same({ inner = { a = 1 } }, store:get("x", Outer))
    store:set("x", { inner = { a = 2 } }, Outer)
  end)
end)

describe("kv.annotations", function()
  it("tells editors every type", function()
    kv.enum "AnnotatedKind" { "light", "dark" }
    kv.enum "AnnotatedShape" { circle = { radius = kv.double }, empty = {} }
    kv.struct "Annotated" {
      width = kv.int:range(1), title = kv.string:key "t":optional(),
      kind = "AnnotatedKind", shape = kv.any:default(1),
      color = kv.array_of(kv.double):convert {},
      parts = kv.array_of "Annotated":optional(),
    }
    local text = kv.annotations()
    assert.equal("---@meta\n", text:sub(1, 9))
    for _, part in ipairs {
      '---@alias AnnotatedKind "light"|"dark"\n',
      "---@alias AnnotatedShape { circle: { radius: number } }|" ..
        "{ empty: {} }\n",
      "---@class (exact) Annotated\n---@field color any\n" ..
        "---@field kind AnnotatedKind\n---@field parts? Annotated[]\n" ..
        "---@field shape? any default 1\n---@field title? string\n" ..
        "---@field width integer Int(1...)\n",
    } do
      assert.matches(part, text, 1, true)
    end
  end)

  it("has a comment for a type that is wrong, and the others", function()
    kv.struct "AnnotatedWrong" { a = kv.int:default "x" }
    kv.struct "AnnotatedRight" { a = kv.int }
    local text = kv.annotations()
    assert.matches("---@class (exact) AnnotatedRight\n", text, 1, true)
    assert.matches("\n-- AnnotatedWrong: Expected Int at "
      .. "AnnotatedWrong.a.default, found String\n", text, 1, true)
  end)
end)
