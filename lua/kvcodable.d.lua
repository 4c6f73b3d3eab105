---@meta kvcodable
-- Annotations for editors (LuaLS). Every function of the module, with what it
-- takes and gives; the reference with examples is README.md. One file, long as
-- it is: editors are given one for a module.

---```lua
---local settings = assert(kv.open "com.example.app")
---settings:set("volume", 7)
---assert(settings:get "volume" == 7)
---assert(settings:close())
---```
---@class kvcodable
---@field _VERSION string
---@field null kvcodable.Null what JSON's null is read as
---@field absent kvcodable.Absent what an update gives to remove its value
---@field bool kvcodable.Type
---@field int kvcodable.Type
---@field int8 kvcodable.Type
---@field int16 kvcodable.Type
---@field int32 kvcodable.Type
---@field int64 kvcodable.Int64Type
---@field uint kvcodable.Type
---@field uint8 kvcodable.Type
---@field uint16 kvcodable.Type
---@field uint32 kvcodable.Type
---@field uint64 kvcodable.Uint64Type called with digits or an integer: a value
---@field float kvcodable.Type
---@field double kvcodable.Type
---@field decimal kvcodable.Type
---@field string kvcodable.Type
---@field data kvcodable.DataType called with bytes: a value
---@field date kvcodable.DateType called with a time: a value
---@field url kvcodable.Type
---@field uuid kvcodable.Type
---@field duration kvcodable.Type
---@field uid kvcodable.UidType called with an integer: a value
---@field any kvcodable.Type
local kv = {}

-- ---- Arguments

---A key, or the keys and indexes (from 1) on the way; `{}` is everything.
---@alias kvcodable.Path string|(string|integer)[]

---A type, or an expression such as "[String: Int]?".
---@alias kvcodable.AnyType kvcodable.Type|string

---What a property list holds: nil stands for nothing.
---@alias kvcodable.Value boolean|integer|number|string|table|kvcodable.Date|kvcodable.Data|kvcodable.Int64|kvcodable.Uint64|kvcodable.Real|kvcodable.Uid|kvcodable.Null

---@alias kvcodable.Format "any"|"xml"|"binary"|"openstep"|"json"

---```lua
---local settings = assert(kv.open_file("settings.plist", {
---  defaults = { volume = 7 }, durability = "immediate",
---}))
---assert(settings:get "volume" == 7)
---```
---@class kvcodable.OpenOptions
---@field defaults? table values for what is absent
---@field format? "any"|"xml"|"binary"|"json" of a new file: by its name
---@field durability? "coalesced"|"immediate"|"manual"
---@field synchronous? "full"|"normal" of SQLite
---@field engine? "automatic"|"file"|"sqlite"|"memory"
---@field on_corruption? "error"|"recover" about a damaged file
---@field max_bytes? integer of the store's values in memory: 256 MB
---@field max_nodes? integer values and keys: 2^24
---@field read_only? boolean
---@field timeout? number seconds to wait for somebody else's lock
---@field settle_time? number seconds that a file being written is given: 1
---@field arguments? table the arguments layer
---@field suites? string[] names of stores that are searched as well
---@field managed_file? string the administrator's file
---@field global_domain? boolean false leaves it out
---@field context? any handed to converters
---@field types? table<string, kvcodable.AnyType> what names in expressions mean
---@field schema? kvcodable.AnyType what the store's dictionary is: its values
---have these types without one at each call, and these defaults

---```lua
---local options = { format = "json", depth = 8 }
---assert(kv.decode("[1, 2]", "[Int]", options)[2] == 2)
---```
---@class kvcodable.ReadOptions
---@field format? kvcodable.Format
---@field depth? integer
---@field expanded_nodes? integer
---@field expanded_bytes? integer
---@field file_bytes? integer of a file that is read: 1 GB
---@field nulls? "keep"|"drop" of JSON
---@field context? any

---```lua
---assert(kv.write("shape.plist", { width = 2 }, nil, { format = "binary" }))
---```
---@class kvcodable.WriteOptions
---@field format? "any"|"xml"|"binary"|"json"
---@field context? any

---```lua
---local archive = {
---  ["$archiver"] = "NSKeyedArchiver", ["$version"] = 100000,
---  ["$top"] = { root = kv.uid(1) }, ["$objects"] = { "$null", "old" },
---}
---local options = { class_name_key = "class" }
---assert(kv.unarchive(archive, kv.string, options) == "old")
---```
---@class kvcodable.UnarchiveOptions: kvcodable.ReadOptions
---@field class_name_key? string keeps the classes' names under this key

