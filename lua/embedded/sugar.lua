--- sugar.lua: the part of the Lua code that every script needs: the built-in
-- types, tags, loops over stores.
--
-- Runs at each `require`. The code that makes types of types, and compiles
-- them, is in the files behind it, types.lua to compiling.lua: they would take
-- half the time of `require`, and run when a script first needs one of them.

local kv = ...

local Type = { __name = "kvcodable type", __metatable = false }

-- The table that the files behind start with.
local shared = { Type = Type, builtins = {}, named = {}, known = {},
  encode = kv.encode, decode = kv.decode, null = kv.null, kind_of = kv.type }
for _, name in ipairs { "array_tag", "dictionary_tag", "store", "new_data",
  "new_date", "new_uid", "new_int64", "new_uint64", "describe", "expression",
  "attach", "install", "annotate", "depth", "run_types", "declare_text",
  "declare_file", "is_list", "element", "make_parts", "set_tag" } do
  shared[name], kv[name] = kv[name], nil
end

-- ---- Types

local made

--- The functions of the files behind, each of which sees the additions of those
-- before it to a table. A finalizer may call this while they run: the first
-- result counts.
local function parts()
  if not made then
    local result = shared.run_types(setmetatable({}, { __index = shared }))
    made = made or result
    Type.__index = made.methods
  end
  return made
end

--- The methods of types.
function Type.__index(_, name)
  return parts().methods[name]
end

--- A description in the type language, without ranges and lengths.
local function text(description)
  if type(description) == "string" then return description end
  local kind = description.kind
  if kind == "array" then return "[" .. text(description.element) .. "]" end
  if kind == "dictionary" then
    return "[String: " .. text(description.value) .. "]"
  end
  if kind == "optional" then return text(description.wrapped) .. "?" end
  if kind == "converted" then return (text(description.wrapped)) end
  return description.name or kind
end

function Type:__tostring()
  return (text(self.description))
end

-- The types that values are made of: integers of every kind among them.
local makings = { string = true, number = true, int64 = true, uint64 = true,
  cdata = true }

--- Calling kv.date, kv.data, kv.int64, kv.uint64 or kv.uid makes a value. Not
-- by a tail call: LuaJIT does not count the level that one leaves.
function Type:__call(value)
  local make, found = rawget(self, "make"), type(value)
  if not make then
    error(string.format("%s makes no values", tostring(self)), 2)
  elseif not makings[found] and not makings[shared.kind_of(value)] then
    error(string.format("%s: expected a string or a number, found %s",
      tostring(self), found), 2)
  end
  return (make(self, value))
end

for field, name in next, { bool = "Bool", int = "Int", int8 = "Int8",
  int16 = "Int16", int32 = "Int32", int64 = "Int64", uint = "UInt",
  uint8 = "UInt8", uint16 = "UInt16", uint32 = "UInt32", uint64 = "UInt64",
  float = "Float", double = "Double", decimal = "Decimal", string = "String",
  data = "Data", date = "Date", url = "URL", uuid = "UUID",
  duration = "Duration", uid = "UID", any = "Any" } do
  kv[field] = setmetatable(
    { description = name, make = shared["new_" .. field] }, Type)
  shared.builtins[name] = kv[field]
end

-- No tail calls: Lua 5.1 counts the level of one that was left by a tail call,
-- the others do not.
for _, name in ipairs { "struct", "enum", "array_of", "dictionary_of",
  "annotations", "declare" } do
  kv[name] = function(...) return (parts()[name](...)) end
end

function kv.types_from(...)
  local types, problem = parts().types_from(...)
  return types, problem
end

shared.install(Type, function(...) return (parts().compile(...)) end,
  function(...) return parts().decode(...) end,
  function(...) return parts().encode(...) end,
  function(...) return parts().new_scope(...) end, shared.known)

-- ---- Tags

local function tagged(values, tag)
  if values == nil then values = {} end
  if type(values) ~= "table" then
    error("expected a table to tag, found " .. type(values), 3)
  end
  return (shared.set_tag(values, tag))
end

--- Tags a table as an array, so that it is one when it is empty.
function kv.array(values)
  return (tagged(values, shared.array_tag))
end

--- Tags a table as a dictionary.
function kv.dictionary(values)
  return (tagged(values, shared.dictionary_tag))
end

function kv.is_array(value)
  return type(value) == "table" and getmetatable(value) == shared.array_tag
end

-- ---- Stores

local Store = shared.store

--- for index, value in part:ipairs(); and in ipairs(part), from Lua 5.2 on
function Store.__index:ipairs()
  local element = shared.element
  element(self, 1) -- raises for any other value
  return function(part, i)
    local value = element(part, i + 1)
    if value ~= nil then return i + 1, value end
  end, self, 0
end

--- for key, value in store:pairs(); and in pairs(store), from Lua 5.2 on. Of an
-- array the elements
function Store.__index:pairs()
  if shared.is_list(self) then return self:ipairs() end
  local keys, i = self:keys(), 0
  return function()
    i = i + 1
    if keys[i] ~= nil then return keys[i], self:get(keys[i]) end
  end
end

Store.__pairs = Store.__index.pairs
Store.__ipairs = Store.__index.ipairs -- of Lua 5.2; later ones index
shared.make_parts()

return kv
