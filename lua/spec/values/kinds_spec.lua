local kv = require "kvcodable"
local support = require "lua.spec.support"

describe("kv.type", function()
  it("names the kinds of property lists", function()
    assert.equal("date", kv.type(kv.date(0)))
    assert.equal("data", kv.type(kv.data ""))
    assert.equal("uid", kv.type(kv.uid(1)))
    assert.equal("uint64", kv.type(kv.uint64 "18446744073709551615"))
    assert.equal("null", kv.type(kv.null))
    assert.equal("absent", kv.type(kv.absent))
    local large = kv.int64 "9223372036854775807"
    assert.equal(support.has_integers and "number" or "int64", kv.type(large))
    assert.equal(support.has_integers and "number" or "real",
      kv.type(kv.real(1)))
  end)

  it("tells arrays from dictionaries, as set does", function()
    for _, value in ipairs { { 1 }, { false }, kv.array(), kv.decode "[]",
      kv.decode "[1]" } do
      assert.equal("array", kv.type(value))
    end
    for _, value in ipairs { {}, { a = 1 }, kv.dictionary(),
      kv.decode '{"a": 1}', setmetatable({ a = 1 }, { __index = { 1 } }) } do
      assert.equal("dictionary", kv.type(value))
    end
  end)

  it("gives Lua's own name for the rest", function()
    for _, value in ipairs { 1, 1.5, "a", true, print, io.stdout,
      coroutine.create(function() end) } do
      assert.equal(type(value), kv.type(value))
    end
    assert.equal("nil", kv.type(nil))
    assert.equal("table", kv.type(kv.int))
    assert.has_error(function() kv.type() end)
  end)

  if jit then
    it("takes LuaJIT's integers for what they are", function()
      local ffi = require "ffi"
      assert.equal("int64", kv.type(ffi.new("int64_t", 5)))
      assert.equal("uint64", kv.type(ffi.new("uint64_t", 5)))
      assert.equal("cdata", kv.type(ffi.new("int[2]")))
    end)
  end
end)

describe("errors", function()
  it("are joined with texts, as those of io.open", function()
    local _, problem = kv.decode "<plist>"
    local text = tostring(problem)
    assert.equal("cannot open: " .. text, "cannot open: " .. problem)
    assert.equal(text .. "!", problem .. "!")
    assert.equal(text .. text, problem .. problem)
    assert.equal("1" .. text, 1 .. problem)
    for _, other in ipairs { {}, true, print } do
      assert.matches("attempt to concatenate a " .. type(other) .. " value",
        support.failure(function() return problem .. other end), 1, true)
    end
    assert.matches("attempt to concatenate a nil value",
      support.failure(function() return problem .. nil end), 1, true)
  end)

  it("have the line, the column and the file that their text has", function()
    local folder, remove = support.folder()
    local path = folder .. "/settings.json"
    support.write(path, '{"a": 1,\n "b": x}')
    local store, problem = kv.open_file(path, { settle_time = 0.01 })
    assert.is_nil(store)
    assert.equal("corrupt", problem.code)
    assert.equal(2, problem.line)
    assert.equal(7, problem.column)
    assert.matches("line 2, column 7", problem.message, 1, true)
    assert.equal(path, problem.file)
    assert.matches(path, problem.message, 1, true)
    local _, absent = kv.read(folder .. "/none.plist")
    assert.equal(folder .. "/none.plist", absent.file)
    local _, text = kv.decode '{"a": x}'
    assert.equal(1, text.line)
    assert.is_nil(text.file)
    remove()
  end)
end)
