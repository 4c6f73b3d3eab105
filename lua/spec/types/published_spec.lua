local kv = require "kvcodable"
local support = require "lua.spec.support"

describe("words for people", function()
  local Theme = kv.enum "SpecWordsTheme" { "light", "dark" }:describe "Colours."
  local Window = kv.struct "SpecWordsWindow" {
    width = kv.int:describe "In pixels.":default(5),
    height = kv.int:optional():deprecated "use width",
    key = kv.string:secret():optional(),
    theme = Theme:describe "Of this window."
  }:describe "A window. On the screen.":deprecated "no windows"

  it("are in the annotations", function()
    local text = kv.annotations()
    for _, part in ipairs {
      "--- A window. On the screen.\n---@deprecated\n"
        .. "---@class (exact) SpecWordsWindow\n",
      "---@field height? integer deprecated: use width\n",
      "---@field key? string secret\n",
      "--- Of this window.\n---@field theme SpecWordsTheme\n",
      "--- In pixels.\n---@field width? integer default 5\n",
      '--- Colours.\n---@alias SpecWordsTheme "light"|"dark"\n',
    } do
      assert.truthy(text:find(part, 1, true), part .. "\n" .. text)
    end
  end)

  it("are in JSON Schemas, of the stored form", function()
    local Half = kv.struct "SpecWordsHalf" {
      volume = kv.double:convert { decode = function(v) return v * 2 end }
        :key "vol":describe "How loud.",
    }
    assert.equal('{"$defs":{"SpecWordsHalf":{"properties":{"vol":{"anyOf":['
      .. '{"type":"number"},{"additionalProperties":false,"properties":'
      .. '{"$real":{"enum":["-inf","inf","nan"]}},"required":["$real"],'
      .. '"type":"object"}],"description":"How loud.","title":"How loud."}},'
      .. '"required":["vol"],"type":"object"}},"$ref":"#/$defs/SpecWordsHalf",'
      .. '"$schema":"https://json-schema.org/draft/2020-12/schema"}',
      kv.json_schema(Half))
    assert.truthy(kv.json_schema(Window):find('"deprecated":true', 1, true))
    assert.truthy(kv.json_schema "[Int]":find('"type":"array"', 1, true))
    assert.matches("value expected", support.failure(kv.json_schema))
    assert.is_false(pcall(kv.json_schema, "Nothing of the kind"))
  end)

  it("are texts", function()
    for _, method in ipairs { "describe", "deprecated" } do
      local ok, problem = pcall(kv.int[method], kv.int, 5)
      assert.is_false(ok)
      assert.truthy(problem:find(method .. ": expected a string, found number",
        1, true))
    end
  end)
end)

describe("published types", function()
  local folder
  support.in_folder(before_each, after_each, function(given)
    folder = given
  end)

  --- What a program prints with data and configuration folders of its own.
  local function run(program)
    support.write(folder .. "/program.lua", ("package.cpath = %q\n"
      .. 'local kv = require "kvcodable"\n%s'):format(package.cpath, program))
    local variables = "XDG_DATA_HOME=%s/data XDG_DATA_DIRS=%s/other "
      .. "XDG_CONFIG_HOME=%s/config %s %s/program.lua 2>&1"
    local pipe = assert(io.popen(variables:format(folder, folder, folder,
      support.program, folder)))
    local output = pipe:read "*a"
    pipe:close()
    return output
  end

  it("are the schema of stores that ask for them", function()
    assert.equal("true\ttype_mismatch\tExpected 0...10 at volume, found 11\n",
      run [[
        local Settings = kv.struct "Settings" {
          volume = kv.int:range(0, 10):describe "How loud.",
        }
        local file = assert(kv.publish("com.example.spec", Settings))
        local text = io.open(file):read "*a"
        local store = assert(kv.open("com.example.spec",
          { schema = "published" }))
        local _, problem = pcall(store.set, store, "volume", 11)
        print(text == "root Settings\n\nstruct Settings {\n    /// How loud.\n"
          .. "    volume: Int(0...10)\n}\n", problem.code, problem)]])
  end)

  it("are of declared types and stores with a name", function()
    assert.equal("nil\tinvalid_type\nnil\tinvalid_name\n"
      .. "nil\tmisuse\tExpected a declared type to publish, found [Int]\n"
      .. "nil\tmisuse\tExpected a declared type to publish, found [[S]?]\n"
      .. "nil\tmisuse\tExpected a declared type to publish, found "
      .. "[String: Double]\n"
      .. "nil\tinvalid_type\tExpected a struct or a dictionary as a store's "
      .. "schema, found E\n",
      run [[
        local store, problem = kv.open("com.example.none",
          { schema = "published" })
        print(store, problem.code)
        local S = kv.struct "S" { x = kv.int }
        local file, wrong = kv.publish("../x", S)
        print(file, wrong.code)
        file, wrong = kv.publish("x", "[Int]")
        print(file, wrong.code, wrong)
        for _, one in ipairs { kv.array_of(kv.array_of(S):optional()),
          kv.dictionary_of(kv.double:range(0, 1)), kv.enum "E" { "a" } } do
          file, wrong = kv.publish("x", one)
          print(file, wrong.code, wrong)
        end]])
  end)
end)
