internal import PropertyLists

/// The stand-in for nil where a key or an element cannot simply be left out.
///
/// A nil property of a type with synthesised coding is left out under every strategy: the strategy is about nil
/// elements of arrays, nil values of dictionaries, `encodeNil`, and a nil top-level value.
///
/// ```swift
/// var encoder = KeyValueEncoder()
/// encoder.nilEncodingStrategy = .removed
/// print(try encoder.encode([1, nil, 3]) as? [Int] ?? [])  // [1, 3]
/// encoder.nilEncodingStrategy = .sentinel("none")
/// print(try encoder.encode(["a", nil]) as? [String] ?? [])  // ["a", "none"]
/// ```
public enum NilCodingStrategy: Sendable {
    /// Encoding drops the element or key; a nil top-level value encodes to Swift nil. Decoding takes an Optional
    /// without a value for nil.
    case removed

    /// A value of the caller's choice stands for nil, and `isNull` recognises it while decoding.
    ///
    /// `isNull` may be called from any thread that decodes.
    case placeholder(any Sendable, isNull: @Sendable (Any) -> Bool)

    /// An Optional without a value stands for nil. In the property-list tree, which holds no Optional, `"$null"` does.
    case optionalNone

    /// A string stands for nil. A property declared as `String` still reads the same text as a string.
    case sentinel(String)

    /// An Optional without a value inside the `Any`; it can be cast to any Optional.
    public static var `default`: NilCodingStrategy { .optionalNone }

    /// The string `"$null"`, as keyed archives write it: property lists can hold it.
    public static var stringNull: NilCodingStrategy { .sentinel("$null") }

    /// Whether `value` stands for nil under this strategy; Swift nil always does.
    public func isNull(_ value: Any?) -> Bool {
        guard let value else { return true }
        return isNull(value)
    }

    /// Whether `value` stands for nil under this strategy.
    public func isNull(_ value: Any) -> Bool {
        switch self {
        case .removed, .optionalNone: isOptionalNone(value)
        case .sentinel(let text): (value as? String) == text
        case .placeholder(_, let isNull): isNull(value)
        }
    }

    /// The value that encoding writes for nil; nil where it writes none.
    var encoded: Any? {
        switch self {
        case .removed: nil
        case .placeholder(let value, _): .some(value)
        case .optionalNone: .some(Any?.none as Any)
        case .sentinel(let text): .some(text)
        }
    }
}

/// Whether `value` is an Optional that, however deeply nested, holds nothing.
private func isOptionalNone(_ value: Any) -> Bool {
    flattened(value) == nil
}

/// `value` without the Optionals around it; nil where the innermost has no value, or where they never end.
func flattened(_ value: Any) -> Any? {
    var current = value
    // Most are of a type that is known to be no Optional; to ask for the conformance costs more than all else here.
    for _ in 0..<CodingLimits.optionals {
        if KnownType.of(type(of: current)) != .plain { return current }
        if let optional = sameOptional(current) {
            guard let wrapped = optional else { return nil }
            current = wrapped
            continue
        }
        guard let optional = current as? any OptionalValue else { return current }
        guard let wrapped = optional.wrapped else { return nil }
        current = wrapped
    }
    return nil
}

/// The Optional of Any in an `Any`; nil for a value of another type.
func sameOptional(_ value: Any) -> Any?? {
    func open<Value>(_ value: Value) -> Any?? { Value.self == Any?.self ? .some(exactly(value, as: Any?.self)) : nil }
    return open(value)
}
