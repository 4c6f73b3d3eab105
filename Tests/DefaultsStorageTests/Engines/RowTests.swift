import Foundation
import PropertyLists
import Testing

@testable import DefaultsStorage

/// The rows of a database, each a binary property list.
@Suite struct RowTests {
    private static let values: [any Sendable] = [
        true, false, 0, 1, 255, 256, 65_535, 65_536, 1 << 40, -1, Int.min, Int.max, 0.5, -Double.infinity, "", "a",
        String(repeating: "x", count: 14), String(repeating: "x", count: 15), String(repeating: "x", count: 200),
        Data(), Data([0, 1, 255]), Data(repeating: 7, count: 200),
        "ü", Date(timeIntervalSinceReferenceDate: 1), UInt64.max, [1], [String: Int](), ["a": "b"], [true, false],
        String(repeating: "x", count: 70_000), Data(repeating: 7, count: 300),
    ]

    @Test("a database reads back every kind of value")
    func database() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("a.sqlite")
        let all = try PropertyList(
            any: Dictionary(uniqueKeysWithValues: Self.values.enumerated().map { ("k\($0)", $1) }))
        let first = try DefaultsStore.open(path: file)
        try first.set(all, at: [])
        try first.close()
        let second = try DefaultsStore.open(path: file, options: options { $0.isReadOnly = true })
        #expect(try second.snapshot() == all)
    }

    @Test("a key of a row has a bound, which its values' own keys and files do not have")
    func longKeys() throws {
        let folder = try TemporaryFolder()
        let database = try DefaultsStore.open(path: folder.file("a.sqlite"))
        let (longest, longer) = (String(repeating: "k", count: 16384), String(repeating: "k", count: 16385))
        try database.set(list(1), forKey: longest)
        try database.set(1, at: ["a", .key(longer)])
        let expected = DefaultsError(
            .limitExceeded, expected: "a key of at most 16384 bytes", found: "one of 16385", at: [.key(longer)])
        for change in [
            { try database.set(list(1), forKey: longer) }, { try database.set(1, at: [.key(longer), "a"]) },
            { try database.set(["b": 1, .init(longer): 1], at: []) },
        ] as [() throws -> Void] {
            #expect(throws: expected) { try change() }
        }
        try database.sync()
        #expect(Set(try database.keys()) == ["a", longest])
        let file = try DefaultsStore.open(path: folder.file("a.plist"))
        try file.set(list(1), forKey: longer)
        try file.sync()
    }

    @Test("a parameter that SQLite does not take is an error, and not a NULL")
    func parameters() throws {
        let folder = try TemporaryFolder()
        try folder.write("", to: "a.sqlite")
        let connection = try SQLiteConnection(folder.file("a.sqlite"), isReadOnly: false)
        defer { connection.close() }
        let statement = try connection.statement("SELECT ?1")
        let bytes: [UInt8] = [1]
        #expect(throws: DefaultsError.self) { try connection.bind(statement, 2, integer: 1) }
        try bytes.withUnsafeBufferPointer { text in
            #expect(throws: DefaultsError.self) { try connection.bind(statement, 2, text: text) }
            #expect(throws: DefaultsError.self) {
                try connection.bind(statement, 2, blob: UnsafeRawBufferPointer(text))
            }
            try connection.bind(statement, 1, text: text)
        }
    }

    @Test("a row that the database refuses fails the commit, of which nothing is stored then")
    func refusedRow() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.sqlite")
        let store = try DefaultsStore.open(path: path, options: options { $0.durability = .manual })
        try folder.execute(
            """
            CREATE TRIGGER refusing BEFORE INSERT ON defaults WHEN NEW.key = 'b' BEGIN SELECT RAISE(ABORT, 'no'); END
            """, in: "a.sqlite")
        for key in ["a", "b", "c"] { try store.set(list(1), forKey: key) }
        #expect(throws: DefaultsError(.io, "SQLite: no", file: path)) { try store.sync() }
        // It would not be taken if there were one.
        try folder.execute("BEGIN; INSERT INTO defaults VALUES('a', NULL, 0); ROLLBACK", in: "a.sqlite")
        try folder.execute("DROP TRIGGER refusing", in: "a.sqlite")
        try store.sync()
        try store.close()
        #expect(try DefaultsStore.open(path: path).snapshot() == list(["a": 1, "b": 1, "c": 1]))
    }

    @Test("a query that fails on its way is an error, with what the system said")
    func failures() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.sqlite")
        try folder.write("", to: "a.sqlite")
        let connection = try SQLiteConnection(path, isReadOnly: false)
        defer { connection.close() }
        let overflow = "SELECT abs(-9223372036854775807 - 1)"
        let expected = DefaultsError(.io, "SQLite: integer overflow", file: path)
        #expect(throws: expected) { try connection.integer(overflow) }
        let missing = folder.file("none/a.sqlite")
        let error = DefaultsError(
            .io, "SQLite: No such file or directory (unable to open database file)", file: missing, errno: ENOENT)
        #expect(throws: error) { try SQLiteConnection(missing, isReadOnly: false) }
    }

    @Test("the path of a copy that cannot be made is for those alone who may know it")
    func copies() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.sqlite")
        try folder.write("", to: "a.sqlite")
        let connection = try SQLiteConnection(path, isReadOnly: true)
        defer { connection.close() }
        let copy = folder.file("none/it's.sqlite")
        let error = try #require(throws: DefaultsError.self) { try connection.copy(to: copy) }
        let known = "SQLite: No such file or directory"
        #expect(error.description == "\(known) (unable to open database: \(copy)) (\(path))")
        #expect(error.withoutFile().description == "\(known) (the store)")
    }

    /// A child's engine keeps the parent's connection and never closes it, so that a search for leaks would find it.
    private static let child = Box<SQLiteEngine?>(nil)

    @Test("a child that was forked in the middle of a transaction does not look at the database either")
    func inherited() throws {
        let folder = try TemporaryFolder()
        let engine = try SQLiteEngine(
            try StoreFolder.open(folder.file("a.sqlite")), format: .binary, EngineOptions(limits: options().limits))
        let deadline = Deadline.after(.seconds(5))
        _ = try engine.refresh(over: { emptyDictionary }, until: deadline)
        _ = try engine.lock(until: deadline)
        engine.resetAfterFork()
        Self.child.change { $0 = engine }
        let expected = DefaultsError(
            .unavailable, "The process was forked in the middle of a transaction", file: folder.file("a.sqlite"))
        #expect(throws: expected) { _ = try engine.refresh(over: { emptyDictionary }, until: deadline) }
        #expect(throws: expected) { _ = try engine.lock(until: deadline) }
    }

    @Test("a copy for a migration that fails on its way leaves nothing that could be taken for one")
    func failedCopy() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.sqlite")
        let store = try DefaultsStore.open(path: path)
        // A table of another program's, the last page of which is damaged.
        try folder.execute(
            """
            CREATE TABLE other AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
            SELECT randomblob(3000) FROM n;
            PRAGMA wal_checkpoint(TRUNCATE)
            """, in: "a.sqlite")
        let handle = try #require(FileHandle(forUpdatingAtPath: path))
        try handle.seek(toOffset: try handle.seekToEnd() - 4096)
        try handle.write(contentsOf: Data(repeating: 0xFF, count: 4096))
        try handle.close()
        try folder.write("older", to: "a.sqlite.v0")
        let transaction = try store.beginTransaction()
        let expected = DefaultsError(.corrupt, "SQLite: database disk image is malformed", file: path)
        _ = try transaction.beginMigration(to: 1)
        #expect(throws: expected) { try transaction.commit() }
        #expect(try folder.names().filter { $0.contains(".v0") } == ["a.sqlite.v0"])
        #expect(try folder.text(of: "a.sqlite.v0") == "older")
    }

    @Test("a copy for a migration is made anew where a killed process left half of one")
    func copyAfterKill() throws {
        let folder = try TemporaryFolder()
        let store = try DefaultsStore.open(path: folder.file("a.sqlite"))
        try store.set(list(1), at: ["a"])
        try store.sync()
        try folder.write("half", to: ".a.sqlite.v0.tmp")
        try store.transaction { _ = try $0.beginMigration(to: 1) }
        #expect(try folder.names().filter { $0.contains(".v0") } == ["a.sqlite.v0"])
        #expect(try folder.mode(of: "a.sqlite.v0") == 0o600)
        let kept = try DefaultsStore.open(path: folder.file("a.sqlite.v0"), options: options { $0.engine = .sqlite })
        #expect(try kept.snapshot() == list(["a": 1]))
    }

    // proves: G70
    @Test(
        "a database with a view or a trigger is refused",
        arguments: [
            "CREATE VIEW v AS SELECT 1", "CREATE TRIGGER t AFTER INSERT ON defaults BEGIN DELETE FROM defaults; END",
        ])
    func crafted(statement: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.sqlite")
        try DefaultsStore.open(path: path).set(list(1), at: ["a"])
        try folder.execute(statement, in: "a.sqlite")
        let error = #expect(throws: DefaultsError.self) { try DefaultsStore.open(path: path) }
        #expect(error?.code == .invalidValue)
        #expect(error?.message == "The database has a view or a trigger, which no store has")
    }

    @Test("a database with larger rows than may be read is not loaded; a file that is larger than its rows is")
    func tooLarge() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.sqlite")
        let most = 20_000
        func load() throws {
            let limits = StoreLimits(bytes: most - StoreLimits(bytes: 0, nodes: 0).readableFile, nodes: 1000)
            let engine = try SQLiteEngine(
                try StoreFolder.open(path), format: .binary, EngineOptions(limits: limits, isReadOnly: true))
            _ = try engine.refresh(over: { emptyDictionary }, until: .after(.seconds(5)))
        }
        let store = try DefaultsStore.open(path: path, options: options { $0.durability = .immediate })
        for key in ["a", "b", "c"] { try store.set(list(Data(repeating: 1, count: 8000)), forKey: key) }
        try folder.execute("PRAGMA wal_checkpoint(TRUNCATE)", in: "a.sqlite")
        let error = #expect(throws: DefaultsError.self) { try load() }
        #expect(error?.code == .limitExceeded)
        #expect(error?.message.hasPrefix("Expected a file of at most \(most) bytes, found 24") == true)
        _ = try store.remove(at: ["a"])
        try load()
    }
}
