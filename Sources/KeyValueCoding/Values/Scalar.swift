internal import FoundationEssentials

/// A value without parts, on its way between the containers and the nodes.
///
/// One switch over it replaces a virtual method for each type.
enum Scalar {
    case bool(Bool)
    case int(Int)
    case int8(Int8)
    case int16(Int16)
    case int32(Int32)
    case int64(Int64)
    case uint(UInt)
    case uint8(UInt8)
    case uint16(UInt16)
    case uint32(UInt32)
    case uint64(UInt64)
    case float(Float)
    case double(Double)
    case string(String)
    case data(Data)
    case date(Date)
    /// Values that would make every other case larger, in boxes.
    indirect case int128(Int128)
    indirect case uint128(UInt128)
    indirect case decimal(Decimal)
    indirect case url(URL)

    /// While decoding: no value, a nil, and a value that is no scalar.
    case absent
    case null
    case other
}

extension Scalar {
    /// The value in an `Any`, of exactly the type it came as.
    var boxed: Any {
        switch self {
        case .string(let value): value
        case .int(let value): value
        case .double(let value): value
        case .bool(let value): value
        case .date(let value): value
        case .int8(let value): value
        case .int16(let value): value
        case .int32(let value): value
        case .int64(let value): value
        case .uint(let value): value
        case .uint8(let value): value
        case .uint16(let value): value
        case .uint32(let value): value
        case .uint64(let value): value
        case .float(let value): value
        case .data(let value): value
        case .int128(let value): value
        case .uint128(let value): value
        case .decimal(let value): value
        case .url(let value): value
        case .absent, .null, .other: Any?.none as Any
        }
    }
}

// MARK: - Conversion of numbers of any kind to the requested kind

/// The result of a conversion.
enum Conversion<Number> {
    case number(Number)
    /// A number that the type does not hold under the strategy.
    case inexact
    case notNumeric
}

extension Scalar {
    /// As an integer, under the strategy.
    func integer<I: FixedWidthInteger>(
        _ type: I.Type, _ strategy: KeyValueDecoder.IntDecodingStrategy
    ) -> Conversion<I> {
        switch self {
        case .int(let value): Self.fit(value, strategy)
        case .int8(let value): Self.fit(value, strategy)
        case .int16(let value): Self.fit(value, strategy)
        case .int32(let value): Self.fit(value, strategy)
        case .int64(let value): Self.fit(value, strategy)
        case .uint(let value): Self.fit(value, strategy)
        case .uint8(let value): Self.fit(value, strategy)
        case .uint16(let value): Self.fit(value, strategy)
        case .uint32(let value): Self.fit(value, strategy)
        case .uint64(let value): Self.fit(value, strategy)
        case .int128(let value): Self.fit(value, strategy)
        case .uint128(let value): Self.fit(value, strategy)
        case .float(let value): Self.fit(floating: Double(value), strategy)
        case .double(let value): Self.fit(floating: value, strategy)
        case .decimal(let value): Self.fit(decimal: value, strategy)
        default: .notNumeric
        }
    }

    private static func fit<Source: FixedWidthInteger, I: FixedWidthInteger>(
        _ value: Source, _ strategy: KeyValueDecoder.IntDecodingStrategy
    ) -> Conversion<I> {
        if let exact = I(exactly: value) { return .number(exact) }
        guard case .clamping = strategy else { return .inexact }
        return .number(I(clamping: value))
    }

    private static func fit<I: FixedWidthInteger>(
        floating value: Double, _ strategy: KeyValueDecoder.IntDecodingStrategy
    ) -> Conversion<I> {
        switch strategy {
        case .exact: return I(exactly: value).map { .number($0) } ?? .inexact
        case .rounding(let rule): return I(exactly: value.rounded(rule)).map { .number($0) } ?? .inexact
        case .clamping(let rule):
            let rounded = rule.map { value.rounded($0) } ?? value
            if let exact = I(exactly: rounded) { return .number(exact) }
            guard !value.isNaN, rounded == rounded.rounded() else { return .inexact }
            return .number(rounded < 0 ? .min : .max)
        }
    }

    private static func fit<I: FixedWidthInteger>(
        decimal value: Decimal, _ strategy: KeyValueDecoder.IntDecodingStrategy
    ) -> Conversion<I> {
        guard var digits = DecimalDigits(value) else { return .inexact }
        switch strategy {
        case .exact: break
        case .rounding(let rule): digits.round(rule)
        case .clamping(let rule): rule.map { digits.round($0) }
        }
        guard digits.isIntegral else { return .inexact }
        if let exact = I(digits.integer) { return .number(exact) }
        guard case .clamping = strategy else { return .inexact }
        return .number(digits.isNegative ? .min : .max)
    }

    /// As a binary floating-point number, the nearest there is.
    func floating<F: BinaryFloatingPoint & LosslessStringConvertible>(_ type: F.Type) -> Conversion<F> {
        switch self {
        case .double(let value): Self.narrowed(value)
        case .float(let value): .number(F(value))
        case .int(let value): .number(F(value))
        case .int8(let value): .number(F(value))
        case .int16(let value): .number(F(value))
        case .int32(let value): .number(F(value))
        case .int64(let value): .number(F(value))
        case .uint(let value): .number(F(value))
        case .uint8(let value): .number(F(value))
        case .uint16(let value): .number(F(value))
        case .uint32(let value): .number(F(value))
        case .uint64(let value): .number(F(value))
        case .int128(let value): .number(F(value))
        case .uint128(let value): F(value).isFinite ? .number(F(value)) : .inexact
        case .decimal(let value): F(value.description).map { .number($0) } ?? .inexact
        default: .notNumeric
        }
    }

    /// A finite number that the narrower type would make infinite is not representable by it.
    private static func narrowed<Source: BinaryFloatingPoint, F: BinaryFloatingPoint>(
        _ value: Source
    ) -> Conversion<F> {
        let result = F(value)
        return result.isInfinite && value.isFinite ? .inexact : .number(result)
    }

    /// As a decimal number: integers exactly, binary fractions by the shortest digits that name them.
    var decimal: Conversion<Decimal> {
        switch self {
        case .decimal(let value): .number(value)
        case .int(let value): .number(Decimal(value))
        case .int8(let value): .number(Decimal(value))
        case .int16(let value): .number(Decimal(value))
        case .int32(let value): .number(Decimal(value))
        case .int64(let value): .number(Decimal(value))
        case .uint(let value): .number(Decimal(value))
        case .uint8(let value): .number(Decimal(value))
        case .uint16(let value): .number(Decimal(value))
        case .uint32(let value): .number(Decimal(value))
        case .uint64(let value): .number(Decimal(value))
        case .int128(let value): Self.decimal(value.description)
        case .uint128(let value): Self.decimal(value.description)
        case .float(let value) where value.isNaN: .number(.nan)
        case .double(let value) where value.isNaN: .number(.nan)
        case .float(let value) where value.isFinite: Self.decimal(value.description)
        case .double(let value) where value.isFinite: Self.decimal(value.description)
        case .float, .double: .inexact
        default: .notNumeric
        }
    }

    private static func decimal(_ text: String) -> Conversion<Decimal> {
        DecimalDigits.number(text).map { .number($0) } ?? .inexact
    }
}
