import Foundation
import KeyValueCoder
import PropertyLists
import Testing

/// Takes arrays and dictionaries of any depth.
private indirect enum Anything: Decodable {
    case array([Anything])
    case dictionary([String: Anything])

    init(from decoder: any Decoder) throws {
        if let entries = try? decoder.container(keyedBy: Name.self) {
            var dictionary: [String: Anything] = [:]
            for key in entries.allKeys {
                dictionary[key.stringValue] = try entries.decode(Anything.self, forKey: key)
            }
            self = .dictionary(dictionary)
        } else {
            var elements = try decoder.unkeyedContainer()
            var array: [Anything] = []
            while !elements.isAtEnd { array.append(try elements.decode(Anything.self)) }
            self = .array(array)
        }
    }

    struct Name: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { return nil }
    }
}

private let tooDeep = "Values are nested deeper than 512 levels"

/// Values that no program should hand to a decoder: an error, never a trap.
@Suite struct HostileValueTests {
    enum Circle: CaseIterable, Sendable { case array, dictionary, both, set, inSwiftArray, inSwiftDictionary }

    /// Gives a value that contains itself for the time of the call; then breaks the circle, so that nothing is kept.
    private func withCircle<Result>(_ kind: Circle, _ body: (Any) throws -> Result) rethrows -> Result {
        let array = NSMutableArray()
        let dictionary = NSMutableDictionary()
        let set = NSMutableSet()
        defer {
            array.removeAllObjects()
            dictionary.removeAllObjects()
            set.removeAllObjects()
        }
        switch kind {
        case .array: array.add(array)
        case .dictionary: dictionary.setObject(dictionary, forKey: NSString("a"))
        case .both, .inSwiftArray, .inSwiftDictionary:
            array.add(dictionary)
            dictionary.setObject(array, forKey: NSString("a"))
        case .set:
            set.add(array)
            array.add(set)
        }
        switch kind {
        case .array, .both, .set: return try body(array)
        case .dictionary: return try body(dictionary)
        case .inSwiftArray: return try body([array, array] as [Any])
        case .inSwiftDictionary: return try body(["a": dictionary] as [String: Any])
        }
    }

    // proves: G85
    @Test("a collection that contains itself is an error", arguments: Circle.allCases)
    func refusesCircles(kind: Circle) {
        let message = withCircle(kind) { value in text { try KeyValueDecoder().decode(Anything.self, from: value) } }
        #expect(message == (kind == .set ? "Expected Array<Any> at SELF[0], found NSMutableSet" : tooDeep))
    }

    @Test("a collection that contains itself is an error of every type", arguments: Circle.allCases)
    func refusesCirclesOfScalars(kind: Circle) {
        withCircle(kind) { value in
            for message in [
                text { try KeyValueDecoder().decode(Int.self, from: value) },
                text { try KeyValueDecoder().decode([Int].self, from: value) },
                text { try KeyValueDecoder().decode([String].self, from: value) },
                text { try KeyValueDecoder().decode([String: Int].self, from: value) },
                text { try KeyValueDecoder().decode([String: [Date]].self, from: value) },
                text { try KeyValueDecoder().decode([[URL?]].self, from: value) },
                text { try KeyValueDecoder().decode(Decimal.self, from: value) },
            ] {
                #expect(message.hasPrefix("Expected "))
            }
        }
    }

