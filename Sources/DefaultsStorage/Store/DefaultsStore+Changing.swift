public import PropertyLists

extension DefaultsStore {
    /// Sets the value at `path` in the application's domain. Missing dictionaries on the way are made, never arrays; an
    /// index equal to an array's count appends. The empty path replaces the domain's whole dictionary.
    ///
    /// Nothing of lower layers is copied, but that a change at an index of an array that only a lower layer has first
    /// copies the array. A dictionary shows what was set alone: keys of lower layers that it leaves out are noted as
    /// unset. Values that the administrator has locked stay as they are, and are not stored.
    ///
    /// - Throws: ``DefaultsError`` for a value that the file could not hold, a path that does not fit, a change of a
    ///   locked value, a read-only store; with immediate durability also the error of writing, and then nothing has
    ///   changed.
    ///
    /// Under a schema of types the value is given as its type shows it, and stored as that says, with the keys of the
    /// stored value that the type does not know; a field that is left out has its default again. Otherwise as
    /// ``setStored(_:at:)`` takes it.
    public func set(_ value: PropertyList, at path: PropertyListPath) throws(DefaultsError) {
        _ = try set(value, at: path, SchemaChange())
    }

    /// As ``set(_:at:)``; gives the number of elements of stored arrays that are gone with keys that the
    /// schema's type does not know.
    package func set(
        _ value: PropertyList, at path: PropertyListPath, _ change: SchemaChange
    ) throws(DefaultsError) -> Int {
        guard types != nil, let types = typesInForce else {
            try setStored(value, at: path, change)
            return 0
        }
        guard !path.isEmpty else {
            var dropped = 0
            // A field that is left out has its default again.
            let isOther = { (key: String) in
                change.replaces || !types.isStructure(at: []) && !types.isField(at: [.key(key)])
            }
            try replaceAll(with: value, unsetting: isOther) { key, value throws(DefaultsError) in
                dropped += try set(value, at: [.key(key)], SchemaChange(replaces: change.replaces))
            }
            return dropped
        }
        let shape = TypedShape {
            types.isVariant(at: path.appending($0))
        } isStructure: {
            types.isStructure(at: path.appending($0))
        } hasDefault: {
            types.hasOptionalDefault(at: path.appending($0))
        } knows: {
            types.isField(at: path.appending($0))
        }
        let dropped = try DefaultsSchema.translating(at: path) {
            try setTyped(at: path, change, shape) { try types.encode(value, over: $0, change, at: path) }
        }
        if let dropped { return dropped }
        try setStored(value, at: path, change)
        return 0
    }

    /// Sets the value at `path` exactly as it is given: keys that a schema's type does not know go, and so does what
    /// other programs change in the value before this change is written.
    public func replace(_ value: PropertyList, at path: PropertyListPath) throws(DefaultsError) {
        _ = try set(value, at: path, SchemaChange(replaces: true))
    }

    /// Sets a value as it is to be stored: as a whole, or what differs from the ancestor, if there is one.
    package func setStored(
        _ value: PropertyList, at path: PropertyListPath, _ change: SchemaChange
    ) throws(DefaultsError) {
        guard let ancestor = change.ancestor, !path.isEmpty, !change.replaces else {
            try setStored(value, at: path)
            if change.replaces { domain.noteReplaced(path) }
            return
        }
        report(try merge(ancestor: ancestor, ours: value, at: path))
    }

    /// Reports the conflicts of a merge in which another program's change was kept: an event, and the next sync's error.
    package func report(_ conflicts: [MergeConflict]) {
        guard !conflicts.isEmpty else { return }
        domain.lock.withLock { domain.report(conflicts) }
    }

    /// Merges a change with the value at `path`: stores what differs between `ancestor`, the value that the program
    /// had, and `ours`. What other programs changed meanwhile stays.
    ///
    /// Values are as they are stored, and nil is no value. The empty path merges the keys of two dictionaries with the
    /// whole store.
    ///
    /// ```swift
    /// let before = try store.stored(at: ["window"])
    /// let after = try before?.setting(800, at: ["width"])
    /// let conflicts = try store.merge(ancestor: before, ours: after, at: ["window"])
    /// ```
    ///
    /// - Returns: the changes that could not both be kept, with their paths from the store's root.
    /// - Throws: as ``setStored(_:at:)``.
    @discardableResult
    public func merge(
        ancestor: PropertyList?, ours: PropertyList?, at path: PropertyListPath = []
    ) throws(DefaultsError) -> [MergeConflict] {
        guard !path.isEmpty else { return try mergeAll(ancestor ?? emptyDictionary, ours ?? emptyDictionary) }
        while true {
            // Before the value is read: another thread or program may change it meanwhile, and then it is merged again.
            let seen = try seen(at: path)
            if let conflicts = try merge(ancestor, ours, at: path, ifStill: seen) { return conflicts }
        }
    }

