// KeyValueCoding is Codable to and from Any and the tree: an encoder and a decoder, whose strategies are the same for
// both, on FoundationEssentials alone. It knows no bytes of a format and no store.

internal import FoundationEssentials
public import PropertyLists

#if canImport(Combine)
public import Combine
#endif

/// Encodes values to `Any`, made of dictionaries, arrays and scalars, or to a property-list tree.
///
/// A value type: a copy can be used on any thread at any time, and one value on several threads at once.
///
/// ```swift
/// struct Window: Codable { var width: Int }
/// let value = try KeyValueEncoder().encode(Window(width: 640)) as? [String: Any]
/// print(value?["width"] as? Int ?? 0)  // 640
/// let list = try KeyValueEncoder().encodeToPropertyList(Window(width: 640))
/// print(list?["width"]?.integer ?? 0)  // 640
/// ```
public struct KeyValueEncoder: Sendable {
    /// The `userInfo` of every encoder that `encode(to:)` is given.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    /// How dates are written; as `Date` values unless said otherwise.
    public var dateEncodingStrategy = DateEncodingStrategy.date
    /// How property names become keys; as they are, unless said otherwise.
    public var keyEncodingStrategy = KeyEncodingStrategy.useDefaultKeys
    /// The value written for nil elements and nil alone; an Optional without a value, in a property-list tree
    /// `"$null"`, unless said otherwise.
    public var nilEncodingStrategy = NilEncodingStrategy.default
    /// How data is written; as `Data` values unless said otherwise.
    public var dataEncodingStrategy = DataEncodingStrategy.data
    /// How infinities and not-a-number are written; as they are, unless said otherwise.
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
    /// - Throws: `EncodingError.invalidValue` with the path of a value that cannot be encoded, and the errors of
    ///   `encode(to:)`.
    public func encode<T: Encodable>(_ value: T) throws -> Any? {
        let root = AnyEncodingNode(EncodingOutput(EncodingContext(self)))
        defer { root.finish() }
        try root.encodeRoot(value)
        return root.take()
    }
}

// MARK: - The property-list tree

extension KeyValueEncoder {
    /// Gives the value as a property-list tree, without an `Any` between, under the same strategies.
    ///
    /// URLs, UUIDs and decimal numbers become strings, 128-bit integers must fit in 64 bits, and nil inside an array
    /// is `"$null"` unless the nil strategy says otherwise.
    ///
    /// - Returns: Swift nil only for a nil value under ``NilCodingStrategy/removed``.
    /// - Throws: `EncodingError.invalidValue` with the path of a value that cannot be encoded, and the errors of
    ///   `encode(to:)`.
    public func encodeToPropertyList<T: Encodable>(_ value: T) throws -> PropertyList? {
        try encodeToPropertyList(value, at: nil)
    }

    /// Gives the value as a tree for `location` in a holder such as a store: every path of an error and of an encoder
    /// begins with it. Key strategies are given paths inside the value.
    package func encodeToPropertyList<T: Encodable>(
        _ value: T, at location: PropertyListPath?
    ) throws -> PropertyList? {
        try form(of: value, EncodingContext(self, location: location)).list
    }

    /// As ``encodeToPropertyList(_:at:)``, for a store: equal sets, and equal dictionaries that become arrays, give equal
    /// trees.
    package func storedForm<T: Encodable>(of value: T, at location: PropertyListPath?) throws -> StoredForm {
        try form(of: value, EncodingContext(self, location: location, isForStore: true))
    }

    private func form<T: Encodable>(of value: T, _ context: EncodingContext) throws -> StoredForm {
        let root = TreeEncodingNode(EncodingOutput(context))
        do {
            try root.encodeRoot(value)
            return StoredForm(list: try root.document(), keysLeftOut: root.output.keysLeftOut)
        } catch let error as PropertyListError {
            throw EncodingError.invalidValue(value, error.codingContext(root.context))
        }
    }
}

/// A value as a store holds it.
package struct StoredForm {
    /// The tree; nil for a nil value under ``NilCodingStrategy/removed``.
    package var list: PropertyList?
    /// The paths of keys that encoding mentions and leaves out, since their values are nil.
    package var keysLeftOut: [PropertyListPath]

    package init(list: PropertyList? = nil, keysLeftOut: [PropertyListPath] = []) {
        self.list = list
        self.keysLeftOut = keysLeftOut
    }
}

extension PropertyListError {
    /// The tree's error as an encoding error.
    fileprivate func codingContext(_ context: EncodingContext) -> EncodingError.Context {
        let codingPath = (context.location ?? []).appending(path).codingPath
        return CodingError(unwritable: self).encodingContext(at: codingPath, in: context.location, underlying: self)
    }
}

#if canImport(Combine)
extension KeyValueEncoder: TopLevelEncoder {}
#endif
