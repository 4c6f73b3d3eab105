internal import CKVCodable

/// Copies and checks a record in one pass: a dictionary of a few integers, reals, booleans and strings with sorted
/// keys, which is what programs set most often. Whatever else it meets, it leaves to ``LayoutCheck``.
///
/// Sound for the same reason: each node is read once, and what was read is what is checked and stored; no byte is read
/// that was not found to lie within the block.
struct RecordCopy {
    private(set) var facts = DocumentFacts()

    private static let string = PropertyListKind.string.rawValue
    private static let boolean = PropertyListKind.boolean.rawValue
    /// A bit for each kind that a value may have.
    private static let plain =
        1 &<< string | 1 &<< boolean | 1 &<< PropertyListKind.integer.rawValue | 1 &<< PropertyListKind.real.rawValue

    /// - Parameters:
    ///   - nodes: at least one.
    ///   - target: room for as many.
    ///   - bytes: what they refer to, with ``LayoutCheck/padding`` behind it.
    ///   - survey: what these bytes are.
    /// - Returns: nil where the nodes are no such record, or not laid out as they should be. What stands at the target
    ///   does not matter then.
    @inline(__always)
    init?(
        of nodes: UnsafeBufferPointer<kv_node>, to target: UnsafeMutablePointer<kv_node>,
        _ bytes: UnsafeRawBufferPointer, _ survey: ByteSurvey
    ) {
        guard let source = nodes.baseAddress, let text = bytes.baseAddress else { return nil }
        let header = source[0]
        let count = Int(header.count)
        guard header.head == PropertyListKind.dictionary.rawValue, header.payload == UInt64(nodes.count),
            count &* 2 &+ 1 == nodes.count, 1..<63 ~= count, survey.isASCII
        else { return nil }
        target[0] = header
        let values = Self.copyValues(source + 1, to: UnsafeMutableRawPointer(target + 1), count, bytes.count)
        guard values.kinds != 0 else { return nil }
        let first = count &+ 1
        let keys = Self.copyKeys(
            source + first, to: UnsafeMutableRawPointer(target + first), count, text, bytes.count)
        guard let keys, keys &+ values.claimed <= bytes.count else { return nil }
        facts.kinds = values.kinds | 1 &<< PropertyListKind.dictionary.rawValue
        facts.depth = 1
        facts.isPlainText = survey.isPlain
        facts.hasUIDLikeDictionary = count == 1 && keys == 6
    }

    /// Gives a bit for each kind, none where a value is another scalar or refers to what is not there, and to how many
    /// bytes the values refer.
    @inline(never)
    private static func copyValues(
        _ source: UnsafePointer<kv_node>, to target: UnsafeMutableRawPointer, _ count: Int, _ byteCount: Int
    ) -> (kinds: UInt32, claimed: Int) {
        var kinds: UInt32 = 0
        var heads: UInt32 = 0
        var booleans: UInt64 = 0
        var claimed = 0
        var source = UnsafeRawPointer(source)
        var target = target
        let end = source + count &* MemoryLayout<kv_node>.stride
        while source < end {
            let node = WordPair(copying: source, to: target)
            source += MemoryLayout<kv_node>.stride
            target += MemoryLayout<kv_node>.stride
            heads |= node.head
            kinds |= 1 &<< node.head
            if node.head == string {
                guard node.isWithin(byteCount) else { return (0, 0) }
                claimed &+= node.count
            } else if node.head == boolean {
                booleans |= node.payload
            }
        }
        return (heads < 16 && kinds & ~plain == 0 && booleans <= 1 ? kinds : 0, claimed)
    }

    /// How many bytes the keys have; nil unless these stand together, in an order that eight of each tell, and the keys
    /// lead to all the values.
    @inline(never)
    private static func copyKeys(
        _ source: UnsafePointer<kv_node>, to target: UnsafeMutableRawPointer, _ count: Int,
        _ bytes: UnsafeRawPointer, _ byteCount: Int
    ) -> Int? {
        var marks: UInt32 = 0
        var marked: UInt64 = 0
        var last: UInt64 = 0
        let first = source.pointee.payload
        guard first <= UInt64(byteCount) else { return nil }
        var offset = Int(truncatingIfNeeded: first)
        var source = UnsafeRawPointer(source)
        let way = UnsafeRawPointer(target) - source
        let end = source + count &* MemoryLayout<kv_node>.stride
        while source < end {
            let node = WordPair(copying: source, to: UnsafeMutableRawPointer(mutating: source) + way)
            var prefix = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            if node.count < 8 { prefix &= ~(UInt64.max &>> UInt64(truncatingIfNeeded: node.count &* 8)) }
            let isTogether = node.payload == UInt64(truncatingIfNeeded: offset)
            offset &+= node.count
            // The empty key has no prefix to tell it from nothing.
            guard isTogether, offset <= byteCount, prefix > last else { return nil }
            last = prefix
            let mark = node.head ^ 0x8000_0000
            marks |= mark
            marked |= 1 &<< UInt64(mark)
            source += MemoryLayout<kv_node>.stride
        }
        // One bit for each value, from the first behind the header.
        return marks < 64 && marked == ((1 &<< UInt64(count)) &- 1) &<< 1
            ? offset &- Int(truncatingIfNeeded: first) : nil
    }
}

/// A node as two words, which takes two moves to copy.
private struct WordPair {
    let first: UInt64
    let payload: UInt64

    @inline(__always)
    init(copying source: UnsafeRawPointer, to target: UnsafeMutableRawPointer) {
        first = source.load(as: UInt64.self)
        payload = source.load(fromByteOffset: 8, as: UInt64.self)
        target.storeBytes(of: first, as: UInt64.self)
        target.storeBytes(of: payload, toByteOffset: 8, as: UInt64.self)
    }

    @inline(__always) var head: UInt32 { UInt32(truncatingIfNeeded: first) }
    @inline(__always) var count: Int { Int(truncatingIfNeeded: first &>> 32) }

    /// Whether the bytes that the node refers to lie within so many.
    @inline(__always) func isWithin(_ byteCount: Int) -> Bool {
        let offset = Int(truncatingIfNeeded: payload)
        return offset >= 0 && count <= byteCount &- offset
    }
}
