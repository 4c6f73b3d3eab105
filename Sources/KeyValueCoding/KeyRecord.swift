package import PropertyLists

/// The keys that a value's decoding asked for, in each dictionary that it read: what the type knows.
///
/// Filled by one decoding on one thread, and only read afterwards, which is what makes it safe to hand on.
package final class KeyRecord: @unchecked Sendable {
    /// Keys that were looked for, whether or not they were there.
    package fileprivate(set) var asked: Set<String> = []
    /// Whether the decoding took whatever keys there were, as a dictionary's does.
    package fileprivate(set) var asksAll = false
    /// What was asked of the values of keys.
    package fileprivate(set) var children: [String: KeyRecord] = [:]
    /// What was asked of an array's elements, all together.
    package fileprivate(set) var elements: KeyRecord?
    /// Of the root alone: the record of the value that is decoded next.
    fileprivate var next: KeyRecord?

    package init() {}

    fileprivate func child(_ key: String) -> KeyRecord {
        asked.insert(key)
        if let known = children[key] { return known }
        let child = KeyRecord()
        children[key] = child
        return child
    }

    fileprivate var element: KeyRecord {
        if let elements { return elements }
        let record = KeyRecord()
        elements = record
        return record
    }

    fileprivate static let userInfoKey = CodingUserInfoKey(rawValue: "kvcodable.keyRecord")
}

extension KeyValueDecoder {
    /// Reads a value as ``decode(_:from:)`` does, and notes in `record` which keys that asked for.
    package func decode<T: Decodable>(_ type: T.Type, from list: PropertyList, recording record: KeyRecord) throws -> T
    {
        guard let key = KeyRecord.userInfoKey, KnownType.of(T.self) == .plain else {
            return try decode(type, from: list)
        }
        var decoder = self
        decoder.userInfo[key] = record
        record.next = record
        return try decoder.decode(Recorded<T>.self, from: list).value
    }
}

/// A value whose decoding is watched: `init(from:)` of the value itself is given a decoder that takes notes.
private struct Recorded<T: Decodable>: Decodable {
    let value: T

    init(from decoder: any Decoder) throws {
        guard let key = KeyRecord.userInfoKey, let root = decoder.userInfo[key] as? KeyRecord, let record = root.next
        else {
            value = try T(from: decoder)
            return
        }
        root.next = nil
        value = try T(from: RecordingDecoder(base: decoder, record: record, root: root))
    }
}

private struct RecordingDecoder: Decoder {
    let base: any Decoder
    let record: KeyRecord
    let root: KeyRecord

    var codingPath: [any CodingKey] { base.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { base.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(
            RecordingKeyedContainer(base: try base.container(keyedBy: type), record: record, root: root))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        RecordingUnkeyedContainer(base: try base.unkeyedContainer(), record: record.element, root: root)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        RecordingSingleValueContainer(base: try base.singleValueContainer(), record: record, root: root)
    }
}

private struct RecordingKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let base: KeyedDecodingContainer<Key>
    let record: KeyRecord
    let root: KeyRecord

    var codingPath: [any CodingKey] { base.codingPath }

    var allKeys: [Key] {
        record.asksAll = true
        return base.allKeys
    }

    private func note(_ key: Key) -> Key {
        record.asked.insert(key.stringValue)
        return key
    }

