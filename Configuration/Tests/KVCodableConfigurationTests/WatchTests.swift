import Configuration
import Foundation
import KVCodable
import KVCodableConfiguration
import Testing

@Suite("Watches and snapshots of a store as configuration", .timeLimit(.minutes(1)))
struct WatchTests {
    @Test("a watch gives the value, then each that another program writes, wrong ones too")
    func values() async throws {
        let folder = try Folder()
        try folder.write("a.plist", ["volume": 1])
        var options = DefaultsStore.Options()
        options.schema = try schema("root S struct S { volume: Int(0...10) = 7 }")
        let provider = DefaultsProvider(try DefaultsStore.open(path: folder.file("a.plist"), options: options))
        let written: [[String: Any]] = [["volume": 2], ["volume": 11], ["other": 2]]
        var seen: [String] = []
        try await provider.watchValue(forKey: "volume", type: .int) { updates in
            for await update in updates {
                switch update {
                case .success(let found): seen.append(found.value.map { "\($0.content)" } ?? "none")
                case .failure(let error): seen.append("\(error)")
                }
                if seen.count > written.count { break }
                try folder.write("a.plist", written[seen.count - 1])
            }
        }
        #expect(seen == ["int(1)", "int(2)", "Expected 0...10 at volume, found 11", "int(7)"])
    }

    @Test("a slow receiver gets the latest value, and the same one once")
    func slow() async throws {
        let store = try memoryStore()
        let provider = DefaultsProvider(store)
        var seen: [ConfigValue?] = []
        try await provider.watchValue(forKey: "n", type: .int) { updates in
            for await update in updates {
                seen.append(try update.get().value)
                if seen.count == 2 { break }
                for number in 1...100 { try store.set(PropertyList(number), at: ["n"]) }
            }
        }
        #expect(seen == [nil, 100])
    }

    @Test("a change beside the value is not told")
    func distinct() async throws {
        let store = try memoryStore()
        let provider = DefaultsProvider(store)
        async let other: Void = provider.watchValue(forKey: "other", type: .int) { updates in
            for await update in updates {
                let value = try update.get().value?.content
                if value == .int(50) { break }
                let next = if case .int(let number) = value { number + 1 } else { 1 }
                try store.set(PropertyList(next), at: ["other"])
            }
            try store.set(1, at: ["n"])
        }
        var seen: [ConfigValue?] = []
        try await provider.watchValue(forKey: "n", type: .int) { updates in
            for await update in updates {
                seen.append(try update.get().value)
                if seen.last == 1 { break }
            }
        }
        try await other
        #expect(seen == [nil, 1])
    }

    @Test("a snapshot has a transaction's changes together, while others write")
    func snapshots() async throws {
        let folder = try Folder()
        let store = try DefaultsStore.open(path: folder.file("a.plist"))
        let provider = DefaultsProvider(store)
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                for number in 1...300 {
                    try store.transaction { changes in
                        try changes.set(number, forKey: "a")
                        try changes.set(number, forKey: "b")
                    }
                }
                return 0
            }
            for _ in 0..<2 {
                group.addTask {
                    var different = 0
                    while true {
                        let snapshot = provider.snapshot()
                        let first = try snapshot.value(forKey: "a", type: .int).value
                        let second = try snapshot.value(forKey: "b", type: .int).value
                        if first != second { different += 1 }
                        if second == 300 { return different }
                    }
                }
            }
            for try await different in group { #expect(different == 0) }
        }
    }

    @Test("a watch of snapshots gives the one after each change")
    func snapshotUpdates() async throws {
        let folder = try Folder()
        let store = try DefaultsStore.open(path: folder.file("a.plist"))
        let config = ConfigReader(provider: DefaultsProvider(store))
        var seen: [Int?] = []
        try await config.watchSnapshot { updates in
            for await snapshot in updates {
                seen.append(snapshot.int(forKey: "n"))
                if seen.count == 3 { break }
                try folder.write("a.plist", ["n": seen.count])
            }
        }
        #expect(seen == [nil, 1, 2])
    }

    @Test("a cancelled task ends its watch, and with the last one goes what they held")
    func cancelled() async throws {
        let folder = try Folder()
        try await watchAndCancel(folder)
        // The waiting thread looks every 200 ms.
        let deadline = ContinuousClock.now.advanced(by: .seconds(20))
        while holdsFiles(in: folder), ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(20)) }
        #expect(!holdsFiles(in: folder), "nothing keeps the database open")
    }

    private func watchAndCancel(_ folder: Folder) async throws {
        let store = try DefaultsStore.open(path: folder.file("a.sqlite"))
        try store.set(1, at: ["n"])
        let provider = DefaultsProvider(store)
        let before = threads()
        let (started, continuation) = AsyncStream.makeStream(of: Void.self)
        let watches = (0..<200).map { number in
            Task {
                try await provider.watchValue(forKey: ["n\(number)"], type: .int) { updates in
                    var count = 0
                    for await _ in updates {
                        if count == 0 { continuation.yield() }
                        count += 1
                    }
                    return count
                }
            }
        }
        var begun = 0
        for await _ in started {
            begun += 1
            if begun == watches.count { break }
        }
        // Tests beside this one have threads, too.
        #expect(threads() < before + 100, "200 watches share a thread")
        for watch in watches { watch.cancel() }
        for watch in watches { #expect(try await watch.value == 1) }
        // A new one begins where the last has ended.
        try await provider.watchValue(forKey: "n", type: .int) { updates in
            for await update in updates {
                let found = try update.get()
                #expect(found.value == 1)
                break
            }
        }
        #expect(holdsFiles(in: folder))
    }

    @Test("watches come and go from many tasks while the store changes")
    func crowd() async throws {
        let store = try memoryStore()
        let provider = DefaultsProvider(store)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 1...500 {
                    try store.set(PropertyList(number), at: ["n"])
                    await Task.yield()
                }
                try store.set("end", at: ["end"])
            }
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<20 {
                        try await provider.watchValue(forKey: "n", type: .int) { updates in
                            for await _ in updates { break }
                        }
                    }
                    try await provider.watchValue(forKey: "end", type: .string) { updates in
                        for await update in updates where try update.get().value != nil { break }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try provider.value(forKey: "n", type: .int).value == 500)
    }

    /// Whether this process has a file of the folder open.
    private func holdsFiles(in folder: Folder) -> Bool {
        let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return open.contains { number in
            let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + number)
            return file?.hasPrefix(folder.path) == true
        }
    }

    /// The threads of this process.
    private func threads() -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
    }
}
