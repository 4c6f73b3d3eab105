public import FoundationEssentials

extension KeyValueDecoder {
    /// The values taken for nil.
    ///
    /// ```swift
    /// let unknown: KeyValueDecoder.NilDecodingStrategy = .sentinel("unknown")
    /// var decoder = KeyValueDecoder()
    /// decoder.nilDecodingStrategy = unknown
    /// print(try decoder.decode([Int?].self, from: [1, "unknown"]) == [1, nil])  // true
    /// ```
    public typealias NilDecodingStrategy = NilCodingStrategy

    /// How numbers become integers.
    ///
    /// ```swift
    /// var decoder = KeyValueDecoder()
    /// decoder.intDecodingStrategy = .clamping(roundingRule: .toNearestOrEven)
    /// let bytes = try decoder.decode([UInt8].self, from: [1.6, 300, -1])
    /// print(bytes)  // [2, 255, 0]
    /// ```
    public enum IntDecodingStrategy: Sendable {
        /// Only numbers that the integer type holds exactly.
        case exact
        /// Floating-point numbers are rounded by the rule; a number out of range is an error.
        case rounding(rule: FloatingPointRoundingRule)
        /// Numbers out of range become the nearest the type holds. Floating-point numbers are rounded by the rule;
        /// with no rule, a fraction is an error.
        case clamping(roundingRule: FloatingPointRoundingRule?)
    }

    /// How property names are looked up. The keys of dictionaries are data and stay as they are.
    ///
    /// ```swift
    /// struct Page: Codable { var pageTitle: String }
    /// var decoder = KeyValueDecoder()
    /// decoder.keyDecodingStrategy = .convertFromSnakeCase
    /// let page = try decoder.decode(Page.self, from: ["page_title": "Home"])
    /// print(page.pageTitle)  // Home
    /// ```
    public enum KeyDecodingStrategy: Sendable {
        /// `myURLProperty` is looked up as `my_url_property`.
        case convertFromSnakeCase
        /// Names are looked up as they are.
        case useDefaultKeys
        /// The closure gets the coding path of a key in the dictionary, that key last, and gives the property's key.
        case custom(@Sendable ([any CodingKey]) -> any CodingKey)
    }

    /// How dates are read.
    ///
    /// ```swift
    /// var decoder = KeyValueDecoder()
    /// decoder.dateDecodingStrategy = .secondsSince1970
    /// let date = try decoder.decode(Date.self, from: 86_400)
    /// print(date == Date(timeIntervalSince1970: 86_400))  // true
    /// ```
    public enum DateDecodingStrategy: Sendable {
        /// From a `Date`.
        case date
        /// From milliseconds since 1970, a number read under the integer strategy.
        case millisecondsSince1970
        /// From seconds since 1970, a number read under the integer strategy.
        case secondsSince1970
        /// By the closure, which gets the value as it is.
        case custom(@Sendable (Any) throws -> Date)
        /// From a string in an ISO 8601 format.
        case iso8601Format(Date.ISO8601FormatStyle)
        /// From a string, by the closure; where it gives nil, the string is no date.
        case parsed(@Sendable (String) -> Date?)
    }

    /// How data is read.
    ///
    /// ```swift
    /// var decoder = KeyValueDecoder()
    /// decoder.dataDecodingStrategy = .base64
    /// let data = try decoder.decode(Data.self, from: "SGVsbG8=")
    /// print(String(decoding: data, as: UTF8.self))  // Hello
    /// ```
    public enum DataDecodingStrategy: Sendable {
        /// From `Data`.
        case data
        /// As `Data` codes itself: from an array of bytes.
        case deferredToData
        /// From a base64 string.
        case base64
        /// By the closure, which gets the value as it is.
        case custom(@Sendable (Any) throws -> Data)
    }

    /// The numbers that are read as a Bool. A number in Swift's own types, such as Int, is none under either.
    ///
    /// ```swift
    /// var decoder = KeyValueDecoder()
    /// decoder.boolDecodingStrategy = .exact
    /// print(try decoder.decode(Bool.self, from: true))  // true
    /// ```
    public enum BoolDecodingStrategy: Sendable {
        /// None: a Bool, and an NSNumber made from one, alone. A 1 in a file stays a number there.
        case exact
        /// An NSNumber that is 0 or 1, too, as Swift's own casts have it: so JSONSerialization gives a flag that
        /// another program wrote as a number. Only programs with Foundation meet such objects.
        case numberObjects
    }

    /// The treatment of keys of dictionaries that decoding did not ask for.
    ///
    /// ```swift
    /// struct Page: Codable { var title: String }
    /// var decoder = KeyValueDecoder()
    /// decoder.leftOverKeyDecodingStrategy = .throw
    /// do {
    ///     _ = try decoder.decode(Page.self, from: ["title": "Home", "note": "new"])
    /// } catch DecodingError.dataCorrupted(let context) {
    ///     print(context.debugDescription)  // Keys are left over: SELF.note
    /// }
    /// ```
    public enum LeftOverKeyDecodingStrategy: Sendable {
        /// They are ignored.
        case ignore
        /// A `DecodingError.dataCorrupted` that names the paths of all of them, with ``LeftOverKeys`` underlying it.
        case `throw`
        /// The closure gets them all, once, after the value was decoded; it is not called where there are none.
        case report(@Sendable (LeftOverKeys) -> Void)
    }

    /// How floating-point numbers that are not finite are read.
    ///
    /// ```swift
    /// var decoder = KeyValueDecoder()
    /// decoder.nonConformingFloatDecodingStrategy = .convertFromString(
    ///     positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    /// print(try decoder.decode(Double.self, from: "-inf"))  // -inf
    /// ```
    public enum NonConformingFloatDecodingStrategy: Sendable {
        /// As they are.
        case pass
        /// A `DecodingError.dataCorrupted`.
        case `throw`
        /// From these strings, too.
        case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }
}
