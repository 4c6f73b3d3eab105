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
