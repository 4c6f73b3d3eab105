import Foundation
import KVCodable
import KeyValueCoding
import PropertyLists
import Synchronization
import Testing

private struct Window: Codable, Equatable, Sendable {
    var title: String
    var tabs: [Tab] = []
    var grid: [[Int]] = []
    var opened: Date?
    var weight: Double?
    var theme: Theme?
    var wide: Int128?
}

private struct Tab: Codable, Equatable, Sendable {
    var name: String
}

private enum Theme: String, Codable, Sendable { case light, dark }

/// A type that reports errors of its own.
private struct Even: Codable, Equatable, Sendable {
    var number: Int

    init(_ number: Int) { self.number = number }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        number = try container.decode(Int.self)
        if number % 2 != 0 { throw DecodingError.dataCorruptedError(in: container, debugDescription: "odd") }
    }

    func encode(to encoder: any Encoder) throws {
        if number % 2 != 0 {
            throw EncodingError.invalidValue(number, .init(codingPath: encoder.codingPath, debugDescription: "odd"))
        }
        var container = encoder.singleValueContainer()
        try container.encode(number)
    }
}

private struct Refusal: LocalizedError, CustomStringConvertible {
    var description: String { "no date today" }
    var errorDescription: String? { description }
}

/// Values inside values.
private final class Chain: Codable, Sendable {
    let next: Chain?
    init(length: Int) { next = length > 1 ? Chain(length: length - 1) : nil }
}

/// The parts of a `DecodingError` or an `EncodingError`.
private struct Told: Equatable, CustomStringConvertible {
    var kind: String
    var path: [String]
    var text: String

    var description: String { "\(kind) \(path) \(text)" }

    init(_ kind: String, _ path: [String], _ text: String) { (self.kind, self.path, self.text) = (kind, path, text) }

    init?(_ error: (any Error)?) {
        let (kind, context): (String, DecodingError.Context)
        switch error {
        case DecodingError.typeMismatch(_, let found)?: (kind, context) = ("typeMismatch", found)
        case DecodingError.valueNotFound(_, let found)?: (kind, context) = ("valueNotFound", found)
        case DecodingError.keyNotFound(_, let found)?: (kind, context) = ("keyNotFound", found)
        case DecodingError.dataCorrupted(let found)?: (kind, context) = ("dataCorrupted", found)
        case EncodingError.invalidValue(_, let found)?:
            self.init("invalidValue", Self.steps(found.codingPath), found.debugDescription)
            return
        default: return nil
        }
        self.init(kind, Self.steps(context.codingPath), context.debugDescription)
    }

    private static func steps(_ path: [any CodingKey]) -> [String] {
        path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }
    }
}

/// Errors of a typed access say where in the store, and not only where in the value.
@Suite struct ErrorPathTests {
    let store: DefaultsStore

    init() throws { store = try memoryStore() }

    private func expect(
        _ kind: String, _ path: [String], _ text: String, location: SourceLocation = #_sourceLocation,
        _ body: () throws -> Void
    ) {
        let error = #expect(throws: (any Error).self, sourceLocation: location) { try body() }
        #expect(Told(error) == Told(kind, path, text), sourceLocation: location)
    }

    // proves: G42
    @Test("a value that is read and does not fit is named from the root of the store")
    func reads() throws {
        try store.set(
            list(
                [
                    "volume": "loud", "untitled": [String: Int](),
                    "window": [
                        "title": "x", "tabs": [["name": "a"], ["name": 5]], "grid": [[1, 2], [3, "four"]],
                        "theme": "blue",
                    ] as [String: Any],
                    "a.b c": ["$null"],
                ] as [String: Any]), at: [])
        expect("typeMismatch", ["volume"], "Expected BinaryInteger at volume, found String") {
            _ = try store.decode(Int.self, forKey: "volume")
        }
        expect("typeMismatch", ["window", "tabs", "[1]", "name"], "Expected String at window.tabs[1].name, found Int") {
            _ = try store.decode(Window.self, forKey: "window")
        }
        expect("keyNotFound", ["untitled"], "Dictionary does not contain key untitled.title") {
            _ = try store.decode(Window.self, forKey: "untitled")
        }
        expect(
            "typeMismatch", ["window", "grid", "[1]", "[1]"],
            "Expected BinaryInteger at window.grid[1][1], found String"
        ) {
            _ = try store.decode([[Int]].self, at: ["window", "grid"])
        }
        expect("typeMismatch", ["window", "tabs", "[1]", "name"], "Expected String at window.tabs[1].name, found Int") {
            _ = try store.decode(Tab.self, at: ["window", "tabs", 1])
        }
        expect("dataCorrupted", ["window", "theme"], "Cannot initialize Theme from invalid String value blue") {
            _ = try store.decode(Theme.self, at: ["window", "theme"])
        }
        expect("valueNotFound", ["a.b c", "[0]"], "Expected BinaryInteger at a.b c[0], found nil") {
            _ = try store.decode([Int].self, forKey: "a.b c")
        }
    }

