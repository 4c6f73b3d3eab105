local kv = require "kvcodable"
local support = require "lua.spec.support"
local failure = support.failure

-- proves: G93
describe("a method that there is not", function()
  local store
  support.in_memory(before_each, after_each, function(opened)
    store = opened
  end)

  local what = "names_spec.lua:%d+: a store or transaction has no method "
  local rows = {
    { "gte", "get" }, { "Get", "get" }, { "sett", "set" },
    { "upadte", "update" }, { "transacton", "transaction" },
    { "remvoe", "remove" }, { "bool_forkey", "bool_for_key" },
    { "synch", "sync" }, { "bet", "get" }, { "WATHC", "watch" },
    -- Each is nearer to one of two that are near enough.
    { "umport", "import" }, { "uxport", "export" },
    { "volume" }, { "ui" }, { "x" }, { "" }, { ("long"):rep(100) },
    { ("é"):rep(100), shown = ("é"):rep(40) .. "…" .. ("é"):rep(40) },
  }
  for _, row in ipairs(rows) do
    local given, meant = row[1], row[2]
    it(("'%s' is named"):format(given:sub(1, 20)), function()
      -- Of a long one the beginning and the end are shown.
      local shown = row.shown or #given <= 80 and given
        or given:sub(1, 40) .. "…" .. given:sub(-40)
      local expected = what .. "'" .. shown .. "'"
      if meant then
        expected = ("%s; did you mean '%s'%%?"):format(expected, meant)
      end
      local problem = failure(function() return store[given] end)
      assert.matches(expected .. "$", problem)
    end)
  end

  it("is an error of parts, transactions and watches too", function()
    local part = store:at "ui"
    assert.matches(what .. "'gte'", failure(function() part:gte "a" end))
    store:transaction(function(tx)
      assert.matches(what .. "'gte'", failure(function() tx:gte "a" end))
    end)
    local watch = store:watch("a", print)
    assert.matches("a watch has no method 'cancle'; did you mean 'cancel'%?$",
      failure(function() watch:cancle() end))
    assert.matches("no method '1'$", failure(function() return store[1] end))
    watch:cancel()
  end)

  it("is nil in the module, so that a script can ask for it", function()
    assert.is_nil(kv.gte)
    assert.is_nil(kv.opne)
  end)
end)
