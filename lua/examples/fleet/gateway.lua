-- gateway.lua: limits that the administrators of a fleet set for all gateways.
-- Each worker has the store of the server in its memory, reads it alone, and
-- goes on with the last values that fit while the server is away or has others.

local kv = require "kvcodable"

local types = {
  burst = kv.int:range(1, 100):default(10),
  message = kv.string:length(1, 80):default "welcome",
}
local Limits = kv.struct "Limits"(types)

local gateway = {}
local store
local limits = { burst = 10, message = "welcome" }  -- those in force

-- What does not fit is logged with its place, and what was in force stays so.
local function take(key)
  local good, value = pcall(store.get, store, key, types[key])
  if good then
    limits[key] = value
  else
    ngx.log(ngx.ERR, "refused: ", tostring(value))
  end
end

-- A value that does not fit is an error of the pump: its watch is not called.
local function pump(is_ending)
  if is_ending then return end
  local good, problem = pcall(kv.pump)
  if not good then ngx.log(ngx.ERR, "refused: ", tostring(problem)) end
end

-- In a worker, and not before: connections do not come along into a new
-- process.
function gateway.open()
  store = assert(kv.open("gateway", {
    engine = "postgresql", server = "service=fleet", read_only = true,
    schema = Limits,
  }))
  store:events(function(kind, message)
    ngx.log(ngx.NOTICE, "the fleet: ", kind, ": ", message)
  end)
  for key in pairs(types) do
    take(key)
    store:watch(key, function() take(key) end)
  end
  assert(ngx.timer.every(0.05, pump))
end

function gateway.close()
  local closed, problem = store:close()
  if not closed then ngx.log(ngx.ERR, tostring(problem)) end
end

local function say(status, answer)
  answer.worker = ngx.worker.pid()
  ngx.status = status
  ngx.header.content_type = "application/json"
  ngx.say(kv.encode(answer, nil, { format = "json" }))
end

-- GET /: what each request needs is in memory.
function gateway.serve()
  say(200, { burst = limits.burst, message = limits.message })
end

-- PUT /limits/KEY: the limits are the administrators', not this machine's.
function gateway.change(key)
  if ngx.req.get_method() ~= "PUT" then return say(405, { error = "PUT" }) end
  ngx.req.read_body()
  local value = kv.decode(ngx.req.get_body_data() or "", nil,
    { format = "json" })
  local good, problem = pcall(store.set, store, key, value)
  if good then return say(200, { value = value }) end
  say(problem.code == "read_only" and 403 or 422, { error = tostring(problem) })
end

return gateway
