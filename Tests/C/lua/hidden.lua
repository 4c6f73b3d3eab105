-- hidden.lua: provokes errors through a handle, and looks at all that a script
-- can see of them. lua_hidden.c makes the state of the store that each needs.
--
-- `needles` is what of the store's path may not be seen, or, where `is_own`,
-- what the errors of the script's own handle must name.

local kv, needles, is_own, spoil = kv, needles, is_own, spoil
local whole = whole
local hidden = { told = {}, problems = {} }

local function holds_path(text)
  for _, needle in ipairs(needles) do
    if text:find(needle, 1, true) then return true end
  end
  return false
end

--- Every text that can be reached from a value without debug.
local function texts(value, found, seen)
  if type(value) == "table" and not seen[value] then
    seen[value] = true
    for key, inner in next, value do
      texts(key, found, seen)
      texts(inner, found, seen)
    end
  end
  found[#found + 1] = tostring(value)
  local meta = type(value) ~= "string" and getmetatable(value)
  if type(meta) == "table" then texts(meta, found, seen) end
  return found
end

local function leak(value)
  for _, text in ipairs(texts(value, {}, {})) do
    if holds_path(text) then return text end
  end
end

local function note(problem)
  hidden.problems[#hidden.problems + 1] = problem
end

--- Looks at a value that the script has; says what is wrong.
function hidden.look(what, value)
  local found = leak(value)
  if found and not is_own then note(what .. " names the file: " .. found) end
  return found ~= nil
end

--- Calls, expects an error with the code, and looks at it. `names` is whether
-- the same error of the script's own handle names the file.
function hidden.provoke(what, code, names, call, ...)
  local ok, value, problem = pcall(call, ...)
  if not ok then problem = value end
  if problem == nil then
    note(what .. ": no error")
    return
  end
  local found = type(problem) == "table" and problem.code or "text"
  if found ~= code then
    note(("%s: expected %s, found %s: %s"):format(what, code, found,
      tostring(problem)))
  end
  local is_named = hidden.look(what, problem)
  if is_own and is_named ~= names then
    note(what .. (names and " does not name" or " names")
      .. " the script's own file: " .. tostring(problem))
  end
  if not is_own and names
    and not tostring(problem):find("(the store)", 1, true)
    and not tostring(problem):find("the folder", 1, true) then
    note(what .. " does not say which store: " .. tostring(problem))
  end
  hidden.told[what] = problem
end

local provoke = hidden.provoke

--- Of a store that has { title = "x", list = { 1 } }, and may be changed.
function hidden.changing(store, is_whole)
  provoke("get of a type", "type_mismatch", false, store.get, store, "title",
    "Int")
  provoke("set of a type", "type_mismatch", false, store.set, store, "n", "x",
    "Int")
  provoke("no such type", "invalid_type", false, store.get, store, "title",
    "Hidden")
  provoke("path through a string", "path_mismatch", false, store.set, store,
    { "title", "inner" }, 1)
  provoke("index beyond the end", "path_mismatch", false, store.set, store,
    { "list", 9 }, 1)
  provoke("function", "invalid_value", false, store.set, store, "f",
    { print })
  provoke("bytes", "invalid_value", false, store.set, store, "f", "\255")
  provoke("control character", "invalid_value", false, store.set, store,
    "f", "\1")
  provoke("nil", "text", false, store.set, store, "f", nil)
  provoke("no path", "text", false, store.get, store, true)
  provoke("no index", "text", false, store.get, store, { 0 })
  provoke("no method", "text", false, function() return store.gte end)
  provoke("no option", "text", false, store.set, store, "f", 1, kv.int,
    { hidden = true })
  provoke("no function", "text", false, store.watch, store, "a", 1)
  provoke("no steps", "text", false, store.migrate, store, {})
  provoke("no archive's type", "text", false, store.migrate_archive, store,
    "title")
  provoke("raised", "text", false, store.update, store, "title", error)
  provoke("over", "closed", false, function()
    store:transaction(function(tx) hidden.tx = tx end)
    hidden.tx:get "a"
  end)
  provoke("an array's end inside", "path_mismatch", false, store.transaction,
    store, function(tx) tx:set({ "list", 9 }, 1) end)
  hidden.place("path through a string",
    "Expected Dictionary at %s, found String", "title", is_whole)
  hidden.place("function",
    "Expected a property-list value at %s[1], found function", "f", is_whole)
  hidden.place("set of a type", "Expected Int at %s, found String", "n",
    is_whole)
  if is_whole then hidden.changing_whole(store) end
  if not is_own then
    provoke("the file", "access_denied", false, store.file, store)
  end
  local origin = store:origin "title"
  if origin.layer ~= "application"
    or hidden.look("an origin", origin) ~= is_own then
    note("an origin of the layer " .. origin.layer .. " names "
      .. tostring(origin.file))
  end
end

--- Whether an error has its place below what the script sees of the store.
function hidden.place(what, message, key, is_whole)
  if is_own and not is_whole then key = "ui." .. key end
  local problem = hidden.told[what]
  if tostring(problem) ~= message:format(key)
    or problem.path[1] ~= key:match "^%w+" then
    note(what .. " is elsewhere: " .. tostring(problem))
  end
end

function hidden.changing_whole(store)
  provoke("import of nothing", "corrupt", false, store.import, store, "")
  provoke("import of an array", "invalid_value", false, store.import, store,
    "[1]")
  provoke("export of null", "invalid_value", false, store.register, store,
    { a = print })
  provoke("export as OpenStep", "invalid_value", false, store.export, store,
    { format = "openstep" })
  provoke("a newer version", "migration", true, function()
    store:set("KVStoreVersion", 5)
    store:migrate { function() end }
  end)
  provoke("no version", "migration", true, function()
    store:set("KVStoreVersion", "x")
    store:version()
  end)
  store:remove "KVStoreVersion"
  provoke("forced", "forced", true, store.set, store, "locked", 2)
  local text
  local events = store:events(function(_, told) text = told end)
  store:set("long", ("x"):rep(300000))
  kv.pump()
  if store:layer "application".long and hidden.tells and not text then
    note "no event"
  end
  if text and is_own ~= hidden.look("an event", text) then
    note("an event tells " .. text)
  end
  events:cancel()
  provoke("no layer", "text", false, store.layer, store, "hidden")
end

--- Of a handle that may only read.
function hidden.reading(store, is_whole)
  local code = "read_only"
  provoke("read-only set", code, true, store.set, store, "a", 1)
  provoke("read-only typed set", code, true, store.set, store, "a", 1,
    "Int")
  provoke("read-only set of a path", code, true, store.set, store,
    { "a", "b" }, 1)
  provoke("read-only remove", code, true, store.remove, store, "a")
  provoke("read-only transaction", code, true, store.transaction, store,
    function(tx) tx:set("a", 1) end)
  provoke("read-only update", code, true, store.update, store, "a",
    function() return 1 end)
  provoke("read-only compare_and_set", code, true, store.compare_and_set,
    store, "a", 1, store:generation())
  if not is_whole then return end
  provoke("read-only import", code, true, store.import, store, '{"a": 1}')
  provoke("read-only migrate", code, true, store.migrate, store,
    { function() end })
  if hidden.other then
    provoke("read-only copy", code, true, hidden.other.copy_to,
      hidden.other, store)
  end
end

--- Of a store that cannot be changed for a reason of its own.
function hidden.failing(store, code, names)
  spoil()
  provoke(code .. " set", code, names, store.set, store, "a", 1)
  provoke(code .. " typed set", code, names, store.set, store, "a", 1,
    "Int")
  provoke(code .. " remove", code, names, store.remove, store, "title")
  provoke(code .. " update", code, names, store.update, store, "a",
    function() return 1 end)
  provoke(code .. " transaction", code, names, store.transaction, store,
    function(tx) tx:set("a", 1) end)
end

--- Of a store that has what it cannot write: closing it fails, once.
function hidden.flushing(store, code, is_whole)
  spoil()
  store:set("a", 1)
  provoke(code .. " sync", code, true, store.sync, store)
  if not is_whole then return end
  provoke(code .. " close", code, true, store.close, store)
end

--- Of a store whose file cannot be used.
function hidden.broken(store, code)
  local text
  local watch = store:watch("a", print)
  local events = whole and store:events(function(_, told) text = told end)
  spoil()
  if code == "io" then
    kv.pump()
    if whole and is_own ~= (text and hidden.look("an event", text)) then
      note("an event tells " .. tostring(text))
    end
  end
  provoke(code .. " transaction", code, true, store.transaction, store,
    function(tx) tx:set("a", 1) end)
  provoke(code .. " update", code, true, store.update, store, "a",
    function() return 1 end)
  watch:cancel()
  if events then events:cancel() end
end

--- Of a database whose copy, before a migration, finds no descriptor: each
-- spoil() leaves one more free, until there are enough.
function hidden.copying(store)
  local errors = {}
  repeat
    spoil()
    local done, problem = pcall(store.migrate, store, { function() end })
    if not done then
      errors[#errors + 1] = tostring(problem)
      hidden.told[#errors] = problem
      if is_own ~= hidden.look("a copy", problem) then
        note("a copy tells " .. tostring(problem))
      end
    end
  until done or #errors == 64
  local text = table.concat(errors, "\n")
  if #errors == 64 or is_own and not text:find("database: /", 1, true) then
    note("no error of a copy: " .. text)
  end
end

--- Of a closed handle.
function hidden.closed(store)
  local given = { get = { "a" }, set = { "a", 1 }, remove = { "a" }, keys = {},
    at = { "a" }, watch = { "a", print }, update = { "a", print },
    transaction = { print }, sync = {}, file = {}, version = {},
    generation = {}, export = {}, import = { "{}" }, register = { {} },
    layer = { "managed" }, is_forced = { "a" }, events = { print },
    compare_and_set = { "a", 1, 1 }, migrate = { { print } } }
  for name, arguments in pairs(given) do
    provoke("closed " .. name, "closed", false, store[name], store,
      unpack(arguments))
  end
end

return hidden
