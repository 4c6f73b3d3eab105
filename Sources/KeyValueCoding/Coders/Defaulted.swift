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
@propertyWrapper public struct Defaulted<Source: DefaultSource> {
    /// The property's value: the decoded one, or the default.
    public var wrappedValue: Source.Value
    /// Whether there was no value to decode, so that the value is, or was at first, the default.
    public private(set) var isMissing = false

    /// A property with a value of its own in place of the default.
    public init(wrappedValue: Source.Value) { self.wrappedValue = wrappedValue }

    /// The default.
    public init() { wrappedValue = Source.defaultValue }

    /// The wrapper itself, which tells whether the value was missing: `$volume.isMissing`.
    public var projectedValue: Self { self }

    /// The default in place of a missing value.
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
    public enum Sources {
        /// Gives false.
        public enum False: DefaultSource { public static var defaultValue: Bool { false } }
        /// Gives true.
        public enum True: DefaultSource { public static var defaultValue: Bool { true } }
        /// Gives 0 of a numeric type.
        public enum Zero<Value: Numeric>: DefaultSource { public static var defaultValue: Value { .zero } }
        /// Gives the empty string.
        public enum EmptyString: DefaultSource { public static var defaultValue: String { "" } }
        /// Gives an empty array, set, or other type that an array literal makes.
        public enum Empty<Value: ExpressibleByArrayLiteral>: DefaultSource {
            public static var defaultValue: Value { [] }
        }
        /// Gives an empty dictionary.
        public enum EmptyDictionary<Value: ExpressibleByDictionaryLiteral>: DefaultSource {
            public static var defaultValue: Value { [:] }
        }
    }
}
