-- What a script may try. In one file, long as it is: so it can be seen what
-- nobody has tried yet.
local kv = require "kvcodable"
local support = require "lua.spec.support"
local failure = support.failure

describe("hostile scripts", function()
  local store
  before_each(function()
    store = assert(kv.open_file("x", { engine = "memory" }))
    store:set("kept", { 1, "two" })
  end)
  after_each(function()
    if pcall(store.get, store, "kept") then
      assert.same({ 1, "two" }, store:get "kept")
    end
    store:close()
  end)

  --- What a set of `value` raises; nothing was changed.
  local function refusal(value, type)
    local problem = failure(store.set, store, "x", value, type)
    assert.is_nil(store:get "x")
    return problem
  end

  describe("with metamethods", function()
    -- proves: G89
    it("have none called while a table is walked", function()
      local calls = 0
      local function trap()
        calls = calls + 1
        error "called"
      end
      local traps = setmetatable({ a = { 1, 2 } }, {
        __index = trap, __newindex = trap, __len = trap, __pairs = trap,
        __eq = trap, __call = trap, __tostring = trap, __close = trap,
        __name = "trap",
      })
      store:set("x", traps)
      assert.same({ a = { 1, 2 } }, store:get "x")
      assert.is_string(kv.encode(traps))
      assert.equal(0, calls)
    end)

    it("cannot show other keys than the table has", function()
      store:set("x", setmetatable({ a = 1 }, {
        __pairs = function() return next, { b = 2 } end,
        __index = { c = 3 },
      }))
      assert.same({ a = 1 }, store:get "x")
    end)

    it("do not run on paths", function()
      local path = setmetatable({ "kept" }, {
        __len = function() return 5 end, __index = error,
      })
      assert.same({ 1, "two" }, store:get(path))
    end)

    it("of options may raise, and change nothing", function()
      local options = setmetatable({}, { __index = function(_, name)
        error("no " .. name, 0)
      end })
      assert.matches("no ", failure(kv.open_file, "x", options))
      assert.matches("no ", failure(kv.decode, "1", nil, options))
      assert.matches("no replace",
        failure(store.set, store, "kept", 1, nil, options))
    end)
  end)

  it("of options may take back the names that were read", function()
    local suites = { "org.example." .. ("a"):rep(100) }
    local options = setmetatable({
      engine = "memory", suites = suites, schema = "[String: Int]",
    }, { __index = function(_, name)
      if name ~= "arguments" then return nil end
      suites[1] = nil
      collectgarbage()
      for i = 1, 100 do suites[2] = ("b"):rep(100 + i) end
    end })
    local other = assert(kv.open_file("other.plist", options))
    other:set("count", 1)
    assert.equal(1, other:get "count")
    other:close()
  end)

  describe("with shapes that no property list has", function()
    it("are told of cycles", function()
      local loop = { a = {} }
      loop.a.b = loop
      local problem = refusal(loop)
      assert.matches("a table that contains itself", problem.message, 1, true)
      local list = {}
      list[1] = list
      assert.equal("limit_exceeded", refusal(list).code)
      local left, right = {}, {}
      left.right, right.left = right, left
      assert.equal("limit_exceeded", refusal(left).code)
    end)

    it("may have the same table twice", function()
      local shared = { 1 }
      store:set("x", { a = shared, b = shared })
      assert.same({ a = { 1 }, b = { 1 } }, store:get "x")
    end)

    it("are told of 100,000 levels", function()
      local deep = {}
      for _ = 1, 100000 do deep = { deep } end
      local problem = refusal(deep)
      assert.equal("limit_exceeded", problem.code)
      assert.matches("Deeper than 512 levels", problem.message, 1, true)
      local keyed = {}
      for _ = 1, 100000 do keyed = { a = keyed } end
      assert.equal("limit_exceeded", refusal(keyed).code)
      local bytes, other = kv.encode(deep)
      assert.is_nil(bytes)
      assert.equal("limit_exceeded", other.code)
      assert.equal("limit_exceeded", refusal(deep, "Any").code)
    end)

    it("are told of types and defaults as deep", function()
      local list, deep = kv.int, {}
      for _ = 1, 100000 do list, deep = kv.array_of(list), { deep } end
      local Deep = kv.struct "HostileDeep" { a = kv.any:default(deep) }
      for _, type in ipairs { list, Deep, "[HostileDeep]" } do
        local problem = refusal({}, type)
        assert.equal("limit_exceeded", problem.code)
        assert.matches("Deeper than 512 levels", problem.message, 1, true)
      end
      assert.matches("HostileDeep: Deeper than 512 levels", kv.annotations(),
        1, true)
      kv.struct "HostileDeep" {}
    end)

    it("may name one type many times in each of many", function()
      local last = kv.struct "HostileWide" { a = kv.int }
      for i = 1, 60 do
        local name = "HostileWide" .. i - 1 .. "?"
        last = kv.struct("HostileWide" .. i) {
          a = last:optional(), b = last:optional(), c = kv.array_of(last),
          d = i > 1 and name or kv.any:optional(),
        }
      end
      store:set("x", { c = {}, a = { c = {} }, b = { c = {} } }, last)
      assert.same({ c = {} }, store:get({ "x", "b" }, "HostileWide59"))
      assert.same({ "x", "c", 1, "c" },
        failure(store.set, store, "x", { c = { { c = 1 } } }, last).path)
      store:remove "x"
    end)

    it("may have as many levels as are allowed", function()
      local deep = { 1 }
      for _ = 2, 500 do deep = { deep } end
      store:set("x", deep)
      local got, levels = store:get "x", 0
      while type(got) == "table" do got, levels = got[1], levels + 1 end
      assert.equal(500, levels)
    end)

    it("are told where a function stands", function()
      local problem = refusal { a = { 1, 2, { print } } }
      assert.equal(
        "Expected a property-list value at x.a[3][1], found function",
        problem.message)
      assert.same({ "x", "a", 3, 1 }, problem.path)
      local thread = coroutine.create(function() end)
      for _, value in ipairs { print, thread, io.stdout } do
        assert.equal("invalid_value", refusal(value).code)
        assert.equal("invalid_value", refusal({ value }).code)
      end
    end)

    it("are told of keys that no dictionary has", function()
      for _, key in ipairs { true, 1.5, 2 ^ 53, -1, 0, 3 } do
        local problem = refusal { a = 1, [key] = 2 }
        assert.equal("invalid_value", problem.code)
        assert.matches("^Expected ", problem.message)
      end
      assert.equal("invalid_value", refusal({ [print] = 1 }).code)
      assert.matches("without holes", refusal({ 1, nil, 3 }).message)
      assert.matches("without holes", refusal({ [2 ^ 52] = 1 }).message)
      assert.matches(support.has_integers and "without holes" or "only indexes",
        refusal({ [support.most] = 1 }).message)
    end)

    it("may index with floats that are integers, as Lua does", function()
      store:set("x", { [1.0] = "a", [2.0] = "b" })
      assert.same({ "a", "b" }, store:get "x")
      assert.equal("b", store:get { "x", 2.0 })
    end)
  end)

  describe("with strings", function()
    it("keep NUL where a format can hold it", function()
      local file = kv.encode({ ["a\0b"] = "c\0d" }, nil, { format = "binary" })
      assert.same({ ["a\0b"] = "c\0d" }, kv.decode(file))
      local bytes, problem = kv.encode({ a = { "c\0d" } })
      assert.is_nil(bytes)
      assert.equal("invalid_value", problem.code)
      assert.same({ "a", 1 }, problem.path)
    end)

    it("are pointed to data where they are not UTF-8", function()
      for _, bytes in ipairs { "\255", "a\128", "\237\160\128", "\192\175",
        "\244\144\128\128", "\226\130" } do
        for _, value in ipairs { bytes, { bytes }, { [bytes] = 1 } } do
          local problem = refusal(value)
          assert.equal("invalid_value", problem.code)
          assert.matches("UTF-8", problem.message, 1, true)
        end
        assert.has_error(function() store:get(bytes) end)
        assert.has_error(function() store:set(bytes, 1) end)
        store:set("data", kv.data(bytes))
        assert.equal(bytes, store:get "data":bytes())
      end
    end)
  end)

  it("with types of 130,000 characters have an answer at once", function()
    kv.struct "HostileNamed" { a = kv.int }
    local function long(text) return text:rep(10000) end
    for _, name in ipairs { "Int", "HostileNamed" } do
      for _, text in ipairs { name .. long "?", name .. long " ?",
        long " " .. name .. long " " .. "?", ("[%s%s]"):format(long " ", name)
      } do
        assert.is_nil(store:get("none", text .. "?"))
      end
      for _, text in ipairs { name .. long " " .. "a", long "?",
        name .. long "?" .. "a", long "[" .. name, long(name .. " "),
        ("[String%s:%s%s"):format(long " ", long " ", name), long " "
      } do
        local problem = failure(store.get, store, "none", text)
        assert.equal("invalid_type", problem.code)
      end
    end
    assert.has_error(function()
      store:get("none", ("?"):rep(131073))
    end, "The text of a type has at most 131072 bytes")
  end)

  describe("with numbers", function()
    it("keep what cannot be told apart easily", function()
      for _, number in ipairs { 2 ^ 53 + 1.0, kv.int64 "9007199254740993",
        support.most, support.least, 1 / 0, -1 / 0, 5e-324, 1e308, 0.1, 1,
        1.0 } do
        store:set("x", number)
        local got = store:get "x"
        assert.equal(number, got)
        assert.equal(support.kind(number), support.kind(got))
      end
    end)

    it("keep the sign of -0.0, and nan", function()
      store:set("x", support.minus_zero)
      assert.equal(-1 / 0, 1 / store:get "x")
      store:set("x", 0 / 0)
      assert.is_true(store:get "x" ~= store:get "x")
      local file = kv.encode({ support.minus_zero, 0 / 0, 1 / 0 }, nil,
        { format = "binary" })
      local list = kv.decode(file)
      assert.equal(-1 / 0, 1 / list[1])
      assert.is_true(list[2] ~= list[2])
      assert.equal(1 / 0, list[3])
    end)

    it("are told that JSON has no nan", function()
      local bytes, problem = kv.encode({ a = 0 / 0 }, nil, { format = "json" })
      assert.is_nil(bytes)
      assert.equal("invalid_value", problem.code)
      assert.same({ "a" }, problem.path)
    end)
  end)

  describe("that close a store", function()
    -- proves: G90
    it("inside its watch lose nothing", function()
      local calls = 0
      for _ = 1, 2 do -- told in either order
        store:watch("a", function()
          calls = calls + 1
          store:close()
        end)
      end
      store:set("a", 1)
      kv.pump()
      assert.equal(1, calls)
      assert.equal("closed", failure(store.get, store, "a").code)
      assert.equal(0, kv.pump())
    end)

    -- proves: G90
    it("inside its transaction get an error, which rolls back", function()
      local folder, remove = support.folder()
      local path = folder .. "/a.plist"
      local file = assert(kv.open_file(path))
      file:set("a", 1)
      local _, problem = pcall(file.transaction, file, function(tx)
        tx:set("a", 2)
        file:close()
        tx:set("a", 3)
      end)
      file:close()
      local again = assert(kv.open_file(path))
      local found = again:get "a"
      again:close()
      assert.equal("closed", problem.code)
      assert.equal(1, found)
      remove()
    end)

    it("may use a transaction that is over, and get an error", function()
      local kept
      store:transaction(function(tx) kept = tx end)
      assert.equal("closed", failure(kept.set, kept, "a", 1).code)
      assert.matches("transaction is over",
        failure(kept.get, kept, "a").message)
      pcall(store.transaction, store, function(tx)
        kept = tx
        error "out"
      end)
      assert.equal("closed", failure(kept.get, kept, "a").code)
    end)

    it("with os.exit leave no transaction half done", function()
      local folder, remove = support.folder()
      local script, path = folder .. "/exit.lua", folder .. "/a.plist"
      support.write(script, ([[
        local kv = require "kvcodable"
        local store = assert(kv.open_file(%q))
        store:set("a", 1)
        store:watch({}, print)
        store:transaction(function(tx)
          tx:set("a", 2)
          os.exit(7, true)
        end)
      ]]):format(path))
      local _, code = support.run(script)
      assert.equal(7, code)
      local again = assert(kv.open_file(path))
      assert.equal(1, again:get "a")
      again:close()
      remove()
    end)
  end)

  describe("whose functions fail", function()
    local Point = kv.struct "HostilePoint" {
      at = kv.array_of(kv.int):convert {
        decode = function(list)
          if list[1] == 13 then error("no thirteen", 0) end
          return { x = list[1] }
        end,
        encode = function(point)
          if point.x == 13 then error("no thirteen", 0) end
          return { point.x }
        end,
      },
    }

    it("in converters change nothing", function()
      store:set("p", { at = { x = 1 } }, Point)
      local function told(call, ...)
        assert.equal("The converter failed at p.at: no thirteen",
          tostring(failure(call, store, "p", ...)))
      end
      told(store.set, { at = { x = 13 } }, Point)
      assert.same({ at = { 1 } }, store:get "p")
      store:set("p", { at = { 13 } })
      told(store.get, Point)
      told(store.update, Point, print)
      assert.same({ at = { 13 } }, store:get "p")
    end)

    -- proves: G90
    it("in updates and transactions roll back, whatever is raised", function()
      for _, raised in ipairs { "text", 7, {}, false } do
        local ok, problem = pcall(store.update, store, "kept", function(list)
          list[1] = 2
          error(raised, 0)
        end)
        assert.is_false(ok)
        assert.equal(raised, problem)
        ok, problem = pcall(store.transaction, store, function(tx)
          tx:remove "kept"
          error(raised, 0)
        end)
        assert.is_false(ok)
        assert.equal(raised, problem)
      end
      assert.same({ 1, "two" }, store:get "kept")
    end)

    -- proves: G90
    it("by yielding are told that they may not", function()
      local Yielding = kv.struct "Yielding" {
        a = kv.int:convert { decode = coroutine.yield,
          encode = coroutine.yield },
      }
      store:set("y", { a = 1 })
      store:watch("w", coroutine.yield)
      store:set("w", 1)
      for _, call in ipairs {
        function() store:transaction(function() coroutine.yield() end) end,
        function() store:update("kept", function() coroutine.yield() end) end,
        function() store:get("y", Yielding) end,
        function() store:set("y", { a = 2 }, Yielding) end,
        function() kv.pump() end,
      } do
        local ok, problem = coroutine.resume(coroutine.create(call))
        assert.is_false(ok)
        assert.matches("yield", tostring(problem), 1, true)
      end
      assert.same({ a = 1 }, store:get "y")
      store:set("free", true) -- nothing is locked
    end)

    it("may use the store while they run", function()
      local Nosy = kv.int:convert {
        decode = function(n)
          store:set("inner", { n, { "x" } })
          return #store:get "inner" + n
        end,
      }
      store:set("n", 1)
      assert.equal(3, store:get("n", Nosy))
      store:transaction(function(tx)
        tx:transaction(function(inner) inner:set("n", 5) end)
        assert.equal(5, tx:get "n")
        assert.equal(7, tx:get("n", Nosy:convert {}))
      end)
    end)
  end)

  -- proves: G89
  it("with converters have no metamethod called either", function()
    local Pair = kv.struct "TrappedPair" {
      list = kv.array_of(kv.int:convert {
        decode = function(n) return n end, encode = function(n) return n end,
      }),
    }
    local function trap() error "called" end
    local traps = { __index = trap, __newindex = trap, __len = trap,
      __pairs = trap, __eq = trap, __metatable = "hidden" }
    local value = setmetatable({ list = setmetatable({ 1, 2 }, traps) }, traps)
    store:set("x", value, Pair)
    assert.same({ list = { 1, 2 } }, store:get "x")
    assert.is_string(kv.encode(value, Pair))
  end)

  it("that give methods another self are told", function()
    local methods = debug.getmetatable(store).__index
    local count = 0
    for name, method in pairs(methods) do
      for _, self in ipairs { 5, {}, kv.date(1), kv.data(("x"):rep(200)),
        io.stdout, kv.int, false } do
        count = count + 1
        assert.is_false(pcall(method, self, "a", print), name)
        assert.is_false(pcall(method, self, "a", "Int"), name)
      end
      assert.is_false(pcall(method), name)
    end
    assert.is_true(count > 150)
  end)

  it("that make data look like handles and types are told", function()
    for bytes = 8, 96, 8 do
      for _, class in ipairs { "kvcodable.store", "kvcodable.type" } do
        local address = tostring(debug.getregistry()[class])
        local mark, word = tonumber(address:match "0x(%x+)", 16), ""
        for _ = 1, 8 do
          word = word .. string.char(mark % 256)
          mark = math.floor(mark / 256)
        end
        local forged = word:rep(bytes / 8)
        for _, data in ipairs { kv.data(forged), kv.data(forged:sub(1, -9)) } do
          assert.matches("kvcodable.store expected",
            failure(store.get, data, "a"), 1, true)
          assert.matches("whole store", failure(store.copy_to, store, data), 1,
            true)
          local T = kv.struct "Forged" { a = kv.int }
          store:set("t", { a = 1 }, T)
          for key in next, T do
            if type(key) == "userdata" then rawset(T, key, data) end
          end
          assert.same({ a = 1 }, store:get("t", T))
        end
      end
    end
  end)

  it("find the module whole where a host took functions away", function()
    local names = { "error", "getmetatable", "ipairs", "math", "next", "pairs",
      "rawget", "setmetatable", "string", "table", "tostring", "type" }
    local function work()
      local Color = kv.enum "TakenColor" { "red", "blue" }
      local Taken = kv.struct "Taken" {
        a = kv.int:range(1, 5), c = Color:default "red",
        l = kv.array_of(kv.int:convert { decode = function(n) return n end })
          :default {},
      }
      store:set("taken", { a = 1 }, Taken)
      kv.annotations()
      return store:get("taken", "[String: Any]?"), store:get("taken", Taken)
    end
    local taken, each = {}, next
    for _, name in ipairs(names) do taken[name] = _G[name] end
    for _, name in ipairs(names) do _G[name] = nil end
    local ok, stored, got = pcall(work)
    for name, value in each, taken do _G[name] = value end
    assert.is_true(ok, stored)
    assert.same({ a = 1 }, stored)
    assert.same({ a = 1, c = "red", l = {} }, got)
  end)

  it("get hold of no metatable of the module's tables", function()
    -- A finalizer in one would run for each table, and without a hook.
    local array = kv.decode "[1]"
    local _, problem = kv.decode "{"
    for _, value in ipairs { array, kv.array {}, kv.dictionary {}, problem,
      kv.int, kv.null, kv.date(0), store, store:at "a" } do
      assert.is_false(getmetatable(value))
      if type(value) == "table" then
        assert.is_false((pcall(setmetatable, value, {})))
      end
    end
    -- Tags are changed for one another, and for a script's own metatables.
    assert.is_false(kv.is_array(kv.dictionary(array)))
    assert.is_true(kv.is_array(kv.array(array)))
    assert.is_true(kv.is_array(kv.array(setmetatable({}, {}))))
    assert.matches("protected metatable", support.failure(kv.array,
      setmetatable({}, { __metatable = "mine" })))
  end)

  it("that take a type apart are told", function()
    local T = kv.struct "Apart" { a = kv.int }
    store:set("t", { a = 1 }, T)
    for key, value in next, T do
      if type(value) == "userdata" then
        assert.is_false(getmetatable(value))
        rawset(T, key, io.stdout)
      end
    end
    assert.same({ a = 1 }, store:get("t", T))
  end)

  it("may collect garbage whenever they like", function()
    local mode = support.generational()
    for i = 1, 50 do
      store:set("g", { i, tostring(i), { x = { i } } })
      collectgarbage()
      store:update("g", function(g)
        collectgarbage()
        g[1] = g[1] + 1
      end)
      assert.equal(i + 1, store:get "g"[1])
    end
    support.collect_as(mode)
  end)

  it("may read in a metamethod of the options of a store", function()
    store:set("r", { 1, { 2 } })
    local reads = 0
    local options = setmetatable(
      { engine = "memory", defaults = { q = { 1, 2, 3 }, z = "text" } },
      { __index = function()
        reads = reads + 1
        for _ = 1, 3 do assert.same({ 1, { 2 } }, store:get "r") end
      end })
    for _ = 1, 20 do
      local other = assert(kv.open_file("none", options))
      assert.equal("text", other:get "z")
      assert.same({ 1, 2, 3 }, other:get "q")
      other:close()
    end
    assert.is_true(reads >= 20)
  end)

  it("may close the store in a converter", function()
    local other = assert(kv.open_file("none", { engine = "memory" }))
    local function close(value)
      other:close()
      return value
    end
    local Closing = kv.struct "HostileClosing" {
      a = kv.int:convert { encode = close, decode = close },
    }
    local ok, problem = pcall(other.set, other, "x", { a = 1 }, Closing)
    assert.is_false(ok)
    assert.equal("closed", problem.code)
    assert.equal("The store is closed", problem.message)
  end)

  local options_of = {
    watch = { "a", print }, export = {}, set = { "a", { 1 }, "[Int]" },
    update = { "a", "Int", function() return 1 end },
    migrate_archive = { "a", "Int" },
  }
  for name, arguments in pairs(options_of) do
    it("may close the store in a metamethod of the options of " .. name,
      function()
        local other = assert(kv.open_file("none", { engine = "memory" }))
        local options = setmetatable({}, { __index = function()
          other:close()
        end })
        arguments[#arguments + 1] = options
        local ok, problem = pcall(other[name], other, support.unpack(arguments))
        assert.is_false(ok)
        assert.equal("closed", problem.code)
      end)
  end

  it("may close the store in a finalizer that runs in any method", function()
    local mode = support.generational()
    local given = {
      get = { "r" }, set = { "r", { 1, {} }, "Any" }, remove = { "r" },
      keys = {}, watch = { "a", print }, events = { print }, at = { "r" },
      layer = { "application" }, export = {}, import = { "{}" },
      register = { { a = {} } }, string_for_key = { 12 },
      compare_and_set = { "q", {}, 1 },
      update = { "r", function() return {} end },
      transaction = { function(tx) tx:set("a", {}) end },
      migrate = { { function(tx) tx:set("a", {}) end } },
    }
    for name, arguments in pairs(given) do
      for _ = 1, 30 do
        local other = assert(kv.open_file("none", { engine = "memory" }))
        other:set("r", { 1, { 2 } })
        support.finalizer(function() other:close() end)
        local ok, problem
        for _ = 1, 60 do
          ok, problem = pcall(other[name], other, support.unpack(arguments))
          if not ok then break end
        end
        if not ok then assert.equal("closed", problem.code, name) end
        other:close()
      end
    end
    support.collect_as(mode)
  end)

  it("with converters that need themselves are told, and the next is not",
    function()
      local text = "converters inside one another, more than 32 deep"
      local T
      local function again(name, ...)
        local ok, problem = pcall(store[name], store, ...)
        assert.is_false(ok)
        assert.truthy(tostring(problem):find(text, 1, true))
        error(problem, 0)
      end
      T = kv.int:convert {
        decode = function() again("get", "a", T) end,
        encode = function(value) again("set", "a", value, T) end,
      }
      store:set("a", 1)
      for _ = 1, 3 do
        for _, call in ipairs { { "get", "a", T }, { "set", "a", 2, T } } do
          local ok, problem = pcall(store[call[1]], store, call[2], call[3],
            call[4])
          assert.is_false(ok)
          assert.truthy(tostring(problem):find(text, 1, true))
        end
      end
      local deep = kv.int:convert { decode = function(n) return n + 1 end,
        encode = function(n) return n - 1 end }
      assert.equal(2, store:get("a", deep))
    end)

  it("may stop the collector in a finalizer that sets", function()
    local ran = 0
    for i = 1, 200 do
      support.finalizer(function()
        ran = ran + 1
        store:set("gc", { i, { "x" .. i } })
      end)
      store:set("y", { tostring(i) })
    end
    collectgarbage()
    assert.is_true(ran > 0)
    assert.is_table(store:get "gc")
  end)
end)
