-- scenario_runs.lua: runs one scenario of Tests/Scenarios with one engine. A
-- store with a name finds its layers by the environment, which no script can
-- change: such a scenario is run by this file as a program of its own:
-- scenario_runs.lua FILE INDEX ENGINE FOLDER
local kv = require "kvcodable"
local steps = require "lua.spec.scenario_steps"
local support = require "lua.spec.support"

local runs = {}

local text, equal = steps.text, steps.equal

--- Whether the store is opened by a name, since it has layers that belong to
-- names.
function runs.has_name(scenario)
  return scenario.suites ~= nil or scenario.administrator ~= nil
    or scenario.global ~= nil
end

-- ---- Files

local function write(folder, name, list)
  if list == nil then return nil end
  local path = folder .. "/" .. name
  assert(kv.write(path, list, nil, { format = "xml" }))
  return path
end

--- Writes the files of the layers, and gives the store's options.
local function layers(run, scenario)
  local options = { arguments = scenario.arguments, suites = {},
    defaults = scenario.registered, schema = steps.types[scenario.schema],
    durability = scenario.durability or "manual",
    managed_file = write(run.folder, "managed.plist", scenario.managed),
  }
  write(run.folder, ".GlobalPreferences.plist", scenario.global)
  if scenario.administrator ~= nil then
    assert(support.execute(("mkdir -m 700 %s/defaults"):format(run.folder)))
    write(run.folder, "defaults/settings.plist", scenario.administrator)
  end
  for i, list in ipairs(scenario.suites or {}) do
    options.suites[i] = "suite" .. i
    write(run.folder, ("suite%d.plist"):format(i), list)
  end
  if run.engine == "json" then options.format = "json" end
  if run.engine == "sqlite" or run.engine == "memory" then
    options.engine = run.engine
  end
  return options
end

local function write_start(run, start)
  if run.engine ~= "sqlite" then
    local format = run.engine == "json" and "json" or "xml"
    return assert(kv.write(run.file, start, nil, { format = format }))
  end
  local store = assert(kv.open_file(run.file))
  store:import(text(start))
  assert(store:close())
end

-- ---- Steps

local function begin(run, scenario)
  local has_name = runs.has_name(scenario)
  local is_plist = run.engine == "xml" or has_name and run.engine == "json"
  run.file = ("%s/settings.%s"):format(run.folder,
    is_plist and "plist" or run.engine)
  local options = layers(run, scenario)
  if scenario.start and run.engine ~= "memory" then
    write_start(run, scenario.start)
  end
  local open, place = kv.open_file, run.file
  if has_name then open, place = kv.open, "settings" end
  function run.open() steps.use(run, assert(open(place, options))) end
  run.open()
  if scenario.start and run.engine == "memory" then
    run.store:import(text(scenario.start))
  end
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

local function take(run, scenario)
  begin(run, scenario)
  steps.take_all(run, scenario.steps)
  kv.pump()
  equal("", table.concat(run.events, "; "), "events")
  equal(steps.own_text(run, scenario.stored), steps.own_text(run, stored(run)),
    "stored")
end

--- What went wrong in a scenario; nil if nothing did.
local function run_in(folder, scenario, engine)
  local run = { engine = engine, folder = folder, events = {} }
  local ok, problem = pcall(take, run, scenario)
  if run.store then run.store:close() end
  return not ok and tostring(problem) or nil
end

local function run_as_program(folder, engine, file, index)
  local output = folder .. "/output"
  local command = ("XDG_CONFIG_HOME=%s KVCODABLE_DEFAULTS_DIR=%s/defaults "
    .. "LUA_CPATH='%s' %s lua/spec/scenario_runs.lua %s %d %s %s > %s 2>&1")
    :format(folder, folder, package.cpath, support.program, file, index, engine,
      folder, output)
  if support.execute(command) then return nil end
  return support.contents(output)
end

--- Runs the scenario at an index of a file; gives what went wrong, or nil.
function runs.run(scenario, engine, file, index)
  local folder, remove = support.folder()
  local problem
  if runs.has_name(scenario) then
    problem = run_as_program(folder, engine, file, index)
  else
    problem = run_in(folder, scenario, engine)
  end
  remove()
  return problem
end

if arg and arg[0] == "lua/spec/scenario_runs.lua" then
  local file, index, engine, folder = support.unpack(arg)
  local scenario = assert(kv.read(file)).scenarios[tonumber(index)]
  local problem = run_in(folder, scenario, engine)
  io.write(problem or "")
  os.exit(problem and 1 or 0)
end

return runs
