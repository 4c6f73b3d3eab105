// The containers: the calls of `encode(to:)`, handed on to the node with the slot and the key of the value.

extension EncodingNode {
    /// Encodes the entries of a dictionary.
    struct KeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
        private let node: EncodingNode

        init(_ node: EncodingNode) { self.node = node }

        var codingPath: [any CodingKey] { node.codingPath }

        @inline(__always) private func slot(_ key: Key) -> EncodingSlot {
            .named(node.context.converts ? convertedName(of: key) : key.stringValue)
        }

        private func convertedName(of key: any CodingKey) -> String {
            // The keys of a dictionary are data.
            guard node.context.converts(keysOf: Key.self) else { return key.stringValue }
            return node.context.convertedName(of: key, path: node.codingPath)
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

        // A finite number is written as it is under every strategy.

        func encode(_ value: Float, forKey key: Key) throws {
            if value.isFinite { return try node.write(.float(value), at: slot(key)) }
            try node.write(float: value, at: slot(key)) { .key(key) }
        }

        func encode(_ value: Double, forKey key: Key) throws {
            if value.isFinite { return try node.write(.double(value), at: slot(key)) }
            try node.write(double: value, at: slot(key)) { .key(key) }
        }

        func encode(_ value: Int128, forKey key: Key) throws {
            try node.write(int128: value, at: slot(key)) { .key(key) }
        }
        func encode(_ value: UInt128, forKey key: Key) throws {
            try node.write(uint128: value, at: slot(key)) { .key(key) }
        }
        func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
            try node.encode(value, at: slot(key)) { .key(key) }
        }

        // A nil that is left out is noted for a store: the type knows its key.

        func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent(_ value: String?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent(_ value: Int128?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws { try note(value, key, encode) }
        func encodeIfPresent<T: Encodable>(_ value: T?, forKey key: Key) throws { try note(value, key, encode) }

        private func note<T>(
            _ value: T?, _ key: Key, _ encode: (T, Key) throws -> Void
        ) throws {
            if let value { return try encode(value, key) }
            if node.context.isForStore, case .named(let name) = slot(key) { node.noteLeftOut(name) }
        }

        func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type, forKey key: Key
        ) -> KeyedEncodingContainer<NestedKey> {
            nested(key, as: .keyed).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
            nested(key, as: .unkeyed).unkeyedContainer()
        }

        func superEncoder() -> any Encoder {
            let key = NameKey.superclass
            return node.superNode(at: .named(convertedName(of: key)), key)
        }

        func superEncoder(forKey key: Key) -> any Encoder { node.superNode(at: slot(key), key) }

        private func nested(_ key: Key, as kind: EncodingNode.Shape) -> EncodingNode {
            node.nested(at: slot(key), key, as: kind)
        }
    }

    /// Encodes the elements of an array.
    struct UnkeyedContainer: UnkeyedEncodingContainer, UnnamedContainer {
        let node: EncodingNode

        init(_ node: EncodingNode) { self.node = node }

        var count: Int { node.elements }

        // Not in `UnnamedContainer`: there the first two would be ambiguous with the standard library's defaults, and
        // the last would not be specialised.
        func encode(_ value: Int128) throws { try write(value) { try node.write(int128: value, at: $0, $1) } }
        func encode(_ value: UInt128) throws { try write(value) { try node.write(uint128: value, at: $0, $1) } }
        func encode<T: Encodable>(_ value: T) throws { try write(value) { try node.encode(value, at: $0, $1) } }

        func write<T>(_ value: T, _ body: (EncodingSlot, () -> LastKey) throws -> Void) throws {
            let index = node.elements
            try body(.next) { .key(IndexKey(index)) }
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

    /// Encodes a value that has no parts of its own; the last one written stays.
    struct SingleValueContainer: SingleValueEncodingContainer, UnnamedContainer {
        let node: EncodingNode

        init(_ node: EncodingNode) { self.node = node }

        func encode(_ value: Int128) throws { try write(value) { try node.write(int128: value, at: $0, $1) } }
        func encode(_ value: UInt128) throws { try write(value) { try node.write(uint128: value, at: $0, $1) } }
        func encode<T: Encodable>(_ value: T) throws { try write(value) { try node.encode(value, at: $0, $1) } }

        func write<T>(_ value: T, _ body: (EncodingSlot, () -> LastKey) throws -> Void) throws {
            switch node.shape {
            case .none, .whole, .removed: try body(.whole) { .none }
            case .keyed, .unkeyed:
                throw node.invalid(value, .none, "Value", " is already encoded as another kind of container")
            }
        }
    }

    /// The common part of the containers whose values have no key.
    fileprivate protocol UnnamedContainer {
        var node: EncodingNode { get }

        /// Writes one value by `body`, which is given the value's slot, and the key for errors to name.
        func write<T>(_ value: T, _ body: (EncodingSlot, () -> LastKey) throws -> Void) throws
    }
}

extension EncodingNode.UnnamedContainer {
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
