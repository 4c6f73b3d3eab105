import FoundationEssentials
import KeyValueCoding
import PropertyLists
import Testing

private struct Record: Codable, Equatable, Sendable {
    enum Kind: Codable, Equatable, Sendable {
        case plain
        case sized(width: Int, Double)
    }

    var name = "naïve"
    var count: UInt64 = .max
    var small: Int8 = -3
    var ratio: Float = 0.5
    var on = true
    var when = Date(timeIntervalSinceReferenceDate: 12.5)
    var bytes = Data([0, 255])
    var link = URL(string: "https://a.b/c")
    var id = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    var price = Decimal(string: "12345678901234567.25")
    var tags = ["b", "a"]
    var table = ["z": 1, "a": 2]
    var kind = Kind.sized(width: 2, 1.5)
    var kinds = [Kind.plain, .sized(width: 1, 0)]
    var holes: [Int?] = [1, nil]
    var missing: String?
    var children: [[String: [Int]]] = [["x": [1, 2]], [:]]
}

@Suite struct TreeTests {
    @Test("a value goes to the tree and back, under every nil strategy", arguments: EncodingTests.nilRows)
    func roundTrips(row: EncodingTests.NilRow) throws {
        var encoder = KeyValueEncoder()
        encoder.nilEncodingStrategy = row.strategy
        var decoder = KeyValueDecoder()
        decoder.nilDecodingStrategy = row.strategy
        let list = try #require(try encoder.encodeToPropertyList([Record()]))
        var expected = Record()
        if case .removed = row.strategy { expected.holes = [1] }
        #expect(try decoder.decode([Record].self, from: list) == [expected])
    }

    // proves: G81
    @Test("the tree is the one that the Any form makes", arguments: EncodingTests.rows)
    func matchesAny(row: EncodingTests.Row) throws {
        // 128-bit integers have an Any form, and none in a property list.
        guard let any = row.expected(), let expected = try? PropertyList(any: any) else { return }
        #expect(try row.encodeToTree(KeyValueEncoder()) == expected)
    }

    @Test("a date in the tree follows the strategy as in an Any", arguments: EncodingTests.dateRows)
    func writesDates(row: EncodingTests.DateRow) throws {
        var encoder = KeyValueEncoder()
        encoder.dateEncodingStrategy = row.strategy
        let date = Date(timeIntervalSince1970: row.seconds)
        let expected = try PropertyList(any: ["a": [row.expected()]])
        #expect(try encoder.encodeToPropertyList(["a": [date]]) == expected)
    }

    // proves: G81
    @Test("a type is read from the tree as from Any, error texts included", arguments: DecodingTests.rejections)
    func rejectsAsAny(row: DecodingTests.Rejection) throws {
        guard let list = try? PropertyList(any: row.value()), let any = try? list.any() else { return }
        let fromTree = failure { try row.decodeTree(KeyValueDecoder(), list) }
        let fromAny = failure { try row.decodeValue(KeyValueDecoder(), any) }
        // A decimal number and nil are strings in the tree.
        if fromTree.hasPrefix("no error") || fromAny.contains("found nil") { return }
        #expect(fromTree == fromAny)
    }

