/// Encodes the elements of an array.
struct UnkeyedEncodingStore: UnkeyedEncodingContainer, UnnamedEncodingStore {
    let node: EncodingNode

    init(_ node: EncodingNode) { self.node = node }

    var count: Int { node.elements }

    // Not in common: the standard library's own defaults for the first would be as good a match, and the last is not
    // specialised where it is.
    func encode(_ value: Int128) throws { try write(value) { try node.write(int128: value, at: $0, $1) } }
    func encode(_ value: UInt128) throws { try write(value) { try node.write(uint128: value, at: $0, $1) } }
    func encode<T: Encodable>(_ value: T) throws { try write(value) { try node.encode(value, at: $0, $1) } }

    @inline(__always)
    func write<T>(_ value: T, _ body: (EncodingSlot, LentKey) throws -> Void) throws {
        try body(.next, .index(node.elements))
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
}
