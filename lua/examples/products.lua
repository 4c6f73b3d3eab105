-- From an older version's archive to plain typed values: the script does not
-- need the classes that wrote it.
--
--   lua5.4 products.lua PRODUCTS PREFERENCES.plist

local kv = require "kvcodable"

local Product = kv.struct "Product" {
  title = kv.string, price = kv.double, quantity = kv.int,
}
local Products = kv.array_of(Product)

local function show(products)
  for _, product in ipairs(products) do
    print(product.title, product.price, product.quantity)
  end
end

-- A file: an archive or not, it reads the same way, and is plain from then on.
local products, problem = kv.read(arg[1], Products)
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
