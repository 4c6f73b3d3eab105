/// The kinds of value that a property list can hold, and `null`, which only memory can.
///
/// The raw values are those of `kvcodable_nodes.h`.
@frozen public enum PropertyListKind: UInt32, Sendable, Hashable, CaseIterable {
    case null = 0
    case boolean = 1
    /// A whole number that fits in `Int64`.
    case integer = 2
    /// A whole number above `Int64.max` that fits in `UInt64`.
    case unsigned = 3
    case real = 4
    /// Seconds since 2001-01-01T00:00:00Z, as a `Double`.
    case date = 5
    /// A reference of a keyed archive.
    case uid = 6
    case string = 7
    case data = 8
    case array = 9
    case dictionary = 10
}

extension PropertyListKind: CustomStringConvertible {
    /// The name that error messages use: Swift's name of the type that the kind decodes as.
    public var description: String {
        switch self {
        case .null: "nil"
        case .boolean: "Bool"
        case .integer: "Int"
        case .unsigned: "UInt"
        case .real: "Double"
        case .date: "Date"
        case .uid: "UID"
        case .string: "String"
        case .data: "Data"
        case .array: "Array"
        case .dictionary: "Dictionary"
        }
    }

    package var isContainer: Bool { self == .array || self == .dictionary }
}
