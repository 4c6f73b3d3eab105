import CodableTypes
import DefaultsStorage
import Foundation
import KVCodable
import PropertyLists
import TestSupport
import Testing

/// Get after set gives what was set, whatever is stored already and whatever other programs add.
@Suite struct SetLawTests {
    /// 20,000, or KVCODABLE_MERGES.
    private static let rounds = ProcessInfo.processInfo.environment["KVCODABLE_MERGES"].flatMap { Int($0) } ?? 20_000

    private static let language = """
        enum Shape { circle(radius: Double = 1, note: String?), empty, pair(Int, Int) }
        enum Mode: String { plain, bold }
        struct Item { id: Int; name: String?; sizes: [Int] = [] }
        struct Window { width: Int = 640; title: String? @key(window_title); mode: Mode = plain; shape: Shape? }
        struct Settings { window: Window = [:]; items: [Item] = []; windows: [String: Window] = [:]; words: [String]?
          shapes: [Shape] = []; volume: Double = 0.5 }
        """

    // proves: G15
    @Test("of values with a type, and of values as they are")
    func typed() throws {
        let registry = TypeRegistry()
        try registry.declare(Self.language)
        let type = try registry.type("Settings")
        var random = RandomValues(seed: 7)
        let store = try memoryStore()
        for round in 0..<Self.rounds {
            if round % 100 == 0 { try store.setStored(random.foreign(), at: ["s"]) }
            let value = random.settings()
            if random.number(4) == 0 {
                try store.set(value, at: ["s"])
                #expect(try store.value(at: ["s"]) == value, "round \(round)")
                continue
            }
            let before = try? store.value(at: ["s"], as: type)
            let options = CodableType.EncodeOptions(ancestor: random.number(2) == 0 ? before.flatMap { $0 } : nil)
            // What the program had may be any part of the truth: a field that is left out of both keeps what it has.
            let given = options.ancestor == nil ? value : try filled(value, type)
            try store.set(given, at: ["s"], as: type, options: options)
            #expect(try store.value(at: ["s"], as: type) == filled(value, type), "round \(round)")
        }
    }

    /// The value with the type's defaults.
    private func filled(_ value: PropertyList, _ type: CodableType) throws -> PropertyList {
        try type.decode(type.encode(value).list)
    }

    /// Writes some of its scenarios for the tests of other languages, which run them as well.
    @Test("over layers, locks and unset paths: other paths keep their values, and nothing of a lower layer is copied")
    func layered() throws {
        try Self.write((0..<300).map { try RandomScenario(seed: $0).scenario() })
        for seed in 0..<UInt64(Self.rounds / RandomScenario.length) {
            let list = try RandomScenario(seed: seed).scenario()
            let engine = list["engines"]?.elements.map { $0 }.first?.string ?? ""
            let mismatches = try ScenarioSteps.run(ScenarioTests.Scenario(list: list, engine: engine))
            guard let mismatch = mismatches.first else { continue }
            Issue.record(
                "random \(seed), \(engine): \(mismatch)\n\(String(decoding: try list.serialized(as: .json), as: UTF8.self))"
            )
            return
        }
    }

    private static func write(_ scenarios: [PropertyList]) throws {
        let folder = testsFolder.deletingLastPathComponent().appending(path: "build/scenarios")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let content: PropertyList = ["in": ["swift", "c", "lua"], "scenarios": PropertyList(scenarios)]
        try PropertyListFile.write(content, to: folder.appending(path: "law.json").path, as: .json)
    }

    @Test("of values of Swift types, beside keys that the types do not know")
    func codable() throws {
        struct Item: Codable, Hashable { var id: Int, name: String?, sizes: [Int] }
        enum Shape: Codable, Equatable {
            case circle(radius: Double, note: String?)
            case empty
            case pair(Int, Int)
        }
        struct Settings: Codable, Equatable {
            var items: [Item], title: String?, shape: Shape, set: Set<Item>, words: [String: Int]
        }
        var random = RandomValues(seed: 8)
        func item(_ id: Int) -> Item {
            Item(id: id, name: random.number(2) == 0 ? nil : "n", sizes: (0..<random.number(3)).map { $0 })
        }
        let store = try memoryStore()
        for round in 0..<(Self.rounds / 4) {
            if round % 50 == 0 { try store.setStored(random.foreign(), at: ["s"]) }
            let shapes: [Shape] = [.circle(radius: 2, note: nil), .circle(radius: 1, note: "x"), .empty, .pair(1, 2)]
            let settings = Settings(
                items: (0..<random.number(4)).map { item($0) }.shuffled(using: &random.numbers),
                title: random.number(2) == 0 ? nil : "t", shape: shapes[random.number(4)],
                set: Set((0..<random.number(4)).map { item($0) }), words: random.number(2) == 0 ? ["a": 1] : ["b": 2])
            try store.encode(settings, forKey: "s")
            #expect(try store.decode(Settings.self, forKey: "s") == settings, "round \(round)")
            try store.setStored(PropertyList(Int64(round)), at: ["s", "unknown"])
            try store.encode(settings, forKey: "s")
            #expect(try store.stored(at: ["s", "unknown"])?.integer == Int64(round))
        }
    }

