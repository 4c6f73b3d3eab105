/// What the containers have in common whose values are written without a key.
protocol UnnamedEncodingStore {
    var node: EncodingNode { get }

    /// Writes one value by `body`, which gets to know where it belongs, and the key for errors to name.
    func write<T>(_ value: T, _ body: (EncodingSlot, LentKey) throws -> Void) throws
}

extension UnnamedEncodingStore {
    var codingPath: [any CodingKey] { node.codingPath }

    func encodeNil() throws { try write(Any?.none as Any) { slot, _ in try node.writeNil(at: slot) } }

    func encode(_ value: Bool) throws { try write(scalar: .bool(value), value) }
    func encode(_ value: String) throws { try write(scalar: .string(value), value) }
    func encode(_ value: Int) throws { try write(scalar: .int(value), value) }
    func encode(_ value: Int8) throws { try write(scalar: .int8(value), value) }
    func encode(_ value: Int16) throws { try write(scalar: .int16(value), value) }
    func encode(_ value: Int32) throws { try write(scalar: .int32(value), value) }
    func encode(_ value: Int64) throws { try write(scalar: .int64(value), value) }
    func encode(_ value: UInt) throws { try write(scalar: .uint(value), value) }
    func encode(_ value: UInt8) throws { try write(scalar: .uint8(value), value) }
    func encode(_ value: UInt16) throws { try write(scalar: .uint16(value), value) }
    func encode(_ value: UInt32) throws { try write(scalar: .uint32(value), value) }
    func encode(_ value: UInt64) throws { try write(scalar: .uint64(value), value) }
    func encode(_ value: Float) throws { try write(value) { try node.write(float: value, at: $0, $1) } }
    func encode(_ value: Double) throws { try write(value) { try node.write(double: value, at: $0, $1) } }

    private func write<T>(scalar: Scalar, _ value: T) throws {
        try write(value) { slot, _ in try node.write(scalar, at: slot) }
    }
}
