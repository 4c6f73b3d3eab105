import CKVCodable
import PropertyLists
import TestSupport
import Testing

/// Records with a shape against the same dictionaries written out.
@Suite struct RecordShapeTests {
    private struct Record {
        var values: [kv_node] = []
        var bytes: [UInt8] = []
        /// In the order of the values.
        var keys: [[UInt8]] = []

        /// A record of 1 to 70 scalars, mostly of those that are known at a glance.
        init(_ generator: inout SeededGenerator) {
            let count = Int.random(in: 1...(Bool.random(using: &generator) ? 6 : 70), using: &generator)
            for _ in 0..<count { addValue(&generator) }
            var keys: Set<[UInt8]> = []
            while keys.count < count {
                let length = Bool.random(using: &generator) ? 0 : Int.random(in: 1...9, using: &generator)
                keys.insert(
                    Array("a common beginning".utf8.prefix(length))
                        + (0..<Int.random(in: 0...5, using: &generator)).map { _ in
                            UInt8.random(in: 97...102, using: &generator)
                        })
            }
            self.keys = keys.sorted { $0.lexicographicallyPrecedes($1) }.shuffled(using: &generator)
        }

        private mutating func addValue(_ generator: inout SeededGenerator) {
            switch Int.random(in: 0..<120, using: &generator) {
            case 0..<30: add(2, payload: .random(in: 0...9, using: &generator))
            case 30..<60: add(4, payload: (1.5).bitPattern)
            case 60..<90: add(1, payload: .random(in: 0...1, using: &generator))
            case 90..<117:
                let length = Int.random(in: 0...12, using: &generator)
                add(7, count: length, payload: UInt64(bytes.count))
                bytes += (0..<length).map { _ in UInt8.random(in: 32...126, using: &generator) }
            case 117: add(8, count: 0, payload: UInt64(bytes.count))
            case 118: add(9, count: 0, payload: 1)
            default: add(5, payload: (2.5).bitPattern)
            }
        }

        private mutating func add(_ head: UInt32, count: Int = 0, payload: UInt64) {
            values.append(kv_node(head: head, count: UInt32(count), payload: payload))
        }

        /// Changes one word, bit or byte, or the places of two values.
        mutating func damage(_ generator: inout SeededGenerator) {
            let index = Int.random(in: 0..<values.count, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: values[index].head = .random(in: 0...12, using: &generator)
            case 1: values[index].head ^= 1 << UInt32.random(in: 0..<32, using: &generator)
            case 2: values[index].count = .random(in: 0...20, using: &generator)
            case 3: values[index].payload ^= 1 << UInt64.random(in: 0..<64, using: &generator)
            case 4: values.swapAt(index, .random(in: 0..<values.count, using: &generator))
            default:
                guard !bytes.isEmpty else { return }
                bytes[.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
        }

        /// The record by its shape.
        func shaped() throws -> PropertyList {
            let shape = try RecordShapeTests.shape(keys)
            return try values.withUnsafeBufferPointer { values in
                let start = try #require(values.baseAddress)
                return try bytes.withUnsafeBytes { try PropertyList(record: start, of: shape, bytes: $0) }
            }
        }

        /// The same with its keys written out behind the values.
        func whole() throws -> PropertyList {
            var nodes = [kv_node(head: 10, count: UInt32(keys.count), payload: UInt64(keys.count * 2 + 1))] + values
            var bytes = bytes
            for (index, key) in keys.enumerated() {
                nodes.append(
                    kv_node(
                        head: 0x8000_0000 | UInt32(index + 1), count: UInt32(key.count), payload: UInt64(bytes.count)))
                bytes += key
            }
            return try TreeValidationTests.copy(nodes, bytes)
        }
    }

    static func shape(_ keys: [[UInt8]]) throws -> RecordShape {
        // Behind one another in memory that stays, for the borrowed buffers.
        let text = keys.flatMap { $0 }
        return try text.withUnsafeBytes { text in
            var start = 0
            return try RecordShape(
                keys: keys.map { key in
                    defer { start += key.count }
                    return UnsafeRawBufferPointer(rebasing: text[start..<start + key.count])
                })
        }
    }

    @Test("a record of a shape is the dictionary that it stands for, or neither is one", arguments: 1...100)
    func agreesWithTheWholeDictionary(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var accepted = 0
        for round in 0..<200 {
            var record = Record(&generator)
            if round % 4 != 0 { record.damage(&generator) }
            switch (Result { try record.shaped() }, Result { try record.whole() }) {
            case (.success(let shaped), .success(let whole)):
                accepted += 1
                // A string may have been pointed at a key, whose text stands elsewhere in the two.
                if round % 4 == 0 { #expect(shaped == whole) }
                #expect(shaped.keys == whole.keys)
                #expect(shaped == shaped.compacted())
                let facts = try #require(shaped.document.facts)
                let expected = try #require(whole.document.facts)
                #expect(facts.kinds == expected.kinds)
                #expect(facts.depth == expected.depth)
                #expect(facts.isPlainText == expected.isPlainText)
                #expect(facts.hasUIDLikeDictionary == expected.hasUIDLikeDictionary)
            case (.failure(let shaped), .failure(let whole)):
                let shaped = try #require(shaped as? PropertyListError)
                let whole = try #require(whole as? PropertyListError)
                #expect(shaped.code == whole.code)
                if shaped.code == .invalidValue { #expect(shaped == whole) }
            case (.failure(let shaped), .success):
                // What lies outside the values' bytes may still lie within those that the keys are part of.
                #expect((shaped as? PropertyListError)?.code == .malformed)
            case (.success, .failure(let whole)): Issue.record("accepted, though it is not laid out: \(whole)")
            }
        }
        #expect(accepted >= 50)
    }

    @Test("names the place of a string that is not UTF-8")
    func namesThePlace() throws {
        var generator = SeededGenerator(seed: 1)
        var record = Record(&generator)
        record.values = [kv_node(head: 2, count: 0, payload: 7), kv_node(head: 7, count: 1, payload: 0)]
        record.keys = [Array("b".utf8), Array("a".utf8)]
        record.bytes = [0xFF]
        let error = #expect(throws: PropertyListError.self) { try record.shaped() }
        #expect(error?.code == .invalidValue)
        #expect(error?.path == ["a"])
    }

    @Test("a shape has keys, once each, in UTF-8")
    func checksKeys() throws {
        #expect(throws: PropertyListError(.limitExceeded, "Expected 1 to 4096 keys, found 0")) { try Self.shape([]) }
        #expect(throws: PropertyListError(.invalidValue, "A key stands twice in a dictionary")) {
            try Self.shape([Array("a".utf8), Array("b".utf8), Array("a".utf8)])
        }
        #expect(throws: PropertyListError(.invalidValue, "Expected UTF-8 in a key")) { try Self.shape([[0xFF]]) }
        #expect(throws: PropertyListError(.limitExceeded, "Expected at most 1048576 bytes of keys")) {
            try Self.shape([[UInt8](repeating: 97, count: 1 << 20), [98]])
        }
    }

    @Test("knows a dictionary that could pass for a UID, and text that is not plain")
    func notesFacts() throws {
        var generator = SeededGenerator(seed: 1)
        var record = Record(&generator)
        record.values = [kv_node(head: 2, count: 0, payload: 7)]
        record.bytes = []
        record.keys = [Array("CF$UID".utf8)]
        #expect(try record.shaped().document.facts?.hasUIDLikeDictionary == true)
        record.keys = [Array("é".utf8)]
        #expect(try record.shaped().document.facts?.isPlainText == false)
        #expect(try record.shaped().keys == ["é"])
    }
}