    /// The own value that a change of a path is made of.
    func seen(at path: PropertyListPath) throws(DefaultsError) -> Seen {
        Seen(value: try own(PropertyListPath(Array(path.steps.prefix(1)))))
    }

    /// - Returns: nil, and nothing is changed, where the own value is another one than was seen now.
    private func merge(
        _ ancestor: PropertyList?, _ ours: PropertyList?, at path: PropertyListPath, ifStill seen: Seen
    ) throws(DefaultsError) -> [MergeConflict]? {
        // A default is no change of another program.
        let theirs = try ancestor == nil ? own(path) : stored(at: path)
        try checkElement(ancestor, at: path, is: theirs)
        let merged = try DefaultsError.translating(below: path) { () throws(PropertyListError) in
            try PropertyList.merge(
                ancestor: ancestor, ours: ours, theirs: theirs, rules: mergeRules(at: path), limits: .store)
        }
        if merged.value == theirs {
            // Without a difference the file may have changed.
            if loadsChanges() { return nil }
        } else if ancestor == nil, let value = merged.value {
            guard try setStored(value, at: path, ifStill: seen) else { return nil }
        } else {
            guard try store(from: theirs, to: merged.value, at: path, ifStill: seen) else { return nil }
        }
        return merged.conflicts.map { conflict in
            var conflict = conflict
            conflict.path = path.appending(conflict.path)
            return conflict
        }
    }

    /// The rules of a merge of values at `path`: the schema says which are enums.
    package func mergeRules(at path: PropertyListPath, oursWins: Bool = false) -> MergeRules {
        MergeRules(oursWins: oursWins, isVariant: types.map { types in { types.isVariant(at: path.appending($0)) } })
    }

    /// - Throws: ``DefaultsError/Code/conflict`` if another element than the program had stands at an index.
    func checkElement(
        _ ancestor: PropertyList?, at path: PropertyListPath, is present: PropertyList?
    ) throws(DefaultsError) {
        guard let ancestor, let present, path.steps.contains(where: { !$0.isKey }) else { return }
        guard ElementIdentity.differs(ancestor, present) else { return }
        throw DefaultsError(.conflict, "Another element stands at the index now", at: path, file: file)
    }

    private func mergeAll(
        _ ancestor: PropertyList, _ ours: PropertyList
    ) throws(DefaultsError) -> [MergeConflict] {
        for list in [ancestor, ours] where list.kind != .dictionary {
            throw DefaultsError(.invalidValue, .expected("Dictionary at the root", found: "\(list.kind)"))
        }
        var conflicts: [MergeConflict] = []
        for key in ours.keys + ancestor.keys.filter({ ours[$0] == nil }) where ancestor[key] != ours[key] {
            conflicts += try merge(ancestor: ancestor[key], ours: ours[key], at: [.key(key)])
        }
        return conflicts
    }

    /// Sets the value at `path` as it is to be stored, whatever form the schema's type shows it in; otherwise as
    /// ``set(_:at:)``.
    public func setStored(_ value: PropertyList, at path: PropertyListPath) throws(DefaultsError) {
        _ = try setStored(value, at: path, ifStill: nil)
    }

