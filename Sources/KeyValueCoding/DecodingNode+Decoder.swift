// What `init(from:)` asks a decoder for.

extension DecodingNode: Decoder {
    final var userInfo: [CodingUserInfoKey: Any] { context.options.userInfo }

    final func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard openEntries() else { throw mismatch([String: Any].self, at: .whole, nil) }
        if DictionaryKeys.type == ObjectIdentifier(type) { try refuseLookAlikes() }
        return maker(for: type).container(self)
    }

    private final func maker<Key: CodingKey>(for type: Key.Type) -> DecodingContainerMaker<Key> {
        // Sound because a maker is added for its own keys alone.
        if let known = context.makers.known(for: type) { return unsafeDowncast(known, to: DecodingContainerMaker.self) }
        let maker = StoreDecodingMaker<KeyedDecodingStore<Key>>()
        context.makers.add(maker, for: type)
        return maker
    }

    final func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard openElements() else { throw mismatch([Any].self, at: .whole, nil) }
        record?.openElements()
        return UnkeyedDecodingStore(self)
    }

    final func singleValueContainer() -> any SingleValueDecodingContainer {
        SingleValueDecodingStore(self)
    }
}
