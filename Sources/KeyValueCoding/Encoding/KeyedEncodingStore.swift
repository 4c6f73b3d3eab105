/// Encodes the entries of a dictionary.
struct KeyedEncodingStore<Key: CodingKey>: KeyedEncodingContainerProtocol {
    private let seat: EncodingSeat
    /// Whether the key strategy applies.
    private let converts: Bool

    init(_ seat: EncodingSeat, converts: Bool) {
        self.seat = seat
        self.converts = converts
    }

    var codingPath: [any CodingKey] { withNode { $0.codingPath } }

    @inline(__always)
    private func withNode<Result>(_ body: (EncodingNode) throws -> Result) rethrows -> Result {
        try seat.node._withUnsafeGuaranteedRef(body)
    }

    /// Hands on where the value belongs, and the key for errors to name.
    @inline(__always)
    private func write(_ key: Key, _ body: (EncodingNode, EncodingSlot, LentKey) throws -> Void) throws {
        try withUnsafePointer(to: key) { address in
            try withNode { try body($0, slot(key), .named(UnsafeRawPointer(address), Key.self)) }
        }
    }

    @inline(__always) private func write(_ scalar: Scalar, _ key: Key) throws {
        try withNode { try $0.write(scalar, at: slot(key)) }
    }

    @inline(__always) private func slot(_ key: Key) -> EncodingSlot {
        .named(converts ? convertedName(of: key) : key.stringValue)
    }

    private func convertedName(of key: any CodingKey) -> String {
        withNode { node in node.context.convertedName(of: key, path: node.codingPath) }
    }

    func encodeNil(forKey key: Key) throws { try withNode { try $0.writeNil(at: slot(key)) } }

    func encode(_ value: Bool, forKey key: Key) throws { try write(.bool(value), key) }
    func encode(_ value: String, forKey key: Key) throws { try write(.string(value), key) }
    func encode(_ value: Int, forKey key: Key) throws { try write(.int(value), key) }
    func encode(_ value: Int8, forKey key: Key) throws { try write(.int8(value), key) }
    func encode(_ value: Int16, forKey key: Key) throws { try write(.int16(value), key) }
    func encode(_ value: Int32, forKey key: Key) throws { try write(.int32(value), key) }
    func encode(_ value: Int64, forKey key: Key) throws { try write(.int64(value), key) }
    func encode(_ value: UInt, forKey key: Key) throws { try write(.uint(value), key) }
    func encode(_ value: UInt8, forKey key: Key) throws { try write(.uint8(value), key) }
    func encode(_ value: UInt16, forKey key: Key) throws { try write(.uint16(value), key) }
    func encode(_ value: UInt32, forKey key: Key) throws { try write(.uint32(value), key) }
    func encode(_ value: UInt64, forKey key: Key) throws { try write(.uint64(value), key) }
    // What is finite is written as it is under every strategy.

    func encode(_ value: Float, forKey key: Key) throws {
        if value.isFinite { return try write(.float(value), key) }
        try write(key) { try $0.write(float: value, at: $1, $2) }
    }

    func encode(_ value: Double, forKey key: Key) throws {
        if value.isFinite { return try write(.double(value), key) }
        try write(key) { try $0.write(double: value, at: $1, $2) }
    }

    func encode(_ value: Int128, forKey key: Key) throws { try write(key) { try $0.write(int128: value, at: $1, $2) } }
    func encode(_ value: UInt128, forKey key: Key) throws {
        try write(key) { try $0.write(uint128: value, at: $1, $2) }
    }

    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try write(key) { try $0.encode(value, at: $1, $2) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        nested(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { nested(key).unkeyedContainer() }

    func superEncoder() -> any Encoder {
        let name = converts ? convertedName(of: NameKey.superclass) : NameKey.superclass.stringValue
        return withNode { $0.nested(at: .named(name), NameKey.superclass) }
    }

    func superEncoder(forKey key: Key) -> any Encoder { nested(key) }

    private func nested(_ key: Key) -> EncodingNode { withNode { $0.nested(at: slot(key), key) } }
}