---```lua
---store:set("window", { width = 640, newer = 1 })
---store:set("window", { width = 800 }, "[String: Int]", { replace = true })
---assert(store:get { "window", "newer" } == nil)
---```
---@class kvcodable.SetOptions
---@field replace? boolean drops what the type does not know

---```lua
---local ok, problem = pcall(store.set, store, "volume", "loud", kv.int)
---assert(not ok and problem.code == "type_mismatch")
---print(problem) -- Expected Int at volume, found String
---```
---@class kvcodable.Error
---@field message string
---@field code string such as "type_mismatch", "read_only", "closed"
---@field path (string|integer)[] indexes from 1
---@field line? integer of text
---@field column? integer of text
---@field offset? integer of binary data
---@field file? string that the message names
---@operator concat(string|number|kvcodable.Error): string

-- ---- Stores and files

---Opens the store NAME.plist in $XDG_CONFIG_HOME or ~/.config.
---@param name string such as "com.acme.app", or "acme/settings" in a folder
---@param options? kvcodable.OpenOptions
---@return kvcodable.Store? store
---@return kvcodable.Error? error
function kv.open(name, options) end

---The names of the stores that `kv.open` finds, sorted.
---@param options? { engine: "automatic"|"file"|"sqlite"|"memory" }
---@return string[]? names
---@return kvcodable.Error? error
function kv.stores(options) end

---The file of the store of a name, which need not be there; nil for one in
---memory.
---@param name string
---@param options? { engine: "automatic"|"file"|"sqlite"|"memory" }
---@return string? path
---@return kvcodable.Error? error
function kv.path(name, options) end

---Opens the store in a file.
---@param path string
---@param options? kvcodable.OpenOptions
---@return kvcodable.Store? store
---@return kvcodable.Error? error
function kv.open_file(path, options) end

---Reads a file whole.
---@param path string
---@param type? kvcodable.AnyType
---@param options? kvcodable.ReadOptions
---@return any value
---@return kvcodable.Error? error
function kv.read(path, type, options) end

---Writes a file, whole and at once, without the comments of the old one; a
---store opened on the file keeps them.
---@param path string
---@param value kvcodable.Value
---@param type? kvcodable.AnyType
---@param options? kvcodable.WriteOptions
---@return true? done
---@return kvcodable.Error? error
function kv.write(path, value, type, options) end

---@param bytes string a property list of any format, or JSON; a lone word or
---number is OpenStep text, unless options.format is "json"
---@param type? kvcodable.AnyType
---@param options? kvcodable.ReadOptions
---@return any value
---@return kvcodable.Error? error
function kv.decode(bytes, type, options) end

---@param value kvcodable.Value
---@param type? kvcodable.AnyType
---@param options? kvcodable.WriteOptions
---@return string? bytes
---@return kvcodable.Error? error
function kv.encode(value, type, options) end

---A change that a merge could not keep beside another one.
---```lua
---local _, conflicts = kv.merge({ size = 1 }, { size = 2 }, { size = 3 })
---assert(conflicts[1].path[1] == "size" and conflicts[1].kept == "ours")
---```
---@class kvcodable.Conflict
---@field path (string|integer)[] keys, and indexes from 1
---@field kept "ours"|"theirs" the side whose value is in the result
---@field ours? kvcodable.Value nil if this side removed the value
---@field theirs? kvcodable.Value nil if this side removed the value

---Combines the changes that two sides made to a value; nil is no value. Ours is
---the side that is saved last. Tables are merged by key, lists by element. A
---change wins over a removal; of two different changes of one value, ours wins.
---@param ancestor kvcodable.Value?
---@param ours kvcodable.Value?
---@param theirs kvcodable.Value?
---@return kvcodable.Value? merged
---@return kvcodable.Conflict[] conflicts
function kv.merge(ancestor, ours, theirs) end

---The plain value of a keyed archive, which typed reads refuse.
---@param value table|kvcodable.Data
---@param type? kvcodable.AnyType
---@param options? kvcodable.UnarchiveOptions
---@return any value
---@return kvcodable.Error? error
function kv.unarchive(value, type, options) end

---@param value any
---@return boolean
function kv.is_archive(value) end

---Calls the functions of watches whose values have changed. One call tells no
---more than about one value of the largest size: the rest waits for the next.
---@return integer calls
function kv.pump() end

---A descriptor that is readable when kv.pump may have something to tell.
---@return integer
function kv.fd() end

---Waits until there is something to tell, and pumps. Not to be had under a
---host's policy.
---@param seconds number at most
---@return integer calls 0 when the time is over, or a signal came
function kv.wait(seconds) end

