local kv = require "kvcodable"
local support = require "lua.spec.support"

local text = support.contents "lua/kvcodable.d.lua"

-- The tables whose functions scripts can call, by their names in the file.
local store = assert(kv.open_file("x", { engine = "memory" }))
local watch = store:watch("a", print)
local function methods(value) return debug.getmetatable(value).__index end
local owners = {
  kv = kv, Store = methods(store), Watch = methods(watch),
  Date = methods(kv.date(0)), Data = methods(kv.data ""),
  Uint64 = methods(kv.uint64(1)), Uid = methods(kv.uid(1)),
  Type = methods(kv.int:optional()), -- whose methods come at the first use
}
if not support.has_integers then
  owners.Int64, owners.Real = methods(kv.int64(1)), methods(kv.real(1))
end
store:close()

--- "Owner.name" of every function that the module exports.
local function exported()
  local names = {}
  for owner, functions in pairs(owners) do
    for name, value in pairs(functions) do
      if type(value) == "function" and not name:find "^__" then
        names[#names + 1] = owner .. "." .. name
      end
    end
  end
  table.sort(names)
  return names
end

--- The same of the file, without what a Lua with integers does not need.
local function annotated()
  local names = {}
  for owner, name in text:gmatch "\nfunction (%w+)[.:]([%w_]+)%(" do
    local is_old = owner == "Int64" or owner == "Real" or name == "cdata"
    if not is_old or not support.has_integers then
      names[#names + 1] = owner .. "." .. name
    end
  end
  table.sort(names)
  return names
end

describe("the annotations for editors", function()
  it("are Lua, and a meta file", function()
    assert.matches("^%-%-%-@meta kvcodable\n", text)
    assert.is_function(assert((loadstring or load)(text)))
  end)

  it("name every function of the module, and no other", function()
    assert.is_true(#annotated() > 50)
    assert.same(exported(), annotated())
  end)

  it("name every other field of the module, and no other", function()
    local fields, listed = {}, {}
    for name, value in pairs(kv) do
      if type(value) ~= "function" then fields[#fields + 1] = name end
    end
    local class = text:match "@class kvcodable\n(.-)\nlocal kv"
    for name in class:gmatch "@field ([%w_]+)" do listed[#listed + 1] = name end
    table.sort(fields)
    table.sort(listed)
    assert.same(fields, listed)
  end)

  it("name every option, and no other", function()
    local opened = assert(kv.open_file("x", { engine = "memory" }))
    local wrong = { zzz = true }
    for named, call in pairs {
      OpenOptions = function() kv.open_file("x", wrong) end,
      UnarchiveOptions = function() kv.unarchive({}, nil, wrong) end,
      SetOptions = function() opened:set("a", 1, "Int", wrong) end,
    } do
      local class, fields, taken = named, {}, {}
      local expected = support.failure(call):match "expected (.*)"
      for name in expected:gmatch '"([^"]+)"' do
        taken[#taken + 1] = name
      end
      while class do
        local head, body = text:match("@class kvcodable%." .. class
          .. "([^\n]*)\n(.-)\n\n")
        for name in body:gmatch "@field ([%w_]+)%?" do
          fields[#fields + 1] = name
        end
        class = head:match "kvcodable%.(%w+)"
      end
      table.sort(fields)
      table.sort(taken)
      assert.same(taken, fields)
    end
    opened:close()
  end)

  it("use the operators that the language server knows", function()
    local known = { len = true, concat = true }
    for name in text:gmatch "@operator (%w+)" do assert.is_true(known[name]) end
    assert.matches("@class kvcodable.Store\n---@operator len", text, 1, true)
  end)

  it("say what every parameter is", function()
    local checked = 0
    for line, parameters in text:gmatch "\n(function [%w.:_]+)(%b()) end" do
      local place = text:find(line .. parameters, 1, true)
      local before = text:sub(1, place - 1):match "\n\n([^\n].*)$"
      before = before:match ".*\n\n(.*)$" or before
      for name in parameters:gmatch "[%w_]+" do
        checked = checked + 1
        assert.truthy(before:find("@param " .. name .. "%??%s"),
          line .. ": " .. name)
      end
    end
    assert.is_true(checked > 50)
  end)
end)

describe("the reference", function()
  it("has an example of every function", function()
    local code = {}
    for block in support.contents "lua/README.md":gmatch "```lua\n(.-)```" do
      code[#code + 1] = block
    end
    code = table.concat(code)
    for _, name in ipairs(exported()) do
      local called = name:match "%.(.*)"
      assert.truthy(code:find("[.:]" .. called .. "[%s(\"']"), name)
    end
  end)
end)

describe("annotations of many types", function()
  local function count(annotations, what)
    return select(2, annotations:gsub(what, ""))
  end

  it("describe each once, whatever contains it", function()
    local last = kv.struct "ChainedA0" { a = kv.int }
    for i = 1, 400 do
      last = kv.struct("ChainedA" .. i) { a = last, b = last:optional() }
    end
    local found = kv.annotations()
    assert.equal(401, count(found, "%-%-%-@class [^\n]*ChainedA%d+"))
    assert.equal(found, kv.annotations())
  end)

  it("may be of types that are defined before those in them", function()
    for i = 100, 1, -1 do
      kv.struct("ChainedB" .. i) { a = "ChainedB" .. i - 1 .. "?" }
    end
    kv.struct "ChainedB0" { a = "ChainedB100?" }
    assert.equal(101, count(kv.annotations(), "%-%-%-@class [^\n]*ChainedB%d+"))
  end)
end)
