-- A script that tries everything to get out of what its host gave it: `kv`, the
-- module; `ui`, a part of a store to read; `mine`, a part to read and write.
-- Returns how many ways it tried, and the list of those that led out.

local kv, ui, mine, home = kv, ui, mine, home
local tries, escapes = 0, {}

--- `attempt` gives something true where it got out.
local function try(what, attempt, ...)
  tries = tries + 1
  local ok, got = pcall(attempt, ...)
  if ok and got then escapes[#escapes + 1] = what end
end

-- The standard library

for _, name in ipairs { "require", "package", "io", "os", "debug", "dofile",
  "loadfile", "load", "loadstring", "getfenv", "setfenv", "newproxy", "jit",
  "ffi" } do
  try(name, function() return _G[name] end)
end

-- Other stores and files

local other = home .. "/other.plist"
try("open", kv.open, "com.example.other")
try("open with options", kv.open, "com.example.other", { read_only = true })
try("open_file", kv.open_file, other)
try("open_file in memory", kv.open_file, "x", { engine = "memory" })
try("read", kv.read, home .. "/secret.plist")
try("write", kv.write, other, { 1 })
try("write a type", kv.write, other, { 1 }, "[Int]")
local _, problem = kv.open "com.example.other"
try("an error without a code", function()
  return problem.code ~= "access_denied"
end)

-- Above the root

local function secret(value)
  return type(value) == "table" and value.secret
    or type(value) == "string" and value:find("keep out", 1, true)
end
for _, handle in ipairs { ui, mine } do
  for name, path in pairs {
    dots = "..", slash = "/secret", key = "secret", up = { ".." },
    root = {}, zero = { 0 }, minus = { -1, "secret" }, table = { {} },
    number = 1, float = { 0.5 },
  } do
    try("get " .. name, function() return secret(handle:get(path)) end)
    try("at " .. name, function()
      local there = handle:at(path)
      return secret(there:get {}) or secret(there:get "secret")
    end)
  end
  try("keys", function()
    for _, key in ipairs(handle:keys()) do
      if key == "secret" then return true end
    end
  end)
  try("pairs", function()
    for key, value in pairs(handle) do
      if key == "secret" or secret(value) then return true end
    end
  end)
  try("export", function() return handle:export() end)
  try("layer", function() return handle:layer "application" end)
  try("register", function()
    handle:register { secret = "mine" }
    return true
  end)
  try("import", function()
    handle:import '{"secret": "mine"}'
    return true
  end)
  try("events", function() return handle:events(print) end)
  for _, getter in ipairs { "bool", "integer", "double", "string" } do
    try(getter .. "_for_key", function()
      return handle[getter .. "_for_key"](handle, "secret")
    end)
  end
  try("watch", function()
    local seen
    local watch = handle:watch({}, function(key, new, old)
      seen = seen or key == "secret" or secret(new) or secret(old)
    end)
    kv.pump()
    watch:cancel()
    return seen
  end)
end
try("keep an archive beside the root", function()
  local before = mine:get {}
  mine:set({}, { ["$archiver"] = "NSKeyedArchiver", ["$version"] = 100000,
    ["$top"] = { root = kv.uid(1) }, ["$objects"] = { "$null", "old" } })
  local ok = pcall(mine.migrate_archive, mine, {}, kv.any, { keep = true })
  mine:set({}, before or {})
  return ok
end)
try("open with the administrator's file", kv.open, "com.example.other",
  { managed_file = home .. "/secret.plist" })
try("copy_to", function() mine:copy_to(ui) return true end)
try("copy_to itself", function() mine:copy_to(mine) return true end)
try("a transaction's export", function()
  return mine:transaction(function(tx) return tx:export() end)
end)
try("a transaction's parent", function()
  return mine:transaction(function(tx) return secret(tx:get "..") end)
end)

-- Writing where only reading is allowed

local function change(what, attempt)
  try(what, function()
    attempt()
    return true
  end)
end
change("set", function() ui:set("theme", "loud") end)
change("set a part", function() ui:at("window"):set("width", 1) end)
change("remove", function() ui:remove "theme" end)
change("update", function() ui:update("theme", function() return "x" end) end)
change("transaction", function()
  ui:transaction(function(tx) tx:set("theme", "loud") end)
end)
change("compare_and_set", function()
  ui:compare_and_set("theme", "loud", ui:generation())
end)
change("migrate_archive", function()
  if not ui:migrate_archive("theme", kv.string) then error "nothing done" end
end)

-- Where the host keeps the store

for _, handle in ipairs { ui, mine } do
  local function tells(what, call, ...)
    try("the file in " .. what, function(...)
      local ok, value, cause = pcall(call, ...)
      local text = tostring(ok and cause or value)
      return text:find(home, 1, true) or text:find(".plist", 1, true)
    end, ...)
  end
  tells("file", handle.file, handle)
  tells("set", handle.set, handle, { "theme", "a" }, 1)
  tells("a read-only set", ui.set, ui, "theme", 1)
  tells("update", handle.update, handle, "theme", function() return 1 end,
    kv.null)
  tells("a rollback", handle.transaction, handle, function()
    pcall(handle.transaction, handle, error)
  end)
  tells("tostring", tostring, handle)
end

-- Inside the handles

try("the metatable of a store", function() return getmetatable(mine) end)
try("the metatable of a date", function() return getmetatable(kv.date(0)) end)
try("the index of a store", function() return mine.__index end)
try("the finalizer of a store", function() return mine.__gc end)
try("methods with other things", function()
  return mine.get(kv.null, "a") or mine.get(problem, "a")
    or mine.set({}, "a", 1)
end)
try("a store in the place of a type", function()
  local T = kv.struct "T" { a = kv.int }
  mine:set("typed", { a = 1 }, T)
  for key in next, T do
    if type(key) == "userdata" then rawset(T, key, mine) end
  end
  return mine:get("typed", T).a ~= 1
end)
try("closing the host's store", function()
  ui:close()
  return (pcall(ui.get, ui, "theme"))
end)

return tries, escapes
