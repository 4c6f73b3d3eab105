import CKVCodable
import PropertyLists
import TestSupport
import Testing

@Suite struct TreeValidationTests {
    static let key: UInt32 = 0x8000_0000

    static func copy(_ nodes: [kv_node], _ bytes: [UInt8] = [], depth: Int = 512) throws -> PropertyList {
        try nodes.withUnsafeBufferPointer { nodes in
            try bytes.withUnsafeBytes {
                try PropertyList(validating: nodes, bytes: $0, limits: PropertyListLimits(depth: depth))
            }
        }
    }

    static func node(_ head: UInt32, _ count: UInt32 = 0, _ payload: UInt64 = 0) -> kv_node {
        kv_node(head: head, count: count, payload: payload)
    }

    @Test("sorts the keys of what it copies")
    func sortsKeys() throws {
        let list = try Self.copy(
            [
                Self.node(10, 2, 5), Self.node(2, 0, 1), Self.node(2, 0, 2),
                Self.node(Self.key | 1, 1, 0), Self.node(Self.key | 2, 1, 1),
            ], Array("ba".utf8))
        #expect(list.keys == ["a", "b"])
        #expect(list["b"]?.integer == 1)
        #expect(list["a"]?.integer == 2)
    }

    @Test("accepts keys in another order than their values")
    func acceptsPermutedKeys() throws {
        let list = try Self.copy(
            [
                Self.node(10, 2, 5), Self.node(2, 0, 1), Self.node(2, 0, 2),
                Self.node(Self.key | 2, 1, 0), Self.node(Self.key | 1, 1, 1),
            ], Array("ab".utf8))
        #expect(list["a"]?.integer == 2)
        #expect(list["b"]?.integer == 1)
    }

    static let invalid: [(String, [kv_node], String, String)] = [
        ("no nodes", [], "", "Expected 1 to 2147483647 nodes, found 0"),
        ("a kind that is none", [node(11)], "", "Not a document: 11 is no kind"),
        ("a key as a value", [node(key | 1)], "", "Not a document: 2147483649 is no kind"),
        ("a boolean of 2", [node(1, 0, 2)], "", "Not a document: a boolean is neither 0 nor 1"),
        ("an unsigned that fits", [node(3, 0, UInt64(Int64.max))], "", "Not a document: an unsigned fits in Int64"),
        ("a wide UID", [node(6, 0, 1 << 32)], "", "Not a document: a UID has more than 4 bytes"),
        ("a string past the bytes", [node(7, 3, 0)], "ab", outside),
        ("a string with a huge offset", [node(7, 1, .max)], "ab", outside),
        ("two strings on the same bytes", [node(9, 2, 3), node(7, 2, 0), node(7, 2, 0)], "ab", outside + " at [1]"),
        ("a span past the end", [node(9, 1, 3), node(0)], "", "Not a document: a span is too long"),
        ("a huge span", [node(9, 1, .max), node(0)], "", "Not a document: a span is too long"),
        ("a span of 0", [node(9, 0, 0)], "", "Not a document: a count is larger than its span"),
        ("a count over the span", [node(9, 2, 2), node(0)], "", "Not a document: a count is larger than its span"),
        ("a count below the span", [node(9, 0, 2), node(0)], "", "Not a document: a span does not fit its values"),
        (
            "an element that overlaps the next", [node(9, 2, 4), node(9, 1, 3), node(0), node(0)], "",
            "Not a document: a span does not fit its values at [0]"
        ),
        (
            "an element behind the last node, where the bytes are", [node(9, 2, 3), node(9, 1, 2), node(0)],
            String(repeating: "\0", count: 16), "Not a document: a value is missing at [1]"
        ),
        ("nodes left over", [node(0), node(0)], "", "Expected 2 nodes in the document, found 1"),
        ("a dictionary without keys", [node(10, 1, 3), node(0), node(0)], "", "Not a document: a key is missing"),
        (
            "a distance to nothing", [node(10, 1, 3), node(0), node(key | 2, 0, 0)], "",
            "Not a document: a key leads to no value"
        ),
        ("a distance of 0", [node(10, 1, 3), node(0), node(key, 0, 0)], "", "Not a document: a key leads to no value"),
        (
            "two keys to one value",
            [node(10, 2, 5), node(0), node(0), node(key | 1, 1, 0), node(key | 1, 1, 1)], "ab",
            "Not a document: a key leads to no value"
        ),
        (
            "a fault below a key at the end of the bytes", [node(10, 1, 3), node(11), node(key | 1, 2, 0)], "ab",
            "Not a document: 11 is no kind at ab"
        ),
        (
            "a fault below an empty key behind the bytes", [node(10, 1, 3), node(11), node(key | 1, 0, 2)], "ab",
            "Not a document: 11 is no kind at "
        ),
    ]

    private static let outside = "Not a document: a string, data or key lies outside the bytes"

    @Test("rejects what is not laid out as a document, and says what is wrong", arguments: invalid.indices)
    func rejects(row: Int) throws {
        let (name, nodes, bytes, words) = Self.invalid[row]
        let error = #expect(throws: PropertyListError.self, "\(name)") { try Self.copy(nodes, Array(bytes.utf8)) }
        #expect(error?.code == .malformed, "\(name)")
        #expect(error?.description == words, "\(name)")
    }

    @Test("rejects equal keys, invalid UTF-8 and too much depth, and says where")
    func namesThePath() throws {
        let duplicate = #expect(throws: PropertyListError.self) {
            try Self.copy(
                [
                    Self.node(10, 2, 5), Self.node(0), Self.node(0), Self.node(Self.key | 1, 1, 0),
                    Self.node(Self.key | 2, 1, 1),
                ],
                Array("aa".utf8))
        }
        #expect(duplicate?.code == .invalidValue)
        let invalid = #expect(throws: PropertyListError.self) {
            try Self.copy(
                [
                    Self.node(10, 1, 5), Self.node(9, 2, 3), Self.node(0), Self.node(7, 1, 1),
                    Self.node(Self.key | 1, 1, 0),
                ],
                [0x61, 0xFF])
        }
        #expect(invalid?.path == ["a", 1])
        #expect(invalid?.code == .invalidValue)
        let deep = #expect(throws: PropertyListError.self) {
            try Self.copy([Self.node(9, 1, 2), Self.node(9, 0, 1)], depth: 1)
        }
        #expect(deep == PropertyListError(.limitExceeded, "Deeper than 1 levels", at: [0]))
    }

    @Test("random nodes are accepted or rejected, never read past", arguments: 1...200)
    func survivesNoise(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let nodes = (0..<Int.random(in: 1...8, using: &generator)).map { _ in
                Self.node(
                    Bool.random(using: &generator)
                        ? .random(in: 0...10, using: &generator) : Self.key | .random(in: 0...8, using: &generator),
                    .random(in: 0...4, using: &generator),
                    .random(in: 0...9, using: &generator))
            }
            guard let list = try? Self.copy(nodes, Array("abcdefgh".utf8)) else { continue }
            #expect(list == list.compacted())
            #expect(list.document.nodeCount == nodes.count)
        }
    }
}
