--- compiling.lua: expressions of types, and the library's form of types.

local shared = ...
local builtins, named = shared.builtins, shared.named
local new_type, check_type = shared.new_type, shared.check_type
local is_name, part = shared.is_name, shared.part
local array_of, dictionary_of = shared.array_of, shared.dictionary_of

--- The meaning of a name when it is used first: a struct may be inside itself,
-- or be defined later, also where a script that is loaded again defines it
-- again. A type of the host converts nothing here.
local function later(name)
  local function converter(which)
    return function(value, context)
      local found = shared.meaning(name)
      if not found or not found[which] then return value end
      return shared.converting[which](found, value, context)
    end
  end
  local function is_idle(which)
    local found = shared.meaning(name)
    return not (found and found[which])
  end
  return new_type { description = name, decoder = converter "decoder",
    encoder = converter "encoder", is_idle = is_idle, refers_to = name }
end

-- The most bytes of an expression: it is looked through at each of its levels.
local longest = 131072

--- The type of an expression such as "[Window]?"; names are looked up in
-- `scope` first, where one is given.
function shared.parse(text, scope)
  if #text > longest then
    error(string.format("The text of a type has at most %d bytes", longest), 0)
  end
  local start = string.find(text, "%S")
  local inner = start and string.match(text, ".*%S", start) or ""
  local known = builtins[inner] or scope and scope.named[inner]
  if known then return known end
  if not is_name(inner) and not shared.is_expression(text) then
    return new_type { description = text }
  end
  local function inside(name) return check_type(name, 4, scope) end
  -- All question marks at once: a text may have any number of them.
  local optional = string.match(inner, "^(.*[^%s?])[%s?]*%?$")
  if optional then return inside(optional):optional() end
  -- Only where it ends as it must: else %s* would be tried at every length.
  local value = string.sub(inner, -1) == "]"
    and string.match(inner, "^%[%s*String%s*:%s*(.*)%]$")
  if value then return dictionary_of(inside(value)) end
  local element, length = string.match(inner, "^%[(.*)%]%s*%(([^%[%]]*)%)$")
  if element then return array_of(inside(element)):length(length) end
  element = string.match(inner, "^%[(.*)%]$")
  if element then return array_of(inside(element)) end
  if is_name(inner) then
    return later(inner)
  end
  return new_type { description = inner }
end

local holds_types = { fields = true, cases = true, values = true, type = true,
  element = true, value = true, wrapped = true }

--- Whether a description of a name has not come before; notes it.
local function first_said(description, notes)
  local name, declared = description.name, notes.declared
  if notes.said[name] == description
    or declared and declared[name] == description then
    return false
  end
  notes.said[name] = description
  return true
end

--- A description with each name replaced by its present meaning; a name stays
-- inside itself, and where its description has come before. With
-- `notes.is_view` it describes the values that scripts see: converters may make
-- anything. Sets `notes.converts` where a value is converted, or left out, and
-- the meanings of names in `notes.names`. A part deeper than any type may be
-- stays as it is, and of those in `notes.declared` the name does. Counts the
-- parts in `notes.count`.
local function expanded(description, notes, inside)
  if type(description) == "string" then
    local found = named[description]
    notes.names[description] = found
    return found and not inside[description]
      and expanded(part(found), notes, inside) or description
  elseif type(description) ~= "table" then
    return description
  elseif description.raw then -- the cases of raw values are no types
    if not first_said(description, notes) then return description.name end
    notes.count = (notes.count or 0) + #description.cases
    return description
  elseif description.kind == "converted" then
    notes.converts = true
    return notes.is_view and "Any"
      or expanded(description.wrapped, notes, inside)
  end
  notes.count = (notes.count or 0) + 1
  if description.transient then notes.converts = true end
  local depth = (notes.depth or 0) + 1
  if depth > shared.depth then return description end
  local name = description.name
  if name and (description.kind == "struct" or description.kind == "enum") then
    if inside[name] or not first_said(description, notes) then
      return name
    end
    inside[name] = true
  else
    name = nil
  end
  local result = setmetatable({}, getmetatable(description))
  notes.depth = depth
  -- The first description counts: a list is walked in its order.
  local is_list = getmetatable(description) == shared.array_tag
  for key, value in (is_list and ipairs or pairs)(description) do
    result[key] = (holds_types[key] or math.type(key) == "integer")
      and expanded(value, notes, inside) or value
  end
  notes.depth = depth - 1
  if name then inside[name] = nil end
  return result
