-- Part of a preference file: reads one key of a file that holds many, as a
-- typed array, changes one element, and leaves everything else as it was.
--
--   lua5.4 target_applications.lua FILE.plist

local kv = require "kvcodable"

local Application = kv.struct "Application" {
  bundleIdentifier = kv.string:key "Bundle Identifier",
}
local Applications = kv.array_of(Application)

local preferences = assert(kv.open_file(arg[1]))

local applications = preferences:get("Target Applications", Applications)
if not applications then
  print "no target applications"
  return
end
for i, application in ipairs(applications) do
  print(i, application.bundleIdentifier)
end

preferences:update("Target Applications", Applications, function(list)
  list[2].bundleIdentifier = "org.example.navigator"
end)
local path = { "Target Applications", 2, "Bundle Identifier" }
print("changed", preferences:get(path))

-- A value of the wrong type is an error that says where, and changes nothing.
local ok, problem = pcall(preferences.update, preferences,
  "Target Applications", Applications, function(list)
    list[1].bundleIdentifier = 5
  end)
assert(not ok)
print("refused", problem)
preferences:close()
