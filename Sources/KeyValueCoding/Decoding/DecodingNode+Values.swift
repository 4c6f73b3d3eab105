internal import FoundationEssentials

// Reading values of any type: by the coders where they know the type, else by its own `init(from:)`.

extension DecodingNode {
    final func decode<T: Decodable>(
        _ type: T.Type, at slot: DecodingSlot, _ key: () -> LastKey
    ) throws -> T {
        let known = context.knownTypes.known(type)
        if known == .plain { return try decodePlain(type, at: slot, key) }
        let value = try decodeKnown(type, known, at: slot, key)
        if case .whole = slot { record?.takeWhole() }
        return value
    }

    /// Decodes the one value of a call of `decode`, by this node itself where its type has code of its own.
    final func decodeWhole<T: Decodable>(_ type: T.Type) throws -> T {
        if context.knownTypes.known(type) == .plain { return try decodeOwn(type) }
        return try decode(type, at: .whole) { .none }
    }

    fileprivate final func decodePlain<T: Decodable>(
        _ type: T.Type, at slot: DecodingSlot, _ key: () -> LastKey
    ) throws -> T {
        // The keys that a failed attempt asked for are not kept.
        let attempt = record?.attempt(at: slot)
        let value = try child(at: slot, key, attempt).decodeOwn(type)
        if let attempt { record?.keep(attempt, at: slot) }
        return value
    }

    /// Decodes this node's value by the type's own code, or as a dictionary with keys of any type.
    private final func decodeOwn<T: Decodable>(_ type: T.Type) throws -> T {
        // A dictionary is one reference; to look a conformance up takes 230 instructions.
        let isAsLarge = MemoryLayout<T>.size == MemoryLayout<[Int: Int]>.size
        if isAsLarge, let dictionary = type as? any ReadableDictionary.Type {
            return try decodeKeyed(type, as: dictionary)
        }
        return try T(from: self)
    }

