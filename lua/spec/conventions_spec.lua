local kv = require "kvcodable"
local support = require "lua.spec.support"
local failure = support.failure

local function memory(options)
  options = options or {}
  options.engine = "memory"
  return assert(kv.open_file("x", options))
end

describe("the module", function()
  it("says its version", function()
    assert.matches("^kvcodable %d+%.%d+%.%d+", kv._VERSION)
  end)

  it("is the same table however it is loaded", function()
    package.loaded.kvcodable = nil
    assert.equal(kv, require "kvcodable")
  end)

  it("sets no globals", function()
    local before = {}
    for name in pairs(_G) do before[name] = true end
    package.loaded.kvcodable = nil
    require "kvcodable"
    for name in pairs(_G) do assert.is_true(before[name]) end
  end)
end)

describe("conventions", function()
  it("name every kind of userdata, and hide its metatable", function()
    local store = memory()
    local watch = store:watch("a", print)
    for name, value in pairs {
      ["kvcodable.store"] = store, ["kvcodable.watch"] = watch,
      ["kvcodable.date"] = kv.date(0), ["kvcodable.data"] = kv.data "",
      ["kvcodable.uint64"] = kv.uint64(1), ["kvcodable.uid"] = kv.uid(1),
      ["kvcodable.null"] = kv.null,
    } do
      assert.equal(name, debug.getmetatable(value).__name)
      assert.is_false(getmetatable(value))
      assert.is_string(tostring(value))
    end
    watch:cancel()
    store:close()
  end)

  it("show stores, transactions, watches, values and errors", function()
    local store = memory()
    local watch = store:watch("a", print)
    assert.matches("^kvcodable store %(open%)", tostring(store))
    assert.matches("^kvcodable watch %(open%)", tostring(watch))
    store:transaction(function(tx)
      assert.matches("^kvcodable transaction %(open%)", tostring(tx))
    end)
    store:close()
    assert.matches("^kvcodable store %(closed%)", tostring(store))
    assert.matches("^kvcodable watch %(cancelled%)", tostring(watch))
    assert.equal("1970-01-01T00:00:00Z", tostring(kv.date(0)))
    assert.equal("1969-12-31T23:59:59.5Z", tostring(kv.date(-0.5)))
    assert.equal("data (2 bytes)", tostring(kv.data "ab"))
    assert.equal("uid 3", tostring(kv.uid(3)))
    assert.equal("null", tostring(kv.null))
    local _, problem = kv.decode "<plist>"
    assert.equal(problem.message, tostring(problem))
  end)

  it("close stores after what is done with them", function()
    local outer = memory()
    local function results(...) return select("#", ...), ... end
    local count, one, two = results(outer:with(function(store, ...)
      assert.equal(outer, store)
      assert.equal(0, select("#", ...))
      local watch = store:watch("a", error)
      assert.matches("open", tostring(watch))
      store:set("a", 1)
      return store:get "a", nil
    end, "more", "still more"))
    assert.same({ 2, 1 }, { count, one, two })
    assert.equal("closed", failure(outer.get, outer, "a").code)
    assert.equal("closed", failure(outer.with, outer, print).code)
    assert.equal(0, kv.pump())
    local store = memory()
    assert.equal("mine", failure(store.with, store, function()
      error("mine", 0)
    end))
    assert.matches("(closed)", tostring(store), 1, true)
    store = memory()
    assert.matches("function expected", failure(store.with, store, 1), 1, true)
    store:with(function(same) same:close() end)
  end)

  it("say after what is done with a store that it was not written", function()
    local folder, remove = support.folder()
    local function leave(problem)
      local store
      local raised = failure(function()
        store = assert(kv.open_file(folder .. "/a/b.plist"))
        store:with(function()
          -- In this order: nothing may be written meanwhile.
          os.execute("rm -rf " .. folder)
          store:set("a", 1)
          if problem then error(problem, 0) end
        end)
      end)
      assert.matches("(closed)", tostring(store), 1, true)
      assert(support.execute("mkdir -m 700 " .. folder .. " " .. folder
        .. "/a"))
      assert.is_true(store:close())
      return raised
    end
    assert(support.execute("mkdir -m 700 " .. folder .. "/a"))
    assert.equal("io", leave().code)
    assert.equal("mine", leave "mine")
    remove()
  end)

  it("count and walk a store, and a part of it", function()
    local store = memory()
    store:set("b", 2)
    store:set("a", { x = 1, y = 2, z = 3 })
    assert.equal(2, #store)
    local keys = {}
    for key, value in store:pairs() do keys[#keys + 1] = { key, value } end
    assert.same({ { "a", { x = 1, y = 2, z = 3 } }, { "b", 2 } }, keys)
    assert.equal(3, #store:at "a")
    assert.same({ "x", "y", "z" }, store:at "a":keys())
    store:close()
  end)
end)

describe("errors", function()
  -- proves: G91
  it("are objects with a message, a code and a path", function()
    local store = memory()
    local problem = failure(store.set, store, "a", { b = { 1, print } })
    assert.equal("invalid_value", problem.code)
    assert.same({ "a", "b", 2 }, problem.path)
    assert.equal("Expected a property-list value at a.b[2], found function",
      problem.message)
    assert.is_nil(problem.line)
    store:close()
  end)

  -- proves: G42
  it("have a line and a column for text, and an offset for bytes", function()
    local _, problem = kv.decode '{"a": 1,\n "b": x}'
    assert.equal("malformed", problem.code)
    assert.same({ 2, 7 }, { problem.line, problem.column })
    local bytes = kv.encode({ 1 }, nil, { format = "binary" })
    local _, other = kv.decode(bytes:sub(1, -5))
    assert.equal("malformed", other.code)
    assert.is_number(other.offset)
  end)

  it("have a code of the header's, which the reference explains", function()
    local names, explained = {}, {}
    for name in support.contents "include/kvcodable.h":gmatch
      "\n  KV_([A-Z_]+) = %-%d+" do
      names[#names + 1] = name:lower()
    end
    for row in support.contents "lua/README.md":gmatch "\n| (`[^|]*)|" do
      for name in row:gmatch "`([%l_]+)`" do
        if name ~= "absent" then explained[#explained + 1] = name end
      end
    end
    table.sort(names)
    table.sort(explained)
    assert.is_true(#names > 20)
    assert.same(names, explained)
  end)

  -- proves: G91
  it("are returned where io.open returns them", function()
    local function returned(value, problem)
      assert.is_nil(value)
      assert.is_string(problem.code)
      return problem.code
    end
    assert.equal("invalid_name", returned(kv.open "a/../b"))
    returned(kv.open_file "/nowhere/at/all.plist")
    assert.equal("absent", returned(kv.read "/nowhere/at/all.plist"))
    returned(kv.write("/nowhere/at/all.plist", 1))
    assert.equal("malformed", returned(kv.decode "<plist"))
    assert.equal("invalid_value", returned(kv.encode(print)))
    assert.equal("type_mismatch", returned(kv.decode("[1]", "String")))
  end)

  -- proves: G91
  it("are raised by get, set, update, remove and transaction", function()
    local store = memory()
    store:set("a", 1)
    assert.equal("type_mismatch", failure(store.get, store, "a", "Bool").code)
    assert.equal("type_mismatch",
      failure(store.set, store, "a", true, "Int").code)
    assert.equal("path_mismatch",
      failure(store.set, store, { "a", "b" }, 1).code)
    assert.equal("type_mismatch", failure(store.update, store, "a", "[Int]",
      function() end).code)
    store:close()
  end)

  it("of arguments are raised", function()
    local store = memory()
    assert.matches("use remove", failure(store.set, store, "a", nil), 1, true)
    assert.matches("string or table", failure(store.get, store), 1, true)
    assert.matches("index from 1", failure(store.get, store, { 0 }), 1, true)
    assert.matches("index from 1", failure(store.get, store, { true }), 1, true)
    local long = {}
    for i = 1, 512 do long[i] = "a" end
    assert.is_nil(store:get(long))
    long[513] = "a"
    assert.matches("at most 512 steps", failure(store.get, store, long), 1,
      true)
    assert.matches("table expected", failure(store.register, store, 5), 1, true)
    assert.matches("number expected",
      failure(store.compare_and_set, store, "a"), 1, true)
    assert.matches("function expected",
      failure(store.transaction, store, 5), 1, true)
    assert.matches("bad option 'durability': never, expected "
      .. '"coalesced", "immediate" or "manual"',
      failure(kv.open_file, "x", { durability = "never" }), 1, true)
    for name, found in pairs { timeout = "5", suites = "a",
      managed_file = 5 } do
      assert.matches("bad option '" .. name .. "': expected %w+, found "
        .. type(found), failure(kv.open_file, "x", { [name] = found }))
    end
    assert.matches("bad option 'suites': expected names, found table",
      failure(kv.open_file, "x", { suites = { "a", {} } }), 1, true)
    assert.matches("bad option 'format': yaml, expected",
      failure(kv.encode, 1, nil, { format = "yaml" }), 1, true)
    for name, call in pairs {
      durabilty = function(options) return kv.open_file("x", options) end,
      replce = function(options) store:set("a", 1, "Int", options) end,
      formt = function(options) return kv.encode(1, nil, options) end,
      dept = function(options) return kv.decode("1", nil, options) end,
      subtre = function(options) store:watch("a", print, options) end,
      kep = function(options)
        store:migrate_archive("a", "Int", options)
      end,
      form = function(options) return store:export(options) end,
      [1] = function(options)
        store:update("a", function() error "never" end, options)
      end,
    } do
      assert.matches("bad option '" .. name .. "', expected \"",
        failure(call, { [name] = true }), 1, true)
    end
    assert.matches("bad option '", failure(store.update, store, "a",
      function() end, kv.int), 1, true) -- the type stands before the function
    assert.matches("whole store", failure(function()
      store:at "a":export()
    end), 1, true)
    store:close()
  end)
end)

describe("opening", function()
  it("takes every option", function()
    local folder, remove = support.folder()
    kv.write(folder .. "/managed.plist", { locked = true })
    local store = assert(kv.open_file(folder .. "/a.plist", {
      defaults = { volume = 7 }, format = "binary", durability = "manual",
      engine = "file", read_only = false, timeout = 2, arguments = { b = 1 },
      suites = {}, managed_file = folder .. "/managed.plist",
      global_domain = false, context = { scale = 10 },
      on_corruption = "recover", max_bytes = 100000, max_nodes = 1000,
      settle_time = 2,
    }))
    assert.equal(7, store:get "volume")
    assert.equal(1, store:get "b")
    assert.is_true(store:get "locked")
    assert.is_true(store:is_forced { "locked" })
    local Scaled = kv.int:convert {
      decode = function(n, context) return n * context.scale end,
    }
    store:set("n", 4)
    assert.equal(40, store:get("n", Scaled))
    assert.equal(40, store:at {}:get("n", Scaled))
    store:transaction(function(tx)
      assert.equal(40, tx:get("n", Scaled))
    end)
    assert.is_true(store:sync())
    assert.equal("bplist", support.contents(folder .. "/a.plist"):sub(1, 6))
    assert.is_true(store:close())
    assert.is_true(store:close())
    remove()
  end)

  it("gives a file that is being written its time", function()
    local folder, remove = support.folder()
    local path = folder .. "/a.json"
    support.write(path, '{"a": ')
    assert(support.execute("touch -d 2020-01-01 " .. path))
    local function problem(options)
      return select(2, kv.open_file(path, options)).code
    end
    assert.equal("corrupt", problem())
    assert.equal("timed_out", problem { settle_time = 1e9, timeout = 0.05 })
    remove()
  end)

  -- proves: G50
  it("for reading alone changes nothing", function()
    local folder, remove = support.folder()
    local path = folder .. "/a.plist"
    kv.write(path, { a = 1 })
    local store = assert(kv.open_file(path, { read_only = true }))
    assert.equal(1, store:get "a")
    assert.equal("read_only", failure(store.set, store, "a", 2).code)
    assert.equal("read_only",
      failure(store.transaction, store, function() end).code)
    store:close()
    remove()
    store:close()
  end)
end)

describe("parts", function()
  it("tell places below themselves", function()
    local store = memory()
    store:set({ "ui", "window" }, { width = 1 })
    local told = {}
    local ui = store:at "ui"
    ui:watch("window", function(key) told.value = key end)
    ui:watch({}, function(key, new) told.key = { key, new.width } end)
    ui:watch({}, function(place) told.place = place end, { subtree = true })
    ui:set({ "window", "width" }, 2)
    assert.equal(3, kv.pump())
    assert.same({
      value = "window", key = { "window", 2 }, place = { "window", "width" },
    }, told)
    assert.equal(2, ui:get { "window", "width" })
    store:close()
  end)

  it("do not close their store, and are closed with it", function()
    local store = memory()
    local part = store:at { "a", 1 }
    part:close()
    store:set("b", 1)
    store:close()
    assert.equal("closed", failure(part.get, part, "x").code)
  end)
end)
