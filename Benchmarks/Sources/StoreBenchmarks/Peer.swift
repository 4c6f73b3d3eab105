import CPeers
import Foundation
import KVCodable

/// A store of strings by key, kept in a file: the work that is measured, the same for each.
protocol Peer: AnyObject {
    static var name: String { get }
    /// Opens the file at `path`, made by an earlier instance or not there yet, and loads it.
    init(path: String) throws
    func get(_ key: String) throws -> String?
    func set(_ key: String, _ value: String) throws
    /// Returns when all sets are on disk.
    func flush() throws
    /// Runs the sets in one transaction, where there is such a thing; durable on return.
    func transaction(_ body: () throws -> Void) throws
    func close()
}

extension Peer {
    func transaction(_ body: () throws -> Void) throws {
        try body()
        try flush()
    }

    func close() {}
}

struct PeerError: Error { let text: String }

class StorePeer: Peer {
    class var name: String { "kvcodable, plist" }
    let store: DefaultsStore

    required init(path: String) throws {
        var options = DefaultsStore.Options()
        options.durability = .manual
        store = try DefaultsStore.open(path: path + Self.suffix, options: options)
    }

    class var suffix: String { ".plist" }
    func get(_ key: String) throws -> String? { try store.value(forKey: key)?.string }
    func set(_ key: String, _ value: String) throws {
        try store.set(PropertyList(any: value), forKey: key)
    }
    func flush() throws { try store.sync() }
    func transaction(_ body: () throws -> Void) throws {
        let transaction = try store.beginTransaction()
        try body()
        try transaction.commit()
    }
    func close() { try? store.close() }
}

final class SQLiteStorePeer: StorePeer {
    override class var name: String { "kvcodable, SQLite" }
    override class var suffix: String { ".sqlite" }
}

final class UserDefaultsPeer: Peer {
    static let name = "UserDefaults"
    let defaults: UserDefaults
    let suite: String

    /// The caller has XDG_CONFIG_HOME name the folder of `path`.
    init(path: String) throws {
        suite = "userdefaults-" + (path as NSString).lastPathComponent
        guard let defaults = UserDefaults(suiteName: suite) else { throw PeerError(text: "no suite \(suite)") }
        self.defaults = defaults
    }

    func get(_ key: String) -> String? { defaults.string(forKey: key) }
    func set(_ key: String, _ value: String) { defaults.set(value, forKey: key) }
    func flush() throws { if !defaults.synchronize() { throw PeerError(text: "synchronize") } }
}

final class KeyFilePeer: Peer {
    static let name = "GKeyFile"
    let file = g_key_file_new()
    let path: String

    init(path: String) throws {
        self.path = path + ".ini"
        if access(self.path, F_OK) == 0, g_key_file_load_from_file(file, self.path, G_KEY_FILE_NONE, nil) == 0 {
            throw PeerError(text: "load")
        }
    }

    deinit { g_key_file_free(file) }

    func get(_ key: String) -> String? {
        guard let text = g_key_file_get_string(file, "group", key, nil) else { return nil }
        defer { g_free(text) }
        return String(cString: text)
    }
    func set(_ key: String, _ value: String) { g_key_file_set_string(file, "group", key, value) }
    func flush() throws { if g_key_file_save_to_file(file, path, nil) == 0 { throw PeerError(text: "save") } }
}

/// A table of key and value, WAL, synchronous FULL, prepared statements, as written by hand.
final class TablePeer: Peer {
    static let name = "SQLite table"
    private var database: OpaquePointer?
    private var select: OpaquePointer?
    private var insert: OpaquePointer?
    private var isOpen = false

    init(path: String) throws {
        guard sqlite3_open(path + ".table", &database) == SQLITE_OK else { throw PeerError(text: "open") }
        try run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
        try run("CREATE TABLE IF NOT EXISTS t(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID")
        sqlite3_prepare_v2(database, "SELECT value FROM t WHERE key=?", -1, &select, nil)
        sqlite3_prepare_v2(database, "INSERT OR REPLACE INTO t VALUES(?, ?)", -1, &insert, nil)
    }

    func run(_ text: String) throws {
        guard sqlite3_exec(database, text, nil, nil, nil) == SQLITE_OK else { throw PeerError(text: text) }
    }

    private func bind(_ statement: OpaquePointer?, _ index: Int32, _ text: String) {
        sqlite3_bind_text(statement, index, text, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    }

    func get(_ key: String) -> String? {
        bind(select, 1, key)
        defer { sqlite3_reset(select) }
        guard sqlite3_step(select) == SQLITE_ROW, let text = sqlite3_column_text(select, 0) else { return nil }
        return String(cString: text)
    }

    /// Durable at once, but for a transaction: there is no other kind of set here.
    func set(_ key: String, _ value: String) throws {
        bind(insert, 1, key)
        bind(insert, 2, value)
        defer { sqlite3_reset(insert) }
        guard sqlite3_step(insert) == SQLITE_DONE else { throw PeerError(text: "insert") }
    }

    func flush() {}

    func transaction(_ body: () throws -> Void) throws {
        try run("BEGIN IMMEDIATE")
        try body()
        try run("COMMIT")
    }

    func close() {
        sqlite3_finalize(select)
        sqlite3_finalize(insert)
        sqlite3_close(database)
    }
}
