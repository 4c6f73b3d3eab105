--- types.lua: the table of a type, and its methods.
--
-- The first of the files that the C module runs when a script first needs one
-- of them; see sugar.lua. A type is an immutable table:
--
--   description  the form from which kvcodable's registry makes the type: a
--                string (an expression of the type language) or a table, whose
--                notation is in the documentation of CodableTypes
--   decoder, encoder   functions (value, context) where a converter is in the
--                type or below it; else nil
--   is_converted   whether a converter is in the type itself
--   is_idle      of a name, a function (which): whether the type that it means
--                has no decoder, or encoder
--   parts, element   the types of a struct's fields by their keys, or of the
--                values of an enum's cases; of elements or values
--   refers_to    the name of another type, which this one is
--   stored_key, has_default, default_value, is_transient, is_optional,
--   documentation, deprecation, is_secret
--                properties of the type as a struct's field

local shared = ...
local array_tag, dictionary_tag = shared.array_tag, shared.dictionary_tag
local builtins, Type = shared.builtins, shared.Type
local methods = {}

-- Named types of this Lua state, for expressions such as "[Window]".
local named = shared.named

--- A deep copy of a value, down to the depth that a value may have.
local function copied(value, copies, depth)
  if type(value) ~= "table" or depth == 0 then return value end
  copies, depth = copies or {}, depth or shared.depth
  if not copies[value] then
    local copy = {}
    copies[value] = copy
    for key, old in next, value do
      copy[key] = copied(old, copies, depth - 1)
    end
    local tag = getmetatable(value)
    if tag == array_tag or tag == dictionary_tag then
      setmetatable(copy, tag)
    end
  end
  return copies[value]
end

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

--- The type of a script's argument: a type of this module, or an expression,
-- whose names are looked up in `scope` first, where one is given; see
-- new_scope.
local function check_type(value, level, scope)
  if is_type(value) then return value end
  if type(value) == "string" then return shared.parse(value, scope) end
  error("expected a type or its name, found " .. type(value), level + 1)
end

-- The number of times that a name got a meaning.
local definitions = 0

-- When each name got its meaning: the number of definitions then.
local defined = {}

-- The number of types in each table of known ones: of compiled types, by their
-- expressions, where the C module looks first.
local sizes = setmetatable({}, { __mode = "k" })

local function forget(known)
  for text in next, known do known[text] = nil end
  sizes[known] = 0
end

--- Notes the type of an expression, unless a name got another meaning since
-- there were `since` definitions. A script that makes up ever new expressions
-- fills no memory.
local function remember(text, self, scope, since)
  if since ~= definitions then return end
  local known = scope and scope.known or shared.known
  local size = sizes[known]
  if not size or size >= 256 then
    forget(known)
    size = 0
  end
  known[text], sizes[known] = self, size + 1
end

--- Gives a name its meaning.
local function define(name, self)
  named[name] = self
  definitions = definitions + 1
  defined[name] = definitions
  for known in next, sizes do forget(known) end
  return self
end

--- Takes the meaning of a name away: it then has that of the library.
local function undefine(name)
  named[name], defined[name] = nil, nil
  definitions = definitions + 1
  for known in next, sizes do forget(known) end
end

--- Whether a text may be the name of a type.
local function is_name(text)
  return string.match(text, "^[%a_\128-\255][%w_\128-\255]*$") ~= nil
end

--- The meanings of a store's own names, looked up before this state's: types by
-- their names, and expressions, which may use the other names.
local function new_scope(given)
  if type(given) ~= "table" then
    error("types: expected a table, found " .. type(given), 0)
  end
  local pending, scope = {}, { named = {}, known = {} }
  for name, value in pairs(given) do
    if type(name) ~= "string" or builtins[name]
      or not is_name(name) then
      error(string.format("types: %s is no name for a type", tostring(name)), 0)
    end
    pending[name] = value
  end
  setmetatable(scope.named, { __index = function(found, name)
    local value = pending[name]
    if value == nil then return nil end
    pending[name] = nil -- inside itself, it means what it means elsewhere
    local ok, made = pcall(check_type, value, -1, scope)
    if not ok then
      error(type(made) == "string" and string.format("types.%s: %s", name, made)
        or made, 0)
    end
    found[name] = made
    return made
  end })
  for name in pairs(given) do local _ = scope.named[name] end
  return scope
end

local function attribute(self, name, value)
  local description = { kind = self.description }
  if type(self.description) == "table" then
    description = {}
    for key, old in pairs(self.description) do description[key] = old end
  end
  description[name] = value
  return with(self, { description = description })
