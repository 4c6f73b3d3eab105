internal import CKVCodable

/// The size of a value in memory. A store's limits are about this size.
package struct PropertyListSize: AdditiveArithmetic, Sendable {
    /// Values and keys.
    package var nodes: Int
    /// The bytes of strings, keys and data.
    package var text: Int

    package init(nodes: Int = 0, text: Int = 0) {
        self.nodes = nodes
        self.text = text
    }

    package static let zero = PropertyListSize()

    /// The bytes of the nodes and of the text.
    package var bytes: Int { nodes &* MemoryLayout<kv_node>.stride &+ text }

    package static func + (left: Self, right: Self) -> Self {
        Self(nodes: left.nodes &+ right.nodes, text: left.text &+ right.text)
    }

    package static func - (left: Self, right: Self) -> Self {
        Self(nodes: left.nodes &- right.nodes, text: left.text &- right.text)
    }
}

extension PropertyList {
    /// The size of the value. Takes time in proportion to its nodes. Text that several nodes share counts for each.
    package var size: PropertyListSize {
        let span = node.span
        var text = 0
        for position in index..<(index &+ span) {
            let node = document.nodes[position]
            text &+= node.hasBytes ? Int(node.count) : 0
        }
        return PropertyListSize(nodes: span, text: text)
    }
}
