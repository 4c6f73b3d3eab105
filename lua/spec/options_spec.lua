-- What is wrong in a table of options is told with its place in the script.
local kv = require "kvcodable"
local support = require "lua.spec.support"

-- proves: G93
describe("options that are none", function()
  local store
  support.in_memory(before_each, after_each, function(made) store = made end)

  local names = '"format", "depth", "expanded_nodes", "expanded_bytes", '
    .. '"file_bytes", "context", "class_name_key" or "nulls"'
  local durabilities = '"coalesced", "immediate" or "manual"'
  local none = "bad argument #%d to '?' (table expected, got %s)"
  for name, case in pairs {
    ["a name in opening"] = { function() kv.open("x", { durabilty = 1 }) end,
      "bad option 'durabilty', expected \"defaults\", " },
    ["a word"] = { function() kv.open("x", { durability = "now" }) end,
      "bad option 'durability': now, expected " .. durabilities },
    ["a word of some length"] = {
      function() kv.encode(1, nil, { format = ("a"):rep(60) }) end,
      "bad option 'format': " .. ("a"):rep(60) .. ", expected " },
    ["the ends of a long word"] = {
      function()
        kv.encode(1, nil, { format = ("a"):rep(50) .. ("b"):rep(50) })
      end,
      "bad option 'format': " .. ("a"):rep(40) .. "…" .. ("b"):rep(40)
        .. ", expected " },
    ["no word"] = { function() kv.open("x", { durability = 3 }) end,
      "bad option 'durability': 3, expected " .. durabilities },
    ["a name in decoding"] = { function() kv.decode("1", nil, { deep = 1 }) end,
      "bad option 'deep', expected " .. names },
    ["an index"] = { function() kv.decode("1", nil, { "json" }) end,
      "bad option '1', expected " .. names },
    ["no table in opening"] = { function() kv.open("x", 1) end,
      none:format(2, "number") },
    ["no table in decoding"] = { function() kv.decode("1", nil, "json") end,
      none:format(3, "string") },
    ["no table in setting"] = { function()
      store:set("a", 1, nil, true)
    end, none:format(4, "boolean") },
    ["no number"] = { function() kv.open("x", { timeout = "1" }) end,
      "bad option 'timeout': expected number, found string" },
    ["no limit"] = { function() kv.decode("1", nil, { depth = -1 }) end,
      "expected an integer from 0 as 'depth'" },
  } do
    it("are told where they are: " .. name, function()
      local why = tostring(support.failure(case[1]))
      local message = why:match "^[%w_/.]+%.lua:%d+: (.*)$"
      assert.is_truthy(message, why)
      message = message:gsub("to '[%w._]+'", "to '?'")
      assert.equal(case[2], message:sub(1, #case[2]))
    end)
  end
end)