    @Test("a closure that gives a collection which contains itself is an error", arguments: Circle.allCases)
    func refusesCirclesFromClosures(kind: Circle) {
        withCircle(kind) { value in
            // The value is used by the one thread that has it.
            nonisolated(unsafe) let value = value
            var encoder = KeyValueEncoder()
            encoder.dateEncodingStrategy = .custom { _ in value }
            let message = text { try encoder.encodeToPropertyList(["a": Date()]) }
            #expect(message.hasPrefix("Value at SELF.a"))
            #expect(
                message.hasSuffix(kind == .set ? "Expected a property-list value, found NSMutableSet" : "512 levels"))
        }
    }

    // proves: G85
    @Test("10,000 levels of Foundation's collections are an error", arguments: [true, false])
    func refusesDepth(areArrays: Bool) {
        var levels: [NSObject] = []
        let innermost: NSObject = NSNumber(value: 1)
        var value = innermost
        for _ in 0..<10_000 {
            value =
                areArrays ? NSMutableArray(object: value) : NSMutableDictionary(object: value, forKey: NSString("a"))
            levels.append(value)
        }
        #expect(text { try KeyValueDecoder().decode(Anything.self, from: value) } == tooDeep)
        #expect(text { try KeyValueDecoder().decode([Int].self, from: value) }.hasPrefix("Expected "))
        // Taken apart step by step: the release of the whole would recurse.
        for level in levels.reversed() {
            (level as? NSMutableArray)?.removeAllObjects()
            (level as? NSMutableDictionary)?.removeAllObjects()
        }
    }

    @Test("collections inside collections are read as deep as they may go")
    func readsNestedCollections() throws {
        let value = NSArray(array: [
            NSDictionary(dictionary: ["a": NSArray(array: [1, 2]), "b": NSArray()]), NSMutableDictionary(),
        ])
        #expect(try KeyValueDecoder().decode([[String: [Int]]].self, from: value) == [["a": [1, 2], "b": []], [:]])
        let strings = NSDictionary(dictionary: ["a": ["b": NSString("c")] as NSDictionary])
        #expect(try KeyValueDecoder().decode([String: [String: String]].self, from: strings) == ["a": ["b": "c"]])
    }

    @Test("keys that are no strings are an error")
    func refusesOtherKeys() {
        let values: [(Any, String)] = [
            (NSDictionary(dictionary: [1: 1]), "NSDictionary"), ([1: 1], "Dictionary<Int, Int>"),
            (["a": 1, 2: 2] as [AnyHashable: Any], "Dictionary<AnyHashable, Any>"),
            (NSDictionary(dictionary: [NSNull(): 1]), "NSDictionary"),
            (NSDictionary(dictionary: [NSArray(array: [1]): 1]), "NSDictionary"),
            ([Date(timeIntervalSince1970: 0): 1], "Dictionary<Date, Int>"),
        ]
        for (value, name) in values {
            #expect(
                text { try KeyValueDecoder().decode([String: Int].self, from: value) }
                    == "Expected Dictionary<String, Any> at SELF, found \(name)")
        }
    }

    struct NumberRow: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var number: @Sendable () -> NSNumber
        /// The value as Bool, Int64, UInt64, Double and Decimal; nil where that is an error.
        var bool: Bool?
        var signed: Int64?
        var unsigned: UInt64?
        var double: Double?
        var decimal: Decimal?

        init(
            _ name: String, _ number: @autoclosure @escaping @Sendable () -> NSNumber, bool: Bool? = nil,
            _ signed: Int64?, _ unsigned: UInt64?, _ double: Double?, _ decimal: String?
        ) {
            testDescription = name
            self.number = number
            (self.bool, self.signed, self.unsigned, self.double) = (bool, signed, unsigned, double)
            self.decimal = decimal.flatMap { Decimal(string: $0) }
        }
    }

    static let numbers: [NumberRow] = [
        .init("true", NSNumber(value: true), bool: true, nil, nil, nil, nil),
        .init("false", NSNumber(value: false), bool: false, nil, nil, nil, nil),
        .init("int8", NSNumber(value: Int8.min), -128, nil, -128, "-128"),
        .init("int8 of 1", NSNumber(value: Int8(1)), 1, 1, 1, "1"),
        .init("uint8", NSNumber(value: UInt8.max), 255, 255, 255, "255"),
        .init("int16", NSNumber(value: Int16.min), -32768, nil, -32768, "-32768"),
        .init("uint16", NSNumber(value: UInt16.max), 65535, 65535, 65535, "65535"),
        .init("int32", NSNumber(value: Int32.min), -2_147_483_648, nil, -2_147_483_648, "-2147483648"),
        .init("uint32", NSNumber(value: UInt32.max), 4_294_967_295, 4_294_967_295, 4_294_967_295, "4294967295"),
        .init("int", NSNumber(value: Int.max), .max, UInt64(Int64.max), Double(Int64.max), "9223372036854775807"),
        .init("int64", NSNumber(value: Int64.min), .min, nil, Double(Int64.min), "-9223372036854775808"),
        .init("uint", NSNumber(value: UInt.max), nil, .max, Double(UInt64.max), "18446744073709551615"),
        .init("uint64", NSNumber(value: UInt64.max), nil, .max, Double(UInt64.max), "18446744073709551615"),
        .init("float", NSNumber(value: Float(1.5)), nil, nil, 1.5, "1.5"),
        .init("whole float", NSNumber(value: Float(2)), 2, 2, 2, "2"),
        .init("double", NSNumber(value: -2.5), nil, nil, -2.5, "-2.5"),
        .init("huge double", NSNumber(value: 1e300), nil, nil, 1e300, nil),
        .init("infinity", NSNumber(value: Double.infinity), nil, nil, .infinity, nil),
        .init(
            "decimal", NSDecimalNumber(string: "12345678901234567.25"), nil, nil, 12345678901234567.25,
            "12345678901234567.25"),
        .init(
            "whole decimal", NSDecimalNumber(string: "18446744073709551615"), nil, .max, Double(UInt64.max),
            "18446744073709551615"),
    ]

    // proves: G83
    @Test("a number of every kind is what it holds, or an error", arguments: numbers)
    func readsNumbers(row: NumberRow) {
        var decoder = KeyValueDecoder()
        decoder.boolDecodingStrategy = .exact
        func value<T: Decodable>(_ type: T.Type) -> T? {
            let alone = try? decoder.decode(type, from: row.number())
            let inside = try? decoder.decode(
                [String: [T]].self, from: NSDictionary(object: [row.number()], forKey: "a" as NSString))
            #expect((alone == nil) == (inside == nil))
            return alone
        }
        #expect(value(Bool.self) == row.bool)
        #expect(value(Int64.self) == row.signed)
        #expect(value(UInt64.self) == row.unsigned)
        #expect(value(Double.self) == row.double)
        #expect(value(Decimal.self) == row.decimal)
        #expect(value(String.self) == nil && value(Date.self) == nil && value([Int].self) == nil)
    }

    @Test("a number that is not one is a Double, a Decimal and no integer")
    func readsNotANumber() throws {
        let number = NSNumber(value: Double.nan)
        #expect(try KeyValueDecoder().decode(Double.self, from: number).isNaN)
        #expect(try KeyValueDecoder().decode(Decimal.self, from: number).isNaN)
        #expect(
            text { try KeyValueDecoder().decode(Int.self, from: number) }
                == "NSNumber at SELF, cannot be exactly represented by Int")
        #expect(
            text { try KeyValueDecoder().decode(Int.self, from: NSDecimalNumber.notANumber) }
                .hasSuffix("at SELF, cannot be exactly represented by Int"))
    }

    @Test("Optionals inside Optionals inside Any are what is inside, or nil")
    func readsNestedOptionals() throws {
        let some: Any = Int???.some(.some(.some(1))) as Any
        let boxed: Any = Any?.some(Any?.some(1) as Any) as Any
        let none: Any = Int???.some(.some(.none)) as Any
        let hidden: Any = Any?.some(Any?.none as Any) as Any
        for value in [some, boxed] {
            #expect(try KeyValueDecoder().decode(Int.self, from: value) == 1)
            #expect(try KeyValueDecoder().decode([Int??].self, from: [value]) == [1])
        }
        for value in [none, hidden] {
            #expect(try KeyValueDecoder().decode([Int?].self, from: [value]) == [nil])
            #expect(
                text { try KeyValueDecoder().decode([Int].self, from: [value]) }
                    == "Expected BinaryInteger at SELF[0], found nil")
        }
        let dictionary: Any = [String: Any]??.some(["a": some]) as Any
        #expect(try KeyValueDecoder().decode([String: Int].self, from: dictionary) == ["a": 1])
        let array: Any = [Any]??.some([none, some]) as Any
        #expect(try KeyValueDecoder().decode([Int?].self, from: array) == [nil, 1])
    }

    @Test("Optionals without end are taken for nil")
    func boundsOptionals() {
        var value: Any = 1
        for _ in 0..<10_000 { value = Any?.some(value) as Any }
        #expect(
            text { try KeyValueDecoder().decode(Int.self, from: value) } == "Expected BinaryInteger at SELF, found nil")
    }

    @Test("a surrogate without its other half is an error in a key, too")
    func refusesLoneSurrogates() {
        let broken = NSString(characters: [0x61, 0xDC00], length: 2)
        guard broken.character(at: 1) == 0xDC00 else {
            // Foundation has replaced it by U+FFFD when it made the string.
            #expect(broken.character(at: 1) == 0xFFFD)
            return
        }
        let message = text {
            try KeyValueDecoder().decode([String: Int].self, from: NSDictionary(object: 1, forKey: broken))
        }
        #expect(message == "Expected Dictionary<String, Any> at SELF, found NSDictionary")
    }

    /// The ways of making an NSString of "a" and a surrogate without its other half. Cutting a pair in two is none:
    /// `substring(to:)` traps in Foundation itself, before there is a string.
    static let brokenStrings: [(name: String, make: @Sendable () -> NSString?)] = [
        ("characters", { NSString(characters: [0x61, 0xDC00], length: 2) }),
        ("mutable", { NSMutableString(characters: [0x61, 0xDC00], length: 2) }),
        (
            "appended",
            {
                let text = NSMutableString(string: "a")
                text.append(NSString(characters: [0xD83D], length: 1) as String)
                return text
            }
        ),
        (
            "UTF-16 data",
            { NSString(data: Data([0x61, 0, 0, 0xDC]), encoding: String.Encoding.utf16LittleEndian.rawValue) }
        ),
        (
            "UTF-16 bytes",
            {
                NSString(
                    bytes: [0, 0x61, 0xDC, 0] as [UInt8], length: 4, encoding: String.Encoding.utf16BigEndian.rawValue)
            }
        ),
    ]

    @Test(
        "a string with half a surrogate pair is an error, or has U+FFFD in its place",
        arguments: brokenStrings.map(\.name))
    func readsBrokenStrings(name: String) throws {
        let make = try #require(Self.brokenStrings.first { $0.name == name }).make
        // Foundation may refuse to make one.
        guard let broken = make() else { return }
        #expect(broken.length == 2)
        let isHalf = broken.character(at: 1) != 0xFFFD
        #expect(!isHalf || broken.character(at: 1) & 0xF800 == 0xD800)
        let expected = isHalf ? nil : "a\u{FFFD}"
        for value in [broken, NSArray(object: broken), NSDictionary(object: broken, forKey: "a" as NSString)] as [Any] {
            let texts = [
                try? KeyValueDecoder().decode(String.self, from: value),
                (try? KeyValueDecoder().decode([String].self, from: value))?.first,
                (try? KeyValueDecoder().decode([String: String].self, from: value))?["a"],
            ].compactMap { $0 }
            #expect(texts == (expected.map { [$0] } ?? []))
        }
    }
}

