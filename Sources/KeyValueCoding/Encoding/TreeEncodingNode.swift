internal import PropertyLists

/// The document that tree nodes write to, and the node whose turn it is; nodes that write to `Any` leave both alone.
///
/// It has the context, so that a node needs one reference for both.
final class EncodingOutput {
    let context: EncodingContext
    /// Written to by single calls of the builder, in which no code of a program runs, so that no two overlap. With each
    /// of them checked a record takes 18,400 instructions instead of 14,600.
    @exclusivity(unchecked) fileprivate var builder = PropertyListBuilder()
    /// Not a reference: it is compared, never followed.
    fileprivate var writer: ObjectIdentifier?
    /// The paths in the document of the keys that were left out since their values are nil.
    fileprivate(set) var keysLeftOut: [PropertyListPath] = []

    init(_ context: EncodingContext) { self.context = context }
}

/// Writes one value to a property-list tree.
///
/// Values go to the document in the order in which they come, without a copy between, but for collections that a
/// strategy's closure gives. A value out of order (in a nested container beside its holder) is written to a document of
/// its own, which is appended in the end.
final class TreeEncodingNode: EncodingNode {
    /// The state of the document before the value.
    private let mark: PropertyListBuilder.Mark

    override init(_ output: EncodingOutput, path: [any CodingKey] = [], depth: Int = 0) {
        mark = output.builder.mark
        super.init(output, path: path, depth: depth)
        output.writer = ObjectIdentifier(self)
    }

    private init(inside holder: TreeEncodingNode, _ key: consuming LastKey) {
        mark = holder.output.builder.mark
        super.init(inside: holder, key)
        output.writer = ObjectIdentifier(self)
    }

    override var holdsWideIntegers: Bool { false }

    override func makeNested(_ path: [any CodingKey]) -> EncodingNode {
        TreeEncodingNode(EncodingOutput(context), path: path, depth: depth + 1)
    }

    /// Whether it is not this node's turn, or deferred elements have to come first.
    override func defers(_ slot: EncodingSlot) -> Bool {
        if output.writer != ObjectIdentifier(self) { return true }
        guard case .next = slot else { return false }
        return isDeferring
    }

    override func open(_ shape: Shape) throws {
        guard output.writer == ObjectIdentifier(self) else { throw outOfTurn() }
        if shape == .keyed { try output.builder.beginDictionary() } else { try output.builder.beginArray() }
    }

    /// Begins a value in `slot`, which is free or whose value is replaced.
    @inline(__always) private func begin(_ slot: EncodingSlot) throws {
        switch slot {
        case .named(let name):
            if isDeferring { forgetNested(name) }
            try output.builder.key(name)
        case .next: break
        case .whole: if shape == .whole { output.builder.rewind(to: mark) }
        }
    }

