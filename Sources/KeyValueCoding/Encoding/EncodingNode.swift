internal import PropertyLists

/// The position of a value relative to a node.
enum EncodingSlot {
    case named(String)
    case next
    /// The value is the node's own.
    case whole
}

/// The encoder of one value, to which its containers write.
///
/// This class knows Codable and the strategies, and writes nowhere: values given to it are lost, which serves a
/// container of the wrong kind. Subclasses write to `Any` and to the property-list tree.
class EncodingNode: CodingNode {
    enum Shape { case none, whole, removed, keyed, unkeyed }

    /// A nested container or super encoder, to which a program may still write when the node around it has gone on.
    struct Deferred {
        /// `whole` where another value has taken the slot.
        var slot: EncodingSlot
        /// Elements that were written directly before this one.
        var position: Int
        var node: EncodingNode
    }

    /// The parts of a node's value that are settled when the node is finished.
    final class Pending {
        fileprivate(set) var nodes: [Deferred] = []
        /// The indices of the nodes whose slots have names.
        fileprivate var indices: [PropertyListPath.Step: Int] = [:]
        /// The names of nils that are left out, and for each the number of entries that were written before it.
        var leftOut: [PropertyListPath.Step: Int] = [:]
    }

    final let output: EncodingOutput
    final var shape = Shape.none
    /// Nil while there are none, as in most nodes, which three empty collections would cost 160 instructions each.
    final private(set) var pending: Pending?
    /// Elements written to an unkeyed container, dropped ones included.
    final var elements = 0

    /// The root of a call of `encode`, or a nested node. A nested node has no holder: the node around it keeps it, and
    /// a reference back would be a cycle.
    init(_ output: EncodingOutput, path: [any CodingKey] = [], depth: Int = 0) {
        self.output = output
        super.init(path: path, depth: depth)
    }

    init(inside holder: EncodingNode, _ key: consuming LastKey) {
        output = holder.output
        super.init(inside: holder, key)
    }

    final var context: EncodingContext { output.context }

    // MARK: Output, for subclasses to override

    /// Whether integers of more than 64 bits can be written.
    var holdsWideIntegers: Bool { true }

    func write(_ scalar: Scalar, at slot: EncodingSlot) throws {}

    /// Writes the value that a strategy's closure gave.
    func write(any value: Any, at slot: EncodingSlot) throws {}

    func writeNil(at slot: EncodingSlot) throws {}

    /// Notes a key that encoding mentions and does not write.
    func noteLeftOut(_ name: String) {}

    /// Writes the value that `encode` writes to a node of its own; no part of it where `encode` throws, since the
    /// caller may swallow the error.
    func write(at slot: EncodingSlot, _ key: () -> LastKey, _ encode: (EncodingNode) throws -> Void) throws {
        try encode(EncodingNode(inside: self, key()))
    }

    /// Makes the node a dictionary or an array. Called once.
    func open(_ shape: Shape) throws {}

    /// A node of the same kind for a value that may be written later.
    func makeNested(_ path: [any CodingKey]) -> EncodingNode { lostNode() }

    /// Whether a value cannot be written to its slot now, but has to be kept until the node is finished.
    func defers(_ slot: EncodingSlot) -> Bool { false }

    /// Elements written directly: neither dropped nor deferred.
    var position: Int { 0 }
}

// MARK: - Encoder, for `encode(to:)`

extension EncodingNode: Encoder {
    final var userInfo: [CodingUserInfoKey: Any] { context.options.userInfo }

    final var codingPath: [any CodingKey] { (context.location?.codingPath ?? []) + pathInValue }

    final func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(KeyedContainer(opened(.keyed)))
    }

    final func unkeyedContainer() -> any UnkeyedEncodingContainer { UnkeyedContainer(opened(.unkeyed)) }

    final func singleValueContainer() -> any SingleValueEncodingContainer { SingleValueContainer(self) }

    /// This node as a dictionary or an array; a lost one where it is something else already.
    final func opened(_ wanted: Shape) -> EncodingNode {
        if shape == wanted { return self }
        guard shape == .none else {
            fail(invalid("", .none, "Value", " is already encoded as another kind of container"))
            return lostNode()
        }
        do {
            try open(wanted)
            shape = wanted
        } catch {
            fail(error)
        }
        return self
    }
}

// MARK: - Paths and errors

