import Foundation
import KeyValueCoder
import Testing

/// The text of a coder's error.
func text<T>(_ body: () throws -> T) -> String {
    do {
        return "no error, but \(try body())"
    } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
        DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context)
    {
        return context.debugDescription
    } catch EncodingError.invalidValue(_, let context) {
        return context.debugDescription
    } catch {
        return "\(error)"
    }
}

private let isoForms: [(ISO8601DateFormatter.Options, String)] = [
    (.withInternetDateTime, "2001-01-01T00:00:05Z"), (.withFullDate, "2001-01-01"),
    ([.withInternetDateTime, .withFractionalSeconds], "2001-01-01T00:00:05.000Z"),
]

@Suite struct FoundationValueTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let matches: @Sendable () throws -> Bool

        init<T: Decodable & Equatable & Sendable>(
            _ expected: T, from value: @autoclosure @escaping @Sendable () -> Any
        ) {
            testDescription = "\(T.self) \(expected) from \(type(of: value())) \(value())"
            matches = { try KeyValueDecoder().decode(T.self, from: value()) == expected }
        }
    }

    static let rows: [Row] = [
        Row(Float(1.5), from: NSNumber(value: 1.5)), Row(Float(2), from: NSDecimalNumber(string: "2")),
        Row(true, from: NSNumber(value: true)), Row(false, from: NSNumber(value: false)),
        Row(1, from: NSNumber(value: Int8(1))), Row(Int8(-1), from: NSNumber(value: Int16(-1))),
        Row(UInt8(200), from: NSNumber(value: UInt8(200))), Row(1, from: NSNumber(value: UInt32(1))),
        Row(UInt64.max, from: NSNumber(value: UInt64.max)), Row(Int64.min, from: NSNumber(value: Int64.min)),
        Row(2, from: NSNumber(value: 2.0)), Row(1.5, from: NSNumber(value: Float(1.5))),
        Row(1.5, from: NSNumber(value: 1.5)), Row(1.0, from: NSNumber(value: 1)),
        Row(Double(UInt64.max), from: NSNumber(value: UInt64.max)),
        Row(Decimal(string: "12345678901234567.25"), from: NSDecimalNumber(string: "12345678901234567.25")),
        Row(Decimal(9_007_199_254_740_993), from: NSNumber(value: 9_007_199_254_740_993)),
        Row(7, from: NSDecimalNumber(string: "7")), Row("a", from: NSString("a")),
        Row("é😀", from: NSMutableString(string: "é😀")), Row(Data([1, 2]), from: NSData(data: Data([1, 2]))),
        Row(Date(timeIntervalSinceReferenceDate: 5), from: NSDate(timeIntervalSinceReferenceDate: 5)),
        Row(URL(string: "https://a.b/c"), from: NSURL(string: "https://a.b/c") as Any),
        Row([1, 2], from: NSArray(array: [1, 2])), Row([1.5], from: NSMutableArray(array: [NSNumber(value: 1.5)])),
        Row(["a": 1], from: NSDictionary(dictionary: ["a": 1])),
        Row(["a": ["b": [true]]], from: ["a": NSDictionary(dictionary: ["b": NSArray(array: [true])])]),
        Row(["a": 1], from: NSDictionary(dictionary: [NSString("a"): NSNumber(value: 1)])),
        Row(2.5, from: CGFloat(2.5)), Row(CGFloat(2.5), from: 2.5), Row(CGFloat(2), from: 2), Row(3, from: CGFloat(3)),
    ]

    @Test("a value is read from Foundation's classes", arguments: rows)
    func decodes(row: Row) throws {
        #expect(try row.matches())
    }

    struct Rejection: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: @Sendable () -> String

        init<T: Decodable & Sendable>(
            _ type: T.Type, _ value: @autoclosure @escaping @Sendable () -> Any, _ message: String
        ) {
            testDescription = message
            text = { KeyValueCoderTests.text { try KeyValueDecoder().decode(type, from: value()) } }
        }
    }

    static let rejections: [Rejection] = [
        .init(Bool.self, NSNumber(value: 2), "Expected Bool at SELF, found NSNumber"),
        .init(Bool.self, NSNumber(value: Int8(-1)), "Expected Bool at SELF, found NSNumber"),
        .init(Bool.self, NSNumber(value: 0.5), "Expected Bool at SELF, found NSNumber"),
        .init(Bool.self, 1, "Expected Bool at SELF, found Int"),
        .init(Int.self, NSNumber(value: UInt64.max), "NSNumber at SELF, cannot be exactly represented by Int"),
        .init(Int.self, NSNumber(value: 1.5), "NSNumber at SELF, cannot be exactly represented by Int"),
        .init(Int.self, NSNull(), "Expected BinaryInteger at SELF, found NSNull"),
        .init(
            [String: Int].self, NSDictionary(dictionary: [1: 1]),
            "Expected Dictionary<String, Any> at SELF, found NSDictionary"),
        .init(
            [String: Int].self, NSArray(array: [1]), "Expected Dictionary<String, Any> at SELF, found NSArray"),
        .init([Int].self, NSDictionary(), "Expected Array<Any> at SELF, found NSDictionary"),
    ]

    @Test("a value of another kind is an error", arguments: rejections)
    func rejects(row: Rejection) {
        #expect(row.text() == row.testDescription)
    }

    @Test("a surrogate without its other half is an error, or what NSString itself made of it")
    func survivesLoneSurrogates() throws {
        let string = NSString(characters: [0xD800, 0x41], length: 2)
        let message = text { try KeyValueDecoder().decode(String.self, from: string) }
        let isReplaced = string.character(at: 0) == 0xFFFD
        #expect(message == (isReplaced ? "no error, but \u{FFFD}A" : "Expected String at SELF, found NSString"))
    }

    @Test("a flag that was written as a number is read where Foundation gives an object, unless the strategy is exact")
    func readsNumbersAsFlags() throws {
        struct Flags: Decodable { var on: Bool, off: Bool?, list: [Bool], named: [String: Bool] }
        let json = #"{"on": 1, "off": 0, "list": [1, true, 0], "named": {"a": 1}}"#
        let object = try JSONSerialization.jsonObject(with: Data(json.utf8))
        let flags = try KeyValueDecoder().decode(Flags.self, from: object)
        #expect(flags.on && flags.off == false && flags.list == [true, true, false] && flags.named == ["a": true])
        let list = try PropertyListSerialization.data(fromPropertyList: ["on": 1], format: .xml, options: 0)
        let stored = try PropertyListSerialization.propertyList(from: list, format: nil)
        #expect(try KeyValueDecoder().decode([String: Bool].self, from: stored) == ["on": true])
        var decoder = KeyValueDecoder()
        decoder.boolDecodingStrategy = .exact
        #expect(
            text { try decoder.decode([String: Bool].self, from: stored) } == "Expected Bool at SELF.on, found NSNumber"
        )
    }

    @Test("a number made of a Bool is no integer")
    func rejectsNumberFromBool() {
        let message = text { try KeyValueDecoder().decode(Int.self, from: NSNumber(value: true)) }
        #expect(message.hasPrefix("Expected BinaryInteger at SELF, found "))
    }

    @Test("NSNull is nil under its strategy alone, and Optional none then is not")
    func decodesNull() throws {
        var decoder = KeyValueDecoder()
        decoder.nilDecodingStrategy = .nsNull
        #expect(try decoder.decode([Int?].self, from: [1, NSNull()]) == [1, nil])
        #expect(try decoder.decode([Int?].self, from: NSArray(array: [1, NSNull()])) == [1, nil])
        #expect(
            text { try decoder.decode([Int?].self, from: [Int?.none as Any]) }
                == "Expected BinaryInteger at SELF[0], found nil")
        #expect(
            text { try decoder.decode([Int].self, from: [NSNull()]) }
                == "Expected BinaryInteger at SELF[0], found nil")
        #expect(
            text { try KeyValueDecoder().decode([Int?].self, from: [NSNull()]) }
                == "Expected BinaryInteger at SELF[0], found NSNull")
    }

    @Test("nil becomes NSNull under its strategy")
    func encodesNull() throws {
        var encoder = KeyValueEncoder()
        encoder.nilEncodingStrategy = .nsNull
        let elements = try #require(try encoder.encode([1, nil]) as? [Any])
        #expect(elements[0] as? Int == 1 && elements[1] is NSNull)
        #expect(try encoder.encode(Int?.none) is NSNull)
        struct Note: Encodable { var text: String?, tags: [String: String?] }
        let note = try #require(try encoder.encode(Note(text: nil, tags: ["a": nil])) as? [String: Any])
        #expect(note.keys.sorted() == ["tags"])
        #expect((note["tags"] as? [String: Any])?["a"] is NSNull)
    }

    private struct NameKey: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }

    /// One property of any name.
    private struct Named: Codable {
        var name: String
        init(name: String) { self.name = name }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: NameKey.self)
            try container.encode(1, forKey: NameKey(stringValue: name))
        }
        init(from decoder: any Decoder) throws {
            let key = try #require(CodingUserInfoKey(rawValue: "name"))
            name = try #require(decoder.userInfo[key] as? String)
            _ = try decoder.container(keyedBy: NameKey.self).decode(Int.self, forKey: NameKey(stringValue: name))
        }
    }

    @Test(
        "names become snake case as Foundation makes it, and are found by it again", arguments: 0..<300 as Range<UInt64>
    )
    func convertsNamesAsFoundation(seed: UInt64) throws {
        var random = Seeded(seed: seed)
        let letters = ["a", "b", "B", "C", "URL", "_", "2", "é", "É"]
        let name = (0..<Int.random(in: 1...9, using: &random)).map { _ in random.one(of: letters) }.joined()
        let theirs = JSONEncoder()
        theirs.keyEncodingStrategy = .convertToSnakeCase
        let object = try JSONSerialization.jsonObject(with: theirs.encode(Named(name: name)))
        var encoder = KeyValueEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let entries = try #require(try encoder.encode(Named(name: name)) as? [String: Any])
        #expect(Array(entries.keys) == (object as? [String: Any]).map { Array($0.keys) })
        var decoder = KeyValueDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.userInfo[try #require(CodingUserInfoKey(rawValue: "name"))] = name
        #expect(try decoder.decode(Named.self, from: entries).name == name)
    }

    @Test("nil strategies tell nil from values")
    func tellsNil() {
        #expect(NilCodingStrategy.nsNull.isNull(NSNull()) && !NilCodingStrategy.nsNull.isNull(1))
        #expect(NilCodingStrategy.stringNull.isNull("$null") && !NilCodingStrategy.stringNull.isNull(NSNull()))
        #expect(NilCodingStrategy.default.isNull(Int?.none as Any) && !NilCodingStrategy.default.isNull(NSNull()))
        #expect(NilCodingStrategy.removed.isNull(Int?.none as Any) && !NilCodingStrategy.removed.isNull("$null"))
        let strategies: [NilCodingStrategy] = [.default, .removed, .stringNull, .nsNull]
        #expect(strategies.allSatisfy { $0.isNull(nil) && !$0.isNull(0) })
    }

    @Test("CGFloat, CGPoint and Float16 become Swift's own numbers")
    func encodesGeometry() throws {
        let number = try #require(try KeyValueEncoder().encode(CGFloat(1.5)))
        #expect(type(of: number) == Double.self && number as? Double == 1.5)
        let small = try #require(try KeyValueEncoder().encode(Float16(1.5)))
        #expect(type(of: small) == Float.self && small as? Float == 1.5)
        let encoded = try #require(try KeyValueEncoder().encode(CGPoint(x: 1, y: 2)))
        #expect(type(of: encoded) == [Any].self)
        let point = try #require(encoded as? [Any])
        #expect(point.map { $0 as? Double } == [1, 2] && point.allSatisfy { type(of: $0) == Double.self })
        #expect(try KeyValueDecoder().decode(CGPoint.self, from: point) == CGPoint(x: 1, y: 2))
    }

    @Test("what JSONSerialization and PropertyListSerialization give is decoded")
    func decodesSerializations() throws {
        struct Item: Codable, Equatable {
            var flag: Bool
            var count: UInt64
            var ratio: Double
            var note: String?
        }
        let item = Item(flag: true, count: .max, ratio: 1.5, note: nil)
        let json = try JSONSerialization.jsonObject(
            with: Data(#"[{"flag":true,"count":18446744073709551615,"ratio":1.5,"note":null}]"#.utf8))
        var decoder = KeyValueDecoder()
        decoder.nilDecodingStrategy = .nsNull
        #expect(try decoder.decode([Item].self, from: json) == [item])
        let plist = try PropertyListSerialization.propertyList(
            from: PropertyListEncoder().encode([item]), format: nil)
        #expect(try KeyValueDecoder().decode([Item].self, from: plist) == [item])
    }

    @Test("a failing closure is told in the words of its localizedDescription")
    func describesErrors() {
        struct Failure: LocalizedError {
            var errorDescription: String? { "no calendar" }
        }
        var encoder = KeyValueEncoder()
        let day = Date(timeIntervalSinceReferenceDate: 0)
        encoder.dateEncodingStrategy = .custom { date in
            if date == day { throw Failure() }
            return 1
        }
        let value = ["calendar": [day + 1, day]]
        #expect(text { try encoder.encode(value) } == "Date at SELF.calendar[1] cannot be encoded. no calendar")
        let error = #expect(throws: EncodingError.self) { try encoder.encode(value) }
        guard case .invalidValue(let culprit, let context) = error else { return }
        #expect(culprit as? Date == day && context.underlyingError is Failure)
        #expect(context.codingPath.map(\.stringValue) == ["calendar", "Index 1"])
    }

    @Test("ISO 8601 dates follow the options", arguments: isoForms)
    func codesISODates(options: ISO8601DateFormatter.Options, expected: String) throws {
        var encoder = KeyValueEncoder()
        encoder.dateEncodingStrategy = .iso8601(options: options)
        #expect(try encoder.encode(Date(timeIntervalSinceReferenceDate: 5)) as? String == expected)
        var decoder = KeyValueDecoder()
        decoder.dateDecodingStrategy = .iso8601(options: options)
        let seconds = options == [.withFullDate] ? 0.0 : 5.0
        #expect(try decoder.decode(Date.self, from: expected) == Date(timeIntervalSinceReferenceDate: seconds))
        #expect(text { try decoder.decode(Date.self, from: 1) } == "Expected String at SELF, found Int")
        #expect(
            text { try decoder.decode(Date.self, from: "x") }
                == "Date at SELF cannot be decoded. \"x\" is not a date")
    }

    @Test("the default ISO 8601 form is the internet date-time")
    func codesDefaultISODates() throws {
        var encoder = KeyValueEncoder()
        encoder.dateEncodingStrategy = .iso8601()
        #expect(try encoder.encode(Date(timeIntervalSinceReferenceDate: 5)) as? String == "2001-01-01T00:00:05Z")
    }

    @Test("one formatter serves all values of a strategy")
    func makesOneFormatter() throws {
        // Made by one thread, before any value is coded.
        var made = 0
        func formatter() -> SharedDateFormatter {
            SharedDateFormatter(.withInternetDateTime) {
                made += 1
                return ISO8601DateFormatter()
            }
        }
        var encoder = KeyValueEncoder()
        encoder.dateEncodingStrategy = .iso8601(by: formatter())
        var decoder = KeyValueDecoder()
        decoder.dateDecodingStrategy = .iso8601(by: formatter())
        let dates = (0..<500).map { Date(timeIntervalSinceReferenceDate: Double($0)) }
        #expect(try decoder.decode([Date].self, from: try encoder.encode(dates) as Any) == dates)
        #expect(try decoder.decode([Date].self, from: try encoder.encode(dates) as Any) == dates)
        #expect(made == 2)
    }
}
