local kv = require "kvcodable"
local support = require "lua.spec.support"

describe("the schema of a store", function()
  local path
  support.in_folder(before_each, after_each, function(_, given)
    path = given
  end)

  local Settings = kv.struct "SpecSettings" {
    volume = kv.int:range(0, 10):default(7),
    window = kv.struct "SpecFrame" {
      width = kv.int, tags = kv.array_of(kv.string),
    }:optional(),
    title = kv.string:key "Title":optional(),
  }

  local function open(options)
    options = options or {}
    options.schema = options.schema or Settings
    return assert(kv.open_file(path, options))
  end

  local function no_integer(place, found)
    return ("Expected Int at %s, found %s"):format(place, found)
  end

  local function refused(message, call, ...)
    local problem = support.failure(call, ...)
    assert.equal("type_mismatch", problem.code)
    assert.equal(message, tostring(problem))
    return problem
  end

  it("refuses what a typed get would not give, and changes nothing", function()
    local store = open()
    store:set("volume", 8)
    refused(no_integer("volume", "String"), store.set, store, "volume",
      "loud")
    refused("Expected 0...10 at volume, found 11", store.set, store,
      "volume", 11)
    refused("Expected String at Title, found Int", store.set, store, "Title", 1)
    store:set("window", { width = 3, tags = kv.array { "a" } })
    local problem = refused("Expected String at window.tags[2], found Bool",
      store.set, store, { "window", "tags", 2 }, true)
    assert.same({ "window", "tags", 2 }, problem.path)
    refused("Expected Int at window.width, found nothing", store.remove, store,
      { "window", "width" })
    assert.same({ volume = 8, window = { width = 3, tags = { "a" } } },
      store:get {})
    store:set({ "window", "tags", 2 }, "b")
    assert.is_true(store:remove "window")
    store:close()
  end)

  it("leaves unknown keys alone, and what is stored can be had", function()
    support.write(path, [[<?xml version="1.0"?><plist version="1.0"><dict>
      <key>volume</key><string>wrong</string>
      <key>other</key><true/></dict></plist>]])
    local store = open()
    assert.equal("wrong", store:get("volume", kv.any))
    refused(no_integer("volume", "String"), store.get, store, "volume")
    refused(no_integer("volume", "String"), store.get, store, "volume",
      kv.int)
    assert.same({ "other", "volume" }, store:keys())
    store:set("other", { "anything" })
    store:set("volume", 1)
    assert.same({ other = { "anything" }, volume = 1 }, store:get {})
    store:close()
  end)

  it("looks at a transaction when it is committed", function()
    local store = open()
    store:transaction(function(tx)
      tx:set({ "window", "width" }, 3) -- not a window yet
      tx:set({ "window", "tags" }, kv.array {})
    end)
    assert.equal(3, store:get { "window", "width" })
    refused("Expected [String] at window.tags, found nothing",
      store.transaction, store, function(tx)
        tx:set("volume", 1)
        tx:remove { "window", "tags" }
      end)
    assert.equal(7, store:get "volume")
    refused(no_integer("volume", "Bool"), store.update, store, "volume",
      function() return true end)
    refused(no_integer("volume", "Bool"), store.import, store,
      '{"Title": "x", "volume": true}')
    assert.is_nil(store:get "Title")
    store:close()
  end)

  it("looks at defaults", function()
    local store, problem = kv.open_file(path,
      { schema = Settings, defaults = { volume = "x" } })
    assert.is_nil(store)
    assert.equal(no_integer("volume", "String"), tostring(problem))
    local opened = open { defaults = { volume = 3 } }
    refused(no_integer("volume", "Bool"), opened.register, opened,
      { volume = false })
    assert.equal(3, opened:get "volume")
    opened:close()
  end)

  it("may be a dictionary or an expression, and nothing else", function()
    local store = open { schema = "[String: SpecLevel]",
      types = { SpecLevel = kv.int:range(0, 3) } }
    store:set("any key", 3)
    refused("Expected 0...3 at any, found 4", store.set, store, "any", 4)
    local none, problem = kv.open_file(path, { schema = kv.int })
    assert.is_nil(none)
    assert.equal("invalid_type", problem.code)
    assert.equal(
      "Expected a struct or a dictionary as a store's schema, found Int",
      tostring(problem))
    assert.has_error(function() kv.open_file(path, { schema = 1 }) end)
    store:close()
  end)

  it("holds for parts and for types with converters, as they are stored",
    function()
      local Colour = kv.struct "SpecColour" {
        rgb = kv.array_of(kv.int):convert {
          encode = function(text) return { #text, 0, 0 } end,
          decode = function(rgb) return ("x"):rep(rgb[1]) end,
        },
      }
      local store = open { schema = kv.dictionary_of(Colour) }
      local part = store:at { "red" }
      part:set({}, { rgb = "xxx" }, Colour)
      assert.same({ 3, 0, 0 }, store:get({ "red", "rgb" }, kv.any))
      assert.equal("xxx", store:get { "red", "rgb" })
      refused(no_integer("red.rgb[1]", "String"), part.set, part,
        { "rgb", 1 }, "x")
      store:close()
    end)
end)

describe("the types of a store", function()
  local function open(types)
    return assert(kv.open("scratch", { engine = "memory", types = types }))
  end

  it("are what names mean in the expressions given to it", function()
    local Here = kv.struct "SpecHere" { x = kv.int }
    local store = open {
      Point = Here, Points = "[Point]", Count = "Int(0...3)", Maybe = "Points?",
    }
    store:set("one", { x = 1 }, "Point")
    store:set("some", { { x = 1 }, { x = 2 } }, "[Point]")
    assert.equal(2, store:get("some", "Points")[2].x)
    assert.equal(2, store:get("some", "Maybe")[2].x)
    assert.is_nil(store:get("none", "Maybe"))
    assert.equal(1, store:at { "one" }:get("x", "Count"))
    store:update("one", "Point", function(point) point.x = 9 end)
    store:transaction(function(tx)
      assert.equal(9, tx:get("one", "Point").x)
      local problem = support.failure(tx.get, tx, { "one", "x" }, "Count")
      assert.equal("Expected 0...3 at one.x, found 9", tostring(problem))
    end)
    store:close()
  end)

  it("are the handle's own, and go before this state's", function()
    kv.struct "SpecShared" { a = kv.int }
    local store = open { SpecShared = kv.string, SpecMine = kv.bool }
    local other = open()
    store:set("s", "text", "SpecShared")
    local problem = support.failure(other.set, other, "s", "text", "SpecShared")
    assert.equal("Expected Dictionary at s, found String",
      tostring(problem))
    problem = support.failure(other.set, other, "s", true, "SpecMine")
    assert.equal("invalid_type", problem.code)
    -- A name that is defined later means that, also where it was asked before.
    assert.is_false(pcall(store.get, store, "s", "SpecLater"))
    kv.struct "SpecLater" { b = kv.int:optional() }
    store:set("l", {}, "SpecLater")
    assert.same({}, store:get("l", "SpecLater"))
    other:close()
    store:close()
  end)

  it("are types or expressions under a name", function()
    local function fails(types, message)
      local ok, problem = pcall(open, types)
      assert.is_false(ok)
      assert.equal(message, tostring(problem))
    end
    fails({ Int = kv.string }, "types: Int is no name for a type")
    fails({ ["a b"] = kv.string }, "types: a b is no name for a type")
    fails({ A = 1 }, "types.A: expected a type or its name, found number")
    fails(7, "types: expected a table, found number")
    local store = open { Loop = "[Loop]" }
    local problem = support.failure(store.get, store, "x", "Loop")
    assert.equal("invalid_type", problem.code)
    store:close()
  end)
end)
