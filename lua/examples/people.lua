-- Properties that are renamed, joined, left out, or made with a context.

local kv = require "kvcodable"
local store = assert(kv.open_file("people", { engine = "memory" }))

-- `name` is stored as "username"; what is selected is not stored at all.
local User = kv.struct "User" {
  name = kv.string:key "username",
  isSelected = kv.bool:default(false):transient(),
}
store:set("user", { name = "anna", isSelected = true }, User)
print("stored", store:get { "user", "username" },
  "of the keys", table.concat(store:at "user":keys(), ", "))
print("read", store:get("user", User).name)

-- Two stored names are one in the script.
local Person = kv.struct "Person" {
  firstName = kv.string, lastName = kv.string,
}:convert {
  decode = function(stored)
    return { name = stored.firstName .. " " .. stored.lastName }
  end,
  encode = function(person)
    local first, last = person.name:match "^(%S*)%s*(.*)$"
    return { firstName = first, lastName = last }
  end,
}
store:set("person", { name = "Ada King Lovelace" }, Person)
print("stored", store:get { "person", "firstName" },
  store:get { "person", "lastName" })
print("read", store:get("person", Person).name)

-- An item belongs to the catalogue that is handed in as context.
local Item = kv.struct "Item" { title = kv.string }:convert {
  decode = function(stored, catalogue)
    if not catalogue then error("Expected a catalogue as context", 0) end
    return { title = stored.title, currency = catalogue.currency }
  end,
}
local bytes = kv.encode { title = "Tea" }
local item = kv.decode(bytes, Item, { context = { currency = "EUR" } })
print("read", item.title, item.currency)
local none, problem = kv.decode(bytes, Item)
assert(none == nil)
print("refused", problem)

-- A place is an object of another library: it is stored as plain numbers.
local function new_place(values)
  return { numbers = function() return values end }
end
local Place = kv.struct "Place" {
  latitude = kv.double, longitude = kv.double, altitude = kv.double,
  course = kv.double, speed = kv.double, floor = kv.double,
  horizontalAccuracy = kv.double, verticalAccuracy = kv.double,
  timestamp = kv.date,
}:convert {
  decode = new_place,
  encode = function(place) return place.numbers() end,
}
store:set("place", new_place {
  latitude = 48.1, longitude = 11.5, altitude = 520.0, course = 90.0,
  speed = 1.4, floor = 2.0, horizontalAccuracy = 5.0, verticalAccuracy = 3.0,
  timestamp = kv.date "2026-11-21T08:00:00Z",
}, Place)
local place = store:get("place", Place).numbers()
print("read", place.latitude, place.floor, place.timestamp)
store:close()
