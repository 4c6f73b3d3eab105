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
    let lower: LowerLayers
    let durability: DefaultsDurability
    package let isReadOnly: Bool
    let validation: Options.Validation?
    package let schema: DefaultsSchema?
    /// The schema's types; nil where values are shown as they are stored.
    package let types: (any DefaultsSchemaTypes)?
    let state: HandleState

    /// The store's file; nil for a store in memory.
    public var file: String? { domain.file }

    init(
        _ domain: Domain, _ layers: SearchLayers, _ options: Options, quotas: [Quota] = []
    ) throws(DefaultsError) {
        // Checked before the properties are set: a throw after that would run deinit, which gives back the count that
        // the end of this initializer takes.
        let state = HandleState(timeout: options.timeout, limits: options.limits, quotas: quotas)
        let lower = try LowerLayers(layers, options.schema, state, domain)
        if let defaults = options.defaults {
            state.registered = try Self.registrable(defaults, lower)
        }
        self.lower = lower
        self.domain = domain
        self.layers = layers
        self.state = state
        durability = options.durability
        isReadOnly = options.isReadOnly
        validation = options.validation
        schema = options.schema
        types = options.schema?.types
        domain.lock.withLock {
            domain.handles.add(durability, lower)
        }
        tellOfSize()
    }

    /// Tells an event where the store is beyond the handle's limits already.
    private func tellOfSize() {
        let size = domain.lock.withLock { domain.target.state.size }
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

    /// Gives the defaults as a document of their own, once they are found to be a dictionary that the schema accepts
    /// with its own defaults.
    static func registrable(
        _ defaults: PropertyList, _ lower: LowerLayers
    ) throws(DefaultsError) -> PropertyList {
        let result = try dictionary(defaults, "registered defaults")
        guard lower.schema != nil else { return result }
        for (key, value) in result.entries {
            try key.withBytes { bytes throws(DefaultsError) in
                try lower.check(value, of: bytes.bindMemory(to: UInt8.self), unset: nil)
            }
        }
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
    /// Counts the changes of the registered defaults.
    var registrations: UInt64 = 0
    /// Values that were merged of several layers, and what of.
    var merged: [PropertyListPath: (of: LayeredValue, value: PropertyList)] = [:]
    /// The dictionaries of top-level keys, as they were when the layers had made so many changes together.
    var wholes = KeyMap<(value: PropertyList, changes: UInt64)>()
    fileprivate var isClosed = false
    var watches: WatchList?
    /// When a pump without watches looks at the files again.
    var nextLook = Deadline.after(.zero)

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
    /// The value at `path`, merged of all layers; nil when no layer has one. Under a schema of types it is shown as its
    /// type says; otherwise as ``stored(at:)`` gives it.
    ///
    /// The uppermost layer that has the path counts. Dictionaries of several layers are merged by key, at every depth;
    /// of arrays and other values that of the upper layer counts alone.
    ///
    /// The empty path gives the whole effective dictionary. The value may keep a large document alive: a program that
    /// holds on to a small part takes its `compacted()` copy.
    public func value(at path: PropertyListPath) throws(DefaultsError) -> PropertyList? {
        if types != nil { return try shown(at: path) }
        return try stored(at: path)
    }

    /// The value of a top-level key; as ``value(at:)``.
    public func value(forKey key: String) throws(DefaultsError) -> PropertyList? {
        if types != nil { return try shown(at: [.key(key)]) }
        return try stored(forKey: key)
    }

    /// The value at `path` as it is stored, whatever the schema says; otherwise as ``value(at:)``. Where nothing is
    /// stored, the schema's default at that path.
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
        guard types != nil, !steps.isEmpty, let top = try layered(key, []) else { return nil }
        return missing(key, steps, in: top, unsetPaths())
    }

    /// The schema's default at `steps`, where no layer has a value there.
    private func missing(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>, in top: PropertyList,
        _ unset: PathTree?
    ) -> PropertyList? {
        guard let types else { return nil }
        let path = PropertyListPath([.key(utf8: key)] + steps)
        // A value that is not optional has its default even at an unset path.
        if types.hasOptionalDefault(at: path), unset?.covers(path.steps[...]) == true { return nil }
        return types.missing(at: path, in: top)
    }

    func layered(
        _ key: String, _ steps: ArraySlice<PropertyListPath.Step>, _ range: LayerStates.Range = .all
    ) throws(DefaultsError) -> PropertyList? {
        try key.withBytes { bytes throws(DefaultsError) in try layered(bytes.bindMemory(to: UInt8.self), steps, range) }
    }

    /// The value at a path, merged of the layers, without the schema's defaults inside of it.
    func layered(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>,
        _ range: LayerStates.Range = .all
    ) throws(DefaultsError) -> PropertyList? {
        if let end = schema?.types?.endOfVariant(key, steps) {
            return try layered(key, steps[..<end], range)?.value(atSteps: steps[end...])
        }
        guard range == .all else { return try layered(key, steps, range, in: try states(key, steps)) }
        if case .alone(let value) = try uppermost(key, steps) { return value }
        guard steps.isEmpty, let changes = self.changes else {
            return try layered(key, steps, range, in: try states(key, steps))
        }
        let known = domain.lock.withLock { state.wholes[key] }
        if let known, known.changes == changes { return known.value }
        guard let value = try layered(key, steps, range, in: try states(key, steps)) else { return nil }
        domain.lock.withLock {
            if state.wholes.count >= Self.mostMerged { state.wholes = KeyMap() }
            state.wholes.set((value, changes), for: key)
        }
        return value
    }

    /// The values of all layers, as the calling thread sees them now.
    func states() throws(DefaultsError) -> LayerStates { try states { () throws(DefaultsError) in } }

    /// As `states()`; the own value at a path is put together for good, so that the next call finds the same one.
    private func states(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>
    ) throws(DefaultsError) -> LayerStates {
        try states { () throws(DefaultsError) in _ = try domain.lookUp(key, steps) }
    }

    private func states(_ prepare: () throws(DefaultsError) -> Void) throws(DefaultsError) -> LayerStates {
        let own = try domain.lock.withLock { () throws(DefaultsError) in
            try state.checkOpen()
            try prepare()
            return domain.target.state
        }
        return LayerStates(
            managed: layers.managed?.state, arguments: layers.arguments, own: own, lower: lower.states)
    }

    /// The value at a path, merged of the layers of some states.
    private func layered(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>, _ range: LayerStates.Range,
        in states: LayerStates, isKept: Bool = true
    ) throws(DefaultsError) -> PropertyList? {
        let value = try domain.translating { () throws(PropertyListError) in try states.values(key, steps, range) }
        if value.isPlain { return value.first?.value }
        return try merged(value, at: PropertyListPath([.key(utf8: key)] + steps), isKept: isKept && range == .all)
    }

    /// The number of changes of all layers; nil in a transaction of any thread, in which two threads see two values.
    private var changes: UInt64? {
        guard let own = domain.lock.withLock({ domain.open == nil ? domain.generation &+ state.registrations : nil })
        else { return nil }
        return lower.allDomains.reduce(own) { sum, layer in sum &+ layer.lock.withLock { layer.generation } }
    }

    /// What the uppermost layers say of a value.
    private func uppermost(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>
    ) throws(DefaultsError) -> Uppermost {
        if layers.managed?.stored(key) != nil || layers.arguments?[utf8: key] != nil { return .dictionary(nil) }
        guard let found = try domain.uppermost(key, steps, state) else { return try lower.uppermost(key, steps) }
        // The only layer that has a dictionary there.
        if case .dictionary(let own?) = found, case .alone = try lower.uppermost(key, steps) { return .alone(own) }
        return found
    }

    /// The merge of a value's layers. It is kept until one of them changes.
    func merged(
        _ value: LayeredValue, at path: PropertyListPath, isKept: Bool = true
    ) throws(DefaultsError) -> PropertyList? {
        let known = isKept ? domain.lock.withLock { state.merged[path] } : nil
        if let known, known.of.isSame(as: value) { return known.value }
        let merged = try DefaultsError.translating { () throws(PropertyListError) in
            try value.merged(at: path, isWhole: schema?.isVariant)
        }
        guard isKept, let merged else { return merged }
        // Old values are released after the lock.
        var old: [PropertyListPath: (of: LayeredValue, value: PropertyList)] = [:]
        _ = domain.lock.withLock {
            if state.merged.count >= Self.mostMerged { swap(&old, &state.merged) }
            return state.merged.updateValue((value, merged), forKey: path)
        }
        return merged
    }

    /// How many merged values are kept.
    private static var mostMerged: Int { 64 }

    /// The paths that are unset in the application's domain.
    func unsetPaths() -> PathTree? { domain.lock.withLock { domain.target.state.unset } }

    /// Whether any path is unset in the application's domain.
    package var hasUnsetPaths: Bool { unsetPaths() != nil }

    /// The paths, relative to `path`, that are unset in the application's domain.
    package func unsetPaths(below path: PropertyListPath) -> [PropertyListPath] {
        unsetPaths()?.node(at: path.steps[...])?.paths() ?? []
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
        try snapshot(of: try states())
    }

    private func snapshot(of states: LayerStates) throws(DefaultsError) -> PropertyList {
        let whole = try layered(in: states)
        guard types != nil else { return whole }
        return try Self.mapped(whole) { path, value in try filled(value, at: path, states.own.unset) }
    }

    /// The dictionaries of all layers as one, without the reserved keys.
    func layered() throws(DefaultsError) -> PropertyList { try layered(in: try states()) }

    private func layered(in states: LayerStates) throws(DefaultsError) -> PropertyList {
        let value = try domain.translating { () throws(PropertyListError) in try states.wholes() }
        return try merged(value, at: []) ?? emptyDictionary
    }

    /// The value at a path in some states, as ``filled(at:)`` gives it.
    func filled(at path: PropertyListPath, in states: LayerStates) throws(DefaultsError) -> PropertyList? {
        guard let first = path.steps.first else { return try snapshot(of: states) }
        guard case .key(let name) = first else { return nil }
        let steps = path.steps.dropFirst()
        return try name.withBytes { bytes throws(DefaultsError) in
            let key = bytes.bindMemory(to: UInt8.self)
            let end = schema?.types?.endOfVariant(key, steps) ?? steps.endIndex
            var value = try layered(key, steps[..<end], .all, in: states, isKept: false)
            value = value?.value(atSteps: steps[end...])
            if value == nil, types != nil, !steps.isEmpty,
                let top = try layered(key, [], .all, in: states, isKept: false)
            {
                value = missing(key, steps, in: top, states.own.unset)
            }
            return try value.map { value throws(DefaultsError) in try filled(value, at: path, states.own.unset) }
        }
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
        let value = try path.isEmpty ? layered() : stored(at: path)
        return try value.flatMap { value throws(DefaultsError) in
            try DefaultsSchema.translating(at: path) { try types.shown(value, at: path, unsetPaths()) }
        }
    }

    /// The value at `path` as ``stored(at:)`` gives it, with the schema's defaults in it, at every depth.
    public func filled(at path: PropertyListPath) throws(DefaultsError) -> PropertyList? {
        guard !path.isEmpty else { return try snapshot() }
        guard let value = try stored(at: path) else { return nil }
        return try filled(value, at: path, unsetPaths())
    }

    /// A stored value with the schema's defaults in it. Unset paths have no default.
    private func filled(
        _ value: PropertyList, at path: PropertyListPath, _ unset: PathTree?
    ) throws(DefaultsError) -> PropertyList {
        guard let types else { return value }
        var filled = try DefaultsSchema.translating(at: path) { try types.filled(value, at: path) }
        for unset in unset?.node(at: path.steps[...])?.paths() ?? []
        where !unset.isEmpty && value.value(at: unset) == nil {
            guard types.hasOptionalDefault(at: path.appending(unset)) else { continue }
            filled = try DefaultsError.translating(below: path) { () throws(PropertyListError) in
                try filled.removing(at: unset) ?? filled
            }
        }
        return filled
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
            defer { domain.inbox.dropped = nil }
            return domain.inbox.dropped
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
                domain.handles.remove(durability, lower)
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
