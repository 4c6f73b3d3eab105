internal import FoundationEssentials

/// Where a value goes, as seen from a node.
enum EncodingSlot {
    case named(String)
    case next
    /// The value is the node's own.
    case whole
}

/// The encoder of one value, to which its containers write.
///
/// This class knows Codable and the strategies, and writes nowhere: what it is given is lost, which serves a container
/// of the wrong kind. Subclasses write to `Any` and to the property-list tree. A node is used again for the next value
/// at its depth, unless somebody still holds it.
///
/// The properties are `@exclusivity(unchecked)`: checking each access at run time costs a tenth of all coding. Sound
/// because a node serves one thread, and no access calls anything that could come back to the same property.
class EncodingNode: EncodingSeat {
    enum Shape { case none, whole, removed, keyed, unkeyed }

    /// A nested container or super encoder, which may still be written to when its parent has gone on.
    struct Deferred {
        /// `whole` where another value has taken the place.
        var slot: EncodingSlot
        /// Elements that were written directly before this one.
        var position: Int
        var node: EncodingNode
    }

    final let context: EncodingContext
    @exclusivity(unchecked) final var parent: EncodingNode?
    /// The parent of a node whose value is being encoded by it, and which it therefore outlives.
    @exclusivity(unchecked) final var encodingParent: Unmanaged<EncodingNode>?
    /// The last key of the path, unless it is lent.
    @exclusivity(unchecked) final var key: (any CodingKey)?
    /// The last key of the path while a value is encoded under it.
    @exclusivity(unchecked) final var lentKey = LentKey.none
    @exclusivity(unchecked) final var depth = 0
    /// The node for values inside this one.
    @exclusivity(unchecked) private final var spare: EncodingNode?
    /// More of them, where one is not enough.
    @exclusivity(unchecked) private final var crowd: [EncodingNode] = []
    @exclusivity(unchecked) final var shape = Shape.none
    @exclusivity(unchecked) final var deferred: [Deferred] = []
    @exclusivity(unchecked) private final var deferredNames: [String: Int] = [:]
    /// Elements written to an unkeyed container, dropped ones included.
    @exclusivity(unchecked) final var elements = 0

    /// Whether the node's value is being encoded by a call that releases the node afterwards.
    @exclusivity(unchecked) final var lends = false
    /// Whether the node has been released, or its value written, and is not in use again.
    @exclusivity(unchecked) private final var isFinished = false
    /// Whose container is lent to the node. Its context holds it until the node has given the container back.
    @exclusivity(unchecked) final var borrowed: Unmanaged<EncodingContainerMaker>?

    init(_ context: EncodingContext) {
        self.context = context
        super.init()
        take(self)
    }

    // MARK: What a subclass writes

    /// Whether integers of more than 64 bits can be written.
    var holdsWideIntegers: Bool { true }

    func write(_ scalar: Scalar, at slot: EncodingSlot) throws {}

    /// Writes what a strategy's closure gave.
    func write(any value: Any, at slot: EncodingSlot) throws {}

    func writeNil(at slot: EncodingSlot) throws {}

    /// Makes the node a dictionary or an array. Called once.
    func open(_ shape: Shape, _ maker: Unmanaged<EncodingContainerMaker>?) throws {}

    /// A node of the same kind, for a value inside this one.
    func makeNode() -> EncodingNode { EncodingNode(context) }

    /// A node of the same kind, for a value that may be written later.
    func makeDetachedNode() -> EncodingNode { makeNode() }

    /// Whether a value cannot be written to its place now, but has to be kept until the node is finished.
    func defers(_ slot: EncodingSlot) -> Bool { false }

    /// Prepares `child`, whose value comes next, and belongs in `slot`.
    func begin(_ child: EncodingNode, at slot: EncodingSlot) {}

    /// Takes over what `child` has written.
    func end(_ child: EncodingNode, at slot: EncodingSlot) throws {}

    /// Forgets what `child` has written: its value threw an error, which its parent may yet swallow.
    func abandon(_ child: EncodingNode, at slot: EncodingSlot) {}

    /// Makes room for so many elements, if that is worth while.
    func makeRoom(for count: Int) {}

    /// Elements written directly: neither dropped nor deferred.
    var position: Int { 0 }

    /// Makes the node as it was when new, but for what helps the next value.
    func reset() {
        shape = .none
        elements = 0
        if !deferred.isEmpty { clearDeferred() }
        if !crowd.isEmpty { crowd = [] }
    }
}

// MARK: - Paths and errors

