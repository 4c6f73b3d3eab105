-- A type is compiled once: what it costs to name it, and that no old meaning
-- stays.
local kv = require "kvcodable"
local support = require "lua.spec.support"

describe("a type that has been used", function()
  local store
  support.in_memory(before_each, after_each, function(given) store = given end)

  --- How many of the module's functions in Lua a call goes through.
  local function lua_calls(call, ...)
    local count = 0
    debug.sethook(function()
      local source = debug.getinfo(2, "S").short_src
      if source:find("^kvcodable%.") then count = count + 1 end
    end, "c")
    call(...)
    debug.sethook()
    return count
  end

  it("was compiled by functions that are counted here", function()
    assert.is_true(lua_calls(store.get, store, "v", "Int?") > 0)
  end)

  kv.struct "CompiledPoint" { x = kv.int, y = kv.int:default(2) }
  local Chain = kv.struct "CompiledChain" {
    value = kv.int, next = "CompiledChain?",
  }
  local chain = { value = 1, next = { value = 2, next = { value = 3 } } }

  for expression, value in pairs {
    Int = 7, ["Int?"] = 7, [" [Int] "] = { 7 }, ["Int(1...9)"] = 7,
    CompiledPoint = { x = 7, y = 2 }, CompiledChain = chain,
    ["[CompiledPoint]?"] = { { x = 7, y = 2 } },
    ["[String: [CompiledChain](1...)]"] = { a = { chain } },
  } do
    it("costs no call of Lua's when it is named: " .. expression, function()
      store:set("v", value, expression)
      assert.same(value, store:get("v", expression))
      assert.equal(0, lua_calls(store.get, store, "v", expression))
      assert.equal(0, lua_calls(store.set, store, "v", value, expression))
      assert.equal(0, lua_calls(kv.encode, value, expression))
      assert.equal(0, lua_calls(store.get, store:at {}, { "v" }, expression))
    end)
  end

  it("costs none either where it holds itself and no converter", function()
    store:set("v", chain, Chain)
    assert.same(chain, store:get("v", Chain))
    assert.equal(0, lua_calls(store.get, store, "v", Chain))
    assert.equal(0, lua_calls(store.set, store, "v", chain, Chain))
  end)

  it("converts where a type that it names, or itself, has a converter",
    function()
      local negative = { decode = function(n) return -n end,
        encode = function(n) return -n end }
      kv.struct "CompiledOuter" { inner = "CompiledInner", to = "[Any]" }
      kv.struct "CompiledInner" {
        n = kv.int:convert(negative), back = "CompiledOuter?",
      }
      local value = { inner = { n = 1, back = { inner = { n = 2 }, to = {} } },
        to = {} }
      for _ = 1, 2 do
        store:set("v", value, "CompiledOuter")
        assert.equal(-1, store:get { "v", "inner", "n" })
        assert.equal(-2, store:get { "v", "inner", "back", "inner", "n" })
        assert.same(value, store:get("v", "CompiledOuter"))
      end
      for type, given in pairs {
        ["[CompiledOuter]"] = { value }, ["CompiledOuter?"] = value,
        ["[String: CompiledInner]"] = { a = { n = 3 } },
      } do
        assert.same(given, kv.decode(assert(kv.encode(given, type)), type))
      end
      assert.equal(-3, kv.decode(
        assert(kv.encode({ n = 3 }, "CompiledInner"))).n)
    end)

  it("leaves out what is transient, wherever that is", function()
    kv.struct "CompiledShown" { n = kv.int, f = kv.any:optional():transient() }
    kv.enum "CompiledCase" { one = { a = "[CompiledShown]" }, "none" }
    local value = { one = { a = { { n = 1, f = print } } } }
    assert.same({ one = { a = { { n = 1 } } } },
      kv.decode(assert(kv.encode(value, "CompiledCase"))))
  end)

  it("means by its name what that means now", function()
    local scoped = assert(kv.open_file("scoped", {
      engine = "memory", types = { Mine = "[CompiledNew]" },
    }))
    local function refused(other, value, type)
      local problem = support.failure(other.set, other, "v", value, type)
      assert.equal("type_mismatch", problem.code)
    end
    for round = 1, 3 do
      local name, wrong = "f" .. round, { ["f" .. round] = "x" }
      kv.struct "CompiledNew" { [name] = kv.int }
      for _ = 1, 2 do
        local right, old = { [name] = round }, { ["f" .. round - 1] = 1 }
        for _, value in ipairs { wrong, old } do
          refused(store, value, "CompiledNew")
          refused(store, { value }, "[CompiledNew]")
          refused(scoped, { value }, "Mine")
          refused(scoped, { a = value }, "[String: CompiledNew]")
        end
        local replace = { replace = true }
        store:set("v", right, "CompiledNew", replace)
        scoped:set("v", { right }, "Mine", replace)
        assert.same({ right }, scoped:get("v", "Mine"))
      end
    end
    scoped:close()
  end)

  it("may be named before it is defined, also when that is done again",
    function()
      local negative = { decode = function(n) return -n end,
        encode = function(n) return -n end }
      local function load(field, type)
        kv.struct "CompiledWin" {
          panes = "[CompiledPane]", any = "CompiledPane?",
          main = "CompiledSide", list = kv.array_of "CompiledSide",
        }
        store:get("none", "[CompiledPane]?") -- still what it was
        kv.struct "CompiledPane" { [field] = type }
        kv.enum "CompiledSide" { "left", [2] = field }
      end
      kv.struct "CompiledPane" {}
      for round = 1, 3 do
        for sign, type in pairs { kv.int, [-1] = kv.int:convert(negative) } do
          local field = "f" .. round
          load(field, type)
          local value = { panes = { { [field] = 1 } }, main = field,
            list = { "left", field }, any = { [field] = 2 } }
          for _ = 1, 2 do
            store:set("v", value, "CompiledWin", { replace = true })
            assert.equal(sign, store:get { "v", "panes", 1, field })
            assert.same(value, store:get("v", "CompiledWin"))
          end
        end
      end
    end)

  it("means what a model says, whatever is defined again", function()
    local names, meanings = { "CompiledA", "CompiledB", "CompiledC" }, {}
    local wraps = {
      { "%s", function(value) return value end },
      { "[%s]?", function(value) return { value } end },
      { "[String: [%s?]]", function(value) return { k = { value } } end },
    }
    local function define(name)
      local shift, inner = math.random(0, 5), names[math.random(3)]
      local field, number = "f" .. math.random(3), kv.int
      if shift > 2 then
        number = kv.int:convert { decode = function(n) return n - shift end,
          encode = function(n) return n + shift end }
      end
      meanings[name] = { field = field, inner = inner,
        shift = shift > 2 and shift or 0 }
      kv.struct(name) { [field] = number, one = inner .. "?",
        all = kv.array_of(inner):optional() }
    end

    --- A value of the type, and how it is stored.
    local function make(name, depth)
      local meaning, number = meanings[name], math.random(100)
      local value = { [meaning.field] = number }
      local stored = { [meaning.field] = number + meaning.shift }
      for _, key in ipairs(depth > 0 and { "one", "all" } or {}) do
        local inner, inner_stored = make(meaning.inner, depth - 1)
        local is_one = key == "one"
        value[key] = is_one and inner or { inner }
        stored[key] = is_one and inner_stored or { inner_stored }
      end
      return value, stored
    end

    math.randomseed(1)
    for _, name in ipairs(names) do define(name) end
    for round = 1, 300 do
      if round % 5 == 0 then define(names[math.random(3)]) end
      local name, wrap = names[math.random(3)], wraps[math.random(3)]
      local value, stored = make(name, 2)
      local type = wrap[1]:format(name)
      store:set("v", wrap[2](value), type, { replace = true })
      assert.same(wrap[2](stored), store:get "v")
      assert.same(wrap[2](value), store:get("v", type))
    end
  end)

  it("means by its name what a store says, in that store alone", function()
    kv.struct "CompiledOwn" { a = kv.int }
    local mine = assert(kv.open_file("mine", {
      engine = "memory", types = { CompiledOwn = kv.string },
    }))
    for _ = 1, 3 do
      store:set("v", { a = 1 }, "CompiledOwn")
      mine:set("v", "text", "CompiledOwn")
      assert.equal("text", mine:get("v", "CompiledOwn"))
      assert.same({ a = 1 }, store:get("v", "CompiledOwn"))
      mine:at {}:transaction(function(tx)
        assert.equal("text", tx:get("v", "CompiledOwn"))
      end)
    end
    mine:close()
  end)

  it("goes with a converter that its name gets", function()
    local Late = kv.struct "CompiledLate" { n = kv.int }
    store:set("v", { n = 1 }, "CompiledLate")
    assert.same({ n = 1 }, store:get("v", "CompiledLate"))
    Late:convert { decode = function(late) return late.n end }
    assert.equal(1, store:get("v", "CompiledLate"))
  end)

  it("takes no memory for each text that a script makes up", function()
    local scoped = assert(kv.open_file("many", {
      engine = "memory", types = { Many = "Int" },
    }))
    local function name(from, to)
      for i = from, to do
        assert.is_nil(store:get("none", ("Int(0...%d)?"):format(i)))
        assert.is_nil(scoped:get("none", ("[Many](0...%d)?"):format(i)))
      end
      collectgarbage()
      collectgarbage()
      return collectgarbage "count"
    end
    local before = name(1, 400)
    assert.is_true(name(401, 1600) < before + 400)
    scoped:close()
  end)

  it("is compiled anew where a script took its compiled form away", function()
    local Taken = kv.struct "CompiledTaken" { a = kv.int }
    for _ = 1, 3 do
      store:set("v", { a = 1 }, "CompiledTaken")
      assert.same({ a = 1 }, store:get("v", "CompiledTaken"))
      for key in next, Taken do
        if type(key) == "userdata" then rawset(Taken, key, nil) end
      end
    end
  end)
end)
