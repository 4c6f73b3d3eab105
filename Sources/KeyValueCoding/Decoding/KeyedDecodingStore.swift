/// Decodes the entries of a dictionary.
struct KeyedDecodingStore<Key: CodingKey>: KeyedDecodingContainerProtocol {
    /// Not counted, since the standard library copies a container for each value.
    private let lent: Unmanaged<KeyedEntries>
    /// The entries, unless they are lent: then ``DecodingContainers`` owns them.
    private let owner: KeyedEntries?

    init(_ entries: KeyedEntries) {
        lent = .passUnretained(entries)
        owner = entries
    }

    init(lending entries: KeyedEntries) {
        lent = .passUnretained(entries)
        owner = nil
    }

    /// Reads without counting. Sound because the entries are owned by this store, or by the list that lends them until
    /// the value is finished, which it is not during the call.
    @inline(__always) func read<T>(_ body: (KeyedEntries) throws -> T) rethrows -> T {
        try lent._withUnsafeGuaranteedRef(body)
    }

    private var entries: KeyedEntries { lent.takeUnretainedValue() }

    private var node: DecodingNode { entries.node }

    var codingPath: [any CodingKey] { node.codingPath }

    var allKeys: [Key] {
        let node = node
        node.record?.asksAll = true
        let decodingNames = entries.decodingNames
        return node.names.compactMap { decodingNames.key(for: $0, in: node) }
    }

    func contains(_ key: Key) -> Bool {
        if case .absent = node.scalar(at: entries.slot(key)) { false } else { true }
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        let slot = entries.slot(key)
        guard let isPresent = node.isPresent(node.scalar(at: slot), at: slot) else { throw node.missing(slot, key) }
        return !isPresent
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try read { entries in
            let place = entries.place(key)
            if let place, let value = entries.bool(at: place) { return value }
            return try entries.otherBool(place, key)
        }
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try read { entries in
            let place = entries.place(key)
            if let place, let value = entries.string(at: place) { return value }
            return try entries.otherString(place, key)
        }
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try read { entries in
            let place = entries.place(key)
            if let place, let value = entries.real(at: place) { return value }
            return try entries.otherFloating(type, place, key)
        }
    }

    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        try node.floating(type, at: entries.slot(key), key)
    }

    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(type, key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(type, key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(type, key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(type, key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(type, key) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(type, key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(type, key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(type, key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(type, key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(type, key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(type, key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(type, key) }

    @inline(__always) private func integer<I: FixedWidthInteger>(_ type: I.Type, _ key: Key) throws -> I {
        try read { entries in
            let place = entries.place(key)
            if let place, let value = entries.integer(type, at: place) { return value }
            return try entries.node.integer(type, at: entries.otherSlot(place, key), key)
        }
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try read { entries in
            if let place = entries.place(key) { return try entries.decode(type, at: place, key) }
            return try entries.node.decode(type, at: entries.namedSlot(key), key)
        }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try node.nested(at: entries.slot(key), key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try node.nested(at: entries.slot(key), key).unkeyedContainer()
    }

    /// The superclass's part: under "super", or this dictionary itself, as other coders write it flat.
    func superDecoder() throws -> any Decoder {
        let slot = DecodingSlot.named(node.noted(entries.decodingNames.name(of: NameKey.superclass, in: node)))
        if case .absent = node.scalar(at: slot) { return try node.nested(at: .whole, nil) }
        return try node.nested(at: slot, NameKey.superclass)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try node.nested(at: entries.slot(key), key) }
}
