local kv = require "kvcodable"
local support = require "lua.spec.support"

describe("decode and encode", function()
  local value = { name = "main", sizes = { 1, 2.5 }, flag = true,
    when = kv.date(0), bytes = kv.data "\1\2" }

  for _, format in ipairs { "xml", "binary" } do
    it("are inverse in " .. format, function()
      local bytes = assert(kv.encode(value, nil, { format = format }))
      local back = assert(kv.decode(bytes))
      assert.equal("main", back.name)
      assert.equal(value.when, back.when)
      assert.equal(value.bytes, back.bytes)
      assert.equal("integer", support.kind(back.sizes[1]))
      assert.equal("float", support.kind(back.sizes[2]))
      assert.equal(bytes, kv.encode(back, nil, { format = format }))
    end)
  end

  it("writes XML as Apple does", function()
    assert.equal(table.concat({
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" '
        .. '"http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
      '<plist version="1.0">', "<dict>", "\t<key>a</key>",
      "\t<integer>1</integer>", "</dict>", "</plist>", "" }, "\n"),
      kv.encode { a = 1 })
  end)

  it("refuse what shared parts make too large, as the options say", function()
    -- An array of twice an array of twice a string.
    local bytes = "bplist00\162\1\1\162\2\2\084abcd\8\11\14"
      .. ("\0"):rep(6) .. "\1\1" .. ("\0"):rep(7) .. "\3" .. ("\0"):rep(15)
      .. "\19"
    local whole = { { "abcd", "abcd" }, { "abcd", "abcd" } }
    for name, enough in pairs { expanded_nodes = 7, expanded_bytes = 200 } do
      assert.same(whole, kv.decode(bytes, nil, { [name] = enough }))
      local back, problem = kv.decode(bytes, nil, { [name] = 3 })
      assert.is_nil(back)
      assert.equal("limit_exceeded", problem.code)
    end
  end)

  it("read no file that is larger than the options say", function()
    local path = os.tmpname()
    assert(kv.write(path, { a = 1 }, nil, { format = "json" }))
    assert.same({ a = 1 }, kv.read(path, nil, { file_bytes = 100 }))
    local back, problem = kv.read(path, nil, { file_bytes = 3 })
    os.remove(path)
    assert.is_nil(back)
    assert.equal("limit_exceeded", problem.code)
  end)

  it("hand the options' context to converters", function()
    local Scaled = kv.int:convert {
      decode = function(stored, context) return stored * context.scale end,
      encode = function(given, context)
        return math.floor(given / context.scale)
      end,
    }
    local options = { context = { scale = 3 }, format = "json" }
    assert.equal("4", kv.encode(12, Scaled, options))
    assert.equal(12, kv.decode("4", Scaled, options))
    -- More arguments are none of theirs.
    assert.equal(12, kv.decode("4", Scaled, options, { scale = 5 }))
    assert.is_nil((kv.decode("4", Scaled, nil, options)))
  end)

  it("return nil and an error with line and column", function()
    local back, problem = kv.decode "<plist>\n  <dict>\n<oops/></dict></plist>"
    assert.is_nil(back)
    assert.equal("malformed", problem.code)
    assert.equal(3, problem.line)
    assert.is_number(problem.column)
    assert.equal(problem.message, tostring(problem))
  end)

  it("return nil and an error with the offset in binary data", function()
    local bytes = kv.encode({ a = 1 }, nil, { format = "binary" })
    local back, problem = kv.decode(bytes:sub(1, -2))
    assert.is_nil(back)
    assert.equal("malformed", problem.code)
    assert.is_number(problem.offset)
  end)

  it("return nil and an error for what no file holds", function()
    local bytes, problem = kv.encode { { f = print } }
    assert.is_nil(bytes)
    assert.same({ 1, "f" }, problem.path)
    bytes, problem = kv.encode { a = "bell \7" }
    assert.is_nil(bytes)
    assert.same({ "a" }, problem.path)
    assert.is_string(kv.encode({ a = "bell \7" }, nil, { format = "binary" }))
  end)

  it("take a lone word for OpenStep text, unless JSON is asked for", function()
    for text, json in pairs { null = kv.null, ["true"] = true, ["12"] = 12,
      ["1.5"] = 1.5, ['"a"'] = "a" } do
      assert.equal((text:gsub('"', "")), kv.decode(text))
      assert.equal(json, kv.decode(text, nil, { format = "json" }))
    end
    assert.equal(kv.null, kv.decode "[null]"[1])
  end)

  it("raise for wrong arguments", function()
    assert.has_error(function() kv.decode(nil) end)
    assert.has_error(function() kv.encode({}, nil, { format = "yaml" }) end)
    assert.has_error(function() kv.encode({}, 5) end)
  end)
end)

describe("read and write", function()
  local folder
  support.in_folder(before_each, after_each, function(given) folder = given end)

  it("round trip a file", function()
    local path = folder .. "/shape.plist"
    assert.is_true(kv.write(path, { width = 3 }))
    assert.same({ width = 3 }, kv.read(path))
  end)

  it("check the type on the way", function()
    local Shape = kv.struct "Shape" { width = kv.int }
    local path = folder .. "/shape.plist"
    local done, problem = kv.write(path, { width = "wide" }, Shape)
    assert.is_nil(done)
    assert.equal("type_mismatch", problem.code)
    assert.is_nil(io.open(path))
    kv.write(path, { width = "wide" })
    local shape
    shape, problem = kv.read(path, Shape)
    assert.is_nil(shape)
    assert.same({ "width" }, problem.path)
  end)

  it("return nil and an error for files that are not there", function()
    local value, problem = kv.read(folder .. "/none.plist")
    assert.is_nil(value)
    assert.equal("absent", problem.code)
    value, problem = kv.write(folder .. "/none/none.plist", {})
    assert.is_nil(value)
    assert.equal("io", problem.code)
  end)
end)
