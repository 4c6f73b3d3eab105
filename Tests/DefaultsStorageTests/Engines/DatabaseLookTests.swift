import Foundation
import PropertyLists
import Testing

@testable import DefaultsStorage

/// Commits of one program, and changes of the database's file, as another finds them: each by an engine of its own.
@Suite struct DatabaseLookTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var path: String { folder.file("a.sqlite") }

    private enum Found: Equatable { case unchanged, changed, replaced }

    /// A program's engine, and the values that it knows of.
    private final class Program {
        let engine: SQLiteEngine
        private var state = State(StoredValues(.emptyDictionary))
        var values: PropertyList { (try? state.whole()) ?? .emptyDictionary }
        let events = Box<[DefaultsEvent]>([])

        init(_ path: String, isReadOnly: Bool = false) throws {
            engine = try SQLiteEngine(
                StoreFolder.open(path), format: .binary,
                EngineOptions(limits: StoreLimits(bytes: 1 << 28, nodes: 1 << 24), isReadOnly: isReadOnly))
            engine.report = { [events] event in events.change { $0.append(event) } }
        }

        private var deadline: Deadline { .after(.seconds(10)) }

        @discardableResult
        func look() throws -> Found {
            let known = values
            switch try engine.refresh(over: { () throws(DefaultsError) in known }, until: deadline) {
            case .unchanged: return .unchanged
            case .replaced(let list):
                state = State(StoredValues(list))
                return .replaced
            case .changed(let changes):
                try change(changes)
                return .changed
            }
        }

        func write(_ changes: [(key: String, value: PropertyList?)]) throws {
            _ = try engine.lock(until: deadline)
            defer { engine.unlock() }
            try look()
            for (key, value) in changes { key.withBytes { state.set(value, for: $0.bindMemory(to: UInt8.self)) } }
            _ = try engine.commit(state)
            state = State(try state.written())
        }

        private func change(_ rows: [(key: [UInt8], value: PropertyList?)]) throws {
            for (key, value) in rows { key.withUnsafeBufferPointer { state.set(value, for: $0) } }
            state = State(try state.written())
        }
    }

    // MARK: - Commits

    @Test(
        "who looks seldom finds all that was written since, however much that was",
        arguments: [
            ([10], true), ([3000, 3000], true), ([65536], true), ([65537], false), ([10, 65536], false),
        ])
    func catchesUp(commits: [Int], isKnown: Bool) throws {
        let (writer, reader) = (try Program(path), try Program(path))
        try writer.write([("start", list(1))])
        #expect(try reader.look() == .replaced)
        for (number, count) in commits.enumerated() {
            let value = try list(number)
            try writer.write((0..<count).map { ("\(number)-\($0)", value) })
        }
        #expect(try reader.look() == (isKnown ? .changed : .replaced))
        #expect(reader.values == writer.values)
        #expect(try reader.look() == .unchanged)
        // From here on the changes are known again.
        for number in 0..<3 { try writer.write([("start", number == 1 ? nil : list(number))]) }
        #expect(try reader.look() == .changed)
        #expect(reader.values == writer.values)
    }

    @Test("a connection that is opened anew finds what was written meanwhile, and loads nothing if that is nothing")
    func reconnects() throws {
        let (writer, reader) = (try Program(path), try Program(path))
        try writer.write([("a", list(1))])
        try reader.look()
        reader.engine.prepareFork()
        #expect(try reader.look() == .unchanged)
        reader.engine.prepareFork()
        try writer.write([("b", list(2))])
        #expect(try reader.look() == .replaced)
        #expect(reader.values == writer.values)
    }

    @Test("a process that was away while the rows of removed keys were deleted loads everything")
    func pruned() throws {
        let (writer, reader) = (try Program(path), try Program(path))
        func rows() throws -> Int64 { try Database(path).integer("SELECT count(*) FROM defaults") }
        let keys = (0..<1024).map { "key \($0)" }
        try writer.write([("start", list(1))] + keys.map { ($0, try list(1)) })
        try reader.look()
        try writer.write(keys.map { ($0, nil) })
        #expect(try rows() == 1025)
        #expect(try reader.look() == .changed)
        #expect(try reader.values == list(["start": 1]))
        try writer.write([("last", list(1))])
        try writer.write([("last", nil)])
        #expect(try rows() == 2)
        #expect(try reader.look() == .replaced)
        #expect(try reader.values == list(["start": 1]))
        try writer.write([("start", list(2))])
        #expect(try reader.look() == .changed)
        #expect(reader.values == writer.values)
    }

    @Test("a row that another program adds by SQL has a revision that no later commit takes")
    func added() throws {
        let program = try Program(path)
        try program.write([("a", list(1))])
        for (revision, found) in [(1 << 40, Found.changed), (3, .replaced)] {
            try folder.execute(
                """
                INSERT INTO defaults SELECT 'theirs \(revision)', value, \(revision) FROM defaults WHERE key='a'
                """, in: "a.sqlite")
            #expect(try program.look() == found)
            try program.write((1...8).map { ("ours \($0)", try list(2)) })
        }
        #expect(try Database(path).rows() == program.values)
        #expect(program.values.count == 11)
    }

    @Test("what another program adds counts towards the limits")
    func counts() throws {
        let store = try DefaultsStore.open(path: path, options: options { $0.maximumBytes = 8000 })
        let large = try list(String(repeating: "x", count: 5000))
        try store.set(list(1), at: ["a"])
        try store.sync()
        try Program(path).write([("theirs", large)])
        try store.refresh()
        let error = #expect(throws: DefaultsError.self) { try store.set(large, at: ["ours"]) }
        #expect(error?.code == .limitExceeded)
    }

    @Test("what a program wrote that knows nothing of commits is found")
    func foreign() throws {
        let program = try Program(path)
        try program.write([("a", list(1)), ("b", list(2))])
        try folder.execute("DELETE FROM defaults WHERE key='a'", in: "a.sqlite")
        #expect(try program.look() == .replaced)
        #expect(try program.values == list(["b": 2]))
    }

    // proves: G67
    @Test("a restored copy in which somebody has changed a row is found, with the same commits")
    func restored() throws {
        let program = try Program(path)
        try program.write([("a", list(1)), ("b", list(2))])
        try folder.execute("VACUUM INTO '\(folder.file("copy.sqlite"))'", in: "a.sqlite")
        try folder.execute("DELETE FROM defaults WHERE key='a'", in: "copy.sqlite")
        for _ in 0..<2 {
            #expect(rename(folder.file("copy.sqlite"), path) == 0 || errno == ENOENT)
            try program.look()
            #expect(try program.values == list(["b": 2]))
        }
    }

    // MARK: - Damage

    @Test("a row that another program has damaged, and one that it has mended, are those of its commit")
    func rows() throws {
        let (writer, reader) = (try Program(path), try Program(path))
        try writer.write([("a", list(1)), ("b", list(1))])
        try reader.look()
        try writer.write([("a", list(2)), ("b", list(2))])
        try folder.execute("UPDATE defaults SET value=x'00' WHERE key='a'", in: "a.sqlite")
        #expect(try reader.look() == .changed)
        #expect(try reader.values == list(["a": 1, "b": 2]))
        #expect(reader.engine.damagedKeys.keys.map { $0 } == [Array("a".utf8)])
        #expect(reader.events.value.count == 1)
        try writer.write([("a", list(3))])
        #expect(writer.engine.damagedKeys.isEmpty)
        #expect(try reader.look() == .changed)
        #expect(try reader.values == list(["a": 3, "b": 2]))
        #expect(reader.engine.damagedKeys.isEmpty && reader.events.value.count == 1)
    }

    @Test("several rows that cannot be read are one event, of the first and their number")
    func manyRows() throws {
        let program = try Program(path)
        try program.write([("a", list(1)), ("b", list(1)), ("c", list(1))])
        try folder.execute("UPDATE defaults SET value=x'00' WHERE key > 'a'", in: "a.sqlite")
        try program.look()
        guard case .unreadable(let error)? = program.events.value.first else {
            Issue.record("no event of rows")
            return
        }
        #expect(program.events.value.count == 1 && error.path == ["b"])
        #expect(error.description.hasSuffix(", and 1 more keys cannot be read (\(path))"), "\(error)")
    }

    @Test("a database that is gone is made by no look, and nothing is left of its damage")
    func gone() throws {
        let program = try Program(path)
        try program.write([("a", list(1))])
        try folder.execute("UPDATE defaults SET value=x'00'", in: "a.sqlite")
        try program.look()
        #expect(program.engine.damagedKeys.count == 1)
        for end in ["", "-wal", "-shm"] { unlink(path + end) }
        #expect(try program.look() == .replaced)
        #expect(program.values == .emptyDictionary && program.engine.damagedKeys.isEmpty)
        #expect(try program.look() == .unchanged)
        #expect(try folder.names() == [".a.sqlite.lock", ".a.sqlite.open"])
        #expect(try folder.openNames() == [""])
        try Program(path).write([("b", list(2))])
        #expect(try program.look() == .replaced)
        #expect(try program.values == list(["b": 2]))
        for end in ["", "-wal", "-shm"] { unlink(path + end) }
        #expect(try program.look() == .replaced)
        #expect(program.values == .emptyDictionary)
    }

    @Test("each time that a database comes to be unreadable is told once, but for the first look of all")
    func told() throws {
        let program = try Program(path)
        try program.write([("a", list(1))])
        try folder.execute("VACUUM INTO '\(folder.file("good"))'", in: "a.sqlite")
        func put(_ content: Data) throws {
            try content.write(to: URL(fileURLWithPath: folder.file("new")))
            #expect(rename(folder.file("new"), path) == 0)
        }
        let good = try Data(contentsOf: URL(fileURLWithPath: folder.file("good")))
        let bad = Data(repeating: 7, count: 8192)
        for round in 1...3 {
            try put(bad)
            for _ in 0..<2 { #expect(throws: DefaultsError.self) { try program.look() } }
            #expect(program.engine.unreadable?.code == .corrupt)
            #expect(program.events.value.count == round)
            if round == 2 { unlink(path) } else { try put(good) }
            try program.look()
            #expect(program.engine.unreadable == nil)
            #expect(try program.values == list(round == 2 ? [:] : ["a": 1]))
        }
        try put(bad)
        let other = try Program(path)
        for _ in 0..<2 { #expect(throws: DefaultsError.self) { try other.look() } }
        #expect(other.events.value.isEmpty)
        unlink(path)
        let reader = try Program(path, isReadOnly: true)
        #expect(try reader.look() == .replaced)
        try put(bad)
        #expect(throws: DefaultsError.self) { try reader.look() }
        #expect(reader.events.value.count == 1)
    }

    // MARK: - Databases left open

    @Test("a database that cannot be opened is not left open")
    func refused() throws {
        try folder.execute("CREATE TABLE theirs(x)", in: "a.sqlite")
        for _ in 0..<3 {
            #expect(throws: DefaultsError.self) { try DefaultsStore.open(path: path) }
        }
        #expect(try folder.openNames() == [])
    }

    @Test("a copy for a migration leaves nothing open once the store is let go of")
    func letsGo() throws {
        for version in 1...2 {
            do {
                let store = try DefaultsStore.open(path: path, options: options { $0.durability = .immediate })
                try store.set(list(version), at: ["a"])
                try store.transaction { _ = try $0.beginMigration(to: version) }
                // The second time the copy of before is looked at.
                try store.transaction { _ = try $0.beginMigration(to: version) }
            }
            #expect(try folder.openNames() == [])
        }
    }
}
