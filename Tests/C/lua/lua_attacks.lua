-- lua_attacks.lua: what a script may try against its host, for lua_attacks.c.
-- Gives a list of attacks, each with a name and `prepare`, which gives the one
-- call that is measured. `make stress` makes all of them, `make test` those
-- that took most memory, now or once.

local kv, open_store = ...
local MEGABYTE = 1048576
local MOST_INPUT = 16 * MEGABYTE -- of bytes to decode
local MOST_NODES = 524288
local attacks = {}

local quick = {}
for _, name in ipairs { "decode JSON: dictionaries in a list",
  "decode XML: keys", "decode binary: keys",
  "unarchive a dictionary of one key", "encode xml: distinct long texts",
  "a type from white space in brackets", "fields of 10 MB",
  "a default of 60 MB", "sixty structs with one default of 60 MB",
  "annotations of sixty types with one default of 60 MB",
  "sqlite: import 250,000 keys over 16 MB",
  "an enum of as many cases as may be",
  "memory: set all 250,000 keys again", "file: copy to another",
  "file: import 250,000 keys", "memory: get over registered defaults",
  "memory: pump 64 watches of everything",
  "memory: pump 64 watches of a part of 30 MB",
  "memory: pump 64 watches of 60 MB" } do
  quick[name] = true
end

local function add(name, prepare)
  attacks[#attacks + 1] = { name = name, prepare = prepare,
    is_long = not quick[name] }
end

-- ---- Making large values, as each Lua can

--- A part of a count: the half where nothing is said.
local function half(count, parts)
  return math.floor(count / (parts or 2))
end

--- A number in four bytes, the highest first, and in eight.
local function word(number)
  return string.char(math.floor(number / 16777216) % 256,
    math.floor(number / 65536) % 256, math.floor(number / 256) % 256,
    number % 256)
end
local function long_word(number)
  return "\0\0\0\0" .. word(number)
end

