-- A program on a store of a fleet, driven line by line: each line of standard
-- input is a piece of Lua, answered by "ok VALUE" or "CODE MESSAGE".
-- `open(options)` opens the store; `s` is it, and `kv` the module.
local kv = require "kvcodable"
local load = loadstring or load
math.randomseed(os.time())
_G.kv = kv
events = {}

local function failure(problem)
  if type(problem) ~= "table" then error(problem, 0) end
  error(problem, 0)
end

function open(name, options)
  local problem
  s, problem = kv.open(name, options)
  if not s then failure(problem) end
  if options.engine == "postgresql" or options.fleet then
    s:events(function(kind, message)
      events[#events + 1] = kind .. ": " .. message
    end)
  end
  return true
end

-- Raises what sync and its kin return.
function sync()
  local done, problem = s:sync()
  if not done then failure(problem) end
  return true
end

-- Adds one to a counter, as a transaction.
function add(key, step)
  s:update(key, function(old) return (old or 0) + (step or 1) end)
  return s:get(key)
end

-- Pumps until the condition holds; whether it did.
function await(seconds, condition)
  local start = os.time()
  repeat
    kv.wait(0.02)
    if condition() then return true end
  until os.difftime(os.time(), start) > seconds
  return false
end

function told(kind)
  for i, event in ipairs(events) do
    if event:find("^" .. kind .. ":") then return table.remove(events, i) end
  end
end

local function shown(value)
  if type(value) ~= "table" then return tostring(value) end
  return (kv.encode(value, kv.any, { format = "json" }):gsub("%s+", " "))
end

for line in io.lines() do
  local chunk, mistake = load(line)
  local good, value
  if chunk then
    good, value = pcall(chunk)
  else
    good, value = false, mistake
  end
  if good then
    print("ok " .. shown(value))
  else
    local code = type(value) == "table" and value.code or "error"
    print((code .. " " .. tostring(value)):gsub("\n", " "), "")
  end
  io.flush()
end
