internal import CodableTypes
public import DefaultsStorage
internal import FoundationEssentials
public import KeyValueCoding
internal import KeyedArchives
public import PropertyLists

extension PropertyListStorage {
    /// The value of a key as a Swift type; nil when the key is absent, and only then.
    ///
    /// - Parameter decoder: the strategies; the default ones read the values that ``encode(_:forKey:encoder:)`` writes.
    /// - Throws: `DecodingError` for a value that does not fit the type, whose coding path begins with the key and
    ///   whose text names the path in the store: `Expected String at window.tabs[0].name, found Int`. A keyed archive
    ///   fits no type but Data: ``DefaultsStore/migrateArchive(_:forKey:keepingOldAs:)`` brings it into the type's form,
    ///   and `unarchived()` gives its plain value. ``DefaultsError`` of the store.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, forKey key: String, decoder: KeyValueDecoder = KeyValueDecoder()
    ) throws -> Value? {
        try decode(type, at: [.key(key)], decoder: decoder)
    }

    /// The value at a path as a Swift type; nil when there is none, and only then.
    ///
    /// - Throws: as ``decode(_:forKey:decoder:)``; the coding path of an error begins with all of `path`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, at path: PropertyListPath, decoder: KeyValueDecoder = KeyValueDecoder()
    ) throws -> Value? {
        try filled(at: path).map { try decoder.decode(stored: type, from: $0, at: path) }
    }

    /// The value of a key, in which a key that is missing has the value at the same place in `defaults`, at every depth;
    /// the defaults where the key is absent. Nothing is stored.
    ///
    /// Structs are filled, and a Swift `Dictionary` has the entries of both; an array, and an enum with associated
    /// values, is the stored one alone.
    ///
    /// ```swift
    /// struct Window: Codable { var width = 640, title = "Main" }
    /// try store.set(["width": 800], at: ["window"])
    /// let window = try store.decode(Window.self, forKey: "window", defaults: Window())
    /// print(window.width, window.title)  // 800 Main
    /// ```
    ///
    /// - Parameter encoder: encodes the defaults: its strategies have to be those that the value was stored with.
    /// - Throws: as ``decode(_:forKey:decoder:)``, and the `EncodingError` of defaults that cannot be encoded.
    public func decode<Value: Codable>(
        _ type: Value.Type = Value.self, forKey key: String, defaults: Value,
        decoder: KeyValueDecoder = KeyValueDecoder(), encoder: KeyValueEncoder = KeyValueEncoder()
    ) throws -> Value {
        try decode(type, at: [.key(key)], defaults: defaults, decoder: decoder, encoder: encoder)
    }

    /// The value at a path over defaults; as ``decode(_:forKey:defaults:decoder:encoder:)``.
    public func decode<Value: Codable>(
        _ type: Value.Type = Value.self, at path: PropertyListPath, defaults: Value,
        decoder: KeyValueDecoder = KeyValueDecoder(), encoder: KeyValueEncoder = KeyValueEncoder()
    ) throws -> Value {
        let unset = try unsetPaths(below: path)
        guard let stored = try filled(at: path) ?? (unset.isEmpty ? nil : .emptyDictionary) else { return defaults }
        var filling = stored.kind == .dictionary ? try encoder.form(of: defaults, at: path).list : nil
        for path in unset { filling = try filling?.removing(at: path) ?? filling }
        return try decoder.decode(stored: type, from: stored, at: path, filledBy: filling)
    }

    /// The paths that the user's store lists as unset, seen from `path`: no default shows through there.
    fileprivate func unsetPaths(below path: PropertyListPath) throws(DefaultsError) -> [PropertyListPath] {
        guard let storage = self as? any SchemaStorage else { return [] }
        return try storage.usableStore().unsetPaths(below: path)
    }

    /// Whether there is a value under the key, in any layer.
    public func contains(_ key: String) throws -> Bool { try contains(at: [.key(key)]) }

    /// Whether there is a value at the path, in any layer.
    public func contains(at path: PropertyListPath) throws -> Bool { try stored(at: path) != nil }

    /// Sets a key to a value of a Swift type, stored in a form that a person can read: dictionaries, arrays and
    /// scalars. A nil is a removal.
    ///
    /// Stores what differs from the stored value, so that what other programs change meanwhile stays. Keys that the type
    /// does not know stay, also in elements of arrays: the type knows the keys that decoding asks for and those that
    /// encoding writes. Does not wait for the disk unless the durability is immediate.
    ///
    /// - Returns: the number of elements of stored arrays that are gone with keys that the type does not know.
    /// - Throws: `EncodingError` for a value that cannot be encoded, whose coding path begins with the key and whose
    ///   text names the path in the store; ``DefaultsError`` of the store. Nothing is changed then.
    @discardableResult
    public func encode<Value: Codable>(
        _ value: Value, forKey key: String, encoder: KeyValueEncoder = KeyValueEncoder()
    ) throws -> Int {
        try encode(value, at: [.key(key)], encoder: encoder)
    }

    /// Sets the value at a path to one of a Swift type; as ``encode(_:forKey:encoder:)``.
    @discardableResult
    public func encode<Value: Codable>(
        _ value: Value, at path: PropertyListPath, encoder: KeyValueEncoder = KeyValueEncoder()
    ) throws -> Int {
        try encode(value, at: path, from: nil, encoder: encoder)
    }

    /// As ``encode(_:at:encoder:)``.
    ///
    /// - Parameters:
    ///   - ancestor: the value that the program had before its changes; nil for what the store has now.
    ///   - defaults: what the program has where nothing is stored; nil for nothing.
    func encode<Value: Codable>(
        _ value: Value, at path: PropertyListPath, from ancestor: Value?, over defaults: Value? = nil,
        encoder: KeyValueEncoder = KeyValueEncoder()
    ) throws -> Int {
        let form = try encoder.form(of: value, at: path)
        var present = try stored(at: path)
        let had = try ancestor.flatMap { try encoder.form(of: $0, at: path).list }
        // Defaults that were left out would show again.
        let given = try had == nil ? nil : defaults.flatMap { try encoder.form(of: $0, at: path).list }
        let gone = given.map { had?.keysLeft(out: form.list, of: $0, at: path) ?? [] } ?? []
        guard let new = form.list else {
            try store(from: present, to: nil, at: path, unsetting: gone)
            return 0
        }
        // What the program had is its defaults then, and what differs from them is stored.
        if present == nil, ancestor != nil, new.kind == .dictionary { present = .emptyDictionary }
        guard let stored = present, stored.kind.isContainer, !stored.isKeyedArchive else {
            try setStored(new, at: path)
            return 0
        }
        var known = KnownParts<Value>(of: stored, given: new, form.keysLeftOut, encoder)
        if had != nil || !known.isStoredAlready() {
            let merged = try PropertyList.merge(
                ancestor: try had ?? known.list(), ours: new, theirs: stored, rules: MergeRules(oursWins: true))
            if merged.value != stored || !gone.isEmpty {
                try store(from: stored, to: merged.value, at: path, unsetting: gone)
                return merged.dropped
            }
        }
        // Nothing differs from what the program had, or from what memory has: then the file may have changed.
        guard had == nil, let store = self as? DefaultsStore, store.loadsChanges() else { return 0 }
        return try encode(value, at: path, from: nil, encoder: encoder)
    }

    /// Stores what differs between two values.
    private func store(
        from old: PropertyList?, to new: PropertyList?, at path: PropertyListPath, unsetting gone: [PropertyListPath]
    ) throws {
        if let storage = self as? any SchemaStorage {
            try storage.usableStore().store(from: old, to: new, at: path, unsetting: gone)
        } else if let new {
            try setStored(new, at: path)
        } else {
            _ = try remove(at: path)
        }
    }

    /// Sets a key to a value of a Swift type, as ``encode(_:forKey:encoder:)``, under the name that UserDefaults has.
    public func set<Value: Codable>(_ value: Value, forKey key: String) throws { try encode(value, forKey: key) }

    /// Changes the value of a key in a transaction: a change of another program meanwhile is not lost.
    ///
    /// - Parameter change: given the value, nil when the key is absent; leaves the value to store, nil to remove it.
    /// - Returns: the value that is stored afterwards.
    @discardableResult
    public func update<Value: Codable>(
        _ type: Value.Type = Value.self, forKey key: String, _ change: (inout Value?) throws -> Void
    ) throws -> Value? {
        try update(type, at: [.key(key)], change)
    }

    /// Changes the value at a path in a transaction; as ``update(_:forKey:_:)``.
    @discardableResult
    public func update<Value: Codable>(
        _ type: Value.Type = Value.self, at path: PropertyListPath, _ change: (inout Value?) throws -> Void
    ) throws -> Value? {
        try atomically { storage in
            var value = try storage.decode(type, at: path)
            try change(&value)
            try storage.encode(value, at: path)
            return value
        }
    }

    /// The value of a key, or the default where the key is absent, or its value does not fit the type or cannot be
    /// read: use ``decode(_:forKey:decoder:)`` where that is an error.
    ///
    /// ```swift
    /// let volume = store["volume", default: 7]
    /// ```
    public subscript<Value: Decodable>(key: String, default fallback: @autoclosure () -> Value) -> Value {
        (try? decode(Value.self, forKey: key)) ?? fallback()
    }
}

