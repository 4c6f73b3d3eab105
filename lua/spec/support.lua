-- support.lua: what the specs share.
local kv = require "kvcodable"

local support = {}

--- A folder of its own for a spec, removed by the function it returns too.
function support.folder()
  local name = os.tmpname()
  os.remove(name)
  assert(os.execute("mkdir -m 700 " .. name))
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
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

function support.write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
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
