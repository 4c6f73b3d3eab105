// What `init(from:)` asks a decoder for.

extension DecodingNode: Decoder {
    final var userInfo: [CodingUserInfoKey: Any] { context.options.userInfo }

    final func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard openEntries() else { throw mismatch([String: Any].self, at: .whole, nil) }
        let keys = ObjectIdentifier(type)
        let found: Unmanaged<SpareContainer>?
        switch pooled {
        case .possible: found = context.containers.spare(keys, for: self)
        case .first:
            found = IdleContainers.shared.take(type, context)
            pooled = found.map { .shared($0) } ?? .none
        case .none, .taken, .shared: found = nil
        }
        guard let spare = found else {
            if DictionaryKeys.type == keys { try refuseLookAlikes() }
            let entries = KeyedEntries(context, keys: keys)
            entries.open(self)
            return context.containers.make(type, entries, for: self)
        }
        return try spare._withUnsafeGuaranteedRef { spare in
            if spare.entries.readsData { try refuseLookAlikes() }
            spare.entries.open(self)
            // Sound because it was kept for keys of this type.
            return unsafeDowncast(spare, to: KeptContainer<KeyedDecodingContainer<Key>>.self).lend()
        }
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
