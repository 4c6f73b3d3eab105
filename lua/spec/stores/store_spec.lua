local kv = require "kvcodable"
local support = require "lua.spec.support"

describe("stores", function()
  local path
  support.in_folder(before_each, after_each, function(_, given)
    path = given
  end)

  it("takes no table with other keys for the path of everything", function()
    local store = assert(kv.open_file(path))
    store:set("window", { width = 640 })
    for _, call in ipairs { "remove", "reset", "get", "has" } do
      assert.matches("expected a list of keys and indexes as a path, found "
        .. "the key window", support.failure(store[call], store,
        { window = "width" }))
    end
    assert.matches("as a path", support.failure(store.set, store,
      { [0] = "window" }, { z = 1 }))
    assert.same({ window = { width = 640 } }, store:get {})
    store:close()
  end)

  it("keep values over closing", function()
    do
      local store = assert(kv.open_file(path))
      store:set("volume", 7)
      store:set({ "ui", "window", "width" }, 640)
      store:set({ "ui", "list" }, kv.array {})
      store:set({ "ui", "list", 1 }, "first")
      store:close()
    end
    local store = assert(kv.open_file(path))
    assert.equal(7, store:get "volume")
    assert.equal(640, store:get { "ui", "window", "width" })
    assert.same({ "ui", "volume" }, store:keys())
    assert.equal("first", store:get { "ui", "list", 1 })
    assert.same({ ui = { window = { width = 640 }, list = { "first" } },
      volume = 7 }, store:get {})
    store:close()
  end)

  it("write a file that only the user can read", function()
    local options = { durability = "immediate" }
    local store = assert(kv.open_file(path, options))
    store:set("a", 1)
    local list = io.popen("stat -c %a " .. path)
    assert.equal("600", list:read "*l")
    list:close()
    store:close()
  end)

  -- proves: G6
  it("keep no immediate change that cannot be written", function()
    local options = { durability = "immediate" }
    local store = assert(kv.open_file(path, options))
    store:set("list", { 1 })
    local lock = path:gsub("[^/]+$", ".%0.lock")
    assert(os.remove(lock))
    assert(support.execute("mkdir " .. lock))
    for _ = 1, 2 do
      for _, call in ipairs {
        function() return store:set({ "list", 2 }, 2) end,
        function() return store:set({ "list", 2 }, 2, kv.int) end,
        function() return store:set("key", 2) end,
        function() return store:set({}, {}) end,
        function() return store:remove { "list", 1 } end,
        function()
          return store:update("list", function(list) list[2] = 2 end)
        end,
      } do
        assert.equal("io", support.failure(call).code)
        assert.same({ list = { 1 } }, store:get {})
      end
    end
    assert(os.remove(lock))
    store:set({ "list", 2 }, 2, kv.int)
    store:close()
    store = assert(kv.open_file(path, options))
    assert.same({ list = { 1, 2 } }, store:get {})
    store:close()
  end)

  it("give defaults for what is absent, and uncover them on remove", function()
    local options = { defaults = { volume = 7 } }
    local store = assert(kv.open_file(path, options))
    assert.equal(7, store:get "volume")
    store:set("volume", 9)
    assert.equal(9, store:get "volume")
    assert.is_true(store:remove "volume")
    assert.equal(7, store:get "volume")
    assert.is_false(store:remove "volume")
    assert.is_nil(store:get "none")
    store:register { none = 1 }
    assert.equal(1, store:get "none")
    store:close()
  end)

  it("update by a transaction that error() rolls back", function()
    local store = assert(kv.open_file(path))
    store:set("list", { 1 })
    store:update("list", function(list) list[2] = 2 end)
    assert.same({ 1, 2 }, store:get "list")
    store:update("count", kv.int, function(n) return (n or 0) + 1 end)
    assert.equal(1, store:get "count")
    local problem = support.failure(store.update, store, "list", function(list)
      list[3] = 3
      error { mine = true }
    end)
    assert.is_true(problem.mine)
    assert.same({ 1, 2 }, store:get "list")
    local result = store:transaction(function(tx)
      tx:set("a", 1)
      assert.equal(1, tx:get "a")
      tx:update("a", function(a) return a + 1 end)
      return "done"
    end)
    assert.equal("done", result)
    assert.equal(2, store:get "a")
    store:transaction(function(tx)
      assert.is_nil(tx:get "none")
      assert.is_nil(tx:get("none", "Int"))
    end)
    assert.matches("function expected",
      support.failure(store.update, store, "a", "Int", 5), 1, true)
    assert.has_error(function()
      store:transaction(function(tx)
        tx:set("a", 99)
        error "no"
      end)
    end)
    assert.equal(2, store:get "a")
    store:close()
  end)

  -- proves: G8
  it("go on where a transaction inside fails, without its changes", function()
    local store = assert(kv.open_file(path))
    for _, inside in ipairs { "the store", "the transaction", "a part" } do
      store:transaction(function(tx)
        tx:set("a", inside)
        local handle = inside == "the store" and store
          or inside == "a part" and tx:at "part" or tx
        local ok = pcall(handle.transaction, handle, function(inner)
          inner:set("b", 2)
          error "no"
        end)
        assert.is_false(ok)
      end)
      assert.same({ a = inside }, store:get {})
    end
    -- One that ends well is part of the outer one; so is an update.
    local kept
    store:transaction(function(tx)
      assert.equal(3, tx:transaction(function(inner)
        kept = inner
        inner:at "part":set("b", 3)
        return inner:get { "part", "b" }
      end))
      assert.is_false(pcall(tx.update, tx, "a", error))
      assert.equal(3, tx:get { "part", "b" })
    end)
    assert.equal("closed", support.failure(kept.get, kept, "a").code)
    assert.same({ a = "a part", part = { b = 3 } }, store:get {})
    store:close()
  end)

  it("take no more arguments than they know", function()
    local store = assert(kv.open_file(path))
    store:set("a", { b = 1 })
    assert.same({ "a" }, store:keys "a")
    assert.same({ "b" }, store:at("a", "c"):keys())
    assert.equal(1, store:get({ "a", "b" }, "Int", "String"))
    assert.same({ "x", n = 1 }, support.pack(store:transaction(function(tx, ...)
      assert.equal(0, select("#", ...))
      return tx:get "none" or "x"
    end, 1, 2, 3)))
    store:close()
  end)

  it("refuse yields inside a transaction, with an error", function()
    local store = assert(kv.open_file(path))
    local thread = coroutine.create(function()
      store:transaction(function(tx)
        tx:set("a", 1)
        coroutine.yield()
      end)
    end)
    local ok, problem = coroutine.resume(thread)
    assert.is_false(ok)
    assert.matches("yield", tostring(problem), 1, true)
    assert.is_nil(store:get "a")
    store:set("a", 2)
    assert.equal(2, store:get "a")
    store:close()
  end)

  it("sync nothing inside a transaction, and say so", function()
    local store = assert(kv.open_file(path))
    store:transaction(function(tx)
      tx:set("a", 1)
      local done, problem = store:sync()
      assert.is_nil(done)
      assert.equal("misuse", problem.code)
      assert.matches("^Not possible in the middle of a transaction",
        problem.message)
    end)
    assert.is_true(store:sync())
    assert.equal(1, store:get "a")
    store:close()
  end)

  it("end a transaction once", function()
    local store = assert(kv.open_file(path))
    local kept
    store:transaction(function(tx) kept = tx end)
    local problem = support.failure(kept.get, kept, "a")
    assert.equal("closed", problem.code)
    store:close()
  end)

  it("root a handle at a part", function()
    local store = assert(kv.open_file(path))
    local ui = store:at { "ui" }
    ui:set("theme", "dark")
    ui:at("window"):set("width", 5)
    assert.same({ theme = "dark", window = { width = 5 } }, store:get "ui")
    assert.same({ "theme", "window" }, ui:keys())
    ui:update("theme", function() return "light" end)
    assert.equal("light", store:get { "ui", "theme" })
    assert.is_true(ui:remove "theme")
    store:close()
    assert.equal("closed", support.failure(ui.get, ui, "theme").code)
    store:close()
  end)

  it("iterate and count their keys", function()
    local store = assert(kv.open_file(path))
    store:set("a", 1)
    store:set("b", { 2 })
    local seen = {}
    for key, value in store:pairs() do seen[key] = value end
    assert.same({ a = 1, b = { 2 } }, seen)
    assert.equal(2, #store)
    assert.matches("store %(open%)", tostring(store))
    store:close()
  end)

  it("say which element there is no place for, counted from 1", function()
    local store = assert(kv.open_file("x", { engine = "memory" }))
    store:set("list", { 1 })
    local problem = support.failure(store.set, store, { "list", 5 }, 1)
    assert.equal("path_mismatch", problem.code)
    assert.same({ "list", 5 }, problem.path)
    assert.equal("Expected an element of the array or the place behind the "
      .. "last at list[5], found none", problem.message)
    store:close()
  end)

  it("refuse what a path forbids", function()
    local store = assert(kv.open_file(path))
    store:set("text", "x")
    store:set("list", { 1 })
    local refused = { { "text", "inner" }, { "list", 3 }, { "list", "key" },
      { "none", 1 } }
    for _, steps in ipairs(refused) do
      assert.equal("path_mismatch",
        support.failure(store.set, store, steps, 1).code)
    end
    assert.matches("use remove", support.failure(store.set, store, "a", nil))
    assert.has_error(function() store:get { 0 } end)
    assert.has_error(function() store:get(5) end)
    assert.has_error(function() store:get { {} } end)
    assert.has_error(function() store.get({}, "a") end)
    store:close()
  end)

  it("report an unreadable file, never an empty store", function()
    support.write(path, "<plist><dict><key>a</key>")
    local store, problem = kv.open_file(path)
    assert.is_nil(store)
    assert.equal("corrupt", problem.code)
  end)

  describe("over a damaged file", function()
    local typo = "<plist>\n<dict>\n<key>a</kye>\n</dict></plist>"
    local message = "Expected </key>, found </kye> (line 3, column 7)"

    local function damage()
      support.write(path, typo)
      assert(support.execute("touch -d '1 minute ago' " .. path))
    end

    -- proves: G29
    it("are an error with its line, and move nothing", function()
      damage()
      support.write(path .. ".bak", "{ \"a\": 1 }")
      local store, problem = kv.open_file(path)
      assert.is_nil(store)
      assert.equal("corrupt", problem.code)
      assert.equal(message .. " (" .. path .. ")", problem.message)
      assert.equal(typo, support.contents(path))
      store, problem = kv.open_file(path, { on_corruption = "error" })
      assert.is_nil(store)
      assert.equal("corrupt", problem.code)
      assert.matches("bad option 'on_corruption': ignore, expected "
        .. '"error" or "recover"',
        support.failure(kv.open_file, path, { on_corruption = "ignore" }))
    end)

    it("recover where they are told to", function()
      damage()
      support.write(path .. ".bak", "{ \"a\": 1 }")
      local options = { on_corruption = "recover" }
      local store = assert(kv.open_file(path, options))
      assert.equal(1, store:get "a")
      local kinds = {}
      store:events(function(kind, text)
        kinds[#kinds + 1] = kind
        assert.matches("is kept as .*%.corrupt%-.*, the backup of %d+ seconds "
          .. "ago took its place", text)
      end)
      kv.pump()
      assert.same({ "recovered" }, kinds)
      store:close()
    end)

    it("go on with what is in memory, and write it when they can", function()
      local store = assert(kv.open_file(path))
      store:set("a", 1)
      assert(store:sync())
      local told = {}
      store:events(function(...)
        told[#told + 1] = { ... }
      end)
      damage()
      store:set("b", 2)
      assert.equal(1, store:get "a")
      local done, problem = store:sync()
      assert.is_nil(done)
      assert.equal("corrupt", problem.code)
      assert.equal("corrupt", support.failure(store.update, store, "a",
        function() return 3 end).code)
      kv.pump()
      kv.pump()
      assert.same({ { "unreadable", message .. " (" .. path .. ")" } }, told)
      support.write(path, "{ \"a\": 5 }")
      assert(store:sync())
      assert.same({ a = 5, b = 2 }, store:get {})
      store:close()
    end)
  end)

  it("grow no further than they may, and may always shrink", function()
    do
      local store = assert(kv.open_file(path, { max_bytes = 1000 }))
      local problem = support.failure(store.set, store, { "a", "b" },
        ("x"):rep(1000))
      assert.equal("limit_exceeded", problem.code)
      assert.same({ "a", "b" }, problem.path)
      assert.matches("at most 1000 bytes", problem.message)
      assert.is_nil(store:get "a")
      store:set("a", ("x"):rep(500))
      store:close()
    end
    local store = assert(kv.open_file(path, { max_nodes = 3,
      max_bytes = 540 }))
    local kinds = {}
    store:events(function(kind) kinds[#kinds + 1] = kind end)
    kv.pump()
    assert.same({ "over_limit" }, kinds)
    assert.equal("limit_exceeded",
      support.failure(store.set, store, "b", 1).code)
    store:set("a", 1)
    assert.equal("limit_exceeded",
      support.failure(store.set, store, "b", 1).code)
    for _, wrong in ipairs { 0, -1, 1.5 } do
      assert.matches("bad option 'max_bytes': expected an integer from 1",
        support.failure(kv.open_file, path, { max_bytes = wrong }))
    end
    assert.matches("bad option 'max_nodes': expected number, found string",
      support.failure(kv.open_file, path, { max_nodes = "many" }))
    store:close()
  end)

  -- proves: G51
  it("refuse names that lead elsewhere", function()
    for _, name in ipairs { "", "../x", "a//b", ".hidden", "a\0b" } do
      local store, problem = kv.open(name)
      assert.is_nil(store)
      assert.is_string(problem.message)
    end
  end)

  it("close once or often, and say so afterwards", function()
    local store = assert(kv.open_file(path))
    assert.is_true(store:close())
    assert.is_true(store:close())
    assert.equal("closed", support.failure(store.get, store, "a").code)
    assert.matches("closed", tostring(store))
  end)

  it("keep what other programs wrote in the file", function()
    local original = support.contents "Tests/Data/com.example.launcher.plist"
    support.write(path, original)
    do
      local store = assert(kv.open_file(path))
      store:set({ "Target Applications", 1, "Launch Count" }, 43)
      store:close()
    end
    local text = support.contents(path)
    assert.matches("NSWindow Frame Main Window", text, 1, true)
    assert.matches("<integer>43</integer>", text, 1, true)
    assert.equal(original, (text:gsub("<integer>43<", "<integer>42<")))
  end)
end)
