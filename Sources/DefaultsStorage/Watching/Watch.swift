internal import PropertyLists

/// One watch: its scope, its handler, and the values that it has told of, as they are stored.
///
/// `@unchecked Sendable`: the seen values are guarded by the lock of the watch lists.
final class Watch: @unchecked Sendable {
    /// nil for a watch for events.
    let scope: DefaultsScope?
    /// The types that values are told by; nil for values as they are stored.
    private let types: (any DefaultsSchemaTypes)?
    private let handler: @Sendable (DefaultsChange) -> Void
    private let eventHandler: (@Sendable (DefaultsEvent) -> Void)?
    /// The value of a path; of no meaning for a watch of everything.
    private var seen: PropertyList?
    private var seenDictionary: SeenDictionary

    init(
        _ scope: DefaultsScope, by types: (any DefaultsSchemaTypes)?,
        _ handler: @escaping @Sendable (DefaultsChange) -> Void, seen: PropertyList?
    ) {
        self.scope = scope
        self.types = types
        self.handler = handler
        eventHandler = nil
        self.seen = seen
        seenDictionary = SeenDictionary(scope == .everything ? seen ?? emptyDictionary : emptyDictionary)
    }

    init(eventHandler: @escaping @Sendable (DefaultsEvent) -> Void) {
        scope = nil
        types = nil
        handler = { _ in }
        self.eventHandler = eventHandler
        seenDictionary = SeenDictionary(emptyDictionary)
    }

    func tell(_ event: DefaultsEvent) -> Int {
        guard let eventHandler else { return 0 }
        eventHandler(event)
        return 1
    }

    /// Tells the differences between the value that was seen and `new`.
    func tell(of new: PropertyList?, _ unset: PathTree?) throws(DefaultsError) -> Int {
        let old = WatchList.lock.withLock {
            defer { seen = new }
            return seen
        }
        guard old != new else { return 0 }
        var changes: [DefaultsChange] = []
        switch scope {
        case .value(let path): changes = [DefaultsChange(path: path, old: old, new: new)]
        case .subtree(let path): changes = DefaultsChange.between(old, new, below: path)
        case .everything, nil: break
        }
        return try tell(changes, unset)
    }

    /// Tells of the keys whose values are not those that were seen.
    func tell(
        of keys: [String], _ unset: PathTree?, _ value: (String) throws(DefaultsError) -> PropertyList?
    ) throws(DefaultsError) -> Int {
        var changes: [DefaultsChange] = []
        for key in keys {
            let new = try value(key)
            let change = try key.withBytes { bytes throws(DefaultsError) in
                try replace(bytes.bindMemory(to: UInt8.self), new)
            }
            if let change { changes.append(DefaultsChange(path: [.key(key)], old: change.old, new: change.new)) }
        }
        return try tell(changes, unset)
    }

    /// Tells of the keys by which `new` differs from the dictionary that was seen.
    func tell(ofAll new: PropertyList, _ unset: PathTree?) throws(DefaultsError) -> Int {
        let old = try WatchList.lock.withLock { () throws(DefaultsError) in
            let old = try DefaultsError.translating { () throws(PropertyListError) in try seenDictionary.whole() }
            seenDictionary = SeenDictionary(new)
            return old
        }
        let keys = ChangedKeys(most: .max)
        keys.insertDifferences(old, new)
        return try tell(keys.sorted.map { DefaultsChange(path: [.key($0)], old: old[$0], new: new[$0]) }, unset)
    }

    /// Notes the value of a key; gives the old and the new one where they differ.
    private func replace(
        _ key: UnsafeBufferPointer<UInt8>, _ new: PropertyList?
    ) throws(DefaultsError) -> (old: PropertyList?, new: PropertyList?)? {
        try WatchList.lock.withLock { () throws(DefaultsError) in
            let old = seenDictionary[key]
            guard old != new else { return nil }
            try DefaultsError.translating { () throws(PropertyListError) in try seenDictionary.set(new, for: key) }
            return (old, new)
        }
    }

    /// - Throws: the first error of a value that is not of its type, when the others have been told.
    private func tell(_ changes: [DefaultsChange], _ unset: PathTree?) throws(DefaultsError) -> Int {
        var calls = 0
        var failure: DefaultsError?
        for change in changes {
            do throws(DefaultsError) {
                guard let shown = try shown(change, unset) else { continue }
                handler(shown)
                calls += 1
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return calls
    }

    /// The change as the types show it; nil where they see none. An old value that is not of its type counts as none:
    /// it was not told.
    private func shown(_ change: DefaultsChange, _ unset: PathTree?) throws(DefaultsError) -> DefaultsChange? {
        guard let types else { return change }
        var shown = change
        shown.new = try change.new.flatMap { value throws(DefaultsError) in
            try DefaultsSchema.translating(at: change.path) { try types.shown(value, at: change.path, unset) }
        }
        shown.old = change.old.flatMap { try? types.shown($0, at: change.path, unset) }
        return shown.old == shown.new ? nil : shown
    }
}

extension DefaultsSchemaTypes {
    /// The stored value as its type shows it; of the whole store each of its values.
    func shown(_ value: PropertyList, at path: PropertyListPath, _ unset: PathTree?) throws -> PropertyList? {
        guard path.isEmpty else {
            return try read(value, at: path, unset: unset?.node(at: path.steps[...])?.paths() ?? [])
        }
        return try DefaultsStore.mapped(value) { path, value in try shown(value, at: path, unset) }
    }
}
