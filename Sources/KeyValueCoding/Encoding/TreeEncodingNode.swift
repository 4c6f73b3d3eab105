internal import FoundationEssentials
internal import PropertyLists

/// A document that is being written, and the node whose turn it is.
final class TreeOutput {
    @exclusivity(unchecked) var builder = PropertyListBuilder()
    /// Not a reference: it is compared, never followed.
    @exclusivity(unchecked) var writer: ObjectIdentifier?
}

/// Writes one value to a property-list tree.
///
/// Values go to the document in the order in which they come, without a copy between. What does not come in order (a
/// nested container beside its parent) is written to a document of its own, which is appended in the end.
final class TreeEncodingNode: EncodingNode {
    private let output: TreeOutput
    /// Where the value goes in the container that is open.
    @exclusivity(unchecked) private var place = EncodingSlot.whole
    /// The node of that container, while the value is encoded by it.
    @exclusivity(unchecked) private var namer: Unmanaged<TreeEncodingNode>?
    /// The state of the document before the value.
    @exclusivity(unchecked) private var mark = PropertyListBuilder.Mark()
    /// Who makes containers for the keys of the dictionary, and knows them. Held by the context, or not any more.
    @exclusivity(unchecked) private var maker: Unmanaged<EncodingContainerMaker>?
    /// The keys that the dictionary was begun with, which the maker or the context holds; nil where it has gone on
    /// with others.
    @exclusivity(unchecked) private var known: Unmanaged<KnownKeys>?
    /// Which of them is expected next.
    @exclusivity(unchecked) private var expected = 0

    init(_ context: EncodingContext, _ output: TreeOutput = TreeOutput()) {
        self.output = output
        super.init(context)
        output.writer = ObjectIdentifier(self)
    }

    override var holdsWideIntegers: Bool { false }

    override func makeNode() -> EncodingNode {
        let node = TreeEncodingNode(context, output)
        output.writer = ObjectIdentifier(self)
        return node
    }

    override func makeDetachedNode() -> EncodingNode { TreeEncodingNode(context) }

    /// Whether it is this node's turn, and nothing that was kept has to come first.
    override func defers(_ slot: EncodingSlot) -> Bool {
        if output.writer != ObjectIdentifier(self) { return true }
        guard case .next = slot else { return false }
        return !deferred.isEmpty
    }

    override func open(_ shape: Shape, _ maker: Unmanaged<EncodingContainerMaker>?) throws {
        guard output.writer == ObjectIdentifier(self) else { throw outOfTurn() }
        try enter()
        guard shape == .keyed else { return try output.builder.beginArray() }
        self.maker = maker
        known = maker?._withUnsafeGuaranteedRef { $0.lentKeys }
        guard let known else { return try output.builder.beginDictionary() }
        try known._withUnsafeGuaranteedRef { try output.builder.beginDictionary(of: $0) }
        expected = 0
    }

    /// Names the value in the container that is open, if that is a dictionary.
    private func enter() throws {
        guard case .named(let name) = place else { return }
        try namer?._withUnsafeGuaranteedRef { try $0.name(name) }
    }

    /// Names the value that comes next in the dictionary.
    @inline(__always) private func name(_ name: String) throws {
        if let known {
            let isKnown = known._withUnsafeGuaranteedRef { keys in
                guard let index = output.builder.key(name, of: keys, at: expected) else { return false }
                expected = index &+ 1
                return true
            }
            if isKnown { return }
            self.known = nil
        }
        try output.builder.key(name)
    }

    /// Begins a scalar or a whole collection in `slot`; gives where it has to go instead, if it cannot go there now.
    @inline(__always) private func admit(_ slot: EncodingSlot) throws -> TreeEncodingNode? {
        if defers(slot) { return keep(slot) }
        switch slot {
        case .named(let name):
            if !deferred.isEmpty { forgetNested(name) }
            try self.name(name)
        case .next: break
        case .whole:
            if shape == .whole { output.builder.rewind(to: mark) }
            try enter()
            shape = .whole
        }
        return nil
    }

    private func keep(_ slot: EncodingSlot) -> TreeEncodingNode? {
        switch slot {
        case .named(let name):
            forgetNested(name)
            return nested(at: slot, NameKey(name)) as? TreeEncodingNode
        case .next: return nested(at: slot, IndexKey(elements)) as? TreeEncodingNode
        case .whole:
            fail(outOfTurn())
            let lost = TreeEncodingNode(context)
            lost.depth = depth
            return lost
        }
    }

    private func outOfTurn() -> EncodingError {
        invalid("", .none) { "Value at \($0) cannot be encoded while one inside it is, nor when it is finished" }
    }

