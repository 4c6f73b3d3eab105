local kv = require "kvcodable"
local support = require "lua.spec.support"

describe("values", function()
  local store
  support.in_folder(before_each, after_each, function(_, path)
    store = assert(kv.open_file(path, {
      defaults = { volume = 7, ui = { width = 640, theme = "dark" },
        list = { 1, 2, 3 } },
    }))
    return store
  end)

  --- Calls the function with the store, with a part of it, and with a
  -- transaction, each with a path of what it sees.
  local function on_each_handle(call)
    call(store, function(...) return { ... } end)
    store:set("part", kv.dictionary {})
    call(store:at "part", function(...) return { ... } end)
    store:transaction(function(tx)
      call(tx, function(...) return { "tx", ... } end)
    end)
  end

  it("are there, or not", function()
    on_each_handle(function(handle, path)
      assert.is_false(handle:has(path "none"))
      handle:set(path("some", "thing"), false)
      assert.is_true(handle:has(path("some", "thing")))
      assert.is_true(handle:has(path "some"))
      assert.is_false(handle:has(path("some", "thing", "more")))
    end)
    assert.is_true(store:has "volume") -- a default
    assert.is_true(store:has { "list", 3 })
    assert.is_false(store:has { "list", 4 })
  end)

  it("are moved, with all that is in them", function()
    on_each_handle(function(handle, path)
      handle:set(path "old", { a = { 1, 2 } })
      assert.is_true(handle:rename(path "old", path("new", "place")))
      assert.is_false(handle:has(path "old"))
      assert.same({ a = { 1, 2 } }, handle:get(path("new", "place")))
      assert.is_false(handle:rename(path "old", path "other"))
      assert.is_false(handle:has(path "other"))
    end)
  end)

  it("are not moved over others", function()
    store:set("a", 1)
    store:set("b", { c = 2 })
    local problem = support.failure(store.rename, store, "a", { "b", "c" })
    assert.equal("conflict", problem.code)
    assert.same({ "b", "c" }, problem.path)
    assert.matches("^Expected nothing at b.c, found Int",
      tostring(problem))
    assert.equal(1, store:get "a")
    assert.equal(2, store:get { "b", "c" })
    -- A transaction goes on after that.
    store:transaction(function(tx)
      assert.is_false(pcall(tx.rename, tx, "a", { "b", "c" }))
      tx:set("after", true)
    end)
    assert.is_true(store:get "after")
    -- A default is none that is moved, and none that is in the way.
    assert.is_false(store:rename("volume", "loudness"))
    assert.is_true(store:rename("a", "volume"))
    assert.equal(1, store:get "volume")
    assert.equal("path_mismatch",
      support.failure(store.rename, store, {}, "x").code)
  end)

  it("go back to their defaults", function()
    assert.is_false(store:reset "volume")
    store:set("volume", 1)
    assert.is_true(store:reset "volume")
    assert.equal(7, store:get "volume")
    store:set("mine", 1)
    assert.is_true(store:reset "mine")
    assert.is_nil(store:get "mine")
    store:set({ "list", 2 }, 5)
    assert.is_true(store:reset { "list", 2 })
    assert.same({ 1, 2, 3 }, store:get "list")
    assert.same({}, store:layer "application")
  end)

  it("go back in part, and leave no copy of the default", function()
    store:set({ "ui", "width" }, 800)
    store:set({ "ui", "theme" }, "light")
    store:set({ "ui", "more" }, true)
    assert.is_true(store:reset { "ui", "width" })
    assert.same({ width = 640, theme = "light", more = true }, store:get "ui")
    assert.is_false(store:reset { "ui", "width" })
    local ui = store:at "ui"
    assert.is_true(ui:reset "more")
    assert.is_false(ui:reset "none")
    store:transaction(function(tx) assert.is_true(tx:at "ui":reset "theme") end)
    assert.same({ width = 640, theme = "dark" }, store:get "ui")
    assert.same({}, store:layer "application")
    store:remove { "ui", "width" }
    assert.is_true(store:reset { "ui", "width" })
    assert.equal(640, ui:get "width")
    ui:set("width", 1)
    assert.is_true(ui:reset {})
    assert.equal(640, ui:get "width")
  end)

  it("are removed by an update that gives kv.absent", function()
    on_each_handle(function(handle, path)
      handle:set(path "n", 1)
      handle:update(path "n", function(n)
        assert.equal(1, n)
        return kv.absent
      end)
      assert.is_false(handle:has(path "n"))
      handle:update(path "n", kv.int, function(n)
        assert.is_nil(n)
        return kv.absent
      end)
      assert.is_false(handle:has(path "n"))
    end)
    assert.equal("absent", tostring(kv.absent))
    local problem = support.failure(store.set, store, "a", { kv.absent })
    assert.equal("Expected a property-list value at a[1], found kv.absent",
      tostring(problem))
  end)

  it("that are closed or read-only stay as they are", function()
    store:set("a", 1)
    store:sync()
    local reader = assert(kv.open_file(store:file(), { read_only = true }))
    for _, call in ipairs { { "reset", "a" }, { "rename", "a", "b" } } do
      assert.equal("read_only",
        support.failure(reader[call[1]], reader, call[2], call[3]).code)
    end
    assert.is_true(reader:has "a")
    reader:close()
    for _, name in ipairs { "has", "reset", "rename" } do
      assert.equal("closed",
        support.failure(reader[name], reader, "a", "b").code)
    end
  end)
end)

