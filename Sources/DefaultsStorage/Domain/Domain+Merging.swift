internal import PropertyLists

/// Merges the unwritten changes with what others wrote. With the lock held, if nothing else is said.
///
/// The ancestor of a change is the value below it as this program saw it. That value is not kept beside the change: it
/// is looked up just before the layers below are replaced.
extension Domain {
    /// Replaces the layers below the unwritten changes by `replace`, and merges the changes with the new values.
    func mergingChanges(_ replace: () throws(DefaultsError) -> Void) throws(DefaultsError) {
        let committed = try committing.map { changes throws(DefaultsError) in try valuesStored(for: changes) }
        let seen = try translating { () throws(PropertyListError) in
            try values(for: delta) { key throws(PropertyListError) in try below(key) }
        }
        try replace()
        if let committing, let committed { report(try merge(committing, seen: committed, over: valueStored)) }
        report(try merge(delta, seen: seen) { key throws(PropertyListError) in try below(key) })
        countChanges()
    }

    /// Checks the values that merges made: without the lock, since a schema runs a program's code. A value that the file
    /// could not hold, or that a schema refuses, is replaced by ours as a whole, or otherwise by theirs.
    func checkMerged() {
        let (merged, schemas, rules, unset) = lock.withLock {
            () -> ([MergedValue], [LowerLayers], ValueRules, PathTree?) in
            defer { self.merged = [] }
            return (self.merged, self.schemas, self.rules, self.merged.isEmpty ? nil : unsetPaths(in: target))
        }
        for one in merged {
            guard let kept = one.replacement(rules, schemas, unset) else { continue }
            lock.withLock {
                one.key.withUnsafeBufferPointer { key in
                    guard let index = one.changes.find(key), case .whole(let value)? = one.changes.entries[index],
                        value == one.value
                    else { return }
                    if let value = kept.value { one.changes.set(value, at: index) } else { one.changes.remove(key) }
                    // Only what of ours was dropped is reported.
                    guard kept.value != one.ours else { return }
                    let words: ErrorWords = "Not changed: the schema does not allow the value beside another program's"
                    report([DefaultsError(.conflict, words, at: [.key(utf8: key)], file: file)])
                }
                countChanges()
            }
        }
    }

    /// The stored values of the keys that `changes` has, in the order of its entries.
    func valuesStored(for changes: Delta) throws(DefaultsError) -> [PropertyList?] {
        try translating { () throws(PropertyListError) in try values(for: changes, below: valueStored) }
    }

    private func values(
        for changes: Delta, below: (UnsafeBufferPointer<UInt8>) throws(PropertyListError) -> PropertyList?
    ) throws(PropertyListError) -> [PropertyList?] {
        var values: [PropertyList?] = []
        for index in 0..<changes.entries.count {
            values.append(try changes.entries.withKey(at: index) { key throws(PropertyListError) in try below(key) })
        }
        return values
    }

    /// Merges changes with the values that are below them now.
    ///
    /// - Parameter seen: the values that were below them when they were made, in the order of the entries.
    /// - Returns: the errors of changes that were dropped.
    func merge(
        _ changes: Delta, seen: [PropertyList?],
        over below: (UnsafeBufferPointer<UInt8>) throws(PropertyListError) -> PropertyList?
    ) throws(DefaultsError) -> [DefaultsError] {
        var dropped: [DefaultsError] = []
        var position = 0
        try translating { () throws(PropertyListError) in
            try changes.replaceChanges { key, ours throws(PropertyListError) in
                let ancestor = seen[position]
                position += 1
                let theirs = try below(key)
                guard ancestor != theirs else { return Delta.Change(value: ours) }
                if UnsetPaths.isKey(key) { return try UnsetPaths.merged(ancestor, ours, theirs) }
                let merged = try PropertyList.merge(
                    ancestor: ancestor, ours: ours, theirs: theirs, rules: mergeRules(for: key), limits: .store)
                let whole = try taking(ours, at: changes.replaced, of: key, in: merged.value)
                dropped += merged.conflicts.lazy.filter { $0.kept == .theirs }.map { conflict in
                    dropping(conflict, at: location(of: key, conflict.path))
                }
                guard let value = whole, value != theirs else {
                    return whole == theirs ? nil : Delta.Change(value: nil)
                }
                if value != ours {
                    self.merged.append(
                        MergedValue(changes: changes, key: Array(key), value: value, ours: ours, theirs: theirs))
                }
                return Delta.Change(value: value)
            }
        }
        return dropped
    }

