public import CodableTypes
public import DefaultsStorage
public import PropertyLists

/// What values can be read from and written to by path: a store, or a transaction on one.
public protocol PropertyListStorage {
    func value(at path: PropertyListPath) throws(DefaultsError) -> PropertyList?
    func set(_ value: PropertyList, at path: PropertyListPath) throws(DefaultsError)
    func remove(at path: PropertyListPath) throws(DefaultsError) -> Bool
}

extension DefaultsStore: PropertyListStorage {}
extension DefaultsTransaction: PropertyListStorage {}

extension PropertyListStorage {
    /// The value at `path` as `type` shows it: checked, keys renamed to fields, defaults filled in; nil when it is
    /// absent and the type has no default of its own.
    ///
    /// - Throws: ``TypeError`` with the path of what is not of the type; `DefaultsError` from the store.
    public func value(at path: PropertyListPath, as type: CodableType) throws -> PropertyList? {
        guard let stored = try value(at: path) else { return type.defaultValue }
        return try type.decode(stored, at: path)
    }

    /// Sets the value at `path`, given as `type` shows it. What the type does not know of the stored value is kept,
    /// unless `options` say that it is replaced.
    ///
    /// - Returns: how many unknown parts of the stored value could not be matched with the new one, and went.
    /// - Throws: ``TypeError`` with the path of what is not of the type; `DefaultsError` from the store. Nothing is
    ///   changed then.
    @discardableResult
    public func set(
        _ value: PropertyList, at path: PropertyListPath, as type: CodableType,
        options: CodableType.EncodeOptions = CodableType.EncodeOptions()
    ) throws -> Int {
        let stored = options.replaces ? nil : try self.value(at: path)
        let encoded = try type.encode(value, over: stored, at: path, options: options)
        try set(encoded.list, at: path)
        return encoded.droppedElements
    }
}

extension DefaultsStore {
    /// Reads, changes and sets the value at `path` as one transaction: nobody else changes it in between.
    ///
    /// - Parameter change: given the value as `type` shows it, or nil, gives the new one; nil changes nothing.
    /// - Throws: what `change` throws, and what reading and setting do. Nothing is changed then.
    public func update(
        at path: PropertyListPath, as type: CodableType? = nil,
        _ change: (PropertyList?) throws -> PropertyList?
    ) throws {
        try transaction { transaction in
            let old = try type.map { try transaction.value(at: path, as: $0) } ?? transaction.value(at: path)
            guard let new = try change(old) else { return }
            if let type { try transaction.set(new, at: path, as: type) } else { try transaction.set(new, at: path) }
        }
    }
}