end

-- The compiled forms that the library's registry has names of: as long as it
-- keeps these, they count.
shared.kept = {}

--- The library's form of a description in which types have names.
local function described(description, notes, ...)
  local compiled = shared.described(description, ...)
  for name in pairs(notes.said) do shared.kept[name] = compiled end
  return compiled
end

local function compile(value, scope)
  local since = shared.definitions()
  local self = check_type(value, 4, scope)
  local description, notes = part(self), { said = {}, names = {} }
  if self.has_default then
    description = { kind = "default", wrapped = description,
      default = self.default_value }
  end
  description = expanded(description, notes, {})
  local compiled = described(description, notes, value, scope)
  self[shared.meanings] = notes.names
  shared.attach(self, compiled, notes.converts)
  if type(value) == "string" then
    shared.remember(value, self, scope, since)
  end
  return self
end

-- The most parts of types that annotations describe, and a type's own, besides:
-- a type that is defined before those that it names has their parts.
local most_parts, parts_of_a_type = 131072, 64

--- The names of types as they were defined: the parts of a type come first.
local function names_in_order()
  local names, defined = {}, shared.defined
  for name in pairs(named) do names[#names + 1] = name end
  table.sort(names, function(one, other)
    return (defined[one] or 0) < (defined[other] or 0)
  end)
  return names
end

--- Declares a type as scripts see its values, with all that is in it; gives the
-- number of its parts, and the error that it has.
local function declare(self, declared)
  local notes =
    { is_view = true, said = {}, names = {}, declared = declared }
  local description = expanded(part(self), notes, {})
  local ok, problem = pcall(described, description, notes)
  if not ok and type(problem) ~= "table" then error(problem, 0) end
  if ok then
    for name, said in pairs(notes.said) do declared[name] = said end
  end
  return notes.count or 0, not ok and problem.message
end

--- The types of this state and its host for the Lua language server: a file
-- that begins with ---@meta. A type with an error is a comment in it.
local function annotations()
  local wrong, declared, left = {}, {}, most_parts
  for _, name in ipairs(names_in_order()) do
    local count, problem = 0, "Too many parts in types before this one"
    if left > 0 then count, problem = declare(named[name], declared) end
    left = left - count - parts_of_a_type
    if problem then -- else it is declared, and every declared type annotated
      local message = string.gsub(problem, "%c", " ")
      wrong[#wrong + 1] = string.format("-- %s: %s\n", name, message)
    end
  end
  table.sort(wrong)
  return shared.annotate() .. table.concat(wrong)
end

--- Makes the types of this state known to a text that may name them: those that
-- were not used before are not known to the library yet. One with an error is
-- unknown there.
local function announce()
  for _, name in ipairs(names_in_order()) do
    local self = named[name]
    if not rawget(self, shared.meanings) then pcall(compile, self) end
  end
end

--- The types of names that a text has declared, by the names.
local function types_of(names)
  local types = {}
  for _, name in ipairs(names) do shared.undefine(name) end
  for _, name in ipairs(names) do types[name] = later(name) end
  return types
end

--- The structs and enums of a text in the type language, by their names.
local function from_text(text)
  if type(text) ~= "string" then
    error("declare: expected a text, found " .. type(text), 3)
  end
  announce()
  return types_of(shared.declare_text(text))
end

--- The structs and enums of a file in the type language, by their names; or nil
-- and an error.
local function from_file(path)
  if type(path) ~= "string" then
    error("types_from: expected a path, found " .. type(path), 3)
  end
  announce()
  local names, problem = shared.declare_file(path)
  if not names then return nil, problem end
  return types_of(names)
end

-- The functions of these files for scripts and the C module.
return {
  methods = shared.methods, struct = shared.struct, enum = shared.enum,
  array_of = array_of, dictionary_of = dictionary_of,
  declare = from_text, types_from = from_file,
  annotations = annotations, compile = compile, new_scope = shared.new_scope,
  decode = shared.decode_value, encode = shared.encode_value,
}
