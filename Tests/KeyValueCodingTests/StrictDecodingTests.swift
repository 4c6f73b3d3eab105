import FoundationEssentials
import KeyValueCoding
import PropertyLists
import Testing

private struct Item: Codable, Equatable { var name: String }

private struct Box: Codable, Equatable {
    var item: Item
    var items: [Item]
    var table: [String: Item]
    var numbers: [String: Int]
    var note: String?
}

private enum Choice: Codable, Equatable {
    case one(Int)
    case two(item: Item)
}

private class Animal: Codable { var legs = 4 }

private final class Dog: Animal {
    var breed = "collie"
    private enum CodingKeys: CodingKey { case breed }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        breed = try container.decode(String.self, forKey: .breed)
        try super.init(from: container.superDecoder())
    }
}

/// Reads nested containers of both kinds.
private struct Nested: Decodable {
    enum Keys: CodingKey { case outer, inner, list, later }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Keys.self)
        let outer = try container.nestedContainer(keyedBy: Keys.self, forKey: .outer)
        _ = try outer.decode(Int.self, forKey: .inner)
        var list = try container.nestedUnkeyedContainer(forKey: .list)
        _ = try list.nestedContainer(keyedBy: Keys.self).decode(Int.self, forKey: .inner)
        _ = try Item(from: list.superDecoder())
        _ = try Item(from: container.superDecoder(forKey: .later))
    }
}

/// Tries one type, then another.
private struct Either: Decodable {
    struct First: Decodable { var x: Int, y: Int }
    struct Second: Decodable { var x: Int }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if (try? container.decode(First.self)) == nil { _ = try container.decode(Second.self) }
    }
}

private struct Empty: Codable {}
private struct Wrapped: Decodable {
    var numbers: [String: Int]
    init(from decoder: any Decoder) throws { numbers = try decoder.singleValueContainer().decode([String: Int].self) }
}
private struct Library: Codable { @LossyArray var items: [Item] }
private enum Level: String, Codable { case low }
private struct Names: Codable { var myName: Item }

