import KVCodable
import KVCodableABI
import KVCodableLua
import LuaLibrary

/// A Lua state for one script, with the libraries that reach nothing outside it, and bounds for memory and time
/// (`script_limits.h`).
final class ScriptState {
    private let lua: OpaquePointer
    private let limits: UnsafeMutablePointer<script_limits>

    init(types: TypeRegistry) throws {
        limits = .allocate(capacity: 1)
        limits.initialize(to: script_limits(memory: 64 << 20, steps: 100_000_000, seconds: 3, used: 0, start: 0))
        guard let state = script_open(limits) else {
            limits.deallocate()
            throw ScriptError(message: "not enough memory")
        }
        lua = state
        lua_pushcclosure(lua, script_open_libraries, 0)
        guard lua_pcallk(lua, 0, 0, 0, 0, nil) == LUA_OK else { throw ScriptError(message: "not enough memory") }
        try openModule(types)
    }

    deinit {
        lua_close(lua)
        limits.deallocate()
    }

    private func openModule(_ types: TypeRegistry) throws {
        let registry = types.makeCHandle()
        defer { kv_registry_free(registry) }
        var options = kv_lua_options()
        options.size = MemoryLayout<kv_lua_options>.size
        options.policy = KV_LUA_NO_STORES | KV_LUA_NO_FILES
        options.registry = registry
        options.max_nodes = 100_000  // of one value
        options.max_bytes = 4 << 20
        options.max_watches = 8
        options.quota = 1 << 20  // of the file, for the script's part
        try check { kv_lua_open(lua, &options, &$0) }
        lua_setglobal(lua, "kv")
    }

    /// Gives the script a part of a store as a global.
    func give(_ store: DefaultsStore, at path: PropertyListPath, as name: String, isReadOnly: Bool = false) throws {
        let handle = store.makeCHandle()
        defer { kv_store_free(handle) }
        let flags = isReadOnly ? KV_LUA_READ_ONLY : 0
        try path.withCSteps { steps, count in
            try check { kv_lua_push_store(lua, handle, steps, count, flags, &$0) }
        }
        lua_setglobal(lua, name)
    }

    func set(_ text: String, as name: String) {
        lua_pushstring(lua, text)
        lua_setglobal(lua, name)
    }

    /// Runs a script for what it does.
    func run(_ script: String) throws {
        try call(script, results: 0)
    }

    /// Runs the script that tries to get out: how often it tried, and what led out.
    func runEscapes(_ script: String) throws -> (Int, [String]) {
        try call(script, results: 2)
        defer { lua_settop(lua, -3) }
        let escapes = (0..<lua_rawlen(lua, -1)).map { index in
            lua_rawgeti(lua, -1, lua_Integer(index) + 1)
            defer { lua_settop(lua, -2) }
            return text(at: -1)
        }
        return (Int(lua_tointegerx(lua, -2, nil)), escapes)
    }

    private func call(_ script: String, results: Int32) throws {
        guard script_load(lua, script) == LUA_OK, lua_pcallk(lua, 0, results, 0, 0, nil) == LUA_OK else {
            defer { lua_settop(lua, -2) }
            throw ScriptError(message: String(cString: script_error_text(lua)))
        }
    }

    /// The string at an index; of a number Lua would make one, which takes memory of the script's.
    private func text(at index: Int32) -> String {
        guard lua_type(lua, index) == LUA_TSTRING else { return "" }
        return lua_tolstring(lua, index, nil).map { String(cString: $0) } ?? ""
    }

    /// Throws the error that a function of the library reports.
    private func check(_ call: (inout OpaquePointer?) -> kv_status) throws {
        var error: OpaquePointer?
        guard call(&error).rawValue < 0 else { return }
        defer { kv_error_free(error) }
        throw ScriptError(message: String(cString: kv_error_message(error).data))
    }
}

struct ScriptError: Error, CustomStringConvertible {
    var message: String
    var description: String { message }
}
