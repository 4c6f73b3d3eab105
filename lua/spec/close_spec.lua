-- Variables that are closed at the end of their scope: Lua 5.4 and 5.5 alone
-- have them. What they do everywhere else, store:with() does.
local kv = require "kvcodable"
local support = require "lua.spec.support"
local failure = support.failure

describe("variables that are closed", function()
  it("close stores and watches", function()
    local outer = assert(kv.open_file("x", { engine = "memory" }))
    do
      local store <close> = outer
      local watch <close> = store:watch("a", error)
      assert.matches("open", tostring(watch))
      store:set("a", 1)
    end
    assert.equal("closed", failure(outer.get, outer, "a").code)
    assert.equal(0, kv.pump())
  end)

  -- proves: G2
  it("say that a store was not written", function()
    local folder, remove = support.folder()
    local function leave(problem)
      local store
      local raised = failure(function()
        local scoped <close> = assert(kv.open_file(folder .. "/a/b.plist"))
        store = scoped
        store:set("a", 1)
        os.execute("rm -rf " .. folder)
        if problem then error(problem, 0) end
      end)
      assert.matches("(closed)", tostring(store), 1, true)
      assert(os.execute("mkdir -m 700 " .. folder .. " " .. folder .. "/a"))
      assert.is_true(store:close())
      return raised
    end
    assert(os.execute("mkdir -m 700 " .. folder .. "/a"))
    assert.equal("io", leave().code)
    assert.equal("mine", leave "mine")
    remove()
  end)
end)
