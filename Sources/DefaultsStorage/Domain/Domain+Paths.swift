internal import PropertyLists

/// Changes inside the value of a top-level key.
extension Domain {
    /// Sets the value at `path` inside the value of a top-level key; `lower` is that key's value in the lower layers.
    ///
    /// - Parameter generation: the one that the change was checked for; nil for any.
    /// - Returns: nil, and nothing is changed, where there is another generation now.
    func set(
        _ value: PropertyList, at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>,
        over lower: PropertyList?, ifGeneration generation: UInt64?, _ handle: HandleState
    ) throws(DefaultsError) -> Bool? {
        let isStored = {
            self.lock.withLock { self.target.find(key) == nil && self.isStored(value, key, path.steps[...]) }
        }
        if isStored() {
            let look = lookAtFile()
            if look == .isUnchanged || look == .isLoaded && isStored() { return true }
        }
        let own = value.isWholeDocument ? value : value.compacted()
        let changed = { (lower: PropertyList) throws(PropertyListError) in try lower.setting(own, at: path) }
        let growth = { (target: Delta) throws(PropertyListError) in
            try self.growth(setting: own, at: path, of: key, in: target)
        }
        return try change(key, path, own, over: lower, changed, growth, generation, handle) {
            (target) throws(PropertyListError) in
            try target.set(own, at: path, of: key, over: try below(key))
            return true
        }
    }

    /// Removes the value at `path` inside the value of a key; says whether there was one. Else as `set`.
    func remove(
        at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>, over lower: PropertyList?,
        ifGeneration generation: UInt64?, _ handle: HandleState
    ) throws(DefaultsError) -> Bool? {
        let changed = { (lower: PropertyList) throws(PropertyListError) in try lower.removing(at: path) }
        let growth = { (target: Delta) throws(PropertyListError) in
            try self.growth(removing: path, of: key, in: target)
        }
        return try change(key, path, nil, over: lower, changed, growth, generation, handle) {
            (target) throws(PropertyListError) in
            try target.remove(at: path, of: key, over: try below(key))
        }
    }

    /// Makes a change over the latest file where durability is immediate, merged with what other programs changed since
    /// this one saw the value.
    ///
    /// - Parameters:
    ///   - changed: gives the value with the change; nil for a removed one.
    ///   - change: makes the change, or sets the merged value if it is given one; says whether anything changed.
    /// - Throws: ``DefaultsError/Code/conflict`` where another program's change counts.
    func overLatest(
        _ key: UnsafeBufferPointer<UInt8>, _ handle: HandleState,
        _ changed: (PropertyList) throws(PropertyListError) -> PropertyList?,
        _ change: (_ merged: PropertyList?) throws(DefaultsError) -> Bool
    ) throws(DefaultsError) -> Bool {
        guard isImmediate else { return try change(nil) }
        // A value that cannot be read can be replaced.
        let seen = (try? value(key, handle, [])).flatMap { $0 }
        return try atOnce(handle) { () throws(DefaultsError) -> Bool in
            guard let seen else { return try change(nil) }
            let latest = try value(key, handle, [])
            let root: PropertyListPath = [.key(utf8: key)]
            let ours = try DefaultsError.translating(below: root) { () throws(PropertyListError) in try changed(seen) }
            // A set of what was seen already is meant for the latest file as well.
            if seen == latest || ours == seen { return try change(nil) }
            let rules = lock.withLock { mergeRules(for: key) }
            let merged = try DefaultsError.translating(below: root) { () throws(PropertyListError) -> Merge in
                try PropertyList.merge(ancestor: seen, ours: ours, theirs: latest, rules: rules, limits: .store)
            }
            if let conflict = merged.conflicts.first(where: { $0.kept == .theirs }) {
                throw dropping(conflict, at: location(of: key, conflict.path))
            }
            guard let value = merged.value else { return latest == nil ? false : try remove(key, handle) }
            return value == latest ? false : try change(value)
        }
    }

    func location(of key: UnsafeBufferPointer<UInt8>, _ path: PropertyListPath) -> PropertyListPath {
        PropertyListPath([.key(utf8: key)] + path.steps)
    }

    /// - Parameters:
    ///   - value: the one that is set; nil where one is removed.
    ///   - changed: gives the lower value with the change, which is copied with it or not at all; nil where the change
    ///     does nothing.
    ///   - growth: gives the size that the change adds.
    ///   - body: makes the change in a delta; false where it does nothing.
    private func change(
        _ key: UnsafeBufferPointer<UInt8>, _ path: PropertyListPath, _ value: PropertyList?, over lower: PropertyList?,
        _ changed: (PropertyList) throws(PropertyListError) -> PropertyList?,
        _ growth: (Delta) throws(PropertyListError) -> FileSize, _ wanted: UInt64?,
        _ handle: HandleState, _ body: (Delta) throws(PropertyListError) -> Bool
    ) throws(DefaultsError) -> Bool? {
        let location = location(of: key, path)
        var isLate = false
        let mustSchedule = try lock.withLock { () throws(DefaultsError) -> Bool? in
            try checkRefusal()
            isLate = wanted.map { $0 != generation } ?? false
            if isLate { return nil }
            let target = self.target
            if !damagedKeys.isEmpty, target.find(key) == nil {
                try translating { () throws(PropertyListError) in try checkReadable(key) }
            }
            let prefix = PropertyListPath(Array(location.steps.prefix(1)))
            let isCopied = lower != nil && !holds(key)
            var copy: PropertyList?
            let change = try DefaultsError.translating(below: prefix) { () throws(PropertyListError) -> FileSize in
                guard isCopied, let lower else { return try growth(target) }
                copy = try changed(lower)
                return copy.map { size(of: $0, key) } ?? FileSize()
            }
            if isCopied, copy == nil { return nil }
            // The lower value is stored with the change now: registered defaults and other files may hold more.
            if let copy { try rules.check(copy, at: prefix, depth: 1) }
            let charges = try charges(key, path, value, copy, change, in: target, handle)
            try count(change, in: target, handle, at: location)
            do throws(DefaultsError) {
                let isMade = try DefaultsError.translating(below: prefix) { () throws(PropertyListError) in
                    guard let copy else { return try body(target) }
                    target.set(copy, for: key)
                    return true
                }
                if isMade {
                    if !quotas.isEmpty { noteQuotas(key, path, charges) }
                    return noteChange(of: key)
                }
            } catch {
                note(FileSize() - change, in: target)
                throw error
            }
            return nil
        }
        guard let mustSchedule else { return isLate ? nil : false }
        if mustSchedule { Flusher.shared.schedule(self) }
        return true
    }

    /// The sizes of the handle's quotas after a change that adds `growth` to the store.
    private func charges(
        _ key: UnsafeBufferPointer<UInt8>, _ path: PropertyListPath, _ value: PropertyList?, _ copy: PropertyList?,
        _ growth: FileSize, in target: Delta, _ handle: HandleState
    ) throws(DefaultsError) -> [Charge] {
        guard !handle.quotas.isEmpty, let value else { return [] }
        return try charges(setting: value, at: path, of: key, copy: copy, in: target, handle, growth)
    }
}
