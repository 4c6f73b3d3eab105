-- The scenarios of Tests/Scenarios in Lua.
local kv = require "kvcodable"
local runs = require "lua.spec.scenario_runs"
local steps = require "lua.spec.scenario_steps"

local text, equal = steps.text, steps.equal
local path, place = steps.path, steps.place

--- One line for each conflict.
local function lines(conflicts, convert)
  local result = {}
  for i, conflict in ipairs(conflicts) do
    result[i] = ("%s: ours %s, theirs %s, kept %s"):format(
      place(convert(conflict.path)), text(conflict.ours),
      text(conflict.theirs), conflict.kept)
  end
  return table.concat(result, "; ")
end

local function merge(scenario)
  local input = scenario.merge
  local value, conflicts = kv.merge(input.ancestor, input.ours, input.theirs)
  equal(text(scenario.is), text(value), "result")
  equal(lines(scenario.conflicts or {}, path),
    lines(conflicts, function(found) return found end), "conflicts")
end

local function run(scenario, engine, file, index)
  if scenario.merge then return merge(scenario) end
  local problem = runs.run(scenario, engine, file, index)
  if problem then error(problem, 0) end
end

local function is_in(list, name)
  for _, each in ipairs(list or { name }) do
    if each == name then return true end
  end
  return false
end

local function allows(scenario, engine)
  local words = text(scenario)
  local is_shared = words:find('"by":"', 1, true)
  local is_foreign = words:find('"by":"foreign"', 1, true)
  -- Locked values cannot be put into a store in memory.
  if engine == "memory" and scenario.managed and scenario.start then
    return false
  end
  return is_in(scenario.engines, engine)
    and not ((is_shared or runs.has_name(scenario)) and engine == "memory")
    and not (is_foreign and engine == "sqlite")
end

--- The engines that a scenario of a file runs with.
local function engines_of(scenario, content)
  local result = {}
  if not is_in(scenario["in"] or content["in"], "lua") then return result end
  if scenario.merge then return { "no store" } end
  for _, engine in ipairs { "xml", "json", "sqlite", "memory" } do
    if allows(scenario, engine) then result[#result + 1] = engine end
  end
  return result
end

-- The Swift tests write random ones.
local list = assert(io.popen
  "ls Tests/Scenarios/*.json build/scenarios/*.json 2> /dev/null")
for file in list:lines() do
  local content = assert(kv.read(file))
  describe(file, function()
    for index, scenario in ipairs(content.scenarios) do
      for _, engine in ipairs(engines_of(scenario, content)) do
        it(("%s (%s)"):format(scenario.name, engine),
          function() run(scenario, engine, file, index) end)
      end
    end
  end)
end
list:close()
