internal import CKVCodable

/// Finds the first of equal scalars in a document: an open-addressing table of nodes.
///
/// A search looks at no more than ``longestProbe`` slots. Scalars chosen to collide are therefore at worst kept apart,
/// which costs space in the file and never time; and since nothing is random, equal values still give equal bytes.
struct ScalarTable: ~Copyable {
    fileprivate static let longestProbe = 128

    private let document: Document
    /// Each slot has a node, counted from 1, in its low bits, and above them as much of its hash as fits; 0 where it is
    /// free.
    private var slots = GrowableBuffer<UInt32>()
    private let nodeMask: UInt32
    private var mask = 0
    private var count = 0

    init(of document: Document) {
        self.document = document
        let nodes = UInt32(truncatingIfNeeded: document.nodeCount)
        nodeMask = nodes == 0 ? 0 : .max >> UInt32(truncatingIfNeeded: nodes.leadingZeroBitCount)
        // Growing a large table costs more than a byte for each node does.
        var size = 256
        while size < document.nodeCount / 4, document.nodeCount > 1 << 16 { size *= 2 }
        resize(to: size)
    }

    /// The node of the first scalar equal to the one at `position`, which may be that one itself.
    mutating func first(equalTo position: Int) -> Int {
        let node = document.nodes[position]
        let hash = hash(of: node)
        var slot = Int(truncatingIfNeeded: hash) & mask
        for _ in 0..<Self.longestProbe {
            let entry = slots[slot]
            if entry == 0 {
                insert(position, hash, at: slot)
                return position
            }
            if (entry ^ UInt32(truncatingIfNeeded: hash >> 32)) & ~nodeMask == 0 {
                let other = Int(entry & nodeMask) &- 1
                if isEqual(document.nodes[other], node) { return other }
            }
            slot = (slot &+ 1) & mask
        }
        return position
    }

    private mutating func insert(_ position: Int, _ hash: UInt64, at slot: Int) {
        slots[slot] = entry(position, hash)
        count &+= 1
        if count > mask / 2 { grow() }
    }

    private func entry(_ position: Int, _ hash: UInt64) -> UInt32 {
        (UInt32(truncatingIfNeeded: hash >> 32) & ~nodeMask) | UInt32(truncatingIfNeeded: position &+ 1)
    }

    private mutating func resize(to size: Int) {
        slots.appendZeros(size)
        mask = size - 1
    }

    private mutating func grow() {
        var old = GrowableBuffer<UInt32>()
        swap(&old, &slots)
        resize(to: old.count * (old.count < 1 << 16 ? 4 : 2))
        for index in 0..<old.count where old[index] != 0 {
            let position = Int(old[index] & nodeMask) - 1
            let hash = hash(of: document.nodes[position])
            var slot = Int(truncatingIfNeeded: hash) & mask
            while slots[slot] != 0 { slot = (slot &+ 1) & mask }
            slots[slot] = entry(position, hash)
        }
    }

    /// A key is equal to a string of the same bytes.
    private func isEqual(_ left: kv_node, _ right: kv_node) -> Bool {
        guard left.scalarKind == right.scalarKind else { return false }
        guard left.hasBytes else { return left.payload == right.payload }
        return left.count == right.count && compareBytes(document.buffer(of: left), document.buffer(of: right)) == 0
    }

    private func hash(of node: kv_node) -> UInt64 {
        let seed = UInt64(node.scalarKind)
        return node.hasBytes ? hashBytes(document.buffer(of: node), seed) : foldedProduct(node.payload ^ seed)
    }
}

extension kv_node {
    fileprivate var scalarKind: UInt32 { isKey ? PropertyListKind.string.rawValue : head }
}
