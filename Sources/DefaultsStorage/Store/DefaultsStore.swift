// DefaultsStorage is the store: domains, layers, engines, transactions, watching. It knows no types and no Codable:
// the room that has them hands in a check.

internal import Glibc
public import PropertyLists

/// A handle on a store of defaults: a dictionary of property-list values, layered, and shared by all the programs that
/// open the same file.
///
/// ```swift
/// let store = try DefaultsStore.open("com.acme.app")
/// try store.set(PropertyList(any: 640), at: ["window", "width"])
/// let width = try store.value(at: ["window", "width"])?.integer  // 640
/// try store.sync()  // on disk now; without it at most 100 ms later
/// ```
///
/// Values are read from memory. A change is in memory at once, for every handle of the process, and is written as the
/// options' durability says. Changes of other processes are taken up by ``refresh()``, ``sync()``, a transaction, a
/// flush, and by pumping a watch.
///
/// A handle owns its search list, registered defaults and options; the domain behind it is shared by all handles on
/// the file. Safe to use from several threads at once.
///
/// `@unchecked Sendable`: the mutable state is guarded by the domain's lock.
public final class DefaultsStore: @unchecked Sendable {
    let domain: Domain
    let layers: SearchLayers
    let durability: DefaultsDurability
    package let isReadOnly: Bool
    let validation: Options.Validation?
    package let schema: DefaultsSchema?
    /// The schema's types; nil where values are shown as they are stored.
    package let types: (any DefaultsSchemaTypes)?
    /// The defaults of the schema's types, of top-level keys, as they are stored.
    let schemaDefaults: PropertyList
    let state: HandleState

    /// The store's file; nil for a store in memory.
    public var file: String? { domain.file }

    init(
        _ domain: Domain, _ layers: SearchLayers, _ options: Options, quotas: [Quota] = []
    ) throws(DefaultsError) {
        // Checked before the properties are set: a throw after that would run deinit, which gives back the count that
        // the end of this initializer takes.
        let given = try options.defaults.map { defaults throws(DefaultsError) in
            try Self.registrable(defaults, options.schema)
        }
        let types = options.schema?.types
        let own = try types.map { types throws(DefaultsError) in
            try DefaultsSchema.translating(at: []) { try types.defaults() }
        }
        let registered = try Self.merged([own, given].compactMap { $0 })
        self.domain = domain
        self.layers = layers
        durability = options.durability
        isReadOnly = options.isReadOnly
        validation = options.validation
        schema = options.schema
        self.types = types
        schemaDefaults = own ?? emptyDictionary
        state = HandleState(timeout: options.timeout, limits: options.limits, quotas: quotas)
        state.registered = registered
        domain.lock.withLock {
            domain.handles.add(durability)
            if let schema { domain.schemas.append(schema) }
            if options.synchronization == .full, !isReadOnly { domain.synchronization = .full }
        }
        tellOfSize()
    }

    /// Tells an event where the store is beyond the handle's limits already.
    private func tellOfSize() {
        let size = domain.lock.withLock { domain.size }
        guard !isReadOnly, let file, size.bytes > state.limits.bytes || size.nodes > state.limits.nodes else { return }
        domain.tell(.overLimit(file: file, nodes: size.nodes, bytes: size.bytes))
    }

    deinit { try? close() }

    static func dictionary(_ list: PropertyList, _ what: String) throws(DefaultsError) -> PropertyList {
        guard list.kind == .dictionary else {
            throw DefaultsError(.invalidValue, .expected("Dictionary as \(what)", found: "\(list.kind)"))
        }
        return list.compacted()
    }

    /// Gives the defaults as a document of their own, once they are found to be a dictionary that the schema accepts.
    static func registrable(
        _ defaults: PropertyList, _ schema: DefaultsSchema?
    ) throws(DefaultsError) -> PropertyList {
        let result = try dictionary(defaults, "registered defaults")
        try schema?.check(result)
        return result
    }

    var deadline: Deadline { state.deadline }
}

/// The state of a handle that its domain uses. The variables are guarded by the domain's lock.
final class HandleState {
    let timeout: Duration
    let limits: StoreLimits
    let quotas: [Quota]
    var registered = emptyDictionary
    fileprivate var isClosed = false
    var watches: WatchList?

    init(timeout: Duration, limits: StoreLimits, quotas: [Quota]) {
        self.timeout = timeout
        self.limits = limits
        self.quotas = quotas
    }

    /// The deadline of a call that begins now.
    var deadline: Deadline { .after(timeout) }

