--- One of the programs of Tests/suites/crowd.py, in Lua:
--- crowd.lua FILE NAME PEER...
local kv = require "kvcodable"
local clock = require "clock"

local file, name = arg[1], arg[2]
local peers = table.move(arg, 3, #arg, 1, {})
local options = { durability = "immediate", timeout = 60 }
local store = assert(kv.open_file(file, options))
local notes, seen = {}, {}

local function note(format, ...)
  notes[#notes + 1] = format:format(...)
end

local watch = store:watch({}, function(key, new)
  for _, peer in ipairs(peers) do
    if key == peer .. "-latest" and new then
      seen[peer] = new
      note("saw %s %d %d", peer, new, clock.now())
    end
  end
end)

local function pump_for(nanoseconds)
  local stop = clock.now() + nanoseconds
  while clock.now() < stop do
    clock.wait(kv.fd(), (stop - clock.now()) // 1000000 + 1)
    kv.pump()
  end
end

local function is_over()
  for _, peer in ipairs(peers) do
    local final = store:get(peer .. "-final")
    if not final or (seen[peer] or 0) < final then return false end
  end
  return true
end

--- Begins again where UserDefaults, which knows of no lock, wrote the file.
local function transaction(body)
  local ok, problem
  repeat
    ok, problem = pcall(store.transaction, store, body)
  until ok or problem.code ~= "conflict"
  assert(ok, problem)
end

io.stdout:write("ready\n")
io.stdout:flush()
assert(io.read("l") == "go")
local number = 0
repeat
  number = number + 1
  transaction(function(tx)
    tx:set("counter", (tx:get "counter" or 0) + 1)
    tx:set(name .. "-" .. number % 50, number)
    tx:set(name .. "-latest", number)
  end)
  note("set %d %d", number, clock.now())
  pump_for(20000000)
until clock.wait(0, 0)
transaction(function(tx)
  tx:set(name .. "-latest", number)
  tx:set(name .. "-final", number)
end)
local stop = clock.now() + 20000000000
while clock.now() < stop and not is_over() do pump_for(20000000) end
assert(store:close())
watch:cancel()
note("sum %d", number)
print(table.concat(notes, "\n"))
