import DefaultsStorage
import Foundation
import PropertyLists
import Testing

/// Many threads on one store; the run under ThreadSanitizer is the one that proves it.
@Suite struct ThreadTests {
    /// The signals among some usual ones that the calling thread does not take.
    private static func blocked() -> [Int32] {
        var mask = sigset_t()
        pthread_sigmask(SIG_SETMASK, nil, &mask)
        return [SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGALRM].filter { sigismember(&mask, $0) == 1 }
    }

    @Test("a thread of the library handles none of the program's signals")
    func signals() throws {
        // A thread has the mask of the one that starts it, and those of the tests take no signals either.
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let blocked = Box<[Int32]?>(nil)
        let started = BackgroundThread.start {
            let found = Self.blocked()
            blocked.change { $0 = found }
        }
        #expect(started)
        while blocked.value == nil { usleep(1000) }
        #expect(blocked.value == [SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGALRM])
        #expect(Self.blocked() == [])
    }

    // proves: G20
    @Test("eight threads lose nothing", arguments: DefaultsStore.Options.Engine.tested)
    func threads(engine: DefaultsStore.Options.Engine) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.plist")
        let rounds = 100
        let store = try DefaultsStore.open(path: path, options: options { $0.engine = engine })
        let failures = Box<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            do {
                for round in 0..<rounds {
                    try store.set(list(round), at: [.key("t\(thread)"), .key("r\(round)")])
                    try store.set(list(round), forKey: "plain\(thread)")
                    _ = try store.value(at: ["t0", "r0"])
                    _ = try store.value(forKey: "counter")
                    if round % 10 == 0 {
                        try store.transaction { transaction in
                            let old = try transaction.value(at: ["counter"])?.integer ?? 0
                            try transaction.set(list(old + 1), at: ["counter"])
                        }
                        try store.sync()
                        _ = try store.pump()
                        let other = try DefaultsStore.open(path: path, options: options { $0.engine = engine })
                        try other.close()
                    }
                }
            } catch {
                failures.change { $0.append("\(error)") }
            }
        }
        #expect(failures.value == [])
        #expect(try store.value(at: ["counter"])?.integer == Int64(8 * rounds / 10))
        for thread in 0..<8 {
            #expect(try store.value(at: [.key("t\(thread)")])?.count == rounds)
            #expect(try store.value(at: [.key("plain\(thread)")])?.integer == Int64(rounds - 1))
        }
    }

    private func openScratch(_ durability: DefaultsDurability) throws -> DefaultsStore {
        try DefaultsStore.open(
            "scratch",
            options: options {
                $0.engine = .memory
                $0.durability = durability
            })
    }

    /// Runs `body` on several threads at once; gives their errors.
    private func onThreads(_ count: Int, _ body: @Sendable (Int) throws -> Void) -> [String] {
        let failures = Box<[String]>([])
        DispatchQueue.concurrentPerform(iterations: count) { thread in
            do {
                try body(thread)
            } catch {
                failures.change { $0.append("\(error)") }
            }
        }
        return failures.value
    }

    // proves: G20
    @Test("eight threads that merge into one dictionary lose nothing", arguments: [true, false])
    func merges(isTopLevel: Bool) throws {
        let store = try DefaultsStore.open("scratch", options: options { $0.engine = .memory })
        let place: PropertyListPath = isTopLevel ? ["shared"] : ["outer", "shared"]
        try store.set(list([:] as [String: Any]), at: place)
        let rounds = 60
        let failures = onThreads(8) { thread in
            for round in 0..<rounds {
                let before = try store.stored(at: place)
                let after = try (before ?? list([:] as [String: Any])).setting(
                    list(round), at: [.key("t\(thread)-\(round)")])
                try store.merge(ancestor: before, ours: after, at: place)
            }
        }
        #expect(failures == [])
        #expect(try store.value(at: place)?.count == 8 * rounds)
    }

    // proves: G20
    @Test(
        "two threads that append to one array lose nothing, whatever the durability",
        arguments: [DefaultsDurability.manual, .coalesced, .immediate])
    func appends(durability: DefaultsDurability) throws {
        let store = try openScratch(durability)
        try store.set(list([Int]()), at: ["outer", "list"])
        let failures = onThreads(2) { thread in
            for round in 0..<200 {
                guard let before = try store.stored(at: ["outer", "list"]) else { continue }
                let after = try before.setting(list("\(thread)-\(round)"), at: [.index(before.count)])
                try store.merge(ancestor: before, ours: after, at: ["outer", "list"])
            }
        }
        #expect(failures == [])
        #expect(try store.value(at: ["outer", "list"])?.count == 400)
    }

    // proves: G20
    @Test(
        "eight threads that set what nobody has changed lose nothing",
        arguments: [DefaultsDurability.manual, .immediate])
    func setsUnchanged(durability: DefaultsDurability) throws {
        let store = try openScratch(durability)
        try store.set([:], at: ["shared"])
        let rounds = 60
        let failures = onThreads(8) { thread in
            for round in 0..<rounds {
                guard let before = try store.stored(at: ["shared"]) else { continue }
                let after = try before.setting(list(round), at: [.key("t\(thread)-\(round)")])
                let isSet = try Array("shared".utf8).withUnsafeBufferPointer {
                    try store.setStored(after, forUTF8Key: $0, ifUnchangedFrom: before)
                }
                if !isSet { try store.merge(ancestor: before, ours: after, at: ["shared"]) }
            }
        }
        #expect(failures == [])
        #expect(try store.value(at: ["shared"])?.count == 8 * rounds)
    }

    @Test("the transaction of a thread that has ended is no later thread's")
    func endedThreads() throws {
        let store = try DefaultsStore.open("scratch", options: options { $0.engine = .memory })
        let begun = Box<DefaultsTransaction?>(nil)
        onJoinedThread { begun.change { $0 = try? store.beginTransaction() } }
        // A later thread has the memory, and so the pthread_t, of one that was joined before it.
        for number in 0..<8 { onJoinedThread { try? store.set(list(number), forKey: "key-\(number)") } }
        begun.value?.rollback()
        for number in 0..<8 { #expect(try store.value(forKey: "key-\(number)")?.integer == Int64(number)) }
    }

    @Test(
        "a sync in a transaction is an error: nothing would be on disk", arguments: DefaultsStore.Options.Engine.tested)
    func syncInTransaction(engine: DefaultsStore.Options.Engine) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.plist")
        let store = try DefaultsStore.open(path: path, options: options { $0.engine = engine })
        try store.set(list(1), forKey: "before")
        let transaction = try store.beginTransaction()
        let expected = DefaultsError(.misuse, "Not possible in the middle of a transaction", file: store.file)
        #expect(throws: expected) { try store.sync() }
        #expect(throws: expected) {
            try store.copy(to: DefaultsStore.open("b", options: options { $0.engine = .memory }))
        }
        try transaction.commit()
        try store.sync()
        #expect(try store.value(forKey: "before")?.integer == 1)
    }
}
