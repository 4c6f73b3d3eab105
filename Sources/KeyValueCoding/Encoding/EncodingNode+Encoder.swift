// What `encode(to:)` asks an encoder for.

extension EncodingNode: Encoder {
    final var userInfo: [CodingUserInfoKey: Any] { context.options.userInfo }

    final func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        let keys = ObjectIdentifier(type)
        var maker = borrowedMaker(for: keys)
        if maker == nil, wantsMaker(for: keys) {
            addMaker(for: type)
            maker = borrowedMaker(for: keys)
        }
        if let maker {
            // Sound because a maker is added for its own keys alone.
            return maker._withUnsafeGuaranteedRef {
                unsafeDowncast($0, to: LendingMaker<KeyedEncodingContainer<Key>>.self).container
            }
        }
        let node = opened(.keyed, context.makers.known(for: keys)) ? self : lostNode()
        return KeyedEncodingContainer(KeyedEncodingStore<Key>(node, converts: converts(type)))
    }

    /// A maker whose container writes to this node from now on; nil where there is none, or none to lend.
    private final func borrowedMaker(for keys: ObjectIdentifier) -> Unmanaged<EncodingContainerMaker>? {
        guard lends, borrowed == nil, shape == .none, let maker = context.makers.known(for: keys) else { return nil }
        guard maker._withUnsafeGuaranteedRef({ $0.lend(to: self) }) else { return nil }
        borrowed = maker
        return opened(.keyed, maker) ? maker : nil
    }

    private final func converts(_ keys: any CodingKey.Type) -> Bool {
        context.converts && DictionaryKeys.type != ObjectIdentifier(keys)
    }

    private final func wantsMaker(for keys: ObjectIdentifier) -> Bool {
        lends && context.makers.known(for: keys) == nil && context.makers.wants(keys)
    }

    /// Not inlined: the container's type is looked up first of all.
    @inline(never) private final func addMaker<Key: CodingKey>(for type: Key.Type) {
        let keys = ObjectIdentifier(type)
        let seat = LentSeat()
        seat.take(self)
        let container = KeyedEncodingContainer(KeyedEncodingStore<Key>(seat, converts: converts(type)))
        context.makers.add(LendingMaker(container, seat, learns: DictionaryKeys.type != keys), for: keys)
    }

    final func unkeyedContainer() -> any UnkeyedEncodingContainer {
        UnkeyedEncodingStore(opened(.unkeyed, nil) ? self : lostNode())
    }

    final func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleValueEncodingStore(self)
    }

    /// Makes this node a dictionary or an array; false where it is something else already.
    final func opened(_ wanted: Shape, _ maker: Unmanaged<EncodingContainerMaker>?) -> Bool {
        if shape == wanted { return true }
        guard shape == .none else {
            // Not of this node, which would be held by the error that it holds.
            fail(invalid("", .none) { "Value at \($0) is already encoded as another kind of container" })
            return false
        }
        do {
            try open(wanted, maker)
            shape = wanted
        } catch {
            fail(error)
        }
        return true
    }
}
