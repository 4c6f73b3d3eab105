/// Encodes the elements of an array.
struct UnkeyedEncodingStore: UnkeyedEncodingContainer {
    private let node: EncodingNode

    init(_ node: EncodingNode) { self.node = node }

    var codingPath: [any CodingKey] { node.codingPath }
    var count: Int { node.elements }

    private var key: LentKey { .index(node.elements) }

    func encodeNil() throws {
        try node.writeNil(at: .next)
        node.elements += 1
    }

    func encode(_ value: Bool) throws { try write(.bool(value)) }
    func encode(_ value: String) throws { try write(.string(value)) }
    func encode(_ value: Int) throws { try write(.int(value)) }
    func encode(_ value: Int8) throws { try write(.int8(value)) }
    func encode(_ value: Int16) throws { try write(.int16(value)) }
    func encode(_ value: Int32) throws { try write(.int32(value)) }
    func encode(_ value: Int64) throws { try write(.int64(value)) }
    func encode(_ value: UInt) throws { try write(.uint(value)) }
    func encode(_ value: UInt8) throws { try write(.uint8(value)) }
    func encode(_ value: UInt16) throws { try write(.uint16(value)) }
    func encode(_ value: UInt32) throws { try write(.uint32(value)) }
    func encode(_ value: UInt64) throws { try write(.uint64(value)) }

    func encode(_ value: Float) throws {
        try node.write(float: value, at: .next, key)
        node.elements += 1
    }

    func encode(_ value: Double) throws {
        try node.write(double: value, at: .next, key)
        node.elements += 1
    }

    func encode(_ value: Int128) throws {
        try node.write(int128: value, at: .next, key)
        node.elements += 1
    }

    func encode(_ value: UInt128) throws {
        try node.write(uint128: value, at: .next, key)
        node.elements += 1
    }

    func encode<T: Encodable>(_ value: T) throws {
        try node.encode(value, at: .next, key)
        node.elements += 1
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        nested().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }

    func superEncoder() -> any Encoder { nested() }

    private func nested() -> EncodingNode {
        defer { node.elements += 1 }
        return node.nested(at: .next, IndexKey(node.elements))
    }

    private func write(_ scalar: Scalar) throws {
        try node.write(scalar, at: .next)
        node.elements += 1
    }
}
