internal import KeyedArchives
public import PropertyLists

extension DefaultsStore {
    /// The treatment of JSON's nulls by ``DefaultsStore/import(_:as:limits:nulls:)``.
    ///
    /// ```swift
    /// try store.import(Array(#"{"title": null, "width": 640}"#.utf8), nulls: .dropped)
    /// ```
    public enum ImportedNulls: Sendable, Hashable {
        /// A null is an error, with its path: nothing is imported.
        case refused
        /// Keys and elements that are null are left out; a key of the store stays as it is then.
        case dropped
    }

    /// The application's domain as the bytes of a file.
    public func exported(as format: PropertyListFormat) throws(DefaultsError) -> [UInt8] {
        let list = try dictionary(of: .application)
        return try DefaultsError.translating { () throws(PropertyListError) in try list.serialized(as: format) }
    }

    /// Takes the entries of a file's dictionary into the application's domain, in one transaction; other keys stay. Lower
    /// layers show in dictionaries as they do in the store's own file.
    ///
    /// - Parameters:
    ///   - bytes: a property list of any format; of a keyed archive the plain value is taken, without its classes.
    ///   - format: the format that the bytes must have; nil to find it from the content.
    ///   - limits: limits of the value's size and depth.
    ///   - nulls: whether JSON's nulls, which no store holds, are an error or are left out.
    public func `import`(
        _ bytes: [UInt8], as format: PropertyListFormat? = nil, limits: PropertyListLimits = PropertyListLimits(),
        nulls: ImportedNulls = .refused
    ) throws(DefaultsError) {
        let list = try DefaultsError.translating { () throws(PropertyListError) in
            let list = try PropertyList.parse(bytes, as: format, limits: limits).list
            let plain = list.isKeyedArchive ? try list.unarchived(limits: limits) : list
            return nulls == .dropped ? try plain.droppingNulls() : plain
        }
        let dictionary = try Self.dictionary(list, "what is imported")
        try checkWritable()
        try domain.transactionAsWhole(state) { () throws(DefaultsError) in
            for (key, value) in dictionary.entries { try setAsInFile(value, forKey: key) }
        }
    }

    /// Copies the application's domain into another store, whatever its engine, in one transaction there; the other
    /// store's own values are replaced.
    ///
    /// - Throws: also the error of a value that cannot be read, and then copies nothing.
    public func copy(to other: DefaultsStore) throws(DefaultsError) {
        try sync()
        if let key = domain.state.unreadableKeys.first { _ = try stored(forKey: String(decoding: key, as: UTF8.self)) }
        let own = try dictionary(of: .application)
        let isUnset = { (_: String) in false }
        try other.replaceAll(with: own, unsetting: isUnset) { key, value throws(DefaultsError) in
            try other.setAsInFile(value, forKey: key)
        }
    }

    /// Sets a value of the application's domain as a file has it: what it leaves out is not unset.
    private func setAsInFile(_ value: PropertyList, forKey key: String) throws(DefaultsError) {
        try key.withBytes { bytes throws(DefaultsError) in
            let utf8 = bytes.bindMemory(to: UInt8.self)
            try checkChange(utf8, nil, value)
            if let own = try unlocked(value, at: [.key(key)]) { try setOwn(own, at: [.key(key)], of: utf8, nil) }
        }
    }
}
