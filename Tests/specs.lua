-- Runs the specs where busted does not run, for lack of its modules in C: knows
-- what they use of it, with luassert, which is Lua alone.
--   lua5.5 Tests/specs.lua lua/spec/values_spec.lua ...
assert = require "luassert"
require "lua.spec.handles"

local passed, failed = 0, 0
local block = { before = {}, after = {}, names = {} }

local function call_all(list, name)
  if list.outer then call_all(list.outer, name) end
  for _, call in ipairs(list[name]) do call() end
end

function before_each(call) table.insert(block.before, call) end

function after_each(call) table.insert(block.after, call) end

function describe(name, body)
  local outer = block
  block = { before = {}, after = {}, outer = outer,
    name = outer.name and outer.name .. " " .. name or name }
  body()
  block = outer
end

local function text_of(problem)
  return debug.traceback(tostring(problem), 2)
end

local ending

function finally(call) ending = call end

function it(name, body)
  local here = block
  local ok, problem = xpcall(function()
    call_all(here, "before")
    body()
  end, text_of)
  local cleared, other = xpcall(function()
    if ending then ending() end
    ending = nil
    call_all(here, "after")
  end, text_of)
  if ok and cleared then
    passed = passed + 1
    return
  end
  failed = failed + 1
  print(("not ok - %s %s\n%s"):format(here.name, name, problem or other))
end

for _, path in ipairs(arg) do
  block = { before = {}, after = {} }
  dofile(path)
end
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and 0 or 1, true)
