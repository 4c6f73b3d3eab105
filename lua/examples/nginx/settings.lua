-- settings.lua: typed settings that all workers share. Each worker has a Lua
-- of its own, and a store of its own on the same file.

local kv = require "kvcodable"

local types = {
  greeting = kv.string:length(1, 80):default "Hello",
  limit = kv.int:range(1, 100):default(10),
  blocked = kv.array_of(kv.string):default {},
}
local Settings = kv.struct "Settings"(types)

local settings = {}
local store
local blocked = {}  -- by name; made anew by the watch alone
local told = 0

local function block(names)
  blocked = {}
  for _, name in ipairs(names) do blocked[name] = true end
end

-- What another program wrote may be wrong: it is logged with its place, and
-- what was in force stays so.
local function pump(is_ending)
  if is_ending then return end
  local good, problem = pcall(kv.pump)
  if not good then ngx.log(ngx.ERR, tostring(problem)) end
end

-- In a worker, and not before: threads do not come along into a new process.
function settings.open()
  store = assert(kv.open_file(ngx.config.prefix() .. "settings.json", {
    format = "json", schema = Settings, durability = "immediate",
  }))
  store:watch("blocked", function(_, names)
    told = told + 1
    block(names)
  end)
  assert(ngx.timer.every(0.05, pump))
  local good, names = pcall(store.get, store, "blocked")
  if not good then return ngx.log(ngx.ERR, tostring(names)) end
  block(names)
end

function settings.close()
  local closed, problem = store:close()
  if not closed then ngx.log(ngx.ERR, tostring(problem)) end
end

local function say(status, answer)
  answer.worker = ngx.worker.pid()
  ngx.status = status
  ngx.header.content_type = "application/json"
  ngx.say(kv.encode(answer, nil, { format = "json" }))
end

-- GET /?name=NAME: a typed get in each request.
function settings.greet()
  local name = ngx.var.arg_name or "stranger"
  if blocked[name] then return say(403, { error = "blocked" }) end
  local greeting = store:get("greeting", types.greeting)
  say(200, { text = greeting .. ", " .. name })
end

local function get(key)
  local good, value = pcall(store.get, store, key, types[key])
  if not good then return say(500, { error = tostring(value) }) end
  say(200, { value = value })
end

local function set(key)
  ngx.req.read_body()
  local value, problem = kv.decode(ngx.req.get_body_data() or "", nil,
    { format = "json" })
  if value == nil then return say(400, { error = tostring(problem) }) end
  local good, refusal = pcall(store.set, store, key, value)
  if not good then return say(422, { error = tostring(refusal) }) end
  say(200, { value = value })
end

-- GET and PUT /settings/KEY, in JSON.
function settings.answer(key)
  if not types[key] then return say(404, { error = "no setting " .. key }) end
  local method = ngx.req.get_method()
  if method == "GET" then return get(key) end
  if method == "PUT" then return set(key) end
  say(405, { error = "GET or PUT" })
end

-- GET /told: how often this worker's watch was told.
function settings.tell()
  say(200, { told = told })
end

return settings
