internal import FoundationEssentials

// The content of an `Any`, by its dynamic type.

extension Scalar {
    /// The scalar in an `Any`; `other` where it holds another value.
    init(in value: Any) {
        func open<Value>(_ value: Value) -> Scalar { Scalar(opened: value) }
        self = open(value)
        if case .other = self { self = Scalar(unfamiliar: value) }
    }

    private init<Value>(opened value: Value) {
        if Value.self == String.self {
            self = .string(exactly(value))
            return
        }
        if Value.self == Int.self {
            self = .int(exactly(value))
            return
        }
        if Value.self == Double.self {
            self = .double(exactly(value))
            return
        }
        if Value.self == Bool.self {
            self = .bool(exactly(value))
            return
        }
        self = Self.familiar(value, KnownType.of(Value.self))
    }

    /// The scalar of a value whose type the coders know as `known`; `other` where that has no scalar.
    static func familiar<Value>(_ value: Value, _ known: KnownType) -> Scalar {
        switch known {
        case .date: .date(exactly(value))
        case .data: .data(exactly(value))
        case .int8: .int8(exactly(value))
        case .int16: .int16(exactly(value))
        case .int32: .int32(exactly(value))
        case .int64: .int64(exactly(value))
        case .uint: .uint(exactly(value))
        case .uint8: .uint8(exactly(value))
        case .uint16: .uint16(exactly(value))
        case .uint32: .uint32(exactly(value))
        case .uint64: .uint64(exactly(value))
        case .float: .float(exactly(value))
        case .int128: .int128(exactly(value))
        case .uint128: .uint128(exactly(value))
        case .decimal: .decimal(exactly(value))
        case .url: .url(exactly(value))
        default: .other
        }
    }

    /// The scalar in an Optional, or in a type of a library that this module does not import.
    private init(unfamiliar value: Any) {
        self = .other
        switch KnownType.of(type(of: value)) {
        case .plain: break
        default: return
        }
        guard let present = flattened(value) else {
            self = .null
            return
        }
        if let foreign = present as? any ForeignValue {
            if let value = foreign.swiftValue { self = Scalar(native: value) }
        } else {
            self = Scalar(native: present)
        }
    }

    private init(native value: Any) {
        func open<Value>(_ value: Value) -> Scalar { Scalar(opened: value) }
        self = open(value)
        if case .other = self, let wider = widened(value) { self = wider }
    }
}

/// Numbers of types that have no case of their own.
private func widened(_ value: Any) -> Scalar? {
    switch value {
    case let value as any BinaryInteger:
        Int128(exactly: value).map { .int128($0) } ?? UInt128(exactly: value).map { .uint128($0) }
    case let value as any BinaryFloatingPoint: .double(Double(value))
    default: nil
    }
}

/// The dictionary in an `Any`; nil where there is none, or one whose keys are not strings.
func stringKeyed(_ value: Any) -> [String: Any]? {
    // Not generic over the result: the Optional of a generic type has to be looked up each time.
    func open<Value>(_ value: Value) -> [String: Any]? {
        Value.self == [String: Any].self ? exactly(value, as: [String: Any].self) : nil
    }
    if let entries = open(value) { return entries }
    guard let present = flattened(value) else { return nil }
    if let foreign = present as? any ForeignValue { return foreign.swiftValue as? [String: Any] }
    return present as? [String: Any]
}

/// The array in an `Any`; nil where there is none.
func listed(_ value: Any) -> [Any]? {
    func open<Value>(_ value: Value) -> [Any]? { Value.self == [Any].self ? exactly(value, as: [Any].self) : nil }
    if let elements = open(value) { return elements }
    guard let present = flattened(value) else { return nil }
    if let foreign = present as? any ForeignValue { return foreign.swiftValue as? [Any] }
    return present as? [Any]
}

/// A value of a class that this module does not know, which gives the coders its Swift form.
///
/// The face over full Foundation makes the NS types conform.
package protocol ForeignValue {
    /// The value in Swift's own types, one level deep: a `[String: Any]` or `[Any]` may hold foreign values again.
    /// Nil where Swift has no such value, as for a dictionary whose keys are not strings.
    var swiftValue: Any? { get }
}

/// A number of a class that this module does not know.
package protocol ForeignNumber: ForeignValue {}