    /// - Parameter seen: what the value was made of; nil for anything.
    /// - Returns: false, and nothing is set, where the own value is another one now.
    func setStored(
        _ value: PropertyList, at path: PropertyListPath, ifStill seen: Seen?
    ) throws(DefaultsError) -> Bool {
        guard let first = path.steps.first else {
            let isUnset = { (_: String) in true }
            try replaceAll(with: value, unsetting: isUnset) { key, value throws(DefaultsError) in
                try setStored(value, forKey: key)
            }
            return true
        }
        guard case .key(let key) = first else {
            throw DefaultsError(.pathMismatch, .expected("Array", found: "Dictionary"))
        }
        return try key.withBytes { bytes throws(DefaultsError) in
            let utf8 = bytes.bindMemory(to: UInt8.self)
            if path.steps.count == 1 {
                return try setStored(value, utf8) { own, unset throws(DefaultsError) in
                    try setWhole(own, of: utf8, unset, ifStill: seen)
                }
            }
            try checkChange(utf8, path, value)
            for index in 1..<path.steps.count { try checkKey(at: index, of: path) }
            let own = layers.managed?.stored(utf8) == nil ? value : try unlocked(value, at: path)
            guard let own else { return true }
            return try setOwn(own, at: path, of: utf8, try leftOut(of: value, at: path, of: utf8), ifStill: seen)
        }
    }

    /// Sets a checked value in the application's domain alone.
    ///
    /// - Parameters:
    ///   - unset: what becomes of the unset paths; nil to list none at the path and below it.
    ///   - seen: what the value was made of; nil for anything. Then, with immediate durability, the change is merged with
    ///     the latest value.
    /// - Returns: false, and nothing is set, where the key has another value now.
    @discardableResult
    func setOwn(
        _ value: PropertyList, at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>, _ unset: UnsetChange?,
        ifStill seen: Seen? = nil
    ) throws(DefaultsError) -> Bool {
        if path.steps.count == 1 {
            return try setWhole(value, of: key, unset, ifStill: seen)
        }
        if let (array, end) = try lowerArray(at: path, of: key) {
            let rest = PropertyListPath(Array(path.steps[end...]))
            let outer = PropertyListPath(Array(path.steps[..<end]))
            let new = try DefaultsError.translating(below: outer) { () throws(PropertyListError) in
                try array.setting(value, at: rest)
            }
            return try setOwn(new, at: outer, of: key, nil, ifStill: seen)
        }
        try checkLower(path, of: key)
        let rest = PropertyListPath(Array(path.steps.dropFirst()))
        let changed = { (seen: PropertyList) throws(PropertyListError) in try seen.setting(value, at: rest) }
        var isLate = false
        _ = try domain.overLatest(key, state, ifStill: seen, changed) { merged throws(DefaultsError) in
            if let merged { return try set(merged, key, unset) }
            let outcome = { try? ($0 ?? emptyDictionary).setting(value, at: rest) }
            return try underSchema(key, outcome, unset, at: path, ifStill: seen, &isLate) {
                seen throws(DefaultsError) in
                try domain.set(value, at: rest, of: key, unset, ifStill: seen, state)
            }
        }
        return !isLate
    }

    /// The array that a path leads into where only lower layers or a type's default have it, and the number of steps
    /// that lead to it.
    private func lowerArray(
        at path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>
    ) throws(DefaultsError) -> (array: PropertyList, end: Int)? {
        guard
            let end = path.steps.indices.first(where: { index in
                !path.steps[index].isKey && !domain.holds(key, path.steps[1..<index])
            })
        else { return nil }
        var value = try layered(key, path.steps[1..<end], .ownAndLower)
        if value == nil { value = try stored(at: PropertyListPath(Array(path.steps[..<end]))) }
        guard let value, value.kind == .array else { return nil }
        return (value, end)
    }

    /// - Throws: where a lower layer has a value that is no dictionary on the way to a path that is set.
    private func checkLower(
        _ path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>
    ) throws(DefaultsError) {
        let parent = path.steps[1..<(path.steps.count - 1)]
        if domain.holds(key, parent) { return }
        guard let top = try layered(key, [], .lower) else { return }
        let unset = unsetPaths()
        for end in 1..<path.steps.count {
            if unset?.covers(path.steps[..<end]) == true { return }
            guard let value = top.value(atSteps: path.steps[1..<end]) else { return }
            if value.kind != .dictionary, !domain.holds(key, path.steps[1..<end]) {
                let location = PropertyListPath(Array(path.steps[..<end]))
                throw DefaultsError(.pathMismatch, .expected("Dictionary", found: "\(value.kind)"), at: location)
            }
        }
    }

    /// Sets the value of a top-level key in the application's domain, as ``set(_:at:)`` does.
    public func set(_ value: PropertyList, forKey key: String) throws(DefaultsError) {
        try set(value, at: [.key(key)])
    }

