-- handles.lua: notes the handles that the specs make, so that the last spec can
-- check that none was left open. Loaded before the specs (.busted).
local kv = require "kvcodable"

local handles = { made = 0 }
local alive = setmetatable({}, { __mode = "k" })

local function note(handle, ...)
  if type(handle) == "userdata" then
    alive[handle] = true
    handles.made = handles.made + 1
  end
  return handle, ...
end

local function wrap(owner, name)
  local original = owner[name]
  owner[name] = function(...) return note(original(...)) end
end

wrap(kv, "open")
wrap(kv, "open_file")
local sample = kv.open_file("sample", { engine = "memory" })
local methods = debug.getmetatable(sample).__index
wrap(methods, "at")
wrap(methods, "watch")
wrap(methods, "events")
sample:close()

--- The handles that are open still, as texts.
function handles.open()
  for _ = 1, 3 do collectgarbage() end
  local open = {}
  for handle in pairs(alive) do
    local text = tostring(handle)
    if text:find("(open)", 1, true) then open[#open + 1] = text end
  end
  return open
end

--- The watches that kv.pump would still ask, of all stores.
function handles.watches()
  local count = 0
  local class = debug.getregistry()["kvcodable.watch"]
  for key, set in pairs(debug.getregistry()) do
    if type(key) == "userdata" and type(set) == "table" then
      for watch in pairs(set) do
        if debug.getmetatable(watch) == class then count = count + 1 end
      end
    end
  end
  return count
end

package.loaded["lua.spec.handles"] = handles
return handles