--- A text of at most `size` bytes: the text again and again, between two
-- others.
local function fill(before, text, after, size)
  size = (size or MOST_INPUT) - #before - #after
  return before .. text:rep(half(size, #text)) .. after
end

local function list(count, make)
  local result = {}
  for i = 1, count do result[i] = make(i) end
  return result
end

local function repeated(count, value)
  return list(count, function() return value end)
end

local function dictionary(count, make, prefix)
  local result = {}
  for i = 1, count do result[(prefix or "key") .. i] = make(i) end
  return result
end

local function joined(count, make, separator)
  return table.concat(list(count, make), separator)
end

--- A value in `levels` arrays.
local function nested(levels, value)
  for _ = 1, levels do value = { value } end
  return value
end

local function one() return 1 end

-- ---- Decoding

local function decoding(name, make, type)
  add("decode " .. name, function()
    local text = make()
    return function() return kv.decode(text, type) end
  end)
end

-- JSON

decoding("JSON: numbers", function() return fill("[", "1,", "1]") end)
decoding("JSON: as many numbers as may be", function()
  return fill("[", "1,", "1]", 2 * MOST_NODES - 8)
end)
decoding("JSON: as many reals as may be", function()
  return fill("[", "1.5e300,", "1]", 8 * MOST_NODES - 64)
end)
decoding("JSON: dictionaries in a list", function()
  return fill("[", "{},", "{}]", 3 * MOST_NODES - 8)
end)
decoding("JSON: small dictionaries in a list", function()
  return fill("[", '{"a":1},', "{}]", 8 * half(MOST_NODES, 3) - 8)
end)
decoding("JSON: deep", function() return ("["):rep(MOST_INPUT) end)
decoding("JSON: deep dictionaries", function()
  return fill("", '{"a":', "1")
end)
decoding("JSON: deep again and again", function()
  return fill("[", ("["):rep(500) .. ("]"):rep(500) .. ",", "1]")
end)
decoding("JSON: keys", function()
  return "{" .. joined(half(MOST_NODES) - 8, function(i)
    return '"' .. i .. '":1'
  end, ",") .. "}"
end)
decoding("JSON: one key", function() return fill("{", '"a":1,', '"b":1}') end)
decoding("JSON: two keys in turn", function()
  return fill("{", '"a":1,"b":2,', '"b":1}')
end)
decoding("JSON: one key of much", function()
  return fill("{", '"a":[' .. ("1,"):rep(1000) .. '1],', '"b":1}')
end)
decoding("JSON: keys in falling order", function()
  return "{" .. joined(half(MOST_NODES) - 8, function(i)
    return string.format('"%07d":1', 9999999 - i)
  end, ",") .. "}"
end)
decoding("JSON: long keys alike", function()
  local long = ("k"):rep(15000)
  return "{" .. joined(1000, function(i)
    return string.format('"%s%04d":1', long, (i * 7919) % 10000)
  end, ",") .. "}"
end)
decoding("JSON: keys with escapes", function()
  return "{" .. joined(half(MOST_NODES) - 8, function(i)
    return string.format('"\\u00e9%d":1', i)
  end, ",") .. "}"
end)
decoding("JSON: a long number", function() return ("1"):rep(MOST_INPUT) end)
decoding("JSON: a long fraction", function()
  return "0." .. ("1"):rep(MOST_INPUT - 10)
end)
decoding("JSON: a long exponent", function()
  return "1e" .. ("1"):rep(MOST_INPUT - 10)
end)
decoding("JSON: numbers of 1,000 digits", function()
  return fill("[", "1." .. ("7"):rep(997) .. ",", "1]")
end)
decoding("JSON: reals near a half", function()
  return fill("[", "9007199254740993.0000000000000000000000001,", "1]")
end)
decoding("JSON: escapes", function() return fill('"', "\\u00e9", '"') end)
decoding("JSON: surrogates", function()
  return fill('"', "\\ud83d\\ude00", '"')
end)
decoding("JSON: a text", function() return fill('"', "x", '"') end)
decoding("JSON: a text without an end", function()
  return fill('"', "x", "")
end)
decoding("JSON: no UTF-8", function() return fill('"', "x", "\255\"") end)
decoding("JSON: white space", function() return fill("[", " ", "]") end)
decoding("JSON: lines", function() return fill("[", "\n", "?]") end)
decoding("JSON: a fault in a long line", function()
  return fill('["', "\195\169", '"?]')
end)
decoding("JSON: UTF-16", function()
  return "\255\254" .. fill("[\0", "1\0,\0", "1\0]\0", 4 * MOST_NODES - 64)
end)
decoding("JSON: a text in UTF-16", function()
  return "\255\254" .. fill('"\0', "\000\078", '"\0')
end)
decoding("JSON: as another type", function()
  return fill('["', "x", '"]')
end, "[Int]")
decoding("JSON: strings that are no numbers", function()
  return fill("[", '"a",', '"b"]', 4 * MOST_NODES - 64)
end, "[Int]")

-- XML

local function xml(name, make, type)
  decoding("XML: " .. name, make, type)
end
local HEAD = '<?xml version="1.0"?><plist version="1.0">'
local function plist(text, size, before, after)
  return fill(HEAD .. (before or "<array>"), text,
    (after or "</array>") .. "</plist>", size)
end
xml("numbers", function() return plist("<integer>1</integer>") end)
xml("empty texts", function() return plist("<string/>") end)
xml("empty lists", function() return plist("<array/>") end)
xml("booleans", function() return plist("<true/>", 7 * MOST_NODES) end)
xml("empty dictionaries", function()
  return plist("<dict/>", 7 * MOST_NODES - 100)
end)
xml("deep", function() return fill(HEAD, "<array>", "") end)
xml("deep dictionaries", function() return fill(HEAD, "<dict><key/>", "") end)
xml("comments", function() return plist("<!---->") end)
xml("comments in a dictionary", function()
  return plist("<!--c--><key>a</key><true/>", nil, "<dict>", "</dict>")
end)
xml("comments between keys", function()
  return HEAD .. "<dict>" .. joined(350000, function(i)
    return "<!----><key>" .. i .. "</key><true/>"
  end) .. "</dict></plist>"
end)
xml("a long comment", function()
  return plist("-x", nil, "<!--", "--><true/>")
end)
xml("a comment without an end", function()
  return fill(HEAD .. "<!--", "x", "")
end)
xml("processing instructions", function() return plist("<?x?>") end)
xml("a document type", function()
  return fill('<?xml version="1.0"?><!DOCTYPE plist [', "<!ELEMENT a (b)>",
    "]><plist><true/></plist>")
end)
xml("entities", function()
  local text = {
    '<?xml version="1.0"?><!DOCTYPE plist [<!ENTITY a0 "aaaaaaaa">' }
  for i = 1, 30 do
    text[#text + 1] =
      string.format('<!ENTITY a%d "&a%d;&a%d;">', i, i - 1, i - 1)
  end
  text[#text + 1] = "]><plist><string>&a30;</string></plist>"
  return table.concat(text)
end)
xml("references", function()
  return plist("&amp;", nil, "<string>", "</string>")
end)
xml("references by number", function()
  return plist("&#x1F600;", nil, "<string>", "</string>")
end)
xml("a long reference", function()
  return plist("0", nil, "<string>&#", "65;</string>")
end)
xml("CDATA", function()
  return plist("<![CDATA[]]>", nil, "<string>", "</string>")
end)
xml("a long text", function()
  return plist("x", nil, "<string>", "</string>")
end)
xml("a long number", function()
  return plist("1", nil, "<integer>", "</integer>")
end)
xml("a long hexadecimal number", function()
  return plist("0", nil, "<integer>0x", "1</integer>")
end)
xml("a long real", function() return plist("1", nil, "<real>", "</real>") end)
xml("reals", function() return plist("<real>1.7976931348623157e308</real>") end)
xml("a long date", function() return plist("1", nil, "<date>", "</date>") end)
xml("dates", function() return plist("<date>2026-11-21T08:00:00Z</date>") end)
xml("data", function() return plist("AAAA", nil, "<data>", "</data>") end)
xml("data of white space", function()
  return plist(" ", nil, "<data>", "</data>")
end)
xml("small data", function() return plist("<data></data>") end)
xml("keys", function()
  return HEAD .. "<dict>" .. joined(half(MOST_NODES) - 8, function(i)
    return "<key>" .. i .. "</key><true/>"
  end) .. "</dict></plist>"
end)
xml("one key", function()
  return plist("<key>a</key><true/>", nil, "<dict>", "</dict>")
end)
xml("keys without values", function()
  return plist("<key>a</key>", nil, "<dict>", "</dict>")
end)
xml("attributes", function()
  return plist(" a='b'", nil, "<array", "></array>")
end)
xml("a long name", function() return plist("a", nil, "<", "/>") end)
xml("white space", function() return plist("\n ") end)
xml("UTF-16", function()
  local text = plist("<true/>", 7 * MOST_NODES)
  return "\255\254" .. text:gsub(".", "%0\0")
end)
xml("UTF-16 of another kind", function()
  local text = plist("é", 4 * MEGABYTE, "<string>", "</string>")
  return "\254\255" .. text:gsub(".", "\0%0")
end)
xml("UTF-32", function()
  local text = plist("<true/>", 3 * MEGABYTE)
  return "\255\254\0\0" .. text:gsub(".", "%0\0\0\0")
end)
xml("Latin-1", function()
  return '<?xml version="1.0" encoding="iso-8859-1"?><plist><string>'
    .. ("\233"):rep(15 * MEGABYTE) .. "</string></plist>"
end)

-- OpenStep

local function openstep(name, make, type)
  decoding("text: " .. name, make, type)
end
openstep("words", function() return fill("(", "a,", "b)") end)
openstep("as many words as may be", function()
  return fill("(", "a,", "b)", 2 * MOST_NODES - 8)
end)
openstep("deep", function() return ("("):rep(MOST_INPUT) end)
openstep("deep dictionaries", function() return fill("", "{a=", "") end)
openstep("comments", function() return fill("(", "/**/", "a)") end)
openstep("line comments", function() return fill("(", "//\n", "a)") end)
openstep("a comment without an end", function() return fill("(/*", "*", "") end)
openstep("one key", function() return fill("{", "a=b;", "}") end)
openstep("keys", function()
  return "{" .. joined(half(MOST_NODES) - 8, function(i)
    return "k" .. i .. "=1;"
  end) .. "}"
end)
openstep("data", function() return fill("<", "00", ">") end)
openstep("data of white space", function() return fill("<", " ", "00>") end)
openstep("small data", function() return fill("(", "<>,", "<>)") end)
openstep("escapes", function() return fill('"', "\\351", '"') end)
openstep("escapes of Unicode", function() return fill('"', "\\U00e9", '"') end)
openstep("a long word", function() return ("a"):rep(MOST_INPUT) end)
openstep("a strings file", function() return fill("", "a=b;", "") end)
openstep("keys alone", function() return fill("{", "a;", "}") end)
openstep("typed numbers", function() return fill("(", "<*I1>,", "<*I1>)") end)
openstep("typed dates", function()
  return fill("(", "<*D2026-11-21 08:00:00 +0000>,", "a)")
end)

-- ---- Binary

--- A binary property list of objects; `offsets` are those of the objects, or
-- nil for one after the other.
local function binary(objects, offsets, root, reference_size)
  local parts, at = { "bplist00" }, 8
  local found = {}
  for i, object in ipairs(objects) do
    found[i] = at
    at = at + #object
    parts[#parts + 1] = object
  end
  offsets = offsets or found
  for _, offset in ipairs(offsets) do
    parts[#parts + 1] = word(offset)
  end
  parts[#parts + 1] = ("\0"):rep(6) .. string.char(4, reference_size or 4)
    .. long_word(#offsets) .. long_word(root or 0) .. long_word(at)
  return table.concat(parts)
end

--- The head of an object with a length.
local function head(kind, count)
  if count < 15 then return string.char(kind * 16 + count) end
  return string.char(kind * 16 + 15, 0x12) .. word(count)
end

--- An array of references to objects, which count from 0.
local function references(kind, count, make)
  return head(kind, count) .. joined(count, function(i)
    return word(make(i))
  end)
end

local function bytes(name, make, type)
  decoding("binary: " .. name, make, type)
end
bytes("one number many times", function()
  return binary({ references(0xA, 3 * MEGABYTE, one), "\016\001" })
end)
bytes("as many numbers as may be", function()
  return binary({ references(0xA, MOST_NODES - 2, one), "\016\001" })
end)
bytes("many objects", function()
  local count = MOST_NODES - 2
  local objects = repeated(count, "\009")
  table.insert(objects, 1, references(0xA, count, function(i) return i end))
  return binary(objects)
end)
bytes("objects that nothing names", function()
  local objects = repeated(3 * MEGABYTE, "\009")
  return binary(objects)
end)
bytes("shared lists", function()
  return binary(list(30, function(i)
    return i < 30 and references(0xA, 2, function() return i end) or "\009"
  end))
end)
bytes("shared empty dictionaries", function()
  return binary({ references(0xA, 2000, one), references(0xA, 2000,
    function() return 2 end), "\208" })
end)
bytes("a list in itself", function()
  return binary({ references(0xA, 1000, function() return 0 end) })
end)
bytes("deep", function()
  return binary(list(500000, function(i)
    return i < 500000 and references(0xA, 1, function() return i end) or "\009"
  end))
end)
bytes("a long text many times", function()
  return binary({ references(0xA, 500000, one), head(5, MEGABYTE)
    .. ("x"):rep(MEGABYTE) })
end)
bytes("long texts at one place", function()
  local count, size = 500000, 6 * MEGABYTE
  local text = head(5, size) .. ("x"):rep(size)
  local names = references(0xA, count, function(i) return i end)
  local offsets = repeated(count + 1, 8 + #names)
  offsets[1] = 8
  return binary({ names, text }, offsets)
end)
bytes("texts in UTF-16 at one place", function()
  local count, size = 500000, 3 * MEGABYTE
  local text = head(6, size) .. ("\078\000"):rep(size)
  local names = references(0xA, count, function(i) return i end)
  local offsets = repeated(count + 1, 8 + #names)
  offsets[1] = 8
  return binary({ names, text }, offsets)
end)
bytes("lists at one place", function()
  local count = 1000
  local inner = references(0xA, 1000, function() return count + 1 end)
  local names = references(0xA, count, function(i) return i end)
  local offsets = repeated(count + 2, 8 + #names)
  offsets[1], offsets[count + 2] = 8, 8 + #names + #inner
  return binary({ names, inner, "\009" }, offsets)
end)
bytes("large dictionaries at one place", function()
  local count, size = 250000, 700000
  local inner = head(0xD, size)
    .. word(count + 1):rep(2 * size)
  local names = references(0xA, count, function(i) return i end)
  local offsets = repeated(count + 2, 8 + #names)
  offsets[1], offsets[count + 2] = 8, 8 + #names + #inner
  return binary({ names, inner, "\081a" }, offsets)
end)
bytes("a dictionary of one key", function()
  local size = MOST_NODES
  return binary({ head(0xD, size) .. word(1):rep(2 * size),
    "\081a" })
end)
bytes("keys", function()
  local count = half(MOST_NODES) - 8
  local objects = list(count, function(i)
    return "\087" .. string.format("%07d", 9999999 - i)
  end)
  table.insert(objects, 1, references(0xD, count, function(i) return i end)
    .. word(1):rep(count))
  return binary(objects)
end)
bytes("a text in UTF-16", function()
  return binary({ head(6, 8000000) .. ("\078\000"):rep(8000000) })
end)
bytes("surrogates without partners", function()
  return binary({ head(6, 8000000) .. ("\216\000"):rep(8000000) })
end)
bytes("data", function()
  return binary({ head(4, 16000000) .. ("\0"):rep(16000000) })
end)
bytes("a count beyond the file", function()
  return binary({ "\175\019" .. ("\127"):rep(8) })
end)
bytes("offsets beyond the file", function()
  return binary({ "\009" }, repeated(3 * MEGABYTE, 2147483648))
end)
bytes("numbers of 16 bytes", function()
  return binary({ references(0xA, 3 * MEGABYTE, one),
    "\020" .. ("\255"):rep(16) })
end)
bytes("sets", function()
  return binary({ references(0xC, MOST_NODES - 2, one), "\016\001" })
end)

-- ---- Keyed archives

local function uid(n) return kv.uid(n) end
local function archive(objects, top)
  return { ["$archiver"] = "NSKeyedArchiver", ["$version"] = 100000,
    ["$top"] = { root = uid(top or 1) }, ["$objects"] = objects }
end
local function unarchiving(name, make, type)
  add("unarchive " .. name, function()
    local value = make()
    return function() return kv.unarchive(value, type) end
  end)
end
local array_class = { ["$classname"] = "NSArray",
  ["$classes"] = { "NSArray", "NSObject" } }
local dictionary_class = { ["$classname"] = "NSDictionary",
  ["$classes"] = { "NSDictionary", "NSObject" } }
unarchiving("shared lists", function()
  local objects = { "$null" }
  for i = 1, 30 do
    objects[#objects + 1] = { ["$class"] = uid(32),
      ["NS.objects"] = { uid(i + 1), uid(i + 1) } }
  end
  objects[#objects + 1] = 1
  objects[#objects + 1] = array_class
  return archive(objects)
end)
unarchiving("one object many times", function()
  return archive { "$null", { ["$class"] = uid(3),
    ["NS.objects"] = repeated(MOST_NODES - 100, uid(2)) }, 1, array_class }
end)
unarchiving("many objects", function()
  local objects = { "$null", { ["$class"] = uid(2),
    ["NS.objects"] = list(200000, function(i) return uid(i + 2) end) },
    array_class }
  for _ = 1, 200000 do objects[#objects + 1] = 1 end
  return archive(objects)
end)
unarchiving("a list in itself", function()
  return archive { "$null", { ["$class"] = uid(2),
    ["NS.objects"] = repeated(100000, uid(1)) }, array_class }
end)
unarchiving("deep", function()
  local objects = { "$null" }
  for i = 1, 75000 do
    objects[#objects + 1] = { ["$class"] = uid(0), a = uid(i + 1) }
  end
  return archive(objects)
end)
unarchiving("a long text many times", function()
  return archive { "$null", { ["$class"] = uid(3),
    ["NS.objects"] = repeated(500000, uid(2)) }, ("x"):rep(MEGABYTE),
    array_class }
end)
unarchiving("a dictionary of one key", function()
  return archive { "$null", { ["$class"] = uid(3),
    ["NS.keys"] = repeated(250000, uid(2)),
    ["NS.objects"] = repeated(250000, uid(2)) }, "a", dictionary_class }
end)
unarchiving("keys", function()
  local count = 250000
  local objects = { "$null", { ["$class"] = uid(2),
    ["NS.keys"] = list(count, function(i) return uid(i + 2) end),
    ["NS.objects"] = repeated(count, uid(3)) }, dictionary_class }
  for i = 1, count do objects[#objects + 1] = "key" .. i end
  return archive(objects)
end)
unarchiving("dictionaries with one list of keys", function()
  local count = 100
  local keys = list(5000, function(i) return uid(i + count + 2) end)
  local objects = { "$null", { ["$class"] = uid(2), ["NS.objects"] =
    list(count, function(i) return uid(i + 2) end) }, dictionary_class }
  for _ = 1, count do
    objects[#objects + 1] = { ["$class"] = uid(2), ["NS.keys"] = keys,
      ["NS.objects"] = keys }
  end
  for i = 1, 5001 do objects[#objects + 1] = "key" .. i end
  return archive(objects)
end)
unarchiving("a long class name", function()
  local long = ("x"):rep(MEGABYTE)
  local objects = { "$null", { ["$class"] = uid(2), ["NS.objects"] =
    list(100000, function(i) return uid(i + 2) end) },
    { ["$classname"] = long, ["$classes"] = { long } } }
  for _ = 1, 100000 do objects[#objects + 1] = { ["$class"] = uid(2) } end
  return archive(objects)
end)
add("unarchive with the names of classes", function()
  local long = ("x"):rep(MEGABYTE)
  local objects = { "$null", { ["$class"] = uid(2), ["NS.objects"] =
    list(100000, function(i) return uid(i + 3) end) }, array_class,
    { ["$classname"] = long, ["$classes"] = { long } } }
  for _ = 1, 100000 do objects[#objects + 1] = { ["$class"] = uid(3) } end
  local value = archive(objects)
  return function()
    return kv.unarchive(value, nil, { class_name_key = "class" })
  end
end)

-- ---- Values of kinds that Lua does not have

local function making(name, make)
  add(name, function()
    local call, value = make()
    return function() return call(value) end
  end)
end
local LONG = 60 * MEGABYTE
making("a date from a long text", function()
  return kv.date, ("1"):rep(LONG)
end)
making("a date with a long fraction", function()
  return kv.date, "2026-11-21T08:00:00." .. ("1"):rep(LONG) .. "Z"
end)
making("a uint64 from a long text", function()
  return kv.uint64, ("0"):rep(LONG)
end)
making("a uid from a long text", function() return kv.uid, ("1"):rep(LONG) end)
making("data of a long text", function() return kv.data, ("x"):rep(LONG) end)
making("the text of much data", function()
  return tostring, kv.data(("x"):rep(LONG))
end)

-- ---- Encoding

local formats = { "xml", "binary", "json", "openstep" }
local function encoding(name, make, type, only)
  for _, format in ipairs(formats) do
    if not only or only == format then
      add("encode " .. format .. ": " .. name, function()
        local value, options = make(), { format = format }
        local given = type and type()
        return function() return kv.encode(value, given, options) end
      end)
    end
  end
end
encoding("numbers", function() return repeated(MOST_NODES - 2, 1) end)
encoding("reals", function() return repeated(MOST_NODES - 2, 1 / 3) end)
encoding("dates", function()
  return repeated(MOST_NODES - 2, kv.date(1e9 + 1 / 3))
end)
encoding("keys", function() return dictionary(half(MOST_NODES) - 2, one) end)
encoding("distinct texts", function()
  return list(250000, function(i) return "text number " .. i end)
end)
encoding("long texts", function()
  return repeated(12, ("x"):rep(5 * MEGABYTE))
end)
encoding("distinct long texts", function()
  return list(12, function(i) return ("x"):rep(5 * MEGABYTE) .. i end)
end)
encoding("texts to escape", function()
  return repeated(10, ("&"):rep(MEGABYTE))
end)
encoding("letters", function() return ("é"):rep(30 * MEGABYTE) end)
encoding("data", function()
  return repeated(6, kv.data(("x"):rep(3 * MEGABYTE)))
end)
encoding("most data", function() return kv.data(("x"):rep(27 * MEGABYTE)) end)
encoding("all the data", function()
  return kv.data(("x"):rep(63 * MEGABYTE))
end,
  nil, "binary")
encoding("deep", function()
  return nested(500, repeated(1000, 1))
end)
encoding("deep again and again", function()
  return repeated(2000, nested(500, 1))
end)
encoding("a shared table", function()
  local value = 1
  for _ = 1, 30 do value = { value, value } end
  return value
end)
encoding("an empty table many times", function()
  return repeated(MOST_NODES - 2, {})
end)
encoding("a long key many times", function()
  return repeated(60, { [("k"):rep(MEGABYTE)] = 1 })
end)

-- ---- Types

local function texts(name, make)
  add("a type from " .. name, function()
    local text = make()
    return function() return kv.decode("1", text) end
  end)
end
local LONGEST = 131072 -- of a type
texts("brackets", function() return ("["):rep(LONGEST) end)
texts("matching brackets", function()
  return ("["):rep(half(LONGEST)) .. ("]"):rep(half(LONGEST))
end)
texts("white space in brackets", function()
  return ("["):rep(60) .. (" "):rep(LONGEST - 200) .. "Int" .. ("]"):rep(60)
end)
texts("white space between brackets", function()
  return ("[" .. (" "):rep(2000)):rep(60) .. "Int" .. ("]"):rep(60)
end)
texts("question marks", function() return "Int" .. ("?"):rep(LONGEST - 10) end)
texts("question marks and spaces", function()
  return "Int" .. ("? "):rep(half(LONGEST) - 10)
end)
texts("a long name", function() return ("a"):rep(LONGEST) end)
texts("a long range", function()
  return "Int(" .. ("1"):rep(LONGEST - 30) .. "...2)"
end)
texts("many ranges", function()
  return "[Int](" .. ("1..."):rep(half(LONGEST, 4) - 30) .. ")"
end)
texts("braces", function() return "[String:" .. ("{"):rep(LONGEST - 20) end)
texts("words", function() return ("Window "):rep(half(LONGEST, 7)) end)
texts("comments", function()
  return ("/**/"):rep(half(LONGEST, 4) - 4) .. "Int"
end)
texts("dictionaries in dictionaries", function()
  return ("[String:"):rep(16000) .. "Int" .. ("]"):rep(16000)
end)
texts("dictionaries with white space", function()
  return ("[String:" .. (" "):rep(2000)):rep(60) .. "Int" .. ("]"):rep(60)
end)

local function fields(count, type)
  return dictionary(count, function() return type or kv.int end, "field")
end
--- A type and the first use of it, together.
local typed = add
typed("a struct of 100,000 fields", function()
  local all = fields(100000)
  return function() return kv.encode({}, kv.struct "Large" (all)) end
end)
typed("a value of a struct of 100,000 fields", function()
  local Large = kv.struct "Large" (fields(100000))
  local value = dictionary(100000, one, "field")
  kv.decode("{}", Large)
  return function() return kv.encode(value, Large) end
end)
typed("a struct of 70,000 fields, in JSON", function()
  local Large = kv.struct "Large" (fields(70000, kv.int:default(1)))
  kv.decode("{}", Large)
  return function() return kv.decode("{}", Large) end
end)
typed("a misspelt field of 100,000", function()
  local Large = kv.struct "Large" (fields(100000))
  kv.decode("{}", Large)
  return function() return kv.encode({ feld1 = 1 }, Large) end
end)
typed("a field of 10 MB that is not known", function()
  local Large = kv.struct "Large" (fields(1000))
  kv.decode("{}", Large)
  local value = { [("k"):rep(10 * MEGABYTE)] = 1 }
  return function() return kv.encode(value, Large) end
end)
typed("fields of 10 MB", function()
  local all = {}
  for i = 1, 6 do all[("k"):rep(10 * MEGABYTE) .. i] = kv.int end
  return function() return kv.encode({ x = 1 }, kv.struct "Long" (all)) end
end)
typed("an enum of 250,000 cases", function()
  local cases = list(250000, function(i) return "case" .. i end)
  return function() return kv.encode("case1", kv.enum "Large" (cases)) end
end)
typed("45,000 enums in one text", function()
  local text = table.concat(list(45000, function(i)
    return "enum e" .. i .. " { a }"
  end), " ")
  return function() return kv.declare(text) end
end)
typed("an enum of as many cases as may be", function()
  local cases = list(MOST_NODES - 10, function(i) return "c" .. i end)
  return function() return kv.encode("c1", kv.enum "Large" (cases)) end
end)
typed("an enum of 150,000 numbers", function()
  local cases = dictionary(150000, function(i) return i end)
  return function() return kv.encode(1, kv.enum "Large" (cases)) end
end)
typed("an enum of 75,000 cases with values", function()
  local cases = dictionary(75000, function() return { kv.int } end)
  return function()
    return kv.encode({ key1 = { _0 = 1 } }, kv.enum "Large" (cases))
  end
end)
typed("a raw value that no case of 250,000 has", function()
  local Large =
    kv.enum "Large" (list(250000, function(i) return "case" .. i end))
  kv.encode("case1", Large)
  return function() return kv.encode("casse", Large) end
end)
typed("150,000 raw values", function()
  local Large =
    kv.enum "Large" (list(150000, function(i) return "case" .. i end))
  local value = list(150000, function(i) return "case" .. i end)
  local many = kv.array_of(Large)
  kv.encode({}, many)
  return function() return kv.encode(value, many) end
end)
typed("structs in structs", function()
  local inner = kv.int
  for i = 1, 2000 do inner = kv.struct("S" .. i) { a = inner } end
  return function() return kv.encode({}, inner) end
end)
typed("structs that name each other", function()
  for i = 1, 2000 do kv.struct("S" .. i) { a = "S" .. i % 2000 + 1 .. "?" } end
  return function() return kv.encode({}, "S1") end
end)
typed("doubling structs", function()
  local inner = kv.int:default(1)
  for i = 1, 30 do
    inner = kv.struct("S" .. i) { a = inner, b = inner }:default {}
  end
  return function() return kv.decode("{}", inner) end
end)
typed("a default of 60 MB", function()
  local text = ("x"):rep(60 * MEGABYTE)
  return function()
    return kv.decode("{}", kv.struct "S" { a = kv.string:default(text) })
  end
end)
typed("defaults in a list of structs", function()
  local S = kv.struct "S" { a = kv.string:default(("x"):rep(1000)) }
  local text = fill("[", "{},", "{}]", 3 * 60000)
  local many = kv.array_of(S)
  kv.decode("[]", many)
  return function() return kv.decode(text, many) end
end)
typed("long stored keys in a list of structs", function()
  local S = kv.struct "S" { a = kv.int:key(("k"):rep(1000)) }
  local many, value = kv.array_of(S), repeated(60000, { a = 1 })
  kv.encode({}, many)
  return function() return kv.encode(value, many) end
end)
typed("a default of 500,000 values", function()
  local value = repeated(MOST_NODES - 100, 1)
  return function()
    return kv.decode("{}",
      kv.struct "S" { a = kv.array_of(kv.int):default(value) })
  end
end)
typed("decimals with long digits", function()
  local text = '["' .. ("1"):rep(10 * MEGABYTE) .. '"]'
  local type = kv.array_of(kv.decimal)
  return function() return kv.decode(text, type) end
end)
typed("URLs", function()
  local text = fill("[", '"http://a/%20",', '"a"]', 15 * 250000)
  local type = kv.array_of(kv.url)
  return function() return kv.decode(text, type) end
end)
typed("a long URL", function()
  local text = fill('["http://a/', "%20", '"]')
  local type = kv.array_of(kv.url)
  return function() return kv.decode(text, type) end
end)
typed("durations", function()
  local text = fill("[", "[1,2],", "[1,2]]", 6 * 100000)
  local type = kv.array_of(kv.duration)
  return function() return kv.decode(text, type) end
end)
typed("UUIDs", function()
  local text = fill("[", '"E621E1F8-C36C-495A-93FC-0C247A3E6E5F",', '"a"]')
  local type = kv.array_of(kv.uuid)
  return function() return kv.decode(text, type) end
end)
typed("dates", function()
  local text = fill("[", '"2026-11-21T08:00:00Z",', '"a"]')
  local type = kv.array_of(kv.date)
  return function() return kv.decode(text, type) end
end)
typed("decimals", function()
  local text = fill("[", '"1234567890.123456789",', '"a"]')
  local type = kv.array_of(kv.decimal)
  return function() return kv.decode(text, type) end
end)
typed("numbers for floats", function()
  local text = fill("[", "1.5,", "1]", 4 * MOST_NODES - 40)
  local type = kv.array_of(kv.float)
  return function() return kv.decode(text, type) end
end)
typed("a length of a long text", function()
  local text = fill('"', "e\204\129", '"')
  local type = kv.string:length(0, 1)
  return function() return kv.decode(text, type) end
end)
typed("optional elements that are null", function()
  local text = fill("[", "null,", "null]", 5 * MOST_NODES - 40)
  local type = kv.array_of(kv.int:optional())
  return function() return kv.decode(text, type) end
end)

--- Types that have one default, which is in Lua's memory once.
local function sharing(name, make)
  typed(name, function()
    local field = kv.string:default(("x"):rep(60 * MEGABYTE))
    return function()
      local types = {}
      for i = 1, 60 do
        types[i] = make(i, field)
        local ok, problem = pcall(kv.encode, {}, types[i])
        if not ok then return i, problem end
      end
    end
  end)
end
sharing("sixty structs with one default of 60 MB", function(i, field)
  return kv.struct("S" .. i) { a = field }
end)
sharing("sixty arrays with one default of 60 MB", function(_, field)
  return kv.array_of(kv.struct "S" { a = field })
end)
typed("a struct declared anew with a default of 60 MB", function()
  local field = kv.string:default(("x"):rep(60 * MEGABYTE))
  return function()
    for _ = 1, 5 do kv.encode({}, kv.struct "S" { a = field }) end
    return "done"
  end
end)

-- Annotations

local function annotating(name, make)
  add("annotations of " .. name, function()
    make()
    return function() return #kv.annotations() end
  end)
end
annotating("a cycle of 4,000 types", function()
  for i = 1, 4000 do kv.struct("S" .. i) { a = "S" .. i % 4000 + 1 .. "?" } end
end)
annotating("a cycle of 20,000 types", function()
  for i = 1, 20000 do
    kv.struct("S" .. i) { a = "S" .. i % 20000 + 1 .. "?" }
  end
end)
annotating("8,000 names that are defined later", function()
  for i = 1, 8000 do kv.struct("S" .. i) { a = "S" .. i + 1 .. "?" } end
end)
annotating("a chain of 8,000 types", function()
  local inner = kv.int
  for i = 1, 8000 do inner = kv.struct("S" .. i) { a = inner } end
end)
annotating("30,000 types", function()
  for i = 1, 30000 do kv.struct("S" .. i) { a = kv.int } end
end)
annotating("types with errors", function()
  for i = 1, 4000 do kv.struct("S" .. i) { a = "Missing" .. i } end
end)
annotating("4,000 types that name one with an error", function()
  for i = 1, 4000 do kv.struct("S" .. i) { a = "S" .. i + 1 .. "?" } end
  kv.struct "S4001" { a = "Missing" }
end)
annotating("types that name all others", function()
  for i = 1, 400 do
    kv.struct("S" .. i) (dictionary(400, function(j)
      return "S" .. j .. "?"
    end))
  end
end)
annotating("a large default", function()
  local value = repeated(150000, 1)
  kv.struct "S" { a = kv.array_of(kv.int):default(value) }
end)
annotating("sixty types with one default of 60 MB", function()
  local field = kv.string:default(("x"):rep(60 * MEGABYTE))
  for i = 1, 60 do kv.struct("S" .. i) { a = field } end
end)
annotating("ten enums of 250,000 cases", function()
  local cases = list(250000, function(i) return "case" .. i end)
  for i = 1, 10 do kv.enum("S" .. i) (cases) end
end)
annotating("100 structs with one enum of 250,000 cases", function()
  local large = kv.enum "E" (list(250000, function(i) return "case" .. i end))
  for i = 1, 100 do kv.struct("S" .. i) { a = large } end
end)
annotating("a struct of 100,000 fields", function()
  kv.struct "S" (fields(100000))
end)
annotating("an enum of 250,000 cases", function()
  kv.enum "S" (list(250000, function(i) return "case" .. i end))
end)
annotating("converters", function()
  local inner = kv.int
  for i = 1, 4000 do
    inner = kv.struct("S" .. i) { a = inner }:convert { decode = function(x)
      return x end }
  end
end)

-- ---- Stores

local engines = { "memory", "file", "sqlite" }
local function storing(name, prepare, only)
  for _, engine in ipairs(engines) do
    if not only or only == engine then
      add(engine .. ": " .. name, function()
        local s = open_store(engine)
        return prepare(s)
      end)
    end
  end
end
local function small(count) return repeated(count, 1) end

storing("set 500,000 numbers", function(s)
  local value = small(MOST_NODES - 100)
  return function() return s:set("a", value) end
end)
storing("set 250,000 keys", function(s)
  local value = dictionary(250000, one)
  return function() return s:set("a", value) end
end)
storing("set 60 MB", function(s)
  local value = ("x"):rep(60 * MEGABYTE)
  return function() return s:set("a", value) end
end)
storing("replace 60 MB", function(s)
  s:set("a", ("x"):rep(60 * MEGABYTE))
  local value = ("y"):rep(60 * MEGABYTE)
  return function() return s:set("a", value) end
end)
storing("sync 500,000 numbers", function(s)
  s:set("a", small(MOST_NODES - 100))
  return function() return s:sync() end
end)
storing("sync 60 MB", function(s)
  s:set("a", ("x"):rep(60 * MEGABYTE))
  return function() return s:sync() end
end)
storing("sync 150,000 keys", function(s)
  for i = 1, 150000 do s:set("key" .. i, 1) end
  return function() return s:sync() end
end)
storing("sync 20,000 changes of one list", function(s)
  s:set("a", small(20000)) s:sync()
  for i = 1, 20000 do s:set({ "a", i }, 2) end
  return function() return s:sync() end
end)
storing("sync 3,000 removals from a list", function(s)
  s:set("a", small(3000)) s:sync()
  for _ = 1, 3000 do s:remove { "a", 1 } end
  return function() return s:sync() end
end)
storing("sync 3,000 additions to a list", function(s)
  s:set("a", { 0 }) s:sync()
  for i = 1, 3000 do s:set({ "a", i }, i) end
  return function() return s:sync() end
end)
storing("commit 20,000 changes of one list", function(s)
  s:set("a", small(20000)) s:sync()
  return function()
    s:transaction(function(tx)
      for i = 1, 20000 do tx:set({ "a", i }, 2) end
    end)
  end
end)
storing("commit 20,000 additions to a list", function(s)
  s:set("a", { 0 }) s:sync()
  return function()
    s:transaction(function(tx)
      for i = 2, 20000 do tx:set({ "a", i }, i) end
    end)
  end
end)
storing("commit 20,000 keys", function(s)
  return function()
    s:transaction(function(tx)
      for i = 1, 20000 do tx:set("key" .. i, 2) end
    end)
  end
end)
storing("commit 20,000 changes of one dictionary", function(s)
  s:set("a", dictionary(20000, one)) s:sync()
  return function()
    s:transaction(function(tx)
      for i = 1, 20000 do tx:set({ "a", "key" .. i }, 2) end
    end)
  end
end)
storing("change one of 500,000", function(s)
  s:set("a", small(MOST_NODES - 100)) s:sync()
  return function() return s:set({ "a", 7 }, 8) end
end)
storing("remove the first of 500,000", function(s)
  s:set("a", small(MOST_NODES - 100)) s:sync()
  return function() return s:remove { "a", 1 } end
end)
storing("get 500,000 numbers", function(s)
  s:set("a", small(MOST_NODES - 100))
  return function() return s:get "a" end
end)
storing("get 250,000 keys", function(s)
  s:set("a", dictionary(250000, one))
  return function() return s:get "a" end
end)
storing("get by a type with defaults", function(s)
  local S = kv.struct "S" { a = kv.int:default(1), b = kv.int:default(2) }
  s:set("a", repeated(100000, { c = 1 }))
  local many = kv.array_of(S)
  return function() return s:get("a", many) end
end, "memory")
storing("keys", function(s)
  s:set({}, dictionary(250000, one))
  return function() return s:keys() end
end)
storing("set all 250,000 keys again", function(s)
  s:set({}, dictionary(250000, one)) s:sync()
  local value = dictionary(250000, function() return 2 end)
  return function() return s:set({}, value) end
end)
storing("sync 150,000 keys, set again", function(s)
  s:set({}, dictionary(150000, one)) s:sync()
  for i = 1, 150000 do s:set("key" .. i, 2) end
  return function() return s:sync() end
end)
storing("import 250,000 keys over 16 MB", function(s)
  s:set("a", ("x"):rep(16 * MEGABYTE)) s:sync()
  local text = "{" .. joined(250000, function(i)
    return '"' .. i .. '":1'
  end, ",") .. "}"
  return function() return s:import(text) end
end)
storing("sync 100,000 keys beside 50 MB", function(s)
  s:set("z", ("x"):rep(50 * MEGABYTE)) s:sync()
  for i = 1, 100000 do s:set("key" .. i, 1) end
  s:set("z", ("y"):rep(50 * MEGABYTE))
  return function() return s:sync() end
end)
storing("sync 100,000 keys beside one of 16 KB", function(s)
  s:set(("z"):rep(16384), 1) s:sync()
  for i = 1, 100000 do s:set("key" .. i, 1) end
  return function() return s:sync() end
end)
storing("remove 250,000 keys", function(s)
  s:set({}, dictionary(250000, one))
  return function() return s:remove {} end
end)
storing("register 500,000 numbers", function(s)
  local value = { a = small(MOST_NODES - 100) }
  return function() return s:register(value) end
end)
storing("get over registered defaults", function(s)
  s:register(dictionary(250000, one))
  s:set({}, dictionary(250000, one, "other"))
  return function() return s:get {} end
end)
storing("keys over registered defaults", function(s)
  s:register(dictionary(250000, one))
  s:set({}, dictionary(250000, one, "other"))
  return function() return s:keys() end
end)
for _, format in ipairs(formats) do
  storing("export 250,000 keys as " .. format, function(s)
    s:set({}, dictionary(250000, one))
    return function() return s:export { format = format } end
  end)
  storing("export 60 MB as " .. format, function(s)
    s:set("a", ("x"):rep(60 * MEGABYTE))
    return function() return s:export { format = format } end
  end)
end
storing("import 16 MB", function(s)
  local text = fill('{"a":"', "x", '"}')
  return function() return s:import(text) end
end)
storing("import 250,000 keys", function(s)
  local text = "{" .. joined(250000, function(i)
    return '"' .. i .. '":1'
  end, ",") .. "}"
  return function() return s:import(text) end
end)
storing("copy to another", function(s)
  s:set({}, dictionary(250000, one))
  local other = open_store "memory"
  return function() return s:copy_to(other) end
end)
storing("compare and set", function(s)
  s:set("a", small(half(MOST_NODES)))
  local value, generation = small(half(MOST_NODES)), s:generation()
  return function() return s:compare_and_set("a", value, generation) end
end)
storing("update 500,000 numbers", function(s)
  s:set("a", small(MOST_NODES - 100))
  return function()
    return s:update("a", function(value) value[1] = 2 end)
  end
end)
storing("migrate far", function(s)
  local steps = { [500000] = function() end }
  return function() return s:migrate(steps) end
end)
storing("migrate an archive", function(s)
  local objects = { "$null", { ["$class"] = uid(2), ["NS.objects"] =
    list(150000, function(i) return uid(i + 2) end) }, array_class }
  for _ = 1, 150000 do objects[#objects + 1] = 1 end
  s:set("a", kv.data(kv.encode(archive(objects), nil, { format = "binary" })))
  local type = kv.array_of(kv.int)
  return function() return s:migrate_archive("a", type) end
end)
storing("a layer", function(s)
  s:set({}, dictionary(250000, one))
  return function() return s:layer "application" end
end)
storing("a long key that is absent", function(s)
  local long = ("k"):rep(LONG)
  return function() return s:get(long) end
end)
storing("a path of 500 keys", function(s)
  local path = repeated(500, ("k"):rep(1000))
  return function() return s:set(path, 1) end
end)
storing("a path of 500 keys that does not fit", function(s)
  s:set("a", 1)
  local path = repeated(500, ("k"):rep(1000))
  path[1] = "a"
  return function() return s:set(path, 1) end
end)
storing("a path too long", function(s)
  local path = repeated(10000000, "k")
  return function() return s:get(path) end
end)
storing("a text of digits as a number", function(s)
  s:set("a", ("1"):rep(LONG))
  return function() return s:integer_for_key "a" end
end)
storing("a text of digits as a double", function(s)
  s:set("a", ("1"):rep(LONG))
  return function() return s:double_for_key "a" end
end)
storing("a long text as a boolean", function(s)
  s:set("a", (" "):rep(LONG))
  return function() return s:bool_for_key "a" end
end)
storing("a large list as a text", function(s)
  s:set("a", small(MOST_NODES - 100))
  return function() return s:string_for_key "a" end
end)
storing("a method with a long name", function(s)
  local long = ("k"):rep(LONG)
  return function() return s[long] end
end, "memory")
storing("an option with a long name", function(s)
  local options = { [("k"):rep(LONG)] = 1 }
  return function() return s:export(options) end
end, "memory")
storing("many options", function(s)
  local options = dictionary(500000, one)
  return function() return s:export(options) end
end, "memory")

-- Typed sets that keep what the type does not know

local function keeping(name, count, old, new, make_type)
  storing("a typed set over " .. name, function(s)
    local type = make_type()
    s:set("a", list(count, old))
    local value = list(count, new)
    s:get("a", type)
    return function() return s:set("a", value, type) end
  end, "memory")
end
local function known(i) return { a = i } end
local function struct() return kv.array_of(kv.struct "S" { a = kv.int }) end
keeping("100,000 with unknown keys", 100000,
  function(i) return { a = i, b = i } end, known, struct)
keeping("100,000 equal ones with unknown keys", 100000,
  function(i)
    return { a = 1, b = i }
  end, function() return { a = 1 } end, struct)
keeping("100,000 in another order", 100000,
  function(i) return { a = i, b = i } end,
  function(i) return { a = 200001 - i } end, struct)
keeping("100,000 of which none is alike", 100000,
  function(i) return { a = i, b = i } end,
  function(i) return { a = -i } end, struct)
keeping("100,000 in pairs", 100000,
  function(i) return { a = half(i), b = i } end,
  function(i) return { a = (i * 7919) % 100000 } end, struct)
keeping("20,000 of ten kinds, moved", 100000,
  function(i) return { a = i % 10, b = i } end,
  function(i) return { a = (i * 7) % 11 } end, struct)
keeping("70,000 with identities", 70000,
  function(i) return { id = i, a = i, b = i } end,
  function(i) return { id = 70001 - i, a = i } end, function()
    return kv.array_of(kv.struct "S" { id = kv.int, a = kv.int })
  end)
keeping("400 lists of 250", 400,
  function(i)
    return { l = list(250, function(j) return { a = j, b = i } end) }
  end,
  function()
    return { l = list(250, function(j) return { a = 501 - j } end) }
  end, function()
    return kv.array_of(kv.struct "T" {
      l = kv.array_of(kv.struct "S" { a = kv.int }) })
  end)
storing("a typed set over lists in lists", function(s)
  local type = kv.array_of(kv.struct "S" { a = kv.int })
  for _ = 1, 50 do type = kv.array_of(type) end
  local function value(first)
    return nested(50, list(20000, function(i)
      return { a = first + i, b = first > 0 and i or nil }
    end))
  end
  s:set("a", value(1))
  local new = value(0)
  return function() return s:set("a", new, type) end
end, "memory")
storing("a typed set with many structs in the type", function(s)
  local known_fields = { a = kv.int }
  for i = 1, 2000 do
    known_fields["f" .. i] = kv.struct("T" .. i) { a = kv.int }:optional()
  end
  local type = kv.array_of(kv.struct "S" (known_fields))
  s:set("a", list(20000, function(i) return { a = i, b = i } end))
  local new = list(20000, function(i) return { a = 20001 - i } end)
  s:get("a", type)
  return function() return s:set("a", new, type) end
end, "memory")
storing("a typed set over a struct of 100,000 unknown keys", function(s)
  local S = kv.struct "S" { a = kv.int }
  s:set("a", dictionary(150000, one))
  return function() return s:set("a", { a = 1 }, S) end
end, "memory")
storing("a typed set over a dictionary of structs", function(s)
  local type = kv.dictionary_of(kv.struct "S" { a = kv.int })
  s:set("a", dictionary(75000, function(i) return { a = i, b = i } end))
  local value = dictionary(75000, function(i) return { a = -i } end)
  return function() return s:set("a", value, type) end
end, "memory")

-- ---- Watches

local function watching(name, prepare)
  storing("pump " .. name, function(s)
    prepare(s)
    return function() return kv.pump() end
  end, "memory")
  attacks[#attacks].is_pump = true
end
local function nothing() end
local function watch_all(s, count, path, options)
  for _ = 1, count do s:watch(path, nothing, options) end
end
local below = { subtree = true }
watching("a subtree of 250,000 keys", function(s)
  s:set("a", dictionary(250000, one))
  s:watch("a", nothing, below)
  s:set("a", dictionary(250000, function() return 2 end))
end)
watching("64 watches of 500,000 numbers", function(s)
  s:set("a", small(MOST_NODES - 100))
  watch_all(s, 64, "a")
  s:set({ "a", 1 }, 2)
end)
watching("64 watches of 250,000 keys", function(s)
  s:set("a", dictionary(250000, one))
  watch_all(s, 64, "a", below)
  s:set("a", dictionary(250000, function() return 2 end))
end)
watching("64 watches of 60 MB", function(s)
  s:set("a", ("x"):rep(60 * MEGABYTE))
  watch_all(s, 64, "a")
  s:set("a", ("y"):rep(60 * MEGABYTE))
end)
watching("64 watches of a part of 30 MB", function(s)
  local function value(letter)
    return { b = letter:rep(29 * MEGABYTE), c = ("z"):rep(30 * MEGABYTE) }
  end
  s:set("a", value "x")
  watch_all(s, 64, { "a", "b" })
  s:set("a", value "y")
end)
watching("64 watches inside one another", function(s)
  local function value(letter)
    local inner = letter:rep(50 * MEGABYTE)
    for _ = 1, 64 do inner = { k = inner } end
    return inner
  end
  s:set("a", value "x")
  for i = 1, 64 do
    local path = repeated(i, "k")
    table.insert(path, 1, "a")
    s:watch(path, nothing)
  end
  s:set("a", value "y")
end)
watching("64 watches of everything", function(s)
  s:set({}, dictionary(250000, one))
  watch_all(s, 64, {})
  s:set({}, dictionary(250000, function() return 2 end))
end)
watching("64 watches of deep subtrees", function(s)
  local function deep(n)
    local value = dictionary(1000, function() return n end)
    for _ = 1, 400 do value = { k = value } end
    return value
  end
  s:set("a", deep(1))
  watch_all(s, 64, "a", below)
  s:set("a", deep(2))
end)
watching("300 changes of 500,000 numbers", function(s)
  s:set("a", small(MOST_NODES - 100))
  s:watch("a", nothing)
  for i = 1, 300 do s:set({ "a", i }, 2) kv.fd() end
end)
storing("set before 64 watches", function(s)
  s:set("a", dictionary(250000, one))
  watch_all(s, 64, "a", below)
  local value = dictionary(250000, function() return 2 end)
  return function() return s:set("a", value) end
end, "memory")

return attacks
