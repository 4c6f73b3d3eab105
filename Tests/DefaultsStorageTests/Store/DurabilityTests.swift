import DefaultsStorage
import Foundation
import PropertyLists
import Testing

/// When a change is in the file, and the settings that each of several handles has for itself.
@Suite struct DurabilityTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    // proves: G2
    @Test("immediate: in the file when set returns; manual: at sync and at close, and not before")
    func atOnceAndAtSync() throws {
        let immediate = try folder.open(.immediate)
        try immediate.set(list(1), at: ["a"])
        #expect(try folder.stored() == list(["a": 1]))
        try immediate.set(list(2), at: ["b", "c"])
        #expect(try immediate.remove(at: ["a"]))
        #expect(try folder.stored() == list(["b": ["c": 2]]))
        try immediate.close()
        let manual = try folder.open(.manual)
        try manual.set(list(3), at: ["a"])
        #expect(try folder.stored() == list(["b": ["c": 2]]))
        try manual.sync()
        #expect(try folder.stored() == list(["a": 3, "b": ["c": 2]]))
        try manual.set(list(4), at: ["a"])
        try manual.close()
        #expect(try folder.stored() == list(["a": 4, "b": ["c": 2]]))
    }

    @Test("a handle that is let go of is closed: what it has set is in the file")
    func letGo() throws {
        do {
            let store = try folder.open(.manual)
            try store.set(list(1), at: ["a"])
        }
        #expect(try folder.stored() == list(["a": 1]))
    }

    // proves: G3
    @Test("coalesced: in the file without another call, a moment later", .timeLimit(.minutes(1)))
    func coalesced() throws {
        let store = try folder.open(.coalesced)
        let start = Date()
        try store.set(list(1), at: ["a"])
        try store.set(list(2), at: ["b"])
        while try folder.stored() == nil { usleep(5000) }
        #expect(try folder.stored() == list(["a": 1, "b": 2]))
        // 100 ms are promised; a busy machine may take its time to run the thread.
        #expect(Date().timeIntervalSince(start) < 2)
    }

    @Test("coalesced changes of several stores are written in the order in which they came", .timeLimit(.minutes(1)))
    func inOrder() throws {
        let files = (0..<8).map { folder.file("\($0).plist") }
        let stores = try files.map { try DefaultsStore.open(path: $0, options: options { $0.durability = .coalesced }) }
        for store in stores { try store.set(list(1), at: ["a"]) }
        while access(files[7], F_OK) != 0 { usleep(1_000) }
        for file in files { #expect(access(file, F_OK) == 0) }
        for store in stores { try store.close() }
    }

    // proves: G5
    @Test("the strictest durability of the handles that are open goes for all of them")
    func strictest() throws {
        let manual = try folder.open(.manual)
        try manual.set(list(1), at: ["a"])
        #expect(try folder.stored() == nil)
        let immediate = try folder.open(.immediate)
        try manual.set(list(2), at: ["b"])
        #expect(try folder.stored() == list(["a": 1, "b": 2]))
        try immediate.close()
        try manual.set(list(3), at: ["c"])
        #expect(try folder.stored() == list(["a": 1, "b": 2]))
        try manual.close()
        #expect(try folder.stored() == list(["a": 1, "b": 2, "c": 3]))
    }

    @Test("files whose names Swift takes for one are two stores")
    func normalisation() throws {
        let names = ["\u{E9}.plist", "e\u{301}.plist"]
        let stores = try names.map { try DefaultsStore.open(path: folder.file($0)) }
        for (store, value) in zip(stores, [1, 2]) {
            try store.set(list(value), at: ["a"])
            try store.sync()
        }
        for (name, value) in zip(names, [1, 2]) {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.file(name)))
            #expect(try PropertyList(parsing: Array(bytes))["a"]?.integer == Int64(value))
        }
    }

    @Test("handles share what is set, and have registered defaults, arguments and the right to write for themselves")
    func ownParts() throws {
        let first = try DefaultsStore.open(
            path: folder.file,
            options: options {
                $0.defaults = try? list(["d": 1])
                $0.arguments = try? list(["x": 1])
            })
        let second = try folder.open(.manual)
        let reader = try DefaultsStore.open(path: folder.file, options: options { $0.isReadOnly = true })
        try first.set(list(1), at: ["a"])
        for handle in [first, second, reader] { #expect(try handle.value(at: ["a"])?.integer == 1) }
        #expect(try first.snapshot() == list(["a": 1, "d": 1, "x": 1]))
        #expect(try second.snapshot() == list(["a": 1]))
        try second.register(list(["d": 2]))
        #expect(try first.value(at: ["d"])?.integer == 1)
        try reader.close()
        #expect(throws: DefaultsError(.closed, "The store was closed")) { try reader.value(at: ["a"]) }
        #expect(try first.value(at: ["a"])?.integer == 1)
    }

    // proves: G50
    @Test("who only reads a database makes none, and sees the one that another makes")
    func readOnlyDatabase() throws {
        let path = folder.file("a.sqlite")
        let reader = try DefaultsStore.open(path: path, options: options { $0.isReadOnly = true })
        #expect(try reader.keys().isEmpty)
        try reader.refresh()
        #expect(try folder.names().isEmpty)
        let writer = try DefaultsStore.open(path: path)
        try writer.set(list(7), at: ["a"])
        try writer.sync()
        try reader.refresh()
        #expect(try reader.value(at: ["a"])?.integer == 7)
    }

    @Test("another handle has the options of the one that it comes from")
    func anotherHandle() throws {
        struct No: Error {}
        let store = try DefaultsStore.open(
            path: folder.file,
            options: options {
                $0.timeout = .milliseconds(20)
                $0.maximumBytes = 1000
                $0.maximumNodes = 10
                $0.durability = .immediate
                $0.defaults = try? list(["d": 1])
                $0.validation = { path, _ in if path == ["refused"] { throw No() } }
                $0.schema = DefaultsSchema { key, _ in if key == "wrong" { throw Wrong(path: ["wrong"]) } }
            })
        try store.register(list(["e": 2]))
        let other = try store.anotherHandle()
        try store.close()
        #expect(try other.snapshot() == list(["d": 1, "e": 2]))
        try other.set(list(1), at: ["a"])
        #expect(try folder.stored() == list(["a": 1]))
        func code(_ change: () throws -> Void) -> DefaultsError.Code? {
            #expect(throws: DefaultsError.self) { try change() }?.code
        }
        #expect(code { try other.set(list(1), at: ["refused"]) } == .refused)
        #expect(code { try other.set(list(1), at: ["wrong"]) } == .typeMismatch)
        #expect(code { try other.set(list(String(repeating: "x", count: 1000)), at: ["b"]) } == .limitExceeded)
        #expect(code { try other.set(list(Array(0..<10)), at: ["b"]) } == .limitExceeded)
        let descriptor = try folder.lockElsewhere("a.plist")
        let start = ContinuousClock.now
        #expect(code { try other.set(list(2), at: ["a"]) } == .timedOut)
        #expect(ContinuousClock.now - start < .seconds(8))
        close(descriptor)
        let reader = try other.anotherHandle(.readOnly)
        #expect(code { try reader.set(list(1), at: ["a"]) } == .readOnly)
        #expect(code { try reader.anotherHandle().set(list(1), at: ["a"]) } == .readOnly)
        try other.close()
        #expect(code { _ = try other.anotherHandle() } == .closed)
    }

    /// The schema's error.
    private struct Wrong: DefaultsSchemaError {
        let path: PropertyListPath
        func message(firstIndex: Int) -> String { "wrong" }
    }

    // proves: G50
    @Test("who only reads changes nothing, makes nothing, and sees what is written")
    func readOnly() throws {
        let reader = try DefaultsStore.open(path: folder.file, options: options { $0.isReadOnly = true })
        let expected = DefaultsError(.readOnly, "The store was opened read-only", at: ["a"], file: folder.file)
        #expect(throws: expected) { try reader.set(list(1), at: ["a"]) }
        #expect(throws: expected) { try reader.remove(at: ["a"]) }
        #expect(throws: expected) { try reader.set(list(1), at: ["a"], ifGeneration: 0) }
        let whole = DefaultsError(.readOnly, "The store was opened read-only", file: folder.file)
        #expect(throws: whole) { try reader.beginTransaction() }
        #expect(throws: whole) { try reader.set(list([String: Int]()), at: []) }
        #expect(throws: whole) { try reader.remove(at: []) }
        #expect(throws: whole) { try reader.import(Array("{\"a\": 1}".utf8)) }
        #expect(throws: whole) { try reader.import(Array("{}".utf8)) }
        try reader.sync()
        #expect(try folder.names().isEmpty)
        try folder.write(["a": 7], as: .binary)
        try reader.refresh()
        #expect(try reader.value(at: ["a"])?.integer == 7)
        try reader.close()
        #expect(try folder.names() == ["a.plist"])
    }

    // proves: G6
    @Test(
        "with immediate durability a change that cannot be written is not kept, of keys and of paths",
        arguments: ["a.plist", "a.sqlite"])
    func notKept(name: String) throws {
        let path = folder.file(name)
        let options = options {
            $0.durability = .immediate
            $0.timeout = .milliseconds(20)
        }
        let store = try DefaultsStore.open(path: path, options: options)
        let before = try list(["list": [1], "key": 1, "old": 1])
        try store.set(before, at: [])
        let unlock = try lock(name)
        for _ in 0..<2 {
            expectTimeOut { try store.set(list(2), at: ["list", 1]) }
            expectTimeOut { _ = try store.remove(at: ["list", 0]) }
            expectTimeOut { try store.set(list(2), forKey: "key") }
            expectTimeOut { _ = try store.remove(at: ["old"]) }
            expectTimeOut { try store.set(list(["key": 3]), at: []) }
            #expect(try store.snapshot() == before)
        }
        unlock()
        // A caller repeats a failed append.
        try store.set(list(2), at: ["list", 1])
        #expect(try store.snapshot() == list(["list": [1, 2], "key": 1, "old": 1]))
        try store.close()
        #expect(try DefaultsStore.open(path: path).snapshot() == list(["list": [1, 2], "key": 1, "old": 1]))
    }

    @Test("what waits for its flush stays so when an immediate change beside it fails")
    func keepsWaiting() throws {
        let waiting = try folder.open(.manual)
        try waiting.set(list(1), forKey: "waits")
        let store = try DefaultsStore.open(
            path: folder.file,
            options: options {
                $0.durability = .immediate
                $0.timeout = .milliseconds(20)
            })
        let unlock = try lock("a.plist")
        expectTimeOut { try store.set(list(2), forKey: "waits") }
        #expect(try store.value(forKey: "waits")?.integer == 1)
        unlock()
        try store.set(list(3), forKey: "other")
        #expect(try folder.stored() == list(["waits": 1, "other": 3]))
    }

    private func expectTimeOut(_ body: () throws -> Void) {
        let error = #expect(throws: DefaultsError.self) { try body() }
        #expect(error?.code == .timedOut)
    }

    /// As another program keeps a store locked; gives what lets go of it.
    private func lock(_ name: String) throws -> () -> Void {
        if name == "a.plist" {
            let descriptor = try folder.lockElsewhere(name)
            return { close(descriptor) }
        }
        let database = try Database(folder.file(name))
        try database.execute("BEGIN IMMEDIATE")
        return { try? database.execute("ROLLBACK") }
    }
}
