-- support.lua: what the specs share.
local kv = require "kvcodable"

local support = {}

-- ---- Every Lua

-- Whether a number says if it is an integer or a real: not before 5.3.
support.has_integers = math.type ~= nil

support.unpack = table.unpack or unpack

function support.pack(...)
  return { n = select("#", ...), ... }
end

--- As math.type; where Lua has no integers, a whole number is one.
support.kind = math.type or function(value)
  if type(value) ~= "number" then return nil end
  local is_whole = value % 1 == 0 and value > -2 ^ 53 and value < 2 ^ 53
    and 1 / value ~= -math.huge
  return is_whole and "integer" or "float"
end

--- Whether a number is a real, as far as this Lua can tell.
function support.is_real(value)
  return type(value) == "number"
    and (not math.type or math.type(value) == "float")
end

-- Lua 5.1 takes a constant -0.0 for 0.
support.minus_zero = -1 / math.huge

--- Has the collector collect often, where it has such a mode; gives the mode
-- that it was in.
function support.generational()
  local ok, mode = pcall(collectgarbage, "generational")
  return ok and type(mode) == "string" and mode or nil
end

function support.collect_as(mode)
  if mode then collectgarbage(mode) end
end

--- Has the collector begin anew as soon as it has ended, or as usual.
function support.collect_often(is_often)
  local pause, step = is_often and 1 or 200, is_often and 1000 or 100
  if pcall(collectgarbage, "setpause", pause) then
    collectgarbage("setstepmul", step)
  else -- 5.5
    collectgarbage("param", "pause", pause)
    collectgarbage("param", "stepmul", step)
  end
end

--- A table whose finalizer calls a function with it: before 5.2, where tables
-- have none, that of a userdata in it.
function support.finalizer(call)
  if _VERSION ~= "Lua 5.1" then
    return setmetatable({}, { __gc = call })
  end
  local held, proxy = {}, newproxy(true)
  getmetatable(proxy).__gc = function() call(held) end
  held.proxy = proxy
  return held
end

-- The largest and the smallest integer.
support.most = kv.int64 "9223372036854775807"
support.least = kv.int64 "-9223372036854775808"

--- Whether a command of the shell succeeds, and its outcome: 5.1 gives only its
-- status.
function support.execute(command)
  local outcome, _, code = os.execute(command)
  if type(outcome) == "number" then code = math.floor(outcome / 256) end
  return code == 0, code
end

-- The program that runs the specs.
support.program = os.getenv "KVCODABLE_LUA_PROGRAM" or jit and "luajit"
  or "lua" .. _VERSION:match "%d%.%d"

--- Runs a script, with what follows for the shell, as a program of its own: as
-- execute.
function support.run(script)
  return support.execute(("LUA_CPATH='%s' %s %s"):format(package.cpath,
    support.program, script))
end

-- ---- Folders and stores

--- A folder of its own for a spec, removed by the function it returns too.
function support.folder()
  local name = os.tmpname()
  os.remove(name)
  assert(support.execute("mkdir -m 700 " .. name))
  return name, function() os.execute("rm -rf " .. name) end
end

--- Gives each spec of a block such a folder. `take` is called with it, and with
-- the path of a store's file in it; a store that it returns is closed before
-- the folder goes. `before` and `after` are busted's before_each and
-- after_each, which only spec files see.
function support.in_folder(before, after, take)
  local remove, store
  before(function()
    local folder
    folder, remove = support.folder()
    store = take(folder, folder .. "/settings.plist")
  end)
  after(function()
    if store then store:close() end
    remove()
  end)
end

--- Gives each spec of a block a store in memory: `take` is called with it.
function support.in_memory(before, after, take)
  local store
  before(function()
    store = assert(kv.open_file("memory", { engine = "memory" }))
    take(store)
  end)
  after(function() store:close() end)
end

function support.contents(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

function support.write(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  file:close()
end

--- Collects what nothing refers to, finalizers' leftovers too, and fills the
-- memory that is free then with other contents, in blocks of each size that a
-- handle may have had. The blocks last as long as what is returned.
function support.scrub()
  collectgarbage()
  collectgarbage()
  collectgarbage "stop"
  local blocks = {}
  for size = 0, 400, 8 do
    local bytes = ("Z"):rep(size)
    for _ = 1, 40 do blocks[#blocks + 1] = kv.data(bytes) end
  end
  collectgarbage "restart"
  return blocks
end

--- The error object that a call raises.
function support.failure(call, ...)
  local ok, problem = pcall(call, ...)
  assert(not ok, "expected an error")
  return problem
end

return support
