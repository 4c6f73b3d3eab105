import FoundationEssentials
import KeyValueCoding
import PropertyLists
import Testing

// Misuse of an encoder: it must not show in other values, and never end the program.

private enum Keys: String, CodingKey { case one, two, three, four }
private enum Others: String, CodingKey { case one, two }

private struct Failure: Error {}

private func table(_ write: @escaping (inout KeyedEncodingContainer<Keys>) throws -> Void) -> Writer {
    Writer { encoder in
        var container = encoder.container(keyedBy: Keys.self)
        try write(&container)
    }
}

@Suite struct EncodingMisuseTests {
    @Test("a kept encoder of a finished value changes no other, and is refused a container in the tree")
    func refusesKeptEncoders() throws {
        var kept: (any Encoder)?
        let keeper = Writer { encoder in
            kept = encoder
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(1, forKey: .one)
        }
        let meddler = table { mine in
            try mine.encode(2, forKey: .two)
            var theirs = try #require(kept).container(keyedBy: Keys.self)
            try theirs.encode(9, forKey: .one)
            try mine.encode(3, forKey: .three)
        }
        let expected: [Any] = [["one": 1] as [String: Any], ["two": 2, "three": 3] as [String: Any]]
        #expect(isSame(try KeyValueEncoder().encode([keeper, meddler]), expected))
        #expect(
            failure { try KeyValueEncoder().encodeToPropertyList([keeper, meddler]) }
                == "invalidValue SELF[0]: Value at SELF[0] cannot be encoded while one inside it is, "
                + "nor when it is finished")
    }

    @Test("a single value cannot be written while one inside it is")
    func refusesSingleInside() {
        let value = Writer { encoder in
            var container = encoder.singleValueContainer()
            var same = container
            try container.encode(
                table { inner in
                    try inner.encode(1, forKey: .one)
                    try same.encode(2)
                })
        }
        let text = failure { try KeyValueEncoder().encodeToPropertyList(["a": value]) }
        #expect(text.contains("Value at SELF.a cannot be encoded while one inside it is"))
    }

    // proves: G86
    @Test("a container or an encoder kept after its value is finished changes no other value", arguments: [0, 3])
    func ignoresKept(before: Int) throws {
        var keptContainer: KeyedEncodingContainer<Keys>?
        var keptEncoder: (any Encoder)?
        let plain = table { try $0.encode(1, forKey: .one) }
        let keeper = Writer { encoder in
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(1, forKey: .one)
            keptContainer = container
            keptEncoder = encoder
        }
        let meddler = Writer { encoder in
            var mine = encoder.container(keyedBy: Keys.self)
            try? keptContainer?.encode(8, forKey: .two)
            try mine.encode(1, forKey: .one)
            _ = keptEncoder?.singleValueContainer()
            try? keptContainer?.encode(9, forKey: .three)
        }
        let values = Array(repeating: plain, count: before) + [keeper, meddler, plain, keeper, plain, meddler, plain]
        let expected = Array(repeating: ["one": 1] as [String: Any] as Any, count: values.count)
        #expect(try encodesAlike(values, as: expected))
        // A kept container still works when the call is over, though its values are lost.
        try keptContainer?.encode(10, forKey: .two)
        #expect(keptContainer?.codingPath.map(\.intValue) == [before + 3])
        #expect(keptEncoder?.codingPath.map(\.intValue) == [before + 3])
    }

    @Test("what is written to a kept encoder or container, which is then let go of, is in no other value")
    func forgetsLateWrites() throws {
        var keptList: (any UnkeyedEncodingContainer)?
        var keptEncoder: (any Encoder)?
        let list = Writer { encoder in
            var container = encoder.unkeyedContainer()
            try container.encode(1)
            keptList = container
        }
        let single = Writer { encoder in
            keptEncoder = encoder
            try 1.encode(to: encoder)
        }
        let value = Writer { encoder in
            var container = encoder.unkeyedContainer()
            try container.encode(list)
            try keptList?.encode(9)
            keptList = nil
            try container.encode(list)
            keptList = nil
            try container.encode(single)
            var late = keptEncoder?.container(keyedBy: Keys.self)
            try late?.encode(9, forKey: .one)
            (keptEncoder, late) = (nil, nil)
            try container.encode(table { try $0.encode(2, forKey: .two) })
        }
        let expected: [Any] = [[1] as [Any], [1] as [Any], 1, ["two": 2] as [String: Any]]
        #expect(isSame(try KeyValueEncoder().encode(value), expected))
    }

    @Test("a container that is kept does not take those away that are written later", arguments: [0, 3])
    func outlivesKeptContainers(behind: Int) throws {
        var kept: [KeyedEncodingContainer<Others>] = []
        let plain = Writer { encoder in
            var container = encoder.container(keyedBy: Others.self)
            try container.encode(1, forKey: .one)
        }
        let keeper = Writer { encoder in
            var container = encoder.container(keyedBy: Others.self)
            try container.encode(1, forKey: .one)
            kept.append(container)
        }
        let value = table { container in
            try container.encode([plain, plain], forKey: .one)
            var later = container.nestedContainer(keyedBy: Others.self, forKey: .two)
            try container.encode(keeper, forKey: .three)
            try container.encode(Array(repeating: plain, count: behind), forKey: .four)
            try later.encode(2, forKey: .two)
        }
        let one: [String: Any] = ["one": 1]
        let expected: [String: Any] = [
            "one": [one, one] as [Any], "two": ["two": 2] as [String: Any], "three": one,
            "four": Array(repeating: one as Any, count: behind),
        ]
        #expect(try encodesAlike(value, as: expected))
        kept = []
    }

    @Test("a swallowed error of a strategy leaves nothing of what its closure gave")
    func forgetsWhatStrategiesGave() throws {
        struct Stranger: Sendable {}
        var encoder = KeyValueEncoder()
        encoder.dateEncodingStrategy = .custom { _ in ["a": 1, "b": ["c": Stranger()] as [String: any Sendable]] }
        let value = table { container in
            try container.encode(1, forKey: .one)
            try? container.encode(Date(timeIntervalSince1970: 0), forKey: .two)
            try container.encode(3, forKey: .three)
        }
        let list = try encoder.encodeToPropertyList([value])
        #expect(try list == PropertyList(any: [["one": 1, "three": 3]]))
        let single = Writer { encoder in
            var container = encoder.singleValueContainer()
            try? container.encode(Date(timeIntervalSince1970: 0))
        }
        #expect(try encoder.encodeToPropertyList(["a": [single]]) == PropertyList(any: ["a": [[String: Any]()]]))
    }

    @Test("what a strategy's closure gives takes the place of a single value, and leaves it where it cannot be written")
    func replacesByStrategies() throws {
        struct Stranger: Sendable {}
        var encoder = KeyValueEncoder()
        encoder.dateEncodingStrategy = .custom { date in
            date.timeIntervalSince1970 < 0 ? Stranger() as Any : ["at": [date.timeIntervalSince1970]]
        }
        let value = Writer { encoder in
            var container = encoder.singleValueContainer()
            for seconds in [1.0, 2.0, -1.0] { try? container.encode(Date(timeIntervalSince1970: seconds)) }
        }
        let list = try encoder.encodeToPropertyList(["a": [value, value]])
        let expected: Any = ["at": [2.0]]
        #expect(try list == PropertyList(any: ["a": [expected, expected]]))
    }

    @Test("the error of what is nested too deep names its key")
    func namesDepth() throws {
        var container: KeyedEncodingContainer<Keys>?
        let value = Writer { encoder in
            container = encoder.container(keyedBy: Keys.self)
            for _ in 0..<600 { container = container?.nestedContainer(keyedBy: Keys.self, forKey: .two) }
        }
        let text = failure { try KeyValueEncoder().encode(value) }
        #expect(text.hasPrefix("invalidValue SELF.two.two."))
        #expect(text.hasSuffix(".two: Values are nested deeper than 512 levels"))
        container = nil
    }

    @Test("the encoder of a whole call is of no use when that is over, and does no harm")
    func survivesCalls() throws {
        var keptEncoder: (any Encoder)?
        var keptTable: KeyedEncodingContainer<Keys>?
        var keptPart: KeyedEncodingContainer<Keys>?
        weak var late: AnyObject?
        weak var last: AnyObject?
        let value = Writer { encoder in
            (keptEncoder, last) = (encoder, encoder as AnyObject)
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(1, forKey: .one)
            var part = container.nestedContainer(keyedBy: Keys.self, forKey: .two)
            try part.encode(2, forKey: .two)
            (keptTable, keptPart) = (container, part)
        }
        let expected: [String: Any] = ["one": 1, "two": ["two": 2] as [String: Any]]
        func meddle() {
            for key in [Keys.one, .three] {
                try? keptTable?.encode(9, forKey: key)
                try? keptPart?.encode(9, forKey: key)
                try? keptTable?.encode([key.rawValue: [1.5]], forKey: key)
                try? keptPart?.encode(table { try $0.encode(1, forKey: .one) }, forKey: key)
                _ = keptTable?.superEncoder()
                var nested = keptPart?.nestedUnkeyedContainer(forKey: key)
                try? nested?.encode(9)
                late = keptPart?.superEncoder(forKey: key) as AnyObject?
            }
            var again = keptEncoder?.container(keyedBy: Keys.self)
            try? again?.encode(9, forKey: .one)
            var single = keptEncoder?.singleValueContainer()
            try? single?.encode("x")
            var list = keptEncoder?.unkeyedContainer()
            try? list?.encode("x")
        }
        let list = try KeyValueEncoder().encodeToPropertyList(value)
        meddle()
        #expect(try list == PropertyList(any: expected))
        let any = try KeyValueEncoder().encode(value)
        meddle()
        #expect(isSame(any, expected))
        meddle()
        (keptEncoder, keptTable, keptPart) = (nil, nil, nil)
        #expect(late == nil)
        #expect(last == nil)
    }

    @Test("an empty dictionary behind a large one takes no room for as many")
    func wastesNoRoom() throws {
        let large = Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("\($0)", Int?.some($0)) })
        let rows = [large] + Array(repeating: [:], count: 40)
        let encoded = try #require(try KeyValueEncoder().encode(rows) as? [Any])
        let room = encoded.dropFirst(20).map { ($0 as? [String: Any])?.capacity ?? .max }
        #expect(room.allSatisfy { $0 < 100 })
    }

    @Test("a value that takes another's place and fails leaves the other")
    func forgetsReplacedValues() throws {
        let failing = table {
            try $0.encode(1, forKey: .one)
            throw Failure()
        }
        let value = Writer { encoder in
            var container = encoder.singleValueContainer()
            try container.encode(1)
            try? container.encode(failing)
        }
        #expect(try encodesAlike(["a": [value, value]], as: ["a": [1, 1] as [Any]] as [String: Any]))
        var encoder = KeyValueEncoder()
        encoder.nilEncodingStrategy = .removed
        let replacing = Writer { encoder in
            var container = encoder.singleValueContainer()
            try container.encode(1)
            try container.encode(Int?.none)
            try container.encode(["a": 2])
            try container.encodeNil()
            try container.encode(3)
            try container.encodeNil()
            try container.encode("four")
            try container.encode([value])
        }
        #expect(try encodesAlike([replacing], encoder, as: [[1] as [Any]] as [Any]))
    }
}
