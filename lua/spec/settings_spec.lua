local support = require "lua.spec.support"
local Settings = dofile "lua/examples/settings.lua"

describe("the settings module of the examples", function()
  local path, settings
  support.in_folder(before_each, after_each, function(folder)
    path = folder .. "/settings.json"
    settings = assert(Settings.open(path,
      { volume = 7, window = { width = 640, title = "Main" } }))
    return settings
  end)

  it("gets what was set, and the default", function()
    assert.equal(7, settings:get "volume")
    assert.equal(640, settings:get "window.width")
    assert.is_nil(settings:get "window.none.deeper")
    assert.is_true(settings:set("window.width", 800))
    assert.is_true(settings:set("list", { 1, 2 }))
    assert.equal(800, settings:get "window.width")
    assert.equal(640, settings:default "window.width")
    assert.is_nil(settings:default "list.none")
    assert.is_true(settings:set("window.width", nil))
    assert.equal(640, settings:get "window.width")
  end)

  it("goes over all of them", function()
    settings:set("list", { 1, 2 })
    local found = {}
    for name, value in settings:each() do found[name] = value end
    assert.same({ volume = 7, list = { 1, 2 }, ["window.width"] = 640,
      ["window.title"] = "Main" }, found)
  end)

  it("writes when it is told, and says what is wrong", function()
    settings:set("volume", 9)
    assert.is_nil(io.open(path))
    assert.is_true(settings:flush())
    assert.equal('{\n  "volume": 9\n}\n', support.contents(path))
    local done, problem = settings:set("volume.left", 1)
    assert.is_nil(done)
    assert.equal("Expected Dictionary at volume, found Int",
      problem:match "^[^(]*%a")
    support.write(path .. "2.json", "{")
    local none, why = Settings.open(path .. "2.json")
    assert.is_nil(none)
    assert.matches("^cannot open the settings: Expected", why)
  end)
end)
