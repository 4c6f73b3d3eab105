-- A settings module as many programs have one: get, set, default, each, flush,
-- and names with dots. A program requires it; run by itself it shows itself:
--
--   lua5.4 settings.lua [FILE.json]

local kv = require "kvcodable"

local Settings = {}
Settings.__index = Settings

local function path_of(name)
  local path = {}
  for key in name:gmatch "[^.]+" do path[#path + 1] = key end
  return path
end

--- The settings in a file; nil and a message where it cannot be read. A type,
-- `schema`, may say what they have to be.
function Settings.open(file, defaults, schema)
  local store, problem = kv.open_file(file,
    { defaults = defaults, schema = schema, durability = "manual" })
  if not store then return nil, "cannot open the settings: " .. problem end
  return setmetatable({ store = store, defaults = defaults or {} }, Settings)
end

function Settings:get(name) return self.store:get(path_of(name)) end

--- nil is the default again. A wrong value is nil and a message.
function Settings:set(name, value)
  local change = value == nil and self.store.reset or self.store.set
  local done, problem = pcall(change, self.store, path_of(name), value)
  if not done then return nil, tostring(problem) end
  return true
end

function Settings:default(name)
  local value = self.defaults
  for _, key in ipairs(path_of(name)) do
    value = type(value) == "table" and value[key] or nil
  end
  return value
end

--- for name, value in settings:each(): the settings, those in others included.
function Settings:each()
  local function go(part, prefix)
    for key, value in part:pairs() do
      if kv.type(value) ~= "dictionary" then
        coroutine.yield(prefix .. key, value)
      else
        go(part:at(key), prefix .. key .. ".")
      end
    end
  end
  return coroutine.wrap(function() go(self.store, "") end)
end

function Settings:flush() return self.store:sync() end
function Settings:close() return self.store:close() end

local is_script = arg and arg[0] and arg[0]:match "settings%.lua$"
if not is_script then return Settings end

dofile((arg[0]:match "^.*/" or "") .. "sample.lua")(1, nil, ".json")
local settings = assert(Settings.open(arg[1],
  { volume = 7, window = { width = 640, title = "Main" } },
  "[String: Any]"))
settings:set("window.width", 800)
settings:set("volume", 9)
settings:set("volume", nil)
for name, value in settings:each() do
  print(name, value, "default", settings:default(name))
end
print("refused", select(2, settings:set("window.width.x", 1)))
assert(settings:flush())
settings:close()
