import FoundationEssentials
import KeyValueCoding
import PropertyLists
import Testing

private struct Point: Codable, Equatable {
    var x: Int
    var y: Int
}

private struct Nothing: Codable {}

private enum Level: String, Codable { case low, high }

private enum Rank: Int8, Encodable { case first = 1 }

private struct Width: RawRepresentable, Encodable { var rawValue: Double }

private enum Name: String, Encodable, CodingKeyRepresentable { case one }

private enum Shape: Codable, Equatable {
    case a(Int)
    case b(x: Int, String)
    case c
}

private struct Note: Codable, Equatable {
    var text: String?
    var tags: [String?]
}

private final class Base: Encodable, Sendable {
    let name = "base"
}

@Suite struct EncodingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let encode: @Sendable (KeyValueEncoder) throws -> Any?
        let encodeToTree: @Sendable (KeyValueEncoder) throws -> PropertyList?
        let expected: @Sendable () -> Any?

        init<T: Encodable & Sendable>(_ value: T, _ expected: @autoclosure @escaping @Sendable () -> Any?) {
            testDescription = "\(T.self) \(value)"
            encode = { try $0.encode(value) }
            encodeToTree = { try $0.encodeToPropertyList(value) }
            self.expected = expected
        }
    }

    static let rows: [Row] = [
        Row(true, true), Row("text", "text"), Row(Int(-1), Int(-1)), Row(Int8(1), Int8(1)), Row(Int16(1), Int16(1)),
        Row(Int32(1), Int32(1)), Row(Int64(1), Int64(1)), Row(UInt(1), UInt(1)), Row(UInt8(1), UInt8(1)),
        Row(UInt16(1), UInt16(1)), Row(UInt32(1), UInt32(1)), Row(UInt64.max, UInt64.max),
        Row(Int128.min, Int128.min), Row(UInt128.max, UInt128.max), Row(Float(1.5), Float(1.5)), Row(1.5, 1.5),
        Row(-Double.zero, -Double.zero), Row(Double.infinity, Double.infinity), Row(Float16(0.5), Float(0.5)),
        Row(Decimal(string: "12345678901234567.25"), Decimal(string: "12345678901234567.25")),
        Row(Data([1, 2]), Data([1, 2])), Row(URL(string: "https://a.b/c"), URL(string: "https://a.b/c")),
        Row(Date(timeIntervalSince1970: 1.9), Date(timeIntervalSince1970: 1.9)),
        Row(
            UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"), "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"),
        Row(Level.high, "high"), Row(Duration.nanoseconds(1), [Int64(0), UInt64(1_000_000_000)] as [Any]),
        Row([1, 2], [1, 2] as [Any]), Row([UInt8(1)], [UInt8(1)] as [Any]), Row(Set([7]), [7] as [Any]),
        Row(1..<3, [1, 3] as [Any]), Row([[1], []], [[1] as [Any], [Any]()] as [Any]),
        Row(Point(x: 1, y: 2), ["x": 1, "y": 2] as [String: Any]), Row(["a": 1], ["a": 1] as [String: Any]),
        Row(["a": Point(x: 1, y: 2)], ["a": ["x": 1, "y": 2] as [String: Any]] as [String: Any]),
        Row([1: "a"], ["1": "a"] as [String: Any]), Row([Level.low: 1], ["low", 1] as [Any]),
        Row([true: 1], [true, 1] as [Any]), Row(Shape.a(1), ["a": ["_0": 1] as [String: Any]] as [String: Any]),
        Row(Shape.b(x: 1, "y"), ["b": ["x": 1, "_1": "y"] as [String: Any]] as [String: Any]),
        Row(Shape.c, ["c": [String: Any]()] as [String: Any]), Row(Nothing(), [String: Any]()),
        Row(Base(), ["name": "base"] as [String: Any]), Row(Rank.first, Int8(1)), Row(Width(rawValue: 2), 2.0),
        Row([Name.one: 1], ["one": 1] as [String: Any]),
        Row(["a": [1: true]], ["a": ["1": true] as [String: Any]] as [String: Any]),
        Row([Nothing()], [[String: Any]()] as [Any]), Row([Int](), [Any]()), Row([String: Int](), [String: Any]()),
    ]

    // proves: G84
    @Test("a value encodes to its Any form", arguments: rows)
    func encodesValue(row: Row) throws {
        let result = try row.encode(KeyValueEncoder())
        #expect(isSame(result, row.expected()), "\(String(describing: result))")
    }

    struct NilRow: Sendable {
        let strategy: NilCodingStrategy
        let elements: @Sendable () -> Any?
        let single: @Sendable () -> Any?
    }

    static let nilRows: [NilRow] = [
        NilRow(
            strategy: .default, elements: { ["a", Any?.none as Any] as [Any] }, single: { Any?.none as Any }),
        NilRow(strategy: .removed, elements: { ["a"] as [Any] }, single: { nil }),
        NilRow(strategy: .stringNull, elements: { ["a", "$null"] as [Any] }, single: { "$null" }),
        NilRow(
            strategy: .placeholder(-1, isNull: { $0 as? Int == -1 }), elements: { ["a", -1] as [Any] },
            single: { -1 }),
    ]

    @Test("nil follows the strategy, and a nil property is left out under each", arguments: nilRows)
    func encodesNil(row: NilRow) throws {
        var encoder = KeyValueEncoder()
        encoder.nilEncodingStrategy = row.strategy
        #expect(isSame(try encoder.encode(["a", nil]), row.elements()))
        #expect(isSame(try encoder.encode(String?.none), row.single()))
        let note = try encoder.encode(Note(text: nil, tags: ["a", nil]))
        let elements = try #require(row.elements())
        #expect(isSame(note, ["tags": elements] as [String: Any]))
        var entries: [String: Any] = ["b": "x"]
        entries["a"] = (elements as? [Any])?.dropFirst().first
        #expect(isSame(try encoder.encode(["a": nil, "b": "x"] as [String: String?]), entries))
        var decoder = KeyValueDecoder()
        decoder.nilDecodingStrategy = row.strategy
        let tags = if case .removed = row.strategy { ["a"] } else { ["a", nil] as [String?] }
        #expect(try decoder.decode(Note.self, from: note as Any) == Note(text: nil, tags: tags))
    }

    @Test("the default nil can be cast to any Optional")
    func castsDefaultNil() throws {
        let elements = try #require(try KeyValueEncoder().encode([nil, 1] as [Int?]) as? [Any])
        #expect(elements[0] as? Int? == .some(nil))
        #expect(elements[0] as? String? == .some(nil))
    }

    struct DateRow: Sendable {
        let strategy: KeyValueEncoder.DateEncodingStrategy
        let seconds: Double
        let expected: @Sendable () -> Any
    }

    static let dateRows: [DateRow] = [
        DateRow(strategy: .secondsSince1970, seconds: 1.9, expected: { Int64(1) }),
        DateRow(strategy: .secondsSince1970, seconds: -1.9, expected: { Int64(-1) }),
        DateRow(strategy: .millisecondsSince1970, seconds: 1.9995, expected: { Int64(1999) }),
        DateRow(strategy: .millisecondsSince1970, seconds: -1.9995, expected: { Int64(-1999) }),
        DateRow(strategy: .iso8601Format(.iso8601), seconds: 0, expected: { "1970-01-01T00:00:00Z" }),
        DateRow(strategy: .custom { "at \($0.timeIntervalSince1970)" }, seconds: 2, expected: { "at 2.0" }),
        DateRow(strategy: .custom { [$0, 1] as [Any] }, seconds: 2) { [Date(timeIntervalSince1970: 2), 1] as [Any] },
        DateRow(strategy: .formatted { _ in "then" }, seconds: 2, expected: { "then" }),
    ]

    @Test("a date follows the strategy wherever it stands", arguments: dateRows)
    func encodesDate(row: DateRow) throws {
        var encoder = KeyValueEncoder()
        encoder.dateEncodingStrategy = row.strategy
        let date = Date(timeIntervalSince1970: row.seconds)
        #expect(isSame(try encoder.encode(date), row.expected()))
        #expect(isSame(try encoder.encode([date]), [row.expected()]))
        #expect(isSame(try encoder.encode(["a": date]), ["a": row.expected()]))
        #expect(isSame(try encoder.encode(Optional(date)), row.expected()))
    }

    @Test("names are converted as Foundation does it, dictionary keys are not")
    func convertsKeys() throws {
        struct Names: Codable, Equatable {
            var myURLProperty = 1
            var fooURL = 2
            var _private = ["someKey": 3]
        }
        var encoder = KeyValueEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let result = try encoder.encode(Names())
        let expected: [String: Any] = [
            "my_url_property": 1, "foo_url": 2, "_private": ["someKey": 3] as [String: Any],
        ]
        #expect(isSame(result, expected))
        var decoder = KeyValueDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        #expect(try decoder.decode(Names.self, from: expected) == Names())
    }
}
