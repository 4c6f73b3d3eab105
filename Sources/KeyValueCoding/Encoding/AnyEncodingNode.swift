/// Writes one value to an `Any`.
final class AnyEncodingNode: EncodingNode {
    private var whole: Any = ()
    private var entries: [String: Any] = [:]
    private var array: [Any] = []
    /// The room for this value's entries, and for those of a value inside it: the count of the last dictionary beside
    /// them.
    private let room: Int
    private var lastCount = 8

    override init(_ output: EncodingOutput, path: [any CodingKey] = [], depth: Int = 0) {
        room = 8
        super.init(output, path: path, depth: depth)
    }

    private init(inside holder: AnyEncodingNode, _ key: consuming LastKey) {
        room = holder.lastCount
        super.init(inside: holder, key)
    }

    override func makeNested(_ path: [any CodingKey]) -> EncodingNode {
        AnyEncodingNode(output, path: path, depth: depth + 1)
    }

    override func open(_ shape: Shape) {
        if shape == .keyed { entries = [String: Any](minimumCapacity: room) }
    }

    override func write(_ scalar: Scalar, at slot: EncodingSlot) { put(scalar.boxed, at: slot) }

    override func write(any value: Any, at slot: EncodingSlot) { put(value, at: slot) }

    override func writeNil(at slot: EncodingSlot) {
        if let placeholder = context.options.nilEncodingStrategy.encoded {
            put(placeholder, at: slot)
        } else {
            leaveOut(slot)
        }
    }

    /// A nil that is left out takes its name's earlier value along.
    private func leaveOut(_ slot: EncodingSlot) {
        switch slot {
        case .named(let name):
            forgetNested(name)
            let replaced = entries.removeValue(forKey: name)
            withExtendedLifetime(replaced) {}
        case .next: break
        case .whole: shape = .removed
        }
    }

    override func write(
        at slot: EncodingSlot, _ key: () -> LastKey, _ encode: (EncodingNode) throws -> Void
    ) throws {
        let child = AnyEncodingNode(inside: self, key())
        defer { child.finish() }
        try encode(child)
        // At most 64: a dictionary that stays empty keeps the room that it was given.
        if child.shape == .keyed { lastCount = min(child.entries.count, 64) }
        if let value = child.take() {
            put(value, at: slot)
        } else {
            leaveOut(slot)
        }
    }

    override var position: Int { array.count }

    /// A value that is replaced ends after the change: a program's object in it may write to this node then.
    func put(_ value: Any, at slot: EncodingSlot) {
        switch slot {
        case .named(let name):
            forgetNested(name)
            let replaced = entries.updateValue(value, forKey: name)
            withExtendedLifetime(replaced) {}
        case .next: array.append(value)
        case .whole:
            var replaced = value
            swap(&whole, &replaced)
            shape = .whole
        }
    }

    /// The written value; nil where it is a nil that is left out.
    func take() -> Any? {
        if let pending { take(pending.nodes) }
        switch shape {
        case .none: return [String: Any]()
        case .removed: return nil
        case .whole: return whole
        case .keyed: return entries
        case .unkeyed: return array
        }
    }

    /// Puts nested containers into their slots.
    private func take(_ deferred: [Deferred]) {
        var merged: [Any] = []
        var taken = 0
        for entry in deferred {
            let value = (entry.node as? AnyEncodingNode)?.take()
            switch entry.slot {
            case .named(let name): entries[name] = value
            case .next:
                merged += array[taken..<entry.position]
                taken = entry.position
                if let value { merged.append(value) }
            case .whole: break
            }
        }
        array = merged + array[taken...]
    }
}