    /// The rules of a merge of a key's values: the schemas say which are enums. With the lock.
    func mergeRules(for key: UnsafeBufferPointer<UInt8>) -> MergeRules {
        let types = schemas.compactMap { $0.schema?.types }
        guard !types.isEmpty else { return MergeRules() }
        let root: PropertyListPath = [.key(utf8: key)]
        return MergeRules(isVariant: { path in
            let path = root.appending(path)
            return types.contains { $0.isVariant(at: path) }
        })
    }

    /// Notes that the value at a path was replaced: the next merge takes it whole. A transaction merges nothing. Without
    /// the lock.
    func noteReplaced(_ path: PropertyListPath) {
        lock.withLock { if target === delta, !delta.isEmpty { delta.noteReplaced(path) } }
    }

    /// The merged value with ours at the paths where it was replaced.
    private func taking(
        _ ours: PropertyList?, at paths: Set<PropertyListPath>, of key: UnsafeBufferPointer<UInt8>,
        in merged: PropertyList?
    ) throws(PropertyListError) -> PropertyList? {
        var result = merged
        for path in paths where path.steps.first == .key(utf8: key) {
            let rest = PropertyListPath(Array(path.steps.dropFirst()))
            guard !rest.isEmpty, let inner = ours?.value(at: rest) else { return ours }
            result = try (result ?? emptyDictionary).setting(inner, at: rest)
        }
        return result
    }

    /// The value of a key without the unwritten changes.
    func valueStored(_ key: UnsafeBufferPointer<UInt8>) throws(PropertyListError) -> PropertyList? {
        if let committed, let index = committed.find(key) { return try committed.value(at: index) }
        return base[utf8: key]
    }

    /// The error of a change that was dropped for another program's.
    func dropping(_ conflict: MergeConflict, at path: PropertyListPath) -> DefaultsError {
        let words: ErrorWords =
            conflict.ours == nil
            ? "Not removed: the value has been changed meanwhile"
            : "Not changed: the value has been replaced by one of another kind meanwhile"
        return DefaultsError(.conflict, words, at: path, file: file)
    }

    /// Reports the conflicts of a set in which another program's change was kept.
    func report(_ conflicts: [MergeConflict]) {
        report(conflicts.filter { $0.kept == .theirs }.map { dropping($0, at: $0.path) })
    }

    private func report(_ dropped: [DefaultsError]) {
        for error in dropped { inbox.append(.conflict(error)) }
        if self.dropped == nil { self.dropped = dropped.first }
    }
}

/// A value that a merge made of two.
struct MergedValue {
    /// The changes that it is one of.
    let changes: Delta
    let key: [UInt8]
    let value: PropertyList
    let ours: PropertyList?
    let theirs: PropertyList?

    /// What to store in place of the value; nil to store it.
    func replacement(_ rules: ValueRules, _ schemas: [LowerLayers], _ unset: PathTree?) -> Delta.Change? {
        let schemaAllows = { (value: PropertyList?) in
            guard let value else { return true }
            return self.key.withUnsafeBufferPointer { key in
                schemas.allSatisfy { (try? $0.check(value, of: key, unset: unset)) != nil }
            }
        }
        if isFit(value, rules), schemaAllows(value) { return nil }
        // What another program wrote is tolerated, also beside our change.
        if isFit(value, rules), !schemaAllows(theirs) { return nil }
        // A file that cannot hold our own value either: the flush reports it, and the value stays in memory.
        if let ours, !isFit(ours, rules) { return nil }
        return Delta.Change(value: schemaAllows(ours) ? ours : theirs)
    }

    /// Whether the file could hold a value.
    private func isFit(_ value: PropertyList, _ rules: ValueRules) -> Bool {
        (try? rules.check(value, at: [], depth: 1)) != nil
    }
}