    private final func decodeKnown<T: Decodable>(
        _ type: T.Type, _ known: KnownType, at slot: DecodingSlot, _ key: () -> LastKey
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
    final func bool(at slot: DecodingSlot, _ key: () -> LastKey) throws -> Bool {
        if case .bool(let value) = scalar(at: slot) { return value }
        guard let value = numberObject(at: slot) else { throw mismatch(Bool.self, at: slot, key()) }
        return value
    }

    /// The Bool in a foreign number that is 0 or 1.
    private final func numberObject(at slot: DecodingSlot) -> Bool? {
        guard case .numberObjects = context.options.boolDecodingStrategy, let node = self as? AnyDecodingNode,
            let value = node.any(at: slot).flatMap(flattened), value is any ForeignNumber,
            case .number(let number) = Scalar(in: value).integer(UInt8.self, .exact)
        else { return nil }
        return number > 1 ? nil : number == 1
    }

    final func string(at slot: DecodingSlot, _ key: () -> LastKey) throws -> String {
        guard case .string(let value) = scalar(at: slot) else { throw mismatch(String.self, at: slot, key()) }
        return value
    }

    final func integer<I: FixedWidthInteger>(
        _ type: I.Type, at slot: DecodingSlot, _ key: () -> LastKey
    ) throws -> I {
        let scalar = scalar(at: slot)
        if case .int(let value) = scalar, let exact = I(exactly: value) { return exact }
        switch scalar.integer(type, context.options.intDecodingStrategy) {
        case .number(let value): return value
        case .inexact: throw inexact(type, at: slot, key())
        case .notNumeric: throw mismatch(type, "BinaryInteger", at: slot, key())
        }
    }

    final func floating<F: BinaryFloatingPoint & LosslessStringConvertible>(
        _ type: F.Type, at slot: DecodingSlot, _ key: () -> LastKey
    ) throws -> F {
        let scalar = scalar(at: slot)
        switch scalar.floating(type) {
        case .number(let value) where context.passesFloats || value.isFinite: return value
        case .number(let value): return try nonConforming(value, at: slot, key)
        case .inexact: throw inexact(type, at: slot, key())
        case .notNumeric:
            if case .string(let text) = scalar, let value: F = spelled(text) { return value }
            throw mismatch(type, at: slot, key())
        }
    }

    private final func nonConforming<F: BinaryFloatingPoint>(
        _ value: F, at slot: DecodingSlot, _ key: () -> LastKey
    ) throws -> F {
        guard case .throw = context.options.nonConformingFloatDecodingStrategy else { return value }
        throw corrupted(at: key(), "\(F.self)", " cannot be decoded. \(value) is not a finite number")
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

    final func decimal(at slot: DecodingSlot, _ key: () -> LastKey) throws -> Decimal {
        let scalar = scalar(at: slot)
        switch scalar.decimal {
        case .number(let value): return value
        case .inexact: throw inexact(Decimal.self, at: slot, key())
        case .notNumeric:
            if context.readsSpelledValues, case .string(let text) = scalar, let value = DecimalDigits.number(text) {
                return value
            }
            throw mismatch(Decimal.self, at: slot, key())
        }
    }

    final func url(at slot: DecodingSlot, _ key: () -> LastKey) throws -> URL {
        switch scalar(at: slot) {
        case .url(let value): return value
        case .string(let text):
            if !text.isEmpty, let url = URL(string: text) { return url }
        default: break
        }
        throw mismatch(URL.self, at: slot, key())
    }

    private final func uuid(at slot: DecodingSlot, _ key: () -> LastKey) throws -> UUID {
        // Where the value is not the text of a UUID, its own `init(from:)` has the words for the error.
        guard case .string(let text) = scalar(at: slot), let value = UUID(uuidString: text) else {
            return try decodePlain(UUID.self, at: slot, key)
        }
        return value
    }
}

// MARK: - Values under strategies

extension DecodingNode {
    final func date(at slot: DecodingSlot, _ key: () -> LastKey) throws -> Date {
        switch context.options.dateDecodingStrategy {
        case .date:
            guard case .date(let value) = scalar(at: slot) else { throw mismatch(Date.self, at: slot, key()) }
            return value
        case .secondsSince1970:
            return Date(timeIntervalSince1970: Double(try integer(Int64.self, at: slot, key)))
        case .millisecondsSince1970:
            return Date(timeIntervalSince1970: Double(try integer(Int64.self, at: slot, key)) / 1000)
        case .iso8601Format(let style): return try date(spelledAt: slot, key) { try? style.parse($0) }
        case .parsed(let parse): return try date(spelledAt: slot, key, parse)
        case .custom(let convert): return try converted("Date", at: slot, key, convert)
        }
    }

    private final func date(
        spelledAt slot: DecodingSlot, _ key: () -> LastKey, _ parse: (String) -> Date?
    ) throws -> Date {
        let text = try string(at: slot, key)
        guard let date = parse(text) else {
            throw corrupted(at: key(), "Date", " cannot be decoded. \(text.debugDescription) is not a date")
        }
        return date
    }

    final func data(at slot: DecodingSlot, _ key: () -> LastKey) throws -> Data {
        switch context.options.dataDecodingStrategy {
        case .data:
            guard case .data(let value) = scalar(at: slot) else { throw mismatch(Data.self, at: slot, key()) }
            return value
        case .base64:
            let text = try string(at: slot, key)
            guard let value = Data(base64Encoded: text) else {
                throw corrupted(at: key(), "Data", " cannot be decoded. The string is not base64")
            }
            return value
        case .deferredToData: return try decodePlain(Data.self, at: slot, key)
        case .custom(let convert): return try converted("Data", at: slot, key, convert)
        }
    }

    /// The value that a strategy's closure makes; its error is wrapped into one with the path.
    private final func converted<Result>(
        _ type: String, at slot: DecodingSlot, _ key: () -> LastKey, _ convert: (Any) throws -> Result
    ) throws -> Result {
        guard let value = any(at: slot) else { throw missing(slot, key()) }
        do { return try convert(value) } catch { throw wrapped(error, type, key()) }
    }
}

// MARK: - Arrays and dictionaries of scalars, read as a whole

extension DecodingNode {
    /// A value of a type that is no scalar, among them arrays and dictionaries of scalars.
    fileprivate final func decodeKnownCollection<T: Decodable>(
        _ type: T.Type, _ known: KnownType, at slot: DecodingSlot, _ key: () -> LastKey
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

    /// All elements at once where each is of exactly the type; else one by one, with conversions and errors.
    private final func elements<S: ScalarValue>(
        _ type: S.Type, at slot: DecodingSlot, _ key: () -> LastKey
    ) throws -> [S] {
        let elements =
            switch self {
            case let node as AnyDecodingNode: node.allElements(type, at: slot)
            case let node as TreeDecodingNode: node.allElements(type, at: slot)
            default: [S]?.none
            }
        return try elements ?? decodePlain([S].self, at: slot, key)
    }

    /// All entries at once where each value is of exactly the type; else one by one.
    private final func entries<S: ScalarValue>(
        _ type: S.Type, at slot: DecodingSlot, _ key: () -> LastKey
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
