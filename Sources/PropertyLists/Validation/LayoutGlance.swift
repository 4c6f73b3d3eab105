internal import CKVCodable

/// What a look at a run of scalars finds: functions of their own, since these loops want the registers to themselves.
struct ScalarGlance {
    /// How many were passed over: up to the first that is of another kind, or wants a closer look.
    private(set) var count = 0
    /// A bit for each kind among them.
    private(set) var kinds: UInt32 = 0
    /// How many bytes they refer to.
    private(set) var claimed = 0

    private static let string = UInt32(1) &<< PropertyListKind.string.rawValue
    private static let boolean = UInt32(1) &<< PropertyListKind.boolean.rawValue
    private static let plain =
        string | boolean | 1 &<< PropertyListKind.integer.rawValue | 1 &<< PropertyListKind.real.rawValue

    /// - Parameter room: how many bytes may be claimed; -1 where strings want a closer look.
    @inline(never)
    init(_ start: UnsafePointer<kv_node>, _ end: UnsafePointer<kv_node>, _ byteCount: Int, room: Int) {
        var node = start
        var rest = room
        while node < end, node.pointee.head < 32 {
            let kind = 1 &<< node.pointee.head as UInt32
            guard kind & Self.plain != 0 else { break }
            if kind == Self.string {
                let left = rest &- Int(node.pointee.count)
                guard left >= 0, node.pointee.isWithin(byteCount) else { break }
                rest = left
            } else if kind == Self.boolean, node.pointee.payload > 1 {
                break
            }
            kinds |= kind
            node += 1
        }
        count = node - start
        claimed = room &- rest
    }
}

/// What a look at the keys of a dictionary finds.
struct KeyGlance {
    /// Whether the bytes of all of them are there. If not, nothing else counts.
    private(set) var isWithin = true
    /// Whether they stand in the order of their bytes, as far as eight of these tell, and no two are equal in them.
    private(set) var isSorted = true
    /// The distances to their values: all their bits, and a bit for each below 64.
    private(set) var marks: UInt32 = 0
    private(set) var marked: UInt64 = 0
    /// How many bytes they refer to.
    private(set) var claimed = 0

    /// Reads up to ``LayoutCheck/padding`` bytes behind `byteCount`.
    @inline(never)
    init(
        _ start: UnsafePointer<kv_node>, _ end: UnsafePointer<kv_node>, _ bytes: UnsafePointer<UInt8>, _ byteCount: Int
    ) {
        let text = KeyText(base: bytes, count: byteCount &+ LayoutCheck.padding)
        var key = start
        var last: UInt64 = 0
        while key < end {
            guard key.pointee.isWithin(byteCount) else {
                isWithin = false
                return
            }
            let mark = key.pointee.head ^ 0x8000_0000
            marks |= mark
            marked |= 1 &<< UInt64(mark)
            claimed &+= Int(key.pointee.count)
            let prefix = text.paddedPrefix(of: key.pointee)
            if prefix <= last, key > start { isSorted = false }
            last = prefix
            key += 1
        }
    }
}

extension kv_node {
    /// Whether the bytes that the node refers to lie within so many.
    @inline(__always)
    func isWithin(_ byteCount: Int) -> Bool {
        let offset = Int(truncatingIfNeeded: payload)
        return offset >= 0 && Int(count) <= byteCount &- offset
    }
}
