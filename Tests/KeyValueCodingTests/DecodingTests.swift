import FoundationEssentials
import KeyValueCoding
import PropertyLists
import Testing

@Suite struct DecodingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let decode: @Sendable (KeyValueDecoder) throws -> Bool
        let value: @Sendable () -> Any

        init<T: Decodable & Equatable & Sendable>(
            _ expected: T, from value: @autoclosure @escaping @Sendable () -> Any
        ) {
            testDescription = "\(T.self) \(expected) from \(type(of: value()))"
            self.value = value
            decode = { try $0.decode(T.self, from: value()) == expected }
        }
    }

    static let rows: [Row] = [
        Row(true, from: true), Row(1, from: 1), Row(1, from: Int8(1)), Row(Int8(1), from: UInt64(1)),
        Row(1, from: 1.0), Row(1, from: Float(1)), Row(1, from: Decimal(1)), Row(1, from: Int?(1) as Any),
        Row(1, from: Int??(1) as Any), Row(UInt64.max, from: UInt64.max), Row(UInt64.max, from: UInt128(UInt64.max)),
        Row(UInt128.max, from: UInt128.max), Row(Int128(-5), from: -5), Row(1.0, from: 1), Row(1.5, from: Float(1.5)),
        Row(1.5, from: Decimal(1.5)), Row(Double(UInt64.max), from: UInt64.max), Row(Float(2), from: 2.0),
        Row(Decimal(1), from: 1), Row(Decimal(string: "0.1"), from: 0.1), Row(Decimal(UInt64.max), from: UInt64.max),
        Row("a", from: "a"), Row(Data([1]), from: Data([1])),
        Row(Date(timeIntervalSince1970: 1), from: Date(timeIntervalSince1970: 1)),
        Row(URL(string: "a:b"), from: "a:b"), Row(URL(string: "a:b"), from: URL(string: "a:b") as Any),
        Row(UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"), from: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"),
        Row([1, 2], from: [1, 2]), Row([1, 2], from: [1, 2.0] as [Any]), Row([1.0, 2.0], from: [1, 2]),
        Row(["a": 1], from: ["a": 1]), Row(["a": 1], from: ["a": UInt8(1)] as [String: Any]),
        Row(["a": 1], from: ["a": 1] as [AnyHashable: Any]), Row([1: "a"], from: ["1": "a"]),
        Row([1, nil], from: [1, Int?.none as Any]), Row([[1]], from: [[1]]), Row(Set([1]), from: [1]),
        Row(Double(-5), from: Int8(-5)), Row(1e30, from: Decimal(string: "1e30")!), Row(Double(1), from: UInt128(1)),
        Row(Float(UInt64.max), from: UInt64.max), Row(Float(1.5), from: Decimal(1.5)), Row(Float(-1), from: Int16(-1)),
        Row(Decimal(2), from: UInt8(2)), Row(Decimal(1.5), from: Float(1.5)), Row(Decimal(5), from: Decimal(5)),
        Row(Float16(0.5), from: Float(0.5)), Row(Duration.nanoseconds(1), from: [0, 1_000_000_000]),
    ]

    @Test("a value is read from its Any forms", arguments: rows)
    func decodesValue(row: Row) throws {
        #expect(try row.decode(KeyValueDecoder()))
    }

    struct Rejection: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let value: @Sendable () -> Any
        let decodeValue: @Sendable (KeyValueDecoder, Any) throws -> Any
        let decodeTree: @Sendable (KeyValueDecoder, PropertyList) throws -> Any

        init<T: Decodable & Sendable>(
            _ type: T.Type, from value: @autoclosure @escaping @Sendable () -> Any, _ report: String
        ) {
            testDescription = report
            self.value = value
            decodeValue = { try $0.decode(type, from: $1) }
            decodeTree = { try $0.decode(type, from: $1) }
        }
    }

    struct Item: Codable { var name: String }
    struct List: Codable { var tArray: [Item] }
    /// Its key has an integer value, by which a path names it.
    struct Numbered: Codable {
        var width: Int
        enum CodingKeys: Int, CodingKey { case width = 7 }
    }

    static let rejections: [Rejection] = [
        .init(Bool.self, from: 1, "typeMismatch SELF: Expected Bool at SELF, found Int"),
        .init(Bool.self, from: 0, "typeMismatch SELF: Expected Bool at SELF, found Int"),
        .init(Bool.self, from: 1.0, "typeMismatch SELF: Expected Bool at SELF, found Double"),
        .init(Bool.self, from: "YES", "typeMismatch SELF: Expected Bool at SELF, found String"),
        .init(
            [Int].self, from: [1, 2, true] as [Any],
            "typeMismatch SELF[2]: Expected BinaryInteger at SELF[2], found Bool"),
        .init(Int.self, from: "1", "typeMismatch SELF: Expected BinaryInteger at SELF, found String"),
        .init(
            [UInt8].self, from: [1, 2, 256],
            "typeMismatch SELF[2]: Int at SELF[2], cannot be exactly represented by UInt8"),
        .init(Int.self, from: 1.5, "typeMismatch SELF: Double at SELF, cannot be exactly represented by Int"),
        .init(Int.self, from: Float(1.5), "typeMismatch SELF: Float at SELF, cannot be exactly represented by Int"),
        .init(UInt.self, from: -1, "typeMismatch SELF: Int at SELF, cannot be exactly represented by UInt"),
        .init(Int.self, from: UInt64.max, "typeMismatch SELF: UInt64 at SELF, cannot be exactly represented by Int"),
        .init(Int64.self, from: 1e19, "typeMismatch SELF: Double at SELF, cannot be exactly represented by Int64"),
        .init(Float.self, from: true, "typeMismatch SELF: Expected Float at SELF, found Bool"),
        .init(Float.self, from: "1", "typeMismatch SELF: Expected Float at SELF, found String"),
        .init(Decimal.self, from: true, "typeMismatch SELF: Expected Decimal at SELF, found Bool"),
        .init(Int.self, from: Double.nan, "typeMismatch SELF: Double at SELF, cannot be exactly represented by Int"),
        .init(
            Int.self, from: Double.infinity, "typeMismatch SELF: Double at SELF, cannot be exactly represented by Int"),
        .init(Int.self, from: Decimal(1.5), "typeMismatch SELF: Decimal at SELF, cannot be exactly represented by Int"),
        .init(Double.self, from: true, "typeMismatch SELF: Expected Double at SELF, found Bool"),
        .init(Double.self, from: "1", "typeMismatch SELF: Expected Double at SELF, found String"),
        .init(Decimal.self, from: "1", "typeMismatch SELF: Expected Decimal at SELF, found String"),
        .init(String.self, from: "ab".dropFirst(), "typeMismatch SELF: Expected String at SELF, found Substring"),
        .init(String.self, from: UUID(), "typeMismatch SELF: Expected String at SELF, found UUID"),
        .init(String.self, from: URL(fileURLWithPath: "/"), "typeMismatch SELF: Expected String at SELF, found URL"),
        .init(String.self, from: 1.5, "typeMismatch SELF: Expected String at SELF, found Double"),
        .init(String.self, from: 1, "typeMismatch SELF: Expected String at SELF, found Int"),
        .init(Data.self, from: [UInt8(1)], "typeMismatch SELF: Expected Data at SELF, found Array<UInt8>"),
        .init(Data.self, from: "AQ==", "typeMismatch SELF: Expected Data at SELF, found String"),
        .init(Date.self, from: 1, "typeMismatch SELF: Expected Date at SELF, found Int"),
        .init(Date.self, from: "1", "typeMismatch SELF: Expected Date at SELF, found String"),
        .init(URL.self, from: "http://[", "typeMismatch SELF: Expected URL at SELF, found String"),
        .init(URL.self, from: 1, "typeMismatch SELF: Expected URL at SELF, found Int"),
        .init(UUID.self, from: 1, "typeMismatch SELF: Expected String at SELF, found Int"),
        .init(
            UUID.self, from: "E621", "dataCorrupted SELF: Attempted to decode UUID from invalid UUID string."),
        .init(URL.self, from: "", "typeMismatch SELF: Expected URL at SELF, found String"),
        .init(Item.self, from: [1], "typeMismatch SELF: Expected Dictionary<String, Any> at SELF, found Array<Int>"),
        .init(
            Item.self, from: [1: "a"],
            "typeMismatch SELF: Expected Dictionary<String, Any> at SELF, found Dictionary<Int, String>"),
        .init([Int].self, from: Set([1]), "typeMismatch SELF: Expected Array<Any> at SELF, found Set<Int>"),
        .init(
            Numbered.self, from: ["width": "1"],
            "typeMismatch SELF[7]: Expected BinaryInteger at SELF[7], found String"),
        .init(Numbered.self, from: ["a": 1], "keyNotFound SELF: Dictionary does not contain key SELF[7]"),
        .init([Int].self, from: 1, "typeMismatch SELF: Expected Array<Any> at SELF, found Int"),
        .init(
            [Item].self, from: [["name": "a"], [:]], "keyNotFound SELF[1]: Dictionary does not contain key SELF[1].name"
        ),
        .init(ClosedRange<Int>.self, from: [1], "keyNotFound SELF: Array does not contain index SELF[1]"),
        .init(String.self, from: String?.none as Any, "valueNotFound SELF: Expected String at SELF, found nil"),
        .init(
            [Int].self, from: [1, Int?.none as Any],
            "valueNotFound SELF[1]: Expected BinaryInteger at SELF[1], found nil"),
        .init(
            List.self, from: ["tArray": [["name": 1]]],
            "typeMismatch SELF.tArray[0].name: Expected String at SELF.tArray[0].name, found Int"),
    ]

    // proves: G83
    @Test("a value of another kind is an error that names both and the place", arguments: rejections)
    func rejectsValue(row: Rejection) {
        #expect(failure { try row.decodeValue(KeyValueDecoder(), row.value()) } == row.testDescription)
    }

    // proves: G84
    @Test("an integer of every width is read from numbers of every kind")
    func readsEveryWidth() throws {
        let sources: [Any] = [
            5, Int8(5), Int16(5), Int32(5), Int64(5), Int128(5), UInt(5), UInt8(5), UInt16(5), UInt32(5), UInt64(5),
            UInt128(5), 5.0, Float(5), Decimal(5), Int?(5) as Any, UInt8??(5) as Any, Double?(5) as Any,
        ]
        func check<T: FixedWidthInteger & Codable>(_ type: T.Type) throws {
            for source in sources {
                #expect(try KeyValueDecoder().decode(type, from: source) == 5)
                #expect(try KeyValueDecoder().decode([T?].self, from: [source]) == [5])
            }
            let beyond = Double(type.max) * 4
            #expect(
                failure { try KeyValueDecoder().decode(type, from: beyond) }
                    == "typeMismatch SELF: Double at SELF, cannot be exactly represented by \(type)")
        }
        try check(Int.self)
        try check(Int8.self)
        try check(Int16.self)
        try check(Int32.self)
        try check(Int64.self)
        try check(Int128.self)
        try check(UInt.self)
        try check(UInt8.self)
        try check(UInt16.self)
        try check(UInt32.self)
        try check(UInt64.self)
        try check(UInt128.self)
    }

    @Test("an error carries the type that was wanted, or the key that is missing")
    func carriesTypeAndKey() {
        let error = #expect(throws: DecodingError.self) { try KeyValueDecoder().decode(Item.self, from: ["name": 1]) }
        guard case .typeMismatch(let type, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(ObjectIdentifier(type) == ObjectIdentifier(String.self))
        let missing = #expect(throws: DecodingError.self) { try KeyValueDecoder().decode(Item.self, from: ["a": 1]) }
        guard case .keyNotFound(let key, let context) = missing else {
            Issue.record("\(String(describing: missing))")
            return
        }
        #expect(key.stringValue == "name" && context.codingPath.isEmpty)
        let none = #expect(throws: DecodingError.self) {
            try KeyValueDecoder().decode(Item.self, from: ["name": String?.none as Any])
        }
        guard case .valueNotFound(let wanted, let context) = none else {
            Issue.record("\(String(describing: none))")
            return
        }
        #expect(ObjectIdentifier(wanted) == ObjectIdentifier(String.self))
        #expect(context.codingPath.map(\.stringValue) == ["name"])
    }

    struct DateRow: Sendable {
        let strategy: KeyValueDecoder.DateDecodingStrategy
        let integers: KeyValueDecoder.IntDecodingStrategy
        let value: @Sendable () -> Any
        /// Seconds since 1970, or the error.
        let expected: String
    }

    static let dateRows: [DateRow] = [
        DateRow(strategy: .secondsSince1970, integers: .exact, value: { UInt8(2) }, expected: "2.0"),
        DateRow(strategy: .secondsSince1970, integers: .exact, value: { -3.0 }, expected: "-3.0"),
        DateRow(strategy: .millisecondsSince1970, integers: .exact, value: { 1500 }, expected: "1.5"),
        DateRow(
            strategy: .secondsSince1970, integers: .exact, value: { 1.5 },
            expected: "typeMismatch SELF: Double at SELF, cannot be exactly represented by Int64"),
        DateRow(
            strategy: .millisecondsSince1970, integers: .exact, value: { Double.infinity },
            expected: "typeMismatch SELF: Double at SELF, cannot be exactly represented by Int64"),
        DateRow(
            strategy: .secondsSince1970, integers: .exact, value: { "2" },
            expected: "typeMismatch SELF: Expected BinaryInteger at SELF, found String"),
        DateRow(
            strategy: .iso8601Format(.iso8601), integers: .exact, value: { "1970-01-01T00:00:02Z" }, expected: "2.0"),
        DateRow(
            strategy: .iso8601Format(.iso8601), integers: .exact, value: { "x" },
            expected: "dataCorrupted SELF: Date at SELF cannot be decoded. \"x\" is not a date"),
        DateRow(
            strategy: .parsed { Double($0).map(Date.init(timeIntervalSince1970:)) }, integers: .exact,
            value: { "2.5" }, expected: "2.5"),
        DateRow(
            strategy: .parsed { _ in nil }, integers: .exact, value: { "x" },
            expected: "dataCorrupted SELF: Date at SELF cannot be decoded. \"x\" is not a date"),
        DateRow(
            strategy: .parsed { _ in nil }, integers: .exact, value: { 1 },
            expected: "typeMismatch SELF: Expected String at SELF, found Int"),
        DateRow(strategy: .secondsSince1970, integers: .rounding(rule: .down), value: { 1.9 }, expected: "1.0"),
        DateRow(
            strategy: .millisecondsSince1970, integers: .rounding(rule: .up), value: { 1499.5 }, expected: "1.5"),
        DateRow(
            strategy: .secondsSince1970, integers: .clamping(roundingRule: nil), value: { Double.infinity },
            expected: "\(Double(Int64.max))"),
        DateRow(
            strategy: .secondsSince1970, integers: .clamping(roundingRule: nil), value: { 1e300 },
            expected: "\(Double(Int64.max))"),
    ]

    @Test("a date follows the strategy, and one in seconds or milliseconds the integers' as well", arguments: dateRows)
    func decodesDates(row: DateRow) throws {
        var decoder = KeyValueDecoder()
        decoder.dateDecodingStrategy = row.strategy
        decoder.intDecodingStrategy = row.integers
        func told(_ body: () throws -> Date) -> String {
            do { return "\(try body().timeIntervalSince1970)" } catch { return report(error) }
        }
        #expect(told { try decoder.decode(Date.self, from: row.value()) } == row.expected)
        let list = try PropertyList(any: row.value())
        #expect(told { try decoder.decode(Date.self, from: list) } == row.expected)
    }

    struct NilRow: Sendable {
        let strategy: NilCodingStrategy
        /// The results for Optional none, "$null" and -1 as strings that may be nil, or the error.
        let expected: [String]
    }

    static let nilRows: [NilRow] = [
        NilRow(strategy: .default, expected: ["nil", "$null", "found Int"]),
        NilRow(strategy: .removed, expected: ["nil", "$null", "found Int"]),
        NilRow(strategy: .stringNull, expected: ["found nil", "nil", "found Int"]),
        NilRow(
            strategy: .placeholder(-1, isNull: { $0 as? Int == -1 }), expected: ["found nil", "$null", "nil"]),
    ]

    @Test("only what the strategy says is nil", arguments: nilRows)
    func decodesNil(row: NilRow) throws {
        var decoder = KeyValueDecoder()
        decoder.nilDecodingStrategy = row.strategy
        let results = [String?.none as Any, "$null", -1].map { value in
            do {
                return try decoder.decode([String?].self, from: [value])[0] ?? "nil"
            } catch {
                let text = report(error)
                #expect(text.contains("SELF[0]: Expected String at SELF[0], found "))
                return text.split(separator: " ").suffix(2).joined(separator: " ")
            }
        }
        #expect(results == row.expected)
    }

    struct NumberRow: Sendable {
        let strategy: KeyValueDecoder.IntDecodingStrategy
        let value: @Sendable () -> Any
        let expected: Int8?

        init(
            _ strategy: KeyValueDecoder.IntDecodingStrategy, _ value: @autoclosure @escaping @Sendable () -> Any,
            _ expected: Int8?
        ) {
            self.strategy = strategy
            self.value = value
            self.expected = expected
        }
    }

    static let numberRows: [NumberRow] = [
        .init(.exact, 127.0, 127), .init(.exact, 127.5, nil), .init(.exact, 128, nil),
        .init(.rounding(rule: .toNearestOrAwayFromZero), 1.5, 2), .init(.rounding(rule: .toNearestOrEven), 2.5, 2),
        .init(.rounding(rule: .down), -1.5, -2), .init(.rounding(rule: .up), 127.5, nil),
        .init(.rounding(rule: .towardZero), Float(1.9), 1), .init(.rounding(rule: .up), 128, nil),
        .init(.rounding(rule: .up), Decimal(string: "-1.5")!, -1),
        .init(.rounding(rule: .toNearestOrEven), Decimal(string: "2.5")!, 2),
        .init(.rounding(rule: .toNearestOrEven), Decimal(string: "3.5")!, 4),
        .init(.rounding(rule: .awayFromZero), Decimal(string: "99.01")!, 100),
        .init(.clamping(roundingRule: nil), 1000, 127), .init(.clamping(roundingRule: nil), -1000, -128),
        .init(.clamping(roundingRule: nil), UInt64.max, 127), .init(.clamping(roundingRule: nil), 1e300, 127),
        .init(.clamping(roundingRule: nil), -Double.infinity, -128),
        .init(.clamping(roundingRule: nil), Double.nan, nil),
        .init(.clamping(roundingRule: nil), 1.5, nil), .init(.clamping(roundingRule: .down), 1.5, 1),
        .init(.clamping(roundingRule: .up), Double.infinity, 127), .init(.clamping(roundingRule: .up), Double.nan, nil),
        .init(.clamping(roundingRule: nil), Decimal(string: "1e30")!, 127),
        .init(.clamping(roundingRule: nil), Decimal(string: "-1e30")!, -128),
        .init(.clamping(roundingRule: nil), Decimal.nan, nil),
    ]

    // proves: G83
    @Test("numbers become integers under the strategy", arguments: numberRows)
    func decodesNumbers(row: NumberRow) throws {
        var decoder = KeyValueDecoder()
        decoder.intDecodingStrategy = row.strategy
        let value = row.value()
        if let expected = row.expected {
            #expect(try decoder.decode(Int8.self, from: value) == expected)
            #expect(try decoder.decode([Int8].self, from: [value]) == [expected])
            #expect(try decoder.decode([String: Int8].self, from: ["a": value]) == ["a": expected])
        } else {
            let cause = "cannot be exactly represented by Int8"
            let name = "\(type(of: value))"
            #expect(
                failure { try decoder.decode(Int8.self, from: value) }
                    == "typeMismatch SELF: \(name) at SELF, \(cause)")
            #expect(
                failure { try decoder.decode([Int8].self, from: [value]) }
                    == "typeMismatch SELF[0]: \(name) at SELF[0], \(cause)")
            #expect(
                failure { try decoder.decode([String: Int8].self, from: ["a": value]) }
                    == "typeMismatch SELF.a: \(name) at SELF.a, \(cause)")
        }
        // A decimal number is a string in the tree.
        guard !(value is Decimal) else { return }
        let list = try PropertyList(any: [value])
        #expect((try? decoder.decode([Int8].self, from: list)) == row.expected.map { [$0] })
    }
}
