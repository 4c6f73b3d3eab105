-- What a script does again and again takes no more memory than doing it once:
-- of the library's, too, which Lua's own count does not see.
local kv = require "kvcodable"
local support = require "lua.spec.support"

--- The process's memory in bytes.
local function resident()
  local pages = support.contents("/proc/self/statm"):match "^%d+ (%d+)"
  return tonumber(pages) * 4096
end

local limit = 4000000

--- How many bytes more the process takes after `count` calls than after as
-- many before them: the least of a few rounds, since what the process does
-- besides may come into one, and what is never let go of comes into each.
local function growth(count, body)
  local least = math.huge
  local function round()
    for _ = 1, count do body() end
    for _ = 1, 2 do collectgarbage() end
    return resident()
  end
  local before = round()
  for _ = 1, 4 do
    local after = round()
    least = math.min(least, after - before)
    if least < limit then break end
    before = after
  end
  return least
end

-- AddressSanitizer keeps what is freed, and finds what is not by itself.
local is_sanitized = (os.getenv "LD_PRELOAD" or ""):find("asan", 1, true)

local long = string.rep("x", 300000)
local deep = { "deep" }
for i = 2, 400 do deep[i] = ("key"):rep(20) end
local store, folder, typed, untyped, part

-- Each takes at least 5 MB when it keeps what it should let go of.
local cases = {
  ["reading a scalar"] = { 60000, function() return store:get "number" end },
  ["reading a value with a type"] = { 60000, function()
    return store:get("number", "Int")
  end },
  ["reading a long value"] = { 100, function() return store:get "long" end },
  ["reading a part"] = { 20000, function()
    return store:at("table"):get "inner"
  end },
  ["asking for an origin"] = { 20000, function()
    return store:origin "number"
  end },
  ["counting keys"] = { 20000, function() return #store end },
  ["counting elements"] = { 120000, function()
    return #part
  end, function()
    part = store:at "long"
  end },
  ["reading everything"] = { 100, function() return store:get {} end },
  ["setting a long value"] = { 100, function()
    store:set("long", { long })
  end },
  ["setting a typed value"] = { 30000, function()
    store:set("number", 3, "Int")
  end },
  ["updating a long value"] = { 100, function()
    store:update("long", function(old) return old end)
  end },
  ["a transaction with a long value"] = { 100, function()
    store:transaction(function(tx)
      tx:set("long", { long, tx:get "number" })
    end)
  end },
  ["a transaction that fails"] = { 100, function()
    pcall(store.transaction, store, function(tx)
      tx:set("long", { long })
      error "no"
    end)
  end },
  ["decoding a scalar"] = { 100000, function()
    return kv.decode("1", nil, { format = "json" })
  end },
  ["decoding a long value"] = { 100, function()
    return kv.decode('["' .. long .. '"]')
  end },
  ["encoding a long value"] = { 100, function()
    return kv.encode({ long }, nil, { format = "json" })
  end },
  ["an error of decoding"] = { 30000, function() return kv.decode "{" end },
  ["an error of a store"] = { 30000, function()
    return pcall(store.get, store, "number", "String")
  end },
  ["a set that is refused"] = { 100, function()
    return pcall(store.set, store, "long", { long, print })
  end },
  ["a type that is declared"] = { 3000, function()
    kv.struct "Grown" { a = "Int(1...9)", b = "[String: Int]" }
  end },
  ["a handle"] = { 20000, function()
    kv.open_file("memory", { engine = "memory" }):close()
  end },
  ["a handle that is closed with a watch"] = { 5000, function()
    local handle = kv.open_file("memory", { engine = "memory" })
    handle:watch("a", print)
    handle:close()
  end },
  ["a comparison that fails"] = { 30000, function()
    assert(not store:compare_and_set("number", 1, 0))
  end },
  ["a comparison that does not"] = { 100, function()
    assert(store:compare_and_set("long", { long }, store:generation()))
  end },
  ["long values that are registered"] = { 100, function()
    store:register { registered = long }
  end },
  ["a value that no file holds"] = { 30000, function()
    return pcall(store.compare_and_set, store, "number", "\255", 0)
  end },
  ["a handle with layers of its own"] = { 100, function()
    local layer = { long = long }
    kv.open_file("memory", { engine = "memory", defaults = layer,
      arguments = layer }):close()
    kv.open_file("memory", { engine = "memory", arguments = layer }):close()
  end },
  ["a watch"] = { 5000, function()
    local watch = store:watch("number", function() end)
    store:set("number", math.random(2 ^ 30))
    kv.pump()
    watch:cancel()
  end },
  ["what a watch tells of long values"] = { 50, function()
    local watch = store:watch("long", function() end)
    store:set("long", { long, math.random(2 ^ 30) })
    kv.pump()
    watch:cancel()
  end },
  ["what a watch tells of long paths"] = { 700, function()
    local watch = store:watch("deep", function(place) assert(#place == 400) end,
      { subtree = true })
    store:set(deep, math.random(2 ^ 30))
    assert(kv.pump() == 1)
    watch:cancel()
  end },
  ["what a watch tells of typed values"] = { 30000, function()
    typed:set("number", math.random(2 ^ 30))
    assert(kv.pump() == 1)
    untyped:set("text", math.random(2 ^ 30))
    assert(not pcall(kv.pump))
    untyped:set("text", "right")
    assert(kv.pump() == 1)
  end, function()
    local path, options = folder .. "/typed.plist", { durability = "manual" }
    untyped = assert(kv.open_file(path, options))
    options.schema = kv.struct "GrownSettings" {
      number = "Int?", text = "String?",
    }
    typed = assert(kv.open_file(path, options))
    typed:watch("number", function() end)
    typed:watch("text", function() end)
    return function()
      typed:close()
      untyped:close()
    end
  end },
  ["what a watch has no time to tell"] = { 50, function()
    local one, other
    one = store:watch("long", function() other:cancel() end)
    other = store:watch("long", function() one:cancel() end)
    store:set("long", { long, math.random(2 ^ 30) })
    assert(kv.pump() == 1)
    one:cancel()
    other:cancel()
  end },
  ["the events of a store"] = { 30000, function()
    store:events(function() end):cancel()
    kv.pump()
  end },
  ["an archive"] = { 50, function()
    local archive = { ["$archiver"] = "NSKeyedArchiver", ["$version"] = 100000,
      ["$top"] = { root = kv.uid(1) }, ["$objects"] = { "$null", long } }
    assert(kv.is_archive(archive))
    assert(kv.unarchive(archive, "String"))
  end },
  ["writing and reading a file"] = { 100, function()
    local file = folder .. "/file.json"
    assert(kv.write(file, { long }, nil, { format = "json" }))
    assert(kv.read(file))
  end },
}

describe("memory does not grow by", function()
  support.in_folder(before_each, after_each, function(place, path)
    folder = place
    store = assert(kv.open_file(path, { engine = "memory" }))
    store:set(deep, 0)
    store:set("number", 1)
    store:set("table", { inner = "x" })
    store:set("long", { long })
    return store
  end)

  for name, case in pairs(cases) do
    if not is_sanitized then
      it(name, function()
        local finish = case[3] and case[3]()
        local more = growth(case[1], case[2])
        if finish then finish() end
        assert(more < limit, name .. " took " .. more .. " bytes more")
      end)
    end
  end
end)
