-- A store from LuaJIT's FFI, without the Lua module: the C functions as the
-- header declares them. See "From LuaJIT's FFI" in lua/README.md.
--   luajit ffi.lua [libkvcodable.so [FILE.plist]]
local ffi = require "ffi"

-- From kvcodable.h, as it stands there: what is used here. The header's inline
-- functions and macros are C alone.
ffi.cdef [[
typedef enum kv_status {
  KV_OK = 0,
  KV_ABSENT = 1,
  KV_INVALID_ARGUMENT = -1
} kv_status;
typedef struct kv_error kv_error;
typedef struct kv_str {
  const char *data;
  size_t length;
} kv_str;
typedef struct kv_step {
  kv_str key;
  int64_t index;
} kv_step;
typedef struct kv_store kv_store;
typedef struct kv_store_options kv_store_options;
kv_str kv_error_message(const kv_error *error);
void kv_error_free(kv_error *error);
kv_status kv_store_open_file(kv_str path, const kv_store_options *options,
                             kv_store **store, kv_error **error);
kv_status kv_store_set_integer(kv_store *store, const kv_step *path,
                               size_t steps, int64_t value, kv_error **error);
kv_status kv_store_get_integer(const kv_store *store, const kv_step *path,
                               size_t steps, int64_t *value, kv_error **error);
kv_status kv_store_close(kv_store *store, kv_error **error);
void kv_store_free(kv_store *store);
]]

-- The library of this tree, where it was built, or the installed one.
local built = (arg[0]:match "^.*/" or "") .. "../../build/libkvcodable.so"
local found, library = pcall(ffi.load, arg[1] or built)
if not found then library = ffi.load "kvcodable" end
local file = arg[2] or os.tmpname() .. ".plist"

local problem = ffi.new "kv_error *[1]"

--- Whether there was something; raises an error's message.
local function check(status)
  status = tonumber(status)
  if status >= 0 then return status == 0 end
  local text = library.kv_error_message(problem[0])
  local message = ffi.string(text.data, text.length)
  library.kv_error_free(problem[0])
  error(message, 2)
end

local function text(string) return ffi.new("kv_str", string, #string) end

--- A path of keys. It borrows the strings, which constants of this chunk are.
local function path(...)
  local steps = ffi.new("kv_step[?]", select("#", ...))
  for i, key in ipairs { ... } do steps[i - 1].key = text(key) end
  return steps, select("#", ...)
end

local out = ffi.new "kv_store *[1]"
check(library.kv_store_open_file(text(file), nil, out, problem))
local store = ffi.gc(out[0], library.kv_store_free)

local steps, count = path("ui", "width")
local value = ffi.new "int64_t[1]"
for width = 1, 1000 do
  check(library.kv_store_set_integer(store, steps, count, width, problem))
  assert(check(library.kv_store_get_integer(store, steps, count, value,
    problem)))
  assert(value[0] == width)
end
local absent, one = path "none"
assert(not check(library.kv_store_get_integer(store, absent, one, value,
  problem)))
local ok, message = pcall(function()
  local wrong, two = path("ui", "width", "x")
  check(library.kv_store_set_integer(store, wrong, two, 1, problem))
end)
print(ok, (message:match "Expected.*" or message))
check(library.kv_store_close(store, problem))
print("stored", tonumber(value[0]), "in " .. file)
