internal import PropertyLists

/// What the administrator's managed file says of the value at a path. Its leaves are locked: all values but
/// dictionaries, and dictionaries that are one value or have no entries.
struct ManagedLock {
    /// The path of the locked leaf that the path is, or lies below.
    var leaf: PropertyListPath?
    var isWhole: Bool { leaf != nil }
    /// The file's value at the path, which may have locked leaves in it.
    var value: PropertyList?
}

extension DefaultsStore {
    /// Whether a value of the managed file is a locked leaf.
    private func isLeaf(_ value: PropertyList, at path: @autoclosure () -> PropertyListPath) -> Bool {
        value.kind != .dictionary || value.count == 0 || schema?.types?.isVariant(at: path()) ?? false
    }

    func lock(at path: PropertyListPath) -> ManagedLock {
        guard let managed = layers.managed, case .key(let key)? = path.steps.first,
            let top = key.withBytes({ managed.stored($0.bindMemory(to: UInt8.self)) })
        else { return ManagedLock() }
        var value = top
        for (index, step) in path.steps.enumerated().dropFirst() {
            let outer = PropertyListPath(Array(path.steps[..<index]))
            if isLeaf(value, at: outer) {
                return ManagedLock(leaf: outer, value: top.value(atSteps: path.steps.dropFirst()))
            }
            guard case .key(let key) = step, let next = value[key] else { return ManagedLock() }
            value = next
        }
        return ManagedLock(leaf: isLeaf(value, at: path) ? path : nil, value: value)
    }

    /// What is stored of a value that is set at a path: without the locked values in it, which stay as they are.
    ///
    /// - Returns: nil where nothing is stored.
    /// - Throws: ``DefaultsError/Code/forced`` where a locked value would change.
    func unlocked(_ value: PropertyList, at path: PropertyListPath) throws(DefaultsError) -> PropertyList? {
        guard layers.managed != nil else { return value }
        return try unlocked(value, lock(at: path), at: path)
    }

    private func unlocked(
        _ value: PropertyList, _ lock: ManagedLock, at path: PropertyListPath
    ) throws(DefaultsError) -> PropertyList? {
        guard let locked = lock.value else {
            if let leaf = lock.leaf { throw forced(at: leaf) }
            return value
        }
        if let leaf = lock.leaf {
            guard value == locked else { throw forced(at: leaf) }
            return nil
        }
        guard value.kind == .dictionary else { throw forced(at: path) }
        var result = value
        for (key, inner) in locked.entries {
            guard let old = value[key] else { continue }
            let innerPath = path.appending(.key(key))
            let innerLock = ManagedLock(leaf: isLeaf(inner, at: innerPath) ? innerPath : nil, value: inner)
            let new = try unlocked(old, innerLock, at: innerPath)
            result = try DefaultsError.translating(below: path) { () throws(PropertyListError) in
                if let new { return try result.setting(new, at: [.key(key)]) }
                return try result.removing(at: [.key(key)]) ?? result
            }
        }
        return result
    }

    /// - Throws: where the value at a path is locked as a whole.
    func checkUnlocked(_ path: PropertyListPath) throws(DefaultsError) {
        if layers.managed != nil, let leaf = lock(at: path).leaf { throw forced(at: leaf) }
    }

    private func forced(at path: PropertyListPath) -> DefaultsError {
        DefaultsError(.forced, "The administrator has set this value", at: path, file: layers.managed?.file ?? file)
    }
}