extension DefaultsStore {
    /// Adds the properties of a value to the registered defaults of this handle; as `register(_:)` of a tree.
    ///
    /// - Throws: `EncodingError` for a value that cannot be encoded; ``DefaultsError`` for one that is no dictionary,
    ///   and as for a tree.
    public func register<Value: Encodable>(
        _ defaults: Value, encoder: KeyValueEncoder = KeyValueEncoder()
    ) throws {
        try register(try encoder.form(of: defaults, at: nil).list ?? .emptyDictionary)
    }

    /// Watches the value at a path as a Swift type: ``pump()`` calls `handler` with the new value, nil where there is
    /// none any more, or with the error of one that does not fit the type.
    ///
    /// ```swift
    /// let watch = try store.watch(Int.self, at: ["volume"]) { volume in
    ///     print((try? volume.get()) ?? 7)
    /// }
    /// ```
    public func watch<Value: Decodable & SendableMetatype>(
        _ type: Value.Type = Value.self, at path: PropertyListPath, decoder: KeyValueDecoder = KeyValueDecoder(),
        _ handler: @escaping @Sendable (Result<Value?, any Error>) -> Void
    ) throws -> DefaultsWatch {
        try watchStored(.value(path)) { change in
            handler(Result { try change.new.map { try decoder.decode(stored: type, from: $0, at: path) } })
        }
    }

