internal import PropertyLists

/// The paths at which nothing of lower layers shows through, as the store's own file lists them: under a reserved key,
/// as an array of paths, each an array of keys.
enum UnsetPaths {
    static let key = "KVUnset"

    /// The keys that are the store's own and no settings.
    static let reserved = [key, DefaultsMigration.versionKey]

    /// The paths that a list names. Other entries are ignored, and paths that are longer than a value is deep.
    static func paths(in list: PropertyList?) -> [PropertyListPath] {
        guard let list, list.kind == .array else { return [] }
        return list.elements.compactMap { path($0) }
    }

    fileprivate static func path(_ element: PropertyList) -> PropertyListPath? {
        guard element.kind == .array, element.count <= PropertyListLimits.store.depth else { return nil }
        let steps = element.elements.compactMap { key in key.string.map { PropertyListPath.Step.key($0) } }
        return steps.isEmpty || steps.count != element.count ? nil : PropertyListPath(steps)
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

    static func tree(of list: PropertyList?) -> PathTree? { PathTree.of(paths(in: list).map { $0.steps[...] }) }
}

/// What a change of a store's own values does to the list of unset paths.
struct UnsetChange {
    /// The paths that were set: they and all below them leave the list.
    var set: [PropertyListPath] = []
    /// The paths that the list takes up, but for those that lie below a listed one.
    var unset: [PropertyListPath] = []

    /// Whether the change may alter a list with the paths of a tree.
    func mayAlter(_ tree: PathTree?) -> Bool {
        set.contains { tree?.node(at: $0.steps[...]) != nil } || unset.contains { tree?.covers($0.steps[...]) != true }
    }

    /// The changed list, nil where it is empty; of no meaning where nothing changes. Paths with indexes are left out.
    func applied(to list: PropertyList?) throws(PropertyListError) -> (list: PropertyList?, isChanged: Bool) {
        let old = UnsetPaths.paths(in: list)
        let gone = Set(set)
        let kept = gone.isEmpty ? old : old.filter { !$0.isCovered(by: gone) }
        var listed = Set(kept)
        var added: [PropertyListPath] = []
        for path in unset where path.steps.allSatisfy({ $0.isKey }) && !path.isCovered(by: listed) {
            added.append(path)
            listed.insert(path)
        }
        let covering = Set(added)
        let new =
            kept.filter { !$0.isCovered(by: covering) }
            + added.filter { !PropertyListPath(Array($0.steps.dropLast())).isCovered(by: covering) }
        guard new != old else { return (list, false) }
        var builder = PropertyListBuilder()
        try builder.beginArray()
        // What is no path is ignored, and stays.
        for element in list?.kind == .array ? list?.elements.map({ $0 }) ?? [] : [] {
            if UnsetPaths.path(element) == nil { try builder.append(element) }
        }
        for path in new { try builder.append(try PropertyList(any: path.steps.map { $0.key })) }
        try builder.end()
        let result = try builder.finish()
        return (result.count == 0 ? nil : result, true)
    }
}

extension PropertyListPath {
    /// Whether a set has the path, or one that the path lies below.
    fileprivate func isCovered(by paths: Set<PropertyListPath>) -> Bool {
        guard !paths.isEmpty else { return false }
        return steps.indices.contains { paths.contains(PropertyListPath(Array(steps[...$0]))) }
    }
}

extension PropertyListPath.Step {
    fileprivate var key: String { if case .key(let key) = self { key } else { "" } }
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
        guard change.mayAlter(unsetPaths(in: target)) else { return nil }
        let new = try translating { () throws(PropertyListError) in try change.applied(to: list) }
        return new.isChanged ? Delta.Change(value: new.list) : nil
    }

    /// Makes a change of the list, that ``changedUnsetList(_:_:in:)`` gave.
    func setUnsetList(_ change: Delta.Change?, in target: Delta) {
        guard let change else { return }
        mayHaveUnset = true
        UnsetPaths.key.withBytes { bytes in
            let key = bytes.bindMemory(to: UInt8.self)
            note(size(of: change.value, key) - size(of: key, in: target, at: target.find(key)), in: target)
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
