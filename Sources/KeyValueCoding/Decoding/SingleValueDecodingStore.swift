/// Decodes a value that has no parts of its own.
struct SingleValueDecodingStore: SingleValueDecodingContainer {
    private let node: DecodingNode

    init(_ node: DecodingNode) { self.node = node }

    var codingPath: [any CodingKey] { node.codingPath }

    func decodeNil() -> Bool { node.isPresent(node.scalar(at: .whole), at: .whole) != true }

    func decode(_ type: Bool.Type) throws -> Bool { try node.bool(at: .whole, nil) }
    func decode(_ type: String.Type) throws -> String { try node.string(at: .whole, nil) }
    func decode(_ type: Double.Type) throws -> Double { try node.floating(type, at: .whole, nil) }
    func decode(_ type: Float.Type) throws -> Float { try node.floating(type, at: .whole, nil) }
    func decode(_ type: Int.Type) throws -> Int { try node.integer(type, at: .whole, nil) }
    func decode(_ type: Int8.Type) throws -> Int8 { try node.integer(type, at: .whole, nil) }
    func decode(_ type: Int16.Type) throws -> Int16 { try node.integer(type, at: .whole, nil) }
    func decode(_ type: Int32.Type) throws -> Int32 { try node.integer(type, at: .whole, nil) }
    func decode(_ type: Int64.Type) throws -> Int64 { try node.integer(type, at: .whole, nil) }
    func decode(_ type: Int128.Type) throws -> Int128 { try node.integer(type, at: .whole, nil) }
    func decode(_ type: UInt.Type) throws -> UInt { try node.integer(type, at: .whole, nil) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try node.integer(type, at: .whole, nil) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try node.integer(type, at: .whole, nil) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try node.integer(type, at: .whole, nil) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try node.integer(type, at: .whole, nil) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try node.integer(type, at: .whole, nil) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try node.decode(type, at: .whole, nil) }
}
