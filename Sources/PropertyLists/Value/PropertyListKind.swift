/// The kinds of value that a property list can hold, and `null`, which only memory can.
///
/// The raw values are those of `kvcodable_nodes.h`.
///
/// ```swift
/// let window = try PropertyList(any: ["width": 640])
/// switch window["width"]?.kind {
/// case .integer, .unsigned: print("a whole number")
/// case let kind?: print("no whole number, but \(kind)")
/// case nil: print("no width")
/// }
/// ```
@frozen public enum PropertyListKind: UInt32, Sendable, Hashable, CaseIterable {
    /// No value: in memory alone, no file can hold it.
    case null = 0
    /// True or false.
    case boolean = 1
    /// A whole number that fits in `Int64`.
    case integer = 2
    /// A whole number above `Int64.max` that fits in `UInt64`.
    case unsigned = 3
    /// A floating-point number, a `Double`.
    case real = 4
    /// Seconds since 2001-01-01T00:00:00Z, as a `Double`.
    case date = 5
    /// A reference of a keyed archive.
    case uid = 6
    /// Text, valid UTF-8.
    case string = 7
    /// Bytes.
    case data = 8
    /// Values in their order.
    case array = 9
    /// Values by keys, which are strings and different from one another, byte for byte.
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
