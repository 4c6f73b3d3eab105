-- Tables whose keys come again and again, come and go, and change in between.
local kv = require "kvcodable"
local support = require "lua.spec.support"

local function store()
  return assert(kv.open_file("none.plist",
    { engine = "memory", format = "binary", durability = "manual" }))
end

local function record(i)
  return { id = i, name = "n" .. i, on = i % 2 == 0, ratio = i + 0.5 }
end

describe("dictionaries with the same keys", function()
  local s
  before_each(function()
    s = store()
    for i = 1, 4 do
      s:set("r", record(i))
      assert.same(record(i), s:get "r")
    end
  end)
  after_each(function() s:close() end)

  local function stays(value)
    s:set("r", value)
    assert.same(value, s:get "r")
    assert.same(value, s:get "r")
  end

  it("come back, whatever the order in which they were made", function()
    local backwards = {}
    backwards.ratio, backwards.on = 1.5, true
    backwards.name, backwards.id = "x", 7
    for _ = 1, 20 do
      stays(backwards)
      stays(record(3))
    end
  end)

  it("come back with a key more, a key less and another key", function()
    local more, less, other = record(1), record(2), record(3)
    more.extra, less.name = "e", nil
    other.name, other.nane = nil, "typing error"
    for _ = 1, 3 do
      stays(more)
      stays(less)
      stays(other)
    end
  end)

  it("are written in the order of their keys", function()
    local function key(random)
      return ("%s%d%s"):format(("abc"):sub(random(3)):sub(1, 1), random(300),
        ("z"):rep(random(10)))
    end
    for round = 1, 300 do
      local t, prefix = {}, ("p"):rep(round % 12)
      for i = 1, round % 100 + 2 do t[prefix .. key(math.random)] = i end
      local text = kv.encode(t, nil, { format = "json" })
      local last = ""
      for found in text:gmatch '"([^"]*)":' do
        assert.is_true(last < found, found)
        last = found
      end
      assert.same(t, kv.decode(text))
    end
  end)

  it("come back inside one another", function()
    local outer = record(1)
    outer.name = record(2)
    outer.name.ratio = record(3)
    outer.id = { record(4), record(5), { record(6) } }
    for _ = 1, 3 do stays(outer) end
  end)

  it("come back with values of many nodes", function()
    local long = {}
    for i = 1, 100 do long[i] = i end
    for _ = 1, 3 do
      stays { id = long, name = "x", on = long, ratio = { a = 1, b = long } }
    end
  end)

  it("are checked as every other table", function()
    local wrong = record(1)
    wrong.ratio = print
    local ok, err = pcall(s.set, s, "r", wrong)
    assert.is_false(ok)
    assert.matches("at r.ratio,", tostring(err), 1, true)
    wrong = record(1)
    wrong[1] = "number among strings"
    assert.is_false((pcall(s.set, s, "r", wrong)))
    assert.same(record(4), s:get "r")
    stays(record(5))
  end)

  it("come back with every kind of value", function()
    local value = record(1)
    for _, each in ipairs {
      kv.date(12.5), kv.data "\0\255", kv.uint64 "18446744073709551615", {},
      kv.array {}, "ä\0ö", "", 0 / 1, support.minus_zero, support.least, 2.0,
      false,
      ("long"):rep(100),
    } do
      value.name = each
      stays(value)
      s:set("r", value)
      assert.equal(support.kind(each), support.kind(s:get "r".name))
    end
  end)

  it("name the place of bytes that are no text", function()
    local wrong = record(1)
    wrong.name = "\255"
    for _ = 1, 3 do
      local ok, err = pcall(s.set, s, "r", wrong)
      assert.is_false(ok)
      assert.equal("invalid_value", err.code)
      assert.same({ "r", "name" }, err.path)
      assert.matches("at r.name", tostring(err), 1, true)
    end
    assert.same(record(4), s:get "r")
  end)

  it("are set as types say", function()
    local Record = kv.struct "ShapedRecord" {
      id = kv.int, name = kv.string, on = kv.bool:default(true),
      ratio = kv.double:range(0, 10),
    }
    for i = 1, 5 do
      s:set("r", record(i), Record)
      assert.same(record(i), s:get("r", Record))
    end
    assert.is_false((pcall(s.set, s, "r", record(11), Record)))
    assert.same(record(5), s:get "r")
  end)

  it("come and go by the hundred", function()
    for round = 1, 3 do
      for i = 1, 200 do
        stays {
          ["first" .. i] = i, second = i, ["third" .. i % 7] = round,
          [("x"):rep(i)] = "",
        }
      end
      collectgarbage()
    end
  end)

  it("come back where a finalizer reads others meanwhile", function()
    local mode = support.generational()
    -- LuaJIT's begins none in this time where the heap is large.
    if jit then support.collect_often(true) end
    local many, calls, depth, round, is_over = {}, 0, 0, 0, false
    for i = 1, 40 do
      local value = {}
      for key = 1, 2 + i % 20 do value[("k"):rep(i % 3) .. key * i] = i end
      many[i] = value
      s:set("many" .. i, value)
    end
    local function read_others()
      -- Some run when the store is closed.
      if is_over or depth > 2 then return end
      depth, calls = depth + 1, calls + 1
      for i = 1, 40 do s:get("many" .. i) end
      depth = depth - 1
    end
    -- Where the heap is large, no collection ends for many rounds.
    while round < 4000 or calls == 0 and round < 400000 do
      round = round + 1
      if round % 10 == 0 then support.finalizer(read_others) end
      local at = round * 7 % 40 + 1
      assert.same(many[at], s:get("many" .. at))
    end
    is_over = true
    if jit then support.collect_often(false) end
    support.collect_as(mode)
    assert.is_true(calls > 0)
  end)

  it("keep the keys' own bytes", function()
    local value =
      { [""] = 1, ["a\0b"] = 2, ["ä"] = 3, [("k"):rep(60)] = 4 }
    for _ = 1, 4 do
      s:set("r", value)
      local back = s:get "r"
      assert.same(value, back)
      collectgarbage()
    end
    for _, wrong in ipairs { "\255", "a\195" } do
      assert.is_false((pcall(s.set, s, "r", { [wrong] = 1, b = 2 })))
    end
  end)

  it("tell a key from a light userdata or a table in its place", function()
    local mixed = record(1)
    mixed[io.stdout] = 1
    assert.is_false((pcall(s.set, s, "r", mixed)))
    mixed[io.stdout] = nil
    mixed[{}] = 1
    assert.is_false((pcall(s.set, s, "r", mixed)))
  end)
end)

