-- versions.lua: set and get from one Lua, each shape beside lua-cjson's encode
-- and decode in the same Lua. Prints a row for each shape (report.py), after
-- the name of the version.
--
--   versions.lua VERSION

local kv = require "kvcodable"
local cjson = require "cjson"
local common = require "Benchmarks.lua.shapes"
local time, median = common.time, common.median

local version = ...
local store = assert(kv.open_file("build/bench-versions.plist",
  { durability = "manual", engine = "memory" }))

local function measure(name, value, count)
  local function ours()
    store:set(name, value)
    return store:get(name)
  end
  local function peer() return cjson.decode(cjson.encode(value)) end
  assert(common.alike(value, ours()), name)
  assert(common.alike(value, peer()), name)
  local ours_took, peer_took = {}, {}
  for round = 1, 5 do
    ours_took[round] = time(count, ours)
    peer_took[round] = time(math.max(math.floor(count / 10), 1), peer)
  end
  print(("row\t%s: %s\tµs\t%.3f\tlua-cjson=%.3f"):format(version, name,
    median(ours_took) * 1e6, common.beside(ours_took, peer_took) * 1e6))
end

for _, shape in ipairs(common.six) do measure(shape[1], shape[2], shape[3]) end

-- What a call takes, less what calling a function that does nothing takes.
local function scalar(name, call)
  local with, without = {}, {}
  for round = 1, 9 do
    with[round] = time(100000, call)
    without[round] = time(100000, function() return store end)
  end
  print(("row\t%s: %s\tns\t%.1f"):format(version, name,
    (median(with) - median(without)) * 1e9))
end

store:set("scalar", 42)
scalar("get of a scalar", function() return store:get "scalar" end)
scalar("set of a scalar", function() store:set("scalar", 42) end)
