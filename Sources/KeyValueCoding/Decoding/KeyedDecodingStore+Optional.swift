// `decodeIfPresent` with one look-up instead of the three of the standard library's.

extension KeyedDecodingStore {
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try read { entries in
            let place = entries.place(key)
            if let place, !entries.mayBeNil(at: place), let value = entries.bool(at: place) { return value }
            return try entries.present(place, key) { node, scalar, slot in
                if case .bool(let value) = scalar { value } else { throw node.mismatch(type, at: slot, key) }
            }
        }
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try read { entries in
            let place = entries.place(key)
            if let place, !entries.mayBeNil(at: place), let value = entries.string(at: place) { return value }
            return try entries.present(place, key) { node, scalar, slot in
                if case .string(let value) = scalar { value } else { throw node.mismatch(type, at: slot, key) }
            }
        }
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try read { entries in
            let place = entries.place(key)
            if let place, !entries.mayBeNil(at: place), let value = entries.real(at: place) { return value }
            return try entries.present(place, key) { try $0.floating(type, $1, at: $2, key) }
        }
    }

    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try read { entries in
            try entries.present(entries.place(key), key) { try $0.floating(type, $1, at: $2, key) }
        }
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
        try read { entries in
            let place = entries.place(key)
            if let place, !entries.mayBeNil(at: place) { return try entries.decode(type, at: place, key) }
            let slot = entries.slot(place, key)
            let node = entries.node
            guard node.isPresent(node.scalar(at: slot), at: slot) == true else { return nil }
            return try node.decode(type, at: slot, key)
        }
    }

    @inline(__always) private func presentInteger<I: FixedWidthInteger>(_ type: I.Type, _ key: Key) throws -> I? {
        try read { entries in
            let place = entries.place(key)
            if let place, !entries.mayBeNil(at: place), let value = entries.integer(type, at: place) { return value }
            return try entries.present(place, key) { try $0.integer(type, $1, at: $2, key) }
        }
    }
}

extension KeyedEntries {
    @inline(__always) fileprivate func present<T, Key: CodingKey>(
        _ place: Int?, _ key: Key, _ decode: (DecodingNode, Scalar, DecodingSlot) throws -> T
    ) throws -> T? {
        let node = node
        let slot = slot(place, key)
        let scalar = node.scalar(at: slot)
        guard node.isPresent(scalar, at: slot) == true else { return nil }
        return try decode(node, scalar, slot)
    }
}
