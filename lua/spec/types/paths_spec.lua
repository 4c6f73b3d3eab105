local kv = require "kvcodable"
local support = require "lua.spec.support"
local failure = support.failure

-- Where an error is, from the handle's root to the value in a value.
describe("the path of an error", function()
  local store
  support.in_memory(before_each, after_each, function(opened)
    store = opened
  end)

  local wrong = { list = { 1, { f = print } } }
  local binary = { list = { 1, { f = "\255" } } }

  local function check(path, problem)
    local text = ""
    for _, step in ipairs(path) do
      text = text .. (support.kind(step) and "[%d]" or text == "" and "%s"
        or ".%s"):format(step)
    end
    assert.equal("invalid_value", problem.code)
    assert.same(path, problem.path)
    assert.matches(" at " .. text .. ", found ", problem.message, 1, true)
  end

  local below = { "ui", "window", "list", 2, "f" }
  local calls = {
    ["in set"] = function(value)
      return failure(store.set, store, { "ui", "window" }, value)
    end,
    ["in set with a type"] = function(value)
      return failure(store.set, store, { "ui", "window" }, value, "Any")
    end,
    ["in set on a part"] = function(value)
      local part = store:at "ui"
      return failure(part.set, part, "window", value)
    end,
    ["in update"] = function(value)
      return failure(store.update, store, { "ui", "window" },
        function() return value end)
    end,
    ["in update on a part"] = function(value)
      local part = store:at "ui"
      return failure(part.update, part, "window",
        function() return value end)
    end,
    ["in a transaction"] = function(value)
      return failure(store.transaction, store, function(tx)
        tx:set({ "ui", "window" }, value)
      end)
    end,
    ["in an update in a transaction"] = function(value)
      return failure(store.transaction, store, function(tx)
        tx:update({ "ui", "window" }, function() return value end)
      end)
    end,
    ["in compare_and_set"] = function(value)
      return failure(store.compare_and_set, store, { "ui", "window" }, value,
        store:generation())
    end,
  }
  for name, call in pairs(calls) do
    it("begins with the path " .. name, function()
      check(below, call(wrong))
      check(below, call(binary))
      assert.same({}, store:get {})
    end)
  end

  -- proves: G42
  it("is in the value that is given alone", function()
    local inside = { "list", 2, "f" }
    for _, value in ipairs { wrong, binary } do
      local nothing, problem = kv.encode(value)
      assert.is_nil(nothing)
      check(inside, problem)
      check(inside, failure(store.register, store, value))
      check(inside, failure(store.set, store, {}, value))
      check(inside, failure(kv.open_file, "x",
        { engine = "memory", defaults = value }))
    end
  end)

  it("is the key itself, for a value that is no property list", function()
    check({ "key" }, failure(store.set, store, "key", print))
    check({ "a", 1 }, failure(store.set, store, { "a", 1 }, print))
  end)
end)
