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

--- The error of a text that is no expression whatever its names mean, which has
-- a column; nil for an expression. The library knows some of the names only
-- when all of a type is described: here it looks for none of them.
local function fault(text)
  local ok, problem = pcall(describe, text)
  return not ok and type(problem) == "table" and problem.column and problem
    or nil
end

--- Whether a text is an expression, whatever its names mean.
function shared.is_expression(text)
  return not fault(text)
end

--- The name at a column of the text, which counts characters; nil where none
-- begins there.
local function name_at(text, column)
  local start = 1
  for _ = 2, column do
    start = string.find(text, "[^\128-\191]", start + 1) or #text + 1
  end
  return string.match(text, "^[%w_\128-\255]+", start)
end

--- The error that the author of the text is to see, for one in what was made of
-- it: with the column in the whole text, where it is in the text.
local function in_text(problem, text, scope)
  local ok, other = pcall(expression, text)
  if ok or type(other) ~= "table" or not other.column then return problem end
  local name = name_at(text, other.column)
  if name and not is_known(name, scope) then return other end
  return fault(text) or problem
end

-- ---- Descriptions

-- Keys of descriptions that hold lists, and those that say nothing to the
-- type's author.
local lists = { fields = true, cases = true, values = true }
local silent = { type = true, element = true, value = true, wrapped = true }

--- The steps from the innermost type that has a name: the path that an error's
-- becomes, in which names of fields and cases stand for their indexes.
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

--- The type of a description. An error in the type of an expression, such as an
-- unknown name, is reported for the expression's text, with the column.
function shared.described(description, text, scope)
  local make = type(description) == "string" and expression or describe
  local ok, made = pcall(make, description, named_steps)
  if ok then return made end
  if type(made) == "table" and type(text) == "string" then
    made = in_text(made, text, scope)
  end
  error(made, 0)
end
