/// Where a value is, as seen from a node.
enum DecodingSlot {
    case named(String)
    case index(Int)
    /// A value that was found already: its node in the document of a property-list tree.
    case place(Int)
    /// The node's own value.
    case whole
}

/// The decoder of one value, which its containers read from.
///
/// This class knows Codable and the strategies, and holds no value; subclasses hold an `Any` or a place in the
/// property-list tree. A node is used again for the next value at its depth, unless somebody still holds it.
///
/// The properties are `@exclusivity(unchecked)`: checking each access at run time costs a tenth of all coding. Sound
/// because a node serves one thread, and no access calls anything that could come back to the same property.
class DecodingNode {
    final let context: DecodingContext
    @exclusivity(unchecked) final var parent: DecodingNode?
    /// The last key of the path.
    @exclusivity(unchecked) final var key = NodeKey.none
    @exclusivity(unchecked) final var depth = 0
    @exclusivity(unchecked) final var spare: DecodingNode?
    /// Where it is noted which keys are asked for, if somebody wants to know.
    @exclusivity(unchecked) final var record: KeyRecord?
    /// Whether this node may take a container that others used before, and which one it has taken.
    @exclusivity(unchecked) final var pooled = PooledContainer.none

    init(_ context: DecodingContext) {
        self.context = context
    }

    // MARK: What a subclass reads

    /// The value as a scalar, or that it is none, nil, or absent.
    func scalar(at slot: DecodingSlot) -> Scalar { .absent }

    /// The value itself, for a strategy's closure; nil where there is none.
    func any(at slot: DecodingSlot) -> Any? { nil }

    /// The name of the value's type, for an error.
    func typeName(at slot: DecodingSlot) -> String { "nil" }

    /// Makes the value's entries ready for look-up; false where it is no dictionary.
    func openEntries() -> Bool { false }

    /// Makes the value's elements ready for look-up; false where it is no array.
    func openElements() -> Bool { false }

    /// The dictionary as containers find values in it by themselves, where it is in a property-list tree.
    var treeDictionary: TreeDictionary? { nil }

    /// Where the key with this name is in the document, of a dictionary in a property-list tree.
    func keyPlace(of name: String) -> Int? { nil }

    /// How many elements there are.
    var elementCount: Int { 0 }

    /// The names of all entries.
    var names: [String] { [] }

    /// Two names that Swift's dictionary takes for one.
    var lookAlikes: (String, String)? { nil }

    /// A node of the same kind, without a value.
    func makeNode() -> DecodingNode { DecodingNode(context) }

    /// Gives `child` the value at `slot`; false where there is none.
    func hand(_ child: DecodingNode, valueAt slot: DecodingSlot) -> Bool { false }

    /// Lets go of the value.
    func reset() {}
}

// MARK: - Paths

// Apart from EncodingNode's: a key is lent here for the time of a call, and owned there, where a node may write late.

extension DecodingNode {
    final var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var node: DecodingNode? = self
        while let current = node {
            if let key = current.key.codingKey { path.append(key) }
            node = current.parent
        }
        path.reverse()
        return path
    }

    final func path(_ key: (any CodingKey)?) -> [any CodingKey] {
        key.map { codingPath + [$0] } ?? codingPath
    }
}

// MARK: - Nil

extension DecodingNode {
    /// Whether a value is there that is not nil; nil where nothing is there.
    final func isPresent(_ scalar: Scalar, at slot: DecodingSlot) -> Bool? {
        if let isPlaceholder = context.isPlaceholder {
            guard let value = any(at: slot) else { return nil }
            if case .null = scalar, context.takesOptionals { return false }
            return !isPlaceholder(value)
        }
        switch scalar {
        case .absent: return nil
        case .null: return !context.takesOptionals
        case .string(let text): return context.sentinel != text
        default: return true
        }
    }
}

// MARK: - Children

extension DecodingNode {
    /// A node for a value inside this one, with its value but without a key: the last one at its depth, unless somebody
    /// still holds it.
    @inline(__always) final func child(at slot: DecodingSlot) -> DecodingNode? {
        guard depth < CodingLimits.depth else { return nil }
        let child: DecodingNode
        if isKnownUniquelyReferenced(&spare), let last = spare {
            child = last
        } else {
            child = makeNode()
            spare = child
        }
        guard hand(child, valueAt: slot) else { return nil }
        child.parent = self
        child.depth = depth &+ 1
        // What is decoded first and as a whole has no next.
        child.pooled = depth == 0 ? .none : .possible
        return child
    }

    /// Why there is no node for the value.
    final func refusal(of slot: DecodingSlot, _ key: (any CodingKey)?) -> DecodingError {
        depth < CodingLimits.depth ? missing(slot, key) : tooDeep(key)
    }

    /// A node of its own, for a nested container or a super decoder, which the caller may keep.
    final func nested(at slot: DecodingSlot, _ key: (any CodingKey)?) throws -> DecodingNode {
        guard depth < CodingLimits.depth else { throw tooDeep(key) }
        let child = makeNode()
        guard hand(child, valueAt: slot) else { throw missing(slot, key) }
        child.parent = self
        child.key = key.map { .owned($0) } ?? .none
        child.depth = depth + 1
        if let record { recordNames(of: child, in: record.child(at: slot)) }
        return child
    }

    /// Breaks the cycle with a child, so that somebody who holds it does not hold its parents for ever.
    @inline(__always) final func release(_ child: DecodingNode) {
        if case .taken(let index) = child.pooled { context.containers.giveBack(index) }
        child.pooled = .none
        child.reset()
        child.parent = nil
        child.key = .none
    }
}
