// The containers: the calls of `init(from:)`, handed on to the node with the slot and the key of the value.

extension DecodingNode {
    /// Decodes the entries of a dictionary.
    struct KeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
        private let node: DecodingNode

        /// - Parameter node: a node whose entries are open.
        init(_ node: DecodingNode) { self.node = node }

        // The keys of a dictionary are data.
        private var names: DecodingNames { node.context.converts(keysOf: Key.self) ? node.keyNames : .asTheyAre }

        var codingPath: [any CodingKey] { node.codingPath }

        var allKeys: [Key] {
            node.record?.asksAll = true
            if DictionaryKeys.contains(Key.self) { return node.filledNames.compactMap { names.key(for: $0, in: node) } }
            node.showsKeys = true
            return node.names.compactMap { names.key(for: $0, in: node) }
        }

        /// The name of the key in the dictionary.
        @inline(__always) private func name(_ key: Key) -> String {
            node.context.converts || node.record != nil ? noted(key) : key.stringValue
        }

        private func noted(_ key: any CodingKey) -> String { node.noted(names.name(of: key, in: node)) }

        private func slot(_ key: Key) -> DecodingSlot { .named(name(key)) }

        func contains(_ key: Key) -> Bool {
            if case .absent = node.scalar(at: slot(key)) { false } else { true }
        }

        func decodeNil(forKey key: Key) throws -> Bool {
            let slot = slot(key)
            guard let isPresent = node.isPresent(node.scalar(at: slot), at: slot) else {
                throw node.missing(slot, .key(key))
            }
            return !isPresent
        }

        // MARK: Values

        // A value of exactly the requested type is read here; the node knows conversions and errors.

