--- words.lua: errors in a type, in the words of its author.
--
-- A type of tables becomes a description with its fields and cases in the order
-- of their names, which no script has written: an error in it names the field.

local shared = ...
local describe, expression = shared.describe, shared.expression
local named = shared.named

-- ---- Texts

local function is_known(name, scope)
  return named[name] or scope and rawget(scope.named, name)
end

--- A text that the library reports as malformed, with the column, for one that
-- is no expression whatever its names mean; nil for an expression. The library
-- stops at the first name that only this state knows: `Any` replaces it then,
-- unless the name has only one or two letters.
function shared.malformed(text, scope)
  local word = "[%a_\128-\255][%w_\128-\255]*"
  local masked = string.gsub(text, word, function(name)
    local _, length = string.gsub(name, "[^\128-\191]", "")
    if length > 2 and is_known(name, scope) then
      return "Any" .. string.rep(" ", length - 3)
    end
  end)
  for _, one in ipairs { text, masked } do
    local ok, problem = pcall(expression, one)
    if ok or type(problem) ~= "table" then return nil end
    if not string.find(problem.message, "^No type is named") then return one end
  end
end

-- ---- Descriptions

-- Keys of descriptions that hold lists, and those that say nothing to the
-- type's author.
local lists = { fields = true, cases = true, values = true }
local silent = { type = true, element = true, value = true, wrapped = true }

--- The steps from the innermost type that has a name.
local function named_steps(path, description)
  local steps, here, i = {}, description, 1
  while path[i] ~= nil do
    local step, outer = path[i], here
    here = type(here) == "table" and here[step] or nil
    if lists[step] and type(here) == "table" and here[path[i + 1]] ~= nil then
      if step ~= "values" then steps = { outer.name } end
      i = i + 1
      here = here[path[i]]
      steps[#steps + 1] = type(here) == "table" and (here.name or here[1])
        or here
    elseif not silent[step] then
      steps[#steps + 1] = step
    end
    i = i + 1
  end
  return steps
end

local function path_text(path)
  local text = ""
  for i, step in ipairs(path) do
    if math.type(step) == "integer" then
      text = string.format("%s[%d]", text, step)
    else
      text = text .. (i > 1 and "." or "") .. step
    end
  end
  return text
end

--- The error about a description, with the names of fields and cases for their
-- indexes in it.
local function in_words(problem, description)
  local steps = named_steps(problem.path, description)
  local from, to =
    string.find(problem.message, " at " .. path_text(problem.path), 1, true)
  if not from or #problem.path == 0 then return problem end
  local where = #steps > 0 and " at " .. path_text(steps) or ""
  problem.message = string.sub(problem.message, 1, from - 1) .. where
    .. string.sub(problem.message, to + 1)
  problem.path = steps
  return problem
end

--- The text from a column on, which counts characters.
local function from_column(text, column)
  local start = 1
  for _ = 2, column do
    start = string.find(text, "[^\128-\191]", start + 1) or #text + 1
  end
  return string.sub(text, start)
end

--- Puts the name into the error about a text in which `Any` stands for it.
local function unmask(problem, text)
  local start, word_end = string.find(problem.message, "found \"Any")
  local name = start
    and string.match(from_column(text, problem.column), "^[%w_\128-\255]+")
  if name then
    problem.message = string.sub(problem.message, 1, word_end - 3) .. name
      .. string.sub(problem.message, word_end + 1)
  end
end

--- The type of a description. An error in the type of an expression, such as an
-- unknown name, is reported for the expression's text, with the column.
function shared.described(description, text, scope, is_masked)
  local make = type(description) == "string" and expression or describe
  local ok, made = pcall(make, description)
  if ok then return made end
  if type(made) ~= "table" then error(made, 0) end
  if type(text) == "string" then
    local _, other = pcall(expression, text)
    local column = type(other) == "table" and other.column
    local name = column and string.match(text, "^[%w_\128-\255]+", column)
    if name and not is_known(name, scope) then
      made = other
    end
    if is_masked then unmask(made, text) end
    name = string.match(made.message, "^No type is named ([^ ;]+)")
    if name and is_known(name, scope) then -- too short for another name
      made.message = string.format('Expected a type, found "%s"', text)
    end
  end
  error(in_words(made, description), 0)
end
