local kv = require "kvcodable"
local support = require "lua.spec.support"

-- What pump raises for nil; from 5.5 on Lua itself raises no nil.
local nothing = ": " .. (select(2, pcall(error)) or "nil")

describe("watches", function()
  local folder, path, store
  support.in_folder(before_each, after_each, function(...)
    folder, path = ...
    store = assert(kv.open_file(path))
    return store
  end)

  -- proves: G62, G63
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
      told[#told + 1] = { table.concat(place, "."), new, old }
    end
    store:set({ "ui", "a" }, {
      same = { 1, { x = 1, y = "y" } }, list = { 1, 2 }, gone = { a = 1 },
      kind = { b = 1 }, text = "abc", deep = { er = { n = 1, m = 1 } },
      none = kv.dictionary {}, real = 1,
    })
    store:watch("ui", note, { subtree = true })
    store:watch({ "ui", "a" }, note, { subtree = true })
    store:at { "ui", "a" }:watch({}, note, { subtree = true })
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
    assert.same({ key = { { "ui" }, { a = 1 } } }, told)
    store:at "ui":watch({}, noting "part")
    store:remove "ui"
    store:set("list", { { a = 1 } })
    assert.equal(3, kv.pump())
    assert.same({
      key = { { "ui" }, nil, { a = 1 } }, part = { {}, nil, { a = 1 } },
      index = { { "list", 1 }, { a = 1 } },
    }, told)
  end)

  it("tell a place as a table, however near it is", function()
    local places = {}
    store:set("ui", { width = 1 })
    for _, part in ipairs { store, store:at "ui" } do
      for _, watched in ipairs { {}, "ui", "width", { "width" } } do
        part:watch(watched, function(place)
          places[#places + 1] = #place .. ":" .. table.concat(place, ".")
        end, { subtree = true })
      end
    end
    store:set({ "ui", "width" }, 2)
    store:set("width", { a = 1 })
    kv.pump()
    table.sort(places)
    assert.same({ "1:width", "1:width", "1:width", "1:width", "1:width",
      "1:width", "2:ui.width", "2:ui.width" }, places)
  end)

  it("look at everything key by key, or place by place", function()
    local keys, places = {}, {}
    store:set("ui", { window = { width = 1, height = 2 }, title = "t" })
    store:watch({}, function(key, new, old)
      keys[#keys + 1] = { key, new, old }
    end)
    store:watch({}, function(...) places[#places + 1] = { ... } end,
      { subtree = true })
    store:set({ "ui", "window", "width" }, 3)
    store:remove { "ui", "title" }
    store:set("new", { a = 1 })
    assert.equal(2 + 3, kv.pump())
    local function by_name(one, other)
      return table.concat { one[1], "" } < table.concat { other[1], "" }
    end
    table.sort(keys, by_name)
    assert.same({
      { "new", { a = 1 } }, { "ui", { window = { width = 3, height = 2 } },
        { window = { width = 1, height = 2 }, title = "t" } },
    }, keys)
    for _, place in ipairs(places) do place[1] = table.concat(place[1], ".") end
    table.sort(places, by_name)
    assert.same({ { "new", { a = 1 } }, { "ui.title", nil, "t" },
      { "ui.window.width", 3, 1 } }, places)
    assert.equal(0, kv.pump())
  end)

  it("tell each key of many, and each place of many watches", function()
    local places = {}
    local function note(place)
      place = type(place) == "table" and table.concat(place, ".") or place
      places[place] = (places[place] or 0) + 1
    end
    for _ = 1, 2 do
      store:watch({}, note)
      store:watch("deep", note, { subtree = true })
    end
    local all = { deep = {} }
    store:set("deep", all.deep)
    kv.pump()
    for i = 1, 70000 do all["k" .. i], all.deep["d" .. i] = i, i end
    places = {}
    store:set({}, all)
    assert.equal(2 * 70001 + 2 * 70000, kv.pump())
    assert.equal(2, places.k1)
    assert.equal(2, places.k70000)
    assert.equal(2, places["deep.d70000"])
    assert.equal(2, places.deep)
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

  -- proves: G63
  it("go on after an error in a function, which pump raises", function()
    local told = false
    store:watch("a", function() error("mine", 0) end)
    store:watch("b", function() told = true end)
    store:set("a", 1)
    store:set("b", 1)
    local problem = support.failure(kv.pump)
    assert.equal("A watch's function failed at a: mine", tostring(problem))
    assert.equal("misuse", problem.code)
    assert.same({ "a" }, problem.path)
    assert.is_true(told)
    assert.equal(0, kv.pump())
  end)

  it("are named by the error of their function", function()
    local count = 0
    local function text_of(watched, options, call)
      local watch = store:at "part":watch(watched, call, options)
      count = count + 1
      store:set({ "part", "list" }, { count })
      local problem = support.failure(kv.pump)
      watch:cancel()
      return tostring(problem), problem
    end
    assert.matches(
      "^A watch's function failed at list%[1%]: .*spec.lua:%d+: x$",
      (text_of({ "list", 1 }, nil, function() error "x" end)))
    assert.matches("^A watch's function failed at list: .*: attempt to ",
      (text_of("list", { subtree = true }, function(place)
        return place .. ""
      end)))
    assert.equal("The function of a watch of everything failed: x",
      (text_of({}, nil, function() error("x", 0) end)))
    -- An error of the module keeps what it says; a script's own is its own.
    local kept
    local text, problem = text_of("list", nil, function()
      kept = support.failure(store.get, store, { "part", "list" }, "Int")
      error(kept)
    end)
    assert.equal("A watch's function failed at list: "
      .. "Expected Int at part.list, found Array", text)
    assert.equal("type_mismatch", problem.code)
    assert.same({ "part", "list" }, problem.path)
    assert.equal("Expected Int at part.list, found Array", tostring(kept))
    local own = {}
    assert.equal(own,
      select(2, text_of("list", nil, function() error(own) end)))
  end)

  it("go on after an error without a value, too", function()
    store:watch("a", function() error(nil) end)
    store:set("a", 1)
    assert.equal("A watch's function failed at a" .. nothing,
      tostring(support.failure(kv.pump)))
    assert.equal(0, kv.pump())
  end)

  it("go on after many errors without a value", function()
    local calls = 0
    store:watch({}, function()
      calls = calls + 1
      error(nil)
    end)
    for i = 1, 1000 do store:set("key" .. i, i) end
    assert.equal("The function of a watch of everything failed" .. nothing,
      tostring(support.failure(kv.pump, 1, 2)))
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

  it("tell a pump inside of a function the rest, and what is new", function()
    local order, inside = {}, 0
    store:watch({}, function(key, new)
      order[#order + 1] = key .. "=" .. new
      if #order > 1 then return end
      store:set("c", 9)
      inside = kv.pump()
    end)
    store:set("a", 1)
    store:set("b", 2)
    store:set("c", 3)
    assert.equal(1, kv.pump())
    assert.equal(3, inside)
    assert.same({ "a=1", "b=2", "c=3", "c=9" }, order)
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
    assert.same({ layer = "managed", file = folder .. "/managed.plist" },
      store:origin "locked")
    assert.same({ layer = "registered" }, store:origin "a")
    assert.same({ layer = "arguments" }, store:origin "b")
    assert.same({ layer = "application", file = store:file() },
      store:origin "c")
    store:set("part", { x = { 1 } })
    assert.equal("application", store:at "part":origin { "x", 1 }.layer)
    for _, absent in ipairs { {}, "none", { "c", "inner" }, { 1 } } do
      assert.is_nil(store:origin(absent))
    end
    assert.has_error(function() store:layer "none" end)
    assert.matches("suites count from 1",
      support.failure(store.layer, store, "suite", 0), 1, true)
    assert.matches("expected a key",
      support.failure(store.is_forced, store, {}), 1, true)
    store:close()
  end)

  -- proves: G48
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
