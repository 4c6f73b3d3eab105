// What `init(from:)` asks a decoder for.

extension DecodingNode: Decoder {
    final var userInfo: [CodingUserInfoKey: Any] { context.options.userInfo }

    final func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard openEntries() else { throw mismatch([String: Any].self, at: .whole, nil) }
        if DictionaryKeys.type == ObjectIdentifier(type) { try refuseLookAlikes() }
        return KeyedDecodingContainer(KeyedDecodingStore<Key>(self))
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
