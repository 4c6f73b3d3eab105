-- The rows of Tests/Vectors give in Lua what they give in Swift and C.
local kv = require "kvcodable"
local support = require "lua.spec.support"

-- From 1970, where Lua's dates begin, to 2001, where the files' do.
local epoch = 978307200
local codes = { malformed = "malformed", invalidValue = "invalid_value",
  limitExceeded = "limit_exceeded" }

local function rows(name)
  local text = support.contents("Tests/Vectors/" .. name .. ".json")
  return assert(kv.decode(text, nil, { format = "json" })).rows
end

local function bytes(row)
  if row.text then return row.text end
  return (row.hex:gsub("%x%x", function(digits)
    return string.char(tonumber(digits, 16))
  end))
end

-- ---- The notation of Tests/Vectors/README.md

local function quoted(text)
  return '"' .. text:gsub('[%c"\\]', function(char)
    if char == '"' or char == "\\" then return "\\" .. char end
    return ("\\u%04x"):format(char:byte())
  end) .. '"'
end

local function real(value)
  return value ~= value and "nan" or ("%.17g"):format(value)
end

local notation

local function container(value)
  local parts = {}
  if kv.is_array(value) then
    for index, element in ipairs(value) do parts[index] = notation(element) end
    return "[" .. table.concat(parts, ", ") .. "]"
  end
  local keys = {}
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys)
  for index, key in ipairs(keys) do
    parts[index] = quoted(key) .. ": " .. notation(value[key])
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

--- Whether an integer of 64 bits is above those that have a sign.
local function is_unsigned(value)
  return value:number() >= 2 ^ 63 and value ~= support.most
end

local function userdata(value)
  if rawequal(value, kv.null) then return "null" end
  if value.unix then return "date " .. real(value:unix()) end
  if value.bytes then
    return "<" .. value:bytes():gsub(".", function(byte)
      return ("%02x"):format(byte:byte())
    end) .. ">"
  end
  if value.value then return "uid " .. value:value() end
  return tostring(value) .. (is_unsigned(value) and "u" or "")
end

function notation(value)
  local kind = support.kind(value) or type(value)
  if kind == "integer" then
    return support.has_integers and tostring(value) or ("%d"):format(value)
  elseif kind == "boolean" then
    return tostring(value)
  end
  if kind == "float" then return "real " .. real(value) end
  if kind == "string" then return quoted(value) end
  if kind == "table" then return container(value) end
  return userdata(value)
end

--- A row's tree with its dates counted from 1970; where Lua has no integers, a
-- whole real is one, and an integer that is none of its numbers a userdata.
local function expected(tree)
  if not tree then return nil end
  local text = tree:gsub("date (%-?[%d.]+e?[+-]?%d*)", function(seconds)
    return "date " .. real(tonumber(seconds) + epoch)
  end)
  if support.has_integers then return text end
  return (text:gsub("real (%-?[%d.]+e?[+-]?%d*)", function(digits)
    local value = tonumber(digits)
    if support.kind(value) == "integer" then return notation(value) end
  end))
end

local function path(steps)
  local text = ""
  for _, step in ipairs(steps or {}) do
    if support.kind(step) then
      text = text .. "[" .. step - 1 .. "]"
    else
      text = text .. (text == "" and "" or ".") .. step
    end
  end
  return text
end

local function check(row, value, problem)
  if row.tree then
    assert(value ~= nil, problem)
    assert.equal(expected(row.tree), notation(value))
  else
    assert.is_nil(value)
    assert.equal(codes[row.error.code], problem.code)
    for _, key in ipairs { "line", "column", "offset" } do
      if row.error[key] then assert.equal(row.error[key], problem[key]) end
    end
    if row.error.path then assert.equal(row.error.path, path(problem.path)) end
  end
end

for name, fewest in pairs { formats = 193, json = 201 } do
  -- proves: G77
  describe("the vectors of " .. name, function()
    local list = rows(name)
    it("are all here", function() assert.is_true(#list >= fewest) end)
    for _, row in ipairs(list) do
      it(row.format .. ": " .. row.name, function()
        local format = row.format:lower()
        check(row, kv.decode(bytes(row), nil, { format = format }))
      end)
    end
  end)
end

describe("the vectors of archives", function()
  local list = rows "archives"
  it("are all here", function() assert.is_true(#list >= 58) end)
  for _, row in ipairs(list) do
    it(row.name, function()
      local archive = assert(kv.decode(bytes(row), nil, { format = "xml" }))
      check(row, kv.unarchive(archive, nil,
        { class_name_key = row.classNameKey }))
    end)
  end
end)