    @Test("and another program's change of another part stays, also where the program saves later")
    func shared() throws {
        let registry = TypeRegistry()
        try registry.declare(Self.language)
        let type = try registry.type("Settings")
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("a.plist").path
        var random = RandomValues(seed: 9)
        var options = DefaultsStore.Options()
        options.durability = .manual
        for round in 0..<(Self.rounds / 100) {
            try PropertyListFile.write(["s": random.foreign(), "other": 0], to: path, as: .xml)
            let store = try DefaultsStore.open(path: path, options: options)
            let value = try filled(random.settings(), type)
            try store.set(value, at: ["s"], as: type)
            let file = try #require(try PropertyListFile.read(path)).list
            let theirs = try file.setting(PropertyList(round), at: ["s", "window", "unknown"])
                .setting(PropertyList(round), at: ["other"])
            try PropertyListFile.write(theirs, to: path, as: .xml)
            try store.sync()
            #expect(try store.value(at: ["s"], as: type) == value, "round \(round)")
            #expect(try store.stored(at: ["s", "window", "unknown"]) == PropertyList(round), "round \(round)")
            try store.close()
            #expect(try PropertyListFile.read(path)?.list["other"] == PropertyList(round))
        }
    }
}

/// Random settings in program form, and stored trees of another program.
private struct RandomValues {
    var numbers: SeededGenerator

    init(seed: UInt64) { numbers = SeededGenerator(seed: seed) }

    mutating func number(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &numbers) }

    private mutating func maybe(_ key: String, _ value: PropertyList, in entries: inout [(String, PropertyList)]) {
        if number(2) == 0 { entries.append((key, value)) }
    }

    private func dictionary(_ entries: [(String, PropertyList)]) -> PropertyList {
        PropertyList(Dictionary(entries) { first, _ in first })
    }

    mutating func settings() -> PropertyList {
        var entries: [(String, PropertyList)] = []
        maybe("window", window(), in: &entries)
        maybe("items", PropertyList((0..<number(4)).map { item($0) }.shuffled(using: &numbers)), in: &entries)
        maybe("windows", dictionary((0..<number(3)).map { ("w\($0)", window()) }), in: &entries)
        maybe("words", PropertyList((0..<number(4)).map { _ in PropertyList(["a", "b"][number(2)]) }), in: &entries)
        maybe("shapes", PropertyList((0..<number(3)).map { _ in shape() }), in: &entries)
        maybe("volume", PropertyList([0.5, 0.25][number(2)]), in: &entries)
        return dictionary(entries)
    }

    private mutating func window() -> PropertyList {
        var entries: [(String, PropertyList)] = []
        maybe("width", PropertyList([640, 800][number(2)]), in: &entries)
        maybe("title", PropertyList("t"), in: &entries)
        maybe("mode", PropertyList(["plain", "bold"][number(2)]), in: &entries)
        maybe("shape", shape(), in: &entries)
        return dictionary(entries)
    }

    private mutating func item(_ id: Int) -> PropertyList {
        var entries: [(String, PropertyList)] = [("id", PropertyList(id))]
        maybe("name", PropertyList("n\(number(2))"), in: &entries)
        maybe("sizes", PropertyList((0..<number(3)).map { PropertyList($0) }), in: &entries)
        return dictionary(entries)
    }

    private mutating func shape() -> PropertyList {
        switch number(4) {
        case 0: ["circle": ["radius": 2.5]]
        case 1: ["circle": ["radius": 1.0, "note": "x"]]
        case 2: ["empty": [:]]
        default: ["pair": ["_0": 1, "_1": 2]]
        }
    }

    /// What a newer program may have stored.
    mutating func foreign() -> PropertyList {
        [
            "window": ["width": 1, "window_title": "old", "newer": 5, "mode": number(2) == 0 ? "bold" : "fancy"],
            "items": [["id": 1, "token": "a"], ["id": 0, "token": "b", "sizes": [9]]],
            "shapes": [["circle": ["radius": 9.0, "blur": 1]]], "later": [1, 2],
        ]
    }
}
