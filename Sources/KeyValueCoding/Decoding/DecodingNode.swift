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
    /// The node that this one's value is inside of. Not counted: see ``child(at:)``.
    @exclusivity(unchecked) final var parent: Unmanaged<DecodingNode>?
    /// The parent of a node that the caller may keep, which keeps it.
    @exclusivity(unchecked) private final var keptParent: DecodingNode?
    /// The last key of the path.
    @exclusivity(unchecked) final var key = NodeKey.none
    /// What `key` stands for where it is owned.
    @exclusivity(unchecked) private final var ownedKey: (any CodingKey)?
    @exclusivity(unchecked) final var depth = 0
    /// A node for the next value inside this one, owned by this node while nobody uses it.
    @exclusivity(unchecked) private final var spare: Unmanaged<DecodingNode>?
    /// Where it is noted which keys are asked for, if somebody wants to know.
    @exclusivity(unchecked) final var record: KeyRecord?
    /// Whether this node may take a container that others used before, and which one it has taken.
    @exclusivity(unchecked) final var pooled = PooledContainer.none

    init(_ context: DecodingContext) {
        self.context = context
    }

    deinit { spare?.release() }

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
            if let key = current.codingKey { path.append(key) }
            node = current.parent?.takeUnretainedValue()
        }
        path.reverse()
        return context.place.map { $0.codingPath + path } ?? path
    }

    private final var codingKey: (any CodingKey)? {
        if case .owned = key { ownedKey } else { key.codingKey }
    }

    final func own(_ key: any CodingKey) {
        ownedKey = key
        self.key = .owned
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
    /// still holds it. It is the caller's until ``release(_:)``.
    ///
    /// No references are counted for it, since that takes as long as all else that is done for a small value. Sound
    /// because it is taken out of `spare` together with its count: who decodes something else by this node in the
    /// meantime finds none, and makes another. Its parent is not counted either: it is the node whose method is running
    /// until the child is released, which forgets it.
    @inline(__always) final func child(at slot: DecodingSlot) -> Unmanaged<DecodingNode>? {
        guard depth < CodingLimits.depth else { return nil }
        let child = spare ?? .passRetained(makeNode())
        spare = nil
        guard child._withUnsafeGuaranteedRef({ hand($0, valueAt: slot) }) else {
            takeBack(child)
            return nil
        }
        child._withUnsafeGuaranteedRef { child in
            child.parent = .passUnretained(self)
            child.depth = depth &+ 1
            // What is decoded first and as a whole has no next.
            child.pooled = depth == 0 ? .none : .possible
        }
        return child
    }

    @inline(__always) private final func takeBack(_ child: Unmanaged<DecodingNode>) {
        var held = child
        // Sound because an Unmanaged is nothing but the reference.
        let isUnique = withUnsafeMutablePointer(to: &held) { pointer in
            pointer.withMemoryRebound(to: DecodingNode.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
        }
        if isUnique, spare == nil { spare = child } else { child.release() }
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
        child.parent = .passUnretained(self)
        child.keptParent = self
        if let key { child.own(key) }
        child.depth = depth + 1
        if let record { recordNames(of: child, in: record.child(at: slot)) }
        return child
    }

    /// Ends the use of a child. Somebody who still holds it holds neither its value nor its parents.
    @inline(__always) final func release(_ child: Unmanaged<DecodingNode>) {
        child._withUnsafeGuaranteedRef { $0.finish() }
        takeBack(child)
    }

    private final func giveBack(_ spare: Unmanaged<SpareContainer>) {
        if spare._withUnsafeGuaranteedRef({ $0.takeBack() }) {
            IdleContainers.shared.put(spare)
        } else {
            spare.release()
        }
    }

    /// Lets go of everything, whoever still holds this node.
    @inline(__always) final func finish() {
        switch pooled {
        case .taken(let index): context.containers.giveBack(index)
        case .shared(let spare): giveBack(spare)
        case .none, .possible, .first: break
        }
        pooled = .none
        reset()
        parent = nil
        if case .owned = key { ownedKey = nil }
        key = .none
    }
}
