-- For the examples without arguments: sample(number, name, suffix) makes the
-- script's argument a copy of a file that comes with it, or without a name the
-- path of a file that is not there yet. What an example leaves there can be
-- looked at.
local samples = (arg[0]:match "^.*/" or "") .. "samples/"

return function(number, name, suffix)
  if arg[number] then return end
  local path = os.tmpname()
  local folder = os.getenv "TMPDIR"
  os.remove(path)
  if folder then path = folder .. path:match "/[^/]*$" end
  path = path .. (suffix or ".plist")
  if name then
    local sample = assert(io.open(samples .. name, "rb"))
    local copy = assert(io.open(path, "wb"))
    copy:write(sample:read "*a")
    copy:close()
    sample:close()
    print("a copy of samples/" .. name .. " is " .. path)
  else
    print("a new file is " .. path)
  end
  table.insert(arg, number, path)
end