    @Test("a value that is decoded from the whole store is named from its root, and the root as SELF")
    func readsRoot() throws {
        try store.set(list(["title": 5]), at: [])
        expect("typeMismatch", ["title"], "Expected String at title, found Int") {
            _ = try store.decode(Window.self, at: [])
        }
        expect("typeMismatch", [], "Expected Array<Any> at SELF, found Dictionary<String, Any>") {
            _ = try store.decode([Int].self, at: [])
        }
    }

    // proves: G38
    @Test("a value that cannot be encoded is named from the root of the store, and nothing is changed")
    func writes() throws {
        try store.set(list(["title": "x", "extra": 1]), at: ["window"])
        let before = try store.snapshot()
        var encoder = KeyValueEncoder()
        encoder.nonConformingFloatEncodingStrategy = .throw
        encoder.dateEncodingStrategy = .custom { _ in throw Refusal() }
        let dated = Window(title: "x", opened: Date())
        expect("invalidValue", ["window", "opened"], "Date at window.opened cannot be encoded. no date today") {
            try store.encode(dated, forKey: "window", encoder: encoder)
        }
        expect("invalidValue", ["new", "[1]", "opened"], "Date at new[1].opened cannot be encoded. no date today") {
            try store.encode([Window(title: "y"), dated], forKey: "new", encoder: encoder)
        }
        expect(
            "invalidValue", ["window", "tabs", "[0]", "weight"],
            "Double at window.tabs[0].weight cannot be encoded. inf is not a finite number"
        ) {
            try store.encode(
                Window(title: "x", weight: .infinity), at: ["window", "tabs", 0], encoder: encoder)
        }
        expect(
            "invalidValue", ["a", "wide"], "Int128 at a.wide cannot be encoded. \(Int128.max) needs more than 64 bits"
        ) {
            try store.encode(Window(title: "x", wide: .max), forKey: "a")
        }
        #expect(try store.snapshot() == before)
    }

    @Test("a type's own errors have the whole path where they use their coder's")
    func ownErrors() throws {
        try store.set(list([2, 4, 5]), at: ["numbers"])
        expect("dataCorrupted", ["numbers", "[2]"], "odd") { _ = try store.decode([Even].self, forKey: "numbers") }
        expect("invalidValue", ["more", "[1]"], "odd") { try store.encode([Even(2), Even(3)], forKey: "more") }
    }

    @Test("a change in a transaction tells the same, and is rolled back")
    func updates() throws {
        try store.set(list([2, 4]), at: ["numbers"])
        expect("invalidValue", ["numbers", "[0]"], "odd") {
            try store.update([Even].self, forKey: "numbers") { $0 = [Even(1)] }
        }
        expect("typeMismatch", ["numbers", "[0]"], "Expected String at numbers[0], found Int") {
            try store.update([String].self, forKey: "numbers") { $0 = nil }
        }
        expect("typeMismatch", ["numbers", "[1]"], "Expected String at numbers[1], found Int") {
            try store.transaction { _ in
                try store.encode("x", at: ["numbers", 0])
                _ = try store.decode([String].self, forKey: "numbers")
            }
        }
        #expect(try store.decode([Even].self, forKey: "numbers") == [Even(2), Even(4)])
    }

