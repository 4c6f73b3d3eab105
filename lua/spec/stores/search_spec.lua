-- The layers of a store that is opened by its name. The folder that names are
-- searched in is the environment's: another program opens them.
local kv = require "kvcodable"
local support = require "lua.spec.support"

describe("a store opened by its name", function()
  local folder
  support.in_folder(before_each, after_each, function(place)
    folder = place
    local values = { ["org.one"] = { a = 1 }, ["org.two"] = { a = 2, b = 2 },
      [".GlobalPreferences"] = { a = 3, b = 3, c = 3 } }
    for name, value in pairs(values) do
      assert(kv.write(folder .. "/" .. name .. ".plist", value))
    end
  end)

  --- What a program finds under a, b and c with these options, as text.
  local function found(options)
    support.write(folder .. "/program.lua", ([[
      package.cpath = %q
      local kv = require "kvcodable"
      local store = assert(kv.open("org.app", %s))
      io.write(tostring(store:get "a"), " ", tostring(store:get "b"), " ",
        tostring(store:get "c"))]]):format(package.cpath, options))
    local program = assert(io.popen(
      ("XDG_CONFIG_HOME=%s %s %s/program.lua 2>&1"):format(folder,
        support.program, folder)))
    local text = program:read "*a"
    program:close()
    return text
  end

  for options, expected in pairs {
    ["nil"] = "3 3 3",
    ["{ global_domain = true }"] = "3 3 3",
    ["{ global_domain = false }"] = "nil nil nil",
    ["{ suites = { 'org.one' } }"] = "1 3 3",
    ["{ suites = { 'org.one', 'org.two' } }"] = "1 2 3",
    ["{ suites = { 'org.two', 'org.one' } }"] = "2 2 3",
    ["{ suites = { 'org.one' }, global_domain = false }"] = "1 nil nil",
  } do
    it("searches what its options say: " .. options, function()
      assert.equal(expected, found(options))
    end)
  end

  it("takes as many suites as there are", function()
    local names = {}
    for i = 1, 1000 do names[i] = "org.suite" .. i end
    local options = { engine = "memory", suites = names }
    local store = assert(kv.open_file("x", options))
    assert.same({}, store:layer("suite", 1000))
    store:close()
  end)

  it("refuses suites that are no names", function()
    local why = support.failure(kv.open, "org.app", { suites = { "a", 1 } })
    assert.matches("bad option 'suites': expected names, found number",
      tostring(why), 1, true)
  end)
end)