    func checkOpen() throws(DefaultsError) {
        if isClosed { throw DefaultsError(.closed, "The store was closed") }
    }
}

// MARK: - Reading

extension DefaultsStore {
    /// The value at `path`, from the first layer that has its top-level key; nil when it is absent. Under a schema of
    /// types it is shown as its type says; as ``stored(at:)`` gives it else.
    ///
    /// The empty path gives the whole effective dictionary. The value may keep a large document alive: a program that
    /// holds on to a small part takes its `compacted()` copy.
    public func value(at path: PropertyListPath) throws(DefaultsError) -> PropertyList? {
        if types != nil { return try shown(at: path) }
        return try stored(at: path)
    }

    /// The value of a top-level key, from the first layer that has it; nil when it is absent. Under a schema of types
    /// it is shown as its type says.
    public func value(forKey key: String) throws(DefaultsError) -> PropertyList? {
        if types != nil { return try shown(at: [.key(key)]) }
        return try stored(forKey: key)
    }

    /// The value at `path` as it is stored, whatever the schema says; else as ``value(at:)``. Where nothing is stored,
    /// the schema's default at that path.
    public func stored(at path: PropertyListPath) throws(DefaultsError) -> PropertyList? {
        guard let first = path.steps.first else { return try layered() }
        guard case .key(let key) = first else { return nil }
        return try key.withBytes { bytes throws(DefaultsError) in
            try stored(forUTF8Key: bytes.bindMemory(to: UInt8.self), path.steps.dropFirst())
        }
    }

    func stored(forKey key: String) throws(DefaultsError) -> PropertyList? {
        try key.withBytes { bytes throws(DefaultsError) in
            try stored(forUTF8Key: bytes.bindMemory(to: UInt8.self))
        }
    }

    /// The stored value at `steps` inside the value of a top-level key, without making a String of the key. The bytes
    /// must be UTF-8.
    package func stored(
        forUTF8Key key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step> = []
    ) throws(DefaultsError) -> PropertyList? {
        if let value = try layered(key, steps) { return value }
        guard let types, !steps.isEmpty, let top = try layered(key, []) else { return nil }
        let first = PropertyListPath.Step.key(utf8: key)
        return types.missing(at: PropertyListPath([first] + steps), in: top)
    }

    func layered(
        _ key: String, _ steps: ArraySlice<PropertyListPath.Step>
    ) throws(DefaultsError) -> PropertyList? {
        try key.withBytes { bytes throws(DefaultsError) in try layered(bytes.bindMemory(to: UInt8.self), steps) }
    }

    /// The value in the first layer that has the key, without defaults inside of it.
    private func layered(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>
    ) throws(DefaultsError) -> PropertyList? {
        if let value = try layers.upper(key) {
            try checkOpen()
            return value.value(atSteps: steps)
        }
        if let value = try domain.value(key, state, steps) { return value }
        if !steps.isEmpty, try domain.contains(key) { return nil }
        return try lower(key)?.value(atSteps: steps)
    }

    /// The value of `key` in the layers below the application's domain.
    func lower(_ key: UnsafeBufferPointer<UInt8>) throws(DefaultsError) -> PropertyList? {
        if let value = try layers.lower(key) { return value }
        return domain.lock.withLock { state.registered }[utf8: key]
    }

    /// The keys of all layers, in the order of their bytes.
    public func keys() throws(DefaultsError) -> [String] { try layered().keys }

    /// The keys of the dictionary at `path` as paths name them, those of defaults included; none where another value
    /// is, nil where there is none.
    public func keys(at path: PropertyListPath) throws(DefaultsError) -> [String]? {
        path.isEmpty ? try keys() : try filled(at: path)?.keys
    }

    /// The whole effective dictionary, as it is now and as it is stored, with the defaults of all layers and of the
    /// schema. It never changes; a value taken from it keeps all of it in memory.
    public func snapshot() throws(DefaultsError) -> PropertyList {
        guard let types else { return try layered() }
        return try mapped { path, value in try types.filled(value, at: path) }
    }

