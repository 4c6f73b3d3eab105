internal import CKVCodable
internal import FoundationEssentials
internal import PropertyLists

// Values of the very kind that was asked for, straight from the tree. Nil where the value is of another kind, or is not
// in the tree: the node knows conversions and errors.

extension KeyedEntries {
    /// The node of a value that was found, if it is of the kind.
    @inline(__always) private func value(_ kind: PropertyListKind, at place: Int) -> kv_node? {
        guard let node = dictionary?.nodes[place], node.kind == kind else { return nil }
        return node
    }

    @inline(__always) func bool(at place: Int) -> Bool? {
        value(.boolean, at: place).map { $0.payload != 0 }
    }

    @inline(__always) func integer<I: FixedWidthInteger>(_ type: I.Type, at place: Int) -> I? {
        value(.integer, at: place).flatMap { I(exactly: Int64(bitPattern: $0.payload)) }
    }

    @inline(__always) func real(at place: Int) -> Double? {
        guard let node = value(.real, at: place) else { return nil }
        let value = Double(bitPattern: node.payload)
        return passesFloats || value.isFinite ? value : nil
    }

    @inline(__always) func string(at place: Int) -> String? {
        guard let dictionary, let node = value(.string, at: place) else { return nil }
        return dictionary.string(of: node)
    }

    @inline(__always) private func date(at place: Int) -> Date? {
        guard readsDates, let node = value(.date, at: place) else { return nil }
        return Date(timeIntervalSinceReferenceDate: Double(bitPattern: node.payload))
    }

    /// Whether the value may be nil under the strategy, which the node knows.
    @inline(__always) func mayBeNil(at place: Int) -> Bool {
        guard let node = dictionary?.nodes[place], let sentinelLength else { return true }
        return node.kind == .null || (node.kind == .string && Int(node.count) == sentinelLength)
    }
}

// MARK: - Values of any type

extension KeyedEntries {
    /// The value of any type at `place`.
    @inline(__always) func decode<T: Decodable, Key: CodingKey>(
        _ type: T.Type, at place: Int, _ key: Key
    ) throws -> T {
        if ownTypes.contains(type) {
            return try withChild(at: place, key) { try T(from: $0) }
        }
        switch knownTypes.known(type) {
        case .plain: return try withChild(at: place, key) { try $0.decodeOwn(type) }
        case .date: if let value = date(at: place) { return exactly(value) }
        case .strings: if let values = strings(at: place) { return exactly(values) }
        default: break
        }
        return try node.decode(type, at: .place(place), key)
    }

    @inline(__always) private func withChild<T, Key: CodingKey>(
        at place: Int, _ key: Key, _ decode: (DecodingNode) throws -> T
    ) throws -> T {
        // A container at rest has no places.
        guard let current else { throw node.missing(.place(place), key) }
        return try current._withUnsafeGuaranteedRef { node in
            guard let child = node.child(at: .place(place)) else { throw node.refusal(of: .place(place), key) }
            defer { node.release(child) }
            return try withUnsafePointer(to: key) { key in
                try child._withUnsafeGuaranteedRef { child in
                    child.key = .lent(key, Key.self)
                    return try decode(child)
                }
            }
        }
    }

    private func strings(at place: Int) -> [String]? {
        guard let dictionary, let header = value(.array, at: place) else { return nil }
        let count = Int(header.count)
        // An array of scalars takes one node for each, and one for itself.
        guard count > 0, header.span == count &+ 1 else { return nil }
        // Appended one by one: room that is filled in a closure has to have its type looked up each time.
        var result: [String] = []
        result.reserveCapacity(count)
        for element in place &+ 1...place &+ count {
            let node = dictionary.nodes[element]
            guard node.kind == .string else { return nil }
            result.append(dictionary.string(of: node))
        }
        return result
    }
}