    func contains(_ key: Key) -> Bool { base.contains(note(key)) }
    func decodeNil(forKey key: Key) throws -> Bool { try base.decodeNil(forKey: note(key)) }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        if KnownType.of(type) != .plain { return try base.decode(type, forKey: note(key)) }
        root.next = record.child(key.stringValue)
        return try base.decode(Recorded<T>.self, forKey: key).value
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        KeyedDecodingContainer(
            RecordingKeyedContainer<NestedKey>(
                base: try base.nestedContainer(keyedBy: type, forKey: key), record: record.child(key.stringValue),
                root: root))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        RecordingUnkeyedContainer(
            base: try base.nestedUnkeyedContainer(forKey: key), record: record.child(key.stringValue).element,
            root: root)
    }

    func superDecoder() throws -> any Decoder {
        RecordingDecoder(base: try base.superDecoder(), record: record.child("super"), root: root)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        RecordingDecoder(base: try base.superDecoder(forKey: key), record: record.child(key.stringValue), root: root)
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try base.decode(type, forKey: note(key)) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try base.decode(type, forKey: note(key)) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try base.decode(type, forKey: note(key)) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try base.decode(type, forKey: note(key)) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try base.decode(type, forKey: note(key)) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try base.decode(type, forKey: note(key)) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try base.decode(type, forKey: note(key)) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try base.decode(type, forKey: note(key)) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try base.decode(type, forKey: note(key)) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try base.decode(type, forKey: note(key)) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try base.decode(type, forKey: note(key)) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try base.decode(type, forKey: note(key)) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try base.decode(type, forKey: note(key)) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try base.decode(type, forKey: note(key)) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try base.decode(type, forKey: note(key)) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try base.decode(type, forKey: note(key)) }
}

private struct RecordingUnkeyedContainer: UnkeyedDecodingContainer {
    var base: any UnkeyedDecodingContainer
    let record: KeyRecord
    let root: KeyRecord

    var codingPath: [any CodingKey] { base.codingPath }
    var count: Int? { base.count }
    var isAtEnd: Bool { base.isAtEnd }
    var currentIndex: Int { base.currentIndex }

    mutating func decodeNil() throws -> Bool { try base.decodeNil() }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        if KnownType.of(type) != .plain { return try base.decode(type) }
        root.next = record
        return try base.decode(Recorded<T>.self).value
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        KeyedDecodingContainer(
            RecordingKeyedContainer<NestedKey>(
                base: try base.nestedContainer(keyedBy: type), record: record, root: root))
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        RecordingUnkeyedContainer(base: try base.nestedUnkeyedContainer(), record: record.element, root: root)
    }

    mutating func superDecoder() throws -> any Decoder {
        RecordingDecoder(base: try base.superDecoder(), record: record, root: root)
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try base.decode(type) }
    mutating func decode(_ type: String.Type) throws -> String { try base.decode(type) }
    mutating func decode(_ type: Double.Type) throws -> Double { try base.decode(type) }
    mutating func decode(_ type: Float.Type) throws -> Float { try base.decode(type) }
    mutating func decode(_ type: Int.Type) throws -> Int { try base.decode(type) }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try base.decode(type) }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try base.decode(type) }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try base.decode(type) }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try base.decode(type) }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try base.decode(type) }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try base.decode(type) }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try base.decode(type) }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try base.decode(type) }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try base.decode(type) }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try base.decode(type) }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try base.decode(type) }
}

private struct RecordingSingleValueContainer: SingleValueDecodingContainer {
    let base: any SingleValueDecodingContainer
    let record: KeyRecord
    let root: KeyRecord

    var codingPath: [any CodingKey] { base.codingPath }

    func decodeNil() -> Bool { base.decodeNil() }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        if KnownType.of(type) != .plain { return try base.decode(type) }
        root.next = record
        return try base.decode(Recorded<T>.self).value
    }

    func decode(_ type: Bool.Type) throws -> Bool { try base.decode(type) }
    func decode(_ type: String.Type) throws -> String { try base.decode(type) }
    func decode(_ type: Double.Type) throws -> Double { try base.decode(type) }
    func decode(_ type: Float.Type) throws -> Float { try base.decode(type) }
    func decode(_ type: Int.Type) throws -> Int { try base.decode(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try base.decode(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try base.decode(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try base.decode(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try base.decode(type) }
    func decode(_ type: Int128.Type) throws -> Int128 { try base.decode(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try base.decode(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try base.decode(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try base.decode(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try base.decode(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try base.decode(type) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try base.decode(type) }
}
