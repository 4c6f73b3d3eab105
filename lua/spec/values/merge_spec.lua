-- kv.merge, and sets of what get gave.
local kv = require "kvcodable"

describe("kv.merge", function()
  it("keeps what both sides changed", function()
    local merged, conflicts = kv.merge(
      { volume = 5, recent = { "a" } },
      { volume = 7, recent = { "a" } },
      { volume = 5, recent = { "a", "b" } })
    assert.same({ volume = 7, recent = { "a", "b" } }, merged)
    assert.same({}, conflicts)
  end)

  it("gives conflicts with paths from 1", function()
    local merged, conflicts = kv.merge(
      { list = { "a" }, gone = 1 }, { list = { "b" } },
      { list = { "c" }, gone = 2 })
    assert.same({ list = { "b" }, gone = 2 }, merged)
    assert.equal(2, #conflicts)
    assert.same({ "gone" }, conflicts[1].path)
    assert.equal("theirs", conflicts[1].kept)
    assert.equal(2, conflicts[1].theirs)
    assert.is_nil(conflicts[1].ours)
    assert.same({ "list", 1 }, conflicts[2].path)
    assert.equal("ours", conflicts[2].kept)
  end)

  it("takes nil for no value", function()
    assert.is_nil((kv.merge(1, nil, 1)))
    assert.equal(2, (kv.merge(nil, nil, 2)))
    assert.same({ a = 1, b = 2 }, (kv.merge(nil, { a = 1 }, { b = 2 })))
  end)

  it("takes an empty table for an empty list where lists are", function()
    assert.same({ 2 }, (kv.merge({ 1 }, {}, { 1, 2 })))
  end)

  it("refuses what no file can hold", function()
    assert.has_error(function() kv.merge({}, { f = print }, {}) end)
  end)
end)

describe("a set of what get gave", function()
  local store
  local schema = kv.struct "MergeSettings" {
    window = kv.struct "MergeWindow" {
      width = kv.int:default(640), title = kv.string:optional(),
    }:default {},
    list = kv.array_of(kv.string):default {},
  }

  before_each(function()
    store = assert(kv.open("scratch", { engine = "memory", schema = schema }))
    store:set("window", {})
  end)

  after_each(function() store:close() end)

  --- What the store has of its own, without the schema's defaults.
  local function stored(key) return store:layer "application"[key] end

  it("stores what the script changed", function()
    local window = store:get "window"
    assert.equal(640, window.width)
    window.title = "x"
    store:set("window", window)
    assert.same({ title = "x" }, stored "window")
  end)

  it("leaves what others changed meanwhile", function()
    local window = store:get "window"
    store:set({ "window", "width" }, 800)
    store:set("list", { "b" })
    local list = store:get "list"
    store:set("list", { "a", "b", "c" })
    window.title = "x"
    store:set("window", window)
    table.insert(list, "z")
    store:set("list", list)
    assert.same({ title = "x", width = 800 }, stored "window")
    assert.same({ "a", "b", "c", "z" }, store:get "list")
  end)

  it("goes on from what was set last", function()
    local window = store:get "window"
    window.width = 700
    store:set("window", window)
    store:set({ "window", "width" }, 900)
    window.title = "x"
    store:set("window", window)
    assert.equal(900, store:get { "window", "width" })
  end)

  it("is for the same place: elsewhere all of the table is stored", function()
    local plain = assert(kv.open("scratch", { engine = "memory" }))
    plain:set("a", { x = 1, y = 2 })
    local a = plain:get "a"
    a.x = 3
    plain:set("b", a)
    assert.same({ x = 3, y = 2 }, plain:get "b")
    plain:close()
  end)

  it("stores each field of another table, and resets the others", function()
    store:set("window", { width = 640, title = "x" })
    assert.same({ width = 640, title = "x" }, stored "window")
    store:set("window", { width = 640 })
    assert.same({ width = 640 }, stored "window")
  end)

  it("stores what an update changed", function()
    store:update("window", function(w) w.title = "x" end)
    assert.same({ title = "x" }, stored "window")
    store:update("window", function(w) w.title = nil end)
    assert.same({}, stored "window")
  end)

end)
