--- sugar.lua: types made of types, and what is easier said in Lua.
--
-- Runs behind types.lua, which says what a type is; returns the module's table.
-- In one file, long as it is: converters, and what says where one failed, share
-- the trail of steps to the value.

local kv, shared = ...
-- What a host may take away from its scripts later.
local error, getmetatable, ipairs, math, next, pairs, pcall, select,
  setmetatable, table, type = error, getmetatable, ipairs, math, next, pairs,
  pcall, select, setmetatable, table, type
local array_tag, copied = shared.array_tag, shared.copied
local describe, expression = kv.describe, kv.expression
local attach, install, annotate = kv.attach, kv.install, kv.annotate
local named, builtins, defining = shared.named, shared.builtins, shared.defining
local is_type, new_type = shared.is_type, shared.new_type
local check_type, define = shared.check_type, shared.define
for _, name in ipairs { "describe", "expression", "attach", "install",
  "annotate" } do
  kv[name] = nil
end

-- ---- Parts

--- A type as a part of another's description, with what is said around it.
local function part(field)
  local description = field.description
  if field.is_converted then
    description = { kind = "converted", wrapped = description }
  end
  if field.is_optional then
    return { kind = "optional", wrapped = description }
  end
  return description
end

local to_bytes, from_bytes = kv.encode, kv.decode
local defaults = setmetatable({}, { __mode = "k" })

--- A type's default as reading an absent value gives it to the converters: in
-- the kinds of the type, with the defaults of what is in it.
local function default_of(self)
  if defaults[self] == nil then
    local plain = new_type { description = self.description }
    local bytes, problem =
      to_bytes(self.default_value, plain, { format = "binary" })
    if not bytes then error(problem, 0) end
    defaults[self] = from_bytes(bytes, plain)
  end
  return copied(defaults[self])
end

--- What the converters of a type, or those in it, make of a stored value. What
-- they make nil is the default, which is stored as every other value is.
local function decoded(self, value, context)
  local result = self.decoder(value, context)
  if result ~= nil or not self.has_default then return result end
  return self.decoder(default_of(self), context)
end

local function encoded(self, value, context)
  return self.encoder(value, context)
end

local converting = { decoder = decoded, encoder = encoded }

-- Where the converters that run are: the steps to the value that is being
-- converted. What an error leaves in it is its place.
local trail, depth = {}, 0

--- Converts what is in a table; its tag, if it has one, stays. What an optional
-- element has in the place of nil is nobody's to convert.
local function each(element, which, is_array)
  if not element[which] then return nil end
  local convert = converting[which]
  return function(values, context)
    if type(values) ~= "table" then return values end
    local result, inside = {}, depth + 1
    for key, value in next, values do
      trail[inside], depth = key, inside
      if value ~= kv.null then value = convert(element, value, context) end
      if value == nil and is_array then value = kv.null end
      result[key] = value
    end
    depth = inside - 1
    if getmetatable(values) ~= array_tag then return result end
    return setmetatable(result, array_tag)
  end
end

--- Arrays of `element`.
function kv.array_of(element)
  element = check_type(element, 2)
  return new_type {
    description = { kind = "array", element = part(element) },
    decoder = each(element, "decoder", true),
    encoder = each(element, "encoder", true),
  }
end

--- Dictionaries of string to `value`.
function kv.dictionary_of(value)
  value = check_type(value, 2)
  return new_type {
    description = { kind = "dictionary", value = part(value) },
    decoder = each(value, "decoder"), encoder = each(value, "encoder"),
  }
end

--- Fields in the order of their names.
local function describe_fields(fields)
  local described = kv.array {}
  for name, field in pairs(fields) do
    described[#described + 1] = {
      name = name, type = part(field), key = field.stored_key,
      default = field.default_value, transient = field.is_transient,
    }
  end
  table.sort(described, function(one, other) return one.name < other.name end)
  return described
end

local function left_out() return nil end

