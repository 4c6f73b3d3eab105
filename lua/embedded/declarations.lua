--- declarations.lua: types made of types.

local shared = ...
local array_tag, builtins = shared.array_tag, shared.builtins
local is_type, new_type = shared.is_type, shared.new_type
local check_type, define = shared.check_type, shared.define
local each, struct_converter = shared.each, shared.struct_converter

--- An array of a description, tagged so that an empty one is an array too.
local function list(values)
  return setmetatable(values, array_tag)
end

--- A type as a part of another's description, with `optional` and converters.
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

--- Arrays of `element`.
local function array_of(element)
  element = check_type(element, 3)
  return new_type {
    description = { kind = "array", element = part(element) },
    element = element,
    decoder = each(element, "decoder", true),
    encoder = each(element, "encoder", true),
  }
end

--- Dictionaries of string to `value`.
local function dictionary_of(value)
  value = check_type(value, 3)
  return new_type {
    description = { kind = "dictionary", value = part(value) },
    element = value,
    decoder = each(value, "decoder"), encoder = each(value, "encoder"),
  }
end

--- The results of `describe` for each name in a table, and its value, in the
-- order of the names.
local function in_order(values, describe)
  local described = list {}
  for name in pairs(values) do described[#described + 1] = name end
  table.sort(described)
  for i, name in ipairs(described) do
    described[i] = describe(name, values[name])
  end
  return described
end

local function describe_field(name, field)
  return { name = name, type = part(field), key = field.stored_key,
    default = field.default_value, transient = field.is_transient,
    documentation = field.documentation, deprecated = field.deprecation,
    secret = field.is_secret }
end

--- Fields in the order of their names.
local function describe_fields(fields)
  return in_order(fields, describe_field)
end

--- Begins the declaration of a name, which may not be one of a built-in type.
local function begin(what, name, ...)
  if type(name) ~= "string" or select("#", ...) > 0 then
    error(string.format('%s: expected kv.%s "Name" { ... }', what, what), 4)
  elseif builtins[name] then
    error(string.format("%s %s: the name is a built-in type's", what, name), 4)
  elseif not shared.is_name(name) then
    error(string.format("%s %s: no name for a type", what, name), 4)
  end
end

--- Checks that a table follows the name.
local function check_body(what, name, given)
  if type(given) == "table" then return end
  error(string.format("%s %s: expected a table, found %s", what, name,
    type(given)), 3)
end

--- The fields that are stored, by their keys, as a type's parts.
local function by_keys(fields)
  local parts = {}
  for name, field in pairs(fields) do
    if not field.is_transient then parts[field.stored_key or name] = field end
  end
  return parts
end

--- kv.struct "Name" { field = type, ... }
local function struct(name, ...)
  begin("struct", name, ...)
  return function(given)
    check_body("struct", name, given)
    local fields = {}
    for field, field_type in pairs(given) do
      if type(field) ~= "string" then
        error(string.format("struct %s: a field's name is a string", name), 2)
      end
      fields[field] = check_type(field_type, 2)
    end
    return define(name, new_type {
      description =
        { kind = "struct", name = name, fields = describe_fields(fields) },
      parts = by_keys(fields),
      decoder = struct_converter(fields, "decoder"),
      encoder = struct_converter(fields, "encoder"),
    })
  end
end

--- Cases that are their own raw values, or names with raw values of one kind.
local function raw_cases(name, given)
  local cases, is_list, kind = {}, #given > 0, nil
  for case, value in pairs(given) do
    local found = math.type(value) or type(value)
    if shared.kind_of(value) == "int64" then found = "integer" end
    if is_list and math.type(case) ~= "integer" or type(case) ~= "string"
      and not is_list then
      error(string.format("enum %s: expected a list of cases, or a table of "
        .. "their names with raw values", name), 3)
    elseif found ~= "string" and (is_list or found ~= "integer") then
      error(string.format("enum %s: expected %s, found %s", name, is_list
        and "the names of cases" or "strings or integers as raw values",
        found), 3)
    elseif kind and kind ~= found then
      error(string.format("enum %s: expected raw values of one kind, strings "
        .. "or integers", name), 3)
    end
    kind = found
    cases[case] = value
  end
  cases = is_list and list(cases) or in_order(cases, function(case, value)
    return list { case, value }
  end)
  return cases, kind == "integer" and "Int" or "String"
end

--- The associated values of a case as fields, by their keys: a type, or a table
-- of types, in their order and by their labels.
local function case_fields(given)
  local fields = {}
  for label, value in pairs(is_type(given) and { given } or given) do
    local name = math.type(label) == "integer" and "_" .. label - 1 or label
    fields[name] = check_type(value, 3)
  end
  return fields
end

local function variant(name, given)
  local cases, parts = {}, {}
  for key, value in pairs(given) do
    local case, values = key, value
    if math.type(key) == "integer" then case, values = value, {} end
    if type(case) ~= "string" or type(values) ~= "table" then
      error(string.format(
        "enum %s: a case is a name, or has a table of its values", name), 3)
    end
    cases[case] = case_fields(values)
    parts[case] = new_type { parts = by_keys(cases[case]),
      decoder = struct_converter(cases[case], "decoder"),
      encoder = struct_converter(cases[case], "encoder") }
  end
  local described = in_order(cases, function(case, fields)
    return { name = case, values = describe_fields(fields) }
  end)
  return new_type {
    description = { kind = "enum", name = name, cases = described },
    parts = parts,
    decoder = shared.case_converter(cases, "decoder"),
    encoder = shared.case_converter(cases, "encoder"),
  }
end

--- kv.enum "Name" { "light", "dark" } or { low = 0, high = 10 }: scripts see
-- the raw values. kv.enum "Shape" { "empty", circle = { radius = kv.double },
-- square = kv.double }: cases with associated values, which scripts see as
-- { circle = { radius = 1.0 } }, { square = { _0 = 1.0 } }, { empty = {} }.
local function enum(name, ...)
  begin("enum", name, ...)
  return function(given)
    check_body("enum", name, given)
    for _, value in pairs(given) do
      if type(value) == "table" then
        return define(name, variant(name, given))
      end
    end
    local cases, raw = raw_cases(name, given)
    return define(name, new_type {
      description = { kind = "enum", name = name, raw = raw, cases = cases },
    })
  end
end

shared.part = part
shared.array_of, shared.dictionary_of = array_of, dictionary_of
shared.struct, shared.enum = struct, enum
