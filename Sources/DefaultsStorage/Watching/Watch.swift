internal import PropertyLists

/// One watch: its scope, its handler, and the values that it has told of.
///
/// `@unchecked Sendable`: the seen values are guarded by the lock of the watch lists.
final class Watch: @unchecked Sendable {
    /// nil for a watch for events.
    let scope: DefaultsScope?
    private let handler: @Sendable (DefaultsChange) -> Void
    private let eventHandler: (@Sendable (DefaultsEvent) -> Void)?
    private var lock: Lock { WatchList.lock }
    /// The value of a path; of no meaning for a watch of everything.
    private var seen: PropertyList?
    private var seenDictionary: SeenDictionary

    init(_ scope: DefaultsScope, _ handler: @escaping @Sendable (DefaultsChange) -> Void, seen: PropertyList?) {
        self.scope = scope
        self.handler = handler
        eventHandler = nil
        self.seen = seen
        seenDictionary = SeenDictionary(scope == .everything ? seen ?? emptyDictionary : emptyDictionary)
    }

    init(eventHandler: @escaping @Sendable (DefaultsEvent) -> Void) {
        scope = nil
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
    func tell(of new: PropertyList?) -> Int {
        let old = lock.withLock {
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
        return tell(changes)
    }

    /// Tells of the keys whose values are not those that were seen.
    func tell(
        of keys: [String], _ value: (UnsafeBufferPointer<UInt8>) throws(DefaultsError) -> PropertyList?
    ) throws(DefaultsError) -> Int {
        var changes: [DefaultsChange] = []
        for key in keys {
            let change = try key.withBytes { bytes throws(DefaultsError) in
                let utf8 = bytes.bindMemory(to: UInt8.self)
                return try replace(utf8, try value(utf8)).map { (old: $0.old, new: $0.new) }
            }
            if let change { changes.append(DefaultsChange(path: [.key(key)], old: change.old, new: change.new)) }
        }
        return tell(changes)
    }

    /// Tells of the keys by which `new` differs from the dictionary that was seen.
    func tell(ofAll new: PropertyList) throws(DefaultsError) -> Int {
        let old = try lock.withLock { () throws(DefaultsError) in
            let old = try DefaultsError.translating { () throws(PropertyListError) in try seenDictionary.whole() }
            seenDictionary = SeenDictionary(new)
            return old
        }
        let keys = ChangedKeys(most: .max)
        keys.insertDifferences(old, new)
        return tell(keys.sorted.map { DefaultsChange(path: [.key($0)], old: old[$0], new: new[$0]) })
    }

    /// Notes the value of a key; gives the old and the new one where they differ.
    private func replace(
        _ key: UnsafeBufferPointer<UInt8>, _ new: PropertyList?
    ) throws(DefaultsError) -> (old: PropertyList?, new: PropertyList?)? {
        try lock.withLock { () throws(DefaultsError) in
            let old = seenDictionary[key]
            guard old != new else { return nil }
            try DefaultsError.translating { () throws(PropertyListError) in try seenDictionary.set(new, for: key) }
            return (old, new)
        }
    }

    private func tell(_ changes: [DefaultsChange]) -> Int {
        for change in changes { handler(change) }
        return changes.count
    }
}

extension DefaultsChange {
    /// A change for each path at which two values differ, down to values that are no dictionaries.
    static func between(
        _ old: PropertyList?, _ new: PropertyList?, below path: PropertyListPath = []
    ) -> [DefaultsChange] {
        var changes: [DefaultsChange] = []
        compare(old, new, at: path, into: &changes)
        return changes
    }

    /// Recursion is bounded by the depth limit of documents.
    private static func compare(
        _ old: PropertyList?, _ new: PropertyList?, at path: PropertyListPath, into changes: inout [DefaultsChange]
    ) {
        guard old != new else { return }
        guard let old, let new, old.kind == .dictionary, new.kind == .dictionary else {
            changes.append(DefaultsChange(path: path, old: old, new: new))
            return
        }
        for (key, value) in old.entries { compare(value, new[key], at: path.appending(.key(key)), into: &changes) }
        for (key, value) in new.entries where old[key] == nil {
            changes.append(DefaultsChange(path: path.appending(.key(key)), old: nil, new: value))
        }
    }
}
