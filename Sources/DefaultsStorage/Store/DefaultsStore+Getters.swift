internal import FoundationEssentials
internal import Glibc
public import PropertyLists

// The getters of UserDefaults under their own names, with Apple's coercions: a value that cannot be coerced gives the
// type's zero, or nil. The store's own `value` never coerces. They read the stored form, whatever the schema says.
extension DefaultsStore {
    /// True for a true boolean, a number other than 0, and a string that begins with "y", "t" or a whole number other
    /// than 0, in either case, behind white space.
    public func bool(forKey key: String) throws(DefaultsError) -> Bool {
        guard let value = try stored(forKey: key) else { return false }
        if let boolean = value.boolean { return boolean }
        if let text = value.string { return truth(of: text) }
        if let integer = value.integer { return integer != 0 }
        return value.unsigned != nil || (value.real ?? 0) != 0
    }

    /// A whole number; of a real the part before the point, of a boolean 1 or 0, of a string the number that it begins
    /// with.
    public func integer(forKey key: String) throws(DefaultsError) -> Int {
        guard let value = try stored(forKey: key) else { return 0 }
        if let integer = value.integer { return Int(clamping: integer) }
        if let unsigned = value.unsigned { return Int(clamping: unsigned) }
        if let boolean = value.boolean { return boolean ? 1 : 0 }
        if let real = value.real { return Self.whole(real) }
        return value.string.map { strtol($0, nil, 10) } ?? 0
    }

    private static func whole(_ real: Double) -> Int {
        if real.isNaN { return 0 }
        return Int(exactly: real.rounded(.towardZero)) ?? (real < 0 ? Int.min : Int.max)
    }

    /// A real number; of an integer its value, of a boolean 1 or 0, of a string the decimal number that it begins with,
    /// in every locale.
    public func double(forKey key: String) throws(DefaultsError) -> Double {
        guard let value = try stored(forKey: key) else { return 0 }
        if let real = value.real { return real }
        if let integer = value.integer { return Double(integer) }
        if let unsigned = value.unsigned { return Double(unsigned) }
        if let boolean = value.boolean { return boolean ? 1 : 0 }
        return value.string.map(leadingReal) ?? 0
    }

    /// As ``double(forKey:)``, rounded.
    public func float(forKey key: String) throws(DefaultsError) -> Float { Float(try double(forKey: key)) }

    /// A string, or a number or boolean as text; nil for other kinds.
    public func string(forKey key: String) throws(DefaultsError) -> String? {
        guard let value = try stored(forKey: key) else { return nil }
        if let text = value.string { return text }
        if let integer = value.integer { return "\(integer)" }
        if let unsigned = value.unsigned { return "\(unsigned)" }
        if let boolean = value.boolean { return boolean ? "1" : "0" }
        guard let real = value.real else { return nil }
        return real == real.rounded() && abs(real) < 1e15 ? "\(Int(real))" : "\(real)"
    }

    /// A copy of a data value's bytes; nil for another kind and for an absent key.
    public func data(forKey key: String) throws(DefaultsError) -> [UInt8]? { try stored(forKey: key)?.data }

    /// An array; nil for another kind.
    public func array(forKey key: String) throws(DefaultsError) -> PropertyList? {
        let value = try stored(forKey: key)
        return value?.kind == .array ? value : nil
    }

    /// A dictionary; nil for another kind.
    public func dictionary(forKey key: String) throws(DefaultsError) -> PropertyList? {
        let value = try stored(forKey: key)
        return value?.kind == .dictionary ? value : nil
    }

    /// An array of nothing but strings; nil for other values.
    public func stringArray(forKey key: String) throws(DefaultsError) -> [String]? {
        guard let array = try array(forKey: key) else { return nil }
        var result: [String] = []
        for element in array.elements {
            guard let text = element.string else { return nil }
            result.append(text)
        }
        return result
    }

