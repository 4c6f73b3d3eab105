// Arrays and dictionaries of scalars, read as a whole.

extension DecodingNode {
    /// An array or dictionary of scalars; nil where it has to be read element by element.
    final func decodeKnownCollection<T>(
        _ type: T.Type, _ known: KnownType, at slot: DecodingSlot, _ key: (any CodingKey)?
    ) throws -> T? {
        switch known {
        case .bools: try elements(Bool.self, at: slot).map { exactly($0) }
        case .ints: try elements(Int.self, at: slot).map { exactly($0) }
        case .int8s: try elements(Int8.self, at: slot).map { exactly($0) }
        case .int16s: try elements(Int16.self, at: slot).map { exactly($0) }
        case .int32s: try elements(Int32.self, at: slot).map { exactly($0) }
        case .int64s: try elements(Int64.self, at: slot).map { exactly($0) }
        case .uints: try elements(UInt.self, at: slot).map { exactly($0) }
        case .uint8s: try elements(UInt8.self, at: slot).map { exactly($0) }
        case .uint16s: try elements(UInt16.self, at: slot).map { exactly($0) }
        case .uint32s: try elements(UInt32.self, at: slot).map { exactly($0) }
        case .uint64s: try elements(UInt64.self, at: slot).map { exactly($0) }
        case .strings: try elements(String.self, at: slot).map { exactly($0) }
        case .floats where context.passesFloats: try elements(Float.self, at: slot).map { exactly($0) }
        case .doubles where context.passesFloats: try elements(Double.self, at: slot).map { exactly($0) }
        case .boolEntries: try entries(Bool.self, at: slot).map { exactly($0) }
        case .intEntries: try entries(Int.self, at: slot).map { exactly($0) }
        case .stringEntries: try entries(String.self, at: slot).map { exactly($0) }
        case .doubleEntries where context.passesFloats: try entries(Double.self, at: slot).map { exactly($0) }
        default: nil
        }
    }

    /// All elements, where each is of the very type; else nil, and the array is read element by element, which knows
    /// the conversions and the errors.
    @inline(__always) private final func elements<S: ScalarValue>(
        _ type: S.Type, at slot: DecodingSlot
    ) throws -> [S]? {
        switch self {
        case let node as AnyDecodingNode: node.allElements(type, at: slot)
        case let node as TreeDecodingNode: node.allElements(type, at: slot)
        default: nil
        }
    }

    /// All entries, where each value is of the very type; else nil.
    @inline(__always) private final func entries<S: ScalarValue>(
        _ type: S.Type, at slot: DecodingSlot
    ) throws -> [String: S]? {
        switch self {
        case let node as AnyDecodingNode: node.allEntries(type, at: slot)
        case let node as TreeDecodingNode: node.allEntries(type, at: slot)
        default: nil
        }
    }
}
