import CKVCodable
import PropertyLists
import TestSupport
import Testing

/// The quick look at records against the whole check, which a call that names its limits asks for.
@Suite struct RecordCopyTests {
    private struct Record {
        var nodes: [kv_node] = []
        var bytes: [UInt8] = []

        /// A record of 1 to 70 scalars, mostly of those that the quick look knows, with sorted keys.
        init(_ generator: inout SeededGenerator) {
            let count = Int.random(in: 1...(Bool.random(using: &generator) ? 6 : 70), using: &generator)
            nodes.append(kv_node(head: 10, count: UInt32(count), payload: UInt64(count * 2 + 1)))
            for _ in 0..<count { addValue(&generator) }
            var keys: Set<[UInt8]> = []
            while keys.count < count {
                let isShort = Bool.random(using: &generator)
                keys.insert(
                    (isShort ? [] : Array("a common beginning ".utf8.prefix(Int.random(in: 1...9, using: &generator))))
                        + (0..<Int.random(in: 0...5, using: &generator)).map { _ in
                            UInt8.random(in: 97...102, using: &generator)
                        })
            }
            let distances = (1...count).shuffled(using: &generator)
            for (key, distance) in zip(keys.sorted { $0.lexicographicallyPrecedes($1) }, distances) {
                nodes.append(
                    kv_node(
                        head: 0x8000_0000 | UInt32(distance), count: UInt32(key.count), payload: UInt64(bytes.count)))
                bytes += key
            }
        }

        private mutating func addValue(_ generator: inout SeededGenerator) {
            switch Int.random(in: 0..<120, using: &generator) {
            case 0..<30: nodes.append(kv_node(head: 2, count: 0, payload: .random(in: 0...9, using: &generator)))
            case 30..<60: nodes.append(kv_node(head: 4, count: 0, payload: (1.5).bitPattern))
            case 60..<90: nodes.append(kv_node(head: 1, count: 0, payload: .random(in: 0...1, using: &generator)))
            case 90..<119:
                let length = Int.random(in: 0...12, using: &generator)
                nodes.append(kv_node(head: 7, count: UInt32(length), payload: UInt64(bytes.count)))
                bytes += (0..<length).map { _ in UInt8.random(in: 32...126, using: &generator) }
            default: nodes.append(kv_node(head: 5, count: 0, payload: (2.5).bitPattern))
            }
        }

        /// Changes one word, bit or byte, or the order of two keys.
        mutating func damage(_ generator: inout SeededGenerator) {
            let index = Int.random(in: 0..<nodes.count, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: nodes[index].head = .random(in: 0...12, using: &generator)
            case 1: nodes[index].head ^= 1 << UInt32.random(in: 0..<32, using: &generator)
            case 2: nodes[index].count = .random(in: 0...20, using: &generator)
            case 3: nodes[index].payload ^= 1 << UInt64.random(in: 0..<64, using: &generator)
            case 4: nodes.swapAt(index, .random(in: 0..<nodes.count, using: &generator))
            default:
                guard !bytes.isEmpty else { return }
                bytes[.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
        }
    }

    private static func words(_ list: PropertyList) -> [UInt64] {
        UnsafeRawBufferPointer(start: list.document.nodes, count: list.document.nodeCount * 16).bindMemory(
            to: UInt64.self
        ).map { $0 }
    }

    @Test("gives of a record, whole or damaged, what the whole check gives", arguments: 1...100)
    func agreesWithTheWholeCheck(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var accepted = 0
        for round in 0..<200 {
            var record = Record(&generator)
            if round % 4 != 0 { record.damage(&generator) }
            let quick = Result { try TreeValidationTests.copy(record.nodes, record.bytes) }
            let whole = Result {
                try TreeValidationTests.copy(record.nodes, record.bytes, limits: PropertyListLimits())
            }
            switch (quick, whole) {
            case (.success(let quick), .success(let whole)):
                accepted += 1
                #expect(Self.words(quick) == Self.words(whole))
                let facts = try #require(quick.document.facts)
                let expected = try #require(whole.document.facts)
                #expect(facts.kinds == expected.kinds)
                #expect(facts.depth == expected.depth)
                #expect(facts.isPlainText == expected.isPlainText)
                #expect(facts.hasUIDLikeDictionary == expected.hasUIDLikeDictionary)
            case (.failure(let quick), .failure(let whole)):
                #expect(quick as? PropertyListError == whole as? PropertyListError)
            default: Issue.record("one of the two refuses it: \(quick), \(whole)")
            }
        }
        #expect(accepted >= 50)
    }
}
