import DefaultsStorage
import Foundation
import PropertyLists
import Testing

/// The state that a commit leaves: the lock, the changes that are not written yet, and the rules of the file.
@Suite struct CommitTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("whatever comes of a commit, nobody else is locked out by it")
    func unlocks() throws {
        let store = try folder.open(.manual)
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
        unlink(folder.file)
        mkdir(folder.file, 0o700)
        let expected = DefaultsError(.io, expected: "a file", found: "something else", file: folder.file)
        #expect(throws: expected) { try store.sync() }
        #expect(throws: expected) { try store.beginTransaction() }
        #expect(folder.isUnlocked("a.plist"))
        rmdir(folder.file)
        try store.sync()
        #expect(try folder.stored() == list(["a": 3]))
    }

    @Test("a copy of the lock's descriptor, as a child has that was made without fork's handlers, keeps no lock")
    func unlocksCopies() throws {
        let store = try folder.open(.manual)
        let transaction = try store.beginTransaction()
        let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        let locks = numbers.filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))
                == folder.file(".a.plist.lock")
        }
        let copy = dup(try #require(locks.first))
        defer { close(copy) }
        transaction.rollback()
        #expect(folder.isUnlocked("a.plist"))
    }

    // proves: G22
    @Test("a commit that was killed between exchange and look is ended: another program's file has its name back")
    func endsExchange() throws {
        try folder.write(["ours": 1])
        let middle = "3w5e11264sgsf"
        let left = URL(fileURLWithPath: folder.file(".a.plist.\(middle).tmp"))
        try Data(list(["theirs": 2]).serialized(as: .xml)).write(to: left)
        var status = stat()
        try #require(stat(folder.file, &status) == 0)
        let new = "\(status.st_dev) \(status.st_ino) \(status.st_size) \(try folder.modified("a.plist"))"
        try folder.write("\(middle) \(new) 1 2 3 4\n", to: ".a.plist.lock")
        let store = try folder.open(.manual)
        try store.set(list(3), at: ["a"])
        try store.sync()
        #expect(try folder.stored() == list(["theirs": 2, "a": 3]))
        #expect(try folder.names().filter { $0.hasSuffix(".tmp") || $0.contains("unsaved") } == [])
    }

    @Test("a flush that cannot begin keeps what was set, and what is set after it")
    func fails() throws {
        let store = try folder.open(.manual)
        try store.set(list(["x": 1]), at: ["a"])
        try store.sync()
        try store.set(list(2), at: ["a", "x"])
        // A folder with the name of the lock.
        unlink(folder.file(".a.plist.lock"))
        mkdir(folder.file(".a.plist.lock"), 0o700)
        #expect(throws: DefaultsError.self) { try store.sync() }
        try store.set(list(3), at: ["a", "y"])
        #expect(try store.value(at: ["a"]) == list(["x": 2, "y": 3]))
        rmdir(folder.file(".a.plist.lock"))
        try store.sync()
        #expect(try folder.stored() == list(["a": ["x": 2, "y": 3]]))
    }

    @Test(
        "what another thread sets while a transaction is open is written without another call",
        .timeLimit(.minutes(1)), arguments: [true, false])
    func meanwhile(isCommitted: Bool) throws {
        let store = try folder.open(.coalesced)
        try store.set(list(0), at: ["before"])
        try store.sync()
        let transaction = try store.beginTransaction()
        try transaction.set(list(1), at: ["inside"])
        try onAnotherThread { try store.set(list(2), at: ["meanwhile"]) }
        if isCommitted { try transaction.commit() } else { transaction.rollback() }
        var expected: [String: Any] = ["before": 0, "meanwhile": 2]
        if isCommitted { expected["inside"] = 1 }
        let whole = try list(expected)
        while try folder.stored() != whole { usleep(5_000) }
        #expect(try store.snapshot() == whole)
    }

    @Test("what another thread sets meanwhile waits for the next sync of a manual store")
    func meanwhileInManual() throws {
        let store = try folder.open(.manual)
        let transaction = try store.beginTransaction()
        try transaction.set(list(1), at: ["inside"])
        try onAnotherThread { try store.set(list(2), at: ["meanwhile"]) }
        try transaction.commit()
        usleep(400_000)
        #expect(try folder.stored() == list(["inside": 1]))
        try store.sync()
        #expect(try folder.stored() == list(["inside": 1, "meanwhile": 2]))
    }

    @Test("takes the rules of the format that another program has given the file")
    func format() throws {
        let store = try folder.open(.manual)
        try store.set(list(1), at: ["a"])
        try store.sync()
        let expected = DefaultsError(
            .invalidValue, .wrong("XML cannot hold a control character in a string", advice: "a binary store can"),
            at: ["b"])
        #expect(throws: expected) { try store.set(list("\u{1}"), at: ["b"]) }
        try folder.write(["a": 1], as: .binary)
        try store.refresh()
        try store.set(list("\u{1}"), at: ["b"])
        try store.sync()
        #expect(try folder.stored() == list(["a": 1, "b": "\u{1}"]))
        try folder.write(["a": 2])
        try store.refresh()
        #expect(throws: expected) { try store.set(list("\u{1}"), at: ["b"]) }
    }

    @Test("a transaction that ends leaves the store to other threads and to itself")
    func gates() throws {
        let store = try folder.open(.manual)
        for commits in [true, false] {
            let transaction = try store.beginTransaction()
            try transaction.set(list(1), at: ["a"])
            if commits { try transaction.commit() } else { transaction.rollback() }
            try onAnotherThread { try store.beginTransaction(timeout: .seconds(5)).commit() }
        }
        try store.sync()
        #expect(try folder.stored() == list(["a": 1]))
    }

    @Test("each kind of change is written without another call", .timeLimit(.minutes(1)))
    func coalesces() throws {
        let store = try folder.open(.coalesced)
        func waitUntilStored(_ content: Any) throws {
            let whole = try list(content)
            while try folder.stored() != whole { usleep(5_000) }
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
        let store = try folder.open(.manual)
        let other = try folder.open(.manual)
        try store.close()
        let expected = DefaultsError(.closed, "The store was closed")
        // Also where there is nothing to change.
        #expect(throws: expected) { try store.remove(at: path) }
        #expect(throws: expected) { try store.set(list([String: Int]()), at: path) }
        #expect(throws: expected) { try store.set(list(1), at: path, ifGeneration: 0) }
        #expect(throws: expected) { try store.beginTransaction() }
        try other.set(list(["b": 1]), at: ["a"])
        #expect(throws: expected) { try store.sync() }
        #expect(try folder.stored() == nil)
        #expect(throws: expected) { try store.refresh() }
        #expect(throws: expected) { try store.value(at: path) }
        #expect(throws: expected) { try store.set(list(["b": 1]), at: path) }
        #expect(throws: expected) { try store.remove(at: path) }
        try other.close()
    }

    // proves: G8
    @Test("a transaction that cannot be written says so; nothing of it has happened, and what waited is kept")
    func failsInTransaction() throws {
        let store = try folder.open(.manual)
        try store.set(list(1), at: ["before"])
        let transaction = try store.beginTransaction()
        try transaction.set(list(1), at: ["inside"])
        mkdir(folder.file, 0o700)
        let expected = DefaultsError(.io, expected: "a file", found: "something else", file: folder.file)
        #expect(throws: expected) { try transaction.commit() }
        #expect(folder.isUnlocked("a.plist"))
        #expect(try store.snapshot() == list(["before": 1]))
        rmdir(folder.file)
        try store.sync()
        #expect(try folder.stored() == list(["before": 1]))
    }

    @Test("who looks while another thread has a transaction waits no longer than it was told, and does not end it")
    func looksMeanwhile() throws {
        let store = try DefaultsStore.open(
            path: folder.file,
            options: options {
                $0.durability = .manual
                $0.timeout = .milliseconds(20)
            })
        let transaction = try store.beginTransaction()
        try transaction.set(list(1), at: ["a"])
        let expected = DefaultsError(.timedOut, "Another thread kept the store locked", file: folder.file)
        for _ in 0..<2 { #expect(throws: expected) { try onAnotherThread { try store.refresh() } } }
        #expect(throws: expected) { try onAnotherThread { _ = try store.beginTransaction() } }
        try transaction.commit()
        #expect(try folder.stored() == list(["a": 1]))
    }

    // proves: G10
    @Test("whoever read before a change, or while its transaction was open, has read what is old")
    func generations() throws {
        let store = try folder.open(.manual)
        func expectConflict(since generation: UInt64) {
            let error = #expect(throws: DefaultsError.self) {
                try store.set(list(9), at: ["a"], ifGeneration: generation)
            }
            #expect(error?.code == .conflict)
        }
        var generation = store.generation
        try store.set(list(1), forKey: "a")
        expectConflict(since: generation)
        generation = store.generation
        try store.set(list(1), at: ["b", "c"])
        expectConflict(since: generation)
        generation = store.generation
        #expect(try store.remove(at: ["b"]))
        expectConflict(since: generation)
        let transaction = try store.beginTransaction()
        try transaction.set(list(2), at: ["a"])
        generation = store.generation
        try transaction.commit()
        expectConflict(since: generation)
        #expect(try store.snapshot() == list(["a": 2]))
    }

    @Test(
        "with immediate durability what another thread sets waits for the end of a transaction, and is written then",
        .timeLimit(.minutes(1)), arguments: [true, false])
    func waitsForTransaction(isCommitted: Bool) throws {
        let store = try DefaultsStore.open(
            path: folder.file,
            options: options {
                $0.durability = .immediate
                $0.timeout = .seconds(600)
            })
        let transaction = try store.beginTransaction()
        try transaction.set(list(1), at: ["inside"])
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            try? store.set(list(1), at: ["meanwhile"])
            done.signal()
        }
        #expect(try store.value(at: ["meanwhile"]) == nil)
        if isCommitted { try transaction.commit() } else { transaction.rollback() }
        done.wait()
        #expect(try folder.stored() == list(isCommitted ? ["inside": 1, "meanwhile": 1] : ["meanwhile": 1]))
    }

    // proves: G24
    @Test("what another program writes in a transaction is a conflict of it; what it wrote before is none")
    func foreignChange() throws {
        let store = try folder.open(.manual)
        try store.set(list(1), at: ["a"])
        try store.sync()
        try folder.write(["a": 1, "before": 1])
        try store.transaction { try $0.set(list(2), at: ["a"]) }
        try store.set(list(3), at: ["waiting"])
        let transaction = try store.beginTransaction()
        try transaction.set(list((transaction.value(at: ["a"])?.integer ?? 0) + 1), at: ["a"])
        try folder.write(["a": 10, "before": 1, "theirs": 1])
        let error = #expect(throws: DefaultsError.self) { try transaction.commit() }
        #expect(error?.code == .conflict)
        #expect(try folder.stored() == list(["a": 10, "before": 1, "theirs": 1]))
        // Begun again it has their values.
        try store.transaction { try $0.set(list(($0.value(at: ["a"])?.integer ?? 0) + 1), at: ["a"]) }
        #expect(try folder.stored() == list(["a": 11, "before": 1, "theirs": 1, "waiting": 3]))
    }

    // proves: G24
    @Test(
        "a compare-and-set over what another program writes in its midst is a conflict, and a plain set is merged",
        arguments: [false, true])
    func foreignChangeInOneCall(isRecovered: Bool) throws {
        let folder = folder
        let number = Box(0)
        if isRecovered {
            let before = try folder.open(.immediate)
            for value in 1...2 { try before.set(list(value), at: ["theirs"]) }
            try before.close()
            try Data("{ broken".utf8).write(to: URL(fileURLWithPath: folder.file))
        }
        let store = try DefaultsStore.open(
            path: folder.file,
            options: options {
                $0.durability = .immediate
                $0.onCorruption = .recover
                $0.settleTime = .milliseconds(1)
                $0.validation = { _, _ in
                    number.change { $0 += 1 }
                    try folder.write(["theirs": number.value])
                }
            })
        let generation = store.generation
        let error = #expect(throws: DefaultsError.self) { try store.set(list(1), at: ["a"], ifGeneration: generation) }
        #expect(error?.code == .conflict)
        #expect(try folder.stored() == list(["theirs": 1]))
        try store.set(list(1), at: ["a"])
        #expect(try folder.stored() == list(["a": 1, "theirs": 2]))
        // A removal yields to another program's change, and the call fails.
        let refused = #expect(throws: DefaultsError.self) { try store.set(list(["a": 2]), at: []) }
        #expect(refused?.code == .conflict)
        #expect(try folder.stored() == list(["theirs": number.value]))
    }

    // proves: G7
    @Test("a flush that failed is tried again without another call", .timeLimit(.minutes(1)))
    func triesAgain() throws {
        let store = try folder.open(.coalesced)
        let hasFailed = Box(false)
        let watch = try store.watchEvents { if case .flushFailed = $0 { hasFailed.change { $0 = true } } }
        // A folder with the name of the lock.
        mkdir(folder.file(".a.plist.lock"), 0o700)
        try store.set(list(1), at: ["a"])
        while !hasFailed.value {
            _ = try store.pump()
            usleep(5_000)
        }
        rmdir(folder.file(".a.plist.lock"))
        // Nothing else has it written: the file would be there once the store is closed, or the program ends.
        while try folder.stored() == nil { usleep(5_000) }
        #expect(try folder.stored() == list(["a": 1]))
        watch.cancel()
    }

    @Test("a store that is locked for a while is written when it is free, untold", .timeLimit(.minutes(1)))
    func waitsItsTurn() throws {
        let store = try folder.open(.coalesced)
        try store.set(list(1), at: ["a"])
        try store.sync()
        let hasFailed = Box(false)
        let watch = try store.watchEvents { if case .flushFailed = $0 { hasFailed.change { $0 = true } } }
        let lock = open(folder.file(".a.plist.lock"), O_RDWR)
        defer { close(lock) }
        #expect(flock(lock, LOCK_EX) == 0)
        try store.set(list(2), at: ["a"])
        usleep(1_500_000)
        _ = try store.pump()
        #expect(!hasFailed.value)
        #expect(try folder.stored() == list(["a": 1]))
        flock(lock, LOCK_UN)
        let start = Date()
        while try folder.stored() != list(["a": 2]) { usleep(5_000) }
        // A flush that has failed is tried again after a second.
        #expect(Date().timeIntervalSince(start) < 0.8)
        watch.cancel()
    }

    @Test("a transaction reads inside what waits for its flush, as far down as that was changed")
    func readsAside() throws {
        let store = try folder.open(.manual)
        try store.set(list(["x": ["y": ["z": 1, "old": [1, 2]]]]), at: ["a"])
        try store.sync()
        try store.set(list(2), at: ["a", "x", "y", "z"])
        let transaction = try store.beginTransaction()
        #expect(try transaction.value(at: ["a", "x", "y", "z"])?.integer == 2)
        #expect(try transaction.value(at: ["a", "x", "y", "old", 1])?.integer == 2)
        #expect(try transaction.value(at: ["a", "x", "y"]) == list(["z": 2, "old": [1, 2]]))
        #expect(try transaction.value(at: ["a", "x", "none", "z"]) == nil)
        #expect(try transaction.value(at: ["a", "x", "y", "z", "none"]) == nil)
        transaction.rollback()
    }
}
