local kv = require "kvcodable"
local support = require "lua.spec.support"

describe("migrations", function()
  local folder, path
  support.in_folder(before_each, after_each, function(...)
    folder, path = ...
  end)

  local steps = {
    function(tx)
      tx:set("user", tx:get "name")
      tx:remove "name"
    end,
    [3] = function(tx) tx:set({ "new", "user" }, tx:get "user") end,
  }

  -- proves: G56
  it("run once, in order, and keep the old file", function()
    for _, file in ipairs { path, folder .. "/settings.sqlite" } do
      local store = assert(kv.open_file(file))
      store:set("name", "x")
      assert(store:sync())
      assert.equal(0, store:version())
      assert.is_true(store:migrate(steps))
      assert.equal(3, store:version())
      assert.same({ user = "x", new = { user = "x" } }, store:get {})
      assert.is_false(store:migrate(steps))
      local engine = file == path and "file" or "sqlite"
      local options = { engine = engine }
      local old = assert(kv.open_file(file .. ".v0", options))
      assert.same({ name = "x" }, old:get {})
      old:close()
      store:close()
    end
  end)

  it("run only the steps that the store has not seen", function()
    local store = assert(kv.open_file(path))
    store:set("KVStoreVersion", 1)
    local ran = {}
    store:migrate {
      function() ran[#ran + 1] = 1 end, function() ran[#ran + 1] = 2 end,
    }
    assert.same({ 2 }, ran)
    store:close()
  end)

  it("do nothing where another program was faster", function()
    local store = assert(kv.open_file(path))
    local program = ([[
      package.cpath = %q
      local store = assert(require "kvcodable".open_file(%q))
      store:migrate { function(tx) tx:set("who", "other") end }
      store:close()]]):format(package.cpath, path)
    support.write(folder .. "/other.lua", program)
    assert(support.run(folder .. "/other.lua"))
    -- It looks at the file again only in its transaction.
    assert.equal(0, store:version())
    assert.is_false(store:migrate { function(tx) tx:set("who", "we") end })
    assert.equal("other", store:get "who")
    store:close()
  end)

  it("run again on what another program writes meanwhile", function()
    for writes = 1, 10, 9 do
      support.write(path, '{"old": 0}')
      local store, runs = assert(kv.open_file(path)), 0
      local function step(tx)
        tx:set("new", tx:get "old")
        tx:remove "old"
        runs = runs + 1
        if runs > writes then return end
        support.write(folder .. "/other", ('{"old": %d}'):format(runs))
        assert(os.rename(folder .. "/other", path))
      end
      if writes < 10 then
        assert.is_true(store:migrate { step })
        assert.same({ new = writes }, store:get {})
      else
        local problem = support.failure(store.migrate, store, { step })
        assert.equal("conflict", problem.code)
        assert.same({ old = 10 }, store:get {})
      end
      assert.equal(math.min(writes + 1, 10), runs)
      store:close()
      os.remove(path .. ".v0")
    end
  end)

  it("leave nothing behind when a step fails", function()
    local store = assert(kv.open_file(path))
    store:set("name", "x")
    local problem = support.failure(store.migrate, store, {
      function(tx) tx:set("half", 1) end, function() error("mine", 0) end,
    })
    assert.equal("mine", problem)
    assert.same({ name = "x" }, store:get {})
    assert.equal(0, store:version())
    store:close()
  end)

  it("refuse a newer store, a part, and what are no steps", function()
    local store = assert(kv.open_file(path))
    store:set("KVStoreVersion", 7)
    local problem = support.failure(store.migrate, store, steps)
    assert.equal("migration", problem.code)
    assert.matches("Expected at most version 3, found 7", problem.message,
      1, true)
    local no_versions = "expected versions from 1 as keys of the steps, found "
    for _, case in ipairs {
      { "no steps", {} }, { "table expected, got number", 1 },
      { no_versions .. "name", { name = print } },
      { no_versions .. "0", { [0] = print } },
      { no_versions .. "1000001", { [1000001] = print } },
      { "expected a function as step 1, found number", { 1 } },
      { "expected a function as step 2, found string", { print, "x" } },
    } do
      local why = support.failure(store.migrate, store, case[2])
      assert.matches(case[1], tostring(why), 1, true)
    end
    assert.has_error(function() store:at({ "a" }):migrate(steps) end)
    assert.has_error(function()
      store:transaction(function(tx) tx:migrate(steps) end)
    end)
    store:close()
  end)
end)

describe("a typed set", function()
  it("counts what it could not keep", function()
    local options = { engine = "memory" }
    local store = assert(kv.open_file("none", options))
    local type = kv.array_of(kv.struct "Counted" { a = kv.int })
    local old = { { a = 1, x = 1 }, { a = 2, x = 2 }, { a = 3 } }
    store:set("list", old)
    assert.equal(1, store:set("list", { { a = 2 } }, type))
    assert.equal(1, store:update("list", type, function(list)
      list[1] = nil
    end))
    assert.same({}, store:get "list")
    assert.equal(0, store:set("list", { { a = 1 } }, type))
    assert.equal(0, select("#", store:set("list", {})))
    store:transaction(function(tx)
      tx:set("list", old)
      assert.equal(2, tx:set("list", kv.array {}, type))
    end)
    store:close()
  end)

  it("takes a store of SQLite that waits less", function()
    local folder, remove = support.folder()
    local options = { synchronous = "normal" }
    do
      local store = assert(kv.open_file(folder .. "/a.db", options))
      store:set("a", 1)
      store:close()
    end
    options.synchronous = "off"
    assert.has_error(function() kv.open_file(folder .. "/a.db", options) end)
    remove()
  end)
end)
