--- sugar.lua: types as Lua values, and what is easier said in Lua.
--
-- The C module runs this chunk with its own table, which holds the functions
-- that need C; it returns the module's table. A type is an immutable table:
--
--   description  what kvcodable's registry makes the type of: a string (an
--                expression of the type language) or a table, whose notation
--                is in the documentation of CodableTypes
--   decoder, encoder   functions (value, context) where a converter is in the
--                type or below it; else nil
--   stored_key, has_default, default_value, is_transient, is_optional   what
--                the type says as a struct's field

local kv = ...
local describe, expression = kv.describe, kv.expression
local attach, install = kv.attach, kv.install
local array_tag = kv["kvcodable.array"]
local dictionary_tag = kv["kvcodable.dictionary"]
for _, name in ipairs { "describe", "expression", "attach", "install",
  "kvcodable.array", "kvcodable.dictionary" } do
  kv[name] = nil
end

local Type = { __name = "kvcodable type" }
Type.__index = Type

-- Named types of this Lua state: what a string such as "[Window]" may name.
local named = {}

local function is_type(value)
  return getmetatable(value) == Type
end

local function new_type(fields)
  return setmetatable(fields, Type)
end

--- A copy with some fields changed. The compiled form is not copied, since
-- pairs() does not see it: it has keys of its own kind.
local function with(self, changes)
  local copy = {}
  for name, value in pairs(self) do
    if type(name) == "string" then copy[name] = value end
  end
  for name, value in pairs(changes) do copy[name] = value end
  return new_type(copy)
end

--- The type that a script means: a type of this module, or an expression.
local expressions = setmetatable({}, { __mode = "v" })

local parse

local function check_type(value, level)
  if is_type(value) then return value end
  if type(value) == "string" then
    local known = expressions[value]
    if not known then
      known = parse(value)
      expressions[value] = known
    end
    return known
  end
  error("expected a type or its name, found " .. type(value), level + 1)
end

local function attribute(self, name, value)
  if type(self.description) == "table" and self.description.kind ~= "struct"
    and self.description.kind ~= "enum" then
    local description = {}
    for key, old in pairs(self.description) do description[key] = old end
    description[name] = value
    return with(self, { description = description })
  end
  local description = { kind = self.description, [name] = value }
  return with(self, { description = description })
end

--- Numbers from `low` to `high`, both included.
function Type:range(low, high)
  return attribute(self, "range", kv.array { low, high })
end

--- Strings, data and arrays of `low` to `high` characters, bytes, elements.
function Type:length(low, high)
  return attribute(self, "length", kv.array { low, high or low })
end

--- A value that may be absent.
function Type:optional()
  return with(self, { is_optional = true })
end

--- What get gives where nothing is stored.
function Type:default(value)
  if value == nil then error("nil is no default; use optional", 2) end
  return with(self, { has_default = true, default_value = value })
end

--- The key in the file, where it is not the field's name.
function Type:key(key)
  return with(self, { stored_key = key })
end

--- A field that is never stored.
function Type:transient()
  return with(self, { is_transient = true })
end

--- Functions between what is stored and what the script sees:
-- `decode(stored, context)` and `encode(value, context)`. Either may be
-- absent. Decoding to nil gives the default; encoding to nil leaves the key
-- out.
function Type:convert(functions)
  local inner_decoder, inner_encoder = self.decoder, self.encoder
  local decode = functions.decode or function(value) return value end
  local encode = functions.encode or function(value) return value end
  return with(self, {
    decoder = function(value, context)
      if inner_decoder then value = inner_decoder(value, context) end
      if value == nil then return nil end
      return decode(value, context)
    end,
    encoder = function(value, context)
      value = encode(value, context)
      if value == nil or not inner_encoder then return value end
      return inner_encoder(value, context)
    end,
  })
end

function Type:__tostring()
  if type(self.description) == "string" then return self.description end
  return self.description.name or self.description.kind
end

--- Calling kv.date, kv.data, kv.uint64 or kv.uid makes a value.
function Type:__call(...)
  local make = rawget(self, "make")
  if not make then
    error(("%s makes no values"):format(tostring(self)), 2)
  end
  return make(self, ...)
end

local function builtin(name, make)
  return new_type { description = name, make = make }
end

kv.bool = builtin "Bool"
kv.int = builtin "Int"
for _, size in ipairs { 8, 16, 32, 64 } do
  kv["int" .. size] = builtin("Int" .. size)
  kv["uint" .. size] = builtin("UInt" .. size,
    size == 64 and kv.new_uint64 or nil)
end
kv.uint = builtin "UInt"
kv.float = builtin "Float"
kv.double = builtin "Double"
kv.decimal = builtin "Decimal"
kv.string = builtin "String"
kv.data = builtin("Data", kv.new_data)
kv.date = builtin("Date", kv.new_date)
kv.url = builtin "URL"
kv.uuid = builtin "UUID"
kv.duration = builtin "Duration"
kv.uid = builtin("UID", kv.new_uid)
kv.any = builtin "Any"
for _, name in ipairs { "new_uint64", "new_data", "new_date", "new_uid" } do
  kv[name] = nil
end

--- Tags a table as an array, so that it is one when it is empty.
function kv.array(values)
  return setmetatable(values or {}, array_tag)
