local kv = require "kvcodable"
local support = require "lua.spec.support"

-- What pump raises for nil; from 5.5 on Lua itself raises no nil.
local nothing = select(2, pcall(error)) or "a watch's function raised nil"

describe("watches", function()
  local folder, path, store
  support.in_folder(before_each, after_each, function(...)
    folder, path = ...
    store = assert(kv.open_file(path))
    return store
  end)

  it("tell what changed, once, when pumped", function()
    local told = {}
    local watch = store:watch("volume", function(key, new, old)
      told[#told + 1] = { key, new, old }
    end)
    assert.equal(0, kv.pump())
    store:set("volume", 1)
    store:set("volume", 2)
    store:set("other", 1)
    assert.same({}, told)
    assert.equal(1, kv.pump())
    assert.same({ { "volume", 2, nil } }, told)
    store:remove "volume"
    kv.pump()
    assert.same({ "volume", nil, 2 }, told[2])
    watch:cancel()
    store:set("volume", 3)
    assert.equal(0, kv.pump())
  end)

  it("look at a subtree, or at everything", function()
    local places = {}
    store:set({ "ui", "window", "width" }, 0)
    store:watch({ "ui" }, function(place) places[#places + 1] = place end,
      { subtree = true })
    store:set({ "ui", "window", "width" }, 1)
    kv.pump()
    assert.same({ { "ui", "window", "width" } }, places)
    local keys = {}
    store:watch({}, function(key) keys[#keys + 1] = key end)
    store:set("a", 1)
    store:set("b", 1)
    kv.pump()
    table.sort(keys)
    assert.same({ "a", "b" }, keys)
  end)

  it("tell each place below that differs, however deep", function()
    local told = {}
    local function note(place, new, old)
      if type(place) == "table" then place = table.concat(place, ".") end
      told[#told + 1] = { place, new, old }
    end
    store:set({ "ui", "a" }, {
      same = { 1, { x = 1, y = "y" } }, list = { 1, 2 }, gone = { a = 1 },
      kind = { b = 1 }, text = "abc", deep = { er = { n = 1, m = 1 } },
      none = kv.dictionary {}, real = 1,
    })
    store:watch("ui", note, { subtree = true })
    store:watch({ "ui", "a" }, note, { subtree = true })
    store:at { "ui", "a" }:watch({}, note)
    store:set({ "ui", "a" }, {
      same = { 1, { y = "y", x = 1 } }, list = { 1, 3 },
      kind = { 1 }, text = "abd", deep = { er = { n = 2, m = 1, o = 1 } },
      none = { new = 1 }, real = kv.real(1), fresh = { a = { b = 1 } },
    })
    assert.equal(3 * 9, kv.pump())
    local expected = {}
    for _, root in ipairs { "", "ui.a.", "ui.a." } do
      for _, change in ipairs {
        { "deep.er.n", 2, 1 }, { "deep.er.o", 1, nil },
        { "fresh", { a = { b = 1 } }, nil }, { "gone", nil, { a = 1 } },
        { "kind", { 1 }, { b = 1 } }, { "list", { 1, 3 }, { 1, 2 } },
        { "none.new", 1, nil }, { "real", 1.0, 1 }, { "text", "abd", "abc" },
      } do
        expected[#expected + 1] = { root .. change[1], change[2], change[3] }
      end
    end
    local function by_place(one, other) return one[1] < other[1] end
    table.sort(told, by_place)
    table.sort(expected, by_place)
    assert.same(expected, told)
  end)

  it("tell of their own place where it is, or was, no dictionary", function()
    local told = {}
    local function noting(name)
      return function(...) told[name] = { ... } end
    end
    store:watch("ui", noting "key", { subtree = true })
    store:watch({ "list", 1 }, noting "index", { subtree = true })
    store:set("ui", { a = 1 })
    assert.equal(1, kv.pump())
    assert.same({ key = { "ui", { a = 1 } } }, told)
    store:at "ui":watch({}, noting "part")
    store:remove "ui"
    store:set("list", { { a = 1 } })
    assert.equal(3, kv.pump())
    assert.same({
      key = { "ui", nil, { a = 1 } }, part = { {}, nil, { a = 1 } },
      index = { { "list", 1 }, { a = 1 } },
    }, told)
  end)

  it("keep their path, whatever becomes of the script's table", function()
    local place
    local steps = { "a", "b" }
    store:watch(steps, function(found)
      place = table.concat(found, ".")
      found[1] = "x"
    end)
    steps[1], steps[3] = "c", "d"
    for i = 1, 2 do
      store:set({ "a", "b" }, i)
      assert.equal(1, kv.pump())
      assert.equal("a.b", place)
    end
  end)

  it("see what another process wrote, and wake a descriptor", function()
    local told = 0
    store:watch("n", function(_, new) told = new end)
    assert.is_number(kv.fd())
    store:set("mine", 1)
    store:sync()
    local script = folder .. "/other.lua"
    support.write(script, ([[
      local kv = require "kvcodable"
      local store = assert(kv.open_file(%q))
      store:set("n", 5)
      store:close()
    ]]):format(path))
    assert(support.run(script))
    kv.pump()
    assert.equal(5, told)
    assert.equal(1, store:get "mine")
  end)

  it("go on after an error in a function, which pump raises", function()
    local told = false
    store:watch("a", function() error("mine", 0) end)
    store:watch("b", function() told = true end)
    store:set("a", 1)
    store:set("b", 1)
    assert.equal("mine", support.failure(kv.pump))
    assert.is_true(told)
    assert.equal(0, kv.pump())
  end)

  it("go on after an error without a value, too", function()
    store:watch("a", function() error(nil) end)
    store:set("a", 1)
    assert.equal(nothing, support.failure(kv.pump))
    assert.equal(0, kv.pump())
  end)

  it("go on after many errors without a value", function()
    local calls = 0
    store:watch({}, function()
      calls = calls + 1
      error(nil)
    end)
    for i = 1, 1000 do store:set("key" .. i, i) end
    assert.equal(nothing, support.failure(kv.pump, 1, 2))
    assert.equal(1000, calls)
  end)

  it("may close, set, cancel and pump inside their functions", function()
    local calls = 0
    local watch
    watch = store:watch("a", function(_, new)
      calls = calls + 1
      if new < 3 then
        store:set("a", new + 1)
        kv.pump()
      else
        watch:cancel()
        store:close()
      end
    end)
    store:set("a", 1)
    kv.pump()
    assert.equal(3, calls)
    assert.equal(0, kv.pump())
  end)

  it("want a function", function()
    for _, call in ipairs { { "watch", "a" }, { "events" } } do
      local why = support.failure(store[call[1]], store, call[2], 5)
      assert.matches("function expected", why, 1, true)
    end
    assert.equal(0, kv.pump())
  end)

  it("refuse to yield, with an error", function()
    store:watch("a", function() coroutine.yield() end)
    store:set("a", 1)
    local ok, problem = coroutine.resume(coroutine.create(function()
      kv.pump()
    end))
    assert.is_false(ok)
    assert.matches("yield", tostring(problem), 1, true)
  end)
end)

describe("whole stores", function()
  local folder, path
  support.in_folder(before_each, after_each, function(...)
    folder, path = ...
  end)

  it("show their layers", function()
    kv.write(folder .. "/managed.plist", { locked = true })
    local store = assert(kv.open_file(path, {
      defaults = { a = 1 }, arguments = { b = 2 },
      managed_file = folder .. "/managed.plist",
    }))
    store:set("c", 3)
    assert.same({ a = 1, b = 2, c = 3, locked = true }, store:get {})
    assert.same({ a = 1 }, store:layer "registered")
    assert.same({ b = 2 }, store:layer "arguments")
    assert.same({ c = 3 }, store:layer "application")
    assert.same({ locked = true }, store:layer "managed")
    assert.is_true(store:is_forced "locked")
    assert.is_false(store:is_forced "a")
    assert.equal("forced",
      support.failure(store.set, store, "locked", false).code)
    assert.has_error(function() store:layer "none" end)
    assert.matches("suites count from 1",
      support.failure(store.layer, store, "suite", 0), 1, true)
    assert.matches("expected a key",
      support.failure(store.is_forced, store, {}), 1, true)
    store:close()
  end)

  it("convert only in the getters that say so", function()
    local store = assert(kv.open_file(path))
    store:set("yes", "YES")
    store:set("text", "42")
    store:set("number", 123)
    assert.is_true(store:bool_for_key "yes")
    assert.is_false(store:bool_for_key "none")
    assert.equal(42, store:integer_for_key "text")
    assert.equal(42.0, store:double_for_key "text")
    assert.equal("123", store:string_for_key "number")
    assert.equal(1, select("#", store:string_for_key "none")) -- nil, not none
    assert.is_nil(store:string_for_key "none")
    assert.has_error(function() store:get("text", kv.int) end)
    store:close()
  end)

  it("are exported, imported and copied into another engine", function()
    local store = assert(kv.open_file(path))
    store:set("a", { 1, "two" })
    assert.same({ a = { 1, "two" } },
      kv.decode(store:export { format = "binary" }))
    store:import '{"b": 2}'
    assert.same({ a = { 1, "two" }, b = 2 }, store:get {})
    local database = assert(kv.open_file(folder .. "/settings.sqlite"))
    store:copy_to(database)
    assert.same({ a = { 1, "two" }, b = 2 }, database:get {})
    database:close()
    store:close()
  end)

  it("compare and set", function()
    local store = assert(kv.open_file(path))
    store:set("a", 1)
    local generation = store:generation()
    assert.is_true(store:compare_and_set("a", 2, generation))
    assert.is_false(store:compare_and_set("a", 3, generation))
    assert.equal(2, store:get "a")
    store:close()
  end)
end)
