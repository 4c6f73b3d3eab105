// What `encode(to:)` asks an encoder for.

extension EncodingNode: Encoder {
    final var userInfo: [CodingUserInfoKey: Any] { context.options.userInfo }

    final func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        guard let maker = context.makers.known(for: ObjectIdentifier(type)) ?? newMaker(for: type) else {
            return KeyedEncodingContainer(KeyedEncodingStore<Key>(opened(.keyed), converts: converts(type)))
        }
        let node = opened(.keyed, maker)
        guard lends, borrowed == nil, node === self, maker.lend(to: self) else {
            return KeyedEncodingContainer(KeyedEncodingStore<Key>(node, converts: converts(type)))
        }
        borrowed = .passUnretained(maker)
        // Sound because a maker is added for its own keys alone.
        return unsafeDowncast(maker, to: LendingMaker<KeyedEncodingContainer<Key>>.self).container
    }

    private final func converts(_ keys: any CodingKey.Type) -> Bool {
        context.converts && DictionaryKeys.type != ObjectIdentifier(keys)
    }

    /// A maker for a type of keys that has come before; nil where it has not, or there can be none.
    private final func newMaker<Key: CodingKey>(for type: Key.Type) -> EncodingContainerMaker? {
        guard context.makers.wants(ObjectIdentifier(type)) else { return nil }
        let seat = LentSeat()
        seat.take(self)
        let container = KeyedEncodingContainer(KeyedEncodingStore<Key>(seat, converts: converts(type)))
        let maker = LendingMaker(container, seat, learns: DictionaryKeys.type != ObjectIdentifier(type))
        context.makers.add(maker, for: ObjectIdentifier(type))
        return maker
    }

    final func unkeyedContainer() -> any UnkeyedEncodingContainer {
        UnkeyedEncodingStore(opened(.unkeyed))
    }

    final func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleValueEncodingStore(self)
    }

    /// This node as a dictionary or an array; where it is something else already, a node that writes nowhere.
    private final func opened(_ wanted: Shape, _ maker: EncodingContainerMaker? = nil) -> EncodingNode {
        if shape == wanted { return self }
        guard shape == .none else {
            fail(invalid(self, .none) { "Value at \($0) is already encoded as another kind of container" })
            return EncodingNode(context)
        }
        do {
            try open(wanted, maker)
            shape = wanted
        } catch {
            fail(error)
        }
        return self
    }
}