/// An array that runs code when its elements are read first.
private final class WritingArray: NSArray {
    private let element: Any
    private var write: (() -> Void)?

    init(of element: Any, _ write: @escaping () -> Void) {
        self.element = element
        self.write = write
        super.init(objects: nil, count: 0)
    }

    required init(objects: UnsafePointer<AnyObject>?, count: Int) { fatalError("never made of objects") }

    required init?(coder: NSCoder) { nil }

    required convenience init(arrayLiteral elements: Any...) { self.init(of: 1) {} }

    override var count: Int { 1 }

    override func object(at index: Int) -> Any {
        let write = write
        self.write = nil
        write?()
        return element
    }
}

/// Encodes by the code of a test.
private struct Programmed: Encodable {
    let code: (any Encoder) throws -> Void

    func encode(to encoder: any Encoder) throws { try code(encoder) }
}

private enum Field: String, CodingKey { case date, other, x }

/// A value that a strategy's closure gives may encode to the same container while it is looked into: as if it had done so
/// before.
struct WritingValueTests {
    /// What is done while the date's array is looked into.
    private final class Meanwhile {
        var write: () -> Void = {}
        var element: Any = 1
    }

    private let meanwhile = Meanwhile()

    private func encoded(
        nil strategy: NilCodingStrategy = .optionalNone, _ code: @escaping (any Encoder, Meanwhile) throws -> Void
    ) throws -> PropertyList {
        nonisolated(unsafe) let meanwhile = meanwhile
        var encoder = KeyValueEncoder()
        encoder.nilEncodingStrategy = strategy
        encoder.dateEncodingStrategy = .custom { _ in
            WritingArray(of: meanwhile.element) { meanwhile.write() }
        }
        defer { meanwhile.write = {} }
        let program = Programmed { try code($0, meanwhile) }
        return try #require(try encoder.encodeToPropertyList(["a": [program]]))["a"] ?? PropertyList(any: [Int]())
    }

