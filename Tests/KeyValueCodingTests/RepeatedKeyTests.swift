import KeyValueCoding
import PropertyLists
import Testing

// Values of one type, one after another, whose keys differ in number, order and spelling.

private struct TextKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ text: String) { stringValue = text }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { return nil }
}

private enum Keys: String, CodingKey { case one, two, three }

private struct Failure: Error {}

/// A dictionary of integers under the names, the last of equal ones standing.
private struct Row: Encodable {
    var names: [String]

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: TextKey.self)
        for (index, name) in names.enumerated() { try container.encode(index, forKey: TextKey(name)) }
    }

    var expected: [String: Any] {
        Dictionary(names.enumerated().map { ($1, $0 as Any) }, uniquingKeysWith: { $1 })
    }
}

@Suite struct RepeatedKeyTests {
    @Test(
        "dictionaries whose keys come in another order, are missing, new or doubled", arguments: 0..<40 as Range<UInt64>
    )
    func varies(seed: UInt64) throws {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func random(_ bound: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(bound))
        }
        let pool = [
            "b", "a", "", "ab", "abcdefgh", "abcdefghi", "sixteen bytes ok", "seventeen bytes..", "z", "ä", "~",
        ]
        let usual = Array(pool.prefix(3 + random(6)))
        let rows = (0..<60).map { _ -> Row in
            switch random(6) {
            case 0: Row(names: (0..<random(9)).map { _ in pool[random(pool.count)] })
            case 1: Row(names: usual.filter { _ in random(3) > 0 })
            case 2: Row(names: usual.reversed())
            default: Row(names: usual)
            }
        }
        #expect(try encodesAlike(rows, as: rows.map { $0.expected as Any }))
    }

    @Test("more keys than are remembered, and ever new ones", arguments: [5, 64, 65, 200])
    func outgrows(count: Int) throws {
        let alike = (0..<4).map { _ in Row(names: (0..<count).map { "key \($0)" }) }
        let growing = (0..<30).map { row in Row(names: (0...row).map { "key \(($0 * count) % 97)" }) }
        #expect(try encodesAlike(alike + growing, as: (alike + growing).map { $0.expected as Any }))
    }

    @Test("keys that are equal strings but not the same bytes stay apart")
    func keepsBytesApart() throws {
        let names = [["K", "a"], ["K", "a"], ["\u{212A}", "a"], ["K", "\u{212A}"], ["K", "a"]]
        var builder = PropertyListBuilder()
        try builder.beginArray()
        for row in names {
            try builder.beginDictionary()
            for (index, name) in row.enumerated() {
                try builder.key(name)
                try builder.append(integer: Int64(index))
            }
            try builder.end()
        }
        try builder.end()
        let expected = try builder.finish()
        #expect(try KeyValueEncoder().encodeToPropertyList(names.map(Row.init)) == expected)
    }

    @Test("a type inside itself")
    func recurs() throws {
        struct Node: Encodable {
            var name: String
            var left: [Node]
            var right: [Node]
            var expected: [String: Any] {
                ["name": name, "left": left.map { $0.expected as Any }, "right": right.map { $0.expected as Any }]
            }
            static func make(_ depth: Int) -> Node {
                let below = depth > 0 ? [make(depth - 1), make(depth / 2 - 1)] : []
                return Node(name: "\(depth)", left: below, right: depth % 2 == 0 ? [] : below)
            }
        }
        #expect(
            try encodesAlike([Node.make(6), .make(3)], as: [Node.make(6).expected, Node.make(3).expected] as [Any]))
    }

    @Test("a value whose error is swallowed leaves no key, known or not")
    func forgetsFailedValues() throws {
        func value(_ index: Int) -> Writer {
            Writer { encoder in
                var container = encoder.container(keyedBy: TextKey.self)
                try container.encode(1, forKey: TextKey("one"))
                let failing = Writer { encoder in
                    var inner = encoder.container(keyedBy: TextKey.self)
                    try inner.encode(1, forKey: TextKey("one"))
                    try inner.encode(1, forKey: TextKey("inner \(index)"))
                    throw Failure()
                }
                #expect(throws: Failure.self) { try container.encode(failing, forKey: TextKey("new \(index)")) }
                #expect(throws: Failure.self) { try container.encode(failing, forKey: TextKey("two")) }
                try container.encode(2, forKey: TextKey("two"))
                try container.encode(3, forKey: TextKey("three"))
            }
        }
        let expected: [String: Any] = ["one": 1, "two": 2, "three": 3]
        #expect(try encodesAlike((0..<6).map(value), as: Array(repeating: expected as Any, count: 6)))
    }

    @Test("values that wrap one another, two containers of one encoder, and parts that are written later")
    func mixesContainers() throws {
        struct Wrapped: Encodable {
            var value: Int
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                let inner = value
                try container.encode(Writer { try inner.encode(to: $0) })
            }
        }
        let value = Writer { encoder in
            var first = encoder.container(keyedBy: Keys.self)
            var later = first.nestedContainer(keyedBy: Keys.self, forKey: .two)
            var second = encoder.container(keyedBy: Keys.self)
            try second.encode(Wrapped(value: 1), forKey: .one)
            try later.encode(Wrapped(value: 2), forKey: .one)
            try Row(names: ["name"]).encode(to: first.superEncoder(forKey: .three))
            try later.encode(3, forKey: .two)
        }
        let expected: [String: Any] = [
            "one": 1, "two": ["one": 2, "two": 3] as [String: Any], "three": ["name": 0] as [String: Any],
        ]
        #expect(try encodesAlike([value, value, value, value], as: Array(repeating: expected as Any, count: 4)))
    }

    @Test("an error names the place, in the first of many values as in a later one", arguments: [0, 1, 2, 5])
    func namesPath(index: Int) throws {
        struct Item: Encodable {
            var first = 1
            var second: [String: UInt128]
        }
        var items = Array(repeating: Item(second: ["big": 1]), count: 6)
        items[index].second = ["big": .max]
        #expect(
            failure { try KeyValueEncoder().encodeToPropertyList(items) }
                == "invalidValue SELF[\(index)].second.big: UInt128 at SELF[\(index)].second.big cannot be encoded. "
                + "\(UInt128.max) needs more than 64 bits")
        var encoder = KeyValueEncoder()
        encoder.nilEncodingStrategy = .placeholder(Failure()) { _ in false }
        let values = (0..<6).map { item in
            Writer { encoder in
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(1, forKey: .two)
                if item == index {
                    try container.encodeNil(forKey: .one)
                } else {
                    try container.encode(2, forKey: .one)
                }
            }
        }
        #expect(
            failure { try encoder.encodeToPropertyList(values) }
                == "invalidValue SELF[\(index)].one: Value at SELF[\(index)].one cannot be encoded. "
                + "Expected a property-list value, found Failure")
    }

    @Test("a custom key strategy may name the same key differently each time")
    func convertsByPath() throws {
        var encoder = KeyValueEncoder()
        encoder.keyEncodingStrategy = .custom { path in
            let index = path.compactMap(\.intValue).first ?? 0
            return TextKey("\(path.last?.stringValue ?? "") \(index % 3)")
        }
        let rows = Array(repeating: Row(names: ["a", "b"]), count: 12)
        let expected = (0..<12).map { ["a \($0 % 3)": 0, "b \($0 % 3)": 1] as [String: Any] as Any }
        #expect(try encodesAlike(rows, encoder, as: expected))
    }

    @Test("a nil that is left out leaves no name behind, whatever writes it")
    func leavesOutNils() throws {
        var encoder = KeyValueEncoder()
        encoder.nilEncodingStrategy = .removed
        let nothing = Writer { encoder in
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        }
        let value = Writer { encoder in
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(nothing, forKey: .one)
            try container.encode([nothing, nothing], forKey: .two)
            try container.encode(["a": 1, "b": nil], forKey: .three)
        }
        let expected: [String: Any] = ["two": [Any](), "three": ["a": 1] as [String: Any]]
        #expect(try encodesAlike([value, nothing, value], encoder, as: [expected, expected] as [Any]))
    }

    @Test("an element that changes the array it is encoded from changes nothing that is encoded")
    func encodesFromHeldArrays() throws {
        final class Shelf: Encodable {
            var books: [Book] = []
        }
        struct Book: Encodable {
            let shelf: Shelf
            let title: String
            func encode(to encoder: any Encoder) throws {
                shelf.books.removeAll()
                var container = encoder.container(keyedBy: TextKey.self)
                try container.encode(title, forKey: TextKey("title"))
            }
        }
        let titles = (0..<20).map { "a title that is longer than a small string, \($0)" }
        let expected = titles.map { ["title": $0] as [String: Any] as Any }
        let shelf = Shelf()
        shelf.books = titles.map { Book(shelf: shelf, title: $0) }
        let any = try KeyValueEncoder().encode(shelf)
        #expect(isSame(any, ["books": expected] as [String: Any]) && shelf.books.isEmpty)
        shelf.books = titles.map { Book(shelf: shelf, title: $0) }
        #expect(try KeyValueEncoder().encodeToPropertyList(shelf) == PropertyList(any: ["books": expected]))
    }

    @Test("arrays of every element: of none, of nil, of words, of arrays, of values without a size")
    func writesArrays() throws {
        struct Nothing: Encodable {}
        struct Word: Encodable { var value: Int }
        struct Mixed: Encodable {
            var nothing = [Nothing(), Nothing()]
            var words = [Word(value: 1), Word(value: 2)]
            var grid = [[Word(value: 3)], [], [Word(value: 4)]]
            var holes: [Word?] = [nil, Word(value: 5)]
            var none: [Word] = []
        }
        let expected: [String: Any] = [
            "nothing": [[String: Any](), [String: Any]()] as [Any], "none": [Any](),
            "words": [["value": 1] as [String: Any], ["value": 2] as [String: Any]] as [Any],
            "grid": [[["value": 3] as [String: Any]] as [Any], [Any](), [["value": 4] as [String: Any]] as [Any]]
                as [Any],
            "holes": ["$null", ["value": 5] as [String: Any]] as [Any],
        ]
        var encoder = KeyValueEncoder()
        encoder.nilEncodingStrategy = .stringNull
        #expect(try encodesAlike([Mixed(), Mixed()], encoder, as: [expected, expected] as [Any]))
    }
}