--- Converts the fields that have converters; the others are shared. What is
-- never stored may be anything, and does not get as far as being stored.
local function struct_converter(fields, which)
  local converters = {}
  for name, field in pairs(fields) do
    if which == "encoder" and field.is_transient then
      converters[name] = left_out
    elseif field[which] then
      converters[name] = converting[which]
    end
  end
  if next(converters) == nil then return nil end
  return function(value, context)
    if type(value) ~= "table" then return value end
    local result, inside = {}, depth + 1
    for key, old in next, value do result[key] = old end
    for name, convert in pairs(converters) do
      if result[name] ~= nil then
        trail[inside], depth = name, inside
        result[name] = convert(fields[name], result[name], context)
      end
    end
    depth = inside - 1
    return result
  end
end

--- Begins the declaration of a name, which may not be one of a built-in type.
local function begin(what, name, ...)
  if type(name) ~= "string" or select("#", ...) > 0 then
    error(('%s: expected kv.%s "Name" { ... }'):format(what, what), 3)
  elseif builtins[name] then
    error(("%s %s: the name is a built-in type's"):format(what, name), 3)
  elseif not shared.is_name(name) then
    error(("%s %s: no name for a type"):format(what, name), 3)
  end
  defining[name] = true
end

--- kv.struct "Name" { field = type, ... }
function kv.struct(name, ...)
  begin("struct", name, ...)
  return function(given)
    local fields = {}
    for field, field_type in pairs(given) do
      if type(field) ~= "string" then
        error(("struct %s: a field's name is a string"):format(name), 2)
      end
      fields[field] = check_type(field_type, 2)
    end
    return define(name, new_type {
      description =
        { kind = "struct", name = name, fields = describe_fields(fields) },
      decoder = struct_converter(fields, "decoder"),
      encoder = struct_converter(fields, "encoder"),
    })
  end
end

local function raw_cases(given)
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

--- The associated values of a case as fields, by their keys: a type, or a table
-- of types, in their order and by their labels.
local function case_fields(given)
  local fields = {}
  for label, value in pairs(is_type(given) and { given } or given) do
    if math.type(label) == "integer" then label = "_" .. label - 1 end
    fields[label] = check_type(value, 3)
  end
  return fields
end

--- Converts the values of the case that a value is of.
local function case_converter(cases, which)
  local converters = {}
  for case, fields in pairs(cases) do
    converters[case] = struct_converter(fields, which)
  end
  return next(converters) and function(value, context)
    if type(value) ~= "table" then return value end
    local result, inside = {}, depth + 1
    for case, values in next, value do
      local convert = converters[case]
      trail[inside], depth = case, inside
      result[case] = convert and convert(values, context) or values
    end
    depth = inside - 1
    return result
  end
end

