internal import FoundationEssentials
public import PropertyLists

#if canImport(Combine)
public import Combine
#endif

/// Decodes values from `Any`, made of dictionaries, arrays and scalars, or from a property-list tree.
///
/// A value type: a copy can be used on any thread at any time, and one value on several threads at once.
///
/// ```swift
/// struct Window: Codable { var width: Int }
/// let window = try KeyValueDecoder().decode(Window.self, from: ["width": 640])
/// print(window.width)  // 640
/// ```
public struct KeyValueDecoder: Sendable {
    /// The `userInfo` of every decoder that `init(from:)` is given.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    /// How dates are read; from `Date` values unless said otherwise.
    public var dateDecodingStrategy = DateDecodingStrategy.date
    /// How numbers become integers; only those that the type holds exactly, unless said otherwise.
    public var intDecodingStrategy = IntDecodingStrategy.exact
    /// How property names are looked up; as they are, unless said otherwise.
    public var keyDecodingStrategy = KeyDecodingStrategy.useDefaultKeys
    /// The values taken for nil; an Optional without a value, in a property-list tree null and `"$null"`, unless said
    /// otherwise.
    public var nilDecodingStrategy = NilDecodingStrategy.default
    /// How data is read; from `Data` values unless said otherwise.
    public var dataDecodingStrategy = DataDecodingStrategy.data
    /// How infinities and not-a-number are read; as they are, unless said otherwise.
    public var nonConformingFloatDecodingStrategy = NonConformingFloatDecodingStrategy.pass
    /// The treatment of keys that decoding did not ask for; they are ignored unless said otherwise.
    public var leftOverKeyDecodingStrategy = LeftOverKeyDecodingStrategy.ignore
    /// The numbers that are read as a Bool; Foundation's number objects 0 and 1, unless said otherwise.
    public var boolDecodingStrategy = BoolDecodingStrategy.numberObjects

    /// A decoder that reads the output of a ``KeyValueEncoder`` with the strategies of its own
    /// ``KeyValueEncoder/init()``.
    public init() {}

    /// Reads a value of the given type from `value`, which may be a property-list tree: that is read as it is, without
    /// an `Any` for each value in it, under the same strategies. In a tree a null and, unless the nil strategy says
    /// otherwise, the string `"$null"` are nil, and decimal numbers are read from strings, too.
    ///
    /// - Throws: a `DecodingError` whose path and text name the value at fault, such as
    ///   `Expected String at SELF.names[2], found Int`; and the errors of `init(from:)`.
    public func decode<T: Decodable>(_ type: T.Type = T.self, from value: Any) throws -> T {
        if let list = propertyList(value) { return try decode(type, from: list, at: nil) }
        let root = AnyDecodingNode(DecodingContext(self), value)
        return try root.decodeRoot { try $0.decodeWhole(type) }
    }

    private func propertyList(_ value: Any) -> PropertyList? {
        func open<Value>(_ value: Value) -> PropertyList? {
            Value.self == PropertyList.self ? exactly(value, as: PropertyList.self) : nil
        }
        return open(value)
    }
}

// MARK: - The property-list tree

extension KeyValueDecoder {
    /// Reads a value of a property-list tree, in which a key that is missing has the value at the same place in
    /// `defaults`, at every depth.
    ///
    /// Structs are filled in this way, and a Swift `Dictionary` has the entries of both. Stored values of other kinds
    /// stand alone: an array is one value, an enum with associated values is the stored case. A container's `allKeys`
    /// are those of the tree, which is not changed.
    ///
    /// ```swift
    /// struct Window: Codable { var width = 640, title = "Main" }
    /// let window = try KeyValueDecoder().decode(from: ["width": 800], defaults: Window())
    /// print(window.width, window.title)  // 800 Main
    /// ```
    ///
    /// - Parameter encoder: encodes the defaults: its strategies have to be those that the tree was written with.
    /// - Throws: as ``decode(_:from:)``, and the `EncodingError` of defaults that cannot be encoded.
    public func decode<T: Codable>(
        _ type: T.Type = T.self, from list: PropertyList, defaults: T, encoder: KeyValueEncoder = KeyValueEncoder()
    ) throws -> T {
        try decode(type, from: list, at: nil, filledBy: try encoder.encodeToPropertyList(defaults))
    }

    /// Reads a value of a property-list tree that is at `location` in a holder such as a store: every path of an error,
    /// of a decoder, and of left-over keys begins with it. Key strategies are given paths inside the value.
    ///
    /// - Parameter defaults: gives the values of keys that are missing.
    package func decode<T: Decodable>(
        _ type: T.Type, from list: PropertyList, at location: PropertyListPath?, filledBy defaults: PropertyList? = nil
    ) throws -> T {
        let context = DecodingContext(self, forTree: true, location: location)
        let root = TreeDecodingNode(context, list, filledBy: defaults)
        return try root.decodeRoot { try $0.decodeWhole(type) }
    }

    /// Reads a value from an `Any` that came out of a property list: as from the tree, decimal numbers are read from
    /// strings, too.
    package func decode<T: Decodable>(_ type: T.Type, fromPropertyListValue value: Any) throws -> T {
        let root = AnyDecodingNode(DecodingContext(self, forTree: true), value)
        return try root.decodeRoot { try $0.decodeWhole(type) }
    }
}

#if canImport(Combine)
extension KeyValueDecoder: TopLevelDecoder {}
#endif
