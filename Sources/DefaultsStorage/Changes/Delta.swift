internal import PropertyLists

/// Changes that lie over a document: a map from top-level keys to their new values, nil for a removed one.
///
/// `@unchecked Sendable`: changed only under the lock of its domain and, once it is being committed, with the writer
/// lock held as well.
final class Delta: @unchecked Sendable {
    /// Read where it stands, and guarded by the locks: checking each access as well would take 300 of the 1,400
    /// instructions of a get from C.
    @exclusivity(unchecked) fileprivate(set) var entries = KeyTable<Overlay?>()

    /// The paths of values that were replaced: a merge takes nothing of another program's value there.
    private(set) var replaced: Set<PropertyListPath> = []

    var isEmpty: Bool { entries.isEmpty }

    /// Notes that the value at a path is ours as a whole.
    func noteReplaced(_ path: PropertyListPath) { replaced.insert(path) }

    /// The number of the key's entry.
    func find(_ key: UnsafeBufferPointer<UInt8>) -> Int? { isEmpty ? nil : entries.find(key) }

    func set(_ value: PropertyList, for key: UnsafeBufferPointer<UInt8>) {
        entries.set(.whole(value), for: key)
    }

    /// Sets the value of the key whose entry ``find(_:)`` gave.
    func set(_ value: PropertyList, at index: Int) { entries[index] = .whole(value) }

    func remove(_ key: UnsafeBufferPointer<UInt8>) {
        entries.set(nil, for: key)
    }

    func isRemoval(at index: Int) -> Bool { entries[index] == nil }

    /// A value of entry `index`; nil where the key was removed.
    func value(
        at index: Int, _ steps: ArraySlice<PropertyListPath.Step> = []
    ) throws(PropertyListError) -> PropertyList? {
        try entries[index]?.value(at: steps)
    }

    /// Whether a value that is no dictionary stands on the way of `steps` in entry `index`.
    func hides(_ steps: ArraySlice<PropertyListPath.Step>, at index: Int) -> Bool {
        entries[index]?.hides(steps) ?? false
    }

    /// Whether entry `index` has a value at the end of `steps`.
    func holds(_ steps: ArraySlice<PropertyListPath.Step>, at index: Int) -> Bool {
        entries[index].map { $0.reach(of: steps) == steps.count } ?? false
    }

    /// As `value`; a whole value that had to be put together is kept so, for the next call. Only for a delta that is
    /// not being committed.
    func collapsedValue(
        at index: Int, _ steps: ArraySlice<PropertyListPath.Step>
    ) throws(PropertyListError) -> PropertyList? {
        switch entries[index] {
        // A value as a whole is given as it is: stepping through it counts its document twice more, for each get.
        case .whole(let list): return steps.isEmpty ? list : list.value(atSteps: steps)
        case nil: return nil
        case .edited(let container):
            var overlay = Overlay.edited(container)
            let value = try overlay.collapsedValue(at: steps)
            entries[index] = overlay
            return value
        }
    }
}

// MARK: - Changes by path

extension Delta {
    /// Sets `value` at `path` inside the value of `key`, which is `below` under this delta.
    func set(
        _ value: PropertyList, at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>,
        over below: @autoclosure () throws(PropertyListError) -> PropertyList?
    ) throws(PropertyListError) {
        guard var overlay = try overlay(of: key, over: below) else {
            entries.set(.whole(try value.stored(in: path, from: 0)), for: key)
            return
        }
        try overlay.set(value, at: path)
        entries.set(overlay, for: key)
    }

    /// Removes the value at `path` inside the value of `key`; says whether there was one.
    func remove(
        at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>,
        over below: @autoclosure () throws(PropertyListError) -> PropertyList?
    ) throws(PropertyListError) -> Bool {
        guard var overlay = try overlay(of: key, over: below), try overlay.remove(at: path) else { return false }
        entries.set(overlay, for: key)
        return true
    }

    private func overlay(
        of key: UnsafeBufferPointer<UInt8>, over below: () throws(PropertyListError) -> PropertyList?
    ) throws(PropertyListError) -> Overlay? {
        if let index = find(key) { return entries[index] }
        return try below().map { .whole($0) }
    }
}

// MARK: - Deltas over one another

extension Delta {
    /// Adds the changes of `lower`, over which this delta lay: this delta's win.
    func absorb(below lower: Delta) {
        for index in 0..<lower.entries.count {
            lower.entries.withKey(at: index) { key in
                if find(key) == nil { entries.set(lower.entries[index], for: key) }
            }
        }
        replaced.formUnion(lower.replaced)
    }

    /// Lays the whole values of `upper` over this delta's.
    func absorb(above upper: Delta) throws(PropertyListError) {
        for index in 0..<upper.entries.count {
            let value = try upper.value(at: index)
            upper.entries.withKey(at: index) { key in
                // Of the rest of a document that a value came in nothing is kept.
                entries.set(value.map { .whole($0.isWholeDocument ? $0 : $0.compacted()) }, for: key)
            }
        }
    }

    /// Calls `body` with each key and its change, and stores the change that it returns. If it returns nil, the key has
    /// no change any more.
    func replaceChanges(
        _ body: (UnsafeBufferPointer<UInt8>, PropertyList?) throws(PropertyListError) -> Change?
    ) throws(PropertyListError) {
        var changed = KeyTable<Overlay?>()
        for index in 0..<entries.count {
            let value = try value(at: index)
            let change = try entries.withKey(at: index) { key throws(PropertyListError) in try body(key, value) }
            guard let change else { continue }
            entries.withKey(at: index) { key in changed.set(change.value.map { .whole($0) }, for: key) }
        }
        entries = changed
    }

    /// The new value of a key; nil where it is removed.
    struct Change {
        var value: PropertyList?
    }

    /// `base` with these changes.
    func applied(to base: PropertyList) throws(PropertyListError) -> PropertyList {
        guard !isEmpty else { return base }
        var builder = PropertyListBuilder(limits: .store)
        try builder.append(base, changedBy: entries)
        return try builder.finish()
    }
}