    /// The dictionaries of all layers as one.
    func layered() throws(DefaultsError) -> PropertyList {
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

    // MARK: - By the schema's types

    /// Whether the calling thread is in a migration, whose values an older program stored.
    private var isMigrating: Bool { domain.lock.withLock { domain.isMigrating } }

    /// The schema's types, unless values are given and taken as they are stored.
    var typesInForce: (any DefaultsSchemaTypes)? {
        guard let types, !isMigrating else { return nil }
        return types
    }

    private func shown(at path: PropertyListPath) throws(DefaultsError) -> PropertyList? {
        guard let types = typesInForce else { return try stored(at: path) }
        guard !path.isEmpty else { return try mapped { path, value in try types.read(value, at: path) } }
        guard let value = try stored(at: path) else { return nil }
        return try DefaultsSchema.translating(at: path) { try types.read(value, at: path) }
    }

    /// The value at `path` as ``stored(at:)`` gives it, with the schema's defaults in it, at every depth.
    public func filled(at path: PropertyListPath) throws(DefaultsError) -> PropertyList? {
        guard !path.isEmpty else { return try snapshot() }
        guard let value = try stored(at: path) else { return nil }
        guard let types else { return value }
        return try DefaultsSchema.translating(at: path) { try types.filled(value, at: path) }
    }

    private func mapped(
        _ change: (PropertyListPath, PropertyList) throws -> PropertyList?
    ) throws(DefaultsError) -> PropertyList {
        try Self.mapped(try layered(), change)
    }

    /// A dictionary with each value replaced; without those that become nil.
    static func mapped(
        _ all: PropertyList, _ change: (PropertyListPath, PropertyList) throws -> PropertyList?
    ) throws(DefaultsError) -> PropertyList {
        try DefaultsSchema.translating(at: []) {
            var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
            try builder.beginDictionary()
            for (key, value) in all.entries {
                guard let value = try change([.key(key)], value) else { continue }
                try builder.key(key)
                try builder.append(value)
            }
            try builder.end()
            return try builder.finish()
        }
    }

    /// The dictionaries merged into one; of a key that several have, the last one's value counts.
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

// MARK: - Writing and closing

extension DefaultsStore {
    /// Writes the changes of all handles of the process and loads those of other processes. Returns when they are on
    /// disk.
    ///
    /// - Throws: ``DefaultsError/Code/conflict`` if another program's change took the place of one that was made since
    ///   the last sync: all other changes are written. ``DefaultsError/Code/misuse`` in a transaction of the calling
    ///   thread: its commit writes.
    public func sync() throws(DefaultsError) {
        try checkOpen()
        guard !domain.lock.withLock({ domain.isInTransaction }) else { throw domain.inTransaction }
        let deadline = self.deadline
        if !isReadOnly { try domain.flush(until: deadline) }
        try refresh()
        try throwDropped()
    }

    /// Throws the error of a change that was dropped since the last sync, once.
    private func throwDropped() throws(DefaultsError) {
        let dropped = domain.lock.withLock {
            defer { domain.dropped = nil }
            return domain.dropped
        }
        if let dropped { throw dropped }
    }

    /// Whether the store's file has changed. Loads it then, but does not wait for a flush.
    package func loadsChanges() -> Bool { domain.lookAtFile() == .isLoaded }

    /// Loads the changes of other processes, in every layer.
    public func refresh() throws(DefaultsError) {
        try checkOpen()
        try refresh(until: deadline)
    }

    func refresh(until deadline: Deadline) throws(DefaultsError) {
        var failure: DefaultsError?
        for domain in [domain] + layers.domains {
            do throws(DefaultsError) {
                try domain.refresh(until: deadline)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Closes the handle, once; its other calls fail from then on. Changes that are only in memory are written,
    /// whatever the durability.
    ///
    /// - Throws: the error of writing; the process retries it as long as it lives. ``DefaultsError/Code/conflict`` as
    ///   ``sync()``. The handle is closed in each case.
    public func close() throws(DefaultsError) {
        let isFirst = domain.lock.withLock {
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard isFirst else { return }
        defer {
            let isLast = domain.lock.withLock {
                domain.handles.remove(durability)
                if let index = domain.schemas.firstIndex(where: { $0 === schema }) { domain.schemas.remove(at: index) }
                return domain.handles.isEmpty
            }
            stopWatching()
            if isLast { domain.letGo() }
        }
        guard !isReadOnly else { return }
        do throws(DefaultsError) {
            try domain.flush(until: deadline)
        } catch {
            Flusher.shared.retry(domain)
            throw error
        }
        try throwDropped()
    }

    func checkOpen() throws(DefaultsError) {
        try domain.lock.withLock { () throws(DefaultsError) in try state.checkOpen() }
    }

    /// Counts the changes that this process has seen in the application's domain, its own and others'.
    public var generation: UInt64 { domain.lock.withLock { domain.generation } }
}
