--- converters.lua: converters of the parts of a type, and converting values.

local shared = ...
local null, array_tag = shared.null, shared.array_tag
local to_bytes, from_bytes = shared.encode, shared.decode
local copied, new_type = shared.copied, shared.new_type

local defaults = setmetatable({}, { __mode = "k" })

--- A type's default as reading an absent value gives it to the converters: in
-- the kinds of the type, with the defaults of its parts.
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

--- The value that the converters of a type, or of its parts, make of a stored
-- one. Where they make nil it is the default, given as it is stored.
local function decoded(self, value, context)
  local result = self.decoder(value, context)
  if result ~= nil or not self.has_default then return result end
  return self.decoder(default_of(self), context)
end

local function encoded(self, value, context)
  return self.encoder(value, context)
end

local converting = { decoder = decoded, encoder = encoded }

-- The path of the running converters: the steps to the value that is being
-- converted. An error leaves its own path in it.
local trail, depth = {}, 0

--- Converts the values of a table; its tag, if it has one, stays. The null that
-- an optional element has instead of nil is not converted.
local function each(element, which, is_array)
  if not element[which] then return nil end
  local convert, is_idle = converting[which], element.is_idle
  return function(values, context)
    if type(values) ~= "table" or is_idle and is_idle(which) then
      return values
    end
    local result, inside = {}, depth + 1
    for key, value in next, values do
      trail[inside], depth = key, inside
      if value ~= null then value = convert(element, value, context) end
      if value == nil and is_array then value = null end
      result[key] = value
    end
    depth = inside - 1
    if getmetatable(values) ~= array_tag then return result end
    return setmetatable(result, array_tag)
  end
end

local function left_out() return nil end

--- Converts the fields that have converters; the others are shared. A transient
-- field may hold anything, and is left out before it would be stored.
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

--- Converts the values of a value's case.
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

-- The key in a type's table of the meanings of its names when it was compiled,
-- which may be the type: before 5.2 a weak table would keep it. And those in
-- the type whose converters run.
local meanings, names = {}, nil

local function meaning(name)
  return names and names[name]
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

-- How many calls of the module convert, one inside a converter of the other.
local nesting = 0

--- The result of `convert` for a value of a type, in which names have the
-- meanings; or nil, the text that a converter raised and the steps to its
-- value. Any other error is raised. LuaJIT has no bound of its own for calls
-- in C inside one another.
local function placed(convert, self, value, context, known)
  if nesting == 32 then
    return nil, "converters inside one another, more than 32 deep", {}
  end
  local start, outer = depth, names
  names, nesting = known, nesting + 1
  local ok, result = pcall(convert, self, value, context)
  names, nesting = outer, nesting - 1
  if ok then return result end
  local steps = steps_behind(start)
  depth = start
  if type(result) ~= "string" or result == "not enough memory" then
    error(result, 0)
  end
  return nil, result, steps
end

-- The types of whole stores, by their schemas: values by stored keys.
local wholes = setmetatable({}, { __mode = "k" })

local function whole(self)
  if not wholes[self] then
    wholes[self] = new_type {
      decoder = struct_converter(self.parts, "decoder"),
      encoder = struct_converter(self.parts, "encoder"),
    }
  end
  return wholes[self]
end

--- The part of a type at a path of stored keys; nil where there is none. Names
-- may refer to each other in a circle.
local function part_at(self, steps, known)
  for i = 0, #steps do
    if i > 0 then
      self = self.parts and self.parts[steps[i]] or self.element
    end
    for _ = 1, 64 do
      if not self or not self.refers_to then break end
      self = known[self.refers_to]
    end
    if not self then return nil end
  end
  return #steps == 0 and self.parts and whole(self) or self
end

--- Converts a value of a type, or of its part at a path of stored keys.
local function convert(which, self, value, context, steps)
  local known = rawget(self, meanings)
  if steps then self = part_at(self, steps, known) end
  if value == nil or not self or not self[which] then return value end
  return placed(converting[which], self, value, context, known)
end

local function decode(...)
  return convert("decoder", ...)
end

local function encode(...)
  return convert("encoder", ...)
end

shared.converting, shared.each = converting, each
shared.struct_converter, shared.case_converter = struct_converter,
  case_converter
shared.decode_value, shared.encode_value = decode, encode
shared.meanings, shared.meaning = meanings, meaning