    // MARK: Values

    override func write(_ scalar: Scalar, at slot: EncodingSlot) throws {
        if let other = try admit(slot) { return try other.write(scalar, at: .whole) }
        try output.builder.append(scalar)
    }

    override func write(any value: Any, at slot: EncodingSlot) throws {
        let before = output.builder.mark
        if let other = try admit(slot) { return try other.write(any: value, at: .whole) }
        do {
            try output.builder.append(any: value, depth: depth)
        } catch {
            forget(slot, before)
            throw error
        }
    }

    /// Forgets what was written of a value that failed, since whoever wrote it may swallow the error.
    private func forget(_ slot: EncodingSlot, _ before: PropertyListBuilder.Mark) {
        guard case .whole = slot else { return output.builder.rewind(to: before) }
        output.builder.rewind(to: mark)
        shape = .none
    }

    override func writeNil(at slot: EncodingSlot) throws {
        switch context.options.nilEncodingStrategy {
        case .removed:
            guard case .whole = slot else { return }
            if shape == .whole { output.builder.rewind(to: mark) }
            shape = .removed
        case .optionalNone: try write(.string("$null"), at: slot)
        case .sentinel(let text): try write(.string(text), at: slot)
        case .placeholder(let value, _): try write(any: value, at: slot)
        }
    }

    func append<S: ScalarValue>(elements: [S], at slot: EncodingSlot) throws {
        if let other = try admit(slot) { return try other.append(elements: elements, at: .whole) }
        try output.builder.beginArray()
        for element in elements { try output.builder.append(element.scalar) }
        try output.builder.end()
    }

    func append<S: ScalarValue>(entries: [String: S], at slot: EncodingSlot) throws {
        if let other = try admit(slot) { return try other.append(entries: entries, at: .whole) }
        try output.builder.beginDictionary()
        for (name, value) in entries {
            try output.builder.key(name)
            try output.builder.append(value.scalar)
        }
        try output.builder.end()
    }

    // MARK: Children

    override func begin(_ child: EncodingNode, at slot: EncodingSlot) {
        // Sound because `makeNode` makes all children.
        let child = unsafeDowncast(child, to: TreeEncodingNode.self)
        if case .whole = slot {
            // The child writes this node's own value.
            if shape == .whole { output.builder.rewind(to: mark) }
            child.place = place
            child.namer = namer
        } else {
            child.place = slot
            child.namer = .passUnretained(self)
        }
        if !deferred.isEmpty, case .named(let name) = slot { forgetNested(name) }
        child.mark = output.builder.mark
        output.writer = ObjectIdentifier(child)
    }

    override func end(_ child: EncodingNode, at slot: EncodingSlot) throws {
        try unsafeDowncast(child, to: TreeEncodingNode.self).close()
        output.writer = ObjectIdentifier(self)
        if case .whole = slot { shape = child.shape == .removed ? .removed : .whole }
    }

    override func abandon(_ child: EncodingNode, at slot: EncodingSlot) {
        output.builder.rewind(to: unsafeDowncast(child, to: TreeEncodingNode.self).mark)
        output.writer = ObjectIdentifier(self)
        // What the child was to take the place of is gone.
        if case .whole = slot, shape == .whole { shape = .none }
    }

    /// Writes what is still missing of the value: its end, its nested containers, an empty dictionary for nothing.
    private func close() throws {
        if shape == .none {
            try open(.keyed, nil)
            shape = .keyed
        }
        guard shape == .keyed || shape == .unkeyed else { return }
        for entry in deferred {
            guard let list = try (entry.node as? TreeEncodingNode)?.finish() else { continue }
            switch entry.slot {
            case .named(let name): try self.name(name)
            case .next: break
            case .whole: continue
            }
            try output.builder.append(list)
        }
        let header = output.builder.header
        try output.builder.end()
        if let maker, known == nil { learn(maker, header) }
    }

    /// Lets the next dictionary of such keys know those that this one had.
    private func learn(_ maker: Unmanaged<EncodingContainerMaker>, _ header: Int) {
        // A container written late may outlive the maker.
        guard context.makers.hold(maker) else { return }
        let maker = maker.takeUnretainedValue()
        guard maker.learns else { return }
        if let keys = output.builder.knownKeys(ofDictionaryAt: header, after: maker.known) {
            maker.known = keys
        } else {
            maker.learns = false
        }
    }

    override func reset() {
        super.reset()
        maker = nil
        known = nil
        namer = nil
    }

    /// The document of a node that has one of its own; nil where its value is a nil which is left out.
    func finish() throws -> PropertyList? {
        try close()
        return shape == .removed ? nil : try output.builder.finish()
    }
}
