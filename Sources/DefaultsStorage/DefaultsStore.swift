internal import Glibc
public import PropertyLists

/// A handle on a store of defaults: a dictionary of property-list values, layered, and shared by all the programs that
/// open the same file.
///
/// Values are read from memory. A change is in memory at once, for every handle of the process, and is written as the
/// options' durability says. What other processes write is taken up by ``refresh()``, ``sync()``, a transaction, a
/// flush, and by pumping a watch.
///
/// A handle owns its search list, registered defaults and options; the domain behind it is shared by all handles on
/// the file. Safe to use from several threads at once.
///
/// `@unchecked Sendable`: what changes is guarded by the domain's lock.
public final class DefaultsStore: @unchecked Sendable {
    let domain: Domain
    let layers: SearchLayers
    let timeout: Duration
    let durability: DefaultsDurability
    let isReadOnly: Bool
    let validation: Options.Validation?
    let state: HandleState
    /// Whether this handle may set every key to whatever the file can hold, without a word from anybody.
    private let setsFreely: Bool
    private let hasUpperLayers: Bool

    /// The store's file; nil for a store in memory.
    public var file: String? { domain.file }

    init(_ domain: Domain, _ layers: SearchLayers, _ options: Options) throws(DefaultsError) {
        self.domain = domain
        self.layers = layers
        timeout = options.timeout
        durability = options.durability
        isReadOnly = options.isReadOnly
        validation = options.validation
        state = HandleState()
        setsFreely = !options.isReadOnly && options.validation == nil && layers.managed == nil
        hasUpperLayers = layers.hasUpper
        if let defaults = options.defaults { state.registered = try Self.dictionary(defaults, "registered defaults") }
        domain.lock.withLock {
            domain.handles.add(durability)
            if options.synchronization == .full, !isReadOnly { domain.synchronization = .full }
        }
    }

    deinit { try? close() }

    static func dictionary(_ list: PropertyList, _ what: String) throws(DefaultsError) -> PropertyList {
        guard list.kind == .dictionary else {
            throw DefaultsError(.invalidValue, "Expected Dictionary as \(what), found \(list.kind)")
        }
        return list.compacted()
    }

    var deadline: Deadline { .after(timeout) }
}

/// The part of a handle that changes. Guarded by the domain's lock.
final class HandleState {
    @exclusivity(unchecked) var registered = emptyDictionary
    @exclusivity(unchecked) var isClosed = false
    @exclusivity(unchecked) var watches: WatchList?

    @inline(__always)
    func checkOpen() throws(DefaultsError) {
        if isClosed { throw DefaultsError(.closed, "The store was closed") }
    }
}

// MARK: - Reading

extension DefaultsStore {
    /// The value at `path`, from the first layer that has its top-level key; nil when it is absent.
    ///
    /// The empty path gives the whole effective dictionary. The value may keep a large document alive: a program that
    /// holds on to a small part takes its `compacted()` copy.
    public func value(at path: PropertyListPath) throws(DefaultsError) -> PropertyList? {
        guard let first = path.steps.first else { return try snapshot() }
        guard case .key(let key) = first else { return nil }
        return try key.withBytes { bytes throws(DefaultsError) in
            try value(forUTF8Key: bytes.bindMemory(to: UInt8.self), path.steps.dropFirst())
        }
    }

    /// The value of a top-level key, from the first layer that has it; nil when it is absent.
    public func value(forKey key: String) throws(DefaultsError) -> PropertyList? {
        try key.withBytes { bytes throws(DefaultsError) in
            try value(forUTF8Key: bytes.bindMemory(to: UInt8.self))
        }
    }

    /// As ``value(forKey:)`` without making a String: the way of the borders.
    package func value(forUTF8Key key: UnsafeBufferPointer<UInt8>) throws(DefaultsError) -> PropertyList? {
        if hasUpperLayers, let value = layers.upper(key) {
            try domain.lock.withLock { () throws(DefaultsError) in try state.checkOpen() }
            return value
        }
        if let value = try domain.value(key, state) { return value }
        return try lower(key)
    }

    /// Shows `body` the value of a top-level key, in the least time; false, and nothing is shown, where the value has
    /// to be looked for in another way. `body` must not use the store.
    package func lendValue(forUTF8Key key: UnsafeBufferPointer<UInt8>, _ body: (PropertyList) -> Void) -> Bool {
        !hasUpperLayers && domain.lendValue(key, state, body)
    }

    func value(
        forUTF8Key key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>
    ) throws(DefaultsError) -> PropertyList? {
        if steps.isEmpty { return try value(forUTF8Key: key) }
        let rest = PropertyListPath(Array(steps))
        if let value = layers.upper(key) { return value.value(at: rest) }
        if let value = try domain.value(key, state, steps) { return value }
        if try domain.contains(key) { return nil }
        return try lower(key)?.value(at: rest)
    }

