/// The node of one value in a coder, and the way to it from the root.
class CodingNode {
    /// The node around this one's value.
    private final var holder: CodingNode?
    private final let key: LastKey
    /// The path of a node without a holder.
    private final let path: [any CodingKey]
    final let depth: Int

    /// A node without a holder.
    init(path: [any CodingKey], depth: Int) {
        holder = nil
        key = .none
        self.path = path
        self.depth = depth
    }

    init(inside holder: CodingNode, _ key: consuming LastKey) {
        self.holder = holder
        self.key = key
        path = []
        depth = holder.depth + 1
    }

    /// Ends a chain of nodes one by one, on a small stack, too (KeptContainerTests).
    deinit {
        var ended = holder.take()
        while isKnownUniquelyReferenced(&ended) { ended = ended?.holder.take() }
    }

    /// The path of the value, without the location of the root.
    final var pathInValue: [any CodingKey] {
        var path: [any CodingKey] = []
        var node = self
        while let holder = node.holder {
            if case .key(let key) = node.key { path.append(key) }
            node = holder
        }
        return node.path + path.reversed()
    }
}
