-- Numbers in every Lua: what a store holds stays what it is where a script
-- reads it and writes it back, also in one that has no integers.
local kv = require "kvcodable"
local support = require "lua.spec.support"

--- What a store holds, as XML, in which integers and reals differ.
local function contents(store)
  local text = store:export { format = "xml" }
  return (text:match "<dict>.*</dict>":gsub("%s*\n%s*", ""))
end

local function tag(store, path)
  local other = assert(kv.open_file("other", { engine = "memory" }))
  store:copy_to(other)
  local at = type(path) == "table" and path or { path }
  local bytes = other:export { format = "binary" }
  other:close()
  local value = kv.decode(bytes)
  for _, step in ipairs(at) do value = value[step] end
  return value
end

local sample = [[{ "i": 3, "r": 2.0, "z": -0.0, "big": 9007199254740993,
  "least": -9223372036854775808, "most": 18446744073709551615,
  "edge": 9007199254740991, "edgeReal": 9007199254740991.0,
  "huge": 1e300, "halfs": [1.0, 2.5], "wholes": [1.0, 2.0], "ints": [1, 2],
  "mixed": [1, 2.0, "x", 3.0], "tree": { "a": { "x": 1.0, "y": 2 },
  "list": [{ "z": 4.0, "n": 1 }, { "z": 5, "n": 1.0 }] } }]]