extension EncodingNode {
    final var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var node: EncodingNode? = self
        while let current = node {
            if let key = current.key ?? current.lentKey.key { path.append(key) }
            node = current.parent ?? current.encodingParent?.takeUnretainedValue()
        }
        path.reverse()
        return context.place.map { $0.codingPath + path } ?? path
    }

    final func path(_ key: LentKey) -> [any CodingKey] {
        key.key.map { codingPath + [$0] } ?? codingPath
    }

    final func invalid(
        _ value: Any, _ key: LentKey, underlying: (any Error)? = nil, _ message: (String) -> String
    ) -> EncodingError {
        let path = path(key)
        let text = message(path.text(in: context.place))
        return .invalidValue(value, .init(codingPath: path, debugDescription: text, underlyingError: underlying))
    }

    /// Notes the first error where nothing may throw; `encode` throws it in the end.
    final func fail(_ error: any Error) {
        if context.failure == nil { context.failure = error }
    }
}

// MARK: - Children

extension EncodingNode {
    /// A node for a value inside this one, until ``release()``: the last one at its depth, unless somebody still has
    /// it.
    ///
    /// Not counted as a reference: this node holds it until then, as nothing takes the place of one that is in use.
    final func child<T>(_ key: LentKey, of value: T) throws -> Unmanaged<EncodingNode> {
        guard depth < CodingLimits.depth else { throw tooDeep(value, at: path(key)) }
        let child = vacantNode()
        child._withUnsafeGuaranteedRef { child in
            // Somebody who had kept it may have written to it.
            if child.shape != .none || child.elements != 0 { child.reset() }
            child.encodingParent = .passUnretained(self)
            child.lentKey = key
            child.depth = depth &+ 1
            child.lends = true
            child.isFinished = false
        }
        return child
    }

    private final func tooDeep(_ value: Any, at path: [any CodingKey]) -> any Error {
        // A lost node has no path, but why it is lost was noted with one.
        if type(of: self) == EncodingNode.self, let failure = context.failure { return failure }
        let text = CodingLimits.tooDeep(context.place)
        return EncodingError.invalidValue(value, .init(codingPath: path, debugDescription: text))
    }

    private final func vacantNode() -> Unmanaged<EncodingNode> {
        if isKnownUniquelyReferenced(&spare), let last = spare, !last.lends { return .passUnretained(last) }
        let node = makeNode()
        // Somebody may write to this node while a value inside it is encoded.
        if spare?.lends == true { crowd.append(node) } else { spare = node }
        return .passUnretained(node)
    }

    /// Ends the time of the node's value, and with it the hold on what was there for that time.
    final func release() {
        reset()
        if let borrowed, !borrowed._withUnsafeGuaranteedRef({ $0.takeBack(from: self) }) {
            context.makers.remove(borrowed.takeUnretainedValue())
        }
        borrowed = nil
        lends = false
        isFinished = true
        encodingParent = nil
        lentKey = .none
    }

    /// A node whose value is written to `slot` when this one is finished; the same one for the same name.
    final func nested(at slot: EncodingSlot, _ key: any CodingKey) -> EncodingNode {
        if case .named(let name) = slot, let index = deferredNames[name] { return deferred[index].node }
        guard depth < CodingLimits.depth else {
            fail(tooDeep("", at: codingPath + [key]))
            return lostNode()
        }
        let node = makeDetachedNode()
        node.depth = depth + 1
        // What is written now is lost: to hold the node would be for ever.
        if isFinished || type(of: self) == EncodingNode.self { return node }
        node.parent = self
        node.key = key
        if case .named(let name) = slot { deferredNames[name] = deferred.count }
        deferred.append(Deferred(slot: slot, position: position, node: node))
        return node
    }

    /// A node for what cannot be written. As deep as this one, so that values inside values end there, too.
    final func lostNode() -> EncodingNode {
        let node = EncodingNode(context)
        node.depth = depth
        return node
    }

    /// A value for `name` comes now: it replaces a nested container of that name.
    final func forgetNested(_ name: String) {
        guard let index = deferredNames.removeValue(forKey: name) else { return }
        deferred[index].slot = .whole
    }

    /// Lets go of nested nodes, which hold this one, with all that is nested in them.
    final func clearDeferred() {
        let nodes = deferred.map(\.node)
        deferred = []
        deferredNames = [:]
        for node in nodes {
            node.parent = nil
            node.isFinished = true
            if !node.deferred.isEmpty { node.clearDeferred() }
        }
    }
}