@Suite struct StrictDecodingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let leftOver: String
        let value: @Sendable () -> Any
        let decodeAny: @Sendable (KeyValueDecoder, Any) throws -> Void
        let decodeTree: @Sendable (KeyValueDecoder, PropertyList) throws -> Void

        init<T: Decodable & SendableMetatype>(
            _ type: T.Type, _ value: @autoclosure @escaping @Sendable () -> Any, _ leftOver: String
        ) {
            testDescription = "\(T.self): \(leftOver)"
            self.leftOver = leftOver
            self.value = value
            decodeAny = { _ = try $0.decode(type, from: $1) }
            decodeTree = { _ = try $0.decode(type, from: $1) }
        }
    }

    static let rows: [Row] = [
        Row(Item.self, ["name": "a"], ""),
        Row(Item.self, ["name": "a", "z": 1, "b": [1: 2]["x"] as Any], "SELF.b, SELF.z"),
        Row(
            Box.self,
            [
                "item": ["name": "a", "x": 1], "items": [["name": "a"], ["name": "b", "y": 1, "z": 2]],
                "table": ["k": ["name": "a", "w": 1], "l": ["name": "b"]], "numbers": ["one": 1, "two": 2],
                "extra": ["deep": 1],
            ] as [String: Any],
            "SELF.extra, SELF.item.x, SELF.items[1].y, SELF.items[1].z, SELF.table.k.w"),
        Row(Choice.self, ["one": ["_0": 1]], ""), Row(Choice.self, ["one": ["_0": 1, "_1": 2]], "SELF.one._1"),
        Row(
            [Choice].self, [["one": ["_0": 1]], ["two": ["item": ["name": "a", "x": 1]]]] as [Any],
            "SELF[1].two.item.x"),
        Row(Dog.self, ["breed": "a", "super": ["legs": 4, "x": 1]] as [String: Any], "SELF.super.x"),
        Row(Dog.self, ["breed": "a", "legs": 4, "x": 1] as [String: Any], "SELF.x"),
        Row(
            Nested.self,
            [
                "outer": ["inner": 1, "a": 1], "list": [["inner": 1, "b": 1], ["name": "x", "c": 1]],
                "later": ["name": "x", "d": 1],
            ] as [String: Any], "SELF.later.d, SELF.list[0].b, SELF.list[1].c, SELF.outer.a"),
        Row(Either.self, ["x": 1, "y": 2], ""), Row(Either.self, ["x": 1, "y": "2"] as [String: Any], "SELF.y"),
        Row(Empty.self, ["a": 1], "SELF.a"), Row([Empty].self, [["a": 1]], "SELF[0].a"), Row(Empty.self, 1, ""),
        Row(Wrapped.self, ["a": 1], ""), Row([Wrapped].self, [["a": 1]], ""), Row([String: Int].self, ["a": 1], ""),
        Row([String: [Int]].self, ["a": [1]], ""), Row([Int: Item].self, ["1": ["name": "a", "x": 1]], "SELF.1.x"),
        Row([Level: Item].self, ["low": ["name": "a", "x": 1]], "SELF.low.x"), Row([Int].self, [1], ""),
        Row(Library.self, ["items": [["name": "a", "x": 1], ["name": 1, "y": 1]]], "SELF.items[0].x"),
        Row(Optional<Item>.self, ["name": "a", "x": 1] as [String: Any], "SELF.x"),
    ]

    @Test("keys that decoding did not ask for are an error that names them all", arguments: rows)
    func rejectsLeftOverKeys(row: Row) throws {
        var decoder = KeyValueDecoder()
        decoder.leftOverKeyDecodingStrategy = .throw
        let list = try PropertyList(any: row.value())
        let first = row.leftOver.split(separator: ",").first ?? ""
        let expected = row.leftOver.isEmpty ? "none" : "dataCorrupted \(first): Keys are left over: \(row.leftOver)"
        #expect(message { try row.decodeAny(decoder, row.value()) } == expected)
        #expect(message { try row.decodeTree(decoder, list) } == expected)
        // Strictness finds keys, and changes nothing else.
        #expect(message { try row.decodeAny(KeyValueDecoder(), row.value()) } == "none")
    }

    private func message(_ body: () throws -> Void) -> String {
        do {
            try body()
            return "none"
        } catch {
            return report(error)
        }
    }

    @Test("a closure gets the paths as keys, once, and the value is decoded")
    func reportsLeftOverKeys() async throws {
        try await confirmation(expectedCount: 1) { told in
            var decoder = KeyValueDecoder()
            decoder.leftOverKeyDecodingStrategy = .report { keys in
                #expect(keys.paths.map { $0.map(\.stringValue) } == [["Index 0", "x"], ["Index 1", "y"]])
                #expect(keys.paths.map { $0.map(\.intValue) } == [[0, nil], [1, nil]])
                told()
            }
            let items = try decoder.decode([Item].self, from: [["name": "a", "x": "1"], ["name": "b", "y": "1"]])
            #expect(items == [Item(name: "a"), Item(name: "b")])
            #expect(try decoder.decode([Item].self, from: [["name": "c"]]) == [Item(name: "c")])
        }
    }

    @Test("the error carries the paths as keys")
    func carriesPaths() {
        var decoder = KeyValueDecoder()
        decoder.leftOverKeyDecodingStrategy = .throw
        let error = #expect(throws: DecodingError.self) {
            try decoder.decode(Item.self, from: ["name": "a", "x": "1"])
        }
        guard case .dataCorrupted(let context) = error else { return }
        #expect((context.underlyingError as? LeftOverKeys)?.paths.map { $0.map(\.stringValue) } == [["x"]])
    }

    @Test("an error of the value itself comes first")
    func prefersOtherErrors() {
        var decoder = KeyValueDecoder()
        decoder.leftOverKeyDecodingStrategy = .throw
        #expect(
            failure { try decoder.decode(Item.self, from: ["name": 1, "x": 1]) }
                == "typeMismatch SELF.name: Expected String at SELF.name, found Int")
    }

    @Test("under a key strategy the keys are named as they stand in the data")
    func namesStoredKeys() throws {
        var decoder = KeyValueDecoder()
        decoder.leftOverKeyDecodingStrategy = .throw
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let value: [String: Any] = ["my_name": ["name": "a", "left_over": 1] as [String: Any]]
        #expect(
            failure { try decoder.decode(Names.self, from: value) }
                == "dataCorrupted SELF.my_name.left_over: Keys are left over: SELF.my_name.left_over")
    }

    @Test("a type that is coded with a configuration is decoded strictly, too")
    func checksConfigured() throws {
        struct Scaled: DecodableWithConfiguration {
            enum CodingKeys: CodingKey { case value }
            init(from decoder: any Decoder, configuration: Int) throws {
                _ = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .value)
            }
        }
        var decoder = KeyValueDecoder()
        decoder.leftOverKeyDecodingStrategy = .throw
        let expected = "dataCorrupted SELF.x: Keys are left over: SELF.x"
        #expect(failure { try decoder.decode(Scaled.self, from: ["value": 1, "x": 2], configuration: 1) } == expected)
        let list = try PropertyList(any: ["value": 1, "x": 2])
        #expect(failure { try decoder.decode(Scaled.self, from: list, configuration: 1) } == expected)
    }
}
