internal import PropertyLists

/// Changes inside the value of a top-level key.
extension Domain {
    /// Sets the value at `path` inside the value of a top-level key.
    ///
    /// - Parameters:
    ///   - unset: what becomes of the unset paths.
    ///   - seen: what the change was made for; nil for anything.
    /// - Returns: nil, and nothing is changed, where the key has another value now.
    func set(
        _ value: PropertyList, at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>, _ unset: UnsetChange?,
        ifStill seen: Seen?, _ handle: HandleState
    ) throws(DefaultsError) -> Bool? {
        let isStored = { () throws(DefaultsError) -> Bool in
            try self.lock.withLock { () throws(DefaultsError) -> Bool in
                guard self.target.state.changes[key] == nil, self.isStored(value, key, path.steps[...]) else {
                    return false
                }
                return try self.changedUnsetList(unset, self.location(of: key, path)) == nil
            }
        }
        if try isStored() {
            let look = lookAtFile()
            if look == .isUnchanged { return true }
            if look == .isLoaded, try isStored() { return true }
        }
        let own = value.isWholeDocument ? value : value.compacted()
        return try change(key, path, own, unset, seen, handle)
    }

    /// Removes the value at `path` inside the value of a key; says whether there was one, or a path became unset. Else
    /// as `set`.
    func remove(
        at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>, _ unset: UnsetChange?,
        ifStill seen: Seen?, _ handle: HandleState
    ) throws(DefaultsError) -> Bool? {
        try change(key, path, nil, unset, seen, handle)
    }

    /// Whether the calling thread sees a value of the domain's own at a path. Puts no value together.
    func holds(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>
    ) -> Bool {
        lock.withLock { target.state.holds(key, steps) }
    }

    /// Makes a change over the latest file where durability is immediate, merged with what other programs changed since
    /// this one saw the value.
    ///
    /// - Parameters:
    ///   - ifStill: what the change was made of: it makes none of anything else.
    ///   - changed: gives the value with the change; nil for a removed one.
    ///   - change: makes the change, or sets the merged value if it is given one; says whether anything changed.
    /// - Throws: ``DefaultsError/Code/conflict`` where another program's change counts.
    func overLatest(
        _ key: UnsafeBufferPointer<UInt8>, _ handle: HandleState, ifStill: Seen?,
        _ changed: (PropertyList) throws(PropertyListError) -> PropertyList?,
        _ change: (_ merged: PropertyList?) throws(DefaultsError) -> Bool
    ) throws(DefaultsError) -> Bool {
        guard isImmediate else { return try change(nil) }
        // The change itself is made only of what was seen.
        if ifStill != nil { return try atOnce(handle) { () throws(DefaultsError) in try change(nil) } }
        // A value that cannot be read can be replaced.
        let seen = (try? value(key, handle, [])).flatMap { $0 }
        return try atOnce(handle) { () throws(DefaultsError) -> Bool in
            guard let seen else { return try change(nil) }
            let latest = try value(key, handle, [])
            let root: PropertyListPath = [.key(utf8: key)]
            let ours = try DefaultsError.translating(below: root) { () throws(PropertyListError) in try changed(seen) }
            // A set of what was seen already is meant for the latest file as well.
            if seen == latest || ours == seen { return try change(nil) }
            let rules = Self.mergeRules(for: key, lock.withLock { handles.schemas })
            let merged = try DefaultsError.translating(below: root) { () throws(PropertyListError) -> Merge in
                try PropertyList.merge(ancestor: seen, ours: ours, theirs: latest, rules: rules, limits: .store)
            }
            if let conflict = merged.conflicts.first(where: { $0.kept == .theirs }) {
                throw dropping(conflict, at: location(of: key, conflict.path))
            }
            guard let value = merged.value else { return latest == nil ? false : try remove(key, nil, handle) ?? false }
            return value == latest ? false : try change(value)
        }
    }

    func location(of key: UnsafeBufferPointer<UInt8>, _ path: PropertyListPath) -> PropertyListPath {
        PropertyListPath([.key(utf8: key)] + path.steps)
    }

    /// - Parameter value: the new value; nil to remove the present one.
    private func change(
        _ key: UnsafeBufferPointer<UInt8>, _ path: PropertyListPath, _ value: PropertyList?, _ unset: UnsetChange?,
        _ seen: Seen?, _ handle: HandleState
    ) throws(DefaultsError) -> Bool? {
        let location = location(of: key, path)
        var isLate = false
        let mustSchedule = try lock.withLock { () throws(DefaultsError) -> Bool? in
            try checkRefusal()
            isLate = try !isStill(seen, key)
            if isLate { return nil }
            try translating { () throws(PropertyListError) in try target.state.checkReadable(key) }
            let prefix = PropertyListPath(Array(location.steps.prefix(1)))
            let growth = try DefaultsError.translating(below: prefix) { () throws(PropertyListError) in
                try target.state.growth(setting: value, at: path, of: key)
            }
            let newUnset = try changedUnsetList(unset, location)
            if let value { try checkQuotas(setting: value, at: path, of: key, growth, handle, location) }
            try checkLimits(growth, handle, at: location)
            let isMade = try DefaultsError.translating(below: prefix) { () throws(PropertyListError) in
                try target.state.set(value, at: path, of: key, growth: growth)
            }
            setUnsetList(newUnset)
            return isMade || newUnset != nil ? noteChange() : nil
        }
        guard let mustSchedule else { return isLate ? nil : false }
        if mustSchedule { Flusher.shared.schedule(self) }
        return true
    }
}
