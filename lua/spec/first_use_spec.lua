-- The module's larger part is compiled where a script first needs it, when the
-- state may have changed: each of these is a program of its own.
local support = require "lua.spec.support"

local folder, remove

--- Runs a program; what it raises is this spec's failure.
local function run(text)
  local path, log = folder .. "/program.lua", folder .. "/log"
  support.write(path, 'local kv = require "kvcodable"\n' .. text)
  assert(support.run(path .. " 2>" .. log), support.contents(log))
end

describe("the first use of types", function()
  before_each(function() folder, remove = support.folder() end)
  after_each(function() remove() end)

  local using = [[
    local Window = kv.struct "Window" {
      width = kv.int:range(1, 10):default(5),
      side = kv.enum "Side" { "left", "right" }:optional(),
      shape = kv.enum "Shape" { "empty", circle = kv.double }:optional(),
      tags = kv.array_of(kv.string):length(2):optional(),
      at = kv.array_of(kv.int):convert {
        decode = function(pair) return { x = pair[1] } end,
        encode = function(point) return { point.x } end }:optional(),
    }
    local store = kv.open_file("x", { engine = "memory" })
    assert(store:set("window", { side = "left", at = { x = 7 } }, Window))
    local window = store:get("window", Window)
    assert(window.width == 5 and window.at.x == 7)
    assert(find(kv.annotations(), "Window"))
    assert(store:set("windows", { window }, "[Window]?"))
    assert(store:set("count", 1, "Int"))
  ]]

  it("needs no globals, which a host may have taken away", function()
    run([[
      local assert, pairs, globals, find = assert, pairs, _G, string.find
      for name in pairs(globals) do globals[name] = nil end
    ]] .. using)
  end)

  it("needs no functions that a script has changed in Lua's libraries",
    function()
      run([[
        local assert, pairs, globals, find = assert, pairs, _G, string.find
        local function broken() globals.print "called" globals.os.exit(1) end
        for _, library in pairs { math, string, table } do
          for name in pairs(library) do library[name] = broken end
        end
        getmetatable("").__index = broken
        next, select, type = broken, broken, broken
        setmetatable, pcall = broken, broken
      ]] .. using)
    end)

  it("needs nothing of what a script may have changed in the module", function()
    run [=[
      for _, name in ipairs { "array_of", "dictionary_of", "array", "null",
        "encode", "decode" } do kv[name] = nil end
      local store = kv.open_file("x", { engine = "memory" })
      assert(store:set("a", { { b = { 1 } } }, "[[String: [Int]]]"))
      local Doubled = kv.int:default(4):convert {
        decode = function(value) return value * 2 end }
      local Pair = kv.struct "Pair" { one = Doubled, other = Doubled }
      assert(store:get("none", Doubled) == 8)
      store:set("pair", { one = 1, other = 2 })
      assert(store:get("pair", Pair).other == 4)
      assert(kv.struct == kv.struct)
    ]=]
  end)

  for call, message in pairs {
    ["kv.struct(1)"] = "struct: expected kv.struct",
    ["kv.enum 'E' { 1 }"] = "enum E: expected the names of cases",
    ["kv.array_of {}"] = "expected a type or its name, found table",
    ["kv.dictionary_of(1)"] = "expected a type or its name, found number",
    ["kv.int:range('a', 2)"] = "expected numbers as bounds",
    ["kv.encode(1, {})"] = "expected a type or its name, found table",
  } do
    it("tells where the script is wrong: " .. call, function()
      run(([[
        local ok, problem = pcall(function() %s end)
        assert(not ok and problem:find("program.lua:2: ", 1, true), problem)
        assert(problem:find(%q, 1, true), problem)
      ]]):format(call, message))
    end)
  end

  it("may come from a finalizer, in the midst of another first use", function()
    run [[
      local support = require "lua.spec.support"
      local Early, is_inside, was_inside
      local function litter()
        support.finalizer(function()
          if is_inside and not was_inside then
            was_inside = true
            Early = kv.struct "Early" { a = kv.array_of(kv.int:convert {
              decode = function(value) return -value end }) }
          end
          litter()
        end)
      end
      support.collect_often(true)
      litter()
      is_inside = true
      local Late = kv.struct "Late" { early = "Early" }
      is_inside = false
      assert(was_inside, "no finalizer ran")
      support.collect_often(false)
      local store = kv.open_file("x", { engine = "memory" })
      store:set("late", { early = { a = { 1, 2 } } })
      assert(store:get("late", Late).early.a[2] == -2)
      assert(store:get({ "late", "early" }, Early).a[1] == -1)
      assert(kv.annotations():find "Early")
      local _, problem = pcall(store.get, store, "late", kv.struct "Faulty" {
        early = kv.any:convert { decode = function() error "no" end } })
      assert(tostring(problem):find "late.early", problem)
    ]]
  end)
end)
