-- The scenarios of Tests/Scenarios in Lua.
local kv = require "kvcodable"
local steps = require "lua.spec.scenario_steps"
local support = require "lua.spec.support"

local text, equal = steps.text, steps.equal
local path, place = steps.path, steps.place
local files = { xml = "settings.plist", json = "settings.json",
  sqlite = "settings.sqlite", memory = "memory" }
local types = assert(kv.types_from "Tests/Scenarios/types.kvtypes")

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

local function begin(run, scenario)
  local is_memory = run.engine == "memory"
  if scenario.start and not is_memory and run.engine ~= "sqlite" then
    assert(kv.write(run.file, scenario.start))
  elseif scenario.start and not is_memory then
    local store = assert(kv.open_file(run.file))
    store:import(text(scenario.start))
    assert(store:close())
  end
  run.store = assert(kv.open_file(run.file, {
    engine = is_memory and "memory" or nil, schema = types[scenario.schema],
    durability = scenario.durability or "manual",
  }))
  if scenario.start and is_memory then
    run.store:import(text(scenario.start))
  end
  run.target = run.store
  run.store:events(function(kind, message)
    if kind == "conflict" then table.insert(run.events, message) end
  end)
end

--- What the file holds; closes the store.
local function stored(run)
  if run.engine == "memory" then return run.store:layer "application" end
  if not run.is_closed then assert(run.store:close()) end
  if run.engine ~= "sqlite" then return kv.read(run.file) or {} end
  local store = assert(kv.open_file(run.file))
  local result = store:layer "application"
  store:close()
  return result
end

local function run_steps(run, scenario)
  begin(run, scenario)
  steps.take_all(run, scenario.steps)
  kv.pump()
  equal("", table.concat(run.events, "; "), "events")
  equal(text(scenario.stored), text(stored(run)), "stored")
end

local function run(scenario, engine)
  if scenario.merge then return merge(scenario) end
  local folder, remove = support.folder()
  local state = { engine = engine, file = folder .. "/" .. files[engine],
    events = {} }
  local ok, problem = pcall(run_steps, state, scenario)
  if state.store then state.store:close() end
  remove()
  if not ok then error(tostring(problem), 0) end
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
  return is_in(scenario.engines, engine)
    and not (is_shared and engine == "memory")
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

local list = assert(io.popen "ls Tests/Scenarios/*.json")
for file in list:lines() do
  local content = assert(kv.read(file))
  describe(file, function()
    for _, scenario in ipairs(content.scenarios) do
      for _, engine in ipairs(engines_of(scenario, content)) do
        it(("%s (%s)"):format(scenario.name, engine),
          function() run(scenario, engine) end)
      end
    end
  end)
end
list:close()