end

--- Tags a table as a dictionary.
function kv.dictionary(values)
  return setmetatable(values or {}, dictionary_tag)
end

function kv.is_array(value)
  return type(value) == "table" and getmetatable(value) == array_tag
end

-- ---- Types made of types

--- A type as a part of another's description: with `?` where it is optional.
local function part(field)
  if field.is_optional then
    return { kind = "optional", wrapped = field.description }
  end
  return field.description
end

local function map(values, convert, context)
  local result = {}
  for key, value in pairs(values) do result[key] = convert(value, context) end
  return setmetatable(result, getmetatable(values))
end

local function each(convert)
  return convert and function(values, context)
    if type(values) ~= "table" then return values end
    return map(values, convert, context)
  end
end

--- Arrays of `element`.
function kv.array_of(element)
  element = check_type(element, 2)
  return new_type {
    description = { kind = "array", element = part(element) },
    decoder = each(element.decoder), encoder = each(element.encoder),
  }
end

--- Dictionaries of string to `value`.
function kv.dictionary_of(value)
  value = check_type(value, 2)
  return new_type {
    description = { kind = "dictionary", value = part(value) },
    decoder = each(value.decoder), encoder = each(value.encoder),
  }
end

local function field_description(name, field)
  return {
    name = name, type = part(field), key = field.stored_key,
    default = field.default_value, transient = field.is_transient,
  }
end

--- Converts the fields that have converters; the others are shared.
local function struct_converter(fields, which)
  local converters = {}
  for name, field in pairs(fields) do converters[name] = field[which] end
  if next(converters) == nil then return nil end
  return function(value, context)
    if type(value) ~= "table" then return value end
    local result = {}
    for key, old in pairs(value) do result[key] = old end
    for name, convert in pairs(converters) do
      if result[name] ~= nil then
        local converted = convert(result[name], context)
        if converted == nil and which == "decoder" then
          converted = fields[name].default_value
        end
        result[name] = converted
      end
    end
    return setmetatable(result, getmetatable(value))
  end
end

local function define(name, self)
  named[name] = self
  for text in pairs(expressions) do expressions[text] = nil end
  return self
end

--- kv.struct "Name" { field = type, ... }
function kv.struct(name)
  return function(given)
    local fields, names = {}, {}
    for field, field_type in pairs(given) do
      if type(field) ~= "string" then
        error(("struct %s: a field's name is a string"):format(name), 2)
      end
      fields[field] = check_type(field_type, 2)
      names[#names + 1] = field
    end
    table.sort(names)
    local described = kv.array {}
    for i, field in ipairs(names) do
      described[i] = field_description(field, fields[field])
    end
    return define(name, new_type {
      description = { kind = "struct", name = name, fields = described },
      decoder = struct_converter(fields, "decoder"),
      encoder = struct_converter(fields, "encoder"),
    })
  end
end

local function enum_cases(given)
  local cases, raw = kv.array {}, "String"
  if #given > 0 then
    for i, case in ipairs(given) do cases[i] = case end
    return cases, raw
  end
  for case, value in pairs(given) do
    if math.type(value) == "integer" then raw = "Int" end
    cases[#cases + 1] = kv.array { case, value }
  end
  table.sort(cases, function(left, right) return left[1] < right[1] end)
  return cases, raw
end

--- kv.enum "Name" { "light", "dark" } or { low = 0, high = 10 }: scripts see
-- the raw values.
function kv.enum(name)
  return function(given)
    local cases, raw = enum_cases(given)
    return define(name, new_type {
      description = { kind = "enum", name = name, raw = raw, cases = cases },
    })
  end
end

-- ---- Compiling

--- The type of an expression such as "[Window]?".
function parse(text)
  local inner = text:match "^%s*(.-)%s*$"
  if named[inner] then return named[inner] end
  local optional = inner:match "^(.*)%?$"
  if optional then return check_type(optional, 3):optional() end
  local value = inner:match "^%[%s*String%s*:%s*(.*)%]$"
  if value then return kv.dictionary_of(value) end
  local element = inner:match "^%[(.*)%]$"
  if element then return kv.array_of(element) end
  return new_type { description = inner }
end

local function compile(value)
  local self = check_type(value, 3)
  local description = part(self)
  if self.has_default then
    description = { kind = "default", wrapped = description,
      default = self.default_value }
  end
  local compiled = type(description) == "string" and expression(description)
    or describe(description)
  attach(self, compiled, self.decoder ~= nil or self.encoder ~= nil)
  return self
end

local function decode(self, value, context)
  if value == nil or not self.decoder then return value end
  value = self.decoder(value, context)
  if value == nil then return self.default_value end
  return value
end

local function encode(self, value, context)
  if value == nil or not self.encoder then return value end
  return self.encoder(value, context)
end

install(compile, decode, encode)

-- ---- Stores

local Store = kv.store
kv.store = nil

--- for key, value in pairs(store)
function Store:__pairs()
  local keys, i = self:keys(), 0
  return function()
    i = i + 1
    if keys[i] ~= nil then return keys[i], self:get(keys[i]) end
  end
end

function Store:__len()
  return #self:keys()
end

return kv