describe("an empty table without a tag", function()
  it("keeps the kind of what it replaces, at each depth", function()
    local s = assert(kv.open_file("none", { engine = "memory",
      defaults = { default = { 1 } } }))
    s:set("recent", { "a" })
    s:set("deep", { list = { 1 }, part = { a = 1 }, rows = { { x = { 1 } } } })
    s:set("recent", {})
    s:set("default", {})
    s:set("deep", { list = {}, part = {}, rows = { { x = {} } }, new = {} })
    local deep = s:get "deep"
    assert.same({ "array", "array", "array", "dictionary", "array",
      "dictionary" }, { kv.type(s:get "recent"), kv.type(s:get "default"),
      kv.type(deep.list), kv.type(deep.part), kv.type(deep.rows[1].x),
      kv.type(deep.new) })
    s:set({ "recent", 1 }, "b")
    assert.same({ "b" }, s:get "recent")
    s:set("recent", kv.dictionary {})
    assert.equal("dictionary", kv.type(s:get "recent"))
    s:update({ "deep", "rows", 1, "x" }, function() return {} end)
    s:transaction(function(tx) tx:set({ "deep", "list" }, {}) end)
    assert.equal("array", kv.type(s:get { "deep", "rows", 1, "x" }))
    assert.equal("array", kv.type(s:get { "deep", "list" }))
    s:close()
  end)
end)
