/// A dictionary, so that one with keys of an enum or the like can be written and read as a dictionary.
private protocol KeyedDictionary {
    /// The entries with their keys as text; nil where a key codes as neither a string nor an integer.
    func namedEntries(_ name: (any Encodable) throws -> String?) throws -> [(name: String, value: any Encodable)]?
}

/// A dictionary type that can be read from a dictionary, with keys of any type.
protocol ReadableDictionary {
    /// A dictionary of entries whose keys and values are read by the closures.
    static func read(
        _ names: [String], key: (any Decodable.Type, String) throws -> any Decodable,
        value: (any Decodable.Type, String) throws -> any Decodable
    ) throws -> Any?
}

extension Dictionary: KeyedDictionary where Key: Encodable, Value: Encodable {
    func namedEntries(_ name: (any Encodable) throws -> String?) throws -> [(name: String, value: any Encodable)]? {
        // Keys that the standard library writes as a dictionary are left to it.
        if Key.self == String.self || Key.self == Int.self || Key.self is any CodingKeyRepresentable.Type { return nil }
        var entries: [(name: String, value: any Encodable)] = []
        entries.reserveCapacity(count)
        for (key, value) in self {
            guard let name = try name(key) else { return nil }
            entries.append((name, value))
        }
        return entries
    }
}

extension Dictionary: ReadableDictionary where Key: Decodable, Value: Decodable {
    static func read(
        _ names: [String], key: (any Decodable.Type, String) throws -> any Decodable,
        value: (any Decodable.Type, String) throws -> any Decodable
    ) throws -> Any? {
        if Key.self == String.self || Key.self == Int.self || Key.self is any CodingKeyRepresentable.Type { return nil }
        var result: [Key: Value] = [:]
        result.reserveCapacity(names.count)
        for name in names {
            guard let key = try key(Key.self, name) as? Key, let value = try value(Value.self, name) as? Value else {
                return nil
            }
            result[key] = value
        }
        return result
    }
}

extension EncodingNode {
    /// Writes a dictionary by the text of its keys, under the strategy; false where it is to be written flat.
    final func encodeKeyed<T: Encodable>(_ value: T) throws -> Bool {
        guard context.keysDictionaries, let dictionary = value as? any KeyedDictionary,
            let entries = try dictionary.namedEntries(name(of:))
        else { return false }
        let container = KeyedContainer<NameKey>(opened(.keyed))
        for entry in entries { try container.encode(entry.value, forKey: NameKey(entry.name)) }
        return true
    }

    /// The text of a key that codes as one string or integer.
    private final func name(of key: any Encodable) throws -> String? {
        switch try context.options.encode(key) {
        case let text as String: text
        case let number as any FixedWidthInteger: "\(number)"
        default: nil
        }
    }
}

extension DecodingNode {
    /// A dictionary with keys of any kind: from a dictionary, or from the array of its keys and values.
    final func decodeKeyed<T: Decodable>(_ type: T.Type, as dictionary: any ReadableDictionary.Type) throws -> T {
        guard openEntries() else { return try T(from: self) }
        try refuseLookAlikes()
        let entries = try dictionary.read(
            filledNames, key: { try self.key($0, $1) },
            value: { type, name in try self.decode(type, at: .named(noted(name))) { .key(NameKey(name)) } })
        return try entries as? T ?? T(from: self)
    }

    /// A key from its text, or from the integer that it spells.
    private final func key(_ type: any Decodable.Type, _ name: String) throws -> any Decodable {
        if let number = Int(name), let key = try? context.options.decode(type, from: number) { return key }
        do {
            return try context.options.decode(type, from: name)
        } catch {
            throw corrupted(at: .key(NameKey(name)), "Expected \(type) as the key", "")
        }
    }
}
