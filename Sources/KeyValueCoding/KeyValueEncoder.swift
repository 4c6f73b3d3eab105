internal import FoundationEssentials

#if canImport(Combine)
public import Combine
#endif

/// Encodes values to `Any`, made of dictionaries, arrays and scalars, or to a property-list tree.
///
/// A value type: a copy can be used on any thread at any time, and one value on several threads at once.
public struct KeyValueEncoder: Sendable {
    /// What `encode(to:)` finds in every encoder's `userInfo`.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    public var dateEncodingStrategy = DateEncodingStrategy.date
    public var keyEncodingStrategy = KeyEncodingStrategy.useDefaultKeys
    public var nilEncodingStrategy = NilEncodingStrategy.default
    public var dataEncodingStrategy = DataEncodingStrategy.data
    public var nonConformingFloatEncodingStrategy = NonConformingFloatEncodingStrategy.pass
    public var dictionaryKeyEncodingStrategy = DictionaryKeyEncodingStrategy.flat

    public init() {}

    /// Gives the value as `Any`: scalars keep their dynamic type, arrays and sets become `[Any]`, all that has keys
    /// becomes `[String: Any]`.
    ///
    /// - Returns: Swift nil only for a nil value under ``NilCodingStrategy/removed``.
    /// - Throws: `EncodingError.invalidValue` with the path of what cannot be encoded, and what `encode(to:)` throws.
    public func encode<T: Encodable>(_ value: T) throws -> Any? {
        let root = AnyEncodingNode(EncodingContext(self))
        root.lends = true
        defer { root.release() }
        try root.encodeRoot(value) { if try !root.encodeCollection(value) { try value.encode(to: $0) } }
        return root.take()
    }
}

#if canImport(Combine)
extension KeyValueEncoder: TopLevelEncoder {}
#endif
