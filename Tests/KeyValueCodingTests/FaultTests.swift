import FoundationEssentials
import KeyValueCoding
import Testing

private struct Failure: Error {}

private struct Box<Value: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
    var calendar: Value
}

/// What coders of this kind have got wrong before, each with the values that showed it.
@Suite struct FaultTests {
    // proves: G84
    @Test(
        "a decimal number survives with all its digits",
        arguments: ["9007199254740993", "12345678901234567.25", "1e30", "-0.00000000000000000001"])
    func keepsDecimals(text: String) throws {
        let value = try #require(Decimal(string: text))
        let encoded = try KeyValueEncoder().encode(["a": value])
        #expect(try KeyValueDecoder().decode([String: Decimal].self, from: encoded as Any) == ["a": value])
    }

    @Test("a large integer survives as a decimal number")
    func decodesLargeDecimals() throws {
        #expect(
            try KeyValueDecoder().decode(Decimal.self, from: 9_007_199_254_740_993) == Decimal(9_007_199_254_740_993))
        #expect(try KeyValueDecoder().decode(Decimal.self, from: 1e30) == Decimal(string: "1e30"))
        #expect(
            try KeyValueDecoder().decode(Decimal.self, from: Int128.max) == Decimal(string: "\(Int128.max)"))
    }

    @Test("clamping knows the whole range of every type")
    func clampsWideValues() throws {
        var decoder = KeyValueDecoder()
        decoder.intDecodingStrategy = .clamping(roundingRule: .toNearestOrEven)
        #expect(try decoder.decode(UInt64.self, from: 1e19) == 10_000_000_000_000_000_000)
        #expect(try decoder.decode(Double.self, from: UInt64.max) == Double(UInt64.max))
        #expect(try decoder.decode(Int64.self, from: 9_223_372_036_854_775_808.0) == .max)
        #expect(try decoder.decode(UInt64.self, from: -1) == 0)
        #expect(try decoder.decode(Int128.self, from: 1e300) == .max)
    }

    @Test(
        "odd names convert to snake case",
        arguments: [
            ("", ""), ("_", "_"), ("a", "a"), ("A", "a"), ("AB", "a_b"), ("URLPath", "u_rl_path"),
            ("HTTPServer2Go", "h_ttp_server2_go"), ("myURLProperty", "my_url_property"), ("_oneTwo_", "_one_two_"),
            ("__a", "__a"), ("äÖü", "ä_öü"), ("a1B", "a1_b"),
        ])
    func convertsOddNames(name: String, converted: String) throws {
        struct AnyKey: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { return nil }
        }
        struct One: Encodable {
            var name: String
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: AnyKey.self)
                try container.encode(1, forKey: AnyKey(stringValue: name))
            }
        }
        var encoder = KeyValueEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        #expect(isSame(try encoder.encode(One(name: name)), [converted: 1] as [String: Any]))
    }

    @Test("a date beyond the integers is an error", arguments: [Double.infinity, -.infinity, .nan, 1e300])
    func refusesHugeDates(seconds: Double) {
        var encoder = KeyValueEncoder()
        for (strategy, factor) in [
            (KeyValueEncoder.DateEncodingStrategy.secondsSince1970, 1.0), (.millisecondsSince1970, 1000.0),
        ] {
            encoder.dateEncodingStrategy = strategy
            let date = Date(timeIntervalSince1970: seconds)
            let number = date.timeIntervalSince1970 * factor
            #expect(
                failure { try encoder.encode(["a": [date]]) }
                    == "invalidValue SELF.a[0]: Date at SELF.a[0] cannot be encoded. "
                    + "\(number) cannot be represented by Int64")
        }
    }

    @Test("a failing date closure is an error with the whole path and the cause")
    func reportsEncodingClosure() throws {
        var encoder = KeyValueEncoder()
        encoder.dateEncodingStrategy = .custom { _ in throw Failure() }
        let date = Date(timeIntervalSince1970: 0)
        let list = failure { try encoder.encode(Box(calendar: [date])) }
        // What the message says about an error of another kind depends on whether full Foundation is there to say it.
        #expect(list.hasPrefix("invalidValue SELF.calendar[0]: Date at SELF.calendar[0] cannot be encoded. "))
        let keyed = failure { try encoder.encode(Box(calendar: date)) }
        #expect(keyed.hasPrefix("invalidValue SELF.calendar: Date at SELF.calendar cannot be encoded. "))
        let error = #expect(throws: EncodingError.self) { try encoder.encode(date) }
        guard case .invalidValue(let value, let context) = error else { return }
        #expect(value as? Date == date && context.underlyingError is Failure)
    }

    @Test("a failing decoding closure is an error with the whole path and the cause")
    func reportsDecodingClosure() throws {
        var decoder = KeyValueDecoder()
        decoder.dateDecodingStrategy = .custom { _ in throw Failure() }
        let error = #expect(throws: DecodingError.self) {
            try decoder.decode(Box<[Date]>.self, from: ["calendar": [1]])
        }
        #expect(
            error.map(report)?.hasPrefix(
                "dataCorrupted SELF.calendar[0]: Date at SELF.calendar[0] cannot be decoded. ") == true)
        guard case .dataCorrupted(let context) = error else { return }
        #expect(context.underlyingError is Failure)
    }

    @Test("a decoding closure's own error keeps its kind and what underlies it")
    func keepsClosureError() throws {
        var decoder = KeyValueDecoder()
        decoder.dateDecodingStrategy = .custom { _ in
            throw DecodingError.typeMismatch(
                Date.self, .init(codingPath: [], debugDescription: "no date", underlyingError: Failure()))
        }
        let error = #expect(throws: DecodingError.self) {
            try decoder.decode(Box<Date>.self, from: ["calendar": 1])
        }
        #expect(
            error.map(report) == "typeMismatch SELF.calendar: Date at SELF.calendar cannot be decoded. no date")
        guard case .typeMismatch(_, let context) = error else { return }
        #expect(context.underlyingError is Failure)
    }

    private indirect enum Chain: Codable {
        case end
        case link([Chain])

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            self = container.isAtEnd ? .end : .link([try container.decode(Chain.self)])
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            if case .link(let chain) = self { try container.encode(contentsOf: chain) }
        }
    }

    // proves: G85
    @Test("10,000 levels are an error either way, 500 are not")
    func limitsDepth() throws {
        var value: Any = [Any]()
        for _ in 0..<500 { value = [value] }
        let chain = try KeyValueDecoder().decode(Chain.self, from: value)
        #expect(throws: Never.self) { try KeyValueEncoder().encode(chain) }
        for _ in 0..<9_500 { value = [value] }
        let text = failure { try KeyValueDecoder().decode(Chain.self, from: value) }
        #expect(text.hasSuffix("Values are nested deeper than 512 levels"))
        var long = Chain.end
        for _ in 0..<10_000 { long = .link([long]) }
        let encoding = failure { try KeyValueEncoder().encode(long) }
        #expect(encoding.hasSuffix("Values are nested deeper than 512 levels"))
        // Both are taken apart step by step: their own release would recurse.
        while let inner = (value as? [Any])?.first { value = inner }
        while case .link(let inner) = long, let next = inner.first { long = next }
    }

    /// An enum with associated values, whose coding nests a container for each, and a type that asks for containers
    /// which it cannot have.
    private indirect enum Shell: Encodable {
        case core
        case around(Shell)
    }

    private final class Circle: Encodable {
        func encode(to encoder: any Encoder) throws {
            var value = encoder.singleValueContainer()
            try value.encode(1)
            var container = encoder.unkeyedContainer()
            try container.encode(self)
        }
    }

    @Test("values whose coding nests containers, or asks for the wrong ones, end at the limit as well")
    func limitsNestedValues() {
        var shell = Shell.core
        for _ in 0..<3_000 { shell = .around(shell) }
        let tooDeep = "Values are nested deeper than 512 levels"
        #expect(failure { try KeyValueEncoder().encode(shell) }.hasSuffix(tooDeep))
        #expect(failure { try KeyValueEncoder().encodeToPropertyList(shell) }.hasSuffix(tooDeep))
        let circle = "invalidValue SELF: Value at SELF is already encoded as another kind of container"
        #expect(failure { try KeyValueEncoder().encode(Circle()) } == circle)
        #expect(failure { try KeyValueEncoder().encodeToPropertyList(Circle()) } == circle)
        let start = "invalidValue SELF[0].around._0.around._0."
        #expect(failure { try KeyValueEncoder().encode([shell]) }.hasPrefix(start))
    }

    @Test("nested containers without end are an error, too")
    func limitsNestedContainers() {
        struct Endless: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                var held: [any UnkeyedEncodingContainer] = []
                for _ in 0..<10_000 {
                    held.append(container)
                    container = container.nestedUnkeyedContainer()
                }
            }
        }
        let text = failure { try KeyValueEncoder().encode(Endless()) }
        #expect(text.hasSuffix("Values are nested deeper than 512 levels"))
    }
}
