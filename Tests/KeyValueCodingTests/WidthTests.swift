import KeyValueCoding
import PropertyLists
import Testing

// Values of every type that a container has a method for, through each kind of container.

private enum Keys: String, CodingKey { case value }

/// A value of one type: its form in a tree, and the calls that encode it.
private struct Sample: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let boxed: any Sendable
    /// Its form in a property list, where it has one.
    let listed: (any Sendable)?
    let single: @Sendable (inout any SingleValueEncodingContainer) throws -> Void
    let element: @Sendable (inout any UnkeyedEncodingContainer) throws -> Void
    let entry: @Sendable (inout KeyedEncodingContainer<Keys>) throws -> Void
}

extension Sample {
    // The calls are those of the one type, not of any `Encodable`: a generic function would reach another method.
    static let all: [Sample] = [
        Sample(
            testDescription: "Bool", boxed: true, listed: true, single: { try $0.encode(true) },
            element: { try $0.encode(true) }, entry: { try $0.encode(true, forKey: .value) }),
        Sample(
            testDescription: "String", boxed: "a", listed: "a", single: { try $0.encode("a") },
            element: { try $0.encode("a") }, entry: { try $0.encode("a", forKey: .value) }),
        Sample(
            testDescription: "Float", boxed: Float(0.5), listed: 0.5, single: { try $0.encode(Float(0.5)) },
            element: { try $0.encode(Float(0.5)) }, entry: { try $0.encode(Float(0.5), forKey: .value) }),
        Sample(
            testDescription: "Double", boxed: 0.25, listed: 0.25, single: { try $0.encode(0.25) },
            element: { try $0.encode(0.25) }, entry: { try $0.encode(0.25, forKey: .value) }),
        Sample(
            testDescription: "Int", boxed: -1, listed: -1, single: { try $0.encode(-1) },
            element: { try $0.encode(-1) }, entry: { try $0.encode(-1, forKey: .value) }),
        Sample(
            testDescription: "Int8", boxed: Int8(-8), listed: -8, single: { try $0.encode(Int8(-8)) },
            element: { try $0.encode(Int8(-8)) }, entry: { try $0.encode(Int8(-8), forKey: .value) }),
        Sample(
            testDescription: "Int16", boxed: Int16(-16), listed: -16, single: { try $0.encode(Int16(-16)) },
            element: { try $0.encode(Int16(-16)) }, entry: { try $0.encode(Int16(-16), forKey: .value) }),
        Sample(
            testDescription: "Int32", boxed: Int32(-32), listed: -32, single: { try $0.encode(Int32(-32)) },
            element: { try $0.encode(Int32(-32)) }, entry: { try $0.encode(Int32(-32), forKey: .value) }),
        Sample(
            testDescription: "Int64", boxed: Int64(-64), listed: -64, single: { try $0.encode(Int64(-64)) },
            element: { try $0.encode(Int64(-64)) }, entry: { try $0.encode(Int64(-64), forKey: .value) }),
        Sample(
            testDescription: "Int128", boxed: Int128(-128), listed: -128, single: { try $0.encode(Int128(-128)) },
            element: { try $0.encode(Int128(-128)) }, entry: { try $0.encode(Int128(-128), forKey: .value) }),
        Sample(
            testDescription: "UInt", boxed: UInt(1), listed: 1, single: { try $0.encode(UInt(1)) },
            element: { try $0.encode(UInt(1)) }, entry: { try $0.encode(UInt(1), forKey: .value) }),
        Sample(
            testDescription: "UInt8", boxed: UInt8(8), listed: 8, single: { try $0.encode(UInt8(8)) },
            element: { try $0.encode(UInt8(8)) }, entry: { try $0.encode(UInt8(8), forKey: .value) }),
        Sample(
            testDescription: "UInt16", boxed: UInt16(16), listed: 16, single: { try $0.encode(UInt16(16)) },
            element: { try $0.encode(UInt16(16)) }, entry: { try $0.encode(UInt16(16), forKey: .value) }),
        Sample(
            testDescription: "UInt32", boxed: UInt32(32), listed: 32, single: { try $0.encode(UInt32(32)) },
            element: { try $0.encode(UInt32(32)) }, entry: { try $0.encode(UInt32(32), forKey: .value) }),
        Sample(
            testDescription: "UInt64", boxed: UInt64(64), listed: 64, single: { try $0.encode(UInt64(64)) },
            element: { try $0.encode(UInt64(64)) }, entry: { try $0.encode(UInt64(64), forKey: .value) }),
        Sample(
            testDescription: "UInt128", boxed: UInt128(128), listed: 128, single: { try $0.encode(UInt128(128)) },
            element: { try $0.encode(UInt128(128)) }, entry: { try $0.encode(UInt128(128), forKey: .value) }),
    ]

