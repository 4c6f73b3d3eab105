-- Typed values in preferences, stored as what a person can read.
--
--   lua5.4 preferences.lua FILE.plist

local kv = require "kvcodable"

local Theme = kv.enum "Theme" { "light", "dark" }
local Level = kv.enum "Level" { low = 0, high = 10 }
local Window = kv.struct "Window" {
  width = kv.int:range(1, 16384), height = kv.int,
  title = kv.string:optional(),
  tags = kv.array_of(kv.string):default {},
  theme = Theme:default "dark",
}

local preferences = assert(kv.open_file(arg[1], {
  defaults = { volume = 7 },
}))

-- Enums are their raw values, structs dictionaries, dates dates.
preferences:set("theme", "light", Theme)
preferences:set("level", 10, Level)
preferences:set("window", { width = 800, height = 600 }, Window)
preferences:set("opened", kv.date "2026-11-21T08:00:00Z")
preferences:set("limits", { small = 1, large = 1000 }, "[String: Int]")

-- What is absent is nil, or its default.
print("absent", preferences:get("none", "String?"))
print("default", preferences:get "volume",
  preferences:get("window", Window).theme)

-- What has the wrong type is an error that says where.
local function refused(method, ...)
  local ok, problem = pcall(preferences[method], preferences, ...)
  print("refused", not ok and problem)
end
preferences:set({ "window", "tags" }, { "a", 5 })
refused("get", "window", Window)
preferences:remove { "window", "tags" }
refused("set", "window", { width = 0, height = 1 }, Window)
refused("set", "window", { widht = 1, height = 1 }, Window)

-- Changed as a whole: locked, fresh, checked, and all or nothing.
preferences:update("window", Window, function(window)
  window.width = window.width * 2
  window.title = "Preferences"
end)
print("window", preferences:get { "window", "width" },
  preferences:get("window", Window).title)
preferences:close()
