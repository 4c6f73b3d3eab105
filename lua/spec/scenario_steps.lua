-- scenario_steps.lua: takes the steps of Tests/Scenarios, whose README.md has
-- their meaning. Run as a program, it is the other process B, and takes one
-- step: scenario_steps.lua FILE JSON
local kv = require "kvcodable"
local support = require "lua.spec.support"

local steps = { types = assert(kv.types_from "Tests/Scenarios/types.kvtypes") }

-- ---- Values and paths

function steps.text(value)
  if value == nil then return "nothing" end
  return kv.encode(value, nil, { format = "json" })
end

function steps.equal(expected, found, what)
  if expected == found then return end
  error(("%s: expected %s, found %s"):format(what, expected, found), 0)
end

--- A path of a scenario, whose indexes begin with 0.
function steps.path(list)
  local result = {}
  for i, step in ipairs(list) do
    result[i] = type(step) == "number" and step + 1 or step
  end
  return result
end

--- A path as messages show it.
function steps.place(list)
  local words = {}
  for i, step in ipairs(list) do
    words[i] = type(step) == "number" and ("[%d]"):format(step)
      or i > 1 and "." .. step or step
  end
  return table.concat(words)
end

--- A message with indexes from 1.
local function from_one(message)
  return (message:gsub("%[(%d+)%]", function(index)
    return ("[%d]"):format(index + 1)
  end))
end

--- The text of what a store has of its own. The order of the unset paths does
-- not count, and a layer that is read through the store has none.
function steps.own_text(run, list)
  if type(list) ~= "table" or list.KVUnset == nil then
    return steps.text(list)
  end
  local rest, paths = {}, {}
  for key, value in pairs(list) do
    if key ~= "KVUnset" then rest[key] = value end
  end
  if run.engine == "sqlite" or run.engine == "memory" then
    return steps.text(rest)
  end
  if type(list.KVUnset) ~= "table" then return steps.text(list) end
  for i, each in ipairs(list.KVUnset) do paths[i] = steps.text(each) end
  table.sort(paths)
  return ("%s; unset: %s"):format(steps.text(rest), table.concat(paths, " "))
end

local function change(value, step)
  for key, new in pairs(step.with or {}) do value[key] = new end
  for _, key in ipairs(step.without or {}) do value[key] = nil end
end

-- ---- Steps, by their verbs

local text, equal = steps.text, steps.equal
local path, place = steps.path, steps.place
local actions = {}

function actions.set(run, step)
  run.target:set(path(step.set), step.to, step.type,
    step.replace and { replace = true } or nil)
end

function actions.remove(run, step) run.target:remove(path(step.remove)) end

function actions.reset(run, step) run.target:reset(path(step.reset)) end

function actions.get(run, step)
  equal(text(step.is), text(run.target:get(path(step.get), step.type)),
    place(step.get))
end

function actions.update(run, step)
  run.target:update(path(step.update), step.type, function(value)
    value = value or {}
    change(value, step)
    return value
  end)
end

function actions.edit(run, step)
  local value = run.store:get(path(step.edit), step.type) or {}
  steps.take_all(run, step.meanwhile or {})
  change(value, step)
  run.store:set(path(step.edit), value, step.type)
end

function actions.transaction(run, step)
  local outer, is_over = run.target, {}
  local ok, problem = pcall(run.store.transaction, run.store, function(tx)
    run.target = tx
    steps.take_all(run, step.transaction)
    if step["rolls back"] then error(is_over, 0) end
  end)
  run.target = outer
  if not ok and problem ~= is_over then error(problem, 0) end
end

function actions.sync(run)
  local ok, problem = run.store:sync()
  if not ok then error(problem, 0) end
end

function actions.close(run)
  local ok, problem = run.store:close()
  run.is_closed = true
  if not ok then error(problem, 0) end
end

function actions.event(run, step)
  kv.pump()
  local message = table.remove(run.events, 1) or "no event"
  -- Events count indexes from 0.
  if message:find(" at " .. place(step.path), 1, true) then return end
  error("the event names no " .. place(step.path) .. ": " .. message, 0)
end

-- ---- Steps about the layers

--- Goes on with a store.
function steps.use(run, store)
  run.store, run.target = store, store
  run.is_closed = false
  store:events(function(kind, message)
    if kind == "conflict" then table.insert(run.events, message) end
  end)
end

function actions.file(run, step)
  local found
  if run.engine == "sqlite" or run.engine == "memory" then
    found = run.store:layer "application"
  else
    assert(run.store:sync())
    found = kv.read(run.file) or {}
  end
  equal(steps.own_text(run, step.file), steps.own_text(run, found), "file")
end

function actions.origin(run, step)
  local origin = run.target:origin(path(step.origin))
  local suite = step.layer == "suite" and (step.suite or 0) + 1 or nil
  equal(step.layer or "none", origin and origin.layer or "none",
    "origin of " .. place(step.origin))
  equal(tostring(suite), tostring(origin and origin.suite), "suite")
end

function actions.keys(run, step)
  local part = #step.keys == 0 and run.target or run.target:at(path(step.keys))
  local keys = part:keys()
  table.sort(keys)
  equal(table.concat(step.are, " "), table.concat(keys, " "), "keys")
end

function actions.register(run, step) run.store:register(step.register) end

function actions.reopen(run)
  if run.engine == "memory" then return end
  assert(run.store:close())
  run.open()
end

-- ---- Programs

local programs = {}

function programs.A(run, step)
  for verb, action in pairs(actions) do
    if step[verb] ~= nil then return action(run, step) end
  end
  error("unknown step " .. text(step), 0)
end

function programs.B(run, step)
  assert(support.run(("lua/spec/scenario_steps.lua '%s' '%s'"):format(run.file,
    text(step))), "B failed")
end

function programs.foreign(run, step) assert(kv.write(run.file, step.write)) end

local function take(run, step)
  local ok, problem = pcall(programs[step.by or "A"], run, step)
  local expected = step.fails
  if not expected then
    if not ok then error(problem, 0) end
    return
  end
  if ok then error("no failure of " .. text(step), 0) end
  problem = kv.problem and kv.problem(problem) or problem
  if type(problem) == "string" then error(problem, 0) end
  equal(expected.code, problem.code, tostring(problem))
  if expected.path then
    equal(place(path(expected.path)), place(problem.path), tostring(problem))
  end
  if expected.message then
    equal(from_one(expected.message), tostring(problem), "message")
  end
end

function steps.take_all(run, list)
  for _, step in ipairs(list) do take(run, step) end
end

if arg and arg[0] == "lua/spec/scenario_steps.lua" then
  local store = assert(kv.open_file(arg[1]))
  programs.A({ store = store, target = store }, assert(kv.decode(arg[2])))
  assert(store:close())
end

return steps
