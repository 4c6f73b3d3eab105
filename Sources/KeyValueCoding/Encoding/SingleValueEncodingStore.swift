/// Encodes a value that has no parts of its own; the last one written stays.
struct SingleValueEncodingStore: SingleValueEncodingContainer, UnnamedEncodingStore {
    let node: EncodingNode

    init(_ node: EncodingNode) { self.node = node }

    // Not in common: the standard library's own defaults for the first would be as good a match, and the last is not
    // specialised where it is.
    func encode(_ value: Int128) throws { try write(value) { try node.write(int128: value, at: $0, $1) } }
    func encode(_ value: UInt128) throws { try write(value) { try node.write(uint128: value, at: $0, $1) } }
    func encode<T: Encodable>(_ value: T) throws { try write(value) { try node.encode(value, at: $0, $1) } }

    @inline(__always)
    func write<T>(_ value: T, _ body: (EncodingSlot, LentKey) throws -> Void) throws {
        switch node.shape {
        case .none, .whole, .removed: try body(.whole, .none)
        case .keyed, .unkeyed:
            throw node.invalid(value, .none) { "Value at \($0) is already encoded as another kind of container" }
        }
    }
}
