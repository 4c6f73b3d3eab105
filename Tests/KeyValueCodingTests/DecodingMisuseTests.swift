import KeyValueCoding
import PropertyLists
import Testing

// As EncodingMisuseTests, of decoders.

private enum Keys: String, CodingKey { case one, two, three, four }
private enum Others: String, CodingKey { case one, two }

/// Another kind of keys for each number.
private enum Numbered<Number>: CodingKey { case one, two }

/// Decodes itself by what its test wants.
private struct Reader: Decodable {
    final class Plan: @unchecked Sendable {
        var act: (any Decoder) throws -> Void
        init(_ act: @escaping (any Decoder) throws -> Void) { self.act = act }
    }

    static var key: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "plan") }

    init(from decoder: any Decoder) throws {
        try (decoder.userInfo[#require(Self.key)] as? Plan)?.act(decoder)
    }

    static func coder(_ act: @escaping (any Decoder) throws -> Void) throws -> KeyValueDecoder {
        var decoder = KeyValueDecoder()
        decoder.userInfo[try #require(key)] = Plan(act)
        return decoder
    }
}

@Suite struct DecodingMisuseTests {
    @Test("a nil string is known by its characters, not its bytes, wherever it is read")
    func knowsSentinels() throws {
        struct Named: Decodable { var name: String? }
        var decoder = KeyValueDecoder()
        for (sentinel, text) in [("\u{E9}", "e\u{301}"), ("K", "\u{212A}"), ("nil", "nil")] {
            decoder.nilDecodingStrategy = .sentinel(sentinel)
            let value = ["name": text]
            for _ in 0..<2 {
                #expect(try decoder.decode(Named.self, from: value).name == nil)
                #expect(try decoder.decode(Named.self, from: PropertyList(any: value)).name == nil)
            }
        }
    }

    @Test("a key strategy whose closure asks the decoder for containers", arguments: [true, false])
    func survivesStrategies(isTree: Bool) throws {
        final class Box: @unchecked Sendable { var decoders: [any Decoder] = [] }
        let box = Box()
        var decoder = try Reader.coder { decoder in
            box.decoders.append(decoder)
            let container = try decoder.container(keyedBy: Keys.self)
            #expect(try container.decodeIfPresent(Int.self, forKey: .one) == 1)
            _ = try container.decodeIfPresent(Reader.self, forKey: .two)
            box.decoders.removeLast()
        }
        decoder.keyDecodingStrategy = .custom { path in
            // Removed meanwhile, so that it does not come back here without end.
            if let last = box.decoders.popLast() {
                _ = try? last.container(keyedBy: Others.self)
                _ = try? last.container(keyedBy: Numbered<Int>.self)
                _ = try? last.container(keyedBy: Numbered<String>.self)
                box.decoders.append(last)
            }
            return path.last ?? Keys.one
        }
        let value: [String: Any] = ["one": 1, "two": ["one": 1, "two": ["one": 1]] as [String: Any]]
        let values = Array(repeating: value, count: 6)
        for _ in 0..<3 {
            if isTree {
                #expect(try decoder.decode([Reader].self, from: PropertyList(any: values)).count == 6)
            } else {
                #expect(try decoder.decode([Reader].self, from: values).count == 6)
            }
        }
        box.decoders = []
    }

    @Test("decoders, super decoders and nested containers that are kept are harmless", arguments: [true, false])
    func survivesKeptDecoders(isTree: Bool) throws {
        var decoders: [any Decoder] = []
        var tables: [KeyedDecodingContainer<Keys>] = []
        var lists: [any UnkeyedDecodingContainer] = []
        let decoder = try Reader.coder { decoder in
            let container = try decoder.container(keyedBy: Keys.self)
            let nested = try container.nestedContainer(keyedBy: Keys.self, forKey: .one)
            decoders += try [decoder, container.superDecoder(), nested.superDecoder(forKey: .two)]
            tables += [container, nested, try decoder.container(keyedBy: Keys.self)]
            lists.append(try container.nestedUnkeyedContainer(forKey: .three))
            _ = try container.decodeIfPresent(Reader.self, forKey: .four)
            #expect(nested.codingPath.count == container.codingPath.count + 1)
        }
        var value: [String: Any] = ["one": ["two": 2], "three": [1, ["x": 1]] as [Any]]
        value["four"] = value
        let list = try PropertyList(any: [value, value])
        for _ in 0..<3 {
            if isTree {
                _ = try decoder.decode([Reader].self, from: list)
            } else {
                _ = try decoder.decode([Reader].self, from: [value, value])
            }
        }
        #expect(tables.count == 36)
        for index in decoders.indices {
            _ = decoders[index].codingPath
            _ = try? decoders[index].container(keyedBy: Keys.self).decode(Int.self, forKey: .two)
            _ = try? decoders[index].unkeyedContainer()
            _ = try? decoders[index].singleValueContainer().decode([String: Int].self)
        }
        for container in tables {
            _ = container.allKeys
            _ = try? container.decode([String: Int].self, forKey: .one)
            _ = try? container.decode(Reader.self, forKey: .four)
            _ = try? container.superDecoder().container(keyedBy: Keys.self)
        }
        for index in lists.indices {
            _ = try? lists[index].decode(Int.self)
            _ = try? lists[index].nestedContainer(keyedBy: Keys.self)
            _ = lists[index].isAtEnd
        }
        // The decoder's own information leads back to them.
        (decoders, tables, lists) = ([], [], [])
    }
}
