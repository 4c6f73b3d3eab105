internal import CKVCodable

/// Finds the first of equal scalars in a document: an open-addressing table of nodes.
///
/// A search looks at no more than ``longestProbe`` places. Scalars chosen to collide are therefore at worst kept apart,
/// which costs space in the file and never time; and since nothing is random, equal values still give equal bytes.
struct ScalarTable: ~Copyable {
    static let longestProbe = 128

    private let document: Document
    /// The node, counted from 1, in the low bits of each place, as much of its hash as fits above; 0 where there is
    /// none.
    private var places = GrowableBuffer<UInt32>()
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

    /// The node of the first scalar equal to the one at `position`; that one where it is the first.
    @inline(__always) mutating func first(equalTo position: Int) -> Int {
        let node = document.nodes[position]
        let hash = hash(of: node)
        var place = Int(truncatingIfNeeded: hash) & mask
        for _ in 0..<Self.longestProbe {
            let entry = places[place]
            if entry == 0 {
                insert(position, hash, at: place)
                return position
            }
            if (entry ^ UInt32(truncatingIfNeeded: hash >> 32)) & ~nodeMask == 0 {
                let other = Int(entry & nodeMask) &- 1
                if isEqual(document.nodes[other], node) { return other }
            }
            place = (place &+ 1) & mask
        }
        return position
    }

    private mutating func insert(_ position: Int, _ hash: UInt64, at place: Int) {
        places[place] = entry(position, hash)
        count &+= 1
        if count > mask / 2 { grow() }
    }

    private func entry(_ position: Int, _ hash: UInt64) -> UInt32 {
        (UInt32(truncatingIfNeeded: hash >> 32) & ~nodeMask) | UInt32(truncatingIfNeeded: position &+ 1)
    }

    private mutating func resize(to size: Int) {
        places.appendZeros(size)
        mask = size - 1
    }

    private mutating func grow() {
        var old = GrowableBuffer<UInt32>()
        swap(&old, &places)
        resize(to: old.count * (old.count < 1 << 16 ? 4 : 2))
        for index in 0..<old.count where old[index] != 0 {
            let position = Int(old[index] & nodeMask) - 1
            let hash = hash(of: document.nodes[position])
            var place = Int(truncatingIfNeeded: hash) & mask
            while places[place] != 0 { place = (place &+ 1) & mask }
            places[place] = entry(position, hash)
        }
    }

    /// A key is equal to a string of the same bytes.
    @inline(__always) private func isEqual(_ left: kv_node, _ right: kv_node) -> Bool {
        guard left.scalarKind == right.scalarKind else { return false }
        guard left.hasBytes else { return left.payload == right.payload }
        return left.count == right.count && compareBytes(document.buffer(of: left), document.buffer(of: right)) == 0
    }

    @inline(__always) private func hash(of node: kv_node) -> UInt64 {
        let seed = UInt64(node.scalarKind) &+ 0x9E37_79B9_7F4A_7C15
        return node.hasBytes
            ? hash(of: document.buffer(of: node), seed) : mix(node.payload ^ seed, 0xD6E8_FEB8_6659_FD93)
    }

    @inline(__always) private func hash(of bytes: UnsafeBufferPointer<UInt8>, _ seed: UInt64) -> UInt64 {
        var hash = seed ^ UInt64(truncatingIfNeeded: bytes.count)
        guard let base = bytes.baseAddress else { return hash }
        let raw = UnsafeRawPointer(base)
        var position = 0
        while bytes.count &- position >= 8 {
            hash = mix(hash ^ (raw + position).loadUnaligned(as: UInt64.self), 0xD6E8_FEB8_6659_FD93)
            position &+= 8
        }
        var rest: UInt64 = 0
        while position < bytes.count {
            rest = rest << 8 | UInt64(base[position])
            position &+= 1
        }
        return mix(hash ^ rest, 0xA076_1D64_78BD_642F)
    }

    /// The two halves of the product, one upon the other.
    @inline(__always) private func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}

extension kv_node {
    @inline(__always) fileprivate var scalarKind: UInt32 { isKey ? PropertyListKind.string.rawValue : head }
}