describe("handles on arrays", function()
  local store
  support.in_memory(before_each, after_each, function(opened)
    store = opened
    store:set("list", { "a", { b = 1 }, false })
    store:set("window", { width = 1, height = 2 })
  end)

  it("have a length", function()
    assert.equal(3, #store:at "list")
    assert.equal(2, #store:at "window")
    assert.equal(0, #store:at "none")
    assert.equal(0, #store:at { "list", 1 })
    assert.equal(2, #store)
    store:transaction(function(tx)
      local list = tx:at "list"
      list:set({ 4 }, "d")
      assert.equal(4, #list)
    end)
  end)

  it("are gone over by index", function()
    local list = store:at "list"
    for _, go in ipairs { list.pairs, list.ipairs } do
      local found = {}
      for i, value in go(list) do found[#found + 1] = { i, value } end
      assert.same({ { 1, "a" }, { 2, { b = 1 } }, { 3, false } }, found)
    end
    local count = 0
    for _ in store:at "window":ipairs() do count = count + 1 end
    for _ in store:at "none":pairs() do count = count + 1 end
    assert.equal(0, count)
    local keys = {}
    for key, value in store:at "window":pairs() do keys[key] = value end
    assert.same({ width = 1, height = 2 }, keys)
  end)

  if _VERSION ~= "Lua 5.1" then
    it("are gone over by pairs and ipairs themselves", function()
      for _, go in ipairs { pairs, ipairs } do
        local found = {}
        for i, value in go(store:at "list") do found[i] = value end
        assert.same({ "a", { b = 1 }, false }, found)
      end
      store:transaction(function(tx)
        local last
        for i in ipairs(tx:at "list") do last = i end
        assert.equal(3, last)
      end)
    end)
  end

  it("have elements, and methods as other parts", function()
    local list = store:at "list"
    assert.equal("a", list[1])
    assert.is_nil(list[4])
    assert.is_nil(list[0])
    assert.is_nil(list[1.5])
    assert.is_nil(store:at "window"[1])
    assert.matches("did you mean 'get'",
      support.failure(function() return list.gte end), 1, true)
    assert.has_error(function() list[1] = "b" end)
    store:close()
    assert.equal("closed", support.failure(function() return list[1] end).code)
    assert.equal("closed", support.failure(function() return #list end).code)
  end)
end)
