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

    static let rejections: [Rejection] = [
        .init(Bool.self, from: 1, "typeMismatch SELF: Expected Bool at SELF, found Int"),
        .init(Bool.self, from: "YES", "typeMismatch SELF: Expected Bool at SELF, found String"),
        .init(
            [Int].self, from: [1, 2, true] as [Any],
            "typeMismatch SELF[2]: Expected BinaryInteger at SELF[2], found Bool"),
        .init(Int.self, from: "1", "typeMismatch SELF: Expected BinaryInteger at SELF, found String"),
        .init(
            [UInt8].self, from: [1, 2, 256],
            "typeMismatch SELF[2]: Int at SELF[2], cannot be exactly represented by UInt8"),
        .init(Int.self, from: 1.5, "typeMismatch SELF: Double at SELF, cannot be exactly represented by Int"),
        .init(Int.self, from: Double.nan, "typeMismatch SELF: Double at SELF, cannot be exactly represented by Int"),
        .init(
            Int.self, from: Double.infinity, "typeMismatch SELF: Double at SELF, cannot be exactly represented by Int"),
        .init(Int.self, from: Decimal(1.5), "typeMismatch SELF: Decimal at SELF, cannot be exactly represented by Int"),
        .init(Double.self, from: true, "typeMismatch SELF: Expected Double at SELF, found Bool"),
        .init(Double.self, from: "1", "typeMismatch SELF: Expected Double at SELF, found String"),
        .init(Decimal.self, from: "1", "typeMismatch SELF: Expected Decimal at SELF, found String"),
        .init(String.self, from: "ab".dropFirst(), "typeMismatch SELF: Expected String at SELF, found Substring"),
        .init(String.self, from: UUID(), "typeMismatch SELF: Expected String at SELF, found UUID"),
        .init(String.self, from: 1, "typeMismatch SELF: Expected String at SELF, found Int"),
        .init(Data.self, from: [UInt8(1)], "typeMismatch SELF: Expected Data at SELF, found Array<UInt8>"),
        .init(Data.self, from: "AQ==", "typeMismatch SELF: Expected Data at SELF, found String"),
        .init(Date.self, from: 1, "typeMismatch SELF: Expected Date at SELF, found Int"),
        .init(URL.self, from: "", "typeMismatch SELF: Expected URL at SELF, found String"),
        .init(Item.self, from: [1], "typeMismatch SELF: Expected Dictionary<String, Any> at SELF, found Array<Int>"),
        .init(
            Item.self, from: [1: "a"],
            "typeMismatch SELF: Expected Dictionary<String, Any> at SELF, found Dictionary<Int, String>"),
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

    @Test("a value of another kind is an error that names both and the place", arguments: rejections)
    func rejectsValue(row: Rejection) {
        #expect(failure { try row.decodeValue(KeyValueDecoder(), row.value()) } == row.testDescription)
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

    @Test("numbers become integers under the strategy", arguments: numberRows)
    func decodesNumbers(row: NumberRow) throws {
        var decoder = KeyValueDecoder()
        decoder.intDecodingStrategy = row.strategy
        #expect((try? decoder.decode(Int8.self, from: row.value())) == row.expected)
        #expect((try? decoder.decode([Int8].self, from: [row.value()])) == row.expected.map { [$0] })
        #expect((try? decoder.decode([String: Int8].self, from: ["a": row.value()])) == row.expected.map { ["a": $0] })
    }
}