    /// Those that a property list cannot hold.
    static let wide: [Sample] = [
        Sample(
            testDescription: "Int128", boxed: Int128.min, listed: nil, single: { try $0.encode(Int128.min) },
            element: { try $0.encode(Int128.min) }, entry: { try $0.encode(Int128.min, forKey: .value) }),
        Sample(
            testDescription: "UInt128", boxed: UInt128.max, listed: nil, single: { try $0.encode(UInt128.max) },
            element: { try $0.encode(UInt128.max) }, entry: { try $0.encode(UInt128.max, forKey: .value) }),
    ]

    var singleWriter: Writer {
        Writer { encoder in
            var container = encoder.singleValueContainer()
            try single(&container)
        }
    }

    var elementWriter: Writer {
        Writer { encoder in
            var container = encoder.unkeyedContainer()
            try element(&container)
            #expect(container.count == 1)
        }
    }

    var entryWriter: Writer {
        Writer { encoder in
            var container = encoder.container(keyedBy: Keys.self)
            try entry(&container)
        }
    }
}

@Suite struct WidthTests {
    @Test("a value of every type goes through every container", arguments: Sample.all)
    fileprivate func writes(sample: Sample) throws {
        let value = [sample.singleWriter, sample.elementWriter, sample.entryWriter]
        func expected(_ form: Any) -> [Any] { [form, [form] as [Any], ["value": form] as [String: Any]] }
        #expect(try isSame(KeyValueEncoder().encode(value), expected(sample.boxed)))
        let list = try KeyValueEncoder().encodeToPropertyList(value)
        #expect(try list == PropertyList(any: expected(#require(sample.listed))))
    }

    @Test("a value of every type is refused where its encoder has a container of another kind", arguments: Sample.all)
    fileprivate func refuses(sample: Sample) {
        let value = Writer { encoder in
            _ = encoder.unkeyedContainer()
            var container = encoder.singleValueContainer()
            try sample.single(&container)
        }
        for text in [
            failure { try KeyValueEncoder().encode(value) },
            failure { try KeyValueEncoder().encodeToPropertyList(value) },
        ] {
            #expect(text == "invalidValue SELF: Value at SELF is already encoded as another kind of container")
        }
    }

    @Test("an integer beyond 64 bits is an error of the tree in every container")
    func refusesWide() {
        for sample in Sample.wide {
            for (path, value) in [
                ("SELF[0]", sample.singleWriter), ("SELF[0][0]", sample.elementWriter),
                ("SELF[0].value", sample.entryWriter),
            ] {
                let text = failure { try KeyValueEncoder().encodeToPropertyList([value]) }
                #expect(text.hasPrefix("invalidValue \(path): ") && text.hasSuffix("needs more than 64 bits"))
            }
        }
    }

    @Test("a Bool is read from every container, from either side")
    func readsBools() throws {
        struct Flags: Decodable, Equatable {
            var list: [Bool] = []
            var single = false

            enum CodingKeys: CodingKey { case list, single }

            struct Single: Decodable {
                var flag: Bool
                init(from decoder: any Decoder) throws {
                    flag = try decoder.singleValueContainer().decode(Bool.self)
                }
            }

            init(_ list: [Bool], _ single: Bool) { (self.list, self.single) = (list, single) }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                var elements = try container.nestedUnkeyedContainer(forKey: .list)
                while !elements.isAtEnd { list.append(try elements.decode(Bool.self)) }
                single = try container.decode(Single.self, forKey: .single).flag
            }
        }
        for single in [true, false] {
            let value: [String: Any] = ["list": [true, false, single], "single": single]
            let expected = Flags([true, false, single], single)
            #expect(try KeyValueDecoder().decode(Flags.self, from: value) == expected)
            #expect(try KeyValueDecoder().decode(Flags.self, from: PropertyList(any: value)) == expected)
        }
    }

    @Test("elements behind a nested container are counted behind it")
    func countsNested() throws {
        let value = Writer { encoder in
            var container = encoder.unkeyedContainer()
            _ = container.nestedUnkeyedContainer()
            #expect(container.count == 1)
            _ = container.nestedContainer(keyedBy: Keys.self)
            _ = container.superEncoder()
            #expect(container.count == 3)
            try container.encode(Int128.max)
        }
        let text = failure { try KeyValueEncoder().encodeToPropertyList(value) }
        #expect(text.hasPrefix("invalidValue SELF[3]: Int128 at SELF[3] cannot be encoded."))
    }

    @Test("a Float that is not finite follows the strategy under a key")
    func convertsFloats() throws {
        struct Numbers: Codable { var value: Float }
        var encoder = KeyValueEncoder()
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "+", negativeInfinity: "-", nan: "?")
        for (number, text) in [(Float.infinity, "+"), (-.infinity, "-"), (.nan, "?")] {
            #expect(try encodesAlike(Numbers(value: number), encoder, as: ["value": text] as [String: Any]))
        }
        #expect(try encodesAlike(Numbers(value: 0.5), encoder, as: ["value": Float(0.5)] as [String: Any]))
        encoder.nonConformingFloatEncodingStrategy = .throw
        #expect(
            failure { try encoder.encode(Numbers(value: .infinity)) }
                == "invalidValue SELF.value: Float at SELF.value cannot be encoded. inf is not a finite number")
    }
}
