-- tables.lua: set and get of a subtree from Lua, against the floor (floor.c)
-- and against serializers' encode and decode, side by side in one run. Prints
-- a row for each shape (report.py).
--
--   tables.lua                      all rows
--   tables.lua SHAPE WHO COUNT      only COUNT calls of "ours" or "floor", for
--                                   a profiler

local kv = require "kvcodable"
local copy = require "floor"
local cjson = require "cjson"
local dkjson = require "dkjson"
local messagepack = require "messagepack"
local common = require "Benchmarks.lua.shapes"
local record, array = common.record, common.array
local time, median, alike = common.time, common.median, common.alike

local Record = kv.struct "Record" {
  id = kv.int, name = kv.string, active = kv.bool, score = kv.double,
  email = kv.string, count = kv.int, ratio = kv.double,
  city = kv.string, zip = kv.string, visits = kv.int,
}

-- The same with four other keys in the file, and three defaults.
local Renamed = kv.struct "Renamed" {
  id = kv.int:key "ID", name = kv.string:key "user name",
  active = kv.bool:default(true), score = kv.double,
  email = kv.string:key "mail", count = kv.int,
  ratio = kv.double:default(1.5), city = kv.string:default "none",
  zip = kv.string:key "code", visits = kv.int,
}

-- Name, value, how often it is set and read in a round, and its type.
local shapes = array(#common.six, function(i) return common.six[i] end)
for _, shape in ipairs {
  { "one record, typed", record(1), 5000, Record },
  { "1,000 records, typed", array(1000, record), 10, kv.array_of(Record) },
  { "one record, renamed", record(1), 5000, Renamed },
  { "1,000 records, renamed", array(1000, record), 10, kv.array_of(Renamed) },
} do shapes[#shapes + 1] = shape end
for i, as in ipairs { "[Int]", "[Double]", "[String]", "[String: Int]" } do
  local name, value, count = table.unpack(shapes[i + 2])
  shapes[#shapes + 1] = { name .. ", typed", value, count, as }
end

local function equal(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return a == b and math.type(a) == math.type(b)
  end
  for key, value in pairs(a) do
    if not equal(value, b[key]) then return false end
  end
  for key in pairs(b) do if a[key] == nil then return false end end
  return true
end

local store = assert(kv.open_file("build/bench-tables.plist",
  { durability = "manual", engine = "memory" }))

local serializers = {
  { "lua-cjson", function(value) return cjson.decode(cjson.encode(value)) end },
  { "lua-dkjson",
    function(value) return (dkjson.decode(dkjson.encode(value))) end },
  { "MessagePack",
    function(value) return messagepack.decode(messagepack.encode(value)) end },
}

-- What is compared: a set and get of the value, and the floor.
local function calls(name, value, as)
  return function()
    store:set(name, value, as)
    return store:get(name, as)
  end, function() return copy(value) end
end

local wanted, who, repeats = ...
if wanted then
  for _, shape in ipairs(shapes) do
    if shape[1] == wanted then
      local ours, floor = calls(wanted, shape[2], shape[4])
      local call = who == "ours" and ours or floor
      for _ = 1, tonumber(repeats) do call() end
      return
    end
  end
  error("no shape " .. wanted)
end

local function measure(shape)
  local name, value, count, as = table.unpack(shape)
  local ours, floor = calls(name, value, as)
  assert(equal(ours(), value), name)
  assert(equal(floor(), value), name)
  -- Serializers know no types: with one, ours does other work than theirs.
  local peers = as and {} or serializers
  for _, peer in ipairs(peers) do
    assert(alike(value, peer[2](value)), peer[1])
  end
  local rounds = {}
  for i = 1, 5 do
    local round = { floor = time(count, floor), ours = time(count, ours) }
    for _, peer in ipairs(peers) do
      round[peer[1]] = time(math.max(count // 10, 1),
        function() return peer[2](value) end)
    end
    rounds[i] = round
  end
  local function took(whose)
    local times = {}
    for i, round in ipairs(rounds) do times[i] = round[whose] end
    return times
  end
  local ours_took = took "ours"
  local row = { "row", name, "µs", ("%.3f"):format(median(ours_took) * 1e6) }
  local function add(peer)
    row[#row + 1] = ("%s=%.3f"):format(peer,
      common.beside(ours_took, took(peer)) * 1e6)
  end
  add "floor"
  for _, peer in ipairs(peers) do add(peer[1]) end
  print(table.concat(row, "\t"))
end

for _, shape in ipairs(shapes) do measure(shape) end

store:set("scalar", 42)
local with, without = {}, {}
for round = 1, 9 do
  with[round] = time(200000, function() return store:get "scalar" end)
  without[round] = time(200000, function() return store end)
end
print(("row\ts:get of a scalar from Lua\tns\t%.1f"):format(
  (median(with) - median(without)) * 1e9))
