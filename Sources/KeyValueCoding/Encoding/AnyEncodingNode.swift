/// Writes one value to an `Any`.
final class AnyEncodingNode: EncodingNode {
    @exclusivity(unchecked) private var whole: Any = ()
    @exclusivity(unchecked) private var entries: [String: Any] = [:]
    @exclusivity(unchecked) private var array: [Any] = []
    /// Entries or elements of the last value, as a hint for the next.
    @exclusivity(unchecked) private var lastCount = 8

    override func makeNode() -> EncodingNode { AnyEncodingNode(context) }

    override func open(_ shape: Shape, _ maker: Unmanaged<EncodingContainerMaker>?) {
        if shape == .keyed { entries = [String: Any](minimumCapacity: lastCount) }
    }

    override func write(_ scalar: Scalar, at slot: EncodingSlot) { put(scalar.boxed, at: slot) }

    override func write(any value: Any, at slot: EncodingSlot) { put(value, at: slot) }

    override func writeNil(at slot: EncodingSlot) {
        if let placeholder = context.options.nilEncodingStrategy.encoded {
            put(placeholder, at: slot)
        } else if case .whole = slot {
            shape = .removed
        }
    }

    override var position: Int { array.count }

    override func makeRoom(for count: Int) { array.reserveCapacity(count) }

    @inline(__always) func put(_ value: Any, at slot: EncodingSlot) {
        switch slot {
        case .named(let name):
            if !deferred.isEmpty { forgetNested(name) }
            entries[name] = value
        case .next: array.append(value)
        case .whole:
            whole = value
            shape = .whole
        }
    }

    override func end(_ child: EncodingNode, at slot: EncodingSlot) {
        if let value = (child as? AnyEncodingNode)?.take() {
            put(value, at: slot)
        } else if case .whole = slot {
            shape = .removed
        }
    }

    /// The value written, and nil where that is a nil which is left out.
    func take() -> Any? {
        if !deferred.isEmpty { takeDeferred() }
        switch shape {
        case .none: return [String: Any]()
        case .removed: return nil
        case .whole: return whole
        case .keyed: return entries
        case .unkeyed: return array
        }
    }

    /// Puts nested containers into their places.
    private func takeDeferred() {
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
        clearDeferred()
    }

    override func reset() {
        if !entries.isEmpty {
            lastCount = entries.count
        } else if shape == .keyed, lastCount > 8 {
            // A large one is no hint for long: an empty dictionary keeps the room that it does not need.
            lastCount /= 2
        }
        super.reset()
        whole = ()
        entries = [:]
        array = []
    }
}
