public import FoundationEssentials

extension KeyValueEncoder {
    /// The value that stands for nil.
    public typealias NilEncodingStrategy = NilCodingStrategy

    /// How property names become keys. The keys of dictionaries are data and stay as they are.
    public enum KeyEncodingStrategy: Sendable {
        /// `myURLProperty` is written as `my_url_property`.
        case convertToSnakeCase
        /// Names are written as they are.
        case useDefaultKeys
        /// The closure gets the whole coding path, the property's own key last, and gives the key to write.
        case custom(@Sendable ([any CodingKey]) -> any CodingKey)
    }

    /// How dates are written.
    public enum DateEncodingStrategy: Sendable {
        /// As a `Date`.
        case date
        /// As an `Int64`, milliseconds since 1970, truncated toward zero.
        case millisecondsSince1970
        /// As an `Int64`, seconds since 1970, truncated toward zero.
        case secondsSince1970
        /// As the value that the closure gives.
        case custom(@Sendable (Date) throws -> Any)
        /// As a string in an ISO 8601 format.
        case iso8601Format(Date.ISO8601FormatStyle)
        /// As the string that the closure gives.
        case formatted(@Sendable (Date) -> String)
    }

    /// How data is written.
    public enum DataEncodingStrategy: Sendable {
        /// As `Data`.
        case data
        /// As `Data` codes itself: an array of bytes.
        case deferredToData
        /// As a string.
        case base64
        /// As the value that the closure gives.
        case custom(@Sendable (Data) throws -> Any)
    }

    /// How floating-point numbers that are not finite are written.
    public enum NonConformingFloatEncodingStrategy: Sendable {
        /// As they are.
        case pass
        /// An `EncodingError.invalidValue`.
        case `throw`
        /// As strings.
        case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// How dictionaries are written whose keys are neither `String`, `Int` nor `CodingKeyRepresentable`.
    public enum DictionaryKeyEncodingStrategy: Sendable {
        /// As `Codable` does it: an array of keys and values in turn.
        case flat
        /// As a dictionary, where the keys code as one string or integer (enums with raw values, UUIDs); else flat.
        case keyed
    }
}
