/// The source of a ``Defaulted`` property's value where there is none to decode.
///
/// ```swift
/// enum StandardVolume: DefaultSource {
///     static var defaultValue: Int { 7 }
/// }
///
/// struct Settings: Codable {
///     @Defaulted<StandardVolume> var volume: Int
///     @Default.Empty var tags: [String]
/// }
/// ```
public protocol DefaultSource {
    /// The type of the property.
    associatedtype Value

    /// The value of a property whose key is missing.
    static var defaultValue: Value { get }
}

/// A property that has a default where its key is missing, or its value is nil; a value of another kind is an error as
/// ever.
///
/// It is coded as its value alone, by this module's coders and by every other.
///
/// ```swift
/// enum StandardVolume: DefaultSource {
///     static var defaultValue: Int { 7 }
/// }
/// struct Settings: Codable {
///     @Defaulted<StandardVolume> var volume: Int
/// }
/// let settings = try KeyValueDecoder().decode(Settings.self, from: [String: Any]())
/// print(settings.volume, settings.$volume.isMissing)  // 7 true
/// ```
@propertyWrapper public struct Defaulted<Source: DefaultSource> {
    /// The property's value: the decoded one, or the default.
    public var wrappedValue: Source.Value
    /// Whether there was no value to decode, so that the value is, or was at first, the default.
    public private(set) var isMissing = false

    /// A property with a value of its own instead of the default.
    public init(wrappedValue: Source.Value) { self.wrappedValue = wrappedValue }

    /// The default.
    public init() { wrappedValue = Source.defaultValue }

    /// The wrapper itself, which tells whether the value was missing: `$volume.isMissing`.
    public var projectedValue: Self { self }

    /// The default for a missing value.
    fileprivate static var missing: Self {
        var missing = Self()
        missing.isMissing = true
        return missing
    }
}

extension Defaulted: Decodable where Source.Value: Decodable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        self = container.decodeNil() ? .missing : Self(wrappedValue: try container.decode(Source.Value.self))
    }
}

extension Defaulted: Encodable where Source.Value: Encodable {
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

extension Defaulted: Equatable where Source.Value: Equatable {
    public static func == (left: Self, right: Self) -> Bool { left.wrappedValue == right.wrappedValue }
}

extension Defaulted: Hashable where Source.Value: Hashable {
    public func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}

extension Defaulted: Sendable where Source.Value: Sendable {}

extension KeyedDecodingContainer {
    /// Called by synthesised decoding of a ``Defaulted`` property: gives the default for a missing key.
    public func decode<Source: DefaultSource>(
        _ type: Defaulted<Source>.Type, forKey key: Key
    ) throws -> Defaulted<Source> where Source.Value: Decodable {
        try decodeIfPresent(Source.Value.self, forKey: key).map { Defaulted(wrappedValue: $0) } ?? .missing
    }
}

/// Defaults that need no source of one's own: `@Default.False var isHidden: Bool`.
///
/// ```swift
/// struct Page: Codable {
///     @Default.False var isHidden: Bool
///     @Default.True var isEditable: Bool
///     @Default.Zero var visits: Int
///     @Default.EmptyString var title: String
///     @Default.Empty var tags: [String]
///     @Default.EmptyDictionary var sizes: [String: Int]
/// }
/// let page = try KeyValueDecoder().decode(Page.self, from: ["visits": 3])
/// print(page.isHidden, page.isEditable, page.visits)  // false true 3
/// print(page.title.isEmpty, page.tags, page.sizes)  // true [] [:]
/// ```
public enum Default {
    /// False, of a Bool.
    public typealias False = Defaulted<Sources.False>
    /// True, of a Bool.
    public typealias True = Defaulted<Sources.True>
    /// 0, of any numeric type.
    public typealias Zero<Value: Numeric> = Defaulted<Sources.Zero<Value>>
    /// The empty string.
    public typealias EmptyString = Defaulted<Sources.EmptyString>
    /// An empty array, set, or ``LossyArray``.
    public typealias Empty<Value: ExpressibleByArrayLiteral> = Defaulted<Sources.Empty<Value>>
    /// An empty dictionary.
    public typealias EmptyDictionary<Value: ExpressibleByDictionaryLiteral> = Defaulted<Sources.EmptyDictionary<Value>>

    /// The sources of the defaults in ``Default``.
    ///
    /// ```swift
    /// struct Page: Codable {
    ///     @Defaulted<Default.Sources.True> var isVisible: Bool  // as @Default.True
    /// }
    /// ```
    public enum Sources {
        /// Gives false.
        ///
        /// ```swift
        /// struct Page: Codable { @Default.False var isHidden: Bool }
        /// ```
        public enum False: DefaultSource { public static var defaultValue: Bool { false } }
        /// Gives true.
        ///
        /// ```swift
        /// struct Page: Codable { @Default.True var isVisible: Bool }
        /// ```
        public enum True: DefaultSource { public static var defaultValue: Bool { true } }
        /// Gives 0 of a numeric type.
        ///
        /// ```swift
        /// struct Page: Codable { @Default.Zero var visits: Int }
        /// ```
        public enum Zero<Value: Numeric>: DefaultSource { public static var defaultValue: Value { .zero } }
        /// Gives the empty string.
        ///
        /// ```swift
        /// struct Page: Codable { @Default.EmptyString var title: String }
        /// ```
        public enum EmptyString: DefaultSource { public static var defaultValue: String { "" } }
        /// Gives an empty array, set, or other type that an array literal makes.
        ///
        /// ```swift
        /// struct Page: Codable { @Default.Empty var tags: Set<String> }
        /// ```
        public enum Empty<Value: ExpressibleByArrayLiteral>: DefaultSource {
            public static var defaultValue: Value { [] }
        }
        /// Gives an empty dictionary.
        ///
        /// ```swift
        /// struct Page: Codable { @Default.EmptyDictionary var sizes: [String: Int] }
        /// ```
        public enum EmptyDictionary<Value: ExpressibleByDictionaryLiteral>: DefaultSource {
            public static var defaultValue: Value { [:] }
        }
    }
}
