internal import PropertyLists

/// Changes inside the value of a top-level key.
extension Domain {
    /// Sets what is at `path` inside the value of a top-level key; `lower` is the value that lower layers give it.
    ///
    /// - Parameter generation: the one that the change was looked at for; nil for whichever.
    /// - Returns: nil, and nothing is changed, where there is another generation now.
    func set(
        _ value: PropertyList, at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>,
        over lower: PropertyList?, ifGeneration generation: UInt64?, _ handle: HandleState
    ) throws(DefaultsError) -> Bool? {
        let own = value.isWholeDocument ? value : value.compacted()
        let changed = { (lower: PropertyList) throws(PropertyListError) in try lower.setting(own, at: path) }
        return try change(key, over: lower, changed, generation, handle) { (target) throws(PropertyListError) in
            try target.set(own, at: path, of: key, over: try below(key))
            return true
        }
    }

    /// Removes what is at `path` inside the value of a key; says whether something was there. As `set`.
    func remove(
        at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>, over lower: PropertyList?,
        ifGeneration generation: UInt64?, _ handle: HandleState
    ) throws(DefaultsError) -> Bool? {
        let changed = { (lower: PropertyList) throws(PropertyListError) in try lower.removing(at: path) }
        return try change(key, over: lower, changed, generation, handle) { (target) throws(PropertyListError) in
            try target.remove(at: path, of: key, over: try below(key))
        }
    }

    /// - Parameters:
    ///   - changed: what the change makes of the lower value, which is copied with it or not at all; nil where it makes
    ///     nothing.
    ///   - body: makes the change in a delta; false where it makes nothing.
    private func change(
        _ key: UnsafeBufferPointer<UInt8>, over lower: PropertyList?,
        _ changed: (PropertyList) throws(PropertyListError) -> PropertyList?, _ generation: UInt64?,
        _ handle: HandleState, _ body: (Delta) throws(PropertyListError) -> Bool
    ) throws(DefaultsError) -> Bool? {
        // A change by path depends on what others wrote: with immediate durability it is made on what is there now.
        if lock.withLock({ handles.durability == .immediate && !isInTransaction }) {
            return try transaction(until: handle.deadline) { () throws(DefaultsError) in
                try changeInMemory(key, over: lower, changed, generation, handle, body)
            }
        }
        return try changeInMemory(key, over: lower, changed, generation, handle, body)
    }

    private func changeInMemory(
        _ key: UnsafeBufferPointer<UInt8>, over lower: PropertyList?,
        _ changed: (PropertyList) throws(PropertyListError) -> PropertyList?, _ wanted: UInt64?,
        _ handle: HandleState, _ body: (Delta) throws(PropertyListError) -> Bool
    ) throws(DefaultsError) -> Bool? {
        var isLate = false
        let consequence = try lock.withLock { () throws(DefaultsError) -> Consequence? in
            if let refusal { throw refusal }
            isLate = wanted.map { $0 != generation } ?? false
            if isLate { return nil }
            let target = self.target
            do throws(PropertyListError) {
                guard let lower, !holds(key) else { return try body(target) ? noteChange(of: key) : nil }
                guard let copy = try changed(lower) else { return nil }
                target.set(copy, for: key)
                return noteChange(of: key)
            } catch {
                let prefix = PropertyListPath([.key(String(decoding: key, as: UTF8.self))])
                throw DefaultsError(error, below: prefix)
            }
        }
        guard let consequence else { return isLate ? nil : false }
        try carryOut(consequence, for: handle)
        return true
    }
}
