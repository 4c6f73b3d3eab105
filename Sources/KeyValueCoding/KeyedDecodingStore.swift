/// Decodes the entries of a dictionary.
struct KeyedDecodingStore<Key: CodingKey>: NodeDecodingContainer {
    let node: DecodingNode
    /// Nil where keys are named as they are.
    let names: ConvertedNames?

    /// - Parameter node: one whose entries are open.
    init(_ node: DecodingNode) {
        self.node = node
        let isData = !node.context.converts || DictionaryKeys.type == ObjectIdentifier(Key.self)
        names = isData ? nil : ConvertedNames(node.convertedNames())
    }

    var codingPath: [any CodingKey] { node.codingPath }

    private var decodingNames: DecodingNames { names?.names ?? .asTheyAre }

    var allKeys: [Key] {
        node.record?.asksAll = true
        return node.names.compactMap { decodingNames.key(for: $0, in: node) }
    }

    @inline(__always) func slot(_ key: Key) -> DecodingSlot {
        if names == nil, node.record == nil { return .named(key.stringValue) }
        return .named(node.noted(decodingNames.name(of: key, in: node)))
    }

    func contains(_ key: Key) -> Bool {
        if case .absent = node.scalar(at: slot(key)) { false } else { true }
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        let slot = slot(key)
        guard let isPresent = node.isPresent(node.scalar(at: slot), at: slot) else { throw node.missing(slot, key) }
        return !isPresent
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try node.bool(at: slot(key), key) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try node.string(at: slot(key), key) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try node.floating(type, at: slot(key), key) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try node.floating(type, at: slot(key), key) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try node.integer(type, at: slot(key), key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try node.integer(type, at: slot(key), key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try node.integer(type, at: slot(key), key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try node.integer(type, at: slot(key), key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try node.integer(type, at: slot(key), key) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try node.integer(type, at: slot(key), key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try node.integer(type, at: slot(key), key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try node.integer(type, at: slot(key), key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try node.integer(type, at: slot(key), key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try node.integer(type, at: slot(key), key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try node.integer(type, at: slot(key), key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try node.integer(type, at: slot(key), key) }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try node.decode(type, at: slot(key), key)
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