    @Test("an entry beside the value")
    func writesEntries() throws {
        let list = try encoded { encoder, meanwhile in
            var container = encoder.container(keyedBy: Field.self)
            let kept = container
            meanwhile.write = {
                var kept = kept
                try? kept.encode(7, forKey: .other)
            }
            try container.encode(Date(), forKey: .date)
        }
        #expect(try list == PropertyList(any: [["date": [1], "other": 7]]))
    }

    @Test("an element before the value, and one that stays where the value cannot be encoded")
    func writesElements() throws {
        for fails in [false, true] {
            if fails { meanwhile.element = NSObject() }
            let list = try encoded { encoder, meanwhile in
                var container = encoder.unkeyedContainer()
                let kept = container
                meanwhile.write = {
                    var kept = kept
                    try? kept.encode("inner")
                }
                do {
                    try container.encode(Date())
                    #expect(!fails)
                } catch {
                    #expect(fails && (error as? PropertyListError)?.path == ["a", 0, 1, 0])
                }
                try container.encode("behind")
            }
            #expect(try list == PropertyList(any: [fails ? ["inner", "behind"] : ["inner", [1], "behind"]]))
        }
    }

    @Test("the value of a single-value container: the value written last stays")
    func writesSingleValues() throws {
        for strategy in [NilCodingStrategy.optionalNone, .removed] {
            let list = try encoded(nil: strategy) { encoder, meanwhile in
                var container = encoder.singleValueContainer()
                let kept = container
                meanwhile.write = {
                    var kept = kept
                    if case .removed = strategy { try? kept.encodeNil() } else { try? kept.encode(5) }
                }
                try container.encode(Date())
            }
            #expect(try list == PropertyList(any: [[1]]))
        }
    }