    /// Whether the administrator has set the key, in a file or in a mandatory store of a fleet, so that it cannot be changed.
    public func isForced(_ key: String) throws(DefaultsError) -> Bool {
        try checkOpen()
        return try key.withBytes { bytes throws(DefaultsError) in
            try layers.isForced(bytes.bindMemory(to: UInt8.self))
        }
    }
}

/// A layer of the search list.
///
/// ```swift
/// let own = try store.dictionary(of: .application)
/// let registered = try store.dictionary(of: .registered)
/// print(registered.keys.filter { own[$0] == nil })  // the keys that still have their defaults
/// ```
public enum DefaultsLayer: Sendable, Hashable {
    /// The administrator's file: its keys cannot be changed by programs.
    case managed
    /// The program's command line; see ``DefaultsStore/arguments(from:)``. It is never written to a file.
    case arguments
    /// The store's own file, which a set changes.
    case application
    /// A suite, by its index in the options' suites.
    case suite(Int)
    /// The user's `.GlobalPreferences.plist`, shared by all stores that are opened by name.
    case global
    /// The handle's registered defaults, for keys that no other layer has; the schema's are among them.
    case registered
    /// The defaults of the schema's type.
    case schema
    /// A store of a fleet whose keys are locked, by its index in ``DefaultsStore/Options/Fleet/mandatory``. It comes
    /// behind the administrator's file.
    case mandatory(Int)
    /// A store of a fleet with defaults, by its index in ``DefaultsStore/Options/Fleet/recommended``. It comes behind
    /// the suites.
    case recommended(Int)
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
        case .global: return try layers.global?.snapshot() ?? emptyDictionary
        case .registered: return domain.lock.withLock { state.registered }
        case .schema: return schemaDefaults
        case .mandatory(let index): return try Self.dictionary(layers.mandatory, index)
        case .recommended(let index): return try Self.dictionary(layers.recommended, index)
        }
    }

    private static func dictionary(_ layers: [FleetLayer], _ index: Int) throws(DefaultsError) -> PropertyList {
        layers.indices.contains(index) ? try layers[index].snapshot() : emptyDictionary
    }

    /// The arguments layer of a command line, as UserDefaults reads it: `-key value` pairs, in which a value that is
    /// the text of a property list is parsed, and every other one is a string.
    public static func arguments(from line: [String]) throws(DefaultsError) -> PropertyList {
        let delta = Delta()
        var index = line.startIndex
        while index + 1 < line.endIndex {
            let name = line[index]
            guard name.hasPrefix("-"), name.utf8.count > 1, !line[index + 1].hasPrefix("-") else {
                index += 1
                continue
            }
            let value = try argumentValue(line[index + 1])
            name.dropFirst().description.withBytes { delta.set(value, for: $0.bindMemory(to: UInt8.self)) }
            index += 2
        }
        return try DefaultsError.translating { () throws(PropertyListError) in try delta.applied(to: emptyDictionary) }
    }

    private static func argumentValue(_ text: String) throws(DefaultsError) -> PropertyList {
        if let list = try? PropertyList.parse(Array(text.utf8)).list { return list }
        return try DefaultsError.translating { () throws(PropertyListError) in try PropertyList(any: text) }
    }
}

// MARK: - Files in and out

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

    /// Takes the entries of a file's dictionary into the application's domain, in one transaction; other keys stay.
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
            for (key, value) in dictionary.entries { try setStored(value, forKey: key) }
        }
    }

    /// Copies the application's domain into another store, whatever its engine, in one transaction there; the other
    /// store's own values are replaced.
    ///
    /// - Throws: also the error of a value that cannot be read, and then copies nothing.
    public func copy(to other: DefaultsStore) throws(DefaultsError) {
        try sync()
        if let key = domain.unreadableKeys.first { _ = try stored(forKey: String(decoding: key, as: UTF8.self)) }
        try other.setStored(try dictionary(of: .application), at: [])
    }
}
