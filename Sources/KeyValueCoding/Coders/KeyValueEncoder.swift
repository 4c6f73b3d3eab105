// KeyValueCoding is Codable to and from Any and the tree: an encoder and a decoder, whose strategies are the same for
// both, on FoundationEssentials alone. It knows no bytes of a format and no store.

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
    /// How dates are written; as `Date` values unless said otherwise.
    public var dateEncodingStrategy = DateEncodingStrategy.date
    /// How property names become keys; as they are, unless said otherwise.
    public var keyEncodingStrategy = KeyEncodingStrategy.useDefaultKeys
    /// What is written for nil elements and nil alone; an Optional without a value, in a property-list tree `"$null"`,
    /// unless said otherwise.
    public var nilEncodingStrategy = NilEncodingStrategy.default
    /// How data is written; as `Data` values unless said otherwise.
    public var dataEncodingStrategy = DataEncodingStrategy.data
    /// How infinities and what is not a number are written; as they are, unless said otherwise.
    public var nonConformingFloatEncodingStrategy = NonConformingFloatEncodingStrategy.pass
    /// How dictionaries are written whose keys are no strings or integers; as arrays of keys and values in turn, as
    /// `Codable` does it, unless said otherwise.
    public var dictionaryKeyEncodingStrategy = DictionaryKeyEncodingStrategy.flat

    /// An encoder whose output a ``KeyValueDecoder`` with the strategies of its own ``KeyValueDecoder/init()`` reads
    /// back.
    public init() {}

    /// Gives the value as `Any`: scalars keep their dynamic type, arrays and sets become `[Any]`, all that has keys
    /// becomes `[String: Any]`.
    ///
    /// - Returns: Swift nil only for a nil value under ``NilCodingStrategy/removed``.
    /// - Throws: `EncodingError.invalidValue` with the path of what cannot be encoded, and what `encode(to:)` throws.
    public func encode<T: Encodable>(_ value: T) throws -> Any? {
        let root = AnyEncodingNode(EncodingContext(self))
        defer { root.finish() }
        try root.encodeRoot(value)
        return root.take()
    }
}

#if canImport(Combine)
extension KeyValueEncoder: TopLevelEncoder {}
#endif
