import FoundationEssentials
import KeyValueCoding
import PropertyLists
import Testing

private enum Level: String, Codable, Sendable { case low, high }
private enum Rank: Int, Codable, Sendable {
    case first = 1
    case second
}
private enum Named: String, Codable, CodingKeyRepresentable, Sendable { case one }

private struct Plan: Codable, Equatable, Sendable {
    struct Part: Codable, Equatable, Sendable { var name: String }

    var byLevel: [Level: [Int]] = [.low: [1], .high: []]
    var byRank: [Rank: String] = [.first: "a", .second: "b"]
    var byName: [Named: Int] = [.one: 1]
    var byID: [UUID: Int] = [UUID(): 1]
    var parts = [Part(name: "a name that is longer than a small string"), Part(name: "b")]
}

private struct Scaled: CodableWithConfiguration, Equatable {
    var value: Int

    init(value: Int) { self.value = value }
    init(from decoder: any Decoder, configuration: Int) throws { value = try Int(from: decoder) * configuration }
    func encode(to encoder: any Encoder, configuration: Int) throws { try (value / configuration).encode(to: encoder) }
}

@Suite struct StrategyTests {
    @Test("dictionaries with keys of an enum are dictionaries under the strategy, and both forms are read")
    func keysDictionaries() throws {
        let plan = Plan()
        let flat = try KeyValueEncoder().encode(plan) as? [String: Any]
        #expect((flat?["byLevel"] as? [Any])?.count == 4)
        #expect(try KeyValueDecoder().decode(Plan.self, from: flat as Any) == plan)
        var encoder = KeyValueEncoder()
        encoder.dictionaryKeyEncodingStrategy = .keyed
        let keyed = try encoder.encode(plan)
        let entries = try #require(keyed as? [String: Any])
        #expect(isSame(entries["byLevel"], ["low": [1] as [Any], "high": [Any]()] as [String: Any]))
        #expect(isSame(entries["byRank"], ["1": "a", "2": "b"] as [String: Any]))
        #expect(try KeyValueDecoder().decode(Plan.self, from: keyed as Any) == plan)
        let list = try #require(try encoder.encodeToPropertyList(plan))
        #expect(try list == PropertyList(any: entries))
        #expect(try KeyValueDecoder().decode(Plan.self, from: list) == plan)
    }

    @Test("a placeholder of any kind stands for nil in an optional property, and for nothing else")
    func findsPlaceholders() throws {
        struct Optionals: Codable, Equatable {
            var bool: Bool?
            var int: Int?
            var double: Double?
            var string: String?
            var list: [Int]?
        }
        var decoder = KeyValueDecoder()
        decoder.nilDecodingStrategy = .placeholder("none") { value in
            switch value {
            case let text as String: text == "none"
            case let number as Int: number == -1
            case let flag as Bool: !flag
            default: false
            }
        }
        let nothing: [String: Any] = ["bool": false, "int": -1, "double": "none", "string": "none", "list": "none"]
        #expect(try decoder.decode(Optionals.self, from: nothing) == Optionals())
        #expect(try decoder.decode(Optionals.self, from: PropertyList(any: nothing)) == Optionals())
        let some: [String: Any] = ["bool": true, "int": 1, "double": 0.5, "string": "$null", "list": [1]]
        let values = Optionals(bool: true, int: 1, double: 0.5, string: "$null", list: [1])
        #expect(try decoder.decode(Optionals.self, from: some) == values)
        #expect(try decoder.decode(Optionals.self, from: PropertyList(any: some)) == values)
    }

