import DefaultsStorage
import Foundation
import PropertyLists
import Testing

/// What a commit leaves behind: the lock, the changes that are not written yet, and the rules of the file.
@Suite struct CommitTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var file: String { folder.file("a.plist") }

    private func open(_ durability: DefaultsDurability) throws -> DefaultsStore {
        try DefaultsStore.open(path: file, options: options { $0.durability = durability })
    }

    /// What another program finds; nil for no file.
    private func stored() throws -> PropertyList? {
        guard let data = FileManager.default.contents(atPath: file) else { return nil }
        return try PropertyList.parse([UInt8](data)).list
    }

    @Test("whatever comes of a commit, nobody else is locked out by it")
    func unlocks() throws {
        let store = try open(.manual)
        try store.set(list(1), at: ["a"])
        try store.sync()
        #expect(folder.isUnlocked("a.plist"))
        try store.transaction { try $0.set(list(2), at: ["a"]) }
        #expect(folder.isUnlocked("a.plist"))
        let transaction = try store.beginTransaction()
        #expect(!folder.isUnlocked("a.plist"))
        transaction.rollback()
        #expect(folder.isUnlocked("a.plist"))
        try store.set(list(3), at: ["a"])
        unlink(file)
        mkdir(file, 0o700)
        let expected = DefaultsError(.io, "Expected a file, found something else", file: file)
        #expect(throws: expected) { try store.sync() }
        #expect(throws: expected) { try store.beginTransaction() }
        #expect(folder.isUnlocked("a.plist"))
        rmdir(file)
        try store.sync()
        #expect(try stored() == list(["a": 3]))
    }

    @Test("a flush that cannot begin keeps what was set, and what is set after it")
    func fails() throws {
        let store = try open(.manual)
        try store.set(list(["x": 1]), at: ["a"])
        try store.sync()
        try store.set(list(2), at: ["a", "x"])
        // A folder in the place of the lock.
        unlink(folder.file(".a.plist.lock"))
        mkdir(folder.file(".a.plist.lock"), 0o700)
        #expect(throws: DefaultsError.self) { try store.sync() }
        try store.set(list(3), at: ["a", "y"])
        #expect(try store.value(at: ["a"]) == list(["x": 2, "y": 3]))
        rmdir(folder.file(".a.plist.lock"))
        try store.sync()
        #expect(try stored() == list(["a": ["x": 2, "y": 3]]))
    }

    @Test(
        "what another thread sets while a transaction is open is written without another call",
        .timeLimit(.minutes(1)), arguments: [true, false])
    func meanwhile(isCommitted: Bool) throws {
        let store = try open(.coalesced)
        try store.set(list(0), at: ["before"])
        try store.sync()
        let transaction = try store.beginTransaction()
        try transaction.set(list(1), at: ["inside"])
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            try? store.set(PropertyList(any: 2), at: ["meanwhile"])
            done.signal()
        }
        done.wait()
        if isCommitted { try transaction.commit() } else { transaction.rollback() }
        var expected: [String: Any] = ["before": 0, "meanwhile": 2]
        if isCommitted { expected["inside"] = 1 }
        let whole = try list(expected)
        while try stored() != whole { usleep(5_000) }
        #expect(try store.snapshot() == whole)
    }

    @Test("takes the rules of the format that another program has given the file")
    func format() throws {
        let store = try open(.manual)
        try store.set(list(1), at: ["a"])
        try store.sync()
        let expected = DefaultsError(
            .invalidValue, "XML cannot hold a control character in a string; a binary store can", at: ["b"])
        #expect(throws: expected) { try store.set(list("\u{1}"), at: ["b"]) }
        try Data(list(["a": 1]).serialized(as: .binary)).write(to: URL(fileURLWithPath: file))
        try store.refresh()
        try store.set(list("\u{1}"), at: ["b"])
        try store.sync()
        #expect(try stored() == list(["a": 1, "b": "\u{1}"]))
        try Data(list(["a": 2]).serialized(as: .xml)).write(to: URL(fileURLWithPath: file))
        try store.refresh()
        #expect(throws: expected) { try store.set(list("\u{1}"), at: ["b"]) }
    }

    @Test("a transaction that ends leaves the store to other threads and to itself")
    func gates() throws {
        let store = try open(.manual)
        for commits in [true, false] {
            let transaction = try store.beginTransaction()
            try transaction.set(list(1), at: ["a"])
            if commits { try transaction.commit() } else { transaction.rollback() }
            let result = Box<DefaultsError?>(nil)
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                do throws(DefaultsError) {
                    try store.beginTransaction(timeout: .seconds(5)).commit()
                } catch {
                    result.change { $0 = error }
                }
                done.signal()
            }
            done.wait()
            #expect(result.value == nil)
        }
        try store.sync()
        #expect(try stored() == list(["a": 1]))
    }

    @Test("each kind of change is written without another call", .timeLimit(.minutes(1)))
    func coalesces() throws {
        let store = try open(.coalesced)
        func waitUntilStored(_ content: Any) throws {
            let whole = try list(content)
            while try stored() != whole { usleep(5_000) }
        }
        try store.set(list(["x": 1, "y": 1]), at: ["a"])
        try waitUntilStored(["a": ["x": 1, "y": 1]])
        try store.set(list(2), at: ["a", "x"])
        try waitUntilStored(["a": ["x": 2, "y": 1]])
        #expect(try store.remove(at: ["a", "y"]))
        try waitUntilStored(["a": ["x": 2]])
        try store.set(list(1), forKey: "b")
        try waitUntilStored(["a": ["x": 2], "b": 1])
        #expect(try store.remove(at: ["a"]))
        try waitUntilStored(["b": 1])
        try store.set(list(["c": 1]), at: [])
        try waitUntilStored(["c": 1])
    }

    @Test("a closed handle says so of every place", arguments: [["a"], ["a", "b"], []] as [PropertyListPath])
    func closed(path: PropertyListPath) throws {
        let store = try open(.manual)
        let other = try open(.manual)
        try other.set(list(["b": 1]), at: ["a"])
        try store.close()
        let expected = DefaultsError(.closed, "The store was closed")
        #expect(throws: expected) { try store.value(at: path) }
        #expect(throws: expected) { try store.set(list(["b": 1]), at: path) }
        #expect(throws: expected) { try store.remove(at: path) }
        try other.close()
    }
}
