// `decodeIfPresent` with one look-up instead of the three of the standard library's.

extension KeyedDecodingStore {
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        let place = place(key)
        if let place, !entries.mayBeNil(at: place), let value = entries.bool(at: place) { return value }
        return try present(place, key) { scalar, slot in
            if case .bool(let value) = scalar { value } else { throw node.mismatch(type, at: slot, key) }
        }
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        let place = place(key)
        if let place, !entries.mayBeNil(at: place), let value = entries.string(at: place) { return value }
        return try present(place, key) { scalar, slot in
            if case .string(let value) = scalar { value } else { throw node.mismatch(type, at: slot, key) }
        }
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        let place = place(key)
        if let place, !entries.mayBeNil(at: place), let value = entries.real(at: place) { return value }
        return try present(place, key) { try node.floating(type, $0, at: $1, key) }
    }

    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try present(place(key), key) { try node.floating(type, $0, at: $1, key) }
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
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try presentInteger(type, key) }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        let place = place(key)
        if let place, !entries.mayBeNil(at: place) { return try entries.decode(type, at: place, key) }
        let slot = slot(place, key)
        guard node.isPresent(node.scalar(at: slot), at: slot) == true else { return nil }
        return try node.decode(type, at: slot, key)
    }

    @inline(__always) private func presentInteger<I: FixedWidthInteger>(_ type: I.Type, _ key: Key) throws -> I? {
        let place = place(key)
        if let place, !entries.mayBeNil(at: place), let value = entries.integer(type, at: place) { return value }
        return try present(place, key) { try node.integer(type, $0, at: $1, key) }
    }

    @inline(__always) private func present<T>(
        _ place: Int?, _ key: Key, _ decode: (Scalar, DecodingSlot) throws -> T
    ) throws -> T? {
        let slot = slot(place, key)
        let scalar = node.scalar(at: slot)
        guard node.isPresent(scalar, at: slot) == true else { return nil }
        return try decode(scalar, slot)
    }
}
