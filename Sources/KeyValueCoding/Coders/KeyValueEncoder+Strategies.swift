public import FoundationEssentials

extension KeyValueEncoder {
    /// The value that stands for nil.
    ///
    /// ```swift
    /// let unknown: KeyValueEncoder.NilEncodingStrategy = .sentinel("unknown")
    /// var encoder = KeyValueEncoder()
    /// encoder.nilEncodingStrategy = unknown
    /// print(try encoder.encode(["a", nil]) as? [String] ?? [])  // ["a", "unknown"]
    /// ```
    public typealias NilEncodingStrategy = NilCodingStrategy

    /// How property names become keys. The keys of dictionaries are data and stay as they are.
    ///
    /// ```swift
    /// struct Page: Codable { var pageTitle: String }
    /// var encoder = KeyValueEncoder()
    /// encoder.keyEncodingStrategy = .convertToSnakeCase
    /// let list = try encoder.encodeToPropertyList(Page(pageTitle: "Home"))
    /// print(list?.keys ?? [])  // ["page_title"]
    /// ```
    public enum KeyEncodingStrategy: Sendable {
        /// `myURLProperty` is written as `my_url_property`.
        case convertToSnakeCase
        /// Names are written as they are.
        case useDefaultKeys
        /// The closure gets the whole coding path, the property's own key last, and gives the key to write.
        case custom(@Sendable ([any CodingKey]) -> any CodingKey)
    }

    /// How dates are written.
    ///
    /// ```swift
    /// var encoder = KeyValueEncoder()
    /// encoder.dateEncodingStrategy = .secondsSince1970
    /// let list = try encoder.encodeToPropertyList(Date(timeIntervalSince1970: 1.9))
    /// print(list?.integer ?? 0)  // 1
    /// ```
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
    ///
    /// ```swift
    /// var encoder = KeyValueEncoder()
    /// encoder.dataEncodingStrategy = .base64
    /// let list = try encoder.encodeToPropertyList(Data("Hello".utf8))
    /// print(list?.string ?? "")  // SGVsbG8=
    /// ```
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
    ///
    /// ```swift
    /// var encoder = KeyValueEncoder()
    /// encoder.nonConformingFloatEncodingStrategy = .convertToString(
    ///     positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    /// let list = try encoder.encodeToPropertyList(["limit": Double.infinity])
    /// print(list?["limit"]?.string ?? "")  // inf
    /// ```
    public enum NonConformingFloatEncodingStrategy: Sendable {
        /// As they are.
        case pass
        /// An `EncodingError.invalidValue`.
        case `throw`
        /// As strings.
        case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// How dictionaries are written whose keys are neither `String`, `Int` nor `CodingKeyRepresentable`.
    ///
    /// ```swift
    /// enum Theme: String, Codable { case light, dark }
    /// var encoder = KeyValueEncoder()
    /// encoder.dictionaryKeyEncodingStrategy = .keyed
    /// let list = try encoder.encodeToPropertyList([Theme.dark: 1])
    /// print(list?["dark"]?.integer ?? 0)  // 1
    /// ```
    public enum DictionaryKeyEncodingStrategy: Sendable {
        /// As `Codable` does it: an array of keys and values in turn.
        case flat
        /// As a dictionary, where the keys code as one string or integer (enums with raw values, UUIDs); else flat.
        case keyed
    }
}
