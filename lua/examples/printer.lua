-- Writes any value of a property list down, as a person reads it: kv.type tells
-- what each part is. A store's values, or those of a file:
--
--   lua5.4 printer.lua [FILE]

local kv = require "kvcodable"
local sample = dofile((arg[0]:match "^.*/" or "") .. "sample.lua")
sample(1, "com.example.launcher.plist")

local write

local function sorted_keys(dictionary)
  local keys = {}
  for key in pairs(dictionary) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

local function hexadecimal(data)
  return (data:bytes():gsub(".", function(byte)
    return ("%02x"):format(byte:byte())
  end))
end

-- How to write a value of each kind; numbers, booleans, int64, uint64, real,
-- uid and null are what tostring gives.
local writers = {
  string = function(value) return ("%q"):format(value) end,
  date = function(value) return "date " .. tostring(value) end,
  data = function(value) return "data <" .. hexadecimal(value) .. ">" end,
  array = function(value, indent)
    local lines = {}
    for _, element in ipairs(value) do
      lines[#lines + 1] = indent .. "  - " .. write(element, indent .. "    ")
    end
    return #lines == 0 and "[]" or "\n" .. table.concat(lines, "\n")
  end,
  dictionary = function(value, indent)
    local lines = {}
    for _, key in ipairs(sorted_keys(value)) do
      lines[#lines + 1] = indent .. "  " .. key .. ": "
        .. write(value[key], indent .. "  ")
    end
    return #lines == 0 and "{}" or "\n" .. table.concat(lines, "\n")
  end,
}

function write(value, indent)
  local writer = writers[kv.type(value)]
  return writer and writer(value, indent) or tostring(value)
end

local value, problem = kv.read(arg[1])
if value == nil then
  print("cannot read: " .. problem)
  os.exit(1)
end
print(arg[1] .. ":" .. write(value, ""))
print("some more:" .. write({
  kv.date(0), kv.data "\0\255", kv.uint64 "18446744073709551615",
  kv.int64 "9007199254740993", kv.uid(7), kv.null, kv.array(), {}, true, 1.5,
}, ""))
