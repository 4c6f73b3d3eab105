public import CKVCodable

// The steps of the builder once more, for code that takes them so often that a call counts: they end up within it.

extension PropertyListBuilder {
    /// As `append(integer:)` and the like.
    @inlinable @inline(__always)
    package mutating func append(direct kind: PropertyListKind, _ payload: UInt64) throws(PropertyListError) {
        try admitDirectly()
        nodes.append(kv_node(kind: kind, payload: payload))
    }

    /// As `append(string:)`.
    @inlinable @inline(__always)
    package mutating func append(direct text: String) throws(PropertyListError) {
        try admitDirectly()
        let start = bytes.count
        bytes.append(text: text)
        let count = bytes.count &- start
        guard count <= PropertyListLimits.length else { throw tooLong(count) }
        nodes.append(kv_node(kind: .string, count: count, payload: UInt64(truncatingIfNeeded: start)))
    }

    @inlinable @inline(__always)
    mutating func admitDirectly() throws(PropertyListError) {
        if place == .placedValue, nodes.count < PropertyListLimits.nodes {
            place = .placedKey
        } else {
            try admit()
        }
    }
}
