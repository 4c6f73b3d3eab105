-- A script that holds tables for long, while another program changes the file.
local kv = require "kvcodable"
local support = require "lua.spec.support"

describe("a script that pumps between get and set", function()
  local path
  support.in_folder(before_each, after_each, function(_, given)
    path = given
  end)

  -- Replaces the file as a program does that does not know the library.
  local function foreign(change)
    local tree = kv.read(path)
    change(tree)
    assert(kv.write(path .. ".new", tree))
    assert(os.rename(path .. ".new", path))
  end

  -- proves: G9
  it("reverts nothing of what others changed", function()
    local store = assert(kv.open_file(path, { durability = "manual" }))
    store:set("w", { mine = 0, list = { "start" }, size = { x = 0, y = 0 } })
    assert(store:sync())
    for i = 1, 200 do
      local w = store:get "w"
      foreign(function(tree)
        tree.w["theirs" .. i] = i
        tree.w.size.y = i
        table.insert(tree.w.list, "theirs" .. i)
        tree["other" .. i] = i
      end)
      kv.pump()
      if i % 3 == 0 then store:get "w" end
      w.mine = i
      w.size.x = i
      table.insert(w.list, "mine" .. i)
      store:set("w", w)
      assert(store:sync())
    end
    store:close()
    local tree = kv.read(path)
    assert.same({ x = 200, y = 200 }, tree.w.size)
    assert.equal(200, tree.w.mine)
    assert.equal(401, #tree.w.list)
    for i = 1, 200 do
      assert.equal(i, tree.w["theirs" .. i])
      assert.equal(i, tree["other" .. i])
    end
  end)

  it("stores again what a transaction did not keep", function()
    assert(kv.write(path, { w = { a = 1 } }))
    local store = assert(kv.open_file(path, { durability = "manual" }))
    local w = store:get "w"
    w.a = 3
    for i = 1, 2 do
      pcall(store.transaction, store, function(tx)
        tx:set("w", w)
        if i == 1 then error "again" end
      end)
    end
    store:close()
    assert.equal(3, kv.read(path).w.a)
  end)

  it("changes nothing by a set of what it did not change", function()
    assert(kv.write(path, { list = { { id = 1 } } }))
    local type = kv.array_of(kv.struct "SharedItem" { id = kv.int })
    local store = assert(kv.open_file(path, { durability = "manual" }))
    local list = store:get("list", type)
    foreign(function(tree)
      tree.list[1].token = "t"
      tree.list[2] = { id = 2 }
    end)
    store:set("list", list, type)
    store:close()
    assert.same({ { id = 1, token = "t" }, { id = 2 } }, kv.read(path).list)
  end)

  it("keeps what another program wrote against the schema", function()
    assert(kv.write(path, { ui = { a = 1 } }))
    local schema = kv.struct "SharedSettings" {
      ui = kv.struct "SharedUI" {
        a = kv.int:range(0, 10), b = kv.int:optional(),
      }:optional(),
    }
    local store = assert(kv.open_file(path,
      { durability = "manual", schema = schema }))
    foreign(function(tree)
      tree.ui.a = 99
      tree.ui.token = "t"
    end)
    store:set({ "ui", "b" }, 5)
    assert(store:sync())
    store:close()
    assert.same({ a = 99, b = 5, token = "t" }, kv.read(path).ui)
  end)

  it("knows what get gave at a long path, and after collections", function()
    local place = { "w", ("long"):rep(100), ("longer"):rep(100) }
    assert(kv.write(path, { w = { [place[2]] = { [place[3]] = { a = 1 } } } }))
    local store = assert(kv.open_file(path, { durability = "manual" }))
    local t = store:get(place)
    for _ = 1, 100 do store:get "w" end
    collectgarbage()
    collectgarbage()
    foreign(function(tree) tree.w[place[2]][place[3]].theirs = 1 end)
    assert(store:sync())
    t.ours = 2
    store:set(place, t)
    store:close()
    assert.same({ a = 1, ours = 2, theirs = 1 },
      kv.read(path).w[place[2]][place[3]])
  end)

  it("does not put an element into another one's place", function()
    assert(kv.write(path, { list = { { id = 1 }, { id = 2 } } }))
    local store = assert(kv.open_file(path, { durability = "manual" }))
    local first = store:get { "list", 1 }
    store:remove { "list", 1 }
    first.value = 7
    assert.matches("Another element stands at the index now at list%[1%]",
      support.failure(store.set, store, { "list", 1 }, first))
    store:close()
    assert.same({ { id = 2 } }, kv.read(path).list)
  end)
end)