    /// Begins a scalar or a whole collection in `slot`; gives the node to write it to instead, if it cannot go there
    /// now.
    @inline(__always) private func admit(_ slot: EncodingSlot) throws -> TreeEncodingNode? {
        if defers(slot) { return keep(slot) }
        try begin(slot)
        if case .whole = slot { shape = .whole }
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
            return TreeEncodingNode(EncodingOutput(context), depth: depth)
        }
    }

    private func outOfTurn() -> EncodingError {
        invalid("", .none, "Value", " cannot be encoded while one inside it is, nor when it is finished")
    }

    // MARK: Values

    override func write(_ scalar: Scalar, at slot: EncodingSlot) throws {
        if let other = try admit(slot) { return try other.write(scalar, at: .whole) }
        try output.builder.append(scalar)
    }

    /// A value that a program gave, taken out of the objects that it gave.
    private enum Given {
        case scalar(Scalar)
        case list(PropertyList)
    }

    override func write(any value: Any, at slot: EncodingSlot) throws {
        // While it is looked into, a subclass of an array may encode to this very node: only then is it written.
        try write(try given(value, at: slot), at: slot)
    }

    private func given(_ value: Any, at slot: EncodingSlot) throws -> Given {
        let scalar = Scalar(in: value)
        guard case .other = scalar else { return .scalar(scalar) }
        // A value that waits, or takes another's place, goes to a document of its own first.
        let isApart = defers(slot) || isReplaced(slot)
        var builder = PropertyListBuilder(levelsAround: isApart ? 0 : output.builder.openContainers)
        do throws(PropertyListError) {
            try builder.append(any: value, depth: isApart ? depth + 1 : depth)
            return .list(try builder.finish())
        } catch {
            var error = error
            if !isApart { error.path = path(of: slot).appending(error.path) }
            throw error
        }
    }

    private func path(of slot: EncodingSlot) -> PropertyListPath {
        guard case .named(let name) = slot else { return output.builder.path }
        return output.builder.path(ofKey: name)
    }

    /// Whether a value in the slot takes the place of this node's own.
    private func isReplaced(_ slot: EncodingSlot) -> Bool {
        if case .whole = slot { shape == .whole } else { false }
    }

    private func write(_ given: Given, at slot: EncodingSlot) throws {
        if isReplaced(slot), !defers(slot) {
            return try replace { try ($0 as? TreeEncodingNode)?.write(given, at: .whole) }
        }
        let before = output.builder.mark
        let replaced = nestedIndex(of: slot)
        let other = try admit(slot)
        do {
            if let other { return try other.write(given, at: .whole) }
            switch given {
            case .scalar(let scalar): try output.builder.append(scalar)
            case .list(let list): try output.builder.append(list)
            }
        } catch {
            if let other { forgetNested(other) } else { forget(slot, before) }
            restoreNested(replaced, of: slot)
            throw error
        }
    }

    /// Forgets the written part of a value that failed, since the caller may swallow the error.
    private func forget(_ slot: EncodingSlot, _ before: PropertyListBuilder.Mark) {
        guard case .whole = slot else { return output.builder.rewind(to: before) }
        output.builder.rewind(to: mark)
        if shape == .whole { shape = .none }
    }

    override func writeNil(at slot: EncodingSlot) throws {
        switch context.options.nilEncodingStrategy {
        case .removed:
            switch slot {
            case .named where defers(slot): try keep(slot)?.writeNil(at: .whole)
            case .named(let name): leaveOut(name)
            case .next: break
            case .whole:
                if shape == .whole { output.builder.rewind(to: mark) }
                shape = .removed
            }
        case .optionalNone: try write(.string("$null"), at: slot)
        case .sentinel(let text): try write(.string(text), at: slot)
        case .placeholder(let value, _): try write(any: value, at: slot)
        }
    }

    override func noteLeftOut(_ name: String) {
        guard output.writer == ObjectIdentifier(self) else { return }
        output.keysLeftOut.append(output.builder.path(ofKey: name))
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

    override func write(
        at slot: EncodingSlot, _ key: () -> LastKey, _ encode: (EncodingNode) throws -> Void
    ) throws {
        if case .whole = slot, shape == .whole { return try replace(encode) }
        let before = output.builder.mark
        let replaced = nestedIndex(of: slot)
        try begin(slot)
        let child = TreeEncodingNode(inside: self, key())
        defer {
            child.finish()
            output.writer = ObjectIdentifier(self)
        }
        do {
            try encode(child)
            try child.close()
        } catch {
            forget(slot, before)
            restoreNested(replaced, of: slot)
            throw error
        }
        if child.shape == .removed {
            output.builder.rewind(to: before)
            if case .named(let name) = slot { leaveOut(name) }
        }
        if case .whole = slot { shape = child.shape == .removed ? .removed : .whole }
    }

    /// Writes another value in this one's place, which stays where the other fails.
    private func replace(_ encode: (EncodingNode) throws -> Void) throws {
        let other = TreeEncodingNode(EncodingOutput(context), path: pathInValue, depth: depth + 1)
        try encode(other)
        let list = try other.document()
        output.builder.rewind(to: mark)
        shape = .removed
        guard let list else { return }
        try output.builder.append(list)
        shape = .whole
    }

    /// Writes an unordered collection as a sorted array.
    ///
    /// - Parameter together: the number of elements that stay together: a key and its value.
    final func encodeSorted<T: Encodable>(_ value: T, _ together: Int) throws {
        let other = TreeEncodingNode(EncodingOutput(context), path: pathInValue, depth: depth)
        try value.encode(to: other)
        guard let list = try other.document() else { return try writeNil(at: .whole) }
        guard list.kind == .array, list.count > together else { return try write(.list(list), at: .whole) }
        let elements = Array(list.elements)
        let starts = stride(from: 0, to: elements.count, by: together).sorted {
            elements[$0].precedes(elements[$1])
        }
        let sorted = starts.flatMap { elements[$0..<min($0 + together, elements.count)] }
        try write(.list(PropertyList(sorted)), at: .whole)
    }

    /// A nil that is left out takes what its name had before, when the dictionary is complete.
    private func leaveOut(_ name: String) {
        forgetNested(name)
        makePending().leftOut[.key(name)] = output.builder.openEntries
    }

    /// Completes the value: its nested containers, its end, an empty dictionary where nothing was written.
    private func close() throws {
        if shape == .none {
            try open(.keyed)
            shape = .keyed
        }
        guard shape == .keyed || shape == .unkeyed else { return }
        if let pending { try settle(pending) }
        try output.builder.end()
    }

    private func settle(_ pending: Pending) throws {
        for entry in pending.nodes {
            if case .whole = entry.slot { continue }
            let list = try (entry.node as? TreeEncodingNode)?.document()
            if case .named(let name) = entry.slot {
                if list == nil { pending.leftOut[.key(name)] = .max } else { try output.builder.key(name) }
                for path in entry.node.output.keysLeftOut {
                    output.keysLeftOut.append(output.builder.path(ofKey: name).appending(path))
                }
            }
            if let list { try output.builder.append(list) }
        }
        if !pending.leftOut.isEmpty { output.builder.removeEntries(pending.leftOut) }
    }

    /// The document of a node that has one of its own; nil where its value is a nil that is left out.
    func document() throws -> PropertyList? {
        try close()
        let list = shape == .removed ? nil : try output.builder.finish()
        finish()
        // From now on no node may write.
        output.writer = nil
        return list
    }
}
