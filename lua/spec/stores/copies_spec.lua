-- What a store's file holds after each call that changes something, over
-- arguments, registered defaults and a schema: what was set, and nothing of
-- these layers. An array of theirs of which an element changes is copied.
local kv = require "kvcodable"
local support = require "lua.spec.support"

describe("the file has what was set, and nothing of a lower layer:", function()
  local path
  support.in_folder(before_each, after_each, function(_, ...) path = ... end)

  local Frame = kv.struct "CopiedFrame" { x = kv.int:default(1),
    y = kv.int:optional() }
  local Window = kv.struct "CopiedWindow" { width = kv.int:default(640),
    title = kv.string:optional(), frame = Frame:default {} }
  local Settings = kv.struct "CopiedSettings" { window = Window:default {},
    list = kv.array_of(kv.int):default { 1, 2, 3 }, count = kv.int:default(1),
    theme = kv.string:optional() }

  local options = { durability = "manual", arguments = { theme = "dark" },
    defaults = { window = { title = "Registered", frame = { y = 2 } } } }
  local is_wide = { window = { width = 800 } }

  local function open(schema)
    options.schema = schema
    return assert(kv.open_file(path, options))
  end

  --- Calls a function with a store, and compares the file that it leaves.
  local function leaves(name, schema, expected, call)
    -- proves: G46
    it(name, function()
      local store = open(schema)
      call(store)
      assert(store:close())
      assert.same(expected, kv.read(path) or {})
    end)
  end

  --- A function that sets the width of what a get gives.
  local function widen(store, given)
    local window = store:get("window", given)
    window.width = 800
    store:set("window", window, given)
  end

  local calls = {
    set = function(store) store:set({ "window", "width" }, 800) end,
    replace = function(store)
      store:set({ "window", "width" }, 800, nil, { replace = true })
    end,
    ["set through a part"] = function(store)
      store:at "window":set("width", 800)
    end,
    ["set in a transaction"] = function(store)
      store:transaction(function(tx) tx:set({ "window", "width" }, 800) end)
    end,
    ["compare_and_set"] = function(store)
      store:compare_and_set({ "window", "width" }, 800, store:generation())
    end,
    update = function(store)
      store:update("window", function(w) w.width = 800 end)
    end,
    ["update in a transaction"] = function(store)
      store:transaction(function(tx)
        tx:update("window", function(w) w.width = 800 end)
      end)
    end,
    import = function(store) store:import '{"window": {"width": 800}}' end,
    ["set with a type of what get gave"] = function(store)
      widen(store, Window)
    end,
    ["update with a type"] = function(store)
      store:update("window", Window, function(w) w.width = 800 end)
    end,
    ["rename"] = function(store)
      store:set("wide", 800, kv.any)
      store:rename("wide", { "window", "width" })
    end,
    ["a set and a reset beside it"] = function(store)
      store:set({ "window", "width" }, 800)
      store:set({ "window", "title" }, "x")
      store:reset { "window", "title" }
    end,
  }
  for name, call in pairs(calls) do
    leaves(name .. ", without a schema", nil, is_wide, call)
    if name ~= "rename" then
      leaves(name .. ", with one", Settings, is_wide, call)
    end
  end

  leaves("set of what get gave under a schema", Settings, is_wide, widen)
  leaves("set of a table under a schema", Settings,
    { window = { width = 640 } }, function(store)
      store:set("window", { width = 640 })
    end)
  leaves("set of a table", nil,
    { window = { width = 640 }, KVUnset = { { "window", "frame" },
      { "window", "title" } } },
    function(store) store:set("window", { width = 640 }) end)
  leaves("set of what get gave, unchanged", Settings, {}, function(store)
    store:set("window", store:get "window")
  end)
  leaves("an update that changes nothing", Settings, {}, function(store)
    store:update("window", function() end)
  end)
  leaves("remove of a part", nil, { KVUnset = { { "window", "title" } } },
    function(store) store:remove { "window", "title" } end)
  leaves("remove of a part under a schema", Settings,
    { KVUnset = { { "window", "title" } } },
    function(store) store:remove { "window", "title" } end)
  leaves("remove and reset of keys", Settings, {}, function(store)
    store:remove "window"
    store:reset "count"
    store:reset { "window", "frame", "y" }
  end)
  leaves("register", Settings, {}, function(store)
    store:register { count = 5 }
  end)
  leaves("a migration", nil, { KVStoreVersion = 1, window = { width = 800 } },
    function(store)
      store:migrate { function(tx) tx:set({ "window", "width" }, 800) end }
    end)
  leaves("set of an element", Settings, { list = { 1, 9, 3 } },
    function(store) store:set({ "list", 2 }, 9) end)
  leaves("remove of an element", Settings, { list = { 2, 3 } },
    function(store) store:remove { "list", 1 } end)
end)