---```lua
---store:set({ "window", "width" }, 640)
---store:update("window", function(window) window.title = "Main" end)
---assert(store:get("window").title == "Main")
---```
---@class kvcodable.Store
---@operator len: integer
local Store = {}

---The value, or nil when it is absent.
---@param path kvcodable.Path
---@param type? kvcodable.AnyType
---@return any value
function Store:get(path, type) end

---@param path kvcodable.Path
---@param value kvcodable.Value
---@param type? kvcodable.AnyType
---@param options? kvcodable.SetOptions
---@return integer? dropped with a type: array elements that could not be matched
function Store:set(path, value, type, options) end

---Gets, changes and sets in one transaction.
---@param path kvcodable.Path
---@param type? kvcodable.AnyType may be left out
---@param change fun(value: any): any changes it in place, or returns another,
---or kv.absent
---@param options? kvcodable.SetOptions
---@return integer? dropped
---@overload fun(self: kvcodable.Store, path: kvcodable.Path, change: fun(value: any): any): integer?
function Store:update(path, type, change, options) end

---Removes a value. A top-level key shows lower layers again; at a path below one
---there is no value any more.
---@param path kvcodable.Path
---@return boolean existed
function Store:remove(path) end

---Whether there is a value, in any layer.
---@param path kvcodable.Path
---@return boolean
function Store:has(path) end

---Takes back what the store says of a value: lower layers, such as defaults,
---show again.
---@param path kvcodable.Path
---@return boolean existed
function Store:reset(path) end

---Moves a value of the store's own; a value at the new place is an error.
---@param from kvcodable.Path
---@param to kvcodable.Path
---@return boolean existed
function Store:rename(from, to) end

---@return string[]
function Store:keys() end

---The keys, each with its value, for `for`; of a handle on an array the elements.
---From Lua 5.2 on pairs(store) too.
---@return fun(): (string|integer)?, any
function Store:pairs() end

---The elements of an array, for `for`; from Lua 5.2 on ipairs(part) too.
---@return fun(): integer?, any
function Store:ipairs() end

---Calls the function, and closes the store whatever happens.
---@generic T
---@param body fun(store: kvcodable.Store): T
---@return T
function Store:with(body) end

---A handle rooted at a part, with the same methods.
---@param path kvcodable.Path
---@return kvcodable.Store
function Store:at(path) end

---All or nothing: an error in `body` rolls back.
---@generic T
---@param body fun(tx: kvcodable.Store): T
---@return T
function Store:transaction(body) end

---Runs the steps whose versions the store has not seen, in one transaction; again,
---ten times at most, where another program writes the file meanwhile.
---@param steps (fun(tx: kvcodable.Store))[] the keys are versions, from 1
---@return boolean migrated
function Store:migrate(steps) end

---The version of what is stored, 0 at first.
---@return integer
function Store:version() end

---@param defaults table values for what is absent
function Store:register(defaults) end

---Returns when everything that was set is on disk; an error inside a transaction, whose end is what writes.
---@return true? done
---@return kvcodable.Error? error
function Store:sync() end

---@return true? done
---@return kvcodable.Error? error
function Store:close() end

---A watch of `{}` is told of each key, and one of a subtree of each place that
---differs, always a table; where these are more than one value may hold, of its
---own path, once, with the whole values. Of everything there is no old one then.
---@param path kvcodable.Path
---@param told fun(place: kvcodable.Path, new: any, old: any) called by kv.pump
---@param options? { subtree?: boolean }
---@return kvcodable.Watch
function Store:watch(path, told, options) end

---@param told fun(kind: string, message: string) called by kv.pump
---@return kvcodable.Watch
function Store:events(told) end

---@alias kvcodable.Layer "managed"|"arguments"|"application"|"suite"|"administrator"|"global"|"registered"|"schema"

---@param name kvcodable.Layer
---@param index? integer of a suite, from 1
---@return table
function Store:layer(name, index) end

---The path of the store's file: nil for one in memory, and nil and an error
---where the host of the script does not tell it.
---@return string? path
---@return kvcodable.Error? error
function Store:file() end

---Where a value comes from.
---
---```lua
---local store = assert(kv.open_file("origin.plist", { defaults = { volume = 7 } }))
---assert(store:origin("volume").layer == "registered")
---store:set("volume", 3)
---local origin = store:origin "volume"
---assert(origin.layer == "application" and origin.file == store:file())
---store:close()
---```
---@class kvcodable.Origin
---@field layer kvcodable.Layer that it is read from
---@field file? string the layer's file, where it has one and the host tells it
---@field suite? integer of a suite, from 1

