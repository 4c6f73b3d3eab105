local support = require "lua.spec.support"

-- In a program of its own, whose environment names the folder.
describe("stores in folders", function()
  local folder
  support.in_folder(before_each, after_each, function(given)
    folder = given
  end)

  it("are made, listed and named", function()
    local program = [[
      local kv = require "kvcodable"
      local folder = ...
      assert(#kv.stores() == 0)
      for _, name in ipairs { "plain", "acme/settings", "acme/deep/more" } do
        local store = assert(kv.open(name))
        store:set("name", name)
        assert(store:file() == folder .. "/" .. name .. ".plist")
        assert(kv.path(name) == store:file())
        store:close()
      end
      local names = table.concat(kv.stores(), " ")
      assert(names == "acme/deep/more acme/settings plain", names)
      for _, name in ipairs(kv.stores()) do
        local store = assert(kv.open(name))
        assert(store:get "name" == name)
        store:close()
      end
      assert(#kv.stores { engine = "sqlite" } == 0)
      assert(kv.path("a/b", { engine = "sqlite" }) == folder .. "/a/b.sqlite")
      assert(kv.path("a", { engine = "memory" }) == nil)
      for _, name in ipairs { "", "a/", "/a", "../a", "a/.b", "a..b" } do
        local none, problem = kv.open(name)
        assert(none == nil and problem.code == "invalid_name", name)
        none, problem = kv.path(name)
        assert(none == nil and problem.code == "invalid_name", name)
      end
      assert(not pcall(kv.stores, { format = "xml" }))
      io.write "good"
    ]]
    support.write(folder .. "/program.lua",
      ("package.cpath = %q\n"):format(package.cpath) .. program)
    local output = assert(io.popen(
      ("XDG_CONFIG_HOME=%s %s %s/program.lua %s 2>&1"):format(folder,
        support.program, folder, folder)))
    local text = output:read "*a"
    output:close()
    assert.equal("good", text)
    for _, name in ipairs { "/acme", "/acme/deep" } do
      assert.is_true((support.execute(
        ("test $(stat -c %%a %s) = 700"):format(folder .. name))))
    end
  end)
end)
