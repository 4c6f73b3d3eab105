// Arrays and dictionaries of scalars, read as a whole.

extension DecodingNode {
    /// An array or dictionary of scalars, or what else is none itself.
    final func decodeKnownCollection<T: Decodable>(
        _ type: T.Type, _ known: KnownType, at slot: DecodingSlot, _ key: (any CodingKey)?
    ) throws -> T {
        switch known {
        case .bools: exactly(try elements(Bool.self, at: slot, key))
        case .ints: exactly(try elements(Int.self, at: slot, key))
        case .int8s: exactly(try elements(Int8.self, at: slot, key))
        case .int16s: exactly(try elements(Int16.self, at: slot, key))
        case .int32s: exactly(try elements(Int32.self, at: slot, key))
        case .int64s: exactly(try elements(Int64.self, at: slot, key))
        case .uints: exactly(try elements(UInt.self, at: slot, key))
        case .uint8s: exactly(try elements(UInt8.self, at: slot, key))
        case .uint16s: exactly(try elements(UInt16.self, at: slot, key))
        case .uint32s: exactly(try elements(UInt32.self, at: slot, key))
        case .uint64s: exactly(try elements(UInt64.self, at: slot, key))
        case .strings: exactly(try elements(String.self, at: slot, key))
        case .floats where context.passesFloats: exactly(try elements(Float.self, at: slot, key))
        case .doubles where context.passesFloats: exactly(try elements(Double.self, at: slot, key))
        case .boolEntries: exactly(try entries(Bool.self, at: slot, key))
        case .intEntries: exactly(try entries(Int.self, at: slot, key))
        case .stringEntries: exactly(try entries(String.self, at: slot, key))
        case .doubleEntries where context.passesFloats: exactly(try entries(Double.self, at: slot, key))
        default: try decodePlain(type, at: slot, key)
        }
    }

    /// All elements at once where each is of the very type; else one by one, which knows conversions and errors.
    @inline(__always) private final func elements<S: ScalarValue>(
        _ type: S.Type, at slot: DecodingSlot, _ key: (any CodingKey)?
    ) throws -> [S] {
        let elements =
            switch self {
            case let node as AnyDecodingNode: node.allElements(type, at: slot)
            case let node as TreeDecodingNode: node.allElements(type, at: slot)
            default: [S]?.none
            }
        return try elements ?? decodePlain([S].self, at: slot, key)
    }

    /// All entries at once where each value is of the very type; else one by one.
    @inline(__always) private final func entries<S: ScalarValue>(
        _ type: S.Type, at slot: DecodingSlot, _ key: (any CodingKey)?
    ) throws -> [String: S] {
        let entries =
            switch self {
            case let node as AnyDecodingNode: node.allEntries(type, at: slot)
            case let node as TreeDecodingNode: node.allEntries(type, at: slot)
            default: [String: S]?.none
            }
        return try entries ?? decodePlain([String: S].self, at: slot, key)
    }
}