    @Test("an error of a type that is encoded with a configuration is the call's")
    func throwsConfigured() {
        struct Refusing: EncodableWithConfiguration {
            func encode(to encoder: any Encoder, configuration: Int) throws {
                throw EncodingError.invalidValue(1, .init(codingPath: [], debugDescription: "No \(configuration)"))
            }
        }
        #expect(failure { try KeyValueEncoder().encode(Refusing(), configuration: 7) } == "invalidValue SELF: No 7")
        #expect(
            failure { try KeyValueEncoder().encodeToPropertyList(Refusing(), configuration: 8) }
                == "invalidValue SELF: No 8")
    }

    @Test("a key that is none of the enum's is an error")
    func rejectsKey() {
        let text = failure { try KeyValueDecoder().decode([Level: Int].self, from: ["middle": 1]) }
        #expect(text == "dataCorrupted SELF.middle: Expected Level as the key at SELF.middle")
    }

    @Test("a custom key strategy gets the whole path, either way")
    func convertsKeysByClosure() throws {
        struct Inner: Codable, Equatable { var leaf = 1 }
        struct Outer: Codable, Equatable { var inner = [Inner()] }
        struct Name: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { return nil }
        }
        var encoder = KeyValueEncoder()
        encoder.keyEncodingStrategy = .custom { path in
            Name(stringValue: "\(path.count)\(path.last?.stringValue ?? "")")
        }
        let expected: [String: Any] = ["1inner": [["3leaf": 1] as [String: Any]] as [Any]]
        #expect(isSame(try encoder.encode(Outer()), expected))
        var decoder = KeyValueDecoder()
        decoder.keyDecodingStrategy = .custom { path in
            Name(stringValue: String(path.last?.stringValue.dropFirst() ?? ""))
        }
        #expect(try decoder.decode(Outer.self, from: expected) == Outer())
        #expect(try decoder.decode(Outer.self, from: PropertyList(any: expected)) == Outer())
    }

    @Test("data follows the strategy, either way")
    func codesData() throws {
        let data = Data([1, 255])
        let forms: [(KeyValueEncoder.DataEncodingStrategy, KeyValueDecoder.DataDecodingStrategy, Any)] = [
            (.data, .data, data), (.base64, .base64, "Af8="),
            (.deferredToData, .deferredToData, [UInt8(1), UInt8(255)] as [Any]),
            (.custom { $0.count }, .custom { Data(repeating: 7, count: $0 as? Int ?? 0) }, 2),
        ]
        for (index, (encoding, decoding, expected)) in forms.enumerated() {
            var encoder = KeyValueEncoder()
            encoder.dataEncodingStrategy = encoding
            #expect(isSame(try encoder.encode(["a": data]), ["a": expected]))
            var decoder = KeyValueDecoder()
            decoder.dataDecodingStrategy = decoding
            let result = try decoder.decode([String: Data].self, from: ["a": expected])
            #expect(result == ["a": index == 3 ? Data([7, 7]) : data])
            let list = try PropertyList(any: ["a": expected])
            #expect(try encoder.encodeToPropertyList(["a": data]) == list)
            #expect(try decoder.decode([String: Data].self, from: list) == result)
        }
        var decoder = KeyValueDecoder()
        decoder.dataDecodingStrategy = .base64
        #expect(
            failure { try decoder.decode([Data].self, from: ["?"]) }
                == "dataCorrupted SELF[0]: Data at SELF[0] cannot be decoded. The string is not base64")
    }

    @Test(
        "numbers that are not finite follow the strategy, alone and in arrays",
        arguments: [
            Double.infinity, -.infinity, .nan,
        ])
    func codesNonFinite(value: Double) throws {
        var encoder = KeyValueEncoder()
        encoder.nonConformingFloatEncodingStrategy = .throw
        #expect(
            failure { try encoder.encode(["a": [value]]) }
                == "invalidValue SELF.a[0]: Double at SELF.a[0] cannot be encoded. \(value) is not a finite number")
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "+", negativeInfinity: "-", nan: "?")
        let text = value.isNaN ? "?" : value < 0 ? "-" : "+"
        #expect(try encodesAlike([value], encoder, as: [text] as [Any]))
        #expect(try encodesAlike(["a": Float(value)], encoder, as: ["a": text] as [String: Any]))
        var decoder = KeyValueDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "+", negativeInfinity: "-", nan: "?")
        #expect(try decoder.decode([Double].self, from: [text]).map { "\($0)" } == ["\(value)"])
        #expect(try decoder.decode(Float.self, from: text).description == "\(value)")
        #expect(try decoder.decode([Double].self, from: PropertyList(any: [text])).map { "\($0)" } == ["\(value)"])
        decoder.nonConformingFloatDecodingStrategy = .throw
        #expect(
            failure { try decoder.decode([Float].self, from: [value]) }
                == "dataCorrupted SELF[0]: Float at SELF[0] cannot be decoded. \(value) is not a finite number")
    }

    @Test("a type is coded with its configuration")
    func codesWithConfiguration() throws {
        let encoded = try KeyValueEncoder().encode(Scaled(value: 6), configuration: 2)
        #expect(isSame(encoded, 3))
        #expect(try KeyValueDecoder().decode(Scaled.self, from: 3, configuration: 2) == Scaled(value: 6))
        let list = try #require(try KeyValueEncoder().encodeToPropertyList(Scaled(value: 6), configuration: 3))
        #expect(try KeyValueDecoder().decode(Scaled.self, from: list, configuration: 3) == Scaled(value: 6))
    }

    // proves: G86
    @Test("one encoder and one decoder serve eight threads at once")
    func servesThreads() async throws {
        var encoder = KeyValueEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dictionaryKeyEncodingStrategy = .keyed
        var decoder = KeyValueDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.leftOverKeyDecodingStrategy = .throw
        let plan = Plan()
        let work = { @Sendable [encoder, decoder] () throws -> Bool in
            for _ in 0..<50 {
                let encoded = try encoder.encode(plan) as Any
                guard let list = try encoder.encodeToPropertyList(plan),
                    try decoder.decode(Plan.self, from: encoded) == plan,
                    try decoder.decode(Plan.self, from: list) == plan,
                    try decoder.decode([Int].self, from: encoder.encode([1, 2]) as Any) == [1, 2],
                    failure({ try decoder.decode([Int].self, from: ["a"]) })
                        == "typeMismatch SELF[0]: Expected BinaryInteger at SELF[0], found String"
                else { return false }
            }
            return true
        }
        #expect(await Threads.run(8, work) == [Bool?](repeating: true, count: 8))
    }

    @Test("the keys of a dictionary are data, whatever its values are and under every key strategy")
    func leavesDictionaryKeys() throws {
        struct Item: Decodable, Equatable { var myValue: Int }
        let value: [String: Any] = ["my_key": ["my_value": 1], "otherKey": ["my_value": 2]]
        let expected = ["my_key": Item(myValue: 1), "otherKey": Item(myValue: 2)]
        var decoder = KeyValueDecoder()
        let custom = KeyValueDecoder.KeyDecodingStrategy.custom { path in
            path.last?.stringValue == "my_value" ? ItemKey.myValue : ItemKey.wrong
        }
        for strategy in [.convertFromSnakeCase, custom] {
            decoder.keyDecodingStrategy = strategy
            #expect(try decoder.decode([String: Item].self, from: value) == expected)
            #expect(try decoder.decode([String: Item].self, from: PropertyList(any: value)) == expected)
            let sides = try decoder.decode([Side: Item].self, from: ["left_side": ["my_value": 1]])
            #expect(sides == [.left: Item(myValue: 1)])
            #expect(try decoder.decode([Int: Item].self, from: ["7": ["my_value": 1]]) == [7: Item(myValue: 1)])
        }
    }

    @Test("a dictionary beside a type's own keys, in one value, keeps its keys")
    func leavesKeysBesideOwn() throws {
        struct Open: Codable, Equatable {
            enum CodingKeys: String, CodingKey { case myValue }

            var myValue: Int
            var rest: [String: Int]

            init(myValue: Int, rest: [String: Int]) { (self.myValue, self.rest) = (myValue, rest) }

            init(from decoder: any Decoder) throws {
                myValue = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .myValue)
                rest = try [String: Int](from: decoder)
            }

            func encode(to encoder: any Encoder) throws {
                try rest.encode(to: encoder)
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(myValue, forKey: .myValue)
            }
        }
        let value: [String: Any] = ["my_value": 1, "other_key": 2, "thirdKey": 3]
        let open = Open(myValue: 1, rest: ["my_value": 1, "other_key": 2, "thirdKey": 3])
        var encoder = KeyValueEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        var decoder = KeyValueDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        for any in [value as Any, try PropertyList(any: value)] {
            #expect(try decoder.decode(Open.self, from: any) == open)
        }
        #expect(try encoder.encode(open) as? [String: Int] == open.rest)
        #expect(try encoder.encodeToPropertyList(open) == PropertyList(any: value))
    }

    private enum Side: String, Codable, CodingKeyRepresentable { case left = "left_side" }
    private enum ItemKey: String, CodingKey { case myValue, wrong }
}
