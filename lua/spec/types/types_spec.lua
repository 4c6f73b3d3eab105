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
  support.in_memory(before_each, after_each, function(opened)
    store = opened
  end)

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

  it("write the stored keys, and the defaults that are given", function()
    store:set("window",
      { width = 640, title = "Main", tags = {}, theme = "dark" }, Window)
    assert.same({ width = 640, window_title = "Main", tags = {},
      theme = "dark" }, store:get "window")
    store:set("window", { width = 640, theme = "light" }, Window)
    store:set("window", { width = 640, theme = "dark" }, Window)
    assert.equal("dark", store:get { "window", "theme" })
  end)

  -- proves: G57
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

  describe("whose converters decode to nil", function()
    -- A colour of other than four numbers is none, as the article has it.
    local Color = kv.array_of(kv.double):convert {
      decode = function(numbers)
        if #numbers ~= 4 then return nil end
        return { red = numbers[1] / 255, alpha = numbers[4] }
      end,
      encode = function(color)
        return { color.red * 255, 0.0, 0.0, color.alpha }
      end,
    }
    local black = { red = 0.0, alpha = 1.0 }
    local Shape = kv.struct "NilShape" {
      fill = Color:default { 0.0, 0.0, 0.0, 1.0 },
      line = kv.array_of(kv.double):default({ 0.0, 0.0, 0.0, 1.0 }):convert {
        decode = function(n) return #n == 4 and { red = n[1] } or nil end,
      },
      plain = Color:optional(), wrong = Color:default { 1.0 },
    }

    it("give the default as it is decoded", function()
      store:set("shape", { fill = { 1.0, 2.0 }, line = { 1.0 },
        plain = { 1.0 }, wrong = { 2.0 } })
      assert.same({ fill = black, line = { red = 0.0 } },
        store:get("shape", Shape))
      -- As where nothing is stored.
      store:set("shape", {})
      assert.same({ fill = black, line = { red = 0.0 } },
        store:get("shape", Shape))
    end)

    it("give the default of the type that is asked for", function()
      local WithDefault = Color:default { 255.0, 0.0, 0.0, 0.5 }
      store:set("color", { 1.0 })
      assert.same({ red = 1.0, alpha = 0.5 }, store:get("color", WithDefault))
      assert.same({ red = 1.0, alpha = 0.5 }, store:get("none", WithDefault))
      assert.is_nil(store:get("color", Color))
      assert.is_nil(store:get("none", Color))
    end)

    it("give the default in the kinds of the type", function()
      local Point = kv.struct "NilPoint" {
        x = kv.double, y = kv.double:default(2),
      }
      local Corner = Point:default({ x = 1 }):convert {
        decode = function(point) return point.x >= 0 and point or nil end,
      }
      store:set("point", { x = -1.0 })
      for _, key in ipairs { "point", "none" } do
        local point = store:get(key, Corner)
        assert.same({ x = 1.0, y = 2.0 }, point)
        assert.is_true(support.is_real(point.x))
      end
    end)

    it("give each reader a default of its own", function()
      local given = { 51.0, 0.0, 0.0, 1.0 }
      local List = kv.array_of(kv.double):default(given):convert {
        decode = function(numbers) return #numbers == 4 and numbers or nil end,
      }
      given[1] = 99.0
      store:set("list", { 1.0 })
      local first = store:get("list", List)
      assert.same({ 51.0, 0.0, 0.0, 1.0 }, first)
      first[1] = 7.0
      assert.same({ 51.0, 0.0, 0.0, 1.0 }, store:get("list", List))
    end)

    it("leave no hole in an array", function()
      store:set("colors", { { 255.0, 0.0, 0.0, 1.0 }, { 1.0 },
        { 0.0, 0.0, 0.0, 1.0 } })
      assert.same({ { red = 1.0, alpha = 1.0 }, kv.null, black },
        store:get("colors", kv.array_of(Color)))
      assert.same({ { red = 1.0, alpha = 1.0 }, black, black },
        store:get("colors", kv.array_of(Color:default { 0.0, 0.0, 0.0, 1.0 })))
      local colors = store:get("colors", kv.array_of(Color))
      local problem = support.failure(store.set, store, "colors", colors,
        kv.array_of(Color))
      assert.equal("type_mismatch", problem.code)
      assert.same({ "colors", 2 }, problem.path)
      store:set("optional", colors, kv.array_of(Color:optional()))
      assert.same(colors, store:get("optional", kv.array_of(Color:optional())))
    end)

    it("leave out the key of a dictionary", function()
      store:set("palette", { a = { 1.0 }, b = { 0.0, 0.0, 0.0, 1.0 } })
      assert.same({ b = black }, store:get("palette", kv.dictionary_of(Color)))
    end)
  end)

  it("keep what is transient out of the file, whatever it is", function()
    local Item = kv.struct "Transient" {
      id = kv.int, cache = kv.any:transient(),
      on_change = kv.any:transient(),
    }
    local item = { id = 1, on_change = print }
    item.cache = { item }
    store:set("item", item, Item)
    assert.same({ id = 1 }, store:get "item")
    store:set("items", { item, item }, kv.array_of(Item))
    assert.same({ { id = 1 }, { id = 1 } }, store:get "items")
    assert.equal(print, item.on_change) -- the script's own table is not touched
  end)

  it("hand a context to converters", function()
    local scaled = assert(kv.open_file("none.plist",
      { engine = "memory", context = { scale = 2 } }))
    local Scaled = kv.int:convert {
      decode = function(value, context) return value * context.scale end,
      encode = function(value, context)
        return math.floor(value / context.scale)
      end,
    }
    scaled:set("x", 10, Scaled)
    assert.equal(5, scaled:get "x")
    assert.equal(10, scaled:get("x", Scaled))
    scaled:close()
  end)
end)
