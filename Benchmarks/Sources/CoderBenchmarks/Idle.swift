import Foundation

// Coders that do nothing: their cost is that of Codable itself, before anything is written or read.

/// Drops every value.
final class IdleEncoder: Encoder {
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(Keyed<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { Unkeyed(encoder: self) }
    func singleValueContainer() -> any SingleValueEncodingContainer { Unkeyed(encoder: self) }

    struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
        let encoder: IdleEncoder
        var codingPath: [any CodingKey] { [] }

        func encodeNil(forKey key: Key) {}
        func encode(_ value: Bool, forKey key: Key) {}
        func encode(_ value: String, forKey key: Key) {}
        func encode(_ value: Double, forKey key: Key) {}
        func encode(_ value: Int, forKey key: Key) {}
        func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try encoder.encode(value) }
        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) -> KeyedEncodingContainer<Nested> { encoder.container(keyedBy: type) }
        func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { encoder.unkeyedContainer() }
        func superEncoder() -> any Encoder { encoder }
        func superEncoder(forKey key: Key) -> any Encoder { encoder }
    }

    struct Unkeyed: UnkeyedEncodingContainer, SingleValueEncodingContainer {
        let encoder: IdleEncoder
        var codingPath: [any CodingKey] { [] }
        var count: Int { 0 }

        func encodeNil() {}
        func encode(_ value: Bool) {}
        func encode(_ value: String) {}
        func encode(_ value: Double) {}
        func encode(_ value: Int) {}
        func encode<T: Encodable>(_ value: T) throws { try encoder.encode(value) }
        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
            encoder.container(keyedBy: type)
        }
        func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
        func superEncoder() -> any Encoder { encoder }
    }

    /// Arrays of strings and dates are coded whole, as by our coders.
    func encode<T: Encodable>(_ value: T) throws {
        if T.self == [String].self || T.self == Date.self { return }
        try value.encode(to: self)
    }
}

/// Gives the same value for each type, and arrays of `count` equal elements.
final class IdleDecoder: Decoder {
    let count: Int
    let date = Date(timeIntervalSinceReferenceDate: 0)
    let strings = ["alpha", "beta", "gamma"]
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(count: Int) { self.count = count }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Keyed<Key>(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { Unkeyed(decoder: self) }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw WrongShape() }

    struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
        let decoder: IdleDecoder
        var codingPath: [any CodingKey] { [] }
        var allKeys: [Key] { [] }

        func contains(_ key: Key) -> Bool { true }
        func decodeNil(forKey key: Key) -> Bool { false }
        func decode(_ type: Bool.Type, forKey key: Key) -> Bool { true }
        func decode(_ type: String.Type, forKey key: Key) -> String { "text" }
        func decode(_ type: Double.Type, forKey key: Key) -> Double { 0 }
        func decode(_ type: Int.Type, forKey key: Key) -> Int { 0 }
        func decodeIfPresent(_ type: String.Type, forKey key: Key) -> String? { nil }
        func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try decoder.decode(type) }
        func nestedContainer<Nested: CodingKey>(
            keyedBy type: Nested.Type, forKey key: Key
        ) throws -> KeyedDecodingContainer<Nested> { try decoder.container(keyedBy: type) }
        func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
            try decoder.unkeyedContainer()
        }
        func superDecoder() -> any Decoder { decoder }
        func superDecoder(forKey key: Key) -> any Decoder { decoder }
    }

    struct Unkeyed: UnkeyedDecodingContainer {
        let decoder: IdleDecoder
        var currentIndex = 0
        var codingPath: [any CodingKey] { [] }
        var count: Int? { decoder.count }
        var isAtEnd: Bool { currentIndex >= decoder.count }

        func decodeNil() -> Bool { false }
        mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
            currentIndex += 1
            return try decoder.decode(type)
        }
        func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
            try decoder.container(keyedBy: type)
        }
        func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { self }
        func superDecoder() -> any Decoder { decoder }
    }

    /// Arrays of strings and dates are read whole, as by our coders.
    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        if type == [String].self, let strings = strings as? T { return strings }
        if type == Date.self, let date = date as? T { return date }
        return try T(from: self)
    }
}
