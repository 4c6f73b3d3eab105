local kv = require "kvcodable"
local support = require "lua.spec.support"

local Theme = kv.enum "Theme" { "light", "dark" }
local Window = kv.struct "Window" {
  width = kv.int:range(1, 16384),
  title = kv.string:key "window_title":optional(),
  tags = kv.array_of(kv.string):default {},
  theme = Theme:default "dark",
}

describe("types", function()
  local store
  before_each(function()
    store = assert(kv.open_file("none.plist", { engine = "memory" }))
  end)
  after_each(function() store:close() end)

  it("fill in defaults, and rename keys", function()
    store:set("window", { width = 640, window_title = "Main" })
    local window = store:get("window", Window)
    assert.equal(640, window.width)
    assert.equal("Main", window.title)
    assert.is_nil(window.window_title)
    assert.same({}, window.tags)
    assert.is_true(kv.is_array(window.tags))
    assert.equal("dark", window.theme)
  end)

  it("write the stored keys, and defaults only where they were", function()
    store:set("window",
      { width = 640, title = "Main", tags = {}, theme = "dark" }, Window)
    assert.same({ width = 640, window_title = "Main" }, store:get "window")
    store:set("window", { width = 640, theme = "light" }, Window)
    store:set("window", { width = 640, theme = "dark" }, Window)
    assert.equal("dark", store:get { "window", "theme" })
  end)

  it("keep what they do not know", function()
    store:set("window", { width = 1, future = { 1 }, window_title = "old" })
    store:set("window", { width = 2 }, Window)
    assert.same({ width = 2, future = { 1 } }, store:get "window")
    store:set("window", { width = 3 }, Window, { replace = true })
    assert.same({ width = 3 }, store:get "window")
  end)

  local refused = {
    { { width = "wide" }, { "window", "width" }, "found String" },
    { { width = 0 }, { "window", "width" }, "" },
    { { width = 1.5 }, { "window", "width" }, "" },
    { { width = 1, tags = { "a", 2 } }, { "window", "tags", 2 },
      "Expected String at window.tags[2], found Int" },
    { { width = 1, theme = "blue" }, { "window", "theme" }, "" },
    { { widht = 1, width = 2 }, nil, "did you mean width" },
    { {}, { "window" }, "" },
    { 5, { "window" }, "" },
  }
  for i, row in ipairs(refused) do
    it("refuse a wrong value, and change nothing: " .. i, function()
      store:set("window", { width = 7 })
      local problem =
        support.failure(store.set, store, "window", row[1], Window)
      assert.equal("type_mismatch", problem.code)
      if row[2] then assert.same(row[2], problem.path) end
      assert.matches(row[3], problem.message, 1, true)
      assert.same({ width = 7 }, store:get "window")
    end)
  end

  it("check what they read", function()
    store:set("window", { width = true })
    local problem = support.failure(store.get, store, "window", Window)
    assert.equal("type_mismatch", problem.code)
    assert.same({ "window", "width" }, problem.path)
  end)

  it("can be written as expressions", function()
    store:set("limits", { a = 1, b = 2 }, "[String: Int]")
    assert.same({ a = 1, b = 2 }, store:get("limits", "[String: Int]?"))
    assert.is_nil(store:get("none", "[String: Int]?"))
    assert.has_error(function()
      store:set("limits", { a = "x" }, "[String: Int]")
    end)
    store:set("windows", { { width = 1 } }, "[Window]")
    assert.equal("dark", store:get("windows", "[Window]")[1].theme)
    assert.has_error(function() store:get("limits", "[Nonsense") end)
    assert.has_error(function() store:get("limits", "NoSuchType") end)
  end)

  it("give a default for an absent value", function()
    assert.equal(7, store:get("volume", kv.int:default(7)))
    assert.is_nil(store:get("volume", kv.int))
  end)

  it("take enums with raw values", function()
    local Level = kv.enum "Level" { low = 0, high = 10 }
    store:set("level", 10, Level)
    assert.equal(10, store:get("level", Level))
    assert.has_error(function() store:set("level", 5, Level) end)
  end)

  it("may be defined again, as a reloaded script does", function()
    local function define(field)
      return kv.struct "Reloaded" { [field] = kv.int }
    end
    local first, second = define "a", define "b"
    store:set("x", { a = 1 }, first)
    store:set("x", { b = 2 }, second, { replace = true })
    assert.same({ b = 2 }, store:get("x", second))
    assert.same({ b = 2 }, store:get("x", "Reloaded"))
  end)

  it("convert fields, and leave out what converts to nil", function()
    local Shape = kv.struct "Shape" {
      color = kv.array_of(kv.double):optional():convert {
        decode = function(list)
          return #list == 4 and { r = list[1], a = list[4] } or nil
        end,
        encode = function(color)
          return { color.r, 0, 0, color.a }
        end,
      },
      image = kv.data:optional():convert {
        decode = function(data) return #data > 0 and data:bytes() or nil end,
        encode = function(image)
          return image ~= "" and kv.data(image) or nil
        end,
      },
    }
    store:set("shape", { color = { r = 255.0, a = 1.0 }, image = "" }, Shape)
    assert.same({ color = { 255.0, 0, 0, 1.0 } }, store:get "shape")
    assert.same({ color = { r = 255.0, a = 1.0 } }, store:get("shape", Shape))
    store:set("shape", { color = { 1, 2 } })
    assert.same({}, store:get("shape", Shape))
  end)

  it("hand a context to converters", function()
    local scaled <close> = assert(kv.open_file("none.plist",
      { engine = "memory", context = { scale = 2 } }))
    local Scaled = kv.int:convert {
      decode = function(value, context) return value * context.scale end,
      encode = function(value, context) return value // context.scale end,
    }
    scaled:set("x", 10, Scaled)
    assert.equal(5, scaled:get "x")
    assert.equal(10, scaled:get("x", Scaled))
  end)
end)