    /// Stores a value that an older program archived, as a whole or as data, in its Codable form, in a transaction.
    ///
    /// - Parameter oldKey: the key under which the archive is kept, once: a value that it has already stays. nil for
    ///   none.
    /// - Returns: whether there was an archive; false, and nothing changed, for a value that has been migrated already.
    /// - Throws: `DecodingError` for an archive that does not fit the type, ``PropertyLists/PropertyListError`` for a
    ///   damaged one; the archive stays then.
    @discardableResult
    public func migrateArchive<Value: Codable>(
        _ type: Value.Type, forKey key: String, keepingOldAs oldKey: String? = nil
    ) throws -> Bool {
        try transaction { _ in
            guard let old = try stored(at: [.key(key)]), old.isKeyedArchive else { return false }
            let path: PropertyListPath = [.key(key)]
            let value = try KeyValueDecoder().decode(type, from: try old.unarchived(from: path), at: path)
            if let oldKey, try stored(at: [.key(oldKey)]) == nil { try setStored(old, at: [.key(oldKey)]) }
            try encode(value, forKey: key)
            return true
        }
    }
}

extension KeyValueDecoder {
    /// A stored value. An older program may have archived it, which is an error for a type other than Data.
    fileprivate func decode<Value: Decodable>(
        stored type: Value.Type, from list: PropertyList, at path: PropertyListPath,
        filledBy defaults: PropertyList? = nil
    ) throws -> Value {
        if list.isKeyedArchive, type != Data.self {
            throw DecodingError.mismatch(type, .keyedArchive(insteadOf: "\(type)"), at: path)
        }
        return try decode(type, from: list, at: path, filledBy: defaults)
    }
}

extension PropertyList {
    /// The paths of what this value and the defaults have and a new value leaves out.
    fileprivate func keysLeft(
        out new: PropertyList?, of defaults: PropertyList, at path: PropertyListPath
    ) -> [PropertyListPath] {
        guard let new else { return [path] }
        guard kind == .dictionary, new.kind == .dictionary, defaults.kind == .dictionary else { return [] }
        return defaults.entries.flatMap { key, value -> [PropertyListPath] in
            self[key]?.keysLeft(out: new[key], of: value, at: path.appending(.key(key))) ?? []
        }
    }
}

extension KeyValueEncoder {
    fileprivate func form<Value: Encodable>(of value: Value, at path: PropertyListPath?) throws -> StoredForm {
        if let optional = value as? any OptionalValue, optional.wrapped == nil { return StoredForm() }
        return try storedForm(of: value, at: path)
    }
}

/// What a Swift type knows of a stored value, which is decoded when that is asked for first.
private struct KnownParts<Value: Codable> {
    private let stored: PropertyList
    private let given: PropertyList
    private let encoder: KeyValueEncoder
    /// The keys that encoding left out, and those that decoding asked for.
    private let record = KeyRecord()
    private lazy var decoded = decode()

    /// - Parameters:
    ///   - given: the new value.
    ///   - keysLeftOut: the paths of the keys that its encoding left out.
    init(of stored: PropertyList, given: PropertyList, _ keysLeftOut: [PropertyListPath], _ encoder: KeyValueEncoder) {
        (self.stored, self.given, self.encoder) = (stored, given, encoder)
        for path in keysLeftOut { record.note(path) }
    }

    private func decode() -> Value? {
        // No decoder knows the other way of a program's own conversion.
        if case .custom = encoder.keyEncodingStrategy { return nil }
        var decoder = KeyValueDecoder()
        decoder.userInfo = encoder.userInfo
        if case .convertToSnakeCase = encoder.keyEncodingStrategy {
            decoder.keyDecodingStrategy = .convertFromSnakeCase
        }
        return try? decoder.decode(Value.self, from: stored, recording: record)
    }

    /// Whether the stored value is the new one with keys beside it that the type does not know.
    ///
    /// For "encode of a struct of 27 fields over itself": nothing is encoded again and merged.
    mutating func isStoredAlready() -> Bool {
        given.isEqual(to: stored) { path in
            _ = decoded
            return !record.asks(for: path)
        }
    }

    /// The stored value without the keys that the type does not know.
    mutating func list() throws -> PropertyList {
        let form = try decoded.flatMap { try encoder.form(of: $0, at: nil).list }
        return try stored.knownParts(form: form, record: record, given: given)
    }
}