local function variant(name, given)
  local cases, described = {}, kv.array {}
  for case, values in pairs(given) do
    if math.type(case) == "integer" then case, values = values, {} end
    if type(case) ~= "string" or type(values) ~= "table" then
      error(("enum %s: a case is a name, or has a table of its values"):format(
        name), 3)
    end
    cases[case] = case_fields(values)
    described[#described + 1] =
      { name = case, values = describe_fields(cases[case]) }
  end
  table.sort(described, function(one, other) return one.name < other.name end)
  return new_type {
    description = { kind = "enum", name = name, cases = described },
    decoder = case_converter(cases, "decoder"),
    encoder = case_converter(cases, "encoder"),
  }
end

--- kv.enum "Name" { "light", "dark" } or { low = 0, high = 10 }: scripts see
-- the raw values. kv.enum "Shape" { "empty", circle = { radius = kv.double },
-- square = kv.double }: cases with associated values, which scripts see as
-- { circle = { radius = 1.0 } }, { square = { _0 = 1.0 } }, { empty = {} }.
function kv.enum(name, ...)
  begin("enum", name, ...)
  return function(given)
    for _, value in pairs(given) do
      if type(value) == "table" then
        return define(name, variant(name, given))
      end
    end
    local cases, raw = raw_cases(given)
    return define(name, new_type {
      description = { kind = "enum", name = name, raw = raw, cases = cases },
    })
  end
end

-- ---- Compiling

--- A name that no type has yet: a struct inside itself, one that is defined
-- later, or a type of the host, which converts nothing here.
local function later(name)
  local function converter(which)
    return function(value, context)
      local found = named[name]
      if not found or not found[which] then return value end
      return converting[which](found, value, context)
    end
  end
  return new_type { description = name, decoder = converter "decoder",
    encoder = converter "encoder" }
end

--- The type of an expression such as "[Window]?"; names mean what `scope`
-- says, where one is given.
function shared.parse(text, scope)
  local inner = text:match "^%s*(.-)%s*$"
  local known = builtins[inner] or scope and scope.named[inner]
    or not defining[inner] and named[inner]
  if known then return known end
  local function inside(name) return check_type(name, 4, scope) end
  local optional = inner:match "^(.*)%?$"
  if optional then return inside(optional):optional() end
  local value = inner:match "^%[%s*String%s*:%s*(.*)%]$"
  if value then return kv.dictionary_of(inside(value)) end
  local element, length = inner:match "^%[(.*)%]%s*%(([^%[%]]*)%)$"
  if element then return kv.array_of(inside(element)):length(length) end
  element = inner:match "^%[(.*)%]$"
  if element then return kv.array_of(inside(element)) end
  if shared.is_name(inner) then
    return later(inner)
  end
  return new_type { description = inner }
end

local holds_types = { fields = true, cases = true, values = true, type = true,
  element = true, value = true, wrapped = true }

--- A description in which names stand for what they mean now; inside itself, a
-- name stays. `view` is for what scripts see: converters may make anything.
local function expanded(description, view, inside)
  if type(description) == "string" then
    local found = not inside[description] and named[description]
    return found and expanded(part(found), view, inside) or description
  elseif type(description) ~= "table" or description.raw then
    return description -- the cases of raw values are no types
  elseif description.kind == "converted" then
    return view and "Any" or expanded(description.wrapped, view, inside)
  end
  local name = description.name
  if name and (description.kind == "struct" or description.kind == "enum") then
    if inside[name] then return name end
    inside = setmetatable({ [name] = true }, { __index = inside })
  end
  local result = setmetatable({}, getmetatable(description))
  for key, value in pairs(description) do
    result[key] = (holds_types[key] or math.type(key) == "integer")
      and expanded(value, view, inside) or value
  end
  return result
end

local function compile(value, scope)
  local self = check_type(value, 3, scope)
  local description = part(self)
  if self.has_default then
    description = { kind = "default", wrapped = description,
      default = self.default_value }
  end
  description = expanded(description, false, {})
  local compiled = type(description) == "string" and expression(description)
    or describe(description)
  attach(self, compiled, self.decoder ~= nil or self.encoder ~= nil)
  return self
end

--- What the types of this state and its host are to the Lua language server: a
-- file that begins with ---@meta.
function kv.annotations()
  local descriptions = kv.array {}
  for _, self in pairs(named) do
    local description = expanded(part(self), true, {})
    if type(description) == "table" then
      descriptions[#descriptions + 1] = description
    end
  end
  return annotate(descriptions)
end

--- The steps of the trail behind the first `start`, as far as they make a path.
local function steps_behind(start)
  local steps = {}
  for i = start + 1, depth < start + 256 and depth or start do
    local step = trail[i]
    if type(step) ~= "string"
      and (math.type(step) ~= "integer" or step < 1) then
      break
    end
    steps[#steps + 1] = step
  end
  return steps
end

--- What `convert` makes of a value; or nil, the text that a converter raised
-- and the steps to where it stood. Whatever else it raises is raised.
local function placed(convert, self, value, context)
  local start = depth
  local ok, result = pcall(convert, self, value, context)
  if ok then return result end
  local steps = steps_behind(start)
  depth = start
  if type(result) ~= "string" or result == "not enough memory" then
    error(result, 0)
  end
  return nil, result, steps
end

local function decode(self, value, context)
  if value == nil or not self.decoder then return value end
  return placed(decoded, self, value, context)
end

local function encode(self, value, context)
  if value == nil or not self.encoder then return value end
  return placed(encoded, self, value, context)
end

install(compile, decode, encode, shared.new_scope)

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
