internal import PropertyLists

/// The paths at which nothing of lower layers shows through, as the store's own file lists them: under a reserved key,
/// as an array of paths, each an array of keys.
enum UnsetPaths {
    static let key = "KVUnset"

    /// The keys that are the store's own and no settings.
    static let reserved = [key, DefaultsMigration.versionKey]

    /// The paths that a list names. Entries of another kind are ignored.
    static func paths(in list: PropertyList?) -> [[String]] {
        guard let list, list.kind == .array else { return [] }
        return list.elements.compactMap { path($0) }
    }

    fileprivate static func path(_ element: PropertyList) -> [String]? {
        guard element.kind == .array else { return nil }
        let keys = element.elements.compactMap { $0.string }
        return keys.isEmpty || keys.count != element.count ? nil : keys
    }

    static func isKey(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool { bytes.count == 7 && bytes.elementsEqual(key.utf8) }

    /// Merges two changes of the list, where none is as good as one without paths.
    static func merged(
        _ ancestor: PropertyList?, _ ours: PropertyList?, _ theirs: PropertyList?
    ) throws(PropertyListError) -> Delta.Change? {
        let none = try PropertyList(any: [String]())
        let merged = try PropertyList.merge(
            ancestor: ancestor ?? none, ours: ours ?? none, theirs: theirs ?? none, limits: .store)
        let value = merged.value?.count == 0 ? nil : merged.value
        return value == theirs ? nil : Delta.Change(value: value)
    }

    static func tree(of list: PropertyList?) -> PathTree? { PathTree.of(paths(in: list).map { $0[...] }) }
}

/// What a change of a store's own values does to the list of unset paths.
struct UnsetChange {
    /// The paths that were set: they and all below them leave the list.
    var set: [PropertyListPath] = []
    /// The paths that the list takes up, but for those that lie below a listed one.
    var unset: [PropertyListPath] = []

    /// The changed list, nil where it is empty; of no meaning where nothing changes.
    func applied(to list: PropertyList?) throws(PropertyListError) -> (list: PropertyList?, isChanged: Bool) {
        let old = UnsetPaths.paths(in: list)
        let gone = set.compactMap { Self.keys(of: $0) }
        var new = gone.isEmpty ? old : old.filter { path in !gone.contains { path.starts(with: $0) } }
        for path in unset {
            guard let keys = Self.keys(of: path), !new.contains(where: { keys.starts(with: $0) }) else { continue }
            new = new.filter { !$0.starts(with: keys) } + [keys]
        }
        guard new != old else { return (list, false) }
        var builder = PropertyListBuilder()
        try builder.beginArray()
        // What is no path is ignored, and stays.
        for element in list?.kind == .array ? list?.elements.map({ $0 }) ?? [] : [] {
            if UnsetPaths.path(element) == nil { try builder.append(element) }
        }
        for keys in new { try builder.append(try PropertyList(any: keys)) }
        try builder.end()
        let result = try builder.finish()
        return (result.count == 0 ? nil : result, true)
    }

    /// The keys of a path; nil for one that leads through an array, which the list never names.
    private static func keys(of path: PropertyListPath) -> [String]? {
        var keys: [String] = []
        for step in path.steps {
            guard case .key(let key) = step else { return nil }
            keys.append(key)
        }
        return keys
    }
}

/// All with the lock held.
extension Domain {
    /// The paths that are unset, as the calling thread sees them.
    func unsetPaths(in target: Delta) -> PathTree? {
        guard let list = unsetList(in: target) else { return nil }
        if let known = unset, known.list.document === list.document, known.list.index == list.index {
            return known.tree
        }
        let tree = UnsetPaths.tree(of: list)
        unset = (list, tree)
        return tree
    }

    /// The list as it is stored. One that cannot be read lists nothing.
    private func unsetList(in target: Delta) -> PropertyList? {
        guard mayHaveUnset else { return nil }
        let list = UnsetPaths.key.withBytes { key in
            (try? lookUp(key.bindMemory(to: UInt8.self), [], in: target)).flatMap { $0 }
        }
        // A transaction of another thread may have one.
        if list == nil, open == nil { mayHaveUnset = false }
        return list
    }

    /// The list that a change makes of the present one; nil where it changes nothing.
    ///
    /// - Parameter change: nil for one that sets the value at `path`.
    func changedUnsetList(
        _ change: UnsetChange?, _ path: @autoclosure () -> PropertyListPath, in target: Delta
    ) throws(DefaultsError) -> Delta.Change? {
        let list = unsetList(in: target)
        if list == nil, change?.unset.isEmpty ?? true { return nil }
        let change = change ?? UnsetChange(set: [path()])
        let new = try translating { () throws(PropertyListError) in try change.applied(to: list) }
        return new.isChanged ? Delta.Change(value: new.list) : nil
    }

    /// Makes a change of the list, that ``changedUnsetList(_:_:in:)`` gave.
    func setUnsetList(_ change: Delta.Change?, in target: Delta) {
        guard let change else { return }
        mayHaveUnset = true
        UnsetPaths.key.withBytes { bytes in
            let key = bytes.bindMemory(to: UInt8.self)
            note(size(of: change.value, key) - size(of: key, in: target), in: target)
            if let value = change.value { target.set(value, for: key) } else { target.remove(key) }
            inbox.noteChange(of: key)
        }
    }
}

extension Domain {
    /// The paths that are unset once a change is made; nil for no path.
    func unsetPaths(after change: UnsetChange?, at path: PropertyListPath) throws(DefaultsError) -> PathTree? {
        try lock.withLock { () throws(DefaultsError) in
            let target = self.target
            guard let new = try changedUnsetList(change, path, in: target) else { return unsetPaths(in: target) }
            return UnsetPaths.tree(of: new.value)
        }
    }

    /// Changes the unset paths alone; says whether anything changed.
    func changeUnset(_ change: UnsetChange) throws(DefaultsError) -> Bool {
        let mustSchedule = try lock.withLock { () throws(DefaultsError) -> Bool? in
            try checkRefusal()
            let target = self.target
            guard let new = try changedUnsetList(change, [], in: target) else { return nil }
            setUnsetList(new, in: target)
            return UnsetPaths.key.withBytes { noteChange(of: $0.bindMemory(to: UInt8.self)) }
        }
        if mustSchedule == true { Flusher.shared.schedule(self) }
        return mustSchedule != nil
    }
}
