internal import FoundationEssentials

// How a value is read, whatever it is: as a type that the coders know, else by its own `init(from:)`.

extension DecodingNode {
    final func decode<T: Decodable>(
        _ type: T.Type, at slot: DecodingSlot, _ key: (any CodingKey)?
    ) throws -> T {
        let known = KnownType.of(type)
        if known == .plain { return try decodePlain(type, at: slot, key) }
        let value = try decodeKnown(type, known, at: slot, key)
        if case .whole = slot { record?.takeWhole() }
        return value
    }

    /// Decodes the one value of a call of `decode`, by this node itself where its type has code of its own.
    final func decodeWhole<T: Decodable>(_ type: T.Type) throws -> T {
        guard record == nil, context.ownTypes.contains(type) else { return try decode(type, at: .whole, nil) }
        defer { finish() }
        // As deep as a node that was made for the value would be.
        depth = 1
        pooled = .first
        return try T(from: self)
    }

    final func decodePlain<T: Decodable>(
        _ type: T.Type, at slot: DecodingSlot, _ key: (any CodingKey)?
    ) throws -> T {
        guard let child = child(at: slot) else { throw refusal(of: slot, key) }
        defer { release(child) }
        return try child._withUnsafeGuaranteedRef { child in
            if let key { child.own(key) }
            return try decodeOwn(type, child, at: slot)
        }
    }

    /// Decodes an element of an array.
    @inline(__always) final func decodeElement<T: Decodable>(_ type: T.Type, _ index: Int) throws -> T {
        guard context.ownTypes.contains(type) || KnownType.of(type) == .plain else {
            return try decode(type, at: .index(index), IndexKey(index))
        }
        guard let child = child(at: .index(index)) else { throw refusal(of: .index(index), IndexKey(index)) }
        defer { release(child) }
        return try child._withUnsafeGuaranteedRef { child in
            child.key = .index(index)
            return try decodeOwn(type, child, at: .index(index))
        }
    }

    @inline(__always) private final func decodeOwn<T: Decodable>(
        _ type: T.Type, _ child: DecodingNode, at slot: DecodingSlot
    ) throws -> T {
        if let record { return try decodeRecorded(type, child, at: slot, in: record) }
        return try child.decodeOwn(type)
    }

    /// Decodes this node's value by the type's own code, or as that would do.
    @inline(__always) final func decodeOwn<T: Decodable>(_ type: T.Type) throws -> T {
        if context.ownTypes.contains(type) { return try T(from: self) }
        return try decodeOtherwise(type)
    }

    /// Of a type that was not seen before, or is read as a whole.
    @inline(never) private final func decodeOtherwise<T: Decodable>(_ type: T.Type) throws -> T {
        switch context.way(of: type) {
        case .own: try T(from: self)
        case .dictionary: try decodeDictionary(type)
        case .array(let array): try array.read(from: self, as: type)
        }
    }

    /// Apart from the rest: the Optional of a generic type has to be looked up each time.
    @inline(never) private final func decodeDictionary<T: Decodable>(_ type: T.Type) throws -> T {
        try decodeKeyed(type) ?? T(from: self)
    }

    private final func decodeKnown<T: Decodable>(
        _ type: T.Type, _ known: KnownType, at slot: DecodingSlot, _ key: (any CodingKey)?
    ) throws -> T {
        switch known {
        case .string: exactly(try string(at: slot, key))
        case .int: exactly(try integer(Int.self, at: slot, key))
        case .double: exactly(try floating(Double.self, at: slot, key))
        case .bool: exactly(try bool(at: slot, key))
        case .date: exactly(try date(at: slot, key))
        case .data: exactly(try data(at: slot, key))
        case .url: exactly(try url(at: slot, key))
        case .uuid: exactly(try uuid(at: slot, key))
        case .decimal: exactly(try decimal(at: slot, key))
        case .float: exactly(try floating(Float.self, at: slot, key))
        case .int8: exactly(try integer(Int8.self, at: slot, key))
        case .int16: exactly(try integer(Int16.self, at: slot, key))
        case .int32: exactly(try integer(Int32.self, at: slot, key))
        case .int64: exactly(try integer(Int64.self, at: slot, key))
        case .uint: exactly(try integer(UInt.self, at: slot, key))
        case .uint8: exactly(try integer(UInt8.self, at: slot, key))
        case .uint16: exactly(try integer(UInt16.self, at: slot, key))
        case .uint32: exactly(try integer(UInt32.self, at: slot, key))
        case .uint64: exactly(try integer(UInt64.self, at: slot, key))
        case .int128: exactly(try integer(Int128.self, at: slot, key))
        case .uint128: exactly(try integer(UInt128.self, at: slot, key))
        default: try decodeKnownCollection(type, known, at: slot, key)
        }
    }
}

