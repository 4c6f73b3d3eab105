local kv = require "kvcodable"
local support = require "lua.spec.support"

-- What NSKeyedArchiver writes for an array of two products.
local function archive(changes)
  local product = { ["$classname"] = "Product",
    ["$classes"] = { "Product", "NSObject" } }
  local list = { ["$classname"] = "NSArray",
    ["$classes"] = { "NSArray", "NSObject" } }
  local value = {
    ["$archiver"] = "NSKeyedArchiver", ["$version"] = 100000,
    ["$top"] = { root = kv.uid(1) },
    ["$objects"] = {
      "$null",
      { ["$class"] = kv.uid(5), ["NS.objects"] = { kv.uid(2), kv.uid(3) } },
      { ["$class"] = kv.uid(4), title = kv.uid(6), price = 2.5, quantity = 3 },
      { ["$class"] = kv.uid(4), title = kv.uid(6), price = 1.0, quantity = 0 },
      product, list, "Lamp",
    },
  }
  for key, change in pairs(changes or {}) do value[key] = change end
  return value
end

local Product = kv.struct "Product" {
  title = kv.string, price = kv.double, quantity = kv.int,
}
local Products = kv.array_of(Product)
local expected = {
  { title = "Lamp", price = 2.5, quantity = 3 },
  { title = "Lamp", price = 1.0, quantity = 0 },
}

describe("keyed archives", function()
  local folder, store
  support.in_folder(before_each, after_each, function(given, path)
    folder, store = given, assert(kv.open_file(path, { format = "binary" }))
    return store
  end)

  local function refused(problem)
    assert.equal("type_mismatch", problem.code)
    assert.matches("found a keyed archive (NSKeyedArchiver); migrate_archive"
      .. " stores it in the type's form, unarchive gives its plain value",
      problem.message, 1, true)
  end

  -- proves: G79
  it("are unarchived without their classes, from files", function()
    for _, format in ipairs { "xml", "binary" } do
      local path = folder .. "/products." .. format
      assert(kv.write(path, archive(), nil, { format = format }))
      local value, problem = kv.read(path, Products)
      assert.is_nil(value)
      refused(problem)
      assert.is_true(kv.is_archive(kv.read(path)))
      assert.same(expected, kv.unarchive(kv.read(path), Products))
    end
  end)

  it("are refused by typed reads, as values and as data", function()
    store:set("products", archive())
    refused(support.failure(store.get, store, "products", Products))
    assert.equal("NSKeyedArchiver", store:get("products")["$archiver"])
    local bytes = assert(kv.encode(archive(), nil, { format = "binary" }))
    store:set("data", kv.data(bytes))
    refused(support.failure(store.get, store, "data", Products))
    assert.equal(kv.data(bytes), store:get("data", kv.data))
    assert.same(expected, kv.unarchive(kv.data(bytes), Products))
    refused(select(2, kv.decode(bytes, Products)))
  end)

  it("are read as their type says, or refused", function()
    local Price = kv.struct "Price" { price = kv.double,
      unit = kv.string:default "each" }
    assert.same({ price = 2.5, unit = "each" },
      kv.unarchive(archive(), kv.array_of(Price))[1])
    local value, problem = kv.unarchive(archive(), "[String]")
    assert.is_nil(value)
    assert.equal("type_mismatch", problem.code)
    assert.matches("value expected", support.failure(kv.is_archive), 1, true)
  end)

  it("are replaced by a typed set", function()
    store:set("products", archive())
    store:set("products", expected, Products)
    assert.same(expected, store:get "products")
  end)

  it("are migrated in one call", function()
    store:set("products", archive())
    assert.is_true(store:migrate_archive("products", Products, { keep = true }))
    assert.same(expected, store:get "products")
    assert.is_true(kv.is_archive(store:get "products.archive"))
    assert.is_false(store:migrate_archive("products", Products))
    assert.is_false(store:migrate_archive("none", Products))
  end)

  it("that are damaged are errors", function()
    for name, change in pairs {
      ["$version"] = 1, ["$archiver"] = "Other",
      ["$top"] = { root = kv.uid(99) },
      ["$objects"] = "none" } do
      store:set("products", archive { [name] = change })
      local problem =
        support.failure(store.migrate_archive, store, "products", Products)
      assert.is_string(problem.message)
      local value
      value, problem = kv.unarchive(archive { [name] = change })
      assert.is_nil(value)
      assert.equal("malformed", problem.code)
    end
  end)

  it("are read within limits that can be set", function()
    local deep = ("["):rep(40) .. ("]"):rep(40)
    assert.is_table(kv.decode(deep))
    local value, problem = kv.decode(deep, nil, { depth = 39 })
    assert.is_nil(value)
    assert.equal("limit_exceeded", problem.code)
    assert.has_error(function() kv.decode(deep, nil, { depth = "x" }) end)
  end)
end)
