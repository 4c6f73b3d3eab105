-- What refers to something else keeps that alive: for each pair, the one that
-- is referred to is dropped, what is garbage is collected twice, and freed
-- memory gets other contents before each use.
local kv = require "kvcodable"
local support = require "lua.spec.support"
local failure, scrub = support.failure, support.scrub

--- What `make` returns, when nothing else of its work is left.
local function alone(make, ...)
  local kept = support.pack(make(...))
  return scrub(), support.unpack(kept, 1, kept.n)
end

local function open(options)
  options = options or {}
  options.engine = "memory"
  local store = assert(kv.open_file("lifetimes", options))
  store:set("p", { a = 1, q = { b = 2, r = { c = 3 } } })
  return store
end

--- Every method of a handle whose transaction is over says so.
local function assert_over(handle)
  local calls = {
    { "get", "a" }, { "set", "a", 1 }, { "remove", "a" }, { "keys" },
    { "at", "a" }, { "update", "a", function() end },
    { "transaction", function() end }, { "watch", "a", function() end },
    { "sync" }, { "generation" }, { "compare_and_set", "a", 1, 0 },
    { "migrate", { function() end } }, { "version" }, { "export" },
  }
  for _, call in ipairs(calls) do
    local blocks = scrub()
    local problem =
      failure(handle[call[1]], handle, support.unpack(call, 2, #call))
    assert.equal("closed", problem.code, call[1])
    assert.equal("The transaction is over", problem.message)
    assert.is_true(#blocks > 0)
  end
  assert.matches("^kvcodable transaction %(closed%)", tostring(handle))
  assert.is_true(handle:close())
end

-- proves: G92
describe("a handle that nothing else keeps alive", function()
  it("on a part keeps the store", function()
    local _, part = alone(function() return open():at "p" end)
    assert.equal(1, part:get "a")
    local _ = scrub()
    part:set("a", 5)
    local _ = scrub()
    assert.same({ "a", "q" }, part:keys())
    assert.matches("open", tostring(part))
  end)

  it("on a part of a part of a part keeps the store", function()
    local _, part = alone(function()
      return open():at("p"):at("q"):at "r"
    end)
    assert.equal(3, part:get "c")
    local _ = scrub()
    part:update("c", "Int", function(c) return c + 1 end)
    assert.equal(4, part:get "c")
  end)

  it("on a part of what was closed says so", function()
    local _, part = alone(function()
      local store = open()
      local part = store:at { "p", "q" }
      store:close()
      return part
    end)
    assert.equal("closed", failure(part.get, part, "b").code)
    assert.equal("The store is closed", failure(part.set, part, "b", 1).message)
    assert.matches("^kvcodable store %(closed%)", tostring(part))
  end)

  it("on a part of a transaction keeps the transaction", function()
    local _, part = alone(function()
      local part
      open():transaction(function(tx) part = tx:at "p" end)
      return part
    end)
    assert_over(part)
  end)

  it("on a part of a part of a transaction keeps the transaction", function()
    local _, part = alone(function()
      local part
      open():transaction(function(tx) part = tx:at("p"):at("q"):at "r" end)
      return part
    end)
    assert_over(part)
  end)

  it("on a part of a part's transaction keeps the transaction", function()
    local store = open()
    local _, part = alone(function()
      local part
      store:at("p"):transaction(function(tx) part = tx:at "q" end)
      return part
    end)
    assert_over(part)
    assert.equal(2, store:get { "p", "q", "b" })
    store:close()
  end)

  it("on a part of an inner transaction keeps that one", function()
    local store, part = open(), nil
    store:transaction(function(outer)
      local _ = alone(function()
        outer:at("p"):transaction(function(inner)
          part = inner:at "q"
          part:set("b", 7)
        end)
      end)
      assert_over(part)
      assert.equal(7, outer:get { "p", "q", "b" })
    end)
    local _ = scrub()
    assert_over(part)
    assert.equal(7, store:get { "p", "q", "b" })
    store:close()
  end)

  it("on a part of a transaction that failed keeps the transaction", function()
    local _, part = alone(function()
      local part
      assert.is_false(pcall(function()
        open():transaction(function(tx)
          part = tx:at "p"
          error "no"
        end)
      end))
      return part
    end)
    assert_over(part)
  end)

  it("on a part of a migration's transaction keeps it", function()
    local _, part, changed = alone(function()
      local part
      local changed = open():migrate { function(tx) part = tx:at "p" end }
      return part, changed
    end)
    assert.is_true(changed)
    assert_over(part)
  end)

  it("on a transaction that is over keeps its store", function()
    local _, tx = alone(function()
      local kept
      open():transaction(function(tx) kept = tx end)
      return kept
    end)
    assert_over(tx)
  end)

  it("on an inner transaction that is over keeps the outer one", function()
    local _, tx = alone(function()
      local kept
      open():at("p"):transaction(function(outer)
        outer:transaction(function(inner) kept = inner end)
      end)
      return kept
    end)
    assert_over(tx)
  end)

  it("on a transaction that runs keeps its part and store", function()
    local result = open():at("p"):at("q"):transaction(function(tx)
      local _ = scrub()
      tx:set("b", 9)
      return tx:at("r"):transaction(function(inner)
        local _ = scrub()
        inner:set("c", tx:get "b")
        return inner:get "c"
      end)
    end)
    assert.equal(9, result)
  end)

  it("is kept by what pairs gives", function()
    local _, iterate = alone(function() return (open():at "p":pairs()) end)
    local found = {}
    for key, value in iterate do
      local _ = scrub()
      found[key] = value
    end
    assert.same({ a = 1, q = { b = 2, r = { c = 3 } } }, found)
  end)

  it("is kept by what pairs gives of a transaction", function()
    local store, iterate = open(), nil
    store:transaction(function(tx) iterate = tx:at "p":pairs() end)
    local _ = scrub()
    assert.equal("closed", failure(iterate).code)
    store:close()
  end)

  it("is kept by its methods' values, which need it no more", function()
    local _, value, problem = alone(function()
      local store = open()
      store:set("d", { kv.data "bytes", kv.date(1), kv.uid(7) })
      local value = store:get "d"
      local problem = failure(store.set, store, "d", { print })
      store:close()
      return value, problem
    end)
    assert.equal("bytes", value[1]:bytes())
    assert.equal(1, value[2]:unix())
    assert.equal(7, value[3]:value())
    assert.is_true(kv.is_array(value))
    assert.same({ "d", 1 }, problem.path)
    assert.matches("found function", tostring(problem), 1, true)
  end)

  it("keeps its context and the scope of its types' names", function()
    local _, part = alone(function()
      local stored = kv.int:convert {
        decode = function(value, context) return value * context.factor end,
        encode = function(value, context)
          return math.floor(value / context.factor)
        end,
      }
      local Pair = kv.struct "LifetimesPair" { a = stored }
      return open { context = { factor = 10 },
        types = { Scaled = stored, Pair = Pair } }:at "p"
    end)
    assert.equal(10, part:get("a", "Scaled"))
    local _ = scrub()
    part:set("a", 50, "Scaled")
    local _ = scrub()
    assert.equal(5, part:get "a")
    local _ = scrub()
    assert.same({ a = 50 }, part:get({}, "Pair"))
    local _ = scrub()
    part:transaction(function(tx)
      local inner = tx:at {}
      local _ = scrub()
      assert.equal(50, inner:get("a", "Scaled"))
    end)
  end)
end)

describe("a type that nothing else keeps alive", function()
  it("is kept by the types that are made of it", function()
    local store = open()
    local _, outer = alone(function()
      local inner = kv.struct "LifetimesOuter" { b = kv.int:default(4) }
      inner = kv.struct "LifetimesInner" { a = inner }
      kv.struct "LifetimesInner" {} -- the names mean something else now
      kv.struct "LifetimesOuter" {}
      return kv.array_of(inner)
    end)
    store:set("list", { { a = {} } })
    assert.same({ { a = { b = 4 } } }, store:get("list", outer))
    local _ = scrub()
    store:set("list", { { a = { b = 1 } } }, outer)
    local _ = scrub()
    assert.same({ { a = { b = 1 } } }, store:get("list", outer))
    store:close()
  end)

  it("lasts while what is stored as it says is written and read", function()
    local store = open()
    for i = 1, 3 do
      local _ = scrub()
      store:set("list", { i }, kv.array_of(kv.int:range(1, 3)))
      local _ = scrub()
      assert.same({ i }, store:get("list", kv.array_of(kv.int:range(1, i))))
      local _ = scrub()
      local bytes = kv.encode({ i }, kv.array_of(kv.double))
      local _ = scrub()
      assert.same({ i }, kv.decode(bytes, kv.array_of(kv.int:range(1, i))))
    end
    store:close()
  end)

  it("may be compiled anew by what converts for it", function()
    local store = open()
    local compiled
    local type = kv.int:convert {
      encode = function(value)
        for key in next, compiled do
          if _G.type(key) == "userdata" then compiled[key] = nil end
        end
        local _ = scrub()
        return value
      end,
    }
    compiled = type
    store:set("x", 1, type)
    assert.equal(1, store:get("x", type))
    store:close()
  end)
end)

describe("a watch that nothing else keeps alive", function()
  local folder, remove
  before_each(function() folder, remove = support.folder() end)
  after_each(function() remove() end)

  local function open_file()
    return assert(kv.open_file(folder .. "/settings.plist",
      { durability = "immediate" }))
  end

  it("is told, and keeps the handle that it was made with", function()
    local told, writer = {}, open_file()
    local _, cancel = alone(function()
      local part = open_file():at "p"
      local watch = part:watch("a", function(key, new, old)
        told[#told + 1] = { key, new, old }
      end)
      return function() watch:cancel() end
    end)
    writer:set({ "p", "a" }, 1)
    local _ = scrub()
    kv.pump()
    local _ = scrub()
    writer:set({ "p", "a" }, 2)
    kv.pump()
    assert.same({ { "a", 1 }, { "a", 2, 1 } }, told)
    cancel()
    writer:close()
    local _ = scrub()
    kv.pump()
  end)

  it("lasts as long as what it tells takes", function()
    local store, seen, watch = open_file(), {}, nil
    watch = store:watch({}, function(key, new, old)
      local _ = scrub()
      if watch then
        watch:cancel()
        watch = nil
      end
      local _ = scrub()
      kv.pump()
      seen[#seen + 1] = { key, new, old }
    end)
    store:set("list", { { 1, kv.data "x" }, "two" })
    store:set("other", 1)
    kv.pump()
    assert.equal(1, #seen)
    assert.equal("list", seen[1][1])
    assert.equal("x", seen[1][2][1][2]:bytes())
    store:close()
  end)

  it("of events keeps its store", function()
    local path = folder .. "/settings.plist"
    local told = {}
    local _, watch = alone(function()
      return open_file():events(function(kind) told[#told + 1] = kind end)
    end)
    support.write(path, "<plist><dict>")
    kv.pump()
    local _ = scrub()
    kv.pump()
    watch:cancel()
    assert.matches("cancelled", tostring(watch))
  end)

  it("of a store that was closed is over", function()
    local _, watch = alone(function()
      local store = open_file()
      local watch = store:watch("a", error)
      store:set("a", 1)
      store:close()
      return watch
    end)
    kv.pump()
    assert.matches("cancelled", tostring(watch))
    watch:cancel()
  end)
end)

describe("what finalizers use", function()
  it("is there still, in whatever order they run", function()
    local outcomes = {}
    local function finally(call)
      support.finalizer(function()
        outcomes[#outcomes + 1] = call()
      end)
    end
    local function make()
      local store = open()
      local part, tx, inner = store:at "p", nil, nil
      store:transaction(function(t) tx, inner = t, t:at "p" end)
      local watch = store:watch("a", print)
      local function use()
        local _, value = pcall(part.get, part, "a")
        local _, over = pcall(tx.get, tx, "a")
        local _, inside = pcall(inner.get, inner, "a")
        watch:cancel()
        return { value, over.code, inside.code }
      end
      watch:cancel()
      finally(use)
      return use
    end
    finally(make())
    for _ = 1, 4 do scrub() end
    assert.equal(2, #outcomes)
    for _, outcome in ipairs(outcomes) do
      assert.equal("closed", outcome[2])
      assert.equal("closed", outcome[3])
      assert.is_true(outcome[1] == 1 or outcome[1].code == "closed")
    end
  end)
end)

describe("a type that was finalized", function()
  it("is made anew where a finalizer uses it", function()
    local store, problem = open(), nil
    do
      local holder = support.finalizer(function(held)
        problem = failure(store.set, store, "list", { "x" }, held.type)
      end)
      holder.type = kv.array_of(kv.int) -- compiled later, so finalized before
      store:set("list", { 1 }, holder.type)
    end
    local _ = scrub()
    assert.equal("type_mismatch", problem.code)
    store:close()
  end)
end)

describe("what finalizers make", function()
  it("is let go of like anything else", function()
    local made = setmetatable({}, { __mode = "k" })
    support.finalizer(function() made[open()] = true end)
    local _ = scrub()
    assert.is_userdata(next(made))
    open():close() -- made elsewhere: no finalizer runs
    _ = scrub()
    assert.is_nil(next(made))
  end)
end)
