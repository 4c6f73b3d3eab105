internal import CKVCodable

/// The size of a value in memory. A store's limits are about this size.
@usableFromInline package struct PropertyListSize: AdditiveArithmetic, Sendable {
    /// Values and keys.
    @usableFromInline package var nodes: Int
    /// The bytes of strings, keys and data.
    @usableFromInline package var text: Int

    @inlinable package init(nodes: Int = 0, text: Int = 0) {
        self.nodes = nodes
        self.text = text
    }

    @inlinable package static var zero: Self { Self() }

    /// The bytes of the nodes and of the text.
    package var bytes: Int { nodes &* MemoryLayout<kv_node>.stride &+ text }

    @inlinable package static func + (left: Self, right: Self) -> Self {
        Self(nodes: left.nodes &+ right.nodes, text: left.text &+ right.text)
    }

    @inlinable package static func - (left: Self, right: Self) -> Self {
        Self(nodes: left.nodes &- right.nodes, text: left.text &- right.text)
    }

    @inlinable package static func += (left: inout Self, right: Self) { left = left + right }
}

extension PropertyList {
    /// The size of the value. Takes time in proportion to its nodes. Text that several nodes share counts for each.
    package var size: PropertyListSize {
        let nodes = UnsafeBufferPointer(start: document.nodes + index, count: node.span)
        return PropertyListSize(
            nodes: nodes.count, text: nodes.reduce(0) { $0 &+ ($1.hasBytes ? Int($1.count) : 0) })
    }
}
