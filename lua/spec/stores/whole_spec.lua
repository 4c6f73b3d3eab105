-- Methods that only stores have, and those that only whole stores have.
local support = require "lua.spec.support"

describe("a method of stores", function()
  local store
  support.in_memory(before_each, after_each, function(made)
    store = made
    store:set("part", {})
  end)

  local function complaint(handle, name)
    return tostring(support.failure(function()
      return handle[name](handle, "a", print)
    end))
  end

  for _, name in ipairs { "sync", "version", "export", "import", "copy_to",
    "generation", "file", "migrate", "is_forced", "watch", "events",
    "register", "layer", "origin" } do
    it("is none of transactions: " .. name, function()
      store:transaction(function(tx)
        assert.matches("expected a store, found a transaction",
          complaint(tx, name), 1, true)
        assert.matches("expected a store, found a transaction",
          complaint(tx:at "part", name), 1, true)
      end)
    end)
  end

  for _, name in ipairs { "export", "import", "copy_to", "events", "register",
    "layer" } do
    it("is none of parts: " .. name, function()
      assert.matches("expected a whole store, found a handle on a part",
        complaint(store:at "part", name), 1, true)
    end)
  end
end)