---Where the value at a path comes from: nil where there is none, and for `{}`.
---A default of the schema is of "schema", also inside of what a file has.
---@param path kvcodable.Path
---@return kvcodable.Origin? origin
function Store:origin(path) end

---Whether the administrator has locked the value at a path.
---@param path kvcodable.Path
---@return boolean forced
function Store:is_forced(path) end

---@param key string
---@return boolean
function Store:bool_for_key(key) end

---@param key string
---@return integer
function Store:integer_for_key(key) end

---@param key string
---@return number
function Store:double_for_key(key) end

---@param key string
---@return string?
function Store:string_for_key(key) end

---@param options? { format?: "xml"|"binary"|"json" }
---@return string bytes
function Store:export(options) end

---@param bytes string
---@param options? { format?: kvcodable.Format, nulls?: "refuse"|"drop" }
function Store:import(bytes, options) end

---@param other kvcodable.Store
function Store:copy_to(other) end

---@return integer
function Store:generation() end

---@param path kvcodable.Path
---@param value kvcodable.Value
---@param generation integer
---@return boolean done false where something has changed since
function Store:compare_and_set(path, value, generation) end

---@param path kvcodable.Path
---@param type kvcodable.AnyType
---@param options? { keep?: boolean }
---@return boolean migrated
function Store:migrate_archive(path, type, options) end

---```lua
---local watch = store:watch("volume", function(_, new) print(new) end)
---store:set("volume", 8)
---assert(kv.pump() == 1) -- prints 8
---watch:cancel()
---```
---@class kvcodable.Watch
local Watch = {}

function Watch:cancel() end

-- ---- Types

---```lua
---local Window = kv.struct "Window" {
---  width = kv.int:range(1, 16384), title = kv.string:optional(),
---}
---store:set("window", { width = 640 }, Window)
---```
---@class kvcodable.Type
local Type = {}

---@param low? number|string no bound where it is nil; a text is a whole range
---@param high? number included; no bound where it is nil
---@return kvcodable.Type
function Type:range(low, high) end

---@param low? integer|string no bound where it is nil; a text is a whole range
---@param high? number included; `low` where it is not given
---@return kvcodable.Type
function Type:length(low, high) end

---@return kvcodable.Type
function Type:optional() end

---What get gives where nothing is stored, and where a converter decodes to nil:
---it passes the converters as what is stored does.
---@param value kvcodable.Value as it is stored
---@return kvcodable.Type
function Type:default(value) end

---@param key string
---@return kvcodable.Type
function Type:key(key) end

---A field that is never stored: it may hold anything.
---@return kvcodable.Type
function Type:transient() end

---What it means, for editors, tools and documentation; the first sentence is its
---title. A struct or enum that has none has it itself, else it is the field's.
---@param text string
---@return kvcodable.Type
function Type:describe(text) end

---@param text string what to use instead
---@return kvcodable.Type
function Type:deprecated(text) end

---A value that tools never show. The file holds it as it is.
---@return kvcodable.Type
function Type:secret() end

---```lua
---local percent = kv.double:convert {
---  decode = function(stored) return stored * 100 end,
---  encode = function(value) return value / 100 end,
---}
---store:set("scale", 50, percent)
---assert(store:get "scale" == 0.5 and store:get("scale", percent) == 50)
---```
---@class kvcodable.Converters
---@field decode? fun(stored: any, context: any): any
---@field encode? fun(value: any, context: any): any

---Decoding to nil gives the default, itself decoded, and nil where there is none;
---encoding to nil leaves the key out. In an array either is kv.null.
---@param functions kvcodable.Converters
---@return kvcodable.Type
function Type:convert(functions) end

---```lua
---store:set("opened", kv.date "2026-11-21T08:00:00Z")
---assert(store:get("opened", kv.date) > kv.date(0))
---```
---@class kvcodable.DateType: kvcodable.Type
---@overload fun(time: number|string): kvcodable.Date

---```lua
---store:set("icon", kv.data "\137PNG")
---assert(#store:get("icon", kv.data) == 4)
---```
---@class kvcodable.DataType: kvcodable.Type
---@overload fun(bytes: string): kvcodable.Data

---```lua
---store:set("id", kv.uint64 "18446744073709551615")
---assert(tostring(store:get("id", kv.uint64)) == "18446744073709551615")
---```
---@class kvcodable.Uint64Type: kvcodable.Type
---@overload fun(value: integer|string): kvcodable.Uint64

