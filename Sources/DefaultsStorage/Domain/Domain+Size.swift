internal import PropertyLists

/// The size of the stored values and of the changes over them, counted with each change. All with the lock held.
///
/// `stored` is the size of base and committed changes. `committingGrowth` and `growth` are what the committing and the
/// later changes add to it. A transaction counts its own.
extension Domain {
    /// How values are laid out in the file.
    var sizeFormat: PropertyListFormat { rowFormat ?? rules.format }

    /// The size of everything, as it may be after the commit of an open transaction.
    var size: FileSize {
        var sum = stored + committingGrowth + growth
        if let open {
            sum +=
                isInTransaction
                ? open.growth : FileSize(nodes: max(open.growth.nodes, 0), bytes: max(open.growth.bytes, 0))
        }
        return sum
    }

    /// The size of a key and its value.
    func size(of value: PropertyList, _ key: UnsafeBufferPointer<UInt8>) -> FileSize {
        let format = sizeFormat
        return FileSize(ofKey: key, as: format, depth: 1) + value.fileSize(as: format, depth: 1)
    }

    /// The size of a key and its value below `target`'s changes or in them; zero where there is none.
    func size(of key: UnsafeBufferPointer<UInt8>, in target: Delta) -> FileSize {
        if let index = target.find(key) { return size(of: target, at: index, key) }
        return sizeBelow(key)
    }

    private func sizeBelow(_ key: UnsafeBufferPointer<UInt8>) -> FileSize {
        if let committing, let index = committing.find(key) { return size(of: committing, at: index, key) }
        return sizeStored(key)
    }

    private func sizeStored(_ key: UnsafeBufferPointer<UInt8>) -> FileSize {
        if let committed, let index = committed.find(key) { return size(of: committed, at: index, key) }
        return base[utf8: key].map { size(of: $0, key) } ?? FileSize()
    }

    private func size(of delta: Delta, at index: Int, _ key: UnsafeBufferPointer<UInt8>) -> FileSize {
        switch delta.entries[index] {
        case .whole(let value): size(of: value, key)
        case nil: FileSize()
        // A value that cannot be put together is counted when it can.
        case .edited: (try? delta.value(at: index)).map { size(of: $0, key) } ?? FileSize()
        }
    }

    // MARK: - Changes

    /// Counts a change of `target` before it is made; an error where the store would pass the handle's limits.
    func count(
        _ change: FileSize, in target: Delta, _ handle: HandleState, at path: @autoclosure () -> PropertyListPath
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
            let before = lock.withLock { () -> FileSize in
                countChanges()
                open?.wholes += 1
                return size
            }
            defer { lock.withLock { open?.wholes -= 1 } }
            try body()
            try lock.withLock { () throws(DefaultsError) in
                countChanges()
                let change = size - before
                guard handle.limits.admit(change, to: before) else {
                    throw handle.limits.error(change, to: before, at: [], file: file)
                }
            }
        }
    }

    private var countsTogether: Bool { isInTransaction && open?.wholes ?? 0 > 0 }

    func note(_ change: FileSize, in target: Delta) {
        if target === delta { growth += change } else { open?.growth += change }
    }

    /// The size that setting the value of a key adds. `index` is that of the key's entry in `target`.
    func growth(
        setting value: PropertyList, _ key: UnsafeBufferPointer<UInt8>, at index: Int?, in target: Delta
    ) -> FileSize {
        let format = sizeFormat
        let new = value.fileSize(as: format, depth: 1)
        if let index, case .whole(let old)? = target.entries[index] {
            return new - old.fileSize(as: format, depth: 1)
        }
        return new + FileSize(ofKey: key, as: format, depth: 1) - size(of: key, in: target)
    }

    /// The size that setting the value at `path` inside the value of a key adds.
    func growth(
        setting value: PropertyList, at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>, in target: Delta
    ) throws(PropertyListError) -> FileSize {
        let format = sizeFormat
        var result = value.fileSize(as: format, depth: 1 + path.steps.count)
        let (old, reached) = try find(path, of: key, in: target)
        if let old { return result - old.fileSize(as: format, depth: 1 + path.steps.count) }
        if reached < 0 { result += FileSize(ofKey: key, as: format, depth: 1) }
        for index in max(reached, 0)..<path.steps.count {
            if index > reached { result += FileSize(ofContainerAs: format, depth: 1 + index) }
            result += keySize(path.steps[index], depth: 2 + index)
        }
        return result
    }

    /// The size that removing the value at `path` inside the value of a key adds: a negative one.
    func growth(
        removing path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>, in target: Delta
    ) throws(PropertyListError) -> FileSize {
        guard let old = try find(path, of: key, in: target).value, let last = path.steps.last else { return FileSize() }
        let depth = 1 + path.steps.count
        return FileSize() - old.fileSize(as: sizeFormat, depth: depth) - keySize(last, depth: depth)
    }

    func keySize(_ step: PropertyListPath.Step, depth: Int) -> FileSize {
        guard case .key(let key) = step else { return FileSize() }
        return key.withBytes { FileSize(ofKey: $0.bindMemory(to: UInt8.self), as: sizeFormat, depth: depth) }
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
    func growth(of changes: Delta) -> FileSize {
        growth(of: changes) { sizeStored($0) }
    }

    private func growth(of changes: Delta, over old: (UnsafeBufferPointer<UInt8>) -> FileSize) -> FileSize {
        var sum = FileSize()
        for index in 0..<changes.entries.count {
            sum += changes.entries.withKey(at: index) { size(of: changes, at: index, $0) - old($0) }
        }
        return sum
    }

    /// Counts the unwritten changes, when the values below them have changed.
    func countChanges() {
        committingGrowth = committing.map { growth(of: $0) } ?? FileSize()
        growth = growth(of: delta) { sizeBelow($0) }
        if let open { open.growth = growth(of: open.delta) { sizeBelow($0) } }
    }

    /// Counts the stored values, when all of them are in the document.
    func countStored() { stored = FileSize.frame + base.fileSize(as: sizeFormat, depth: 0) }
}
