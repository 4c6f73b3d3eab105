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
    /// How dates are read; from `Date` values unless said otherwise.
    public var dateDecodingStrategy = DateDecodingStrategy.date
    /// How numbers become integers; only those that the type holds exactly, unless said otherwise.
    public var intDecodingStrategy = IntDecodingStrategy.exact
    /// How property names are looked up; as they are, unless said otherwise.
    public var keyDecodingStrategy = KeyDecodingStrategy.useDefaultKeys
    /// What is taken for nil; an Optional without a value, in a property-list tree null and `"$null"`, unless said
    /// otherwise.
    public var nilDecodingStrategy = NilDecodingStrategy.default
    /// How data is read; from `Data` values unless said otherwise.
    public var dataDecodingStrategy = DataDecodingStrategy.data
    /// How infinities and what is not a number are read; as they are, unless said otherwise.
    public var nonConformingFloatDecodingStrategy = NonConformingFloatDecodingStrategy.pass
    /// What becomes of keys that decoding did not ask for; they are ignored unless said otherwise.
    public var leftOverKeyDecodingStrategy = LeftOverKeyDecodingStrategy.ignore

    /// A decoder that reads what a ``KeyValueEncoder`` with the strategies of its own ``KeyValueEncoder/init()``
    /// writes.
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
