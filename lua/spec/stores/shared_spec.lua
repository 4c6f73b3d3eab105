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
end)
