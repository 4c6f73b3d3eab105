import DefaultsStorage
import Foundation
import PropertyLists
import Testing

/// Events that happen apart from a call. Recovery, groups and size are in StoredFileTests.
@Suite struct EventTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var file: String { folder.file("a.plist") }

    /// The events that come, until there is one; asked for in time to see it.
    private func nextEvents(of store: DefaultsStore) throws -> [DefaultsEvent] {
        let seen = Box<[DefaultsEvent]>([])
        let watch = try store.watchEvents { event in seen.change { $0.append(event) } }
        var descriptor = pollfd(fd: try store.watchDescriptor(), events: Int16(POLLIN), revents: 0)
        while try store.pump() == 0 { #expect(poll(&descriptor, 1, 10_000) == 1) }
        watch.cancel()
        return seen.value
    }

    @Test("what happened before the first watch is told to that alone")
    func early() throws {
        try folder.write("damaged", to: "a.plist")
        try folder.write("{}", to: "a.plist.bak")
        let first = try DefaultsStore.open(path: file, options: options { $0.onCorruption = .recover })
        let second = try DefaultsStore.open(path: file)
        guard case .recovered? = try nextEvents(of: first).first else {
            Issue.record("not told")
            return
        }
        let seen = Box<[DefaultsEvent]>([])
        let watch = try second.watchEvents { event in seen.change { $0.append(event) } }
        #expect(try second.pump() == 0)
        #expect(seen.value.isEmpty)
        watch.cancel()
    }

    private func expectLockWaited(by store: DefaultsStore) throws {
        guard case .lockWaited(let nanoseconds)? = try nextEvents(of: store).first else {
            Issue.record("not told")
            return
        }
        #expect(nanoseconds > 1_000_000)
    }

    @Test("a lock that was waited for")
    func lockWaited() throws {
        let store = try DefaultsStore.open(path: file, options: options { $0.durability = .immediate })
        let descriptor = try folder.lockElsewhere("a.plist")
        let holder = Thread {
            usleep(30_000)
            close(descriptor)
        }
        holder.start()
        try store.set(list(1), at: ["a"])
        try expectLockWaited(by: store)
    }

    @Test("a database's lock that was waited for")
    func databaseLockWaited() throws {
        let path = folder.file("a.sqlite")
        let store = try DefaultsStore.open(path: path, options: options { $0.durability = .immediate })
        let database = try Database(path)
        try database.execute("BEGIN IMMEDIATE")
        let holder = Thread {
            usleep(30_000)
            try? database.execute("ROLLBACK")
        }
        holder.start()
        try store.set(list(1), at: ["a"])
        try expectLockWaited(by: store)
    }

    @Test("what one handle was told is not told to the next that watches")
    func toldOnce() throws {
        let first = try DefaultsStore.open(path: file, options: options { $0.durability = .immediate })
        let watch = try first.watchEvents { _ in }
        try first.set(list(String(repeating: "x", count: 300_000)), at: ["a"])
        #expect(try first.pump() == 1)
        let second = try DefaultsStore.open(path: file)
        let other = try second.watchEvents { _ in Issue.record("told again") }
        #expect(try second.pump() == 0)
        watch.cancel()
        other.cancel()
    }

    @Test("a handle that searches its own file as a layer is told what happens to it")
    func ownLayer() throws {
        let path = file
        let keeper = try DefaultsStore.open(path: path, options: options { $0.durability = .immediate })
        let store = try DefaultsStore.open(path: path, options: options { $0.managedFile = path })
        let watch = try store.watchEvents { _ in }
        try keeper.set(list(String(repeating: "x", count: 300_000)), at: ["a"])
        #expect(try store.pump() == 1)
        watch.cancel()
    }

    /// A store that waits 20 ms.
    private func impatient(_ durability: DefaultsDurability) throws -> DefaultsStore {
        try DefaultsStore.open(
            path: file,
            options: options {
                $0.durability = durability
                $0.timeout = .milliseconds(20)
            })
    }

    private var timedOut: DefaultsError {
        DefaultsError(.timedOut, "Another process kept the store locked", file: file)
    }

    // proves: G18
    @Test("a lock that is not to be had in time is an error, and the change is kept and written with the next")
    func lockTimesOut() throws {
        let store = try impatient(.manual)
        let descriptor = try folder.lockElsewhere("a.plist")
        try store.set(list(1), at: ["a"])
        #expect(throws: timedOut) { try store.sync() }
        #expect(throws: timedOut) { try store.beginTransaction() }
        #expect(try store.value(at: ["a"])?.integer == 1)
        close(descriptor)
        try store.sync()
        #expect(FileManager.default.contents(atPath: file) != nil)
    }

    @Test("a database that another program has for itself is waited for at opening, as long as the handle says")
    func openingTimesOut() throws {
        let path = folder.file("a.sqlite")
        let given = options { $0.timeout = .milliseconds(20) }
        let database = try Database(path)
        try database.execute("VACUUM")
        for lock in ["BEGIN EXCLUSIVE", "PRAGMA journal_mode=WAL; BEGIN IMMEDIATE"] {
            try database.execute(lock)
            let start = ContinuousClock.now
            #expect(throws: DefaultsError(.timedOut, "SQLite: database is locked", file: path)) {
                try DefaultsStore.open(path: path, options: given)
            }
            #expect(ContinuousClock.now - start < .seconds(4))
            try database.execute("ROLLBACK")
        }
        try database.execute("BEGIN IMMEDIATE")
        let holder = Thread {
            usleep(30_000)
            try? database.execute("ROLLBACK")
        }
        holder.start()
        #expect(try DefaultsStore.open(path: path).keys().isEmpty)
    }

    @Test("with immediate durability a change waits for as long as its own handle says")
    func immediateChangeTimesOut() throws {
        // Manual, so that no flush of the library's own waits for the lock, which would hold back the handle's.
        let patient = try DefaultsStore.open(
            path: file,
            options: options {
                $0.durability = .manual
                $0.timeout = .seconds(60)
            })
        try patient.set(list(["x": 1]), at: ["a"])
        try patient.sync()
        let store = try impatient(.immediate)
        let descriptor = try folder.lockElsewhere("a.plist")
        defer { close(descriptor) }
        let start = ContinuousClock.now
        #expect(throws: timedOut) { try store.set(list(2), at: ["a", "x"]) }
        #expect(throws: timedOut) { try store.remove(at: ["a", "x"]) }
        #expect(throws: timedOut) { try store.set(list(2), at: ["b"]) }
        #expect(throws: timedOut) { try store.set(list(3), at: ["b"]) }
        #expect(throws: timedOut) { try store.remove(at: ["b"]) }
        // Far more than five times 20 ms, and less than one wait of the usual length.
        #expect(ContinuousClock.now - start < .seconds(8))
    }

    // proves: G12
    @Test("a change that was dropped for another program's is an event, and the next sync's error")
    func conflict() throws {
        let store = try DefaultsStore.open(path: file, options: options { $0.durability = .manual })
        try store.set(list(["x": 0]), at: ["a"])
        try store.sync()
        try store.set(list(1), at: ["a", "x"])
        try store.set(list(2), at: ["b"])
        try Data(list(["a": "text"]).serialized(as: .xml)).write(to: URL(fileURLWithPath: file))
        let thrown = #expect(throws: DefaultsError.self) { try store.sync() }
        guard case .conflict(let error)? = try nextEvents(of: store).first else {
            Issue.record("not told")
            return
        }
        #expect(error.code == .conflict && error.path == ["a"] && error == thrown)
        try store.sync()
        #expect(try store.snapshot() == list(["a": "text", "b": 2]))
    }

    @Test("a folder that took the file's name is told by the pump, and not thrown", .timeLimit(.minutes(1)))
    func lookFails() throws {
        let store = try DefaultsStore.open(path: file)
        try store.set(list(1), at: ["a"])
        try store.sync()
        _ = try store.watchDescriptor()
        while try store.pump() > 0 {}
        unlink(file)
        mkdir(file, 0o700)
        let error = DefaultsError(.io, expected: "a file", found: "something else", file: file)
        #expect(try nextEvents(of: store) == [.unreadable(error)])
        #expect(throws: error) { try store.refresh() }
        #expect(try store.value(at: ["a"])?.integer == 1)
    }

    // proves: G7
    @Test("a flush that failed; the change is kept, and is written when it can be")
    func flushFailed() throws {
        let store = try DefaultsStore.open(path: file)
        mkdir(folder.file(".a.plist.lock"), 0o700)
        try store.set(list(1), at: ["a"])
        guard case .flushFailed(let error)? = try nextEvents(of: store).first else {
            Issue.record("not told")
            return
        }
        #expect(error.errno == EISDIR)
        #expect(error.message == "open: Is a directory")
        #expect(try store.value(at: ["a"])?.integer == 1)
        rmdir(folder.file(".a.plist.lock"))
        try store.sync()
        #expect(FileManager.default.contents(atPath: file) != nil)
    }

    @Test("a store that has outgrown its file by its size")
    func outgrown() throws {
        let store = try DefaultsStore.open(path: file, options: options { $0.durability = .immediate })
        try store.set(list(String(repeating: "x", count: 300_000)), at: ["a"])
        guard case .outgrown(let path, 1, let bytes)? = try nextEvents(of: store).first else {
            Issue.record("not told")
            return
        }
        #expect(path == file && bytes > 300_000)
    }
}
