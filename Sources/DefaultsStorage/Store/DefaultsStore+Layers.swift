public import PropertyLists

/// A layer of the search list.
///
/// ```swift
/// let own = try store.dictionary(of: .application)
/// let registered = try store.dictionary(of: .registered)
/// print(registered.keys.filter { own[$0] == nil })  // the keys that still have their defaults
/// ```
public enum DefaultsLayer: Sendable, Hashable {
    /// The administrator's file of values that programs cannot change.
    case managed
    /// The program's command line; see ``DefaultsStore/arguments(from:)``. It is never written to a file.
    case arguments
    /// The store's own file, which a set changes.
    case application
    /// A suite, by its index in the options' suites.
    case suite(Int)
    /// The administrator's defaults for a store that is opened by name: `/etc/kvcodable/defaults/NAME.plist`.
    case administrator
    /// The user's `.GlobalPreferences.plist`, shared by all stores that are opened by name.
    case global
    /// The handle's registered defaults.
    case registered
    /// The defaults of the schema's type.
    case schema
}

extension DefaultsStore {
    /// The dictionary of one layer by itself; empty for one that the store does not have.
    public func dictionary(of layer: DefaultsLayer) throws(DefaultsError) -> PropertyList {
        try checkOpen()
        switch layer {
        case .managed: return try layers.managed?.snapshot() ?? emptyDictionary
        case .arguments: return layers.arguments ?? emptyDictionary
        case .application: return try domain.snapshot()
        case .suite(let index):
            return layers.suites.indices.contains(index) ? try layers.suites[index].snapshot() : emptyDictionary
        case .administrator: return try layers.administrator?.snapshot() ?? emptyDictionary
        case .global: return try layers.global?.snapshot() ?? emptyDictionary
        case .registered: return domain.lock.withLock { state.registered }
        case .schema: return lower.schemaDefaults
        }
    }

    /// Whether the administrator has locked the value at a path, so that programs cannot change it. The leaves of the
    /// managed file are locked: all values but dictionaries, and dictionaries without entries.
    public func isForced(at path: PropertyListPath) throws(DefaultsError) -> Bool {
        try checkOpen()
        return lock(at: path).isWhole
    }

    /// Whether the value of a top-level key is locked; as ``isForced(at:)``.
    public func isForced(_ key: String) throws(DefaultsError) -> Bool { try isForced(at: [.key(key)]) }

    /// The arguments layer of a command line, as UserDefaults reads it: `-key value` pairs, in which a value that is
    /// the text of a property list is parsed, and every other one is a string.
    public static func arguments(from line: [String]) throws(DefaultsError) -> PropertyList {
        var values = State(StoredValues(emptyDictionary))
        var index = line.startIndex
        while index + 1 < line.endIndex {
            let name = line[index]
            guard name.hasPrefix("-"), name.utf8.count > 1, !line[index + 1].hasPrefix("-") else {
                index += 1
                continue
            }
            let value = try argumentValue(line[index + 1])
            name.dropFirst().description.withBytes { values.set(value, for: $0.bindMemory(to: UInt8.self)) }
            index += 2
        }
        return try DefaultsError.translating { () throws(PropertyListError) in try values.whole() }
    }

    private static func argumentValue(_ text: String) throws(DefaultsError) -> PropertyList {
        if let list = try? PropertyList.parse(Array(text.utf8)).list { return list }
        return try DefaultsError.translating { () throws(PropertyListError) in try PropertyList(any: text) }
    }
}
