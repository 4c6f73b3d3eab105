-- tables.lua: set and get of a subtree from Lua, against the floor (floor.c)
-- and against lua-cjson's encode and decode, side by side in one run.
--
--   lua5.4 tables.lua [JSON file for the results]

local kv = require "kvcodable"
local copy = require "floor"
local cjson = require "cjson"

local function record(i)
  return {
    id = i, name = "record " .. i, active = i % 2 == 0, score = i * 0.5,
    email = "user" .. i .. "@example.org", count = i * 3, ratio = i / 7,
    city = "Springfield", zip = "0" .. i, visits = i % 100,
  }
end

local function array(count, make)
  local result = {}
  for i = 1, count do result[i] = make(i) end
  return result
end

local Record = kv.struct "Record" {
  id = kv.int, name = kv.string, active = kv.bool, score = kv.double,
  email = kv.string, count = kv.int, ratio = kv.double,
  city = kv.string, zip = kv.string, visits = kv.int,
}

-- Name, value, how often it is set and read in a round, and its type.
local shapes = {
  { "one 10-field record", record(1), 20000 },
  { "1,000 records", array(1000, record), 20 },
  { "100,000 integers", array(100000, function(i) return i end), 10 },
  { "100,000 floats", array(100000, function(i) return i + 0.5 end), 10 },
  { "10,000 strings",
    array(10000, function(i) return "string number " .. i end), 30 },
  { "10,000-key table", (function()
    local result = {}
    for i = 1, 10000 do result["key" .. i] = i end
    return result
  end)(), 20 },
  { "one record, typed", record(1), 5000, Record },
  { "1,000 records, typed", array(1000, record), 10, kv.array_of(Record) },
}

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

-- Seconds for one call, over `count` of them.
local function time(count, call)
  collectgarbage()
  local clock = os.clock
  local start = clock()
  for _ = 1, count do call() end
  return (clock() - start) / count
end

local function median(values)
  table.sort(values)
  return values[(#values + 1) // 2]
end

local store = assert(kv.open_file("build/bench-tables.plist",
  { durability = "manual", engine = "memory" }))

local results = {}
print(("%-22s %10s %10s %8s %8s %8s"):format("set + get", "floor", "ours",
  "ratio", "target", "cjson"))
for _, shape in ipairs(shapes) do
  local name, value, count, as = table.unpack(shape)
  local function ours()
    store:set(name, value, as)
    return store:get(name, as)
  end
  local function floor() return copy(value) end
  local function json() return cjson.decode(cjson.encode(value)) end
  assert(equal(ours(), value), name)
  assert(equal(floor(), value), name)
  local ratios, json_ratios, floors, times = {}, {}, {}, {}
  for round = 1, 9 do
    local base = time(count, floor)
    floors[round] = base
    times[round] = time(count, ours)
    ratios[round] = times[round] / base
    json_ratios[round] = time(math.max(count // 4, 1), json) / base
  end
  local result = {
    name = name, floor = median(floors), ours = median(times),
    ratio = median(ratios), cjson = median(json_ratios),
    target = as and 2 or 1.3,
  }
  results[#results + 1] = result
  print(("%-22s %8.2fus %8.2fus %8.2f %8.1f %8.2f %s"):format(name,
    result.floor * 1e6, result.ours * 1e6, result.ratio, result.target,
    result.cjson, result.ratio <= result.target and "met" or "NOT MET"))
end

store:set("scalar", 42)
local scalar = time(200000, function() return store:get "scalar" end)
local empty = time(200000, function() return store end)
print(("%-22s %8.0f ns, target 200"):format("get of a scalar",
  (scalar - empty) * 1e9))
results[#results + 1] =
  { name = "get of a scalar", ours = scalar - empty, target = 200e-9 }
if arg[1] then assert(kv.write(arg[1], results, nil, { format = "json" })) end