extension EncodingNode {
    /// The error of a fault, with the two parts of its text: `Date`, ` cannot be encoded. …`.
    final func invalid(
        _ value: Any, _ key: LastKey, _ fault: String, _ ending: String, underlying: (any Error)? = nil
    ) -> EncodingError {
        let error = CodingError(ErrorWords(fault: fault, ending: ending))
        return .invalidValue(
            value, error.encodingContext(at: codingPath.appending(key), in: context.location, underlying: underlying))
    }

    /// Notes the first error where nothing may throw; `encode` throws it in the end.
    final func fail(_ error: any Error) {
        if context.failure == nil { context.failure = error }
    }

    final func tooDeep(_ value: Any, _ key: LastKey) -> any Error {
        // A lost node has no path, but the error that made it lost was noted with one.
        if isLost, let failure = context.failure { return failure }
        let text = CodingLimits.tooDeep(context.location)
        return EncodingError.invalidValue(value, .init(codingPath: codingPath.appending(key), debugDescription: text))
    }
}

// MARK: - Nodes inside nodes

extension EncodingNode {
    /// Whether there are deferred nodes.
    final var isDeferring: Bool {
        guard let pending else { return false }
        return !pending.nodes.isEmpty
    }

    /// The node's pending parts, made where there are none.
    final func makePending() -> Pending {
        if let pending { return pending }
        let pending = Pending()
        self.pending = pending
        return pending
    }

    /// Whether values written to this node are lost.
    private final var isLost: Bool { type(of: self) == EncodingNode.self }

    /// A node for values that cannot be written. As deep as this one, so that the limit on depth holds there, too.
    fileprivate final func lostNode() -> EncodingNode { EncodingNode(output, depth: depth) }

    /// A node whose value is written to `slot` when this one is finished; the same one for the same name, unless it is
    /// of another kind than is wanted: then the later one counts.
    final func nested(at slot: EncodingSlot, _ key: any CodingKey, as wanted: Shape = .none) -> EncodingNode {
        if case .named(let name) = slot, let pending, let index = pending.indices[.key(name)] {
            let node = pending.nodes[index].node
            if wanted == .none || node.shape == .none || node.shape == wanted { return node }
            forgetNested(name)
        }
        guard depth < CodingLimits.depth else {
            fail(tooDeep("", .key(key)))
            return lostNode()
        }
        if isLost { return EncodingNode(output, depth: depth + 1) }
        let node = makeNested(pathInValue + [key])
        let pending = makePending()
        if case .named(let name) = slot { pending.indices[.key(name)] = pending.nodes.count }
        pending.nodes.append(Deferred(slot: slot, position: position, node: node))
        return node
    }

    /// A node for a super encoder: the later one of a name counts, as with Foundation's.
    final func superNode(at slot: EncodingSlot, _ key: any CodingKey) -> EncodingNode {
        if case .named(let name) = slot { forgetNested(name) }
        return nested(at: slot, key)
    }

    /// A value for `name` comes now: it replaces a nested container of that name.
    final func forgetNested(_ name: String) {
        guard let pending, let index = pending.indices.removeValue(forKey: .key(name)) else { return }
        pending.nodes[index].slot = .whole
    }

    /// The nested container that a value for `slot` would replace.
    final func nestedIndex(of slot: EncodingSlot) -> Int? {
        guard let pending, case .named(let name) = slot else { return nil }
        return pending.indices[.key(name)]
    }

    /// Puts a nested container back where the value that replaced it has failed.
    final func restoreNested(_ index: Int?, of slot: EncodingSlot) {
        guard let index, let pending, case .named(let name) = slot else { return }
        pending.nodes[index].slot = slot
        pending.indices[.key(name)] = index
    }

    /// Forgets a nested node, whose value has failed.
    final func forgetNested(_ node: EncodingNode) {
        guard let pending, let index = pending.nodes.lastIndex(where: { $0.node === node }) else { return }
        if case .named(let name) = pending.nodes[index].slot { pending.indices[.key(name)] = nil }
        pending.nodes[index].slot = .whole
    }

    /// Ends the node's value. Values written later, by a caller that has kept the node, are lost.
    final func finish() {
        shape = .none
        // What was pending ends after the change: a program's object in it may write to this node then.
        var ended: Pending?
        swap(&pending, &ended)
    }
}
