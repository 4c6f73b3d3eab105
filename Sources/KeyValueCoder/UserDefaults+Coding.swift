public import Foundation
internal import KeyValueCoding
internal import PropertyLists

extension UserDefaults {
    /// Sets the value of a key in its property-list form, readable by a person and by every other program:
    /// dictionaries, arrays, strings, numbers, dates and data.
    ///
    /// A nil value removes the key; nil elements are `"$null"`; URLs, UUIDs and decimal numbers are strings.
    ///
    /// - Throws: `EncodingError.invalidValue` with the path of a value that cannot be encoded, and the errors of
    ///   `encode(to:)`.
    public func encode<T: Encodable>(_ value: T, forKey key: String) throws {
        var encoder = KeyValueEncoder()
        encoder.nilEncodingStrategy = .stringNull
        let list = try encoder.encodeToPropertyList(value)
        // A string that reads "$null" is a string like any other.
        if list?.string == "$null", (value as? String) == nil { return removeObject(forKey: key) }
        set(try list?.any(), forKey: key)
    }

    /// Reads the value of a key; nil where the key is absent.
    ///
    /// String, Bool, Int, Double, Float and URL are read as UserDefaults itself reads them, with its conversions from
    /// strings; every other type is decoded.
    ///
    /// - Throws: a `DecodingError` with the path of the value at fault, and the errors of `init(from:)`.
    public func decode<T: Decodable>(_ type: T.Type = T.self, forKey key: String) throws -> T? {
        guard let object = object(forKey: key) else { return nil }
        if let value = native(type, object, forKey: key) { return value }
        var decoder = KeyValueDecoder()
        decoder.nilDecodingStrategy = .stringNull
        // A number that a program stored comes back as one.
        decoder.boolDecodingStrategy = .exact
        return try decoder.decode(type, fromPropertyListValue: object)
    }

    private func native<T>(_ type: T.Type, _ object: Any, forKey key: String) -> T? {
        let value: Any? =
            if type == String.self {
                string(forKey: key)
            } else if type == Bool.self {
                bool(forKey: key)
            } else if type == Int.self {
                integer(forKey: key)
            } else if type == Double.self {
                double(forKey: key)
            } else if type == Float.self {
                float(forKey: key)
            } else if type == URL.self {
                webURL(object) ?? url(forKey: key)
            } else {
                nil
            }
        guard let value else { return nil }
        return value as? T
    }

    /// A URL with a scheme. The native getter takes every string for the path of a file.
    private func webURL(_ object: Any) -> URL? {
        guard let text = object as? String, let url = URL(string: text), url.scheme != nil else { return nil }
        return url
    }
}
