import CKVSQLite
import DefaultsStorage
import Foundation
import PropertyLists
import Testing

/// A folder of a test's own, gone with the last reference.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let pattern = FileManager.default.temporaryDirectory.path + "/kvstore-XXXXXX"
        var bytes = Array(pattern.utf8CString)
        guard mkdtemp(&bytes) != nil else { throw CocoaError(.fileWriteUnknown) }
        path = bytes.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }

    deinit {
        try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String) -> String { path + "/" + name }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
    }

    func text(of name: String) throws -> String { try String(contentsOfFile: file(name), encoding: .utf8) }

    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

    func mode(of name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: file(name))
        return attributes[.posixPermissions] as? Int ?? -1
    }

    /// When a file was written, in nanoseconds since 1970.
    func modified(_ name: String) throws -> Int {
        var status = stat()
        guard stat(file(name), &status) == 0 else { throw CocoaError(.fileReadUnknown) }
        return status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
    }

    /// Whether another process would get the lock of a store's file at once.
    func isUnlocked(_ name: String) -> Bool {
        let descriptor = Glibc.open(file(".\(name).lock"), O_RDWR)
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }

    /// As another process holds the lock of a store's file: by a description of its own, which is given.
    func lockElsewhere(_ name: String) throws -> Int32 {
        let descriptor = Glibc.open(file(".\(name).lock"), O_RDWR | O_CREAT, 0o600)
        guard flock(descriptor, LOCK_EX) == 0 else { throw CocoaError(.fileWriteUnknown) }
        return descriptor
    }

    /// What this process has open of the folder: files by their names, the folder itself as an empty one, and what
    /// watches it as "inotify".
    func openNames() throws -> [String] {
        let watched = [path, file].compactMap { name -> String? in
            var status = stat()
            guard stat(name, &status) == 0 else { return nil }
            return "ino:\(String(status.st_ino, radix: 16)) "
        }
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { number in
            // Other tests close theirs meanwhile.
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
            if let target, target == path || target.hasPrefix(path + "/") {
                return String(target.dropFirst(path.count + 1))
            }
            guard target == "anon_inode:inotify" else { return nil }
            let facts = try? String(contentsOfFile: "/proc/self/fdinfo/\(number)", encoding: .utf8)
            return watched.contains { facts?.contains($0) == true } ? "inotify" : nil
        }
    }

    /// Makes a file look as if it had not been written for this many seconds.
    func age(_ name: String, by seconds: Double = 60) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -seconds)], ofItemAtPath: file(name))
    }

    /// Has a connection of its own to a database run a statement, as another program does.
    func execute(_ statement: String, in name: String) throws {
        try Database(file(name)).execute(statement)
    }

    // MARK: - One store

    /// Where a test that needs one store keeps it.
    var file: String { file("a.plist") }

    func open(_ durability: DefaultsDurability) throws -> DefaultsStore {
        try DefaultsStore.open(path: file, options: options { $0.durability = durability })
    }

    /// The file as another program finds it; nil for no file.
    func stored() throws -> PropertyList? {
        guard let data = FileManager.default.contents(atPath: file) else { return nil }
        return try PropertyList.parse([UInt8](data)).list
    }

    /// Writes the file as another program does.
    func write(_ content: Any, as format: PropertyListFormat = .xml) throws {
        try Data(list(content).serialized(as: format)).write(to: URL(fileURLWithPath: file))
    }
}

/// Another program's connection to a database.
final class Database: @unchecked Sendable {
    private let sqlite: csqlite_functions
    private var database: OpaquePointer?

    init(_ path: String) throws {
        sqlite = try #require(csqlite_load()).pointee
        #expect(sqlite.open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil) == SQLITE_OK)
    }

    deinit { _ = sqlite.close_v2(database) }

    func execute(_ statement: String) throws {
        #expect(sqlite.exec(database, statement, nil, nil, nil) == SQLITE_OK)
    }

    /// Calls `body` with each row of a query.
    private func run(_ query: String, _ body: (OpaquePointer) throws -> Void) throws {
        var statement: OpaquePointer?
        #expect(sqlite.prepare_v2(database, query, -1, &statement, nil) == SQLITE_OK)
        defer { _ = sqlite.finalize(statement) }
        while let statement, sqlite.step(statement) == SQLITE_ROW { try body(statement) }
    }

    func integer(_ query: String) throws -> Int64 {
        var result: Int64 = -1
        try run(query) { result = sqlite.column_int64($0, 0) }
        return result
    }

    func isWhole() throws -> Bool {
        try integer("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'") == 1
    }

    /// The store's values.
    func rows() throws -> PropertyList {
        var result: [String: PropertyList] = [:]
        try run("SELECT key, value FROM defaults WHERE value IS NOT NULL") { row in
            guard let key = sqlite.column_text(row, 0), let start = sqlite.column_blob(row, 1) else { return }
            let bytes = UnsafeRawBufferPointer(start: start, count: Int(sqlite.column_bytes(row, 1)))
            result[String(cString: key)] = try PropertyList.parse(Array(bytes)).list
        }
        var builder = PropertyListBuilder()
        try builder.beginDictionary()
        for (key, value) in result.sorted(by: { $0.key < $1.key }) {
            try builder.key(key)
            try builder.append(value)
        }
        try builder.end()
        return try builder.finish()
    }
}
