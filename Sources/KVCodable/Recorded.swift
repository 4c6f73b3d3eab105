internal import FoundationEssentials

/// A value whose decoding is watched by the ``KeyRecorder`` in the decoder's user info.
struct Recorded<Value: Decodable>: Decodable {
    let value: Value

    init(from decoder: any Decoder) throws {
        guard let name = CodingUserInfoKey.keyRecorder, let recorder = decoder.userInfo[name] as? KeyRecorder else {
            value = try Value(from: decoder)
            return
        }
        value = try Value(from: RecordingDecoder(inner: decoder, recorder: recorder))
    }

    /// Whether the coders decode the type in a way of their own, which a decoder between would bypass.
    static var isLeaf: Bool {
        Value.self is any BinaryInteger.Type || Value.self is any BinaryFloatingPoint.Type || Value.self == Bool.self
            || Value.self == String.self || Value.self == Date.self || Value.self == Data.self
            || Value.self == URL.self || Value.self == UUID.self || Value.self == Decimal.self
            || Value.self == Duration.self
    }
}

/// A decoder that notes the keys that are asked for and leaves the rest to another.
private struct RecordingDecoder: Decoder {
    let inner: any Decoder
    let recorder: KeyRecorder

    var codingPath: [any CodingKey] { inner.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { inner.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        recorder.note(codingPath)
        return KeyedDecodingContainer(
            RecordingKeyedContainer(inner: try inner.container(keyedBy: type), recorder: recorder))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        RecordingUnkeyedContainer(inner: try inner.unkeyedContainer(), recorder: recorder)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        RecordingSingleValueContainer(inner: try inner.singleValueContainer(), recorder: recorder)
    }
}

private struct RecordingKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let inner: KeyedDecodingContainer<Key>
    let recorder: KeyRecorder

    var codingPath: [any CodingKey] { inner.codingPath }

    var allKeys: [Key] {
        recorder.noteAll(at: codingPath)
        return inner.allKeys
    }

    private func note(_ key: Key) { recorder.note(key, at: codingPath) }

    func contains(_ key: Key) -> Bool {
        note(key)
        return inner.contains(key)
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        note(key)
        return try inner.decodeNil(forKey: key)
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        note(key)
        if Recorded<T>.isLeaf { return try inner.decode(type, forKey: key) }
        return try inner.decode(Recorded<T>.self, forKey: key).value
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        note(key)
        if Recorded<T>.isLeaf { return try inner.decodeIfPresent(type, forKey: key) }
        return try inner.decodeIfPresent(Recorded<T>.self, forKey: key)?.value
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        note(key)
        let nested = try inner.nestedContainer(keyedBy: type, forKey: key)
        recorder.note(nested.codingPath)
        return KeyedDecodingContainer(RecordingKeyedContainer<NestedKey>(inner: nested, recorder: recorder))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        note(key)
        return RecordingUnkeyedContainer(inner: try inner.nestedUnkeyedContainer(forKey: key), recorder: recorder)
    }

    func superDecoder() throws -> any Decoder {
        recorder.note(SuperKey(), at: codingPath)
        return RecordingDecoder(inner: try inner.superDecoder(), recorder: recorder)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        note(key)
        return RecordingDecoder(inner: try inner.superDecoder(forKey: key), recorder: recorder)
    }
}

/// The key that a superclass is stored under.
private struct SuperKey: CodingKey {
    var stringValue: String { "super" }
    var intValue: Int? { nil }
    init() {}
    init?(stringValue: String) { return nil }
    init?(intValue: Int) { return nil }
}

private struct RecordingUnkeyedContainer: UnkeyedDecodingContainer {
    var inner: any UnkeyedDecodingContainer
    let recorder: KeyRecorder

    var codingPath: [any CodingKey] { inner.codingPath }
    var count: Int? { inner.count }
    var isAtEnd: Bool { inner.isAtEnd }
    var currentIndex: Int { inner.currentIndex }

    mutating func decodeNil() throws -> Bool { try inner.decodeNil() }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        if Recorded<T>.isLeaf { return try inner.decode(type) }
        return try inner.decode(Recorded<T>.self).value
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        let nested = try inner.nestedContainer(keyedBy: type)
        recorder.note(nested.codingPath)
        return KeyedDecodingContainer(RecordingKeyedContainer<NestedKey>(inner: nested, recorder: recorder))
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        RecordingUnkeyedContainer(inner: try inner.nestedUnkeyedContainer(), recorder: recorder)
    }

    mutating func superDecoder() throws -> any Decoder {
        RecordingDecoder(inner: try inner.superDecoder(), recorder: recorder)
    }
}

private struct RecordingSingleValueContainer: SingleValueDecodingContainer {
    let inner: any SingleValueDecodingContainer
    let recorder: KeyRecorder

    var codingPath: [any CodingKey] { inner.codingPath }

    func decodeNil() -> Bool { inner.decodeNil() }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        if Recorded<T>.isLeaf { return try inner.decode(type) }
        return try inner.decode(Recorded<T>.self).value
    }
}