    /// What the layers below the application's domain have for `key`.
    func lower(_ key: UnsafeBufferPointer<UInt8>) throws(DefaultsError) -> PropertyList? {
        if let value = try layers.lower(key) { return value }
        return domain.lock.withLock { state.registered }[utf8: key]
    }

    /// Every key that some layer has, in the order of their bytes.
    public func keys() throws(DefaultsError) -> [String] { try snapshot().keys }

    /// The whole effective dictionary, as it is now. It never changes, and what is taken from it lives as long as it.
    public func snapshot() throws(DefaultsError) -> PropertyList {
        let registered = try domain.lock.withLock { () throws(DefaultsError) in
            try state.checkOpen()
            return state.registered
        }
        var merged: [PropertyList] = [registered]
        merged += try layers.lowerDictionaries()
        merged.append(try domain.snapshot())
        merged += try layers.upperDictionaries()
        return try Self.merged(merged.filter { $0.count > 0 })
    }

    /// One dictionary of several, in which the later ones win.
    static func merged(_ dictionaries: [PropertyList]) throws(DefaultsError) -> PropertyList {
        guard var result = dictionaries.first else { return emptyDictionary }
        for dictionary in dictionaries.dropFirst() {
            let delta = Delta()
            for (key, value) in dictionary.entries {
                key.withBytes { delta.set(value, for: $0.bindMemory(to: UInt8.self)) }
            }
            let base = result
            result = try DefaultsError.translating { () throws(PropertyListError) in try delta.applied(to: base) }
        }
        return result
    }
}

// MARK: - Changing

extension DefaultsStore {
    /// Sets the value at `path` in the application's domain. Missing dictionaries on the way are made, never arrays; an
    /// index equal to an array's count appends. The empty path replaces the domain's whole dictionary.
    ///
    /// A path into a value that comes from a lower layer first copies that value into the application's domain.
    ///
    /// - Throws: ``DefaultsError``: what the file could not hold, a path that does not fit, a forced key, a read-only
    ///   store; with immediate durability also what writing reports. A change that could not be written stays in
    ///   memory, and is written with the next one.
    public func set(_ value: PropertyList, at path: PropertyListPath) throws(DefaultsError) {
        guard let first = path.steps.first else { return try replaceAll(with: value) }
        guard case .key(let key) = first else {
            throw DefaultsError(.pathMismatch, "Expected Array, found Dictionary")
        }
        try key.withBytes { bytes throws(DefaultsError) in
            let utf8 = bytes.bindMemory(to: UInt8.self)
            if path.steps.count == 1 { return try set(value, forUTF8Key: utf8) }
            try checkChange(utf8, path, value)
            let rest = PropertyListPath(Array(path.steps.dropFirst()))
            for case .key(let key) in rest.steps { try check(key: key) }
            let lower = try domain.contains(utf8) ? nil : lower(utf8)
            try domain.set(value, at: rest, of: utf8, over: lower)
        }
    }

    /// Sets the value of a top-level key in the application's domain.
    public func set(_ value: PropertyList, forKey key: String) throws(DefaultsError) {
        try key.withBytes { bytes throws(DefaultsError) in
            try set(value, forUTF8Key: bytes.bindMemory(to: UInt8.self))
        }
    }

    /// As ``set(_:forKey:)`` without making a String: the way of the borders. The bytes must be UTF-8.
    package func set(
        _ value: consuming PropertyList, forUTF8Key key: UnsafeBufferPointer<UInt8>
    ) throws(DefaultsError) {
        if setsFreely, value.isWholeDocument, let facts = value.document.facts, isUnmarked(key, of: value) {
            var entry = DeltaEntry.set(consume value)
            if try domain.setAtOnce(&entry, facts, key, state) { return }
            guard case .set(let given) = entry else { return }
            value = given
        }
        try checkChange(key, nil, value)
        if isUIDMark(key), value.integer != nil {
            throw DefaultsError(.invalidValue, uidMessage, at: [.key(uidKey)])
        }
        try domain.set(value, key)
    }

    /// Removes what is at `path` from the application's domain, which uncovers the layer below; says whether something
    /// was there. A path into a value of a lower layer first copies that value.
    public func remove(at path: PropertyListPath) throws(DefaultsError) -> Bool {
        guard let first = path.steps.first else { return try removeAll() }
        guard case .key(let key) = first else { return false }
        return try key.withBytes { bytes throws(DefaultsError) in
            let utf8 = bytes.bindMemory(to: UInt8.self)
            try checkChange(utf8, path, nil)
            if path.steps.count == 1 { return try domain.remove(utf8) }
            let rest = PropertyListPath(Array(path.steps.dropFirst()))
            if try domain.contains(utf8) { return try domain.remove(at: rest, of: utf8, over: nil) }
            guard let lower = try lower(utf8), lower.value(at: rest) != nil else { return false }
            return try domain.remove(at: rest, of: utf8, over: lower)
        }
    }

