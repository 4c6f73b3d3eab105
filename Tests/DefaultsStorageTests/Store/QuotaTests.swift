import DefaultsStorage
import Foundation
import PropertyLists
import Testing

/// The size that a handle with a quota may give a part: changes of others count too.
@Suite struct QuotaTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(
        _ format: PropertyListFormat = .xml, _ name: String = "a.plist", _ durability: DefaultsDurability = .manual
    ) throws -> DefaultsStore {
        try DefaultsStore.open(
            path: folder.file(name),
            options: options {
                $0.format = format
                $0.durability = durability
            })
    }

    private func refusal(_ body: () throws -> Void) -> DefaultsError? {
        #expect(throws: DefaultsError.self) { try body() }
    }

    @Test("says the quota, the size that the part would have, and the place")
    func saysWhatAndWhere() throws {
        let store = try open()
        defer { try? store.close() }
        let part = try store.anotherHandle(quota: 1000, at: ["plugins", "clock"])
        defer { try? part.close() }
        try part.set(text(800), at: ["plugins", "clock", "face"])
        let before = try bytes(of: ["plugins", "clock"], in: store)
        let error = refusal { try part.set(text(300), at: ["plugins", "clock", "hands"]) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.path == ["plugins", "clock", "hands"])
        #expect(
            error?.message(firstIndex: 0).hasPrefix("Expected a part of at most 1000 bytes, this would make it ")
                == true)
        #expect(try bytes(of: ["plugins", "clock"], in: store) == before)
        try store.set(text(300), at: ["plugins", "clock", "hands"])
        let after = try bytes(of: ["plugins", "clock"], in: store)
        #expect(error?.message(firstIndex: 0).contains("make it \(after) at plugins.clock.hands") == true)
    }

    // proves: G99
    @Test("counts the values of others, lets the part shrink, and leaves the rest alone")
    func countsOthers() throws {
        let store = try open()
        defer { try? store.close() }
        let part = try store.anotherHandle(quota: 1000, at: ["p"])
        defer { try? part.close() }
        try part.set(text(100), at: ["p", "own"])
        try store.set(text(2000), at: ["p", "host"])
        #expect(refusal { try part.set(text(101), at: ["p", "own"]) }?.code == .limitExceeded)
        #expect(refusal { try part.set(list(1), at: ["p", "more"]) }?.code == .limitExceeded)
        try part.set(text(99), at: ["p", "own"])
        try part.set(text(1500), at: ["p", "host"])
        #expect(refusal { try part.set(text(1501), at: ["p", "host"]) }?.code == .limitExceeded)
        #expect(try part.remove(at: ["p", "host"]))
        try part.set(text(700), at: ["p", "own"])
        #expect(refusal { try part.set(text(2000), at: ["p"]) }?.code == .limitExceeded)
        try part.set(list(1), at: ["p"])
        try part.set(text(5000), at: ["q"])
        #expect(try store.remove(at: ["p"]))
        try part.set(text(700), at: ["p", "a", "b"])
        #expect(refusal { try part.set(text(700), at: ["p", "a", "c"]) }?.code == .limitExceeded)
    }

    @Test("is counted anew when another program has written the file")
    func countsOtherPrograms() throws {
        let store = try open()
        defer { try? store.close() }
        let part = try store.anotherHandle(quota: 1000, at: ["p"])
        defer { try? part.close() }
        func another(_ count: Int) throws {
            let value = try list(["p": ["host": String(repeating: "y", count: count)]])
            try Data(value.serialized(as: .xml)).write(to: URL(filePath: folder.file("a.plist")), options: .atomic)
            try store.sync()
        }
        try part.set(text(800), at: ["p", "own"])
        try store.sync()
        try another(1)
        try part.set(text(700), at: ["p", "own"])
        try another(600)
        #expect(refusal { try part.set(text(701), at: ["p", "own"]) }?.code == .limitExceeded)
        try part.set(text(200), at: ["p", "own"])
    }

    @Test("has room again when all of it is removed, by whichever handle")
    func countsRemovals() throws {
        let store = try open()
        defer { try? store.close() }
        let part = try store.anotherHandle(quota: 1000, at: ["clock"])
        defer { try? part.close() }
        for handle in [store, part] {
            try part.set(text(800), at: ["clock", "face"])
            #expect(try handle.remove(at: ["clock"]))
        }
        try part.set(text(800), at: ["clock", "face"])
    }

    @Test("holds whole values of a key that is above the part")
    func holdsAbove() throws {
        let store = try open()
        defer { try? store.close() }
        let part = try store.anotherHandle(quota: 500, at: ["p", "a"])
        defer { try? part.close() }
        let long = String(repeating: "x", count: 600)
        #expect(refusal { try part.set(list(["a": long]), at: ["p"]) }?.code == .limitExceeded)
        try part.set(list(["b": long]), at: ["p"])
        try part.set(text(400), at: ["p", "a"])
        try part.set(list(["b": long]), at: ["p"])
        try part.set(text(400), at: ["p", "a"])
        #expect(refusal { try part.set(text(600), at: ["p", "a"]) }?.code == .limitExceeded)
    }

    @Test("counts a lower layer's array that a set copies, and nothing else of lower layers")
    func countsCopies() throws {
        let store = try open()
        defer { try? store.close() }
        let long = String(repeating: "x", count: 600)
        try store.register(list(["p": ["long": long, "array": [long]]]))
        let part = try store.anotherHandle(quota: 500, at: ["p"])
        defer { try? part.close() }
        #expect(refusal { try part.set(list(1), at: ["p", "array", 1]) }?.code == .limitExceeded)
        #expect(try store.dictionary(of: .application).count == 0)
        try part.set(list(1), at: ["p", "n"])
    }

    @Test("counts at each set of a transaction, and anew when it is rolled back")
    func countsInTransactions() throws {
        let store = try open()
        defer { try? store.close() }
        let part = try store.anotherHandle(quota: 1000, at: ["p"])
        defer { try? part.close() }
        try part.set(text(100), at: ["p", "a"])
        let first = try part.beginTransaction()
        try first.set(text(700), at: ["p", "b"])
        #expect(refusal { try first.set(text(300), at: ["p", "c"]) }?.code == .limitExceeded)
        first.rollback()
        try part.set(text(700), at: ["p", "c"])
        try part.transaction { try $0.set(text(10), at: ["p", "c"]) }
        try part.set(text(700), at: ["p", "d"])
        #expect(refusal { try part.set(text(300), at: ["p", "e"]) }?.code == .limitExceeded)
    }

    @Test("of no path is about the whole store, and a handle made of one has it, too")
    func holdsTheWhole() throws {
        let store = try open()
        defer { try? store.close() }
        let whole = try store.anotherHandle(quota: 1000)
        defer { try? whole.close() }
        #expect(refusal { try whole.set(text(1000), at: ["a"]) }?.code == .limitExceeded)
        let part = try whole.anotherHandle(quota: 100, at: ["a"]).anotherHandle()
        defer { try? part.close() }
        #expect(refusal { try part.set(text(100), at: ["a"]) }?.code == .limitExceeded)
        #expect(refusal { try part.set(text(1000), at: ["b"]) }?.code == .limitExceeded)
        #expect(refusal { _ = try store.anotherHandle(quota: 1, at: [0]) }?.code == .pathMismatch)
    }

    // proves: G99
    @Test("is exact, whatever has happened before", arguments: PropertyListFormat.allCases.filter { $0 != .openStep })
    func isExact(_ format: PropertyListFormat) throws {
        var random = Seeded(seed: 7)
        for durability in [DefaultsDurability.manual, .immediate] {
            let store = try open(format, format == .json ? "a.json" : "a.plist", durability)
            defer { try? store.close() }
            var changed = try BoundedPart(of: store, format)
            defer { try? changed.part.close() }
            for _ in 0..<1500 { try changed.change(using: &random) }
            changed.open?.rollback()
            #expect(changed.refused > 5)
        }
    }
}

