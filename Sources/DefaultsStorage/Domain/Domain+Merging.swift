internal import PropertyLists

/// The merge of changes that are not written with what others wrote.
extension Domain {
    /// Makes `new` the stored values, and merges with them the changes that `old` does not have. If `old` has changes,
    /// `new` contains them.
    ///
    /// With the writer lock held, and the other only for moments: merging takes long, and a schema runs a program's code.
    ///
    /// - Parameter isNews: whether the values may be other ones than this process had.
    func advance(to new: StoredValues, from old: State, isNews: Bool) throws(DefaultsError) {
        var merge = ChangeMerge(over: State(new), self)
        var seen = old
        while true {
            let (now, generation) = lock.withLock { (mine, self.generation) }
            merge.add(now, notIn: seen, ancestors: old)
            seen = now
            let isDone = lock.withLock {
                // Changed meanwhile.
                guard self.generation == generation else { return false }
                mine = merge.result
                if isNews {
                    self.generation &+= 1
                    inbox.wake()
                }
                report(merge.dropped)
                return true
            }
            if isDone { return }
        }
    }

    /// Merges the changes of a transaction with the domain's values, which another program has changed since it began.
    ///
    /// - Throws: the error of a change that was dropped: the call fails that made it.
    func rebase(_ transaction: OpenTransaction) throws(DefaultsError) {
        let (start, state, now) = lock.withLock { (transaction.start, transaction.state, mine) }
        var merge = ChangeMerge(over: now, self)
        merge.add(state, notIn: start, ancestors: start)
        if let dropped = merge.dropped.first { throw dropped }
        lock.withLock { (transaction.start, transaction.state) = (now, merge.result) }
    }

    /// The rules of a merge of a key's values: the schemas say which are enums.
    static func mergeRules(for key: UnsafeBufferPointer<UInt8>, _ schemas: [LowerLayers]) -> MergeRules {
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
        lock.withLock { if !isInTransaction, mine.hasChanges { mine.replaced.insert(path) } }
    }

    /// The error of a change that was dropped for another program's.
    func dropping(_ conflict: MergeConflict, at path: PropertyListPath) -> DefaultsError {
        let words: ErrorWords =
            conflict.ours == nil
            ? "Not removed: the value has been changed meanwhile"
            : "Not changed: the value has been replaced by one of another kind meanwhile"
        return DefaultsError(.conflict, words, at: path, file: file)
    }

    /// Reports the conflicts of a set in which another program's change was kept. With the lock held.
    func report(_ conflicts: [MergeConflict]) {
        report(conflicts.filter { $0.kept == .theirs }.map { dropping($0, at: $0.path) })
    }

    private func report(_ dropped: [DefaultsError]) {
        for error in dropped { inbox.append(.conflict(error)) }
        if inbox.dropped == nil { inbox.dropped = dropped.first }
    }
}

/// Merges changes of some keys with other values. An ancestor is what the changes were made of.
private struct ChangeMerge {
    private let domain: Domain
    private let theirs: State
    private let schemas: [LowerLayers]
    private let rules: ValueRules
    private var droppedOf: [[UInt8]: [DefaultsError]] = [:]
    /// `theirs` with the merged changes.
    private(set) var result: State

    init(over theirs: State, _ domain: Domain) {
        self.domain = domain
        self.theirs = theirs
        result = theirs
        (schemas, rules) = domain.lock.withLock { (domain.handles.schemas, domain.rules) }
    }

    /// The errors of changes that were dropped for another program's.
    var dropped: [DefaultsError] {
        droppedOf.sorted { $0.key.lexicographicallyPrecedes($1.key) }.flatMap { $0.value }
    }

    /// Adds the changes of `ours` that `seen` does not have.
    mutating func add(_ ours: State, notIn seen: State, ancestors: State) {
        ours.forEachChange(notIn: seen) { bytes in
            bytes.withUnsafeBufferPointer { key in
                droppedOf[bytes] = nil
                do throws(PropertyListError) {
                    try merge(key, ours, ancestors)
                } catch {
                    // A value that cannot be put together: its flush reports it.
                    result.take(key, from: ours)
                }
            }
        }
        result.keepReplaced(of: ours)
    }

    private mutating func merge(
        _ key: UnsafeBufferPointer<UInt8>, _ ours: State, _ ancestors: State
    ) throws(PropertyListError) {
        let ancestor = try? ancestors.value(key)
        let their = try? theirs.value(key)
        guard ancestor != their else { return result.take(key, from: ours) }
        let own = try ours.value(key)
        if UnsetPaths.isKey(key) { return set(try UnsetPaths.merged(ancestor, own, their), key, their) }
        let merge = try PropertyList.merge(
            ancestor: ancestor, ours: own, theirs: their, rules: Domain.mergeRules(for: key, schemas), limits: .store)
        let location: PropertyListPath = [.key(utf8: key)]
        note(
            merge.conflicts.filter { $0.kept == .theirs }.map {
                domain.dropping($0, at: location.appending($0.path))
            }, key)
        let merged = try ours.replacing(of: key, own, in: merge.value)
        let allowed = allowed(merged, key, own, their, ours.unset)
        set(allowed, key, their)
        guard allowed != merged, allowed != own else { return }
        let words: ErrorWords = "Not changed: the schema does not allow the value beside another program's"
        note([DefaultsError(.conflict, words, at: location, file: domain.file)], key)
    }

    private mutating func note(_ errors: [DefaultsError], _ key: UnsafeBufferPointer<UInt8>) {
        if !errors.isEmpty { droppedOf[Array(key), default: []] += errors }
    }

    /// Sets the merged value. If it equals theirs, no change is needed, unless an earlier one has to be replaced.
    private mutating func set(_ value: PropertyList?, _ key: UnsafeBufferPointer<UInt8>, _ their: PropertyList?) {
        if value != their || result.isChanged(key) { result.set(value, for: key) }
    }

    /// The merged value, or ours, or theirs: the first that the file could hold and the schemas allow. What another
    /// program wrote is tolerated, also beside our change.
    private func allowed(
        _ merged: PropertyList?, _ key: UnsafeBufferPointer<UInt8>, _ own: PropertyList?, _ their: PropertyList?,
        _ unset: PathTree?
    ) -> PropertyList? {
        guard let merged, merged != own, merged != their else { return merged }
        let isAllowed = { (value: PropertyList?) in
            guard let value else { return true }
            return schemas.allSatisfy { (try? $0.check(value, of: key, unset: unset)) != nil }
        }
        if isFit(merged) {
            if isAllowed(merged) || !isAllowed(their) { return merged }
        } else if let own, !isFit(own) {
            // The flush reports it, and the value stays in memory.
            return merged
        }
        return isAllowed(own) ? own : their
    }

    private func isFit(_ value: PropertyList) -> Bool { (try? rules.check(value, at: [], depth: 1)) != nil }
}
