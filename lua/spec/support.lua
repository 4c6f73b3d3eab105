-- support.lua: what the specs share.
local support = {}

--- A folder of its own for a spec, removed by the function it returns too.
function support.folder()
  local name = os.tmpname()
  os.remove(name)
  assert(os.execute("mkdir -m 700 " .. name))
  return name, function() os.execute("rm -rf " .. name) end
end

function support.contents(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

function support.write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
end

--- The error object that a call raises.
function support.failure(call, ...)
  local ok, problem = pcall(call, ...)
  assert(not ok, "expected an error")
  return problem
end

return support
