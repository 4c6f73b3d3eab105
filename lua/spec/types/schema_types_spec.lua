local kv = require "kvcodable"
local support = require "lua.spec.support"

describe("the types of a schema", function()
  local path
  support.in_folder(before_each, after_each, function(_, given)
    path = given
  end)

  local Colour = kv.string:convert {
    decode = function(text, context)
      return { name = text, scale = context and context.scale }
    end,
    encode = function(colour)
      if type(colour) ~= "table" then error("no colour", 0) end
      return colour.name
    end,
  }

  local Window = kv.struct "TypedWindow" {
    width = kv.int:default(640),
    title = kv.string:key "window_title":optional(),
    colour = Colour:default "red",
    tags = kv.array_of(kv.string):default {},
  }

  local Settings = kv.struct "TypedSettings" {
    volume = kv.int:range(0, 10):default(7),
    scale = kv.double:optional(),
    window = Window:optional(),
    frame = kv.struct "TypedFrame" { x = kv.double:default(1) },
    list = kv.array_of "TypedWindow":default {},
    by_name = kv.dictionary_of(Colour):optional(),
    shape = kv.enum "TypedShape" {
      "none", circle = { radius = kv.double, colour = Colour:default "blue" },
    }:optional(),
    colour = Colour:key "Colour":optional(),
    any = kv.any:optional(),
  }

  local function open(options)
    options = options or {}
    options.schema = options.schema or Settings
    return assert(kv.open_file(path, options))
  end

  local function names(colour)
    return colour and colour.name
  end

  it("are those of gets and sets without a type", function()
    local store = open()
    store:set("scale", 2)
    assert.is_true(support.is_real(store:get("scale", kv.any)))
    assert.matches('"scale"%s*:%s*2%.0', (store:export { format = "json" }))
    store:set("list", {})
    assert.is_true(kv.is_array(store:get("list", kv.any)))
    store:set("window", { title = "x", width = 5 })
    assert.same({ window_title = "x", width = 5 },
      store:get("window", kv.any))
    assert.equal("x", store:get { "window", "window_title" })
    assert.equal("x", store:get "window".title)
    store:set({ "window", "window_title" }, "y")
    assert.equal("y", store:at "window":get "window_title")
    store:update("window", function(window) window.width = 9 end)
    assert.same({ window_title = "y", width = 9 },
      store:get("window", kv.any))
    store:transaction(function(tx)
      assert.equal("y", tx:get "window".title)
      tx:set("scale", 3)
      tx:update("scale", function(scale) return scale + 1 end)
    end)
    assert.is_true(support.is_real(store:get("scale", kv.any)))
    assert.equal(4, store:get "scale")
    local problem = support.failure(store.set, store, "window", { widht = 1 })
    assert.equal("TypedWindow at window has no field widht; did you mean "
      .. "width?", tostring(problem))
    problem = support.failure(store.set, store, "volume", "x")
    assert.equal("Expected Int at volume, found String", tostring(problem))
    -- Keys that it does not declare have no type.
    store:set({ "other", "n" }, { 1 })
    assert.same({ n = { 1 } }, store:get "other")
    store:close()
  end)

  it("give their defaults", function()
    local store = open { defaults = { scale = 2 } }
    assert.equal(7, store:get "volume")
    assert.equal(2, store:get "scale")
    assert.equal(1, store:get { "frame", "x" })
    assert.is_nil(store:get { "window", "width" })
    assert.same({ "frame", "list", "scale", "volume" }, store:keys())
    assert.equal(4, #store)
    assert.same({ scale = 2 }, store:layer "registered")
    assert.equal(7, store:layer "schema".volume)
    assert.same({ layer = "schema" }, store:origin "volume")
    assert.same({ layer = "registered" }, store:origin "scale")
    assert.is_nil(store:origin { "window", "width" })
    local seen = {}
    for key, value in store:pairs() do seen[key] = value end
    assert.equal(7, seen.volume)
    assert.same({ x = 1 }, seen.frame)
    store:set("window", {})
    assert.same({}, store:get("window", kv.any))
    assert.equal(640, store:get { "window", "width" })
    assert.same({ layer = "schema" }, store:origin { "window", "width" })
    assert.equal("application", store:origin "window".layer)
    assert.equal("red", store:get { "window", "colour" }.name)
    assert.same({ "colour", "tags", "width" }, store:at "window":keys())
    seen = {}
    for key, value in store:at "window":pairs() do seen[key] = value end
    assert.equal(640, seen.width)
    assert.equal("red", names(seen.colour))
    store:set({ "list", 1 }, { title = "a" })
    assert.equal("red", store:get { "list", 1, "colour" }.name)
    store:register { volume = 3 }
    assert.equal(3, store:get "volume")
    store:set("volume", 5)
    assert.is_true(store:remove "volume")
    assert.equal(3, store:get "volume")
    store:close()
  end)

  -- proves: G55
  it("convert, at every depth", function()
    local store = open { context = { scale = 4 } }
    store:set("Colour", { name = "green" })
    assert.equal("green", store:get("Colour", kv.any))
    assert.same({ name = "green", scale = 4 }, store:get "Colour")
    assert.is_nil(store:get "colour")
    store:set({ "window", "colour" }, { name = "blue" })
    assert.equal("blue", store:get("window", kv.any).colour)
    assert.equal("blue", store:get "window".colour.name)
    assert.equal("blue", store:at "window":get "colour".name)
    store:update({ "window", "colour" }, function(colour)
      return { name = colour.name .. "!" }
    end)
    assert.equal("blue!", store:get("window", kv.any).colour)
    store:set({ "list", 1 }, { colour = { name = "one" } })
    assert.equal("one", store:get { "list", 1 }.colour.name)
    assert.equal("one", store:get { "list", 1, "colour" }.name)
    store:set("by_name", { a = { name = "x" } })
    assert.equal("x", store:get { "by_name", "a" }.name)
    store:set("shape", { circle = { radius = 1 } })
    assert.equal("blue", store:get "shape".circle.colour.name)
    store:set({ "shape", "circle", "colour" }, { name = "y" })
    assert.equal("y", store:get { "shape", "circle", "colour" }.name)
    assert.equal("y", store:get { "shape", "circle" }.colour.name)
    store:transaction(function(tx)
      assert.equal("green", tx:get "Colour".name)
      tx:set("Colour", { name = "grey" })
    end)
    assert.equal("grey", store:get {}.Colour.name)
    assert.equal("one", store:get {}.list[1].colour.name)
    store:set({}, { Colour = { name = "all" }, window = { title = "t" } })
    assert.equal("all", store:get("Colour", kv.any))
    assert.equal("t", store:get("window", kv.any).window_title)
    assert.is_true(store:compare_and_set("Colour", { name = "cas" },
      store:generation()))
    assert.equal("cas", store:get("Colour", kv.any))
    local problem = support.failure(store.set, store, "Colour", 1)
    assert.equal("refused", problem.code)
    assert.equal("The converter failed at Colour: no colour",
      tostring(problem))
    problem = support.failure(store.set, store, { "list", 1 },
      { colour = 1 })
    assert.equal("The converter failed at list[1].colour: no colour",
      tostring(problem))
    store:close()
  end)

  it("are those of watches", function()
    local store = open()
    store:set("window", { title = "a" })
    local told = {}
    local function note(name)
      return function(place, new, old)
        if type(place) == "table" then place = table.concat(place, ".") end
        told[#told + 1] = { name, place, new, old }
      end
    end
    local watches = {
      store:watch("window", note "value"),
      store:watch("window", note "below", { subtree = true }),
      store:watch("Colour", note "colour"),
      store:at "window":watch({}, note "part"),
      store:watch({}, note "keys"),
    }
    local function take()
      assert.is_true(kv.pump() > 0)
      local found = {}
      for _, one in ipairs(told) do found[one[1]] = one end
      told = {}
      return found
    end
    store:set({ "window", "colour" }, { name = "blue" })
    local found = take()
    assert.equal("blue", found.value[3].colour.name)
    assert.equal("red", found.value[4].colour.name)
    assert.equal("window.colour", found.below[2])
    assert.equal("blue", found.below[3].name)
    assert.equal("red", found.below[4].name)
    assert.equal("window", found.keys[2])
    assert.equal("blue", found.keys[3].colour.name)
    assert.equal("colour", found.part[2])
    assert.equal("blue", found.part[3].name)
    store:set({ "window", "window_title" }, "b")
    found = take()
    assert.equal("b", found.value[3].title)
    assert.equal("window.window_title", found.below[2])
    assert.equal("b", found.below[3])
    store:set("Colour", { name = "c" })
    found = take()
    assert.same({ name = "c" }, found.colour[3])
    assert.is_nil(found.colour[4])
    -- What is removed has its default.
    store:set({ "window", "width" }, 5)
    take()
    store:remove { "window", "width" }
    found = take()
    assert.equal("window.width", found.below[2])
    assert.equal(640, found.below[3])
    assert.equal(5, found.below[4])
    store:remove "window"
    found = take()
    assert.is_nil(found.value[3])
    assert.equal("b", found.value[4].title)
    for _, watch in ipairs(watches) do watch:cancel() end
    store:close()
  end)

  it("make a wrong value an error of the watch, when others were told",
    function()
      local store, told = open(), {}
      local free = assert(kv.open_file(path))
      store:watch("volume", function(_, new) told[#told + 1] = new end)
      store:watch("scale", function(_, new) told[#told + 1] = new end)
      store:watch("window", function(place, new)
        told[#told + 1] = place[2] .. "=" .. tostring(new)
      end, { subtree = true })
      free:set("volume", "loud")
      free:set("scale", 2)
      local problem = support.failure(kv.pump)
      assert.equal("Expected Int at volume, found String", tostring(problem))
      assert.same({ 2 }, told)
      free:set("window", { width = 1 })
      pcall(kv.pump)
      free:set({ "window", "width" }, "wide")
      problem = support.failure(kv.pump)
      assert.equal("Expected Int at window.width, found String",
        tostring(problem))
      told = {}
      free:set({ "window", "width" }, 3)
      kv.pump()
      assert.same({ "width=3" }, told)
      free:close()
      store:close()
    end)

  it("make nothing of an old value that was wrong, where they convert",
    function()
      local Tens = kv.struct "WatchedTens" {
        n = kv.int:convert { decode = function(n) return n / 10 end }
          :optional(),
      }
      local store, told = open { schema = Tens }, nil
      local free = assert(kv.open_file(path))
      store:watch("n", function(...) told = { ... } end)
      free:set("n", "many")
      assert.equal("Expected Int at n, found String",
        tostring(support.failure(kv.pump)))
      free:set("n", 30)
      kv.pump()
      assert.same({ "n", 3 }, told)
      free:close()
      store:close()
    end)

  it("have their defaults in a watch of the whole store", function()
    local store, told = open(), {}
    store:set("window", { title = "a" })
    store:watch({}, function(place, new, old)
      told[table.concat(place, ".")] = { new, old }
    end, { subtree = true })
    store:set({ "window", "width" }, 5)
    kv.pump()
    assert.same({ ["window.width"] = { 5, 640 } }, told)
    told = {}
    store:reset { "window", "width" }
    kv.pump()
    assert.same({ ["window.width"] = { 640, 5 } }, told)
    store:close()
  end)

  it("give a part that is reset its default", function()
    local store = open { defaults = { window = { width = 3 } } }
    store:set({ "frame", "x" }, 5)
    assert.is_true(store:reset { "frame", "x" })
    assert.equal(1, store:get { "frame", "x" })
    assert.is_false(store:reset { "frame", "x" })
    store:set({ "window", "width" }, 5)
    store:set({ "window", "colour" }, { name = "blue" })
    assert.is_true(store:reset { "window", "colour" })
    assert.equal("red", store:get { "window", "colour" }.name)
    assert.is_true(store:at "window":reset "width")
    assert.equal(3, store:get { "window", "width" })
    assert.same({}, store:layer "application")
    store:close()
  end)

  it("may be named, and know each other", function()
    kv.struct "TypedNode" {
      colour = Colour:optional(),
      next = kv.array_of "TypedNode":default {},
    }
    local Root = kv.struct "TypedRoot" { node = "TypedNode" }
    local store = open { schema = Root }
    store:set({ "node", "next", 1 }, { colour = { name = "a" } })
    store:set({ "node", "next", 1, "next", 1, "colour" }, { name = "b" })
    assert.equal("b",
      store:get { "node", "next", 1, "next", 1, "colour" }.name)
    assert.equal("b", store:get "node".next[1].next[1].colour.name)
    assert.equal("b",
      store:get("node", kv.any).next[1].next[1].colour)
    store:close()
  end)

  it("do not hold in a migration", function()
    local free = assert(kv.open_file(path))
    free:set("volume", "3")
    free:set("Colour", "plain")
    free:close()
    local store = open()
    assert.is_true(store:migrate { function(tx)
      assert.equal("plain", tx:get "Colour")
      local old = tx:get "volume"
      assert.equal("3", old)
      tx:set("volume", math.floor(tonumber(old)))
    end })
    assert.equal(3, store:get "volume")
    assert.equal("plain", store:get "Colour".name)
    store:close()
  end)
end)

describe("types from text", function()
  local path
  support.in_folder(before_each, after_each, function(_, given)
    path = given
  end)

  it("are given by their names, and known to expressions", function()
    local types = kv.declare [[
      // settings of a program
      struct TextWindow { width: Int = 640; title: String? @key(window_title) }
      enum TextTheme: String { light, dark }
      struct TextSettings { window: TextWindow?; theme: TextTheme = dark }
    ]]
    local store = assert(kv.open_file(path, { schema = types.TextSettings }))
    assert.equal("dark", store:get "theme")
    store:set("window", { title = "x" })
    assert.equal("x", store:get { "window", "window_title" })
    assert.equal(640, store:get("window", types.TextWindow).width)
    assert.equal(640, store:get("window", "TextWindow?").width)
    assert.same({ light = "dark" },
      store:get("none", kv.dictionary_of(types.TextTheme):default {
        light = "dark" }))
    store:close()
    assert.matches("TextTheme", kv.annotations())
  end)

  it("may name those of this state, and replace them", function()
    kv.struct "TextOld" { n = kv.int:default(1) }
    local types = kv.declare "struct TextNew { old: TextOld; list: [TextOld] }"
    local value = kv.decode('{"old": {}, "list": [{}]}', types.TextNew)
    assert.equal(1, value.list[1].n)
    kv.declare "struct TextOld { n: Int = 2 }"
    assert.equal(2, kv.decode("{}", "TextOld").n)
    kv.struct "TextOld" { n = kv.int:default(3) }
    assert.equal(3, kv.decode("{}", "TextOld").n)
  end)

  it("say where they are wrong", function()
    local problem = support.failure(kv.declare,
      "struct TextBad {\n  a: Int\n  b: Nix\n}")
    assert.equal("invalid_type", problem.code)
    assert.equal(3, problem.line)
    assert.equal(6, problem.column)
    assert.equal("No type is named Nix (line 3, column 6)", tostring(problem))
    assert.is_false(pcall(kv.decode, "{}", "TextBad"))
    assert.has_error(function() kv.declare(1) end)
    assert.has_error(function() kv.types_from {} end)
  end)

  -- proves: G59
  it("stand in files for all languages", function()
    local file = path .. ".kvtypes"
    support.write(file, "struct TextFiled { a: Int = 4 }")
    local types = assert(kv.types_from(file))
    assert.equal(4, kv.decode("{}", types.TextFiled).a)
    support.write(file, "struct TextFiled { a: Int = 4 }\nenum")
    local none, problem = kv.types_from(file)
    assert.is_nil(none)
    assert.equal("invalid_type", problem.code)
    assert.equal(2, problem.line)
    assert.equal(file, problem.file)
    local place = " (line 2, column 5) (" .. file .. ")"
    assert.equal(place, tostring(problem):sub(-#place))
    none, problem = kv.types_from(path .. ".none")
    assert.is_nil(none)
    assert.equal("absent", problem.code)
    os.remove(file)
  end)
end)