---```lua
---store:set("size", kv.int64 "9007199254740993")
---assert(tostring(store:get "size") == "9007199254740993")
---```
---@class kvcodable.Int64Type: kvcodable.Type
---@overload fun(value: integer|string): integer|kvcodable.Int64

---```lua
---local archive = { ["$top"] = { root = kv.uid(1) } }
---assert(kv.encode(archive, nil, { format = "binary" }))
---```
---@class kvcodable.UidType: kvcodable.Type
---@overload fun(value: integer): kvcodable.Uid

---@param element kvcodable.AnyType
---@return kvcodable.Type
function kv.array_of(element) end

---@param value kvcodable.AnyType
---@return kvcodable.Type
function kv.dictionary_of(value) end

---@param name string
---@return fun(fields: table<string, kvcodable.AnyType>): kvcodable.Type
function kv.struct(name) end

---Raw values, by their names or in a list; or cases with tables of associated
---values.
---@param name string
---@return fun(cases: table): kvcodable.Type
function kv.enum(name) end

---The structs and enums of a text in the type language, by their names.
---@param text string
---@return table<string, kvcodable.Type>
function kv.declare(text) end

---The same of a file: one for programs in C and Swift and for scripts.
---@param path string
---@return table<string, kvcodable.Type>? types
---@return kvcodable.Error? error
function kv.types_from(path) end

---What the types of this state and its host are to the language server: a file
---that begins with `---@meta`, with a comment for a type that is wrong.
---@return string
function kv.annotations() end

---The JSON Schema (2020-12) of what a file holds for the type, as JSON.
---@param type kvcodable.AnyType
---@return string
function kv.json_schema(type) end

---Publishes a declared type as that of a store, for tools and scripts.
---@param name string the store's
---@param type kvcodable.AnyType
---@return string? file
---@return kvcodable.Error? error
function kv.publish(name, type) end

-- ---- Values

---A number that is a real, also where it is whole and Lua has no integers.
---@param value number
---@return number|kvcodable.Real
function kv.real(value) end

---Tags a table as an array, so that it is one when it is empty.
---@param values? any[]
---@return any[]
function kv.array(values) end

---Tags a table as a dictionary.
---@param values? table<string, any>
---@return table<string, any>
function kv.dictionary(values) end

---@param value any
---@return boolean
function kv.is_array(value) end

---The kind of a value: what it is in a property list, or what Lua's type gives.
---@param value any
---@return "date"|"data"|"int64"|"uint64"|"real"|"uid"|"null"|"absent"|"array"|"dictionary"|type
function kv.type(value) end

---A date, compared by `==`, `<` and `<=`.
---```lua
---local opened = kv.date "2026-11-21T08:00:00Z"
---assert(os.date("!%H:%M", opened:unix()) == "08:00")
---```
---@class kvcodable.Date
local Date = {}

---@return number seconds since 1970
function Date:unix() end

---```lua
---local data = kv.data "ab" .. "c"
---assert(#data == 3 and data:bytes() == "abc")
---```
---@class kvcodable.Data
---@operator len: integer
---@operator concat(kvcodable.Data|string): kvcodable.Data
local Data = {}

---@return string
function Data:bytes() end

---```lua
---assert(kv.uint64(7):number() == 7.0)
---```
---@class kvcodable.Uint64
local Uint64 = {}

---@return number nearest
function Uint64:number() end

---A uint64_t; in LuaJIT alone.
---@return any
function Uint64:cdata() end

---An integer where Lua has none: Lua 5.1, 5.2 and LuaJIT.
---```lua
---assert(tostring(kv.int64 "9007199254740993") == "9007199254740993")
---```
---@class kvcodable.Int64
local Int64 = {}

---@return number nearest
function Int64:number() end

---An int64_t; in LuaJIT alone.
---@return any
function Int64:cdata() end

---A real where Lua has no integers: Lua 5.1, 5.2 and LuaJIT.
---```lua
---assert(kv.encode(kv.real(1), nil, { format = "json" }) == "1.0")
---```
---@class kvcodable.Real
local Real = {}

---@return number
function Real:number() end

---```lua
---assert(kv.uid(7):value() == 7)
---```
---@class kvcodable.Uid
local Uid = {}

---@return integer
function Uid:value() end

---```lua
---assert(kv.decode("[null]", nil, { format = "json" })[1] == kv.null)
---```
---@class kvcodable.Null

---```lua
---store:update("volume", function() return kv.absent end)
---assert(not store:has "volume")
---```
---@class kvcodable.Absent

return kv
