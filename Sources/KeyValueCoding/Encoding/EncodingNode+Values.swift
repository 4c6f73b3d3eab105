internal import FoundationEssentials

// Writing values of any type: by the coders where they know the type, else by its own `encode(to:)`.

extension EncodingNode {
    /// Writes the one value of a call of `encode`.
    final func encodeRoot<T: Encodable>(_ value: T) throws {
        if try !encodeKnown(value, context.knownTypes.known(T.self), at: .whole, { .none }) { try encodeOwn(value) }
        if let failure = context.failure { throw failure }
    }

    final func encode<T: Encodable>(_ value: T, at slot: EncodingSlot, _ key: () -> LastKey) throws {
        let known = context.knownTypes.known(T.self)
        // Looked at before the call: most values are plain.
        if try known != .plain && encodeKnown(value, known, at: slot, key) { return }
        try encodePlain(value, at: slot, key)
    }

    private final func encodePlain<T: Encodable>(
        _ value: T, at slot: EncodingSlot, _ key: () -> LastKey
    ) throws {
        if defers(slot) { return try encodeDeferred(value, at: slot, key) }
        guard depth < CodingLimits.depth else { throw tooDeep(value, key()) }
        try write(at: slot, key) { try $0.encodeOwn(value) }
    }

    /// Writes this node's value by the type's own code, or as a dictionary under the strategy.
    private final func encodeOwn<T: Encodable>(_ value: T) throws {
        if context.keysDictionaries, try encodeKeyed(value) { return }
        if context.isForStore, let type = T.self as? any UnorderedCollection.Type,
            let node = self as? TreeEncodingNode
        {
            return try node.encodeSorted(value, type.elementsTogether)
        }
        try value.encode(to: self)
    }

    private final func encodeDeferred<T: Encodable>(
        _ value: T, at slot: EncodingSlot, _ key: () -> LastKey
    ) throws {
        let replaced = nestedIndex(of: slot)
        if case .named(let name) = slot { forgetNested(name) }
        let node = nested(at: slot, key().coding ?? IndexKey(elements))
        do {
            try node.encode(value, at: .whole) { .none }
        } catch {
            forgetNested(node)
            restoreNested(replaced, of: slot)
            throw error
        }
    }

    /// Writes a value of a type that the coders know; gives false for every other.
    private final func encodeKnown<T>(
        _ value: T, _ known: KnownType, at slot: EncodingSlot, _ key: () -> LastKey
    ) throws -> Bool {
        switch known {
        case .plain, .anyElements, .anyEntries: return false
        case .string: try write(.string(exactly(value)), at: slot)
        case .int: try write(.int(exactly(value)), at: slot)
        case .double: try write(double: exactly(value), at: slot, key)
        case .bool: try write(.bool(exactly(value)), at: slot)
        case .date: try write(date: exactly(value), at: slot, key)
        case .data: try write(data: exactly(value), at: slot, key)
        case .uuid: try write(.string(exactly(value, as: UUID.self).uuidString), at: slot)
        case .float: try write(float: exactly(value), at: slot, key)
        case .int128: try write(int128: exactly(value), at: slot, key)
        case .uint128: try write(uint128: exactly(value), at: slot, key)
        case .int8, .int16, .int32, .int64, .uint, .uint8, .uint16, .uint32, .uint64, .url, .decimal:
            try write(.familiar(value, known), at: slot)
        default: return try encodeKnownCollection(value, known, at: slot)
        }
        return true
    }

    private final func encodeKnownCollection<T>(_ value: T, _ known: KnownType, at slot: EncodingSlot) throws -> Bool {
        switch known {
        case .bools: try write(elements: exactly(value, as: [Bool].self), at: slot)
        case .ints: try write(elements: exactly(value, as: [Int].self), at: slot)
        case .int8s: try write(elements: exactly(value, as: [Int8].self), at: slot)
        case .int16s: try write(elements: exactly(value, as: [Int16].self), at: slot)
        case .int32s: try write(elements: exactly(value, as: [Int32].self), at: slot)
        case .int64s: try write(elements: exactly(value, as: [Int64].self), at: slot)
        case .uints: try write(elements: exactly(value, as: [UInt].self), at: slot)
        case .uint8s: try write(elements: exactly(value, as: [UInt8].self), at: slot)
        case .uint16s: try write(elements: exactly(value, as: [UInt16].self), at: slot)
        case .uint32s: try write(elements: exactly(value, as: [UInt32].self), at: slot)
        case .uint64s: try write(elements: exactly(value, as: [UInt64].self), at: slot)
        case .strings: try write(elements: exactly(value, as: [String].self), at: slot)
        case .floats where context.passesFloats: try write(elements: exactly(value, as: [Float].self), at: slot)
        case .doubles where context.passesFloats: try write(elements: exactly(value, as: [Double].self), at: slot)
        case .boolEntries: try write(entries: exactly(value, as: [String: Bool].self), at: slot)
        case .intEntries: try write(entries: exactly(value, as: [String: Int].self), at: slot)
        case .stringEntries: try write(entries: exactly(value, as: [String: String].self), at: slot)
        case .doubleEntries where context.passesFloats:
            try write(entries: exactly(value, as: [String: Double].self), at: slot)
        default: return false
        }
        return true
    }
}

