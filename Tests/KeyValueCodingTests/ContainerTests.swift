import KeyValueCoding
import PropertyLists
import Testing

private enum Keys: String, CodingKey { case one, two, aList, aTable, aPart, nothingHere }

/// Decodes by a closure found in `userInfo`.
private struct Reader: Decodable {
    static var key: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "read") }

    init(from decoder: any Decoder) throws {
        let key = try #require(Self.key)
        let read = try #require(decoder.userInfo[key] as? @Sendable (any Decoder) throws -> Void)
        try read(decoder)
    }
}

/// Says whether its decoder has what `read` put into `userInfo`.
private struct Finder: Decodable {
    let isFound: Bool

    init(from decoder: any Decoder) throws { isFound = try decoder.userInfo[#require(Reader.key)] != nil }
}

private func read(
    _ value: Any, _ decoder: KeyValueDecoder = KeyValueDecoder(),
    _ body: @escaping @Sendable (any Decoder) throws -> Void
) throws {
    var decoder = decoder
    try decoder.userInfo[#require(Reader.key)] = body
    _ = try decoder.decode(Reader.self, from: value)
}

@Suite struct ContainerTests {
    @Test("two keyed containers of one encoder write to one dictionary")
    func mergesContainers() throws {
        let value = Writer { encoder in
            var first = encoder.container(keyedBy: Keys.self)
            try first.encode(1, forKey: .one)
            var second = encoder.container(keyedBy: Keys.self)
            try second.encode(2, forKey: .two)
            try first.encode(3, forKey: .one)
        }
        #expect(try encodesAlike(value, as: ["one": 3, "two": 2] as [String: Any]))
    }

    @Test("two unkeyed containers of one encoder write to one array")
    func mergesUnkeyedContainers() throws {
        let value = Writer { encoder in
            var first = encoder.unkeyedContainer()
            try first.encode(1)
            var second = encoder.unkeyedContainer()
            try second.encode(2)
            #expect(first.count == 2)
        }
        #expect(try encodesAlike([value], as: [[1, 2] as [Any]] as [Any]))
    }

    @Test("a container of another kind is an error")
    func refusesOtherKind() {
        let value = Writer { encoder in
            var first = encoder.container(keyedBy: Keys.self)
            try first.encode(1, forKey: .one)
            var second = encoder.unkeyedContainer()
            try second.encode(2)
        }
        let text = failure { try KeyValueEncoder().encode(["a": [value]]) }
        #expect(
            text == "invalidValue SELF.a[0]: Value at SELF.a[0] is already encoded as another kind of container")
    }

    @Test("a single value after a container is an error")
    func refusesSingleValue() {
        let value = Writer { encoder in
            _ = encoder.unkeyedContainer()
            var single = encoder.singleValueContainer()
            try single.encode("x")
        }
        let text = failure { try KeyValueEncoder().encode(value) }
        #expect(text == "invalidValue SELF: Value at SELF is already encoded as another kind of container")
    }

    @Test("a single value written twice keeps the last")
    func keepsLastSingleValue() throws {
        let value = Writer { encoder in
            var container = encoder.singleValueContainer()
            try container.encode(1)
            try container.encode([2])
            try container.encode("three")
        }
        #expect(try encodesAlike(["a": value], as: ["a": "three"] as [String: Any]))
    }

    @Test("what is written to nested containers after the outer one moved on is kept, in its place")
    func keepsLateWrites() throws {
        let value = Writer { encoder in
            var outer = encoder.container(keyedBy: Keys.self)
            var list = outer.nestedUnkeyedContainer(forKey: .aList)
            var table = outer.nestedContainer(keyedBy: Keys.self, forKey: .aTable)
            try outer.encode(1, forKey: .one)
            var inner = list.nestedContainer(keyedBy: Keys.self)
            try list.encode("middle")
            let last = list.superEncoder()
            try list.encode("end")
            try table.encode(2, forKey: .two)
            try inner.encode(3, forKey: .one)
            try "late".encode(to: last)
        }
        let expected: [String: Any] = [
            "one": 1, "aTable": ["two": 2] as [String: Any],
            "aList": [["one": 3] as [String: Any], "middle", "late", "end"] as [Any],
        ]
        #expect(try encodesAlike(value, as: expected))
    }

    @Test("the same nested container is given twice, and a later value takes its place")
    func mergesNestedContainers() throws {
        let value = Writer { encoder in
            var outer = encoder.container(keyedBy: Keys.self)
            var first = outer.nestedContainer(keyedBy: Keys.self, forKey: .aTable)
            try first.encode(1, forKey: .one)
            var second = outer.nestedContainer(keyedBy: Keys.self, forKey: .aTable)
            try second.encode(2, forKey: .two)
            var replaced = outer.nestedUnkeyedContainer(forKey: .aList)
            try replaced.encode(1)
            try outer.encode("instead", forKey: .aList)
        }
        let expected: [String: Any] = ["aTable": ["one": 1, "two": 2] as [String: Any], "aList": "instead"]
        #expect(try encodesAlike(value, as: expected))
    }

    @Test("a value whose error is swallowed leaves nothing behind")
    func forgetsFailedValue() throws {
        struct Failure: Error {}
        let failing = Writer { encoder in
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(1, forKey: .one)
            throw Failure()
        }
        let value = Writer { encoder in
            var container = encoder.container(keyedBy: Keys.self)
            try? container.encode(failing, forKey: .one)
            try container.encode([1: 2], forKey: .two)
            var list = container.nestedUnkeyedContainer(forKey: .aList)
            try? list.encode(failing)
            try list.encode(3)
        }
        let expected: [String: Any] = ["two": ["1": 2] as [String: Any], "aList": [3] as [Any]]
        #expect(try encodesAlike(value, as: expected))
    }

    @Test("the key strategy names nil, nested containers and super encoders as well")
    func convertsEveryKey() throws {
        let value = Writer { encoder in
            var container = encoder.container(keyedBy: Keys.self)
            try container.encodeNil(forKey: .nothingHere)
            _ = container.nestedUnkeyedContainer(forKey: .aList)
            try 1.encode(to: container.superEncoder(forKey: .aPart))
            var table = container.nestedContainer(keyedBy: Keys.self, forKey: .aTable)
            try table.encode(2, forKey: .aList)
        }
        var encoder = KeyValueEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.nilEncodingStrategy = .stringNull
        let expected: [String: Any] = [
            "nothing_here": "$null", "a_list": [Any](), "a_part": 1, "a_table": ["a_list": 2] as [String: Any],
        ]
        #expect(try encodesAlike(value, encoder, as: expected))
        var decoder = KeyValueDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        decoder.nilDecodingStrategy = .stringNull
        try read(expected, decoder) { decoder in
            let container = try decoder.container(keyedBy: Keys.self)
            #expect(Set(container.allKeys) == [.nothingHere, .aList, .aPart, .aTable])
            #expect(try container.contains(.nothingHere) && container.decodeNil(forKey: .nothingHere))
            #expect(try container.nestedUnkeyedContainer(forKey: .aList).isAtEnd)
            #expect(try Int(from: container.superDecoder(forKey: .aPart)) == 1)
            let table = try container.nestedContainer(keyedBy: Keys.self, forKey: .aTable)
            #expect(try table.decode(Int.self, forKey: .aList) == 2)
        }
    }

    @Test("userInfo is seen by every nested decoder")
    func passesUserInfoToDecoders() throws {
        let value: [String: Any] = ["one": [[1]], "aTable": ["one": 2], "aPart": 3, "super": 4]
        let key = try #require(Reader.key)
        @Sendable func isThere(_ decoder: any Decoder) -> Bool { decoder.userInfo[key] != nil }
        try read(value) { decoder in
            let container = try decoder.container(keyedBy: Keys.self)
            #expect(try isThere(container.superDecoder()) && isThere(container.superDecoder(forKey: .aPart)))
            var list = try container.nestedUnkeyedContainer(forKey: .one)
            var inner = try list.nestedUnkeyedContainer()
            #expect(try isThere(inner.superDecoder()))
            let table = try container.nestedContainer(keyedBy: Keys.self, forKey: .aTable)
            #expect(try isThere(table.superDecoder(forKey: .one)))
            #expect(try container.decode([[Finder]].self, forKey: .one)[0][0].isFound)
        }
    }

    @Test("userInfo is seen by every nested encoder")
    func passesUserInfo() throws {
        let key = try #require(CodingUserInfoKey(rawValue: "mark"))
        let leaf = Writer { encoder in
            var container = encoder.singleValueContainer()
            try container.encode(encoder.userInfo[key] as? Int ?? 0)
        }
        let value = Writer { encoder in
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode([[leaf]], forKey: .one)
            try leaf.encode(to: container.superEncoder(forKey: .two))
        }
        var encoder = KeyValueEncoder()
        encoder.userInfo[key] = 7
        let expected: [String: Any] = ["one": [[7] as [Any]] as [Any], "two": 7]
        #expect(try encodesAlike(value, encoder, as: expected))
    }

    @Test("decodeIfPresent in an array takes the element it looked at")
    func decodesPresentElements() throws {
        try read([1, Int?.none as Any, 3]) { decoder in
            var container = try decoder.unkeyedContainer()
            #expect(try container.decodeIfPresent(Int.self) == 1)
            #expect(try !container.decodeNil() == false)
            #expect(try container.decodeIfPresent(Int.self) == 3)
            #expect(try container.decodeIfPresent(Int.self) == nil)
            #expect(container.isAtEnd)
        }
    }

    @Test("an element that could not be decoded is still there")
    func keepsFailedElement() throws {
        try read(["a", 2]) { decoder in
            var container = try decoder.unkeyedContainer()
            #expect(throws: DecodingError.self) { try container.decode(Int.self) }
            #expect(container.currentIndex == 0)
            #expect(try container.decode(String.self) == "a")
            #expect(try container.decode(Int.self) == 2)
            let text = failure { try container.decode(Int.self) }
            #expect(text == "keyNotFound SELF: Array does not contain index SELF[2]")
            let end = failure { try container.decodeNil() }
            #expect(end == "keyNotFound SELF: Array does not contain index SELF[2]")
        }
    }

    @Test("a keyed container tells its keys, absence and nil apart")
    func tellsAbsenceFromNil() throws {
        try read(["one": 1, "two": Int?.none as Any, "else": 0]) { decoder in
            let container = try decoder.container(keyedBy: Keys.self)
            #expect(Set(container.allKeys) == [.one, .two])
            #expect(container.contains(.two) && !container.contains(.aList))
            #expect(try container.decodeNil(forKey: .two) && !container.decodeNil(forKey: .one))
            #expect(failure { try container.decodeNil(forKey: .aList) }.hasPrefix("keyNotFound SELF:"))
            #expect(try container.decodeIfPresent(Int.self, forKey: .two) == nil)
            #expect(try container.decodeIfPresent([Int].self, forKey: .aList) == nil)
            #expect(
                failure { try container.decodeIfPresent(String.self, forKey: .one) }
                    == "typeMismatch SELF.one: Expected String at SELF.one, found Int")
        }
    }

    @Test("a decoder kept after its value is finished still reads that value")
    func keepsDecoderApart() throws {
        try read([["one": 1], ["one": 2]]) { decoder in
            var container = try decoder.unkeyedContainer()
            let first = try container.nestedContainer(keyedBy: Keys.self)
            let second = try container.superDecoder().container(keyedBy: Keys.self)
            #expect(try first.decode(Int.self, forKey: .one) == 1)
            #expect(try second.decode(Int.self, forKey: .one) == 2)
            #expect(first.codingPath.map(\.intValue) == [0])
        }
    }
}
