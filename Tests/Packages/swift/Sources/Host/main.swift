// A host of the Lua that KVCODABLE_LUA names, for it and for the package that it depends on.
import KVCodableLua
import LuaLibrary

let state = luaL_newstate()
luaL_openlibs(state)
var options = kv_lua_options()
options.size = MemoryLayout<kv_lua_options>.size
guard kv_lua_open(state, &options, nil) == KV_OK else { fatalError("kv_lua_open") }
let script = """
    local store = assert(kv.open_file("none.plist", { engine = "memory" }))
    store:set("width", 640)
    return ("kvcodable %s in %s: %d"):format(kv._VERSION, jit and "LuaJIT" or _VERSION, store:get("width", kv.int))
    """
print(run_script(state, script).map { String(cString: $0) } ?? "nothing")
lua_close(state)
