import DefaultsStorage
import Foundation
import PropertyLists
import Testing

@Suite struct WatchTests {
    // proves: G62
    @Test("tells each difference once, with old and new value", arguments: DefaultsStore.Options.Engine.tested)
    func watches(engine: DefaultsStore.Options.Engine) throws {
        let folder = try TemporaryFolder()
        let store = try DefaultsStore.open(path: folder.file("a.plist"), options: options { $0.engine = engine })
        try store.set(list(["x": 1, "y": ["z": 1]]), at: ["a"])
        let seen = Box<[String]>([])
        let note: @Sendable (String) -> @Sendable (DefaultsChange) -> Void = { name in
            { change in
                let text = "\(name) \(change.path) \(change.old?.integer ?? -1) \(change.new?.integer ?? -1)"
                seen.change { $0.append(text) }
            }
        }
        let watches = [
            try store.watch(.value(["a", "x"]), note("value")), try store.watch(.subtree(["a"]), note("subtree")),
            try store.watch(.everything, note("everything")),
        ]
        #expect(try store.pump() == 0)
        try store.transaction { transaction in
            try transaction.set(list(2), at: ["a", "x"])
            try transaction.set(list(3), at: ["a", "x"])
            try transaction.set(list(4), at: ["a", "y", "z"])
            try transaction.set(list(5), at: ["b"])
        }
        var descriptor = pollfd(fd: try store.watchDescriptor(), events: Int16(POLLIN), revents: 0)
        #expect(poll(&descriptor, 1, 5000) == 1)
        #expect(try store.pump() == 5)
        #expect(
            seen.value == [
                "value a.x 1 3", "subtree a.x 1 3", "subtree a.y.z 1 4", "everything a -1 -1", "everything b -1 5",
            ])
        #expect(try store.pump() == 0)
        for watch in watches { watch.cancel() }
        try store.set(list(9), at: ["b"])
        #expect(try store.pump() == 0)
    }

    @Test("a subtree tells each key that came or went below it")
    func subtrees() throws {
        let store = try DefaultsStore.open("scratch", options: options { $0.engine = .memory })
        try store.set(list(["x": ["y": 1], "z": 2]), at: ["a"])
        let seen = Box<[String]>([])
        let watch = try store.watch(.subtree(["a"])) { change in
            seen.change { $0.append("\(change.path) \(change.old?.integer ?? -1) \(change.new?.integer ?? -1)") }
        }
        try store.set(list(3), at: ["a", "x", "new"])
        _ = try store.remove(at: ["a", "z"])
        #expect(try store.pump() == 2)
        #expect(Set(seen.value) == ["a.x.new -1 3", "a.z 2 -1"])
        watch.cancel()
    }

    @Test("the descriptor is readable from a change to the pump that tells it, each time")
    func descriptor() throws {
        let store = try DefaultsStore.open("scratch", options: options { $0.engine = .memory })
        var descriptor = pollfd(fd: try store.watchDescriptor(), events: Int16(POLLIN), revents: 0)
        for number in 1...3 {
            #expect(poll(&descriptor, 1, 0) == 0)
            try store.set(list(number), at: ["a"])
            #expect(poll(&descriptor, 1, 0) == 1)
            #expect(try store.pump() == 0)
        }
    }

    // proves: G62
    @Test("what another program writes between the opening and the first watch is told")
    func gap() throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(.manual)
        try store.set(list(1), at: ["a"])
        try store.sync()
        try folder.write(["a": 2])
        let told = Box<[Int64?]>([])
        let watch = try store.watch(.value(["a"])) { change in told.change { $0.append(change.new?.integer) } }
        #expect(try store.wait(for: .seconds(5)) == 1)
        #expect(told.value == [2])
        watch.cancel()
    }

    @Test("a pump without a watch takes up what another program wrote")
    func unwatched() throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(.manual)
        try store.set(list(1), at: ["a"])
        try store.sync()
        try store.pump()
        try folder.write(["a": 2])
        let deadline = Date(timeIntervalSinceNow: 5)
        while try store.value(at: ["a"]) != list(2), Date() < deadline { try store.pump() }
        #expect(try store.value(at: ["a"]) == list(2))
    }

    @Test("a handle that was closed watches nothing and keeps no handler, also of a watch that somebody keeps")
    func closing() throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(.manual)
        weak var handled: Box<Int>?
        var watch: DefaultsWatch?
        do {
            let count = Box(0)
            handled = count
            watch = try store.watch(.everything) { _ in count.change { $0 += 1 } }
        }
        #expect(handled != nil)
        #expect(try folder.openNames().contains("inotify"))
        try store.close()
        #expect(handled == nil)
        withExtendedLifetime(watch) {}
        watch = nil
        #expect(try !folder.openNames().contains("inotify"))
        withExtendedLifetime(store) {}
    }

    @Test("what keeps a store from looking at its file is thrown, and what was missed is told by a later pump")
    func inaccessible() throws {
        let folder = try TemporaryFolder()
        let store = try folder.open(.manual)
        let seen = Box<[Int64]>([])
        let watch = try store.watch(.value(["a"])) { change in seen.change { $0.append(change.new?.integer ?? -1) } }
        try folder.write(["a": 1])
        chmod(folder.path, 0)
        let expected = DefaultsError(.accessDenied, "stat: Permission denied", file: folder.file, errno: EACCES)
        try onAnotherThread {
            becomeAnotherUser()
            for _ in 0..<2 { #expect(throws: expected) { try store.pump() } }
        }
        chmod(folder.path, 0o700)
        #expect(try store.pump() == 1)
        #expect(seen.value == [1])
        watch.cancel()
    }

    @Test("sees what another program does to the file, its removal included")
    func outside() throws {
        let folder = try TemporaryFolder()
        let store = try DefaultsStore.open(path: folder.file("a.plist"))
        let seen = Box<[Int64]>([])
        let watch = try store.watch(.value(["a"])) { change in seen.change { $0.append(change.new?.integer ?? -1) } }
        for number in [1, 2] {
            try Data(list(["a": number]).serialized(as: .xml)).write(to: URL(fileURLWithPath: folder.file("a.plist")))
            try pumpUntilCalled(store)
        }
        unlink(folder.file("a.plist"))
        try pumpUntilCalled(store)
        #expect(seen.value == [1, 2, -1])
        watch.cancel()
    }

    // proves: G65
    @Test("the descriptor is woken by changes of the store's own file, and by no other file")
    func wakes() throws {
        let folder = try TemporaryFolder()
        let (store, other) = (try folder.open(.manual), try folder.open(.manual))
        try store.set(list(0), at: ["a"])
        try store.sync()
        let watch = try store.watch(.value(["a"])) { _ in }
        var descriptor = pollfd(fd: try store.watchDescriptor(), events: Int16(POLLIN), revents: 0)
        _ = try store.pump()
        try other.set(list(1), at: ["a"])
        #expect(poll(&descriptor, 1, 0) == 1)
        #expect(try store.pump() == 1)
        // A commit of this process may wake it, and has nothing to report.
        try other.sync()
        #expect(try store.pump() == 0)
        #expect(poll(&descriptor, 1, 0) == 0)
        try folder.write("{}", to: "b.plist")
        #expect(poll(&descriptor, 1, 0) == 0)
        // One that is written in place, replaced, removed, and made again.
        for (number, change) in [
            { try Data($0).write(to: URL(fileURLWithPath: folder.file)) },
            { try Data($0).write(to: URL(fileURLWithPath: folder.file), options: .atomic) },
            { _ in unlink(folder.file) },
            { try Data($0).write(to: URL(fileURLWithPath: folder.file)) },
        ].enumerated() as EnumeratedSequence<[([UInt8]) throws -> Void]> {
            try change(list(["a": 3 + number]).serialized(as: .xml))
            #expect(poll(&descriptor, 1, 0) == 1)
            // A file that is gone may be back in a moment.
            #expect(try store.wait(for: .seconds(5)) == 1)
            if number == 2 { _ = try store.wait(for: .milliseconds(200)) }
            #expect(poll(&descriptor, 1, 0) == 0, "\(number)")
        }
        watch.cancel()
        try other.close()
    }

    // proves: G65
    @Test("a thread that waits is woken by each change of another, and a few times at most by its commit")
    func wakesAcrossThreads() throws {
        let folder = try TemporaryFolder()
        let (store, other) = (try folder.open(.manual), try folder.open(.manual))
        try other.set(list(0), at: ["a"])
        try other.sync()
        let descriptor = try store.watchDescriptor()
        _ = try store.pump()
        let woken = Box(0)
        let isAwake = DispatchSemaphore(value: 0)
        let count = 200
        let thread = Thread {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            while poll(&entry, 1, 10_000) == 1, (try? store.value(at: ["a"])?.integer ?? -1) != -2 {
                woken.change { $0 += 1 }
                _ = try? store.pump()
                isAwake.signal()
            }
            isAwake.signal()
        }
        thread.start()
        for number in 1...count {
            try other.set(list(number), at: ["a"])
            isAwake.wait()
            try other.sync()
        }
        try other.set(list(-2), at: ["a"])
        isAwake.wait()
        #expect(woken.value >= count)
        #expect(woken.value <= 4 * count)
        try other.close()
    }

    @Test("waits for a change, or for the time")
    func waiting() throws {
        let store = try DefaultsStore.open("scratch", options: options { $0.engine = .memory })
        let watch = try store.watch(.value(["a"])) { _ in }
        #expect(try store.wait(for: .milliseconds(5)) == 0)
        #expect(try store.wait(for: .seconds(-1)) == 0)
        let thread = Thread {
            usleep(20_000)
            try? store.set(PropertyList(1), at: ["a"])
        }
        thread.start()
        #expect(try store.wait(for: .seconds(Int64.max)) == 1)
        watch.cancel()
        try store.close()
        #expect(throws: DefaultsError(.closed, "The store was closed")) { try store.wait(for: .zero) }
    }

    // proves: G64
    @Test("looks again when the system has lost count of what happened")
    func overflow() throws {
        let folder = try TemporaryFolder()
        let store = try DefaultsStore.open(path: folder.file("a.plist"))
        let seen = Box<[Int64]>([])
        let watch = try store.watch(.value(["a"])) { change in seen.change { $0.append(change.new?.integer ?? -1) } }
        #expect(try store.pump() == 0)
        // Until the queue is full, of what is no business of the store's: what happens to its file then is lost.
        let text = try String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
        let most = try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        for number in 0...(most / 2) {
            close(open(folder.file("other-\(number % 2)"), O_WRONLY | O_CREAT | O_TRUNC, 0o600))
            unlink(folder.file("other-\(number % 2)"))
        }
        try Data(list(["a": 1]).serialized(as: .xml)).write(to: URL(fileURLWithPath: folder.file("a.plist")))
        #expect(try store.pump() == 1)
        #expect(seen.value == [1])
        watch.cancel()
    }

    private func pumpUntilCalled(_ store: DefaultsStore) throws {
        var descriptor = pollfd(fd: try store.watchDescriptor(), events: Int16(POLLIN), revents: 0)
        for _ in 0..<10 {
            guard poll(&descriptor, 1, 5000) == 1, try store.pump() == 0 else { return }
        }
    }

    @Test("tells of layers, registered defaults and what a transaction left behind")
    func layers() throws {
        let folder = try TemporaryFolder()
        let defaults = options { $0.defaults = try? list(["d": 1]) }
        let managed = folder.file("managed.plist")
        let store = try DefaultsStore.open(
            path: folder.file("a.plist"),
            options: options {
                $0.defaults = defaults.defaults
                $0.managedFile = managed
            })
        let seen = Box<[String]>([])
        let watch = try store.watch(.everything) { change in
            seen.change { $0.append("\(change.path) \(change.old?.integer ?? -1) \(change.new?.integer ?? -1)") }
        }
        try store.register(list(["d": 2, "e": 3]))
        #expect(try store.pump() == 2)
        let transaction = try store.beginTransaction()
        try transaction.set(list(4), at: ["d"])
        #expect(try store.pump() == 1)
        transaction.rollback()
        #expect(try store.pump() == 1)
        try Data(list(["e": 9]).serialized(as: .xml)).write(to: URL(fileURLWithPath: managed))
        try pumpUntilCalled(store)
        #expect(seen.value == ["d 1 2", "e -1 3", "d 2 4", "d 4 2", "e 3 9"])
        watch.cancel()
    }

    @Test("a handle that was closed is not woken: its descriptors may be other files by then")
    func closedHandles() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.plist")
        let managed = folder.file("managed.plist")
        let keeper = try DefaultsStore.open(path: path, options: options { $0.managedFile = managed })
        for _ in 0..<8 {
            let store = try DefaultsStore.open(path: path, options: options { $0.managedFile = managed })
            _ = try store.watchDescriptor()
            try store.close()
        }
        let descriptors = (0..<64).map { open(folder.file("other-\($0)"), O_RDWR | O_CREAT, 0o600) }
        defer { for descriptor in descriptors { close(descriptor) } }
        try keeper.set(list(1), at: ["a"])
        try Data(list(["b": 1]).serialized(as: .xml)).write(to: URL(fileURLWithPath: managed))
        try keeper.refresh()
        #expect(try keeper.value(at: ["b"])?.integer == 1)
        for descriptor in descriptors { #expect(lseek(descriptor, 0, SEEK_END) == 0) }
    }

    // proves: G62
    @Test("tells of every key, also when more change than are remembered", arguments: [100, 140_000])
    func many(count: Int) throws {
        let store = try DefaultsStore.open("scratch", options: options { $0.engine = .memory })
        for number in 0..<count { try store.set(list(number), forKey: "key-\(number)") }
        let seen = Box<[DefaultsChange]>([])
        let watch = try store.watch(.everything) { change in seen.change { $0.append(change) } }
        let ofOne = Box<[DefaultsChange]>([])
        let other = try store.watch(.value(["key-0"])) { change in ofOne.change { $0.append(change) } }
        for number in 0..<count where number % 2 == 0 { _ = try store.remove(at: [.key("key-\(number)")]) }
        try store.set(list(-1), forKey: "new")
        #expect(try store.pump() == count / 2 + 2)
        #expect(seen.value.last?.path == ["new"])
        #expect(seen.value.dropLast().allSatisfy { $0.new == nil && ($0.old?.integer ?? 1) % 2 == 0 })
        for number in 0..<count { try store.set(list(number), forKey: "key-\(number)") }
        #expect(try store.pump() == count / 2 + 1)
        #expect(ofOne.value.map { $0.new?.integer } == [nil, 0])
        #expect(try store.pump() == 0)
        watch.cancel()
        other.cancel()
    }

    // proves: G62
    @Test("tells of each key that another program has added, taken away or renamed", arguments: [10, 70_000])
    func others(count: Int) throws {
        let folder = try TemporaryFolder()
        try folder.write(["a": 1, "c": 1, "z": 1], as: .binary)
        let store = try folder.open(.manual)
        let seen = Box<[DefaultsChange]>([])
        let watch = try store.watch(.everything) { change in seen.change { $0.append(change) } }
        var content = ["b": 1, "c": 1]
        for number in 0..<count { content["key-\(number)"] = number }
        try folder.write(content, as: .binary)
        try pumpUntilCalled(store)
        #expect(seen.value.count == count + 3)
        let ends = (seen.value.prefix(2) + seen.value.suffix(1)).map {
            "\($0.path) \($0.old?.integer ?? -1) \($0.new?.integer ?? -1)"
        }
        #expect(ends == ["a 1 -1", "b -1 1", "z 1 -1"])
        watch.cancel()
    }
}
