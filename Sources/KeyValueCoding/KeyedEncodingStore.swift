/// Encodes the entries of a dictionary.
struct KeyedEncodingStore<Key: CodingKey>: NodeEncodingContainer {
    private let node: EncodingNode
    /// Whether the key strategy applies.
    private let converts: Bool

    init(_ node: EncodingNode, converts: Bool) {
        self.node = node
        self.converts = converts
    }

    var codingPath: [any CodingKey] { node.codingPath }

    @inline(__always) private func slot(_ key: Key) -> EncodingSlot {
        .named(converts ? convertedName(of: key) : key.stringValue)
    }

    private func convertedName(of key: any CodingKey) -> String {
        node.context.convertedName(of: key, path: node.codingPath)
    }

    func encodeNil(forKey key: Key) throws { try node.writeNil(at: slot(key)) }

    func encode(_ value: Bool, forKey key: Key) throws { try node.write(.bool(value), at: slot(key)) }
    func encode(_ value: String, forKey key: Key) throws { try node.write(.string(value), at: slot(key)) }
    func encode(_ value: Int, forKey key: Key) throws { try node.write(.int(value), at: slot(key)) }
    func encode(_ value: Int8, forKey key: Key) throws { try node.write(.int8(value), at: slot(key)) }
    func encode(_ value: Int16, forKey key: Key) throws { try node.write(.int16(value), at: slot(key)) }
    func encode(_ value: Int32, forKey key: Key) throws { try node.write(.int32(value), at: slot(key)) }
    func encode(_ value: Int64, forKey key: Key) throws { try node.write(.int64(value), at: slot(key)) }
    func encode(_ value: UInt, forKey key: Key) throws { try node.write(.uint(value), at: slot(key)) }
    func encode(_ value: UInt8, forKey key: Key) throws { try node.write(.uint8(value), at: slot(key)) }
    func encode(_ value: UInt16, forKey key: Key) throws { try node.write(.uint16(value), at: slot(key)) }
    func encode(_ value: UInt32, forKey key: Key) throws { try node.write(.uint32(value), at: slot(key)) }
    func encode(_ value: UInt64, forKey key: Key) throws { try node.write(.uint64(value), at: slot(key)) }
    func encode(_ value: Float, forKey key: Key) throws { try node.write(float: value, at: slot(key), key) }
    func encode(_ value: Double, forKey key: Key) throws { try node.write(double: value, at: slot(key), key) }
    func encode(_ value: Int128, forKey key: Key) throws { try node.write(int128: value, at: slot(key), key) }
    func encode(_ value: UInt128, forKey key: Key) throws { try node.write(uint128: value, at: slot(key), key) }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try node.encode(value, at: slot(key), key)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        node.nested(at: slot(key), key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        node.nested(at: slot(key), key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        let name = converts ? convertedName(of: NameKey.superclass) : NameKey.superclass.stringValue
        return node.nested(at: .named(name), NameKey.superclass)
    }

    func superEncoder(forKey key: Key) -> any Encoder { node.nested(at: slot(key), key) }
}
