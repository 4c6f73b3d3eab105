import Foundation
import KVCodable
import KeyValueCoding
import PropertyLists
import Testing

private struct Item: Codable, Hashable, Sendable {
    var id: Int
    var note: String?
}

private enum Level: String, Codable { case low, high }

/// What newer programs keep in a stored value, under keys that the type does not know.
@Suite struct UnknownKeyTests {
    let store: DefaultsStore

    init() throws { store = try memoryStore() }

    /// Two records with unknown keys.
    static let records: PropertyList = [["id": 1, "token": "of 1"], ["id": 2, "token": "of 2"]]

    /// The records at a path as `id:token`, in their order.
    private func tokens(_ path: PropertyListPath) throws -> [String] {
        try #require(try store.stored(at: path)).elements.map {
            "\($0["id"]?.integer ?? 0):\($0["token"]?.string ?? "-")"
        }
    }

    @Test("stay where a set of records stands in the values of a dictionary")
    func setsInDictionary() throws {
        try store.set(["a": Self.records, "b": Self.records] as PropertyList, forKey: "k")
        try store.update([String: Set<Item>].self, forKey: "k") { $0?["a"]?.insert(Item(id: 3)) }
        #expect(try tokens(["k", "a"]).sorted() == ["1:of 1", "2:of 2", "3:-"])
        #expect(try tokens(["k", "b"]).sorted() == ["1:of 1", "2:of 2"])
    }

    @Test("stay in a dictionary by an enum where one value changes")
    func dictionaryByEnum() throws {
        for _ in 0..<10 {
            try store.set(
                ["low", ["id": 1, "token": "a"], "high", ["id": 2, "token": "b"]] as PropertyList, forKey: "k")
            try store.update([Level: Item].self, forKey: "k") { $0?[.low]?.note = "x" }
            let stored = try #require(try store.stored(at: ["k"]))
            let records = stored.elements.filter { $0.kind == .dictionary }
            #expect(Set(records.map { $0["token"]?.string }) == ["a", "b"])
            #expect(records.first { $0["id"] == 1 } == ["id": 1, "token": "a", "note": "x"])
        }
    }

    @Test("stay in a dictionary by whole numbers")
    func dictionaryByNumber() throws {
        try store.set(["1": ["id": 1, "token": "a"], "22": ["id": 2, "token": "b"]] as PropertyList, forKey: "k")
        try store.update([Int: Item].self, forKey: "k") { $0?[22]?.note = "x" }
        #expect(
            try store.stored(at: ["k"]) == ["1": ["id": 1, "token": "a"], "22": ["id": 2, "token": "b", "note": "x"]])
    }

    private enum Content: Codable, Equatable {
        case one(Item)
        case many(items: [Item], title: String?)
    }

    @Test("stay in the values of a case, and go with the case")
    func cases() throws {
        try store.set(["many": ["items": Self.records, "token": "t"]] as PropertyList, forKey: "k")
        try store.encode(Content.many(items: [Item(id: 2), Item(id: 1)], title: "new"), forKey: "k")
        #expect(try tokens(["k", "many", "items"]) == ["2:of 2", "1:of 1"])
        #expect(try store.stored(at: ["k", "many", "token"]) == "t")
        try store.encode(Content.one(Item(id: 1)), forKey: "k")
        #expect(try store.stored(at: ["k"]) == ["one": ["_0": ["id": 1]]])
    }

    @Test("stay beside an optional that becomes nil")
    func optionals() throws {
        try store.set([["id": 1, "note": "x", "token": "t"]] as PropertyList, forKey: "k")
        try store.update([Item].self, forKey: "k") { $0?[0].note = nil }
        #expect(try store.stored(at: ["k"]) == [["id": 1, "token": "t"]])
    }

    private struct Panel: Codable {
        var openItems: [Item] = []
        var lastChange: Int?
    }

    @Test("stay where an encoder converts the keys")
    func convertedKeys() throws {
        var encoder = KeyValueEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        try store.set(["open_items": Self.records, "last_change": 5, "token": "t"] as PropertyList, forKey: "k")
        try store.encode(Panel(openItems: [Item(id: 2), Item(id: 1)]), forKey: "k", encoder: encoder)
        #expect(try tokens(["k", "open_items"]) == ["2:of 2", "1:of 1"])
        #expect(try store.stored(at: ["k", "token"]) == "t")
        #expect(try store.stored(at: ["k", "last_change"]) == nil)
    }

    @Test("stay where one element does not fit the type")
    func wrongElement() throws {
        let stored: PropertyList = [["id": 1, "note": 5, "token": "of 1"], ["id": 2, "token": "of 2"]]
        try store.set(stored, forKey: "k")
        try store.encode([Item(id: 2, note: "b"), Item(id: 1, note: "a")], forKey: "k")
        #expect(try tokens(["k"]) == ["2:of 2", "1:of 1"])
    }

    private class Base: Codable {
        var items: [Item] = []
    }

    private final class Derived: Base {
        var width = 1
        private enum CodingKeys: CodingKey { case width }
        override init() { super.init() }
        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            width = try container.decode(Int.self, forKey: .width)
            try super.init(from: container.superDecoder())
        }
        override func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(width, forKey: .width)
            try super.encode(to: container.superEncoder())
        }
    }

    @Test("stay in what a class's superclass encodes")
    func superclasses() throws {
        try store.set(
            ["width": 1, "super": ["items": Self.records, "token": "t"], "token": "u"] as PropertyList, forKey: "k")
        try store.update(Derived.self, forKey: "k") {
            $0?.width = 2
            $0?.items.reverse()
        }
        #expect(try tokens(["k", "super", "items"]) == ["2:of 2", "1:of 1"])
        #expect(try store.stored(at: ["k", "super", "token"]) == "t")
        #expect(try store.stored(at: ["k", "token"]) == "u")
    }

    private struct Wrapped: Codable, Equatable, Sendable {
        var items: [Item]
        init(_ items: [Item]) { self.items = items }
        init(from decoder: any Decoder) throws { items = try decoder.singleValueContainer().decode([Item].self) }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(items)
        }
    }

    @Test("stay in a value that another one wraps, set by a Preference")
    func preferences() throws {
        try store.set(Self.records, forKey: "k")
        let preference = Preference(wrappedValue: Wrapped([]), "k", in: store)
        preference.wrappedValue.items.reverse()
        preference.wrappedValue.items.append(Item(id: 3))
        #expect(try tokens(["k"]) == ["2:of 2", "1:of 1", "3:-"])
    }

    private struct Rows: Codable {
        var rows: [Item]
        private enum CodingKeys: CodingKey { case rows }
        init(rows: [Item]) { self.rows = rows }
        init(from decoder: any Decoder) throws {
            var list = try decoder.container(keyedBy: CodingKeys.self).nestedUnkeyedContainer(forKey: .rows)
            rows = []
            while !list.isAtEnd { rows.append(try list.decode(Item.self)) }
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            var list = container.nestedUnkeyedContainer(forKey: .rows)
            for row in rows.sorted(by: { $0.id > $1.id }) { try list.encode(row) }
        }
    }

    @Test("stay in elements that are written one by one in another order")
    func nestedContainers() throws {
        try store.set(["rows": Self.records] as PropertyList, forKey: "k")
        try store.update(Rows.self, forKey: "k") { $0?.rows.append(Item(id: 3)) }
        #expect(try tokens(["k", "rows"]).sorted() == ["1:of 1", "2:of 2", "3:-"])
    }
}