    func setStored(_ value: PropertyList, forKey key: String) throws(DefaultsError) {
        try key.withBytes { bytes throws(DefaultsError) in
            try setStored(value, forUTF8Key: bytes.bindMemory(to: UInt8.self))
        }
    }

    /// As ``setStored(_:at:)`` for a top-level key, without making a path. The bytes must be UTF-8.
    package func setStored(_ value: PropertyList, forUTF8Key key: UnsafeBufferPointer<UInt8>) throws(DefaultsError) {
        _ = try setStored(value, key) { own, unset throws(DefaultsError) in try setWhole(own, of: key, unset) }
    }

    /// Has `set` set the value, without what is locked in it, after the checks.
    private func setStored(
        _ value: PropertyList, _ key: UnsafeBufferPointer<UInt8>,
        _ set: (PropertyList, UnsetChange?) throws(DefaultsError) -> Bool
    ) throws(DefaultsError) -> Bool {
        try checkChange(key, nil, value)
        if isUIDMark(key), value.integer != nil {
            throw DefaultsError(.invalidValue, uidMessage, at: [.key(uidKey)])
        }
        var own = value
        if layers.managed?.stored(key) != nil {
            guard let open = try unlocked(value, at: [.key(utf8: key)]) else { return true }
            own = open
        }
        return try set(own, try leftOut(of: value, at: nil, of: key))
    }

    private func setWhole(
        _ value: PropertyList, of key: UnsafeBufferPointer<UInt8>, _ unset: UnsetChange?,
        ifStill seen: Seen? = nil
    ) throws(DefaultsError) -> Bool {
        if seen != nil || !domain.isImmediate {
            return try domain.atOnce(state) { () throws(DefaultsError) in
                try set(value, key, unset, ifStill: seen)
            }
        }
        let changed = { (_: PropertyList) in value as PropertyList? }
        _ = try domain.overLatest(key, state, ifStill: nil, changed) { merged throws(DefaultsError) in
            try set(merged ?? value, key, unset)
        }
        return true
    }

    /// Sets the value of a top-level key if the application's domain has the value that the program had: then there is
    /// nothing to merge.
    package func setStored(
        _ value: PropertyList, forUTF8Key key: UnsafeBufferPointer<UInt8>, ifUnchangedFrom old: PropertyList
    ) throws(DefaultsError) -> Bool {
        try setStored(value, key) { own, unset throws(DefaultsError) in
            try setWhole(own, of: key, unset, ifStill: Seen(value: old))
        }
    }

    private func set(
        _ value: PropertyList, _ key: UnsafeBufferPointer<UInt8>, _ unset: UnsetChange?,
        ifStill seen: Seen? = nil
    ) throws(DefaultsError) -> Bool {
        if schema != nil, !domain.postpone(lower, key) {
            try lower.check(value, of: key, unset: try domain.unsetPaths(after: unset, at: [.key(utf8: key)]))
        }
        return try domain.set(value, key, unset, ifStill: seen, state)
    }

    /// Removes the value at `path`; returns whether there was one. A top-level key is reset: a get returns the value of
    /// the lower layers. Inside a dictionary the path becomes unset if a lower layer has it: a get returns nil.
    @discardableResult
    public func remove(at path: PropertyListPath) throws(DefaultsError) -> Bool {
        guard let first = path.steps.first else { return try removeAll() }
        guard case .key(let key) = first else { return false }
        if path.steps.count == 1 { return try reset(at: path) }
        return try key.withBytes { bytes throws(DefaultsError) in
            let utf8 = bytes.bindMemory(to: UInt8.self)
            try checkChange(utf8, path, nil)
            try checkUnlocked(path)
            let steps = path.steps.dropFirst()
            if try layered(utf8, steps, .ownAndLower) == nil, try stored(at: path) == nil { return false }
            var isLower = typesInForce?.hasOptionalDefault(at: path) ?? false
            if !isLower { isLower = try layered(utf8, steps, .lower) != nil }
            return try removeOwn(path, of: utf8, UnsetChange(set: [path], unset: isLower ? [path] : [])) ?? false
        }
    }