    @Test("a value in a nested container's place, and a nil in its own")
    func replacesContainers() throws {
        let list = try encoded(nil: .removed) { encoder, meanwhile in
            var container = encoder.container(keyedBy: Field.self)
            var nested = container.nestedContainer(keyedBy: Field.self, forKey: .other)
            try nested.encode(7, forKey: .x)
            let kept = container
            meanwhile.write = {
                var kept = kept
                try? kept.encode(1, forKey: .other)
                try? kept.encodeNil(forKey: .date)
            }
            try container.encode(Date(), forKey: .date)
        }
        #expect(try list == PropertyList(any: [["date": [1], "other": 1]]))
    }

    private struct Deep: Encodable {
        let levels: Int

        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            if levels > 1 { try container.encode(Deep(levels: levels - 1)) } else { try container.encode(Date()) }
        }
    }

    @Test("the levels around what a closure gives count, and an error names the level below the last")
    func countsLevelsAround() throws {
        var encoder = KeyValueEncoder()
        encoder.dateEncodingStrategy = .custom { _ in [[Int]()] }
        #expect(try encoder.encodeToPropertyList(Deep(levels: 510)) != nil)
        let error = #expect(throws: EncodingError.self) { try encoder.encodeToPropertyList(Deep(levels: 511)) }
        guard case .invalidValue(_, let context)? = error else { return #expect(Bool(false)) }
        #expect(context.codingPath.count == 512)
        #expect(context.debugDescription.hasSuffix("Deeper than 512 levels"))
    }

    @Test("a number that a closure gives and no tree can hold leaves the value before it")
    func keepsValueBefore() throws {
        var encoder = KeyValueEncoder()
        encoder.dateEncodingStrategy = .custom { _ in UInt128.max }
        let program = Programmed { encoder in
            var container = encoder.singleValueContainer()
            try container.encode(5)
            #expect(throws: (any Error).self) { try container.encode(Date()) }
        }
        #expect(try encoder.encodeToPropertyList([program]) == PropertyList(any: [5]))
    }
}
