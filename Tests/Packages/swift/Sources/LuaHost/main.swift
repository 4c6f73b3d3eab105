import KVCodable
import KVCodableABI
import KVCodableLua
import LuaLibrary

// A host in Swift with the Lua that KVCODABLE_LUA names: a script changes a Swift type, and says which Lua it runs in.
struct Window: Codable, Equatable {
    var width: Int
    var title: String?
}

var settings = DefaultsStore.Options()
settings.engine = .memory
let store = try DefaultsStore.open(path: "host", options: settings)
try store.encode(Window(width: 640), at: ["window"])
let types = TypeRegistry()
try types.register(Window.self, as: "Window", example: Window(width: 1, title: ""))

guard let lua = luaL_newstate() else { fatalError("no memory for a Lua state") }
luaL_openlibs(lua)
let registry = types.makeCHandle()
let handle = store.makeCHandle()
var options = kv_lua_options()
options.size = MemoryLayout<kv_lua_options>.size
options.policy = KV_LUA_NO_STORES | KV_LUA_NO_FILES
options.registry = registry
precondition(kv_lua_open(lua, &options, nil) == KV_OK)
lua_setfield(lua, LUA_GLOBALSINDEX, "kv")
precondition(kv_lua_push_store(lua, handle, nil, 0, 0, nil) == KV_OK)
lua_setfield(lua, LUA_GLOBALSINDEX, "store")
let script = """
    store:update("window", "Window", function(w) w.width, w.title = w.width + 1, "of " .. _VERSION end)
    local ok, problem = pcall(store.set, store, "window", { width = "wide" }, "Window")
    return (jit and jit.version or _VERSION) .. "\\n" .. tostring(problem)
    """
let outcome = luaL_loadstring(lua, script) == 0 ? lua_pcall(lua, 0, 1, 0) : -1
print(lua_tolstring(lua, -1, nil).map { String(cString: $0) } ?? "no text")
print(outcome, try store.decode(Window.self, at: ["window"]) as Any)
lua_close(lua)
kv_store_free(handle)
kv_registry_free(registry)