    @Test("nil is $null in the tree, and a null is nil")
    func writesNull() throws {
        let list = try #require(try KeyValueEncoder().encodeToPropertyList([1, nil] as [Int?]))
        #expect(try list == PropertyList(any: [1, "$null"] as [Any]))
        let null = try PropertyList(any: [1, Int?.none as Any, "$null"] as [Any])
        #expect(try KeyValueDecoder().decode([Int?].self, from: null) == [1, nil, nil])
        #expect(
            failure { try KeyValueDecoder().decode([Int].self, from: null) }
                == "valueNotFound SELF[1]: Expected BinaryInteger at SELF[1], found nil")
        #expect(try KeyValueDecoder().decode([String].self, from: PropertyList(any: ["$null"])) == ["$null"])
    }

    @Test("a nil that is left out at the top gives no tree")
    func leavesOutNil() throws {
        var encoder = KeyValueEncoder()
        encoder.nilEncodingStrategy = .removed
        #expect(try encoder.encodeToPropertyList(Int?.none) == nil)
    }

    @Test("128-bit integers go to the tree where they fit", arguments: [Int128(Int64.min), 0, Int128(UInt64.max)])
    func writesWideIntegers(value: Int128) throws {
        let list = try #require(try KeyValueEncoder().encodeToPropertyList(["a": value]))
        #expect(try KeyValueDecoder().decode([String: Int128].self, from: list) == ["a": value])
    }

    @Test("128-bit integers that do not fit are an error with their path")
    func refusesWideIntegers() {
        #expect(
            failure { try KeyValueEncoder().encodeToPropertyList(["a": [Int128.max]]) }
                == "invalidValue SELF.a[0]: Int128 at SELF.a[0] cannot be encoded. "
                + "\(Int128.max) needs more than 64 bits")
    }

    @Test("a decimal number is read from a string, a real and an integer")
    func readsDecimals() throws {
        let list = try PropertyList(any: ["1e30", 0.1, 3] as [Any])
        let expected = [Decimal(string: "1e30"), Decimal(string: "0.1"), Decimal(3)]
        #expect(try KeyValueDecoder().decode([Decimal?].self, from: list) == expected)
        #expect(
            failure { try KeyValueDecoder().decode(Decimal.self, from: PropertyList(any: "1x")) }
                == "typeMismatch SELF: Expected Decimal at SELF, found String")
    }

    @Test("what a closure gives is written with all that is in it")
    func writesClosureResults() throws {
        var encoder = KeyValueEncoder()
        encoder.dateEncodingStrategy = .custom { date in
            ["at": [date.timeIntervalSince1970, Int?.none as Any], "id": UInt8(1)] as [String: Any]
        }
        let list = try encoder.encodeToPropertyList([Date(timeIntervalSince1970: 1)])
        #expect(try list == PropertyList(any: [["at": [1.0, "$null"] as [Any], "id": 1] as [String: Any]]))
        let id = UUID()
        encoder.dateEncodingStrategy = .custom { _ in [Int128(-5), UInt128(UInt64.max), id] as [Any] }
        #expect(
            try encoder.encodeToPropertyList([Date()])
                == PropertyList(any: [[-5, UInt64.max, id.uuidString] as [Any]]))
        encoder.dateEncodingStrategy = .custom { _ in 1..<2 }
        #expect(
            failure { try encoder.encodeToPropertyList(["a": Date()]) }
                == "invalidValue SELF.a: Value at SELF.a cannot be encoded. "
                + "Expected a property-list value, found Range<Int>")
    }

    /// A dictionary whose two keys print alike and differ in their bytes.
    private func lookAlikes() throws -> PropertyList {
        var builder = PropertyListBuilder()
        try builder.beginArray()
        try builder.beginDictionary()
        for (index, key) in ["caf\u{E9}", "cafe\u{301}", "plain"].enumerated() {
            try builder.key(key)
            try builder.append(integer: Int64(index))
        }
        try builder.end()
        try builder.end()
        return try builder.finish()
    }

    @Test("keys that Swift takes for one are an error that names both, where the dictionary is data")
    func refusesLookAlikes() throws {
        let list = try lookAlikes()
        let expected =
            "dataCorrupted SELF[0]: Dictionary at SELF[0] has two keys that Swift takes for one: "
            + #""cafe\u{0301}" and "caf\u{00E9}""#
        #expect(failure { try KeyValueDecoder().decode([[String: Int]].self, from: list) } == expected)
        #expect(failure { try KeyValueDecoder().decode([[String: Int8?]].self, from: list) } == expected)
        #expect(failure { try KeyValueDecoder().decode([[UUID: Int]].self, from: list) } == expected)
        struct Own: Decodable {
            let values: [String: Int]
            init(from decoder: any Decoder) throws { values = try [String: Int](from: decoder) }
        }
        #expect(failure { try KeyValueDecoder().decode([Own].self, from: list) } == expected)
    }

    @Test("a property finds its key by its bytes")
    func findsKeysByBytes() throws {
        struct Menu: Decodable, Equatable {
            var composed: Int
            var decomposed: Int
            enum CodingKeys: String, CodingKey {
                case composed = "caf\u{E9}"
                case decomposed
            }
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                composed = try container.decode(Int.self, forKey: .composed)
                decomposed = try decoder.container(keyedBy: Other.self).decode(Int.self, forKey: .decomposed)
            }
            enum Other: String, CodingKey { case decomposed = "cafe\u{301}" }
        }
        let menus = try KeyValueDecoder().decode([Menu].self, from: lookAlikes())
        #expect(menus.map { [$0.composed, $0.decomposed] } == [[0, 1]])
    }

    private struct Accents: Codable, Equatable {
        struct Inner: Codable, Equatable { var value: Int }
        enum Key: String, CodingKey { case value }
        var composed: Inner
        var decomposed: Inner
        enum CodingKeys: String, CodingKey {
            case composed = "caf\u{E9}One"
            case decomposed = "cafe\u{301}One"
        }
        init(_ composed: Int, _ decomposed: Int) {
            (self.composed, self.decomposed) = (Inner(value: composed), Inner(value: decomposed))
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            var first = container.nestedContainer(keyedBy: Key.self, forKey: .composed)
            var second = container.nestedContainer(keyedBy: Key.self, forKey: .decomposed)
            try first.encode(composed.value, forKey: .value)
            try second.encode(decomposed.value, forKey: .value)
        }
    }

    @Test("keys that print alike stay two under each key strategy, and where they are left over", arguments: [0, 1, 2])
    func keepsLookAlikesApart(strategy: Int) throws {
        var encoder = KeyValueEncoder()
        var decoder = KeyValueDecoder()
        if strategy == 1 {
            encoder.keyEncodingStrategy = .convertToSnakeCase
            decoder.keyDecodingStrategy = .convertFromSnakeCase
        } else if strategy == 2 {
            encoder.keyEncodingStrategy = .custom { $0[$0.count - 1] }
            decoder.keyDecodingStrategy = .custom { $0[$0.count - 1] }
        }
        let list = try #require(try encoder.encodeToPropertyList(Accents(1, 2)))
        #expect(list.count == 2)
        #expect(try decoder.decode(Accents.self, from: list) == Accents(1, 2))
        struct One: Decodable {
            var composed: [String: Int]
            enum CodingKeys: String, CodingKey { case composed = "caf\u{E9}One" }
        }
        decoder.leftOverKeyDecodingStrategy = .throw
        #expect(throws: DecodingError.self) { try decoder.decode(One.self, from: list) }
    }

    @Test("a nil that is left out takes no entry whose key prints alike", arguments: [0, 1, 2])
    func keepsLookAlikesOfNil(way: Int) throws {
        struct OneNil: Encodable {
            var way: Int
            enum CodingKeys: String, CodingKey {
                case composed = "caf\u{E9}"
                case decomposed = "cafe\u{301}"
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(1, forKey: .composed)
                if way == 2 {
                    var late = container.superEncoder(forKey: .decomposed).singleValueContainer()
                    return try late.encodeNil()
                }
                if way == 1 { _ = container.nestedContainer(keyedBy: CodingKeys.self, forKey: .decomposed) }
                try container.encodeNil(forKey: .decomposed)
            }
        }
        var encoder = KeyValueEncoder()
        encoder.nilEncodingStrategy = .removed
        let list = try #require(try encoder.encodeToPropertyList(OneNil(way: way)))
        #expect(list.count == 1)
        #expect(list["caf\u{E9}"]?.integer == 1)
    }

    @Test("a decimal number that is none goes to the tree and back", arguments: [Double.nan, 1.5])
    func roundTripsDecimalNaN(number: Double) throws {
        let value = number.isNaN ? Decimal.nan : Decimal(number)
        let list = try #require(try KeyValueEncoder().encodeToPropertyList([value]))
        #expect(try KeyValueDecoder().decode([Decimal].self, from: list).map(\.description) == [value.description])
        #expect(
            try KeyValueDecoder().decode([Decimal].self, from: PropertyList(any: [number])).map(\.description)
                == [value.description])
        #expect(
            failure { try KeyValueDecoder().decode(Decimal.self, from: PropertyList(any: "nan")) }
                == "typeMismatch SELF: Expected Decimal at SELF, found String")
    }
}
