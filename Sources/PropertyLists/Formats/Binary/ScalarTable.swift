internal import CKVCodable

/// Finds the first of equal scalars in a document: an open-addressing table of nodes.
///
/// A search looks at no more than ``longestProbe`` slots. Scalars chosen to collide are therefore at worst kept apart,
/// which costs space in the file and never time; and since nothing is random, equal values still give equal bytes.
struct ScalarTable: ~Copyable {
    fileprivate static let longestProbe = 128

    private let document: Document
    /// The node of each slot, counted from 1; 0 where it is free.
    private var slots = GrowableBuffer<UInt32>()
    private var mask = 0
    private var count = 0

    init(of document: Document) {
        self.document = document
        // Growing a large table costs more than a byte for each node does.
        var size = 256
        while size < document.nodeCount / 4, document.nodeCount > 1 << 16 { size *= 2 }
        resize(to: size)
    }

    /// The node of the first scalar equal to the one at `position`, which may be that one itself.
    mutating func first(equalTo position: Int) -> Int {
        let node = document.nodes[position]
        var slot = firstSlot(of: node)
        for _ in 0..<Self.longestProbe {
            guard slots[slot] != 0 else {
                insert(position, at: slot)
                return position
            }
            let other = Int(slots[slot]) &- 1
            if isEqual(document.nodes[other], node) { return other }
            slot = (slot &+ 1) & mask
        }
        return position
    }

    private mutating func insert(_ position: Int, at slot: Int) {
        slots[slot] = UInt32(truncatingIfNeeded: position &+ 1)
        count &+= 1
        if count > mask / 2 { grow() }
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
            var slot = firstSlot(of: document.nodes[Int(old[index]) - 1])
            while slots[slot] != 0 { slot = (slot &+ 1) & mask }
            slots[slot] = old[index]
        }
    }

    /// A key is equal to a string of the same bytes.
    private func isEqual(_ left: kv_node, _ right: kv_node) -> Bool {
        guard left.scalarKind == right.scalarKind else { return false }
        guard left.hasBytes else { return left.payload == right.payload }
        return left.count == right.count && compareBytes(document.buffer(of: left), document.buffer(of: right)) == 0
    }

    private func firstSlot(of node: kv_node) -> Int {
        let seed = UInt64(node.scalarKind)
        let hash = node.hasBytes ? hashBytes(document.buffer(of: node), seed) : foldedProduct(node.payload ^ seed)
        return Int(truncatingIfNeeded: hash) & mask
    }
}

extension kv_node {
    fileprivate var scalarKind: UInt32 { isKey ? PropertyListKind.string.rawValue : head }
}