    /// Removes the application's domain's own value at a path; says whether anything changed.
    ///
    /// - Parameter seen: as of `setOwn`.
    /// - Returns: nil, and nothing is removed, where the key has another value now.
    @discardableResult
    func removeOwn(
        _ path: PropertyListPath, of key: UnsafeBufferPointer<UInt8>, _ unset: UnsetChange,
        ifStill seen: Seen? = nil
    ) throws(DefaultsError) -> Bool? {
        let rest = PropertyListPath(Array(path.steps.dropFirst()))
        var isLate = false
        if rest.isEmpty {
            let changed = { (_: PropertyList) in nil as PropertyList? }
            let isChanged = try domain.overLatest(key, state, ifStill: seen, changed) { _ throws(DefaultsError) in
                let isChanged = try domain.remove(key, unset, ifStill: seen, state)
                isLate = isChanged == nil
                return isChanged ?? false
            }
            return isLate ? nil : isChanged
        }
        if let (array, end) = try lowerArray(at: path, of: key) {
            let outer = PropertyListPath(Array(path.steps[..<end]))
            let new = try DefaultsError.translating(below: outer) { () throws(PropertyListError) in
                try array.removing(at: PropertyListPath(Array(path.steps[end...])))
            }
            guard let new else { return false }
            try setOwn(new, at: outer, of: key, nil)
            return true
        }
        let changed = { (seen: PropertyList) throws(PropertyListError) in try seen.removing(at: rest) ?? seen }
        let isChanged = try domain.overLatest(key, state, ifStill: seen, changed) { merged throws(DefaultsError) in
            if let merged { return try set(merged, key, unset) }
            let outcome = { (own: PropertyList?) in try? own?.removing(at: rest) ?? own ?? emptyDictionary }
            return try underSchema(key, outcome, unset, at: path, ifStill: seen, &isLate) {
                seen throws(DefaultsError) in
                guard domain.holds(key, path.steps.dropFirst()) else { return try domain.changeUnset(unset) }
                return try domain.remove(at: rest, of: key, unset, ifStill: seen, state)
            }
        }
        return isLate ? nil : isChanged
    }

    /// Replaces the application's domain by a dictionary, in one transaction. Reserved keys stay if it has none.
    ///
    /// - Parameter unsetting: whether a key of lower layers that the dictionary leaves out becomes unset.
    func replaceAll(
        with dictionary: PropertyList, unsetting: (String) -> Bool,
        _ set: (String, PropertyList) throws(DefaultsError) -> Void
    ) throws(DefaultsError) {
        guard dictionary.kind == .dictionary else {
            throw DefaultsError(.invalidValue, .expected("Dictionary at the root", found: "\(dictionary.kind)"))
        }
        try checkWritable()
        try domain.transactionAsWhole(state) { () throws(DefaultsError) in
            // What the store has of its own under a lock goes as well.
            for key in try settings() where dictionary[key] == nil || lock(at: [.key(key)]).isWhole {
                try removeSetting(key)
            }
            let states = try states()
            let lower = try domain.translating { () throws(PropertyListError) in try states.wholes(.lower) }
            let left = (try merged(lower, at: [], isKept: false)?.keys ?? []).filter { key in
                dictionary[key] == nil && unsetting(key) && !lock(at: [.key(key)]).isWhole
            }
            _ = try domain.changeUnset(UnsetChange(unset: left.map { [.key($0)] }))
            for (key, value) in dictionary.entries { try set(key, value) }
        }
    }

    private func removeAll() throws(DefaultsError) -> Bool {
        try checkWritable()
        return try domain.transaction(until: deadline, isOneCall: true) { () throws(DefaultsError) in
            let keys = try settings()
            for key in keys { try removeSetting(key) }
            return !keys.isEmpty
        }
    }

    /// Removes a key of the application's domain, also one that is locked: the locked value stays.
    private func removeSetting(_ key: String) throws(DefaultsError) {
        try key.withBytes { bytes throws(DefaultsError) in
            let utf8 = bytes.bindMemory(to: UInt8.self)
            try checkChange(utf8, nil, nil)
            _ = try removeOwn([.key(key)], of: utf8, UnsetChange(set: [[.key(key)]]))
        }
    }

    /// The keys of the application's domain, without the reserved ones.
    private func settings() throws(DefaultsError) -> [String] {
        try domain.allKeys().filter { !UnsetPaths.reserved.contains($0) }
    }

