--- programs.lua: makes a random program for the fuzzer of the Lua interface.
--
-- Given a seed and whether the program is in a sandbox, returns a chunk's text:
-- the same one for the same seed. The program works on pools of handles, types,
-- values and watches, calls all that the module has, with arguments of the
-- right and the wrong kinds, and never ends by an error of its own.
local seed, sandboxed = ...
math.randomseed(seed)
local random = math.random

local function one(list) return list[random(#list)] end
local function chance(percent) return random(100) <= percent end

local prelude = [[
local H, T, V, W = {}, {}, {}, {}
for i, handle in ipairs(pushed) do H[i] = handle end
pushed = nil
local function P(body, ...)
  local ok, a, b, c = pcall(body, ...)
  if not ok then
    V[#V % 8 + 1] = a
    pcall(tostring, a)
    return nil
  end
  return a, b, c
end
local function F(list, i) -- one of the pool, or nil
  return #list > 0 and list[(i - 1) % #list + 1] or nil
end
local function K(list, i, value) -- into the pool
  if value ~= nil then list[(i - 1) % 6 + 1] = value end
  return value
end
local function D(list, i)
  table.remove(list, (i - 1) % math.max(#list, 1) + 1)
end
local function deep(n, key)
  local t = {}
  for _ = 1, n do t = key and { [key] = t } or { t } end
  return t
end
local function doubled(n, t)
  t = t or {}
  for _ = 1, n do t = { t, t } end
  return t
end
local function repeated(n, s)
  local t = {}
  for i = 1, n do t[i] = s end
  return t
end
local function cycle(key)
  local t = {}
  t[key] = { t }
  return t
end
local function many(n)
  local t = {}
  for i = 1, n do t["k" .. i] = i end
  return t
end
local function nested(n, prefix) -- structs whose defaults double
  local last = kv.int:default(1)
  for i = 1, n do
    last = kv.struct(prefix .. i) { a = last, b = last }
    last = last:default({})
  end
  return last
end
]]

local names = { "a", "b", "c", "d", "key", "list", "records", "", "a.b", "\\0",
  "\\xff", "\\u{e9}" }
local numbers = { "0", "1", "-1", "2", "3", "7", "255", "1.5", "-0.0", "1e308",
  "0/0", "1/0", "math.maxinteger", "math.mininteger", "2^53", "65536" }
local expressions = { "Int", "String", "[Int]", "[String: Int]", "Int?", "Any",
  "Double(0..<1)", "Int(1...16384)", "[Int](...10)", "[[String: [Double?]]]",
  "UInt8", "Date", "Data", "URL", "UUID", "Decimal", "Duration", "Bool", "UID",
  "A", "B", "[A]", "[String: B]?", "Host", "[Host]?", "Int(", "[", "]", "",
  "A??", " A ", "String(2...)", "Nope", "[[[[[[[[[[Int]]]]]]]]]]" }
local texts = { "", "x", "two", "\\xff\\xfe", "\\0", "caf\\u{e9}",
  "2026-11-21T08:00:00Z", "18446744073709551615", "https://example.org/",
  "12345678-1234-1234-1234-123456789abc", "true", "NaN" }
local documents = { "{}", "[]", "{\"a\": {\"b\": [1, 2.5, null]}}", "[1, 2",
  "<plist><dict><key>a</key><integer>1</integer></dict></plist>", "bplist00",
  "{ a = (1, <01 02>); }", "\\xef\\xbb\\xbf{}",
  "{\"$archiver\": \"NSKeyedArchiver\", \"$objects\": [], \"$top\": {}}" }

local value, body, argument, path, kind_of_type

local depth = 0

local function name() return '"' .. one(names) .. '"' end

local function number() return one(numbers) end

local function text()
  if chance(4) then
    return ("(%q):rep(%d)"):format(one { "x", "ab", "\\n" }, one { 100, 5000,
      1 << 16, 1 << 20 })
  end
  return '"' .. one(texts) .. '"'
end

local function callback(parameters)
  return ("function(%s) %s end"):format(parameters or "...", body(3))
end

--- A table whose metamethods run a body.
local function trapped(inner)
  local event = one { "__index", "__len", "__pairs", "__tostring", "__name",
    "__eq", "__close", "__gc", "__newindex", "__call", "__metatable" }
  return ("setmetatable(%s, { %s = %s })"):format(inner, event, callback())
end

local function made_value()
  return one {
    function() return ("kv.date(%s)"):format(one { number(), text() }) end,
    function() return ("kv.data(%s)"):format(text()) end,
    function() return ("kv.uint64(%s)"):format(one { number(), text() }) end,
    function() return ("kv.uid(%s)"):format(number()) end,
    function() return "kv.null" end,
  }()
end

local function collection()
  local parts = {}
  local kind = random(4)
  for i = 1, random(0, 5) do
    local inner = value()
    if kind == 1 or kind == 2 and i % 2 == 1 then
      parts[i] = inner
    elseif kind == 4 then
      parts[i] = ("[%s] = %s"):format(one { number(), name(), value() }, inner)
    else
      parts[i] = ("[%s] = %s"):format(name(), inner)
    end
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

local function grown()
  return one {
    function()
      return ("deep(%d)"):format(one { 3, 100, 511, 512, 513, 3000 })
    end,
    function()
      return ("deep(%d, %s)"):format(one { 3, 100, 511, 512, 600 }, name())
    end,
    function() return ("doubled(%d)"):format(one { 3, 8, 12, 20, 26, 40 }) end,
    function()
      return ("doubled(%d, %s)"):format(one { 3, 8, 20, 26 }, collection())
    end,
    function()
      return ("repeated(%d, %s)"):format(one { 10, 300, 2000 },
        one { text(), '("x"):rep(1 << 20)', "kv.data(('y'):rep(1 << 18))",
          "many(20)" })
    end,
    function() return ("cycle(%s)"):format(one { name(), "1" }) end,
    function() return ("many(%d)"):format(one { 3, 33, 500, 2000 }) end,
  }()
end

function value()
  depth = depth + 1
  local roll = random(100)
  local result
  if depth > 4 or roll <= 30 then
    result = one { number, text, name, made_value,
      function() return one { "true", "false", "nil" } end }()
  elseif roll <= 62 then
    result = collection()
  elseif roll <= 72 then
    result = ("F(V, %d)"):format(random(6))
  elseif roll <= 76 then
    result = ("kv.%s(%s)"):format(one { "array", "dictionary" }, collection())
  elseif roll <= 82 then
    result = trapped(collection())
  elseif roll <= 90 then
    result = grown()
  else
    result = one { "print", "kv", "coroutine.create(print)",
      ("F(H, %d)"):format(random(6)), ("F(W, %d)"):format(random(6)),
      kind_of_type() }
  end
  depth = depth - 1
  return result
end

function kind_of_type()
  depth = depth + 1
  local roll = random(100)
  local result
  if depth > 3 or roll <= 30 then
    result = '"' .. one(expressions) .. '"'
  elseif roll <= 45 then
    result = ("F(T, %d)"):format(random(6))
  elseif roll <= 60 then
    result = "kv." .. one { "int", "string", "bool", "double", "any", "date",
      "data", "uint64", "uid", "url", "uuid", "decimal", "float", "int8" }
  elseif roll <= 70 then
    result = ("kv.%s(%s)"):format(one { "array_of", "dictionary_of" },
      kind_of_type())
  elseif roll <= 80 then
    local fields = {}
    for i = 1, random(0, 4) do
      fields[i] = ("%s = %s"):format(one { "a", "b", "c", "d", "key" },
        kind_of_type())
    end
    result = ("kv.struct(%s) { %s }"):format(
      one { '"A"', '"B"', '"C"', name() }, table.concat(fields, ", "))
  elseif roll <= 84 then
    result = ("kv.enum(%s) { %s }"):format(one { '"E"', '"B"', name() },
      one { '"a", "b"', '"a", c = kv.int', "a = 1, b = 2", value(),
        ("a = { x = %s }"):format(kind_of_type()) })
  elseif roll <= 86 then
    result = ("nested(%d, %s)"):format(one { 3, 10, 20, 30 },
      one { '"N"', '"M"' })
  else
    result = ("P(function() return (%s):%s end)"):format(one {
      ("(F(T, %d) or kv.int)"):format(random(6)), "kv.int", "kv.string",
      "kv.array_of(kv.int)" }, one {
      ("range(%s, %s)"):format(number(), number()),
      ("length(%s)"):format(number()), "optional()",
      ("default(%s)"):format(value()), ("key(%s)"):format(name()),
      "transient()",
      ("convert { decode = %s, encode = %s }"):format(
        callback "value, context", callback "value, context"),
      ("convert { decode = function(v) return %s end }"):format(value()),
      ("convert(%s)"):format(value()) })
  end
  depth = depth - 1
  return result
end

function path()
  local roll = random(100)
  if roll <= 45 then return name() end
  if roll <= 55 then return "{}" end
  if roll <= 85 then
    local steps = {}
    for i = 1, random(4) do steps[i] = one { name(), name(), "1", "2", "3" } end
    local list = "{ " .. table.concat(steps, ", ") .. " }"
    return chance(8) and trapped(list) or list
  end
  return argument()
end

--- Anything, where a certain kind is expected.
function argument()
  return one { value, value, kind_of_type, number, name,
    function() return ("F(H, %d)"):format(random(6)) end,
    function() return ("F(W, %d)"):format(random(6)) end,
    function() return callback() end }()
end

--- The argument that is expected, or, now and then, anything.
local function expected(make)
  return chance(8) and argument() or make()
end

local function options(entries)
  if chance(50) then return "nil" end
  local list = "{ " .. one(entries) .. " }"
  return chance(10) and trapped(list) or list
end

local function handle() return ("F(H, %d)"):format(random(6)) end

local function format_options()
  return options { 'format = "xml"', 'format = "binary"', 'format = "json"',
    'format = "openstep"', "depth = 3", "expanded_nodes = 10", "x = 1",
    "expanded_bytes = 100", "context = {}", 'class_name_key = "$class"',
    "depth = " .. number(), "format = " .. value() }
end

local calls = {
  get = function() return path(), chance(50) and kind_of_type() or "nil" end,
  set = function()
    return path(), value(), chance(40) and kind_of_type() or "nil",
      options { "replace = true", "replace = false", "other = 1" }
  end,
  update = function()
    local change = callback "value"
    if chance(50) then
      change = ("function(value) %s return %s end"):format(body(2), value())
    end
    if chance(50) then return path(), change end
    return path(), kind_of_type(), change, options { "replace = true" }
  end,
  remove = function() return path() end,
  keys = function() end,
  at = function() return path() end,
  transaction = function() return callback "tx" end,
  migrate = function()
    return ("{ [%s] = %s, %s }"):format(one { "1", "2", "3", number() },
      callback "tx", callback "tx")
  end,
  version = function() end,
  register = function() return value() end,
  sync = function() end,
  close = function() end,
  watch = function()
    return path(), callback "key, new, old", options { "subtree = true" }
  end,
  events = function() return callback "kind, message" end,
  layer = function()
    return one { '"application"', '"registered"', '"arguments"', '"suite"',
      '"managed"', '"global"', value() }, chance(30) and number() or "nil"
  end,
  file = function() end,
  is_forced = function() return path() end,
  bool_for_key = name, integer_for_key = name, double_for_key = name,
  string_for_key = name,
  export = format_options,
  import = function()
    return one { '"' .. one(documents):gsub('"', '\\"') .. '"',
      ("P(kv.encode, %s)"):format(collection()), text() }
  end,
  copy_to = handle,
  generation = function() end,
  compare_and_set = function()
    return path(), value(), one { handle() .. ":generation()", number() }
  end,
  migrate_archive = function()
    return path(), kind_of_type(), options { "keep = true" }
  end,
  nothing = value, cancel = function() end, range = number,
}
local methods = {}
for method in pairs(calls) do methods[#methods + 1] = method end
table.sort(methods)

--- The text of a method's call, with arguments that may be wrong.
local function method_call(target, method)
  local arguments = table.pack(calls[method]())
  local list = {}
  for i = 1, arguments.n do
    list[i] = chance(5) and argument() or arguments[i]
  end
  if chance(3) then list[#list + 1] = argument() end
  local rest = table.concat(list, ", ")
  return ("(%s):%s(%s)"):format(target, method, rest)
end

local function bytes()
  return one { '"' .. one(documents):gsub('"', '\\"') .. '"', text(),
    ("P(kv.encode, %s, nil, %s)"):format(value(), format_options()),
    ("damaged(P(kv.encode, %s, nil, %s), %d)"):format(value(),
      format_options(), random(1000)) }
end

local statements = {
  { 30, function()
    local method = one(methods)
    return ("K(%s, %d, P(function() return %s end))"):format(
      method == "at" and "H" or (method == "watch" or method == "events")
        and "W" or "V", random(6), method_call(handle(), method))
  end },
  { 8, function() -- what is read and written again and again
    return ("for i = 1, %d do P(function() %s end) end"):format(random(2, 6),
      method_call(handle(), one { "get", "set", "update" }))
  end },
  { 8, function()
    return ("K(H, %d, P(function() return F(H, %d):at(%s) end))"):format(
      random(6), random(6), path())
  end },
  { 9, function()
    return ("P(function() return F(H, %d):transaction(function(tx) "
      .. "K(H, %d, %s) %s %s end) end)"):format(random(6), random(6),
      one { "tx", "tx:at(" .. path() .. ")", "tx" }, body(4),
      one { "", "", 'error "no"', "error({})", "error()" })
  end },
  { 7, function()
    return ("K(T, %d, P(function() return %s end))"):format(random(6),
      kind_of_type())
  end },
  { 5, function()
    return ("K(V, %d, (P(kv.decode, %s, %s, %s)))"):format(random(6),
      expected(bytes), chance(40) and kind_of_type() or "nil", format_options())
  end },
  { 4, function()
    return ("K(V, %d, (P(kv.encode, %s, %s, %s)))"):format(random(6), value(),
      chance(40) and kind_of_type() or "nil", format_options())
  end },
  { 2, function()
    return ("K(V, %d, (P(kv.unarchive, %s, %s, %s)))"):format(random(6),
      value(), chance(40) and kind_of_type() or "nil", format_options())
  end },
  { 2, function()
    return ("P(kv.%s, %s)"):format(one { "is_archive", "is_array", "array",
      "dictionary", "annotations", "date", "data", "uint64", "uid", "fd",
      "struct", "enum", "array_of", "dictionary_of" }, argument())
  end },
  { 3, function() return "P(kv.pump)" end },
  { 6, function()
    return ("D(%s, %d)"):format(one { "H", "H", "T", "V", "W" }, random(6))
  end },
  { 4, function()
    return one { "collectgarbage()", "collectgarbage 'step'",
      "collectgarbage() collectgarbage()", "collectgarbage 'generational'",
      "collectgarbage 'incremental'", "collectgarbage 'stop'",
      "collectgarbage 'restart'" }
  end },
  { 3, function() return trapped "{}" end },
  { 3, function()
    return ("P(coroutine.wrap(function() %s coroutine.yield() %s end))"):format(
      body(3), body(2))
  end },
  { 2, function()
    return ("P(function() for k, v in pairs(F(H, %d)) do %s break end end)")
      :format(random(6), body(2))
  end },
  { 2, function()
    return ("P(function() local x <close> = F(%s, %d) %s end)"):format(
      one { "H", "W" }, random(6), body(2))
  end },
  { 2, function() -- a method with another self
    return ("P(function() return F(H, %d).%s(%s, %s) end)"):format(random(6),
      one(methods), argument(), argument())
  end },
  { 2, function()
    return ("P(function() return %s %s %s end)"):format(value(),
      one { "==", "<", "<=", ".." }, value())
  end },
  { 2, function()
    return ("P(function() local v = %s return v:%s() end)"):format(
      one { made_value(), ("F(V, %d)"):format(random(6)) },
      one { "bytes", "unix", "number", "value" })
  end },
  { 1, function() -- what a type has been compiled to
    return ("P(function() local t = F(T, %d) for k in next, t do "
      .. "if type(k) == 'userdata' then t[k] = %s end end end)"):format(
      random(6), argument())
  end },
  { 2, function()
    return ("P(host.%s, %s)"):format(one { "to_tree", "pump", "push",
      "to_store", "root" }, argument())
  end },
  { 1, function() return ("check = %s"):format(callback()) end },
  { 2, function()
    return ("tell = setmetatable({}, { __gc = %s }) tell = nil"):format(
      callback())
  end },
}
if not sandboxed then
  table.insert(statements, { 6, function()
    return ("K(H, %d, P(kv.%s, %s, %s))"):format(random(6),
      one { "open_file", "open_file", "open_file", "open" },
      one { '"memory"', 'folder .. "/a.plist"', 'folder .. "/b.plist"',
        "folder", '"../x"', value() },
      ("setmetatable({ engine = %s, %s }, %s)"):format(
        one { '"memory"', '"memory"', '"memory"', "nil", '"sqlite"' },
        one { "defaults = " .. collection(), "arguments = " .. collection(),
          "schema = " .. kind_of_type(),
          ("types = { A = %s, Z = %s }"):format(kind_of_type(),
            kind_of_type()),
          "context = {}", "read_only = true", 'durability = "manual"',
          'durability = "immediate"', 'suites = { "x.y" }', "timeout = 0.01",
          "managed_file = " .. text(), "other = 1", "defaults = " .. value() },
        one { "{}", "nil", ("{ __index = %s }"):format(callback()) }))
  end })
  table.insert(statements, { 3, function()
    return ("P(kv.%s, folder .. %s, %s)"):format(one { "read", "write" },
      one { '"/a.plist"', '"/c"', '"/none/x"' }, value())
  end })
end
local total = 0
for _, statement in ipairs(statements) do total = total + statement[1] end

local function statement()
  local roll = random(total)
  for _, each in ipairs(statements) do
    roll = roll - each[1]
    if roll <= 0 then return each[2]() end
  end
end

local level = 0

function body(most)
  level = level + 1
  local parts = {}
  if level <= 3 then
    for i = 1, random(0, most) do parts[i] = statement() end
    if level > 1 and chance(8) then
      parts[#parts + 1] = one { 'error "no"', "error()", "error({})",
        "coroutine.yield(1)" }
    end
  end
  level = level - 1
  return table.concat(parts, " ")
end

local lines = { prelude }
for _ = 1, random(4, 24) do lines[#lines + 1] = statement() end
if chance(1) then lines[#lines + 1] = "host.leave()" end
return table.concat(lines, "\n") .. "\n"