// MARK: - Under the strategies

extension EncodingNode {
    final func write(double value: Double, at slot: EncodingSlot, _ key: () -> LastKey) throws {
        guard context.passesFloats || value.isFinite else {
            return try write(nonConforming: value, "Double", at: slot, key)
        }
        try write(.double(value), at: slot)
    }

    final func write(float value: Float, at slot: EncodingSlot, _ key: () -> LastKey) throws {
        guard context.passesFloats || value.isFinite else {
            return try write(nonConforming: Double(value), "Float", at: slot, key)
        }
        try write(.float(value), at: slot)
    }

    private final func write(
        nonConforming value: Double, _ type: String, at slot: EncodingSlot, _ key: () -> LastKey
    ) throws {
        guard
            case .convertToString(let positive, let negative, let nan) =
                context.options.nonConformingFloatEncodingStrategy
        else {
            throw invalid(value, key(), type, " cannot be encoded. \(value) is not a finite number")
        }
        try write(.string(value.isNaN ? nan : value < 0 ? negative : positive), at: slot)
    }

    private final func write(date: Date, at slot: EncodingSlot, _ key: () -> LastKey) throws {
        switch context.options.dateEncodingStrategy {
        case .date: try write(.date(date), at: slot)
        case .secondsSince1970: try write(date, times: 1, at: slot, key)
        case .millisecondsSince1970: try write(date, times: 1000, at: slot, key)
        case .iso8601Format(let style): try write(.string(date.formatted(style)), at: slot)
        case .formatted(let format): try write(.string(format(date)), at: slot)
        case .custom(let convert):
            try write(any: converted(date, "Date", key) { try convert(date) }, at: slot)
        }
    }

    private final func write(
        _ date: Date, times factor: Double, at slot: EncodingSlot, _ key: () -> LastKey
    ) throws {
        let number = date.timeIntervalSince1970 * factor
        guard let integer = Int64(exactly: number.rounded(.towardZero)) else {
            throw invalid(date, key(), "Date", " cannot be encoded. \(number) cannot be represented by Int64")
        }
        try write(.int64(integer), at: slot)
    }

    private final func write(data: Data, at slot: EncodingSlot, _ key: () -> LastKey) throws {
        switch context.options.dataEncodingStrategy {
        case .data: try write(.data(data), at: slot)
        case .base64: try write(.string(data.base64EncodedString()), at: slot)
        case .deferredToData: try encodePlain(data, at: slot, key)
        case .custom(let convert):
            try write(any: converted(data, "Data", key) { try convert(data) }, at: slot)
        }
    }

    /// The value that a strategy's closure gives; its error is wrapped into one with the path.
    private final func converted(
        _ value: Any, _ type: String, _ key: () -> LastKey, _ convert: () throws -> Any
    ) throws -> Any {
        do {
            return try convert()
        } catch {
            throw invalid(value, key(), type, " cannot be encoded. \(message(of: error))", underlying: error)
        }
    }

    final func write(int128 value: Int128, at slot: EncodingSlot, _ key: () -> LastKey) throws {
        try write(wide: value, .int128(value), "Int128", at: slot, key)
    }

    final func write(uint128 value: UInt128, at slot: EncodingSlot, _ key: () -> LastKey) throws {
        try write(wide: value, .uint128(value), "UInt128", at: slot, key)
    }

    /// A 128-bit integer: as it is where the format has them, else within 64 bits.
    private final func write<Wide: FixedWidthInteger>(
        wide value: Wide, _ scalar: Scalar, _ type: String, at slot: EncodingSlot, _ key: () -> LastKey
    ) throws {
        if holdsWideIntegers {
            try write(scalar, at: slot)
        } else if let integer = Int64(exactly: value) {
            try write(.int64(integer), at: slot)
        } else if let unsigned = UInt64(exactly: value) {
            try write(.uint64(unsigned), at: slot)
        } else {
            throw invalid(value, key(), type, " cannot be encoded. \(value) needs more than 64 bits")
        }
    }
}

// MARK: - Arrays and dictionaries of scalars, written as a whole

// An overridden generic method is never specialised for its types, and costs several times as much for each element:
// so the way parts here, where the compiler sees both the type and the node.

extension EncodingNode {
    /// Writes an array of scalars, which the strategies leave as they are.
    final func write<S: ScalarValue>(elements: [S], at slot: EncodingSlot) throws {
        switch self {
        case let node as AnyEncodingNode: node.put(elements.map { $0 as Any }, at: slot)
        case let node as TreeEncodingNode: try node.append(elements: elements, at: slot)
        default: break
        }
    }

    /// Writes a dictionary of scalars, which the strategies leave as they are.
    final func write<S: ScalarValue>(entries: [String: S], at slot: EncodingSlot) throws {
        switch self {
        case let node as AnyEncodingNode: node.put(entries.mapValues { $0 as Any }, at: slot)
        case let node as TreeEncodingNode: try node.append(entries: entries, at: slot)
        default: break
        }
    }
}
