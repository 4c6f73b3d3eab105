public import CodableTypes
public import DefaultsStorage
internal import KeyedArchives
public import PropertyLists

/// A storage of values that are read and written by path: a store, or a transaction on one.
///
/// ```swift
/// func widen(_ storage: some PropertyListStorage) throws {
///     let width = try storage.value(at: ["window", "width"])?.integer ?? 640
///     try storage.set(PropertyList(any: width + 10), at: ["window", "width"])
/// }
/// try widen(store)
/// try store.transaction { transaction in try widen(transaction) }
/// ```
public protocol PropertyListStorage {
    /// The value at `path`, nil when there is none; as a store's `value(at:)`.
    func value(at path: PropertyListPath) throws(DefaultsError) -> PropertyList?
    /// Sets the value at `path`; as a store's `set(_:at:)`.
    func set(_ value: PropertyList, at path: PropertyListPath) throws(DefaultsError)
    /// The value at `path` as it is stored, whatever a schema says; as a store's `stored(at:)`.
    func stored(at path: PropertyListPath) throws(DefaultsError) -> PropertyList?
    /// The same with the schema's defaults in it, at every depth.
    func filled(at path: PropertyListPath) throws(DefaultsError) -> PropertyList?
    /// Sets the value at `path` as it is to be stored; as a store's `setStored(_:at:)`.
    func setStored(_ value: PropertyList, at path: PropertyListPath) throws(DefaultsError)
    /// Removes the value at `path` and says whether there was one; as a store's `remove(at:)`.
    func remove(at path: PropertyListPath) throws(DefaultsError) -> Bool
    /// Runs `body` in a transaction: a new one of a store's, and the transaction itself.
    func atomically<Result>(_ body: (DefaultsTransaction) throws -> Result) throws -> Result
}

extension PropertyListStorage {
    /// As `value(at:)`, of a storage without a schema.
    public func stored(at path: PropertyListPath) throws(DefaultsError) -> PropertyList? { try value(at: path) }

    /// As `stored(at:)`, of a storage without a schema.
    public func filled(at path: PropertyListPath) throws(DefaultsError) -> PropertyList? { try stored(at: path) }

    /// As `set(_:at:)`, of a storage without a schema.
    public func setStored(_ value: PropertyList, at path: PropertyListPath) throws(DefaultsError) {
        try set(value, at: path)
    }
}

extension DefaultsStore: PropertyListStorage {
    /// As ``transaction(_:)``.
    public func atomically<Result>(_ body: (DefaultsTransaction) throws -> Result) throws -> Result {
        try transaction(body)
    }
}

extension DefaultsTransaction: PropertyListStorage {
    /// Runs `body` in this transaction.
    public func atomically<Result>(_ body: (DefaultsTransaction) throws -> Result) throws -> Result { try body(self) }
}

extension PropertyListStorage {
    /// The value at `path` as `type` shows it, whatever a schema says: checked, keys renamed to fields, defaults filled
    /// in; nil when it is absent and the type has no default of its own. Any shows it as it is stored.
    ///
    /// - Throws: `TypeError` with the path of the value that is not of the type, or that is a keyed archive;
    ///   `DefaultsError` from the store.
    public func value(at path: PropertyListPath, as type: CodableType) throws -> PropertyList? {
        guard let stored = try stored(at: path) else { return type.defaultValue }
        guard stored.kind.isContainer, let storage = self as? any SchemaStorage else {
            return try type.read(stored, at: path)
        }
        let unset = try storage.usableStore().unsetPaths(below: path)
        return try type.read(type.marking(stored, unset: unset), at: path)
    }

    /// Sets the value at `path`, given as `type` shows it. Merges it with the stored value, so that keys that the type
    /// does not know are kept, unless `options` say that it is replaced.
    ///
    /// - Returns: the number of elements of stored arrays that are gone with unknown keys.
    /// - Throws: `TypeError` with the path of the value that is not of the type; `DefaultsError` from the store.
    ///   Nothing is changed then.
    @discardableResult
    public func set(
        _ value: PropertyList, at path: PropertyListPath, as type: CodableType,
        options: CodableType.EncodeOptions = CodableType.EncodeOptions()
    ) throws -> Int {
        guard let storage = self as? any SchemaStorage else {
            let stored = options.replaces ? nil : try self.stored(at: path)
            let encoded = try type.write(value, over: stored, options: options) { path }
            try setStored(encoded.list, at: path)
            return encoded.droppedElements
        }
        return try storage.usableStore().set(value, at: path, as: type, options)
    }
}

extension DefaultsStore {
    /// As the function of a storage.
    fileprivate func set(
        _ value: PropertyList, at path: PropertyListPath, as type: CodableType, _ options: CodableType.EncodeOptions
    ) throws -> Int {
        try setTyped(at: path, options.change, type.shape) { old in
            let encoded = try type.write(value, over: old, options: options) { path }
            return (encoded.list, encoded.droppedElements)
        } ?? 0
    }
}

extension CodableType.EncodeOptions {
    /// The same for a store with a schema of types.
    package var change: SchemaChange { SchemaChange(replaces: replaces, ancestor: ancestor) }
}

