import Foundation
import PropertyLists
import Testing

@testable import DefaultsStorage

/// Limits of a store's size: a change that would pass them is refused, and every accepted one is read back.
@Suite struct StoreLimitTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// The engine and format of a store.
    enum Kind: CaseIterable {
        case xml, binary, json, database

        var name: String { self == .database ? "a.sqlite" : "a.plist" }
        var format: PropertyListFormat { self == .binary ? .binary : self == .json ? .json : .xml }
    }

    private func open(_ kind: Kind, bytes: Int = 1 << 28, nodes: Int = 1 << 24) throws -> DefaultsStore {
        try DefaultsStore.open(
            path: folder.file(kind.name),
            options: options {
                $0.format = kind.format
                $0.maximumBytes = bytes
                $0.maximumNodes = nodes
                $0.durability = .manual
            })
    }

    private func text(_ count: Int) throws -> PropertyList { try list(String(repeating: "x", count: count)) }

    @Test("bounds what is registered, all of it together")
    func boundsRegistered() throws {
        let store = try open(.xml, bytes: 1000, nodes: 10)
        defer { try? store.close() }
        let long = String(repeating: "x", count: 700)
        try store.register(list(["a": long]))
        try store.register(list(["a": long]))
        let bytes = #expect(throws: DefaultsError.self) { try store.register(list(["b": long])) }
        #expect(bytes?.code == .limitExceeded)
        #expect(
            bytes?.message(firstIndex: 0).hasPrefix("Expected registered defaults of at most 1000 bytes, found ")
                == true)
        let nodes = #expect(throws: DefaultsError.self) {
            try store.register(list(["c": Array(repeating: 1, count: 8)]))
        }
        #expect(
            nodes?.message(firstIndex: 0) == "Expected registered defaults of at most 10 values and keys, found 13")
        #expect(try store.dictionary(of: .registered) == list(["a": long]))
    }

    @Test("holds a call that changes many keys to the limits as a whole", arguments: Kind.allCases)
    func countsTogether(_ kind: Kind) throws {
        let store = try open(kind, bytes: 12_000)
        defer { try? store.close() }
        try store.set(text(7000), forKey: "a")
        try store.set(text(10), forKey: "b")
        let swapped = try list(["a": String(repeating: "y", count: 10), "b": String(repeating: "y", count: 7000)])
        try store.set(swapped, at: [])
        #expect(try store.snapshot() == swapped)
        try store.import(
            list(["b": String(repeating: "z", count: 10), "a": String(repeating: "z", count: 7000)]).serialized(
                as: .binary))
        #expect(try store.value(forKey: "a")?.string?.count == 7000)
        let before = try store.snapshot()
        let error = #expect(throws: DefaultsError.self) {
            try store.set(
                list(["a": String(repeating: "y", count: 15_000), "b": String(repeating: "y", count: 15_000)]), at: [])
        }
        #expect(error?.code == .limitExceeded)
        #expect(try store.snapshot() == before)
    }

    @Test("a call that counts as a whole leaves those behind it to be counted one by one", arguments: Kind.allCases)
    func countsOneByOne(_ kind: Kind) throws {
        let store = try open(kind, bytes: 5000)
        defer { try? store.close() }
        try store.transaction { transaction in
            try transaction.set(list(["a": 1]), at: [])
            #expect(throws: DefaultsError.self) { try transaction.set(text(6000), at: ["b"]) }
        }
        #expect(try store.snapshot() == list(["a": 1]))
    }

    // proves: G45
    @Test("lets a store that is too large shrink, whichever key grows", arguments: Kind.allCases)
    func shrinks(_ kind: Kind) throws {
        let wide = try open(kind)
        try wide.set(text(9000), forKey: "a")
        try wide.set(text(9000), forKey: "b")
        try wide.sync()
        let store = try open(kind, bytes: 5000)
        try store.set(list(["a": String(repeating: "y", count: 9001)]), at: [])
        #expect(try store.snapshot().keys == ["a"])
        try store.close()
        try wide.close()
    }

    @Test("writes and reads a file by the widest limits of the handles on it")
    func widest() throws {
        let narrow = try open(.binary, bytes: 1 << 20)
        try narrow.set(list(1), forKey: "a")
        try narrow.sync()
        let wide = try open(.binary, bytes: 1 << 31)
        // A file that the first handle's limits would not even read: nothing but zeros, which take no room on a disk.
        let size = (1 << 20) + (768 << 20) + 1
        #expect(truncate(folder.file("a.plist"), off_t(size)) == 0)
        try folder.age("a.plist", by: 60)
        let error = #expect(throws: DefaultsError.self) { try wide.sync() }
        #expect(error?.code == .corrupt)
        #expect(try wide.value(forKey: "a")?.integer == 1)
        try? narrow.close()
        try? wide.close()
    }

    /// How long a string can still be set.
    private func room(_ store: DefaultsStore) throws -> Int {
        var (least, most) = (0, 1 << 20)
        while least < most {
            let middle = (least + most + 1) / 2
            do {
                try store.set(text(middle), at: ["probe"])
                least = middle
            } catch let error as DefaultsError where error.code == .limitExceeded {
                most = middle - 1
            }
        }
        _ = try store.remove(at: ["probe"])
        return least
    }

    // MARK: - Refusals

    // proves: G45
    @Test("a change that would make the store too large is refused with its place, and nothing has changed")
    func refuses() throws {
        let store = try open(.xml, bytes: 1000)
        try store.set(list(["b": "x"]), at: ["a"])
        let before = try store.snapshot()
        let long = try text(1000)
        let message = "Expected a store of at most 1000 bytes, this would make it "
        for path in [["c"], ["a"], ["a", "b"], ["a", "d"], ["e", "f", "g"]] as [PropertyListPath] {
            let error = #expect(throws: DefaultsError.self) { try store.set(long, at: path) }
            #expect(error?.code == .limitExceeded)
            #expect(error?.path == path)
            #expect(error?.file == folder.file("a.plist"))
            #expect(error?.message.hasPrefix(message) == true)
        }
        #expect(throws: DefaultsError.self) { try store.set(list(["k": String(repeating: "x", count: 990)]), at: []) }
        #expect(try store.snapshot() == before)
        try store.sync()
    }

    @Test("a change that would make too many values and keys is refused")
    func refusesNodes() throws {
        let store = try open(.xml, nodes: 10)
        try store.set(list([1, 2, 3, 4, 5]), at: ["a"])
        let expected = DefaultsError(
            .limitExceeded, "Expected a store of at most 10 values and keys, this would make it 12", at: ["b", "c"],
            file: folder.file("a.plist"))
        #expect(throws: expected) { try store.set(list(1), at: ["b", "c"]) }
        try store.set(list(6), at: ["a", 5])
        try store.set(list(7), at: ["a", 6])
        #expect(throws: DefaultsError.self) { try store.set(list(8), at: ["a", 7]) }
        #expect(try store.snapshot() == list(["a": [1, 2, 3, 4, 5, 6, 7]]))
    }

    @Test(
        "in a transaction its own changes count, and a rolled back one leaves nothing behind", arguments: Kind.allCases
    )
    func transactions(kind: Kind) throws {
        let store = try open(kind, bytes: 2000)
        let before = try room(store)
        try store.transaction { transaction in
            try transaction.set(text(600), at: ["a"])
            #expect(throws: DefaultsError.self) { try transaction.set(text(1600), at: ["b"]) }
            _ = try transaction.remove(at: ["a"])
            try transaction.set(text(1000), at: ["b"])
        }
        #expect(throws: CancellationError.self) {
            try store.transaction { transaction in
                try transaction.set(text(500), at: ["c"])
                throw CancellationError()
            }
        }
        #expect(try store.keys() == ["b"])
        _ = try store.remove(at: ["b"])
        #expect(try room(store) == before)
    }

    @Test("setting a key again and again counts what it holds, not what it held", arguments: Kind.allCases)
    func repeats(kind: Kind) throws {
        let store = try open(kind, bytes: 3000)
        let before = try room(store)
        for round in 0..<200 {
            try store.set(text(1000), at: ["a"])
            try store.set(text(500), at: ["b", "c"])
            if round % 50 == 0 { try store.sync() }
            if round % 70 == 0 { _ = try store.remove(at: ["b"]) }
        }
        _ = try store.remove(at: ["a"])
        _ = try store.remove(at: ["b"])
        #expect(try room(store) == before)
    }

    /// Sees whether there is room for a string as long as this and no longer. Not by `room`, which has everything counted
    /// anew.
    private func expectRoom(_ count: Int, _ store: DefaultsStore) throws {
        #expect(throws: DefaultsError.self) { try store.set(text(count + 1), at: ["probe"]) }
        try store.set(text(count), at: ["probe"])
    }

    @Test("what another program takes away, and we took away too, is counted once", arguments: [Kind.xml, .database])
    func countsAnew(kind: Kind) throws {
        let store = try open(kind, bytes: 3000)
        let before = try room(store)
        try store.set(text(1000), at: ["a"])
        try store.sync()
        _ = try store.remove(at: ["a"])
        if kind == .database {
            try folder.execute("UPDATE defaults SET value = NULL", in: kind.name)
        } else {
            try folder.write("<plist><dict/></plist>", to: kind.name)
        }
        try store.refresh()
        try expectRoom(before, store)
    }

    /// The outcomes for changes that wait for their flush: they are flushed, or a transaction comes before.
    enum Outcome: CaseIterable {
        case flush, commit, rollback, failure
    }

    @Test(
        "what waits for its flush counts once, also in a transaction, and whatever comes of it",
        arguments: Outcome.allCases, [true, false])
    func countsAside(outcome: Outcome, isRemoval: Bool) throws {
        let store = try open(.xml, bytes: 3000)
        try store.set(text(1000), at: ["a"])
        try store.sync()
        if isRemoval { _ = try store.remove(at: ["a"]) } else { try store.set(text(800), at: ["b"]) }
        let left = try room(store)
        if outcome == .flush {
            try store.sync()
            return try expectRoom(left, store)
        }
        let transaction = try store.beginTransaction()
        #expect(throws: DefaultsError.self) { try transaction.set(text(left + 1), at: ["probe"]) }
        // Over changes set aside, which are counted already.
        if isRemoval {
            #expect(throws: DefaultsError.self) { try transaction.set(text(left + 5), at: ["a"]) }
        } else {
            try transaction.set(text(800 + left), at: ["b"])
            try transaction.set(text(800), at: ["b"])
        }
        try transaction.set(list(true), at: ["c"])
        switch outcome {
        case .commit:
            try transaction.commit()
            _ = try store.remove(at: ["c"])
        case .rollback: transaction.rollback()
        case .failure, .flush:
            unlink(folder.file)
            mkdir(folder.file, 0o700)
            #expect(throws: DefaultsError.self) { try transaction.commit() }
        }
        try expectRoom(left, store)
    }

    @Test(
        "before anything is refused, what replaces a stored value is counted as that", arguments: Kind.allCases,
        [true, false])
    func countsExactly(kind: Kind, isInTransaction: Bool) throws {
        let store = try open(kind, bytes: 3000)
        try store.set(text(1000), at: ["a"])
        try store.sync()
        let transaction = isInTransaction ? try store.beginTransaction() : nil
        try store.set(text(1001), at: ["a"])
        try store.set(text(1500), at: ["b"])
        #expect(throws: DefaultsError.self) { try store.set(text(500), at: ["c"]) }
        transaction?.rollback()
    }

    @Test(
        "what is replaced or removed inside a value makes room for as much", arguments: Kind.allCases, [true, false])
    func countsInside(kind: Kind, isInTransaction: Bool) throws {
        let store = try open(kind, bytes: 3000)
        try store.set(list(["x": ["z": 1]]), at: ["a"])
        let transaction = isInTransaction ? try store.beginTransaction() : nil
        let left = try room(store)
        for _ in 0..<3 {
            try store.set(text(1000), at: ["a", "x", "y"])
            try store.set(text(1500), at: ["a", "x", "y"])
            #expect(try store.remove(at: ["a", "x", "y"]))
        }
        try expectRoom(left, store)
        transaction?.rollback()
    }

    @Test("a change that fails is not counted")
    func failing() throws {
        let store = try open(.xml, bytes: 3000)
        try store.set(list(["b": 1]), at: ["a"])
        let before = try room(store)
        for _ in 0..<10 {
            #expect(throws: DefaultsError.self) { try store.set(text(500), at: ["a", 0]) }
            #expect(throws: DefaultsError.self) { try store.set(text(500), at: ["new", "c", 0]) }
        }
        try expectRoom(before, store)
    }

    // MARK: - Beyond the limits

    @Test("a store beyond its limits opens, says so, and may shrink", arguments: Kind.allCases)
    func beyond(kind: Kind) throws {
        do {
            let large = try open(kind)
            try large.set(text(3000), at: ["a"])
            try large.set(list(["c": 1]), at: ["b"])
            try large.close()
        }
        let store = try open(kind, bytes: 2000)
        let seen = Box<[DefaultsEvent]>([])
        let watch = try store.watchEvents { event in seen.change { $0.append(event) } }
        _ = try store.pump()
        watch.cancel()
        guard case .overLimit(folder.file(kind.name), nodes: 7, let bytes)? = seen.value.first, bytes > 3000 else {
            Issue.record("\(seen.value)")
            return
        }
        #expect(throws: DefaultsError.self) { try store.set(list(1), at: ["c"]) }
        #expect(throws: DefaultsError.self) { try store.set(list(1), at: ["b", "d"]) }
        #expect(throws: DefaultsError.self) { try store.set(text(3001), at: ["a"]) }
        try store.set(text(2990), at: ["a"])
        try store.set(list(2), at: ["b", "c"])
        try store.set(text(10), at: ["a"])
        try store.set(list(1), at: ["c"])
        try store.close()
        #expect(try open(kind).snapshot() == list(["a": "xxxxxxxxxx", "b": ["c": 2], "c": 1]))
    }

    @Test("a file in which 0.1.0 shared more than its reader took is opened and written")
    func sharedByOlder() throws {
        var limits = PropertyListLimits()
        limits.sharedBytes = 1 << 40
        var output = GrowableBuffer<UInt8>()
        let content = try list(["a": [String](repeating: String(repeating: "x", count: 70_000), count: 1000)])
        try content.write(as: .binary, to: &output, limits: limits)
        #expect(throws: PropertyListError.self) { try PropertyList(parsing: Array(output.contents), as: .binary) }
        try Data(Array(output.contents)).write(to: URL(fileURLWithPath: folder.file("a.plist")))
        do {
            let store = try open(.binary)
            try store.set(list(1), at: ["b"])
            try store.close()
        }
        #expect(try open(.binary).value(at: ["a"]) == content["a"])
    }

    // proves: G34
    @Test(
        "a file that is too large is not read, and is no damage",
        arguments: [DefaultsStore.Options.Corruption.error, .recover])
    func tooLarge(corruption: DefaultsStore.Options.Corruption) throws {
        try folder.write("{ \"a\": 1 }", to: "a.plist.bak")
        try folder.write("", to: "a.plist")
        let size = 1001 + (768 << 20)
        truncate(folder.file("a.plist"), off_t(size))
        let expected = DefaultsError(
            .limitExceeded, expected: "a file of at most \(size - 1) bytes", found: "\(size)",
            file: folder.file("a.plist"))
        #expect(throws: expected) {
            try DefaultsStore.open(
                path: folder.file("a.plist"),
                options: options {
                    $0.maximumBytes = (size - 1) - (768 << 20)
                    $0.onCorruption = corruption
                })
        }
        #expect(try folder.names() == ["a.plist", "a.plist.bak"])
    }

    // proves: G43
    @Test("a file that could not be read again is not written", arguments: [Kind.xml, .binary, .json])
    func tooLargeToWrite(kind: Kind) throws {
        let most = 20_000
        let limits = StoreLimits(bytes: most - StoreLimits(bytes: 0, nodes: 0).readableFile, nodes: 1000)
        let folder = try StoreFolder.open(self.folder.file(kind.name))
        let engine = try PropertyListFileEngine(
            folder, format: kind.format, EngineOptions(limits: limits))
        _ = try engine.lock(until: .after(.seconds(5)))
        defer { engine.unlock() }
        var state = State(StoredValues(emptyDictionary))
        let half = String(repeating: "x", count: most / 2)
        "a".withBytes { try? state.set(list(half), for: $0.bindMemory(to: UInt8.self)) }
        _ = try engine.commit(state)
        "b".withBytes { try? state.set(list("other" + half), for: $0.bindMemory(to: UInt8.self)) }
        let error = #expect(throws: DefaultsError.self) { try engine.commit(state) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.message.hasPrefix("Expected a file of at most \(most) bytes, found ") == true)
        #expect(engine.isCurrent)
        #expect(try self.folder.names().filter { $0.hasSuffix(".tmp") } == [])
    }

    // proves: G34
    @Test("a file that is too deep is a limit exceeded, and no damage")
    func tooDeep() throws {
        try folder.write("{ \"a\": 1 }", to: "a.plist.bak")
        let deep = "{\"a\":" + String(repeating: "[", count: 600) + String(repeating: "]", count: 600) + "}"
        try folder.write(deep, to: "a.plist")
        let error = #expect(throws: DefaultsError.self) {
            try DefaultsStore.open(path: folder.file("a.plist"), options: options { $0.onCorruption = .recover })
        }
        #expect(error?.code == .limitExceeded)
        #expect(try folder.names() == ["a.plist", "a.plist.bak"])
    }

    // MARK: - Accepted changes are read back

    /// A value that comes near the limits, of a kind that the file can hold.
    private func near(
        _ random: inout SystemRandomNumberGenerator, _ kind: Kind, _ bytes: Int
    ) throws -> PropertyList {
        let size = Int.random(in: 0...(bytes / 3), using: &random)
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return try list(String(repeating: "<&\"", count: size / 3))
        case 1: return try list(String(repeating: "ü字", count: size / 3))
        case 2: return try list([Int](repeating: 1 << 40, count: size / 20))
        case 3: return try list([String](repeating: String(repeating: "s", count: 40), count: size / 40))
        case 4: return try list([String(repeating: "k", count: size): true])
        case 5:
            let depth = [1, 20, 400, 508, 509, 510, 511, 512][Int.random(in: 0..<8, using: &random)]
            let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            return try PropertyList(parsing: Array(text.utf8), as: .json)
        case 6 where kind != .json: return try list([UInt8](repeating: 1, count: size))
        default: return try list(["a": ["b": ["c": size]], "d": [["e": -1], ["f": 0.1]]])
        }
    }

    // proves: G43
    @Test(
        "whatever set accepts is read back by who opens the store anew, and the count is the same",
        arguments: Kind.allCases)
    func readsBack(kind: Kind) throws {
        var random = SystemRandomNumberGenerator()
        for round in 0..<12 {
            let (bytes, nodes) = [(3000, 1 << 24), (30_000, 60), (600_000, 2000)][round % 3]
            for name in try folder.names() { unlink(folder.file(name)) }
            var refused = 0
            let (content, left) = try {
                let store = try open(kind, bytes: bytes, nodes: nodes)
                for _ in 0..<80 {
                    let before = try store.snapshot()
                    let keys = ["a", "b", "c", "d", "long key <&>"]
                    let key = keys[Int.random(in: 0..<keys.count, using: &random)]
                    do {
                        switch Int.random(in: 0..<12, using: &random) {
                        case 0: _ = try store.remove(at: [.key(key)])
                        case 1: _ = try store.remove(at: [.key(key), .key("a")])
                        case 2: try store.sync()
                        case 3...5:
                            try store.set(near(&random, kind, bytes), at: [.key(key), .key("x"), .key("y")])
                        case 6:
                            try store.transaction { transaction in
                                try transaction.set(near(&random, kind, bytes), at: [.key(key)])
                                try transaction.set(near(&random, kind, bytes), at: [.key("a"), .key("t")])
                            }
                        default: try store.set(near(&random, kind, bytes), at: [.key(key)])
                        }
                    } catch let error as DefaultsError where error.code == .limitExceeded {
                        refused += 1
                        #expect(try store.snapshot() == before)
                    } catch let error as DefaultsError where error.code == .pathMismatch {
                        #expect(try store.snapshot() == before)
                    }
                }
                try store.sync()
                let (content, left) = (try store.snapshot(), try room(store))
                try store.close()
                return (content, left)
            }()
            let again = try open(kind, bytes: bytes, nodes: nodes)
            #expect(try again.snapshot() == content)
            #expect(try room(again) == left)
            #expect(refused > 0)
        }
    }
}
