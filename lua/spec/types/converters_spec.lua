local kv = require "kvcodable"
local support = require "lua.spec.support"
local failure = support.failure

describe("the place of a converter's error", function()
  local Color = kv.array_of(kv.double):convert {
    decode = function(numbers)
      if #numbers ~= 3 then error "no color" end
      return { red = numbers[1] }
    end,
    encode = function(color) return { color.red, 0.0, 0.0 } end,
  }
  local Window = kv.struct "PlacedWindow" {
    color = Color,
    marks = kv.dictionary_of(kv.array_of(Color)):default {},
    size = kv.int:default(1),
  }
  local Shape = kv.enum "PlacedShape" { "none", dot = { color = Color } }
  local store
  support.in_memory(before_each, after_each, function(opened)
    store = opened
  end)

  local good, bad = { 1.0, 2.0, 3.0 }, { 1.0 }
  local rows = {
    { { "c" }, bad, Color, "c", { "c" } },
    { { "ui", "window" }, { color = bad }, Window, "ui.window.color",
      { "ui", "window", "color" } },
    { { "ui", "window" }, { color = good, marks = { a = { good, bad } } },
      Window, "ui.window.marks.a[2]",
      { "ui", "window", "marks", "a", 2 } },
    { { "all" }, { { color = good }, { color = bad } }, "[PlacedWindow]",
      "all[2].color", { "all", 2, "color" } },
    { { "shape" }, { dot = { color = bad } }, Shape, "shape.dot.color",
      { "shape", "dot", "color" } },
  }
  for _, row in ipairs(rows) do
    local path, value, as, text, place = support.unpack(row)
    it("is " .. text, function()
      local function check(problem)
        assert.equal("refused", problem.code)
        assert.same(place, problem.path)
        assert.matches("^The converter failed at "
          .. text:gsub("%p", "%%%0") .. ": .*: no color$", problem.message)
      end
      store:set(path, value)
      check(failure(store.get, store, path, as))
      check(failure(store.update, store, path, as, print))
      local part = store:at(path)
      check(failure(part.get, part, {}, as))
      check(failure(store.transaction, store, function(tx)
        tx:get(path, as)
      end))
      assert.same(value, store:get(path))
    end)
  end

  it("is also that of what cannot be stored", function()
    local problem = failure(store.set, store, "window", { color = 7 }, Window)
    assert.same({ "window", "color" }, problem.path)
    assert.matches("at window.color: .*attempt to index",
      problem.message)
    assert.is_nil(store:get "window")
  end)

  it("gets what a set with options stores", function()
    local Tens = kv.struct "ConvertedTens" {
      n = kv.int:convert { decode = function(n) return n / 10 end,
        encode = function(n) return n * 10 end },
    }
    local opened = assert(kv.open_file("memory",
      { engine = "memory", schema = Tens }))
    opened:set("n", 4, nil, { replace = true })
    assert.equal(40, opened:get("n", "Int"))
    opened:close()
  end)

  it("is in the value that is decoded and encoded", function()
    local function returned(value, problem)
      assert.is_nil(value)
      assert.equal("refused", problem.code)
      return problem
    end
    local folder, remove = support.folder()
    local path = folder .. "/a.plist"
    local bytes = assert(kv.encode { color = bad })
    assert(kv.write(path, { color = bad }))
    for _, problem in ipairs {
      returned(kv.decode(bytes, Window)), returned(kv.read(path, Window)),
      returned(kv.encode({ color = 7 }, Window)),
      returned(kv.write(path, { color = 7 }, Window)),
    } do
      assert.same({ "color" }, problem.path)
    end
    assert.same({ color = bad }, kv.read(path))
    local problem = returned(kv.encode(7, Color))
    assert.same({}, problem.path)
    assert.matches("^The converter failed: ", problem.message)
    remove()
  end)

  it("goes with no other value that is raised", function()
    local raised = { "mine" }
    local Raising = kv.struct "PlacedRaising" {
      a = kv.int:convert { decode = function() error(raised) end },
    }
    store:set("r", { a = 1 })
    assert.equal(raised, failure(store.get, store, "r", Raising))
    assert.equal(raised, failure(kv.decode, '{"a": 1}', Raising))
  end)

  it("is right after an error, and where a converter reads another", function()
    local Nested = kv.struct "PlacedNested" {
      outer = kv.int:convert { decode = function()
        assert(not pcall(store.get, store, "bad", Window))
        return store:get("good", Window).color.red
      end },
      later = kv.int:convert { decode = function() error("late", 0) end }
        :optional(),
    }
    store:set("bad", { color = bad, marks = { a = { good } } })
    store:set("good", { color = good })
    store:set("n", { outer = 1 })
    for _ = 1, 3 do
      assert.equal(1.0, store:get("n", Nested).outer)
    end
    store:set("n", { outer = 1, later = 2 })
    local problem = failure(store.get, store, "n", Nested)
    assert.equal("The converter failed at n.later: late", problem.message)
  end)
end)
