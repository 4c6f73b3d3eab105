/// Decodes the entries of a dictionary.
struct KeyedDecodingStore<Key: CodingKey>: KeyedDecodingContainerProtocol {
    /// Not counted, since the standard library copies a container for each value.
    unowned(unsafe) let entries: KeyedEntries
    /// The entries, unless they are lent: then ``DecodingContainers`` owns them.
    private let owner: KeyedEntries?

    init(_ entries: KeyedEntries) {
        self.entries = entries
        owner = entries
    }

    init(lending entries: KeyedEntries) {
        self.entries = entries
        owner = nil
    }

    @inline(__always) var node: DecodingNode { entries.node }

    var codingPath: [any CodingKey] { node.codingPath }

    private var decodingNames: DecodingNames { entries.names?.names ?? .asTheyAre }

    var allKeys: [Key] {
        let node = node
        node.record?.asksAll = true
        return node.names.compactMap { decodingNames.key(for: $0, in: node) }
    }

    /// Where the value of a key is in the property-list tree; nil where it is not, or only the node knows.
    @inline(__always) func place(_ key: Key) -> Int? {
        guard let dictionary = entries.dictionary else { return nil }
        return entries.place(of: key.stringValue, in: dictionary)
    }

    @inline(__always) func slot(_ key: Key) -> DecodingSlot { slot(place(key), key) }

    @inline(__always) func slot(_ place: Int?, _ key: Key) -> DecodingSlot {
        if let place { .place(place) } else { namedSlot(key) }
    }

    /// Where a value is that only the node can find, or that is not there.
    @inline(__always) func namedSlot(_ key: Key) -> DecodingSlot {
        entries.namesKeysAsTheyAre ? .named(key.stringValue) : convertedSlot(key)
    }

    @inline(never) private func convertedSlot(_ key: Key) -> DecodingSlot {
        .named(node.noted(decodingNames.name(of: key, in: node)))
    }

    func contains(_ key: Key) -> Bool {
        if case .absent = node.scalar(at: slot(key)) { false } else { true }
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        let slot = slot(key)
        guard let isPresent = node.isPresent(node.scalar(at: slot), at: slot) else { throw node.missing(slot, key) }
        return !isPresent
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        let place = place(key)
        if let place, let value = entries.bool(at: place) { return value }
        return try otherBool(place, key)
    }

    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        let place = place(key)
        if let place, let value = entries.string(at: place) { return value }
        return try otherString(place, key)
    }

    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        let place = place(key)
        if let place, let value = entries.real(at: place) { return value }
        return try otherFloating(type, place, key)
    }

    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try node.floating(type, at: slot(key), key) }

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
        let place = place(key)
        if let place, let value = entries.integer(type, at: place) { return value }
        return try otherInteger(type, place, key)
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        if let place = place(key) { return try entries.decode(type, at: place, key) }
        return try node.decode(type, at: namedSlot(key), key)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try node.nested(at: slot(key), key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try node.nested(at: slot(key), key).unkeyedContainer()
    }

    /// The superclass's part: under "super", or this dictionary itself, as other coders write it flat.
    func superDecoder() throws -> any Decoder {
        let slot = DecodingSlot.named(node.noted(decodingNames.name(of: NameKey.superclass, in: node)))
        if case .absent = node.scalar(at: slot) { return try node.nested(at: .whole, nil) }
        return try node.nested(at: slot, NameKey.superclass)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try node.nested(at: slot(key), key) }
}

// MARK: - Values that the node has to look at, apart from the short way

extension KeyedDecodingStore {
    @inline(never) private func otherBool(_ place: Int?, _ key: Key) throws -> Bool {
        try node.bool(at: slot(place, key), key)
    }

    @inline(never) private func otherString(_ place: Int?, _ key: Key) throws -> String {
        try node.string(at: slot(place, key), key)
    }

    @inline(never) private func otherFloating(_ type: Double.Type, _ place: Int?, _ key: Key) throws -> Double {
        try node.floating(type, at: slot(place, key), key)
    }

    @inline(never) private func otherInteger<I: FixedWidthInteger>(
        _ type: I.Type, _ place: Int?, _ key: Key
    ) throws -> I {
        try node.integer(type, at: slot(place, key), key)
    }
}
