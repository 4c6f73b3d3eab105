local kv = require "kvcodable"
local support = require "lua.spec.support"
local failure = support.failure

describe("the file of a store", function()
  local folder
  support.in_folder(before_each, after_each, function(given) folder = given end)

  it("is told with its path, of stores and their parts", function()
    local path = folder .. "/a.plist"
    local store = assert(kv.open_file(path))
    assert.equal(path, store:file())
    assert.equal(path, store:at("a"):file())
    assert(support.execute(("ln -s a.plist %s/b.plist"):format(folder)))
    store:set("a", 1)
    assert(store:sync())
    local linked = assert(kv.open_file(folder .. "/b.plist"))
    assert.equal(path, linked:file())
    linked:close()
    store:close()
  end)

  it("is none in memory, and an error of what is closed", function()
    local store = assert(kv.open_file("x", { engine = "memory" }))
    assert.is_nil(store:file())
    store:close()
    assert.equal("closed", failure(store.file, store).code)
  end)

  it("stands right in messages, also in the system's own folder", function()
    local _, problem = kv.open_file("/nowhere-at-all/b.plist")
    assert.matches("(/nowhere-at-all)", tostring(problem), 1, true)
    -- A folder as the file: its name is /tmp.
    _, problem = kv.open_file("/tmp", { read_only = true })
    assert.matches("(/tmp)", tostring(problem), 1, true)
    assert.is_nil(tostring(problem):find("//", 1, true))
  end)
end)