    @Test("a property and a sequence of values tell the same", .timeLimit(.minutes(1)))
    func observers() async throws {
        try store.set(list(["name": 5]), at: ["tab"])
        let told = Told("typeMismatch", ["tab", "name"], "Expected String at tab.name, found Int")
        let tab = Preference(wrappedValue: Tab(name: "none"), "tab", in: store)
        #expect(tab.wrappedValue == Tab(name: "none"))
        #expect(Told(tab.error()) == told)
        let number = Preference(wrappedValue: Even(0), "number", in: store)
        number.wrappedValue = Even(3)
        #expect(Told(number.error()) == Told("invalidValue", ["number"], "odd"))
        do {
            for try await _ in store.values(Tab.self, forKey: "tab") { Issue.record("A value that does not fit") }
        } catch {
            #expect(Told(error) == told)
        }
    }

    @Test("strategies are given paths inside the value, and keys that are left over are named from the root")
    func strategies() throws {
        struct Seen: Codable {
            var windows: [Window]
        }
        try store.set(
            list([
                "windows": [
                    ["title": "x", "tabs": [["name": "a", "note": 1]], "grid": [[Int]](), "extra": 1] as [String: Any]
                ]
            ]), at: ["ui"])
        let seen = Mutex<Set<String>>([])
        let strategy = { @Sendable (path: [any CodingKey]) -> any CodingKey in
            seen.withLock { _ = $0.insert(path.map(\.stringValue).joined(separator: "/")) }
            return path[path.count - 1]
        }
        var decoder = KeyValueDecoder()
        decoder.keyDecodingStrategy = .custom(strategy)
        decoder.leftOverKeyDecodingStrategy = .throw
        expect(
            "dataCorrupted", ["ui", "windows", "[0]", "extra"],
            "Keys are left over: ui.windows[0].extra, ui.windows[0].tabs[0].note"
        ) { _ = try store.decode(Seen.self, forKey: "ui", decoder: decoder) }
        #expect(seen.withLock { $0.contains("windows") && $0.contains("windows/Index 0/tabs/Index 0/name") })
        #expect(seen.withLock { $0.allSatisfy { $0.hasPrefix("windows") } })
        seen.withLock { $0 = [] }
        var encoder = KeyValueEncoder()
        encoder.keyEncodingStrategy = .custom(strategy)
        try store.encode(Seen(windows: [Window(title: "x")]), forKey: "new", encoder: encoder)
        #expect(seen.withLock { $0.contains("windows") && $0.contains("windows/Index 0/title") })
        #expect(seen.withLock { $0.allSatisfy { $0.hasPrefix("windows") } })
    }

    @Test("a value that is too deep is named by what holds it")
    func tooDeep() throws {
        let text = "Values at chain are nested deeper than 512 levels"
        let error = #expect(throws: EncodingError.self) {
            try store.encode(Chain(length: 600), forKey: "chain")
        }
        #expect(Told(error)?.text == text)
        #expect(Told(error)?.path.first == "chain")
    }

    @Test("a damaged archive is named by its place in the store")
    func archives() throws {
        let damaged = try list(["$archiver": "NSKeyedArchiver", "$version": 100_000, "$objects": 5])
        try store.set(list(["tab": damaged]), at: ["old"])
        let text = "Expected an array as $objects at old.tab, found 5"
        let declared = try #require(try TypeRegistry().declare("struct Tab { name: String }").first)
        let error = #expect(throws: PropertyListError.self) {
            try store.migrateArchive(at: ["old", "tab"], to: declared)
        }
        #expect(error?.description == text)
    }

    // proves: G58
    @Test("a declared type and the Swift type of its shape tell the same of a value in a store")
    func declared() throws {
        let types = try TypeRegistry().declare(
            "struct Window { title: String; tabs: [Tab] = []; grid: [[Int]] = [] } struct Tab { name: String }")
        let type = try #require(types.first { $0.description == "Window" })
        let values: [Any] = [
            ["title": 5], ["title": "x", "tabs": [["name": true]], "grid": [Int]()] as [String: Any],
            ["title": "x", "tabs": [Int](), "grid": [[1], [1.5]]] as [String: Any], "none",
        ]
        for value in values {
            try store.set(list(value), at: ["window"])
            let own = #expect(throws: DecodingError.self) { try store.decode(Window.self, forKey: "window") }
            let declared = #expect(throws: TypeError.self) { try store.value(at: ["window"], as: type) }
            #expect(Told(own)?.text == declared?.description)
        }
    }
}
