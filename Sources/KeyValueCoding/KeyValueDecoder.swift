internal import FoundationEssentials

#if canImport(Combine)
public import Combine
#endif

/// Decodes values from `Any`, made of dictionaries, arrays and scalars, or from a property-list tree.
///
/// A value type: a copy can be used on any thread at any time, and one value on several threads at once.
public struct KeyValueDecoder: Sendable {
    /// What `init(from:)` finds in every decoder's `userInfo`.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    public var dateDecodingStrategy = DateDecodingStrategy.date
    public var intDecodingStrategy = IntDecodingStrategy.exact
    public var keyDecodingStrategy = KeyDecodingStrategy.useDefaultKeys
    public var nilDecodingStrategy = NilDecodingStrategy.default
    public var dataDecodingStrategy = DataDecodingStrategy.data
    public var nonConformingFloatDecodingStrategy = NonConformingFloatDecodingStrategy.pass
    public var leftOverKeyDecodingStrategy = LeftOverKeyDecodingStrategy.ignore

    public init() {}

    /// Reads a value of the given type from `value`.
    ///
    /// - Throws: a `DecodingError` whose path and text name the value at fault, such as
    ///   `Expected String at SELF.names[2], found Int`; and what `init(from:)` throws.
    public func decode<T: Decodable>(_ type: T.Type = T.self, from value: Any) throws -> T {
        let root = AnyDecodingNode(DecodingContext(self), value)
        return try root.decodeRoot { try $0.decodeWhole(type) }
    }
}

#if canImport(Combine)
extension KeyValueDecoder: TopLevelDecoder {}
#endif
