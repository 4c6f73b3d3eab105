/// Decodes the elements of an array, in order; an element that could not be decoded is tried again.
struct UnkeyedDecodingStore: UnkeyedDecodingContainer {
    private let node: DecodingNode
    private let total: Int
    private(set) var currentIndex = 0

    /// - Parameter node: one whose elements are open.
    init(_ node: DecodingNode) {
        self.node = node
        total = node.elementCount
    }

    var codingPath: [any CodingKey] { node.codingPath }
    var count: Int? { total }
    var isAtEnd: Bool { currentIndex >= total }

    private var slot: DecodingSlot { .index(currentIndex) }
    private var key: IndexKey { IndexKey(currentIndex) }

    mutating func decodeNil() throws -> Bool {
        switch node.isPresent(node.scalar(at: slot), at: slot) {
        case true?: return false
        case false?:
            currentIndex += 1
            return true
        case nil: throw node.missing(slot, key)
        }
    }

    private mutating func next<T>(_ decode: (DecodingNode, DecodingSlot, IndexKey) throws -> T) throws -> T {
        let value = try decode(node, slot, key)
        currentIndex += 1
        return value
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try next { try $0.bool(at: $1, $2) } }
    mutating func decode(_ type: String.Type) throws -> String { try next { try $0.string(at: $1, $2) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try next { try $0.floating(type, at: $1, $2) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try next { try $0.floating(type, at: $1, $2) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try next { try $0.integer(type, at: $1, $2) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try next { try $0.integer(type, at: $1, $2) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try next { try $0.integer(type, at: $1, $2) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try next { try $0.integer(type, at: $1, $2) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try next { try $0.integer(type, at: $1, $2) } }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try next { try $0.integer(type, at: $1, $2) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try next { try $0.integer(type, at: $1, $2) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try next { try $0.integer(type, at: $1, $2) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try next { try $0.integer(type, at: $1, $2) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try next { try $0.integer(type, at: $1, $2) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try next { try $0.integer(type, at: $1, $2) } }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try next { try $0.integer(type, at: $1, $2) } }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let value = try node.decodeElement(type, currentIndex)
        currentIndex += 1
        return value
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try next { try $0.nested(at: $1, $2).container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next { try $0.nested(at: $1, $2).unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try next { try $0.nested(at: $1, $2) }
    }
}
