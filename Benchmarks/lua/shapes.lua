-- shapes.lua: what the benchmarks of Lua set and get, and how they time it. In
-- the language that all versions share.

local M = {}

function M.record(i)
  return {
    id = i, name = "record " .. i, active = i % 2 == 0, score = i * 0.5,
    email = "user" .. i .. "@example.org", count = i * 3, ratio = i / 7,
    city = "Springfield", zip = "0" .. i, visits = i % 100,
  }
end

function M.array(count, make)
  local result = {}
  for i = 1, count do result[i] = make(i) end
  return result
end

local record, array = M.record, M.array

-- Name, value, how often it is set and read in a round.
M.six = {
  { "one 10-field record", record(1), 10000 },
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
}

-- Seconds for one call, over `count` of them.
function M.time(count, call)
  collectgarbage()
  local clock = os.clock
  local start = clock()
  for _ = 1, count do call() end
  return (clock() - start) / count
end

function M.median(values)
  local sorted = {}
  for i, value in ipairs(values) do sorted[i] = value end
  table.sort(sorted)
  return sorted[math.floor((#sorted + 1) / 2)]
end

-- Equal but for the kind of number: JSON has one, and lua-cjson 14 digits.
function M.alike(a, b)
  if type(a) == "number" then return math.abs(a - b) <= 1e-9 * math.abs(a) end
  if type(a) ~= "table" then return a == b end
  for key, value in pairs(a) do
    if not M.alike(value, b[key]) then return false end
  end
  return true
end

-- Of our times and a peer's, round by round: ours is the median, the peer's is
-- ours times the median of its ratios to ours. A disturbance of the machine
-- slows a whole round, but not always as many of our calls as of a peer's.
function M.beside(ours, peers)
  local ratios = {}
  for i, took in ipairs(ours) do ratios[i] = peers[i] / took end
  return M.median(ours) * M.median(ratios)
end

return M
