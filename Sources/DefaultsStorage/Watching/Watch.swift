internal import PropertyLists

/// One watch: its scope, its handler, and the states that it has told of.
///
/// `@unchecked Sendable`: the states are guarded by the lock of the watch lists.
final class Watch: @unchecked Sendable {
    /// nil for a watch for events.
    let scope: DefaultsScope?
    /// The types that values are told by; nil for values as they are stored.
    private let types: (any DefaultsSchemaTypes)?
    private let handler: @Sendable (DefaultsChange) -> Void
    private let eventHandler: (@Sendable (DefaultsEvent) -> Void)?
    private var told: LayerStates?

    init(
        _ scope: DefaultsScope, by types: (any DefaultsSchemaTypes)?, from states: LayerStates,
        _ handler: @escaping @Sendable (DefaultsChange) -> Void
    ) {
        self.scope = scope
        self.types = types
        self.handler = handler
        eventHandler = nil
        told = states
    }

    init(eventHandler: @escaping @Sendable (DefaultsEvent) -> Void) {
        scope = nil
        types = nil
        handler = { _ in }
        self.eventHandler = eventHandler
    }

    func tell(_ event: DefaultsEvent) -> Int {
        guard let eventHandler else { return 0 }
        eventHandler(event)
        return 1
    }

    /// Tells how `new` differs from the states that it has told of; gives the number of the handler's calls.
    ///
    /// - Throws: the first error of a value that is not of its type or cannot be read, when the others have been told.
    func tell(of new: LayerStates, in store: DefaultsStore) throws(DefaultsError) -> Int {
        let old = WatchList.lock.withLock {
            defer { told = new }
            return told
        }
        guard let scope, let old, !new.isSame(as: old) else { return 0 }
        switch scope {
        case .value(let path), .subtree(let path):
            if case .key(let key)? = path.steps.first,
                key.withBytes({ !new.mayDiffer(from: old, $0.bindMemory(to: UInt8.self)) })
            {
                return 0
            }
            let change = try change(at: path, old, new, in: store)
            if case .value = scope { return change.old == change.new ? 0 : try tell(change, old, new) }
            var calls = 0
            for change in DefaultsChange.between(change.old, change.new, below: path) {
                calls += try tell(change, old, new)
            }
            return calls
        case .everything:
            return try tellKeys(of: new, old, in: store)
        }
    }

    /// The values of a path in two states. An old value that cannot be read counts as none.
    private func change(
        at path: PropertyListPath, _ old: LayerStates, _ new: LayerStates, in store: DefaultsStore
    ) throws(DefaultsError) -> DefaultsChange {
        DefaultsChange(
            path: path, old: (try? store.filled(at: path, in: old)).flatMap { $0 },
            new: try store.filled(at: path, in: new))
    }

    private func tellKeys(
        of new: LayerStates, _ old: LayerStates, in store: DefaultsStore
    ) throws(DefaultsError) -> Int {
        let keys = try DefaultsError.translating { () throws(PropertyListError) in try new.keysThatDiffer(from: old) }
        var calls = 0
        var failure: DefaultsError?
        for key in keys {
            let path = key.withUnsafeBufferPointer { PropertyListPath([.key(utf8: $0)]) }
            do throws(DefaultsError) {
                let change = try change(at: path, old, new, in: store)
                if change.old != change.new { calls += try tell(change, old, new) }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return calls
    }

    /// Tells a change as the types show it, unless they see none. An old value that is not of its type counts as none:
    /// it was not told.
    private func tell(
        _ change: DefaultsChange, _ old: LayerStates, _ new: LayerStates
    ) throws(DefaultsError) -> Int {
        var shown = change
        if let types {
            shown.new = try change.new.flatMap { value throws(DefaultsError) in
                try DefaultsSchema.translating(at: change.path) {
                    try types.shown(value, at: change.path, new.own.unset)
                }
            }
            shown.old = change.old.flatMap { try? types.shown($0, at: change.path, old.own.unset) }
            if shown.old == shown.new { return 0 }
        }
        handler(shown)
        return 1
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
