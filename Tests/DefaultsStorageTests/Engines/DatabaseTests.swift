import Foundation
import PropertyLists
import Testing

@testable import DefaultsStorage

/// The fates of a database's file: removed, replaced, renamed with its folder, damaged, of an older version.
@Suite struct DatabaseTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var path: String { folder.file("a.sqlite") }

    private func open(
        _ durability: DefaultsDurability = .immediate, _ corruption: DefaultsStore.Options.Corruption = .error
    ) throws -> DefaultsStore {
        try DefaultsStore.open(
            path: path,
            options: options {
                $0.durability = durability
                $0.onCorruption = corruption
            })
    }

    /// Makes another database, as a restored copy is.
    private func makeOther(_ values: [String: Int]) throws -> String {
        let store = try DefaultsStore.open(path: folder.file("other.sqlite"))
        try store.set(list(values), at: [])
        try store.close()
        return folder.file("other.sqlite")
    }

    // proves: G71
    @Test("a database is in one file when the last handle on it is closed, though the handles are kept")
    func closed() throws {
        let (first, second) = (try open(), try open(.manual))
        try first.set(list(1), forKey: "a")
        try first.close()
        #expect(try folder.names().contains("a.sqlite-wal"))
        try second.set(list(2), forKey: "b")
        try second.close()
        #expect(try !folder.names().contains { $0.hasPrefix("a.sqlite-") })
        let third = try open()
        #expect(try third.snapshot() == list(["a": 1, "b": 2]))
        try third.set(list(3), forKey: "a")
        #expect(try folder.names().contains("a.sqlite-wal"))
        withExtendedLifetime((first, second)) {}
    }

    // MARK: - Inside a host

    // proves: G66
    @Test("a database that this program has open is not read as a file, which would drop SQLite's locks")
    func notReadAsFile() throws {
        let store = try open()
        try store.set(list(1), at: ["a"])
        link(path, folder.file("linked"))
        let expected = {
            DefaultsError(
                .misuse, "The file is a database that this program has open: read it through its store", file: $0)
        }
        for file in [path, folder.file("linked")] {
            #expect(throws: expected(file)) { try PropertyListFile.read(file) }
        }
        try store.close()
        let error = #expect(throws: (any Error).self) { try PropertyListFile.read(path) }
        #expect(error as? DefaultsError != expected(path))
    }

    // proves: G66
    @Test("a change is in the database though its journal was removed under the store", arguments: ["-wal", "-shm"])
    func lostJournal(end: String) throws {
        let store = try open()
        try store.set(list(1), at: ["a"])
        // As another SQLite in this process does, whose last close writes the journal back and removes it.
        try folder.execute("PRAGMA wal_checkpoint(TRUNCATE)", in: "a.sqlite")
        unlink(path + end)
        try store.set(list(2), at: ["b"])
        #expect(try Database(path).rows() == list(["a": 1, "b": 2]))
        #expect(try store.snapshot() == list(["a": 1, "b": 2]))
    }

    // MARK: - Another file of its name

    @Test(
        "what is set after the database was replaced or removed is in the one that has the name",
        arguments: [true, false])
    func replaced(isRemoved: Bool) throws {
        let store = try open()
        try store.set(list(1), at: ["a"])
        if isRemoved { unlink(path) } else { rename(try makeOther(["b": 2]), path) }
        try store.set(list(3), at: ["c"])
        let expected = try isRemoved ? list(["c": 3]) : list(["b": 2, "c": 3])
        #expect(try Database(path).rows() == expected)
        #expect(try store.snapshot() == expected)
        #expect(try Database(path).isWhole())
    }

    @Test("a database that is renamed while open takes its changes along, and a new one begins under its name")
    func renamed() throws {
        let store = try open()
        try store.set(list(1), at: ["a"])
        rename(path, folder.file("b.sqlite"))
        try store.set(list(2), at: ["b"])
        #expect(try Database(folder.file("b.sqlite")).rows() == list(["a": 1]))
        #expect(try Database(path).rows() == list(["b": 2]))
        #expect(try store.snapshot() == list(["b": 2]))
    }

    // proves: G67
    @Test("what waits is written into the database that has the name", arguments: [true, false])
    func merged(isRemoved: Bool) throws {
        let store = try open(.manual)
        try store.set(list(["x": 1]), at: ["a"])
        try store.sync()
        try store.set(list(2), at: ["a", "y"])
        try store.set(list(3), at: ["c"])
        if isRemoved { unlink(path) } else { rename(try makeOther(["b": 2]), path) }
        try store.refresh()
        #expect(try store.value(at: ["b"])?.integer == (isRemoved ? nil : 2))
        try store.sync()
        // A change wins over a removal: the value is kept whole.
        var expected: [String: Any] = ["a": ["x": 1, "y": 2], "c": 3]
        if !isRemoved { expected["b"] = 2 }
        #expect(try Database(path).rows() == list(expected))
    }

    // proves: G66
    @Test("a transaction in the middle of which the database is replaced is a conflict, and nothing of it is stored")
    func conflicts() throws {
        let store = try open(.manual)
        try store.set(list(1), at: ["a"])
        try store.sync()
        let transaction = try store.beginTransaction()
        try transaction.set(list(2), at: ["a"])
        rename(try makeOther(["b": 2]), path)
        let expected = DefaultsError(
            .conflict, "The database was replaced while it was being written", file: path)
        #expect(throws: expected) { try transaction.commit() }
        #expect(try Database(path).rows() == list(["b": 2]))
        try store.set(list(3), at: ["c"])
        try store.sync()
        #expect(try store.snapshot() == list(["b": 2, "c": 3]))
        #expect(try Database(path).rows() == list(["b": 2, "c": 3]))
    }

    // proves: G67
    @Test("a store goes with its folder where that is renamed, and leaves no journal there")
    func renamedFolder() throws {
        mkdir(folder.file("old"), 0o700)
        let store = try DefaultsStore.open(
            path: folder.file("old/a.sqlite"), options: options { $0.durability = .immediate })
        try store.set(list(1), at: ["a"])
        rename(folder.file("old"), folder.file("new"))
        try store.set(list(2), at: ["b"])
        #expect(try Database(folder.file("new/a.sqlite")).rows() == list(["a": 1, "b": 2]))
        try store.close()
        #expect(!FileManager.default.fileExists(atPath: folder.file("old")))
    }

    @Test("who only reads goes on with the database that has the name, and makes none")
    func reads() throws {
        do {
            let store = try open()
            try store.set(list(1), at: ["a"])
            try store.close()
        }
        let reader = try DefaultsStore.open(path: path, options: options { $0.isReadOnly = true })
        #expect(try reader.snapshot() == list(["a": 1]))
        rename(try makeOther(["b": 2]), path)
        try reader.refresh()
        #expect(try reader.snapshot() == list(["b": 2]))
        unlink(path)
        try reader.refresh()
        #expect(try reader.keys().isEmpty)
        #expect(try !folder.names().contains("a.sqlite"))
    }

    @Test("a reader that has a replaced database open does not read the old journal into the new one")
    func readsNoOtherJournal() throws {
        let store = try open()
        try store.set(list(1), at: ["a"])
        let engine = try SQLiteEngine(
            try StoreFolder.open(path), format: .binary, EngineOptions(limits: options().limits, isReadOnly: true))
        _ = try engine.refresh(over: { emptyDictionary }, until: .after(.seconds(5)))
        rename(try makeOther(["b": 2]), path)
        let expected = DefaultsError(
            .corrupt, "The journal beside the database belongs to the one that it replaced", file: path)
        // The second look has no connection any longer.
        for _ in 0..<2 {
            #expect(throws: expected) { _ = try engine.refresh(over: { emptyDictionary }, until: .after(.seconds(5))) }
        }
        try store.sync()
        guard case .replaced(let found) = try engine.refresh(over: { emptyDictionary }, until: .after(.seconds(5)))
        else {
            Issue.record("not loaded")
            return
        }
        #expect(try found == list(["b": 2]))
    }

    // MARK: - Damage

    @Test("an empty file is damage")
    func empty() throws {
        try folder.write("", to: "a.sqlite")
        let expected = DefaultsError(.corrupt, "The file is empty", file: path)
        #expect(throws: expected) { try open() }
        #expect(throws: expected) { try DefaultsStore.open(path: path, options: options { $0.isReadOnly = true }) }
        #expect(throws: expected) { try open(.immediate, .recover) }
        #expect(try folder.text(of: "a.sqlite") == "")
    }

    @Test("a database that has lost a table is damage", arguments: ["defaults", "pruned"])
    func lostTable(name: String) throws {
        try open().close()
        try folder.execute("DROP TABLE \(name)", in: "a.sqlite")
        try expectForeignTables()
    }

    // proves: G70
    @Test("a table whose values are computed is damage, also for a handle that only reads")
    func generated() throws {
        try open().close()
        try folder.execute(
            """
            DROP TABLE defaults;
            CREATE TABLE defaults(
              key TEXT NOT NULL UNIQUE, value BLOB AS (zeroblob(500000000)), revision INTEGER PRIMARY KEY)
            """, in: "a.sqlite")
        try expectForeignTables()
    }

    private func expectForeignTables() throws {
        let expected = DefaultsError(.corrupt, "The database's tables are not those of a store", file: path)
        for isReadOnly in [false, true] {
            #expect(throws: expected) {
                try DefaultsStore.open(path: path, options: options { $0.isReadOnly = isReadOnly })
            }
        }
    }

    @Test(
        "revisions and counts that nothing of ours wrote are damage",
        arguments: [
            "DELETE FROM pruned", "UPDATE defaults SET revision=9223372036854775807",
            "UPDATE pruned SET removals=-5", "UPDATE pruned SET removals=9223372036854775807",
        ])
    func damagedCommits(statement: String) throws {
        do {
            let store = try open()
            try store.set(list(1), forKey: "a")
        }
        try folder.execute(statement, in: "a.sqlite")
        let expected = DefaultsError(.corrupt, "The database's revisions are damaged", file: path)
        #expect(throws: expected) { try open() }
    }

    private func storeWithBadRow() throws -> DefaultsStore {
        do {
            let store = try open()
            for (key, value) in ["a": 1, "b": 2, "c": 3] { try store.set(list(value), at: [.key(key)]) }
            try store.close()
        }
        try folder.execute("UPDATE defaults SET value=x'00' WHERE key='b'", in: "a.sqlite")
        return try open()
    }

    // proves: G68
    @Test("a row that cannot be read is an error for its key alone")
    func badRows() throws {
        let store = try storeWithBadRow()
        #expect(try store.value(at: ["a"])?.integer == 1)
        let error = try #require(#expect(throws: DefaultsError.self) { try store.value(at: ["b"]) })
        #expect(error.code == .corrupt && error.path == ["b"] && error.file == path)
        #expect(throws: error) { try store.value(at: ["b", "x"]) }
        #expect(throws: error) { try store.set(list(1), at: ["b", "x"]) }
        #expect(throws: error) { try store.remove(at: ["b", "x"]) }
        #expect(try store.snapshot() == list(["a": 1, "c": 3]))
        #expect(try store.keys() == ["a", "c"])
        let box = Box<[DefaultsEvent]>([])
        let watch = try store.watchEvents { event in box.change { $0.append(event) } }
        _ = try store.pump()
        #expect(box.value == [.unreadable(error)])
        watch.cancel()
        let other = try DefaultsStore.open(path: folder.file("copy.plist"))
        try other.set(list(9), at: ["z"])
        #expect(throws: error) { try store.copy(to: other) }
        #expect(try other.snapshot() == list(["z": 9]))
        // Its row is as it was: other changes do not touch it.
        try store.set(list(4), at: ["d"])
        #expect(throws: error) { try store.value(at: ["b"]) }
    }

    // proves: G68
    @Test("a row that cannot be read is replaced by a set, and goes with a removal", arguments: [0, 1, 2, 3])
    func replacesBadRows(way: Int) throws {
        let store = try storeWithBadRow()
        switch way {
        case 0: try store.set(list(5), at: ["b"])
        case 1: #expect(try store.remove(at: ["b"]))
        case 2: try store.set(list(["a": 1, "c": 3]), at: [])
        default: #expect(try store.remove(at: []))
        }
        let expected = try list(way == 0 ? ["a": 1, "b": 5, "c": 3] : way == 3 ? [:] : ["a": 1, "c": 3])
        #expect(try store.snapshot() == expected)
        #expect(try store.value(at: ["b"])?.integer == (way == 0 ? 5 : nil))
        #expect(try Database(path).rows() == expected)
    }

    @Test("a row that comes to be damaged leaves the value in memory, and is told once")
    func comesDamaged() throws {
        let store = try open(.manual)
        try store.set(list(["a": 1, "b": 2]), at: [])
        try store.sync()
        let box = Box<[DefaultsEvent]>([])
        let watch = try store.watchEvents { event in box.change { $0.append(event) } }
        defer { watch.cancel() }
        try folder.execute("UPDATE defaults SET value=x'00' WHERE key='b'", in: "a.sqlite")
        for _ in 0..<2 { try store.refresh() }
        _ = try store.pump()
        #expect(box.value.count == 1)
        try store.set(list(3), at: ["c"])
        try store.sync()
        #expect(try store.snapshot() == list(["a": 1, "b": 2, "c": 3]))
        try folder.execute("DELETE FROM defaults WHERE key='b'", in: "a.sqlite")
        try store.refresh()
        #expect(try store.snapshot() == list(["a": 1, "c": 3]))
    }

    // MARK: - Versions and sizes

    @Test("a database of an older version is read as it is, and brought up to date for writing", arguments: [1, 2])
    func versions(version: Int) throws {
        let tables =
            version == 1
            ? """
            CREATE TABLE defaults(key TEXT PRIMARY KEY NOT NULL, value BLOB, revision INTEGER NOT NULL) WITHOUT ROWID;
            CREATE INDEX defaults_revision ON defaults(revision);
            INSERT INTO defaults VALUES('gone', NULL, 7);
            """
            : """
            CREATE TABLE defaults(key TEXT PRIMARY KEY NOT NULL, value BLOB, revision INTEGER NOT NULL);
            CREATE TABLE commits(slot INTEGER PRIMARY KEY);
            CREATE TABLE changes(key TEXT PRIMARY KEY) WITHOUT ROWID;
            """
        let value = "x'62706c6973743030100108000000000000010100000000000000010000000000000000000000000000000a'"
        try folder.execute(
            """
            PRAGMA journal_mode=WAL; \(tables) PRAGMA application_id=1263948628; PRAGMA user_version=\(version);
            INSERT INTO defaults VALUES('c', \(value), 6), ('a', \(value), 6);
            """, in: "a.sqlite")
        let reader = try DefaultsStore.open(path: path, options: options { $0.isReadOnly = true })
        #expect(try reader.snapshot() == list(["a": 1, "c": 1]))
        let store = try open()
        #expect(try store.snapshot() == list(["a": 1, "c": 1]))
        try store.set(list(2), at: ["b"])
        #expect(try Database(path).rows() == list(["a": 1, "b": 2, "c": 1]))
        #expect(try Database(path).integer("SELECT count(*) FROM defaults") == 3)
        #expect(try Database(path).integer("SELECT count(*) FROM sqlite_master WHERE type='table'") == 2)
        #expect(try Database(path).integer("SELECT max(revision) FROM defaults WHERE key != 'b'") == 2)
        try reader.refresh()
        #expect(try reader.snapshot() == list(["a": 1, "b": 2, "c": 1]))
    }

    // proves: G71
    @Test("of removed keys nothing stays, and their room is given back")
    func removes() throws {
        func size() throws -> Int {
            try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
        }
        // The file is as large as its rows when the last connection has closed.
        do {
            let store = try open(.manual)
            for number in 0..<20_000 { try store.set(list(number), at: [.key("key \(number)")]) }
            try store.sync()
        }
        #expect(try size() > 500_000)
        do {
            let store = try open(.manual)
            try store.set(list([String: Int]()), at: [])
            try store.sync()
        }
        #expect(try size() < 100_000)
        #expect(try Database(path).integer("SELECT count(*) FROM defaults") == 1)
    }

    @Test("many keys that are set at once are written once each, without an index but the keys' own")
    func fills() throws {
        let store = try open(.manual)
        for number in 0..<5000 { try store.set(list(number), at: [.key("key \(number)")]) }
        try store.sync()
        let database = try Database(path)
        #expect(try database.integer("SELECT count(*) FROM defaults") == 5000)
        #expect(try database.integer("SELECT count(*) FROM sqlite_master WHERE type='index' AND sql NOT NULL") == 0)
    }

    // proves: G71
    @Test("what is kept of removed keys has a bound")
    func bounded() throws {
        let store = try open(.manual)
        for round in 0..<40 {
            for number in 0..<100 { try store.set(list(round), at: [.key("key \(round) \(number)")]) }
            try store.sync()
            try store.set(list([String: Int]()), at: [])
            try store.sync()
        }
        #expect(try Database(path).integer("SELECT count(*) FROM defaults") <= 1024)
    }

    // MARK: - Copies

    // proves: G72
    @Test("a copy for a migration is its user's alone from its first byte on")
    func copyModes() throws {
        let store = try open(.manual)
        for number in 0..<20_000 { try store.set(list(number), at: [.key("key \(number)")]) }
        try store.sync()
        let name = folder.file(".a.sqlite.v0.tmp")
        let modes = Box<Set<UInt32>>([])
        let isDone = Box(false)
        let thread = Thread {
            while !isDone.value {
                var status = stat()
                guard stat(name, &status) == 0 else { continue }
                let mode = status.st_mode & 0o777
                modes.change { $0.insert(mode) }
            }
        }
        thread.start()
        try store.transaction { _ = try $0.beginMigration(to: 1) }
        isDone.change { $0 = true }
        #expect(modes.value.isSubset(of: [0o600]))
        #expect(try folder.mode(of: "a.sqlite.v0") == 0o600)
    }
}