private func text(_ count: Int) throws -> PropertyList { try list(String(repeating: "x", count: count)) }

/// The bytes that the value takes in memory.
private func bytes(of path: PropertyListPath, in store: DefaultsStore) throws -> Int {
    try store.dictionary(of: .application).value(at: path)?.size.bytes ?? 0
}

/// A part of a store with a quota, and what changes it.
private struct BoundedPart {
    let store: DefaultsStore
    let part: DefaultsStore
    let format: PropertyListFormat
    let root: PropertyListPath = ["p", "q"]
    let quota = 700
    var open: DefaultsTransaction?
    var refused = 0

    init(of store: DefaultsStore, _ format: PropertyListFormat) throws {
        self.store = store
        self.format = format
        part = try store.anotherHandle(quota: quota, at: root)
    }

    private static let paths: [PropertyListPath] = [
        ["p"], ["p", "q"], ["p", "q", "a"], ["p", "q", "b"], ["p", "q", "b", "c"], ["p", "q", "l"],
        ["p", "q", "l", 0], ["p", "q", "l", 1], ["p", "r"], ["o"],
    ]

    private func size() throws -> Int { try bytes(of: root, in: store) }

    /// Makes a change of any kind, by the part's handle or by the store's.
    mutating func change(using random: inout Seeded) throws {
        let path = try #require(Self.paths.randomElement(using: &random))
        let value = try #require(
            [
                text(Int.random(in: 0..<400, using: &random)), list(["c": ["d": 1]]), list([1, "two"]),
                list(["q": ["a": String(repeating: "y", count: 300)]]), list([String: Int]()), list("a\u{e9}&<"),
            ].randomElement(using: &random))
        switch Int.random(in: 0..<12, using: &random) {
        case 0: _ = try? part.remove(at: path)
        case 1: try? store.set(value, at: path)
        case 2: _ = try? store.remove(at: path)
        case 3 where open == nil: open = try part.beginTransaction()
        case 4:
            try open?.commit()
            open = nil
        case 5:
            open?.rollback()
            open = nil
        case 6 where open == nil: try store.sync()
        default: try set(value, at: path)
        }
    }

    /// Sets by the part's handle: what is accepted is within the quota or not larger than before, what is refused is
    /// larger, and the error says by how much.
    private mutating func set(_ value: PropertyList, at path: PropertyListPath) throws {
        let before = try size()
        let expected = try sizeAfterSetting(value, at: path)
        do {
            try part.set(value, at: path)
            let after = try size()
            #expect(after <= max(quota, before))
            if let expected { #expect(after == expected) }
        } catch let error as DefaultsError where error.code == .limitExceeded {
            refused += 1
            if let expected {
                #expect(expected > max(quota, before))
                #expect(error.message(firstIndex: 0).contains("would make it \(expected) at "))
            }
            #expect(try size() == before)
        } catch is DefaultsError {
        }
    }

    /// The size of the part if the store's handle set the value; nil where that is an error. An inner transaction that
    /// is rolled back would break the outer one: with one open there is no answer.
    private func sizeAfterSetting(_ value: PropertyList, at path: PropertyListPath) throws -> Int? {
        guard let probe = try? store.beginTransaction() else { return nil }
        guard open == nil else {
            try probe.commit()
            return nil
        }
        defer { probe.rollback() }
        guard (try? store.set(value, at: path)) != nil else { return nil }
        return try size()
    }
}

/// Numbers that are the same in each run.
private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
}
