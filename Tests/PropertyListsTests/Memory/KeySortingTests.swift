import CKVCodable
import PropertyLists
import TestSupport
import Testing

@Suite struct KeySortingTests {
    /// Keys that agree in eight bytes and more, hold NUL, are empty, or begin with one another.
    static func key(_ generator: inout SeededGenerator, _ style: Int) -> [UInt8] {
        let letters: [UInt8] = [0, 0x61, 0x62, 0xC3]
        let shared = [[], Array("item-".utf8), Array("a beginning that all share-".utf8)][style % 3]
        let length = Int.random(in: 0...(style < 3 ? 3 : 12), using: &generator)
        return shared + (0..<length).map { _ in letters[Int.random(in: 0...3, using: &generator)] }
    }

    /// The keys as nodes, with distances 1, 2, … in their order, and the bytes they point to.
    static func nodes(_ keys: [[UInt8]]) -> ([kv_node], [UInt8]) {
        var bytes: [UInt8] = []
        var nodes: [kv_node] = []
        for (index, key) in keys.enumerated() {
            nodes.append(
                kv_node(
                    head: 0x8000_0000 | UInt32(index + 1), count: UInt32(key.count), payload: UInt64(bytes.count)))
            bytes += key
        }
        return (nodes, bytes)
    }

    @Test(
        "keys are sorted by their bytes, and of equal ones the last stays",
        arguments: [0, 1, 2, 3, 10, 32, 33, 64, 100, 500], 0..<6)
    func sortsByBytes(count: Int, style: Int) {
        var generator = SeededGenerator(seed: UInt64(count * 10 + style))
        for _ in 0..<(count > 100 ? 2 : 20) {
            let keys = (0..<count).map { _ in Self.key(&generator, style) }
            var last: [[UInt8]: Int] = [:]
            for (index, key) in keys.enumerated() { last[key] = index + 1 }
            let expected = last.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
            var (nodes, bytes) = Self.nodes(keys)
            bytes.reserveCapacity(1)
            let kept = nodes.withUnsafeMutableBufferPointer { nodes in
                bytes.withUnsafeBufferPointer { sortKeys(nodes, bytes: $0) }
            }
            #expect(nodes.prefix(kept).map(\.distance) == expected)
        }
    }

    @Test("sorted keys stay as they are", arguments: [2, 32, 200])
    func keepsSorted(count: Int) {
        let keys = (0..<count).map { Array("key \(1000 + $0)".utf8) }
        var (nodes, bytes) = Self.nodes(keys)
        let kept = nodes.withUnsafeMutableBufferPointer { nodes in
            bytes.withUnsafeBufferPointer { sortKeys(nodes, bytes: $0) }
        }
        #expect(kept == count)
        #expect(nodes.map(\.distance) == Array(1...count))
    }
}

@Suite struct DocumentFactsTests {
    static func facts(_ nodes: [kv_node], _ bytes: [UInt8]) throws -> DocumentFacts? {
        try TreeValidationTests.copy(nodes, bytes).document.facts
    }

    @Test(
        "text is plain when it is ASCII without control characters",
        arguments: [
            ([UInt8]("plain text, 0123456789 ~".utf8), true), ([], true), ([UInt8]("tab\t".utf8), false),
            ([UInt8]("seventeen bytes \u{1}".utf8), false), ([UInt8]("\u{1F}67890".utf8), false),
            ([UInt8]("0123456é".utf8), false), ([UInt8]("12345678\u{0}2345678".utf8), false),
        ])
    func knowsPlainText(bytes: [UInt8], isPlain: Bool) throws {
        let facts = try Self.facts([TreeValidationTests.node(7, UInt32(bytes.count), 0)], bytes)
        #expect(facts?.isPlainText == isPlain)
    }

    @Test("a byte is found in a text of any length, wherever it stands", arguments: 1...20)
    func knowsPlainText(count: Int) throws {
        for position in 0..<count {
            for byte: UInt8 in [0, 0x1F, 0x20, 0x7E, 0x7F, 0x80, 0xFF] {
                var bytes = [UInt8](repeating: 0x20, count: count)
                bytes[position] = byte
                let survey = bytes.withUnsafeBytes { ByteSurvey($0) }
                #expect(survey.isASCII == (byte < 0x80), "\(byte) at \(position)")
                #expect(survey.isPlain == (0x20..<0x80 ~= byte), "\(byte) at \(position)")
            }
        }
    }

    @Test("a checked document knows its depth, its kinds and what looks like a UID")
    func knowsValues() throws {
        let node = TreeValidationTests.node
        let key = TreeValidationTests.key
        let inner = [node(10, 1, 3), node(5, 0, 0), node(key | 1, 6, 0)]
        let facts = try #require(try Self.facts([node(9, 2, 5)] + inner + [node(1, 0, 1)], Array("CF$UID".utf8)))
        #expect(facts.depth == 2)
        #expect(facts.hasUIDLikeDictionary)
        let present: [PropertyListKind] = [.array, .dictionary, .date, .boolean]
        let kinds = (0...10).compactMap { PropertyListKind(rawValue: $0) }
        #expect(
            kinds.filter { facts.contains($0) }.sorted { $0.rawValue < $1.rawValue }
                == present.sorted { $0.rawValue < $1.rawValue })
        #expect(try Self.facts([node(9, 0, 1)], [])?.depth == 1)
        #expect(try Self.facts([node(0, 0, 0)], [])?.depth == 0)
    }
}