    /// Adds to the registered defaults of this handle. Dictionaries are merged by key, at every depth; other values that
    /// are registered already are replaced.
    ///
    /// - Throws: ``DefaultsError/Code/limitExceeded`` where all registered defaults together would be larger than a
    ///   store may be: ``Options/maximumBytes`` in memory, ``Options/maximumNodes`` values and keys.
    public func register(_ defaults: PropertyList) throws(DefaultsError) {
        let dictionary = try Self.registrable(defaults, lower)
        let old = try domain.lock.withLock { () throws(DefaultsError) in
            try state.checkOpen()
            return state.registered
        }
        var layers = LayeredValue()
        layers.add(dictionary, [])
        layers.add(old, [])
        let new = try DefaultsError.translating { () throws(PropertyListError) in
            try layers.merged(at: [], isWhole: schema?.isVariant)?.compacted() ?? dictionary
        }
        try state.limits.checkRegistered(new.size)
        domain.lock.withLock {
            state.registered = new
            state.registrations &+= 1
            domain.inbox.wake()
        }
    }

    // MARK: - Checks

    /// - Throws: where the handle was closed, or only reads.
    func checkWritable(at path: PropertyListPath = []) throws(DefaultsError) {
        try checkOpen()
        if isReadOnly { throw DefaultsError(.readOnly, "The store was opened read-only", at: path, file: file) }
    }

    /// Makes a change inside the value of a key, once the schema has accepted the new value; begins again where another
    /// thread changed the store in between.
    ///
    /// - Parameter outcome: gives the value that the change turns one into; nil where it fails, which the change itself
    ///   reports.
    ///
    /// - Parameter isLate: becomes true, and nothing is changed, where the key has another value than `seen` now.
    func underSchema(
        _ key: UnsafeBufferPointer<UInt8>, _ outcome: (PropertyList?) -> PropertyList?, _ unset: UnsetChange?,
        at path: PropertyListPath, ifStill seen: Seen?, _ isLate: inout Bool,
        _ change: (Seen?) throws(DefaultsError) -> Bool?
    ) throws(DefaultsError) -> Bool {
        guard schema != nil, !domain.postpone(lower, key) else {
            let isChanged = try change(seen)
            isLate = isChanged == nil
            return isChanged ?? false
        }
        while true {
            let now = Seen(value: try domain.value(key, state, []))
            isLate = try domain.lock.withLock { () throws(DefaultsError) in try !domain.isStill(seen, key) }
            if isLate { return false }
            if let new = outcome(now.value) {
                try lower.check(new, of: key, unset: try domain.unsetPaths(after: unset, at: path))
            }
            if let result = try change(now) { return result }
        }
    }

    func checkChange(
        _ key: UnsafeBufferPointer<UInt8>, _ path: PropertyListPath?, _ value: PropertyList?
    ) throws(DefaultsError) {
        func location() -> PropertyListPath { path ?? [.key(utf8: key)] }
        let (rules, isMigrating) = try domain.lock.withLock { () throws(DefaultsError) in
            try state.checkOpen()
            return (domain.rules, domain.isMigrating)
        }
        if isReadOnly { throw DefaultsError(.readOnly, "The store was opened read-only", at: location(), file: file) }
        if let value {
            try rules.check(ownKey: key, at: [.key(utf8: key)])
            try rules.check(value, at: location(), depth: path?.steps.count ?? 1)
        }
        if let validation, !isMigrating { try run(validation, location(), value) }
    }

    func checkKey(at index: Int, of path: PropertyListPath) throws(DefaultsError) {
        guard case .key(let key) = path.steps[index] else { return }
        let rules = domain.lock.withLock { domain.rules }
        try key.withBytes { bytes throws(DefaultsError) in
            let utf8 = bytes.bindMemory(to: UInt8.self)
            try rules.check(key: utf8, at: PropertyListPath(Array(path.steps[...index])))
        }
    }

    func run(
        _ validation: Options.Validation, _ path: PropertyListPath, _ value: PropertyList?
    ) throws(DefaultsError) {
        do {
            try validation(path, value)
        } catch let error as DefaultsError {
            throw error
        } catch {
            throw DefaultsError(.refused, "\(error)", at: path, file: file)
        }
    }

    private func isUIDMark(_ key: UnsafeBufferPointer<UInt8>) -> Bool {
        key.count == uidKey.utf8.count && key.elementsEqual(uidKey.utf8)
    }
}