describe("a store's numbers", function()
  local store, before
  before_each(function()
    store = assert(kv.open_file("none", { engine = "memory" }))
    store:import(sample)
    before = contents(store)
  end)
  after_each(function() store:close() end)

  for name, copy in pairs {
    ["as a whole"] = function() store:set({}, store:get {}) end,
    ["key by key"] = function()
      for key, value in store:pairs() do store:set(key, value) end
    end,
    ["place by place"] = function()
      local function walk(path, value)
        if type(value) ~= "table" then store:set(path, value) return end
        for key, inner in pairs(value) do
          local deeper = { support.unpack(path) }
          deeper[#deeper + 1] = key
          walk(deeper, inner)
        end
      end
      walk({}, store:get {})
    end,
    ["in a transaction"] = function()
      store:transaction(function(tx)
        for key, value in tx:pairs() do tx:set(key, value) end
        tx:at "tree":set("a", tx:get { "tree", "a" })
      end)
    end,
    ["in updates"] = function()
      for _, key in ipairs(store:keys()) do
        store:update(key, function(value) return value end)
      end
    end,
    ["with a type that takes all"] = function()
      for key, value in store:pairs() do store:set(key, value, "Any") end
      store:set({}, store:get {}, "[String: Any]")
    end,
    ["where nothing has changed since"] = function()
      for key, value in store:pairs() do
        assert(store:compare_and_set(key, value, store:generation()))
      end
    end,
    ["in a store on disk, with other programs' changes"] = function()
      local folder, remove = support.folder()
      local path = folder .. "/a.plist"
      local file = assert(kv.open_file(path))
      store:copy_to(file)
      assert(file:sync())
      local text = support.contents(path)
      for key, value in file:pairs() do file:set(key, value) end
      support.write(path, (text:gsub("<dict>", "<dict><key>new</key><true/>",
        1)))
      assert(file:close())
      file = assert(kv.open_file(path))
      assert.is_true(file:get "new")
      file:remove "new"
      file:copy_to(store)
      file:close()
      remove()
    end,
  } do
    -- proves: G88
    it("stay what they are when they are read and written " .. name, function()
      copy()
      assert.equal(before, contents(store))
    end)
  end

  it("are numbers up to 2^53 - 1, and integers beyond", function()
    assert.equal(3, store:get "i")
    assert.equal(9007199254740991, store:get "edge")
    assert.equal(kv.int64 "9007199254740993", store:get "big")
    assert.equal(support.least, store:get "least")
    assert.equal("-9223372036854775808", tostring(store:get "least"))
    assert.equal("18446744073709551615", tostring(store:get "most"))
    assert.equal(-1 / 0, 1 / store:get "z")
    assert.equal(support.has_integers and "number" or "userdata",
      type(store:get "big"))
  end)

  it("are integers or reals as scripts say", function()
    store:set("x", kv.real(7))
    store:set("y", kv.int64(7))
    store:set("z", kv.int64 "-7")
    store:set("r", kv.int64(1))
    local text = contents(store)
    for _, expected in ipairs { "<key>x</key><real>7</real>",
      "<key>y</key><integer>7</integer>", "<key>z</key><integer>-7</integer>",
      "<key>r</key><integer>1</integer>" } do
      assert.matches(expected, text, 1, true)
    end
    assert.equal("[1.0,1,2.5]",
      kv.encode({ kv.real(1), kv.int64(1), 2.5 }, nil, { format = "json" }))
    assert.equal("[1,2]", kv.encode({ 1, 2 }, nil, { format = "json" }))
    assert.equal("[1.0,2.0]",
      kv.encode({ 1, 2 }, "[Double]", { format = "json" }))
  end)

  it("are in the kind of their type", function()
    local Both = kv.struct "WholesBoth" { real = kv.double, int = kv.int,
      any = kv.any:optional(), reals = kv.array_of(kv.float) }
    local both = { real = 1, int = 2, any = 3, reals = { 4, 5 } }
    store:set("both", both, Both)
    assert.matches("<key>both</key><dict><key>any</key><integer>3</integer>"
      .. "<key>int</key><integer>2</integer><key>real</key><real>1</real>"
      .. "<key>reals</key><array><real>4</real><real>5</real></array></dict>",
      contents(store), 1, true)
    -- A stored real where the type has an integer is none any more.
    store:set({ "both", "int" }, kv.real(2))
    both.int = 3
    store:set("both", both, Both)
    assert.matches("<key>int</key><integer>3</integer>", contents(store), 1,
      true)
  end)

  it("are made by kv.int64 of texts and numbers", function()
    assert.equal("9223372036854775807", tostring(support.most))
    assert.equal("-1", tostring(kv.int64(-1)))
    assert.is_true(kv.int64 "1" < kv.int64 "2" and kv.int64(2) <= kv.int64(2))
    assert.is_true(kv.int64(5) == kv.int64 "5" and kv.int64(5) ~= kv.int64(6))
    for text, expected in pairs { ["9223372036854775808"] = "expected %-9223",
      ["-9223372036854775809"] = "expected %-9223", [""] = "expected digits",
      ["-"] = "expected digits", ["1x"] = "expected digits" } do
      assert.matches(expected, support.failure(kv.int64, text))
    end
    assert.matches("expected a whole number", support.failure(kv.int64, 1.5))
    assert.equal(7, tonumber(tostring(kv.real(7))))
  end)

  if support.has_integers then
    it("are what scripts set, whatever was there", function()
      store:set("r", 5)
      store:set({ "halfs", 1 }, 1)
      assert.equal("integer", math.type(tag(store, "r")))
      assert.equal("integer", math.type(tag(store, { "halfs", 1 })))
    end)
  else
    local function holds(...)
      local text = contents(store)
      for _, expected in ipairs { ... } do
        assert.matches(expected, text, 1, true)
      end
    end

    it("go by what was there, in any layer, and else are integers", function()
      store:register { scale = kv.real(1), steps = 2, rates = { 0.5, 1 } }
      store:set("r", 7)
      store:set("i", 7)
      store:set("new", 7)
      store:set("scale", 2)
      store:set("steps", 3)
      store:set("rates", { 1, 2 })
      holds("<key>r</key><real>7</real>", "<key>i</key><integer>7</integer>",
        "<key>new</key><integer>7</integer>", "<key>scale</key><real>2</real>",
        "<key>steps</key><integer>3</integer>")
      store:remove "r"
      store:set("r", 7)
      holds "<key>r</key><integer>7</integer>"
    end)

    it("go by the others in an array", function()
      store:set("halfs", { 1, 2, 3, 4 })
      store:set({ "wholes", 3 }, 3)
      store:set({ "wholes", 1 }, 9)
      store:set("ints", { 1, 2, 3 })
      store:set("mixed", { 4, 5, 6, 7, 8 })
      holds("<key>halfs</key><array><real>1</real><real>2</real>"
        .. "<real>3</real><real>4</real></array>",
        "<key>wholes</key><array><real>9</real><real>2</real><real>3</real>",
        "<key>ints</key><array><integer>1</integer><integer>2</integer>"
        .. "<integer>3</integer></array>",
        "<key>mixed</key><array><integer>4</integer><real>5</real>"
        .. "<integer>6</integer><real>7</real><integer>8</integer></array>")
    end)

    it("go by what a transaction has set", function()
      store:transaction(function(tx)
        tx:set("i", kv.real(1))
        tx:set("r", kv.int64(1))
        tx:set("i", 2)
        tx:set("r", 2)
      end)
      holds("<key>i</key><real>2</real>", "<key>r</key><integer>2</integer>")
    end)

    it("say what they are not", function()
      assert.is_false(kv.int64(1) == 1)
      assert.is_false((pcall(function() return kv.int64(1) < 2 end)))
      assert.equal(9007199254740992, kv.int64 "9007199254740993":number())
      assert.equal(7, kv.real(7):number())
    end)
  end
end)
