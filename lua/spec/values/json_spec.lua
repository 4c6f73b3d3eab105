local kv = require "kvcodable"
local support = require "lua.spec.support"

local lines = [[
{
  "empty": {},
  "list": [
    1,
    {
      "b": [],
      "c": "d"
    },
    [
      true
    ]
  ],
  "text": "a \"b\""
}
]]
local value = {
  empty = {}, list = { 1, { b = kv.array(), c = "d" }, { true } },
  text = 'a "b"',
}

describe("files named .json", function()
  local folder, path
  support.in_folder(before_each, after_each, function(found)
    folder, path = found, found .. "/settings.json"
  end)

  it("are written as JSON, a line for each value", function()
    assert(kv.write(path, value))
    assert.equal(lines, support.contents(path))
    assert.same(value, kv.read(path))
    for text, root in pairs { ["[]\n"] = kv.array(), ["5\n"] = 5,
      ["[\n  1\n]\n"] = { 1 } } do
      assert(kv.write(path, root))
      assert.equal(text, support.contents(path))
    end
  end)

  it("are what a store keeps its values in", function()
    local store = assert(kv.open_file(path))
    for key, one in pairs(value) do store:set(key, one) end
    store:close()
    assert.equal(lines, support.contents(path))
  end)

  it("have another format where one is given", function()
    assert(kv.write(path, value, nil, { format = "xml" }))
    assert.matches("^<%?xml", support.contents(path))
    os.remove(path)
    local store = assert(kv.open_file(path, { format = "binary" }))
    store:set("a", 1)
    store:close()
    assert.matches("^bplist", support.contents(path))
    assert(kv.write(folder .. "/a.plist", { 1 }, nil, { format = "json" }))
    assert.equal("[\n  1\n]\n", support.contents(folder .. "/a.plist"))
    assert(kv.write(folder .. "/json", { 1 }))
    assert.matches("^<%?xml", support.contents(folder .. "/json"))
  end)

  it("keep the format that they have", function()
    support.write(path,
      support.contents "lua/examples/samples/DefaultShape.plist")
    local store = assert(kv.open_file(path))
    store:set("more", 1)
    store:close()
    assert.matches("^<%?xml", support.contents(path))
    support.write(folder .. "/a.plist", '{"b":1}')
    store = assert(kv.open_file(folder .. "/a.plist"))
    store:set("c", 2)
    store:close()
    assert.equal('{\n  "b": 1,\n  "c": 2\n}\n',
      support.contents(folder .. "/a.plist"))
  end)

  it("hold what JSON can hold", function()
    local store = assert(kv.open_file(path))
    assert.equal("JSON cannot hold Date at a",
      tostring(support.failure(store.set, store, "a", kv.date(0))))
    store:close()
  end)
end)

describe("JSON's nulls", function()
  local text = '{"a": null, "b": [1, null, {"c": null}], "d": {"e": 2}}'
  local without = { b = { 1, {} }, d = { e = 2 } }
  local store
  support.in_memory(before_each, after_each, function(opened)
    store = opened
  end)

  it("are left out of what is imported, where that is asked for", function()
    local problem = support.failure(store.import, store, text)
    assert.equal("invalid_value", problem.code)
    assert.same({ "a" }, problem.path)
    assert.equal(0, #store)
    store:set("a", "mine")
    store:import(text, { nulls = "drop" })
    without.a = "mine"
    assert.same(without, store:get {})
    without.a = nil
    store:import('{"f": 1}', { nulls = "refuse", format = "json" })
    assert.equal("malformed", select(2, kv.decode("{", nil,
      { format = "json" })).code)
    assert.equal("corrupt", support.failure(store.import, store, '{"f": 1}',
      { format = "xml" }).code)
    assert.matches('expected "refuse" or "drop"', support.failure(store.import,
      store, text, { nulls = "keep" }), 1, true)
    assert.matches("bad option 'null'", support.failure(store.import, store,
      text, { null = "drop" }), 1, true)
  end)

  it("are left out of what is read, too", function()
    assert.same(without, kv.decode(text, nil, { nulls = "drop" }))
    assert.equal(kv.null, kv.decode(text, nil, { nulls = "keep" }).a)
    assert.equal(kv.null, kv.decode("[null]")[1])
    assert.equal(0, #kv.decode("[null]", nil, { nulls = "drop" }))
    assert.equal(kv.null, kv.decode("null", nil,
      { nulls = "drop", format = "json" }))
    assert.same({ 1 }, kv.decode("[1, null]", "[Int]", { nulls = "drop" }))
  end)
end)
