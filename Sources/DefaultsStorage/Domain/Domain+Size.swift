internal import PropertyLists

/// The size in memory of the stored values and of the changes over them, counted with each change. All with the lock
/// held.
///
/// `stored` is the size of base and committed changes. `unwritten` is what the committing and the later changes add to
/// it. A transaction counts its own.
extension Domain {
    /// The size of everything, as it may be after the commit of an open transaction.
    var size: PropertyListSize {
        let sum = stored + unwritten
        guard let growth = open?.growth else { return sum }
        if isInTransaction { return sum + growth }
        return sum + PropertyListSize(nodes: max(growth.nodes, 0), text: max(growth.text, 0))
    }

    /// The size of a key and its value; zero without a value.
    func size(of value: PropertyList?, _ key: UnsafeBufferPointer<UInt8>) -> PropertyListSize {
        value.map { PropertyListSize(nodes: 1, text: key.count) + $0.size } ?? .zero
    }

    /// The size of a key and its value in `target`'s changes, at their `index`, or below them; zero without a value.
    func size(of key: UnsafeBufferPointer<UInt8>, in target: Delta, at index: Int?) -> PropertyListSize {
        // A value that cannot be put together is counted when it can.
        if let index { return size(of: try? target.value(at: index), key) }
        return size(of: try? below(key), key)
    }

    // MARK: - Changes

    /// Counts a change of `target` before it is made; an error where the store would pass the handle's limits.
    func count(
        _ change: PropertyListSize, in target: Delta, _ handle: HandleState,
        at path: @autoclosure () -> PropertyListPath
    ) throws(DefaultsError) {
        guard countsTogether || handle.limits.admit(change, to: size) else {
            throw handle.limits.error(change, to: size, at: path(), file: file)
        }
        note(change, in: target)
    }

    /// Runs `body` in a transaction whose changes are held to the handle's limits together, when all are made: the
    /// order of keys decides nothing, and a store that is too large may shrink.
    func transactionAsWhole(
        _ handle: HandleState, _ body: () throws(DefaultsError) -> Void
    ) throws(DefaultsError) {
        try transaction(until: handle.deadline, isOneCall: true) { () throws(DefaultsError) in
            let before = lock.withLock { () -> PropertyListSize in
                open?.wholes += 1
                return size
            }
            defer { lock.withLock { open?.wholes -= 1 } }
            try body()
            try lock.withLock { () throws(DefaultsError) in
                let change = size - before
                guard handle.limits.admit(change, to: before) else {
                    throw handle.limits.error(change, to: before, at: [], file: file)
                }
            }
        }
    }

    private var countsTogether: Bool { isInTransaction && open?.wholes ?? 0 > 0 }

    func note(_ change: PropertyListSize, in target: Delta) {
        if target === delta { unwritten += change } else { open?.growth += change }
    }

    /// The size that a change at `path` inside the value of a key adds.
    ///
    /// - Parameter value: the value that is set; nil where one is removed.
    func growth(
        setting value: PropertyList?, at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>, in target: Delta
    ) throws(PropertyListError) -> PropertyListSize {
        let (old, reached) = try find(path, of: key, in: target)
        let steps = [.key(utf8: key)] + path.steps
        guard let value else { return old.map { .zero - $0.size - keySize(steps[path.steps.count]) } ?? .zero }
        if let old { return value.size - old.size }
        // Missing dictionaries are made, with their keys.
        let missing = steps[(reached + 1)...]
        return missing.reduce(value.size + PropertyListSize(nodes: missing.count - 1)) { $0 + keySize($1) }
    }

    private func keySize(_ step: PropertyListPath.Step) -> PropertyListSize {
        guard case .key(let key) = step else { return .zero }
        return PropertyListSize(nodes: 1, text: key.utf8.count)
    }

    /// The value at `path` inside the value of a key; where there is none, the number of steps that lead to a value, -1
    /// where the key has none.
    private func find(
        _ path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>, in target: Delta
    ) throws(PropertyListError) -> (value: PropertyList?, reached: Int) {
        let overlay: Overlay?
        if let index = target.find(key) {
            overlay = target.entries[index]
        } else if let committing, let index = committing.find(key) {
            overlay = committing.entries[index]
        } else {
            overlay = try below(key).map { .whole($0) }
        }
        guard let overlay else { return (nil, -1) }
        let reached = overlay.reach(of: path.steps[...])
        return (reached == path.steps.count ? try overlay.value(at: path.steps[...]) : nil, reached)
    }

    // MARK: - Counting anew

    /// The size that `changes` add to the stored values.
    func growth(of changes: Delta) -> PropertyListSize {
        growth(of: changes) { key throws(PropertyListError) in try valueStored(key) }
    }

    private func growth(
        of changes: Delta, over old: (UnsafeBufferPointer<UInt8>) throws(PropertyListError) -> PropertyList?
    ) -> PropertyListSize {
        var sum = PropertyListSize.zero
        for index in 0..<changes.entries.count {
            let value = try? changes.value(at: index)
            sum += changes.entries.withKey(at: index) { size(of: value, $0) - size(of: try? old($0), $0) }
        }
        return sum
    }

    /// Counts the unwritten changes, when the values below them have changed.
    func countChanges() {
        let below = { (key: UnsafeBufferPointer<UInt8>) throws(PropertyListError) in try self.below(key) }
        unwritten = (committing.map { growth(of: $0) } ?? .zero) + growth(of: delta, over: below)
        if let open { open.growth = growth(of: open.delta, over: below) }
    }

    /// Counts the stored values, when all of them are in the document.
    func countStored() { stored = base.size }
}
