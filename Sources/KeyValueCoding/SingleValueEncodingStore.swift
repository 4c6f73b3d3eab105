/// Encodes a value that has no parts of its own; the last one written stays.
struct SingleValueEncodingStore: SingleValueEncodingContainer {
    private let node: EncodingNode

    init(_ node: EncodingNode) { self.node = node }

    var codingPath: [any CodingKey] { node.codingPath }

    func encodeNil() throws {
        try check(Any?.none as Any)
        try node.writeNil(at: .whole)
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
        try check(value)
        try node.write(float: value, at: .whole, .none)
    }

    func encode(_ value: Double) throws {
        try check(value)
        try node.write(double: value, at: .whole, .none)
    }

    func encode(_ value: Int128) throws {
        try check(value)
        try node.write(int128: value, at: .whole, .none)
    }

    func encode(_ value: UInt128) throws {
        try check(value)
        try node.write(uint128: value, at: .whole, .none)
    }

    func encode<T: Encodable>(_ value: T) throws {
        try check(value)
        try node.encode(value, at: .whole, .none)
    }

    private func write(_ scalar: Scalar) throws {
        try check(scalar)
        try node.write(scalar, at: .whole)
    }

    private func check<T>(_ value: T) throws {
        switch node.shape {
        case .none, .whole, .removed: return
        case .keyed, .unkeyed:
            throw node.invalid(value, .none) { "Value at \($0) is already encoded as another kind of container" }
        }
    }
}