    /// Replaces the application's domain by a dictionary, in one transaction.
    private func replaceAll(with dictionary: PropertyList) throws(DefaultsError) {
        guard dictionary.kind == .dictionary else {
            throw DefaultsError(.invalidValue, "Expected Dictionary at the root, found \(dictionary.kind)")
        }
        try domain.transaction(until: deadline) { () throws(DefaultsError) in
            for key in try domain.snapshot().keys where dictionary[key] == nil { _ = try remove(at: [.key(key)]) }
            for (key, value) in dictionary.entries { try set(value, forKey: key) }
        }
    }

    private func removeAll() throws(DefaultsError) -> Bool {
        try domain.transaction(until: deadline) { () throws(DefaultsError) in
            let keys = try domain.snapshot().keys
            for key in keys { _ = try remove(at: [.key(key)]) }
            return !keys.isEmpty
        }
    }

    /// Adds to the registered defaults of this handle; keys that are registered already get the new value.
    public func register(_ defaults: PropertyList) throws(DefaultsError) {
        let dictionary = try Self.dictionary(defaults, "registered defaults")
        let old = try domain.lock.withLock { () throws(DefaultsError) in
            try state.checkOpen()
            return state.registered
        }
        let new = try Self.merged([old, dictionary])
        domain.lock.withLock {
            state.registered = new
            for key in dictionary.keys {
                key.withBytes { domain.inbox.noteChange(of: $0.bindMemory(to: UInt8.self)) }
            }
        }
    }

    // MARK: - Checks

    @inline(__always)
    private func checkChange(
        _ key: UnsafeBufferPointer<UInt8>, _ path: PropertyListPath?, _ value: PropertyList?
    ) throws(DefaultsError) {
        let place = { path ?? PropertyListPath([.key(String(decoding: key, as: UTF8.self))]) }
        let (rules, isMigrating) = try domain.lock.withLock { () throws(DefaultsError) in
            try state.checkOpen()
            return (domain.rules, domain.isMigrating)
        }
        if isReadOnly { throw DefaultsError(.readOnly, "The store was opened read-only", at: place(), file: file) }
        if layers.isForced(key) {
            throw DefaultsError(.forced, "The administrator has set this key", at: place(), file: file)
        }
        if let value {
            try rules.check(key: key)
            try rules.check(value, at: place(), depth: path?.steps.count ?? 1)
        }
        if let validation, !isMigrating { try run(validation, place(), value) }
    }

    private func check(key: String) throws(DefaultsError) {
        let rules = domain.lock.withLock { domain.rules }
        try key.withBytes { bytes throws(DefaultsError) in try rules.check(key: bytes.bindMemory(to: UInt8.self)) }
    }

    func run(
        _ validation: Options.Validation, _ path: PropertyListPath, _ value: PropertyList?
    ) throws(DefaultsError) {
        do {
            try validation(path, value)
        } catch let error as DefaultsError {
            throw error
        } catch {
            throw DefaultsError(.refused, "\(error)", at: path, file: file)
        }
    }

    private func isUIDMark(_ key: UnsafeBufferPointer<UInt8>) -> Bool {
        key.count == uidKey.utf8.count && key.elementsEqual(uidKey.utf8)
    }
}

// MARK: - Writing and closing

extension DefaultsStore {
    /// Writes what was set before, by any handle of the process, and takes up what others wrote; returns when it is on
    /// disk.
    public func sync() throws(DefaultsError) {
        try checkOpen()
        let deadline = self.deadline
        if !isReadOnly { try domain.flush(until: deadline) }
        try refresh()
    }

    /// Takes up what other processes wrote, in every layer.
    public func refresh() throws(DefaultsError) {
        try checkOpen()
        try refresh(until: deadline)
    }

    func refresh(until deadline: Deadline) throws(DefaultsError) {
        try domain.refresh(until: deadline)
        for layer in layers.domains { try layer.refresh(until: deadline) }
    }

    /// Closes the handle, once; its other calls fail from then on. What is left in memory is written, whatever the
    /// durability.
    ///
    /// - Throws: what writing reports. The handle is closed all the same; with coalesced durability what could not be
    ///   written is tried again as long as the process lives.
    public func close() throws(DefaultsError) {
        let isFirst = domain.lock.withLock {
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard isFirst else { return }
        defer {
            domain.lock.withLock { domain.handles.remove(durability) }
            stopWatching()
        }
        if !isReadOnly { try domain.flush(until: deadline) }
    }

    func checkOpen() throws(DefaultsError) {
        try domain.lock.withLock { () throws(DefaultsError) in try state.checkOpen() }
    }

    /// Counts the changes that this process has seen in the application's domain, its own and others'.
    public var generation: UInt64 { domain.lock.withLock { domain.generation } }
}