// MARK: - Scalars

extension DecodingNode {
    @inline(__always) final func bool(at slot: DecodingSlot, _ key: (any CodingKey)?) throws -> Bool {
        guard case .bool(let value) = scalar(at: slot) else { throw mismatch(Bool.self, at: slot, key) }
        return value
    }

    @inline(__always) final func string(at slot: DecodingSlot, _ key: (any CodingKey)?) throws -> String {
        guard case .string(let value) = scalar(at: slot) else { throw mismatch(String.self, at: slot, key) }
        return value
    }

    final func integer<I: FixedWidthInteger>(
        _ type: I.Type, at slot: DecodingSlot, _ key: (any CodingKey)?
    ) throws -> I {
        try integer(type, scalar(at: slot), at: slot, key)
    }

    @inline(__always) final func integer<I: FixedWidthInteger>(
        _ type: I.Type, _ scalar: Scalar, at slot: DecodingSlot, _ key: (any CodingKey)?
    ) throws -> I {
        if case .int(let value) = scalar, let exact = I(exactly: value) { return exact }
        switch scalar.integer(type, context.options.intDecodingStrategy) {
        case .number(let value): return value
        case .inexact: throw inexact(type, at: slot, key)
        case .notNumeric: throw mismatch(type, "BinaryInteger", at: slot, key)
        }
    }

    final func floating<F: BinaryFloatingPoint & LosslessStringConvertible>(
        _ type: F.Type, at slot: DecodingSlot, _ key: (any CodingKey)?
    ) throws -> F {
        try floating(type, scalar(at: slot), at: slot, key)
    }

    @inline(__always) final func floating<F: BinaryFloatingPoint & LosslessStringConvertible>(
        _ type: F.Type, _ scalar: Scalar, at slot: DecodingSlot, _ key: (any CodingKey)?
    ) throws -> F {
        switch scalar.floating(type) {
        case .number(let value) where context.passesFloats || value.isFinite: return value
        case .number(let value): return try nonConforming(value, at: slot, key)
        case .inexact: throw inexact(type, at: slot, key)
        case .notNumeric:
            if case .string(let text) = scalar, let value: F = spelled(text) { return value }
            throw mismatch(type, at: slot, key)
        }
    }

    private final func nonConforming<F: BinaryFloatingPoint>(
        _ value: F, at slot: DecodingSlot, _ key: (any CodingKey)?
    ) throws -> F {
        guard case .throw = context.options.nonConformingFloatDecodingStrategy else { return value }
        throw corrupted(at: key) { "\(F.self) at \($0) cannot be decoded. \(value) is not a finite number" }
    }

    private final func spelled<F: BinaryFloatingPoint>(_ text: String) -> F? {
        guard
            case .convertFromString(let positive, let negative, let nan) =
                context.options.nonConformingFloatDecodingStrategy
        else { return nil }
        switch text {
        case positive: return .infinity
        case negative: return -.infinity
        case nan: return .nan
        default: return nil
        }
    }

    final func decimal(at slot: DecodingSlot, _ key: (any CodingKey)?) throws -> Decimal {
        let scalar = scalar(at: slot)
        switch scalar.decimal {
        case .number(let value): return value
        case .inexact: throw inexact(Decimal.self, at: slot, key)
        case .notNumeric:
            if context.readsSpelledValues, case .string(let text) = scalar, let value = DecimalDigits.number(text) {
                return value
            }
            throw mismatch(Decimal.self, at: slot, key)
        }
    }

    final func url(at slot: DecodingSlot, _ key: (any CodingKey)?) throws -> URL {
        switch scalar(at: slot) {
        case .url(let value): return value
        case .string(let text):
            if !text.isEmpty, let url = URL(string: text) { return url }
        default: break
        }
        throw mismatch(URL.self, at: slot, key)
    }

    private final func uuid(at slot: DecodingSlot, _ key: (any CodingKey)?) throws -> UUID {
        // Where the value is not the text of a UUID, its own `init(from:)` has the words for the error.
        guard case .string(let text) = scalar(at: slot), let value = UUID(uuidString: text) else {
            return try decodePlain(UUID.self, at: slot, key)
        }
        return value
    }
}