        func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
            let name = name(key)
            return try node.bool(named: name) ?? node.bool(at: .named(name)) { .key(key) }
        }

        func decode(_ type: String.Type, forKey key: Key) throws -> String {
            let name = name(key)
            return try node.string(named: name) ?? node.string(at: .named(name)) { .key(key) }
        }

        func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
            let name = name(key)
            if let value = node.double(named: name), value.isFinite { return value }
            return try node.floating(type, at: .named(name)) { .key(key) }
        }

        func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
            try node.floating(type, at: slot(key)) { .key(key) }
        }

        private func integer<I: FixedWidthInteger>(_ type: I.Type, _ key: Key) throws -> I {
            let name = name(key)
            if let value = node.integer(named: name), let exact = I(exactly: value) { return exact }
            return try node.integer(type, at: .named(name)) { .key(key) }
        }

        // By itself, since the way for all integers looks the type of their Optional up, at 450 instructions.
        func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
            let name = name(key)
            return try node.integer(named: name) ?? node.integer(type, at: .named(name)) { .key(key) }
        }

        func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(type, key) }
        func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(type, key) }
        func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(type, key) }
        func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(type, key) }
        func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(type, key) }
        func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(type, key) }
        func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(type, key) }
        func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(type, key) }
        func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(type, key) }
        func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(type, key) }
        func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(type, key) }

        func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
            try node.decode(type, at: slot(key)) { .key(key) }
        }

        // MARK: Values that may be missing, with fewer look-ups than the standard library's own

        /// - Parameters:
        ///   - exact: gives a value of exactly the type, which only a caller's own test could take for nil.
        ///   - decode: decodes any other value.
        private func present<T>(
            _ key: Key, _ exact: (String) -> T?, _ decode: (DecodingSlot) throws -> T
        ) throws -> T? {
            let name = name(key)
            if node.context.isPlaceholder == nil, let value = exact(name) { return value }
            let slot = DecodingSlot.named(name)
            guard node.isPresent(node.scalar(at: slot), at: slot) == true else { return nil }
            return try decode(slot)
        }

        func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
            try present(key, { node.bool(named: $0) }, { try node.bool(at: $0) { .key(key) } })
        }

        func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
            let name = name(key)
            if node.context.isPlaceholder == nil, let text = node.string(named: name), text != node.context.sentinel {
                return text
            }
            return try present(key, { _ in nil }, { try node.string(at: $0) { .key(key) } })
        }

        func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
            try present(key, { _ in nil }, { try node.floating(type, at: $0) { .key(key) } })
        }

        func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
            try present(key, { _ in nil }, { try node.floating(type, at: $0) { .key(key) } })
        }

        private func presentInteger<I: FixedWidthInteger>(_ type: I.Type, _ key: Key) throws -> I? {
            try present(
                key, { node.integer(named: $0).flatMap { I(exactly: $0) } },
                { try node.integer(type, at: $0) { .key(key) } })
        }

        func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try presentInteger(type, key) }
        func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try presentInteger(type, key) }
        func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try presentInteger(type, key) }
        func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try presentInteger(type, key) }
        func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try presentInteger(type, key) }
        func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try presentInteger(type, key) }
        func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try presentInteger(type, key) }
        func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try presentInteger(type, key) }
        func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try presentInteger(type, key) }
        func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try presentInteger(type, key) }
        func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try presentInteger(type, key) }
        func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
            try presentInteger(type, key)
        }

        func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
            let slot = slot(key)
            guard node.isPresent(node.scalar(at: slot), at: slot) == true else { return nil }
            return try node.decode(type, at: slot) { .key(key) }
        }

        // MARK: Nested containers

        func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<NestedKey> {
            try node.nested(at: slot(key), .key(key)).container(keyedBy: type)
        }

        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try node.nested(at: slot(key), .key(key)).unkeyedContainer()
        }

        /// The superclass's part: under "super", or this dictionary itself, as other coders write it flat.
        func superDecoder() throws -> any Decoder {
            let slot = DecodingSlot.named(noted(NameKey.superclass))
            if case .absent = node.scalar(at: slot) { return try node.nested(at: .whole, .none) }
            return try node.nested(at: slot, .key(NameKey.superclass))
        }

        func superDecoder(forKey key: Key) throws -> any Decoder { try node.nested(at: slot(key), .key(key)) }
    }

    /// Decodes the elements of an array, in order; an element that could not be decoded is tried again.
    struct UnkeyedContainer: UnkeyedDecodingContainer {
        private let node: DecodingNode
        private let total: Int
        private(set) var currentIndex = 0

        /// - Parameter node: a node whose elements are open.
        init(_ node: DecodingNode) {
            self.node = node
            total = node.elementCount
        }

        var codingPath: [any CodingKey] { node.codingPath }
        var count: Int? { total }
        var isAtEnd: Bool { currentIndex >= total }

        mutating func decodeNil() throws -> Bool {
            let slot = DecodingSlot.index(currentIndex)
            guard let isPresent = node.isPresent(node.scalar(at: slot), at: slot) else {
                throw node.missing(slot, .key(IndexKey(currentIndex)))
            }
            if !isPresent { currentIndex += 1 }
            return !isPresent
        }

        private mutating func next<T>(_ decode: (DecodingNode, DecodingSlot, () -> LastKey) throws -> T) throws -> T {
            let index = currentIndex
            let value = try decode(node, .index(index)) { .key(IndexKey(index)) }
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
        mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next { try $0.decode(type, at: $1, $2) } }

        mutating func nestedContainer<NestedKey: CodingKey>(
            keyedBy type: NestedKey.Type
        ) throws -> KeyedDecodingContainer<NestedKey> {
            try next { try $0.nested(at: $1, $2()).container(keyedBy: type) }
        }

        mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
            try next { try $0.nested(at: $1, $2()).unkeyedContainer() }
        }

        mutating func superDecoder() throws -> any Decoder { try next { try $0.nested(at: $1, $2()) } }
    }

    /// Decodes a value that has no parts of its own.
    struct SingleValueContainer: SingleValueDecodingContainer {
        private let node: DecodingNode

        init(_ node: DecodingNode) { self.node = node }

        var codingPath: [any CodingKey] { node.codingPath }

        func decodeNil() -> Bool { node.isPresent(node.scalar(at: .whole), at: .whole) != true }

        func decode(_ type: Bool.Type) throws -> Bool { try node.bool(at: .whole) { .none } }
        func decode(_ type: String.Type) throws -> String { try node.string(at: .whole) { .none } }
        func decode(_ type: Double.Type) throws -> Double { try node.floating(type, at: .whole) { .none } }
        func decode(_ type: Float.Type) throws -> Float { try node.floating(type, at: .whole) { .none } }
        func decode(_ type: Int.Type) throws -> Int { try node.integer(type, at: .whole) { .none } }
        func decode(_ type: Int8.Type) throws -> Int8 { try node.integer(type, at: .whole) { .none } }
        func decode(_ type: Int16.Type) throws -> Int16 { try node.integer(type, at: .whole) { .none } }
        func decode(_ type: Int32.Type) throws -> Int32 { try node.integer(type, at: .whole) { .none } }
        func decode(_ type: Int64.Type) throws -> Int64 { try node.integer(type, at: .whole) { .none } }
        func decode(_ type: Int128.Type) throws -> Int128 { try node.integer(type, at: .whole) { .none } }
        func decode(_ type: UInt.Type) throws -> UInt { try node.integer(type, at: .whole) { .none } }
        func decode(_ type: UInt8.Type) throws -> UInt8 { try node.integer(type, at: .whole) { .none } }
        func decode(_ type: UInt16.Type) throws -> UInt16 { try node.integer(type, at: .whole) { .none } }
        func decode(_ type: UInt32.Type) throws -> UInt32 { try node.integer(type, at: .whole) { .none } }
        func decode(_ type: UInt64.Type) throws -> UInt64 { try node.integer(type, at: .whole) { .none } }
        func decode(_ type: UInt128.Type) throws -> UInt128 { try node.integer(type, at: .whole) { .none } }
        func decode<T: Decodable>(_ type: T.Type) throws -> T { try node.decode(type, at: .whole) { .none } }
    }
}
