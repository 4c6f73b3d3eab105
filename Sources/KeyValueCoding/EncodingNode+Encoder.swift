// What `encode(to:)` asks an encoder for.

extension EncodingNode: Encoder {
    final var userInfo: [CodingUserInfoKey: Any] { context.options.userInfo }

    final func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        let converts = context.converts && DictionaryKeys.type != ObjectIdentifier(type)
        return maker(for: type).container(opened(.keyed), converts: converts)
    }

    private final func maker<Key: CodingKey>(for type: Key.Type) -> EncodingContainerMaker<Key> {
        // Sound because a maker is added for its own keys alone.
        if let known = context.makers.known(for: type) { return unsafeDowncast(known, to: EncodingContainerMaker.self) }
        let maker = StoreEncodingMaker<KeyedEncodingStore<Key>>()
        context.makers.add(maker, for: type)
        return maker
    }

    final func unkeyedContainer() -> any UnkeyedEncodingContainer {
        UnkeyedEncodingStore(opened(.unkeyed))
    }

    final func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleValueEncodingStore(self)
    }

    /// This node as a dictionary or an array; where it is something else already, a node that writes nowhere.
    private final func opened(_ wanted: Shape) -> EncodingNode {
        if shape == wanted { return self }
        guard shape == .none else {
            fail(invalid(self, nil) { "Value at \($0) is already encoded as another kind of container" })
            return EncodingNode(context)
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
