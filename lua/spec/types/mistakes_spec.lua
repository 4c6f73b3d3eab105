local kv = require "kvcodable"
local support = require "lua.spec.support"

-- What a script's author reads who has mistyped something: what would do, the
-- place, and what is there.
describe("an author who mistypes", function()
  local Layout = kv.enum "Layout" { "compact", "wide" }
  local Level = kv.enum "Level" { low = 0, high = 10 }
  local Shape = kv.enum "Shape" { "empty", square = kv.double }
  local Tag = kv.struct "Tag" {
    layout = Layout:default "wide", level = Level:optional(),
    size = kv.uint8:default(1), id = kv.uuid:optional(),
    site = kv.url:optional(), price = kv.decimal:optional(),
    shape = Shape:optional(), count = kv.int16:range(1, 5):optional(),
    name = kv.string:length(2, 4):optional(),
  }
  local Tags = kv.array_of(Tag)
  local Settings = kv.struct "Settings" { tags = Tags:default {} }

  -- A tag, and what is wrong with it behind "tags[1]".
  local mistakes = {
    { { layout = "nothing" }, 'Expected compact or wide at .layout, '
      .. 'found "nothing"' },
    { { layout = "wid" }, 'Expected compact or wide at .layout, found "wid"; '
      .. "did you mean wide?" },
    { { layout = 5 }, "Expected compact or wide at .layout, found 5" },
    { { layout = {} }, "Expected compact or wide at .layout, "
      .. "found Dictionary" },
    { { level = 5 }, "Expected 10 or 0 at .level, found 5" },
    { { level = "low" }, 'Expected 10 or 0 at .level, found "low"; '
      .. "did you mean 0?" },
    { { size = 300 }, "Expected UInt8 at .size, found 300" },
    { { size = -1 }, "Expected UInt8 at .size, found -1" },
    { { size = 1.5 }, "Expected UInt8 at .size, found 1.5" },
    { { size = "1" }, "Expected Int at .size, found String" },
    { { id = "nope" }, 'Expected UUID at .id, found "nope"' },
    { { id = 5 }, "Expected String at .id, found Int" },
    { { site = "" }, 'Expected URL at .site, found ""' },
    { { price = "much" }, 'Expected Decimal at .price, found "much"' },
    { { shape = kv.dictionary {} },
      "Expected one key of empty, square at .shape, found 0" },
    { { count = 9 }, "Expected 1...5 at .count, found 9" },
    { { count = 99999 }, "Expected Int16 at .count, found 99999" },
    { { name = "x" }, "Expected 2...4 characters at .name, found 1" },
  }

  local store
  support.in_memory(before_each, after_each, function(opened)
    store = opened
  end)

  local function expected(mistake)
    return (mistake[2]:gsub("at %.", "at tags[1]."))
  end

  it("is told so by a typed set and get", function()
    for _, mistake in ipairs(mistakes) do
      assert.equal(expected(mistake), tostring(
        support.failure(store.set, store, "tags", { mistake[1] }, Tags)))
      store:set("tags", { mistake[1] })
      assert.equal(expected(mistake),
        tostring(support.failure(store.get, store, "tags", Tags)))
    end
    assert.equal("Tag at tags[1] has no field layot; did you mean layout?",
      tostring(support.failure(store.set, store, "tags", { { layot = "wide" } },
        Tags)))
  end)

  it("is told so by a schema", function()
    local checked = assert(kv.open_file("checked",
      { engine = "memory", schema = Settings }))
    for _, mistake in ipairs(mistakes) do
      assert.equal(expected(mistake), tostring(
        support.failure(checked.set, checked, "tags", { mistake[1] })))
    end
    assert.same({}, checked:layer "application")
    checked:close()
  end)
end)