end

--- A range as the type language writes it; nil and math.huge are no bound.
-- Integers that are no numbers of Lua have their digits as texts.
local function range(low, high)
  if type(low) == "string" and high == nil then return low end
  local function bound(number)
    if number == nil then return "" end
    if type(number) == "userdata" or type(number) == "cdata" then
      local digits = string.match(tostring(number), "^(%-?%d+)U?L?L?$")
      if digits then return digits end
    end
    if type(number) ~= "number" or number ~= number then
      error("expected numbers as bounds, or a text such as \"1...10\", found "
        .. (type(number) == "number" and "nan" or type(number)), 4)
    end
    if math.abs(number) == math.huge then return "" end
    local how = math.type(number) == "float" and "%.17g" or "%d"
    return (string.format(how, number))
  end
  return bound(low) .. "..." .. bound(high)
end

--- Numbers from `low` to `high`, both included; nil for no bound. A text says
-- it in the type language: "0..<1".
function methods:range(low, high)
  return attribute(self, "range", range(low, high))
end

--- Strings, data and arrays of `low` to `high` characters, bytes, elements: of
-- exactly `low` without a `high`, of at least `low` where that is math.huge. A
-- text says it in the type language: "1...".
function methods:length(low, high)
  if high == nil and type(low) ~= "string" then high = low end
  return attribute(self, "length", range(low, high))
end

--- A copy with words for people. A struct or enum has them itself, under its
-- name, until it has some of the kind; those behind them are a field's.
-- `name` is the property of a field, `key` that of a description.
local function with_words(self, name, key, value)
  local description = self.description
  local kind = type(description) == "table" and description.kind
  local declared = (kind == "struct" or kind == "enum")
    and named[description.name] == self and description[key] == nil
  if not declared then return with(self, { [name] = value }) end
  return define(description.name, attribute(self, key, value))
end

local function check_text(what, text)
  if type(text) ~= "string" then
    error(string.format("%s: expected a string, found %s", what, type(text)), 3)
  end
  return text
end

--- The meaning of the value, for editors, tools and documentation: the first
-- sentence is its title.
function methods:describe(text)
  text = check_text("describe", text)
  return with_words(self, "documentation", "documentation", text)
end

--- Advice to use something else.
function methods:deprecated(text)
  text = check_text("deprecated", text)
  return with_words(self, "deprecation", "deprecated", text)
end

--- A value that tools never show. The file holds it as it is: a keyring is
-- better for it.
function methods:secret()
  return with_words(self, "is_secret", "secret", true)
end

--- A value that may be absent.
function methods:optional()
  return with(self, { is_optional = true })
end

--- The value that get gives where none is stored: given as it is stored, so
-- that it passes the type's converters like a stored one.
function methods:default(value)
  if value == nil then error("nil is no default; use optional", 2) end
  return with(self, { has_default = true, default_value = copied(value) })
end

--- The key in the file, where it is not the field's name.
function methods:key(key)
  if type(key) ~= "string" then
    error("key: expected a string, found " .. type(key), 2)
  end
  return with(self, { stored_key = key })
end

--- A field that is never stored.
function methods:transient()
  return with(self, { is_transient = true })
end

--- Functions between the stored value and the one that the script sees:
-- `decode(stored, context)` and `encode(value, context)`. Either may be
-- absent. Decoding to nil gives the default, which is decoded in its turn: nil
-- where there is none, and where it decodes to nil too. Encoding to nil leaves
-- the key out. In an array, which has no holes, nil is kv.null.
function methods:convert(functions)
  local known = { decode = "function", encode = "function" }
  local is_right = type(functions) == "table"
  for name, value in next, is_right and functions or {} do
    is_right = is_right and known[name] == type(value)
  end
  if not is_right then
    error("convert: expected a table of functions, decode and encode", 2)
  end
  local inner_decoder, inner_encoder = self.decoder, self.encoder
  local decode = functions.decode or function(value) return value end
  local encode = functions.encode or function(value) return value end
  local converted = with(self, {
    is_converted = true,
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
  local name = type(self.description) == "table" and self.description.name
  if name and named[name] == self then define(name, converted) end
  return converted
end

shared.methods, shared.copied = methods, copied
shared.is_type, shared.new_type = is_type, new_type
shared.check_type, shared.define, shared.is_name = check_type, define, is_name
shared.new_scope, shared.remember = new_scope, remember
shared.undefine = undefine
shared.definitions = function() return definitions end
shared.defined = defined