extension CodableType {
    /// A stored value with null for optional values at unset paths, which have no default there.
    ///
    /// - Parameter stored: the value before defaults were filled in; nil for the same.
    package func marking(
        _ value: PropertyList, unset: [PropertyListPath], over stored: PropertyList? = nil
    ) -> PropertyList {
        var marked = value
        for path in unset where !path.isEmpty && (stored ?? value).value(at: path) == nil {
            let parent = PropertyListPath(Array(path.steps.dropLast()))
            guard marked.value(at: parent)?.kind == .dictionary, type(at: path)?.isOptional == true else { continue }
            marked = (try? marked.setting(.null, at: path)) ?? marked
        }
        return marked
    }

    /// What the type says of the values inside a value.
    fileprivate var shape: TypedShape {
        TypedShape {
            self.type(at: $0)?.isVariant ?? false
        } isStructure: {
            self.type(at: $0)?.isStructure ?? false
        } hasDefault: {
            self.hasOptionalDefault(at: $0)
        } knows: { path in
            let parent = PropertyListPath(Array(path.steps.dropLast()))
            return self.type(at: parent)?.isStructure == true && self.type(at: path) != nil
        }
    }

    /// Whether the stored value is an older program's archive. A get refuses it, and a set keeps nothing of it.
    fileprivate func isOlderArchive(_ stored: PropertyList) -> Bool {
        stored.isKeyedArchive && !takesArchives
    }

    /// The value that is stored, as the type shows it.
    ///
    /// - Throws: `TypeError` with the path of the value that is not of the type. A keyed archive is no value of a type
    ///   but Data and Any: ``DefaultsStore/migrateArchive(at:to:keepingOld:)`` brings it into the type's form, and
    ///   `unarchived()` gives its plain value.
    public func read(
        _ stored: PropertyList, at path: PropertyListPath = []
    ) throws(TypeError) -> PropertyList {
        try read(stored) { path }
    }

    /// As ``read(_:at:)``, with a path that is made only for an error.
    package func read(_ stored: PropertyList, at path: () -> PropertyListPath) throws(TypeError) -> PropertyList {
        do throws(TypeError) {
            if isOlderArchive(stored) { throw .keyedArchive(insteadOf: description) }
            if let known = knownProgramForm(stored) { return known }
            return try decode(stored)
        } catch {
            throw error.placed(below: path())
        }
    }

    /// The value to store, over the one that is stored; with a path that is made only for an error.
    package func write(
        _ value: PropertyList, over stored: PropertyList?, options: EncodeOptions = EncodeOptions(),
        at path: () -> PropertyListPath
    ) throws(TypeError) -> Encoded {
        do throws(TypeError) {
            return try encode(value, over: stored.flatMap { isOlderArchive($0) ? nil : $0 }, options: options)
        } catch {
            throw error.placed(below: path())
        }
    }
}

extension DefaultsStore {
    /// Brings a value that an older program archived with NSKeyedArchiver into the form of its type, in one
    /// transaction.
    ///
    /// - Parameter keepingOld: whether the archive is kept, once, beside the value: under its key with `.archive`
    ///   behind it. The path must end with a key then.
    /// - Returns: whether there was an archive.
    /// - Throws: the error of a damaged archive, of one that does not fit the type, or of the store. Nothing is changed
    ///   then.
    @discardableResult
    public func migrateArchive(
        at path: PropertyListPath, to type: CodableType, keepingOld: Bool = false
    ) throws -> Bool {
        try transaction { transaction in
            guard let archive = try transaction.stored(at: path), archive.isKeyedArchive else { return false }
            let value = try type.decode(try archive.unarchived(from: path), at: path)
            if keepingOld { try transaction.keep(archive, beside: path) }
            try transaction.setStored(try type.encode(value, at: path).list, at: path)
            return true
        }
    }

    /// Reads, changes and sets the value at `path` as one transaction: no other change comes in between.
    ///
    /// - Parameters:
    ///   - options: whether the keys that the type does not know are dropped.
    ///   - type: the type; nil for the schema's, and without one for values as they are stored.
    ///   - change: given the value as `type` shows it, or nil, gives the new one; nil changes nothing.
    /// - Returns: the number of elements of stored arrays that are gone with unknown keys.
    /// - Throws: the error of `change`, and those of reading and setting. Nothing is changed then.
    @discardableResult
    public func update(
        at path: PropertyListPath, as type: CodableType? = nil,
        options: CodableType.EncodeOptions = CodableType.EncodeOptions(),
        _ change: (PropertyList?) throws -> PropertyList?
    ) throws -> Int {
        try transaction { transaction in
            let old = try type.map { try transaction.value(at: path, as: $0) } ?? transaction.value(at: path)
            guard let new = try change(old) else { return 0 }
            var options = options
            if options.ancestor == nil { options.ancestor = old }
            if let type { return try transaction.set(new, at: path, as: type, options: options) }
            return try transaction.set(new, at: path, options.change)
        }
    }
}

extension DefaultsTransaction {
    fileprivate func keep(_ archive: PropertyList, beside path: PropertyListPath) throws(DefaultsError) {
        guard case .key(let key)? = path.steps.last else {
            throw DefaultsError(.misuse, "Expected a key, to keep the archive beside it", at: path)
        }
        let archivePath = PropertyListPath(path.steps.dropLast() + [.key(key + ".archive")])
        if try stored(at: archivePath) == nil { try setStored(archive, at: archivePath) }
    }
}
