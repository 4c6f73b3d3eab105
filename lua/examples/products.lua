-- From an older version's archive to plain typed values: the script does not
-- need the classes that wrote it.
--
--   lua5.4 products.lua [PRODUCTS PREFERENCES.plist]

local kv = require "kvcodable"
local sample = dofile((arg[0]:match "^.*/" or "") .. "sample.lua")
sample(1, "products.archive.plist")
sample(2, "com.example.shop.plist")

local Product = kv.struct "Product" {
  title = kv.string, price = kv.double, quantity = kv.int,
}
local Products = kv.array_of(Product)

local function show(products)
  for _, product in ipairs(products) do
    print(product.title, product.price, product.quantity)
  end
end

-- A file that may be an archive. It is plain from then on.
local function read(path)
  local value, problem = kv.read(path)
  if not value then return nil, problem end
  if kv.is_archive(value) then return kv.unarchive(value, Products) end
  return kv.read(path, Products)
end

local products, problem = read(arg[1])
if not products then
  print("cannot read the products: " .. tostring(problem))
  os.exit(1)
end
show(products)
assert(kv.write(arg[1], products, Products))
print("an archive", kv.is_archive(assert(kv.read(arg[1]))))

-- A preference: it is migrated once, and nothing else is touched.
local preferences = assert(kv.open_file(arg[2]))
print("migrated", preferences:migrate_archive("products", Products))
print("migrated", preferences:migrate_archive("products", Products))
show(preferences:get("products", Products))
preferences:close()
