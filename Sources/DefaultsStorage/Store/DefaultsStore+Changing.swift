public import PropertyLists

extension DefaultsStore {
    /// Sets the value at `path` in the application's domain. Missing dictionaries on the way are made, never arrays; an
    /// index equal to an array's count appends. The empty path replaces the domain's whole dictionary.
    ///
    /// A path into a value that comes from a lower layer first copies that value into the application's domain.
    ///
    /// - Throws: ``DefaultsError`` for a value that the file could not hold, a path that does not fit, a forced key, a
    ///   read-only store; with immediate durability also the error of writing, and then nothing has changed.
    ///
    /// Under a schema of types the value is given as its type shows it, and stored as that says, with the keys of the
    /// stored value that the type does not know; as ``setStored(_:at:)`` takes it else.
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
            try replaceAll(with: value) { key, value throws(DefaultsError) in
                dropped += try set(value, at: [.key(key)], SchemaChange(replaces: change.replaces))
            }
            return dropped
        }
        let old = change.replaces ? nil : try stored(at: path)
        try checkElement(change.ancestor, at: path, is: old)
        let encoded = try DefaultsSchema.translating(at: path) { try types.encode(value, over: old, change, at: path) }
        guard let encoded else {
            try setStored(value, at: path, change)
            return 0
        }
        // Nothing differs from what the program had.
        if change.ancestor != nil, encoded.list == old { return encoded.dropped }
        let (new, newPath) = try withDefault(encoded.list, at: path, types)
        try setStored(new, at: newPath, SchemaChange(replaces: change.replaces))
        return encoded.dropped
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
        // A default is no change of another program.
        let theirs = try ancestor == nil ? own(path) : stored(at: path)
        try checkElement(ancestor, at: path, is: theirs)
        let merged = try DefaultsError.translating(below: path) { () throws(PropertyListError) in
            try PropertyList.merge(
                ancestor: ancestor, ours: ours, theirs: theirs, rules: mergeRules(at: path), limits: .store)
        }
        if merged.value != theirs {
            if let value = merged.value { try setStored(value, at: path) } else { try remove(at: path) }
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
    private func checkElement(
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

    /// The value and the path to set instead of those given: a value inside of one that only the schema's defaults give
    /// is set together with that.
    private func withDefault(
        _ value: PropertyList, at path: PropertyListPath, _ types: any DefaultsSchemaTypes
    ) throws(DefaultsError) -> (PropertyList, PropertyListPath) {
        let steps = path.steps
        guard steps.count > 2, case .key(let key)? = steps.first,
            let top = try layered(key, []), top.value(atSteps: steps[1..<(steps.count - 1)]) == nil
        else { return (value, path) }
        for end in 2..<steps.count where top.value(atSteps: steps[1..<end]) == nil {
            let outer = PropertyListPath(Array(steps[..<end]))
            guard let missing = types.missing(at: outer, in: top) else { break }
            let new = try DefaultsError.translating(below: outer) { () throws(PropertyListError) in
                try missing.setting(value, at: PropertyListPath(Array(steps[end...])))
            }
            return (new, outer)
        }
        return (value, path)
    }

    /// Sets the value at `path` as it is to be stored, whatever form the schema's type shows it in; else as
    /// ``set(_:at:)``.
    public func setStored(_ value: PropertyList, at path: PropertyListPath) throws(DefaultsError) {
        guard let first = path.steps.first else {
            return try replaceAll(with: value) { key, value throws(DefaultsError) in
                try setStored(value, forKey: key)
            }
        }
        guard case .key(let key) = first else {
            throw DefaultsError(.pathMismatch, .expected("Array", found: "Dictionary"))
        }
        try key.withBytes { bytes throws(DefaultsError) in
            let utf8 = bytes.bindMemory(to: UInt8.self)
            if path.steps.count == 1 { return try setStored(value, forUTF8Key: utf8) }
            try checkChange(utf8, path, value)
            let rest = PropertyListPath(Array(path.steps.dropFirst()))
            for index in rest.steps.indices { try checkKey(at: index + 1, of: path) }
            // Looked up though the key may be stored: another thread may remove it before the change is made.
            let lower = try lower(utf8)
            let changed = { (seen: PropertyList) throws(PropertyListError) in try seen.setting(value, at: rest) }
            _ = try domain.overLatest(utf8, state, changed) { merged throws(DefaultsError) in
                if let merged { return try setWhole(merged, utf8) }
                let outcome = { try? ($0 ?? lower ?? emptyDictionary).setting(value, at: rest) }
                return try underSchema(utf8, outcome) { generation throws(DefaultsError) in
                    try domain.set(value, at: rest, of: utf8, over: lower, ifGeneration: generation, state)
                }
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
        try checkChange(key, nil, value)
        if isUIDMark(key), value.integer != nil {
            throw DefaultsError(.invalidValue, uidMessage, at: [.key(uidKey)])
        }
        guard domain.isImmediate else {
            _ = try setWhole(value, key)
            return
        }
        let changed = { (_: PropertyList) in value as PropertyList? }
        _ = try domain.overLatest(key, state, changed) { merged throws(DefaultsError) in
            try setWhole(merged ?? value, key)
        }
    }

    /// Sets the value of a top-level key if the application's domain has the very value that the program had: then
    /// there is nothing to merge.
    package func setStored(
        _ value: PropertyList, forUTF8Key key: UnsafeBufferPointer<UInt8>, ifUnchangedFrom old: PropertyList
    ) throws(DefaultsError) -> Bool {
        guard let present = try domain.value(key, state, []), present.isIdentical(to: old) else { return false }
        try setStored(value, forUTF8Key: key)
        return true
    }

    private func setWhole(
        _ value: PropertyList, _ key: UnsafeBufferPointer<UInt8>
    ) throws(DefaultsError) -> Bool {
        if let schema, !domain.postpone(schema, key) {
            try schema.check(value, of: String(decoding: key, as: UTF8.self))
        }
        try domain.set(value, key, state)
        return true
    }

    /// Removes the value at `path` from the application's domain, which uncovers the layer below; says whether there
    /// was one. A path into a value of a lower layer first copies that value.
    @discardableResult
    public func remove(at path: PropertyListPath) throws(DefaultsError) -> Bool {
        guard let first = path.steps.first else { return try removeAll() }
        guard case .key(let key) = first else { return false }
        return try key.withBytes { bytes throws(DefaultsError) in
            let utf8 = bytes.bindMemory(to: UInt8.self)
            try checkChange(utf8, path, nil)
            if path.steps.count == 1 {
                let changed = { (_: PropertyList) in nil as PropertyList? }
                return try domain.overLatest(utf8, state, changed) { _ throws(DefaultsError) in
                    try domain.remove(utf8, state)
                }
            }
            let rest = PropertyListPath(Array(path.steps.dropFirst()))
            // Looked up though the key may be stored: another thread may remove it before the change is made.
            let lower = try lower(utf8).flatMap { $0.value(at: rest) == nil ? nil : $0 }
            if lower == nil, try !domain.contains(utf8) { return false }
            let changed = { (seen: PropertyList) throws(PropertyListError) in try seen.removing(at: rest) ?? seen }
            return try domain.overLatest(utf8, state, changed) { merged throws(DefaultsError) in
                if let merged { return try setWhole(merged, utf8) }
                let outcome = { try? ($0 ?? lower)?.removing(at: rest) }
                return try underSchema(utf8, outcome) { generation throws(DefaultsError) in
                    try domain.remove(at: rest, of: utf8, over: lower, ifGeneration: generation, state)
                }
            }
        }
    }

    /// Replaces the application's domain by a dictionary, in one transaction.
    private func replaceAll(
        with dictionary: PropertyList, _ set: (String, PropertyList) throws(DefaultsError) -> Void
    ) throws(DefaultsError) {
        guard dictionary.kind == .dictionary else {
            throw DefaultsError(.invalidValue, .expected("Dictionary at the root", found: "\(dictionary.kind)"))
        }
        try checkWritable()
        try domain.transactionAsWhole(state) { () throws(DefaultsError) in
            for key in try domain.allKeys() where dictionary[key] == nil { _ = try remove(at: [.key(key)]) }
            for (key, value) in dictionary.entries { try set(key, value) }
        }
    }

    private func removeAll() throws(DefaultsError) -> Bool {
        try checkWritable()
        return try domain.transaction(until: deadline, isOneCall: true) { () throws(DefaultsError) in
            let keys = try domain.allKeys()
            for key in keys { _ = try remove(at: [.key(key)]) }
            return !keys.isEmpty
        }
    }

    /// Adds to the registered defaults of this handle; keys that are registered already get the new value.
    ///
    /// - Throws: ``DefaultsError/Code/limitExceeded`` where all registered defaults together would be larger than a
    ///   store may be: ``Options/maximumBytes`` as a file, ``Options/maximumNodes`` values and keys.
    public func register(_ defaults: PropertyList) throws(DefaultsError) {
        let dictionary = try Self.registrable(defaults, schema)
        let old = try domain.lock.withLock { () throws(DefaultsError) in
            try state.checkOpen()
            return state.registered
        }
        let new = try Self.merged([old, dictionary])
        try state.limits.checkRegistered(new.fileSize(as: domain.sizeFormat, depth: 0))
        domain.lock.withLock {
            state.registered = new
            for key in dictionary.keys {
                key.withBytes { domain.inbox.noteChange(of: $0.bindMemory(to: UInt8.self)) }
            }
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
    private func underSchema(
        _ key: UnsafeBufferPointer<UInt8>, _ outcome: (PropertyList?) -> PropertyList?,
        _ change: (_ generation: UInt64?) throws(DefaultsError) -> Bool?
    ) throws(DefaultsError) -> Bool {
        guard let schema, !domain.postpone(schema, key) else { return try change(nil) ?? false }
        while true {
            let (value, generation) = try domain.current(key)
            if let new = outcome(value) { try schema.check(new, of: String(decoding: key, as: UTF8.self)) }
            if let result = try change(generation) { return result }
        }
    }

    private func checkChange(
        _ key: UnsafeBufferPointer<UInt8>, _ path: PropertyListPath?, _ value: PropertyList?
    ) throws(DefaultsError) {
        func location() -> PropertyListPath { path ?? [.key(utf8: key)] }
        let (rules, isMigrating) = try domain.lock.withLock { () throws(DefaultsError) in
            try state.checkOpen()
            return (domain.rules, domain.isMigrating)
        }
        if isReadOnly { throw DefaultsError(.readOnly, "The store was opened read-only", at: location(), file: file) }
        if layers.isForced(key) {
            throw DefaultsError(
                .forced, "The administrator has set this key", at: location(), file: layers.managed?.file ?? file)
        }
        if let value {
            try rules.check(ownKey: key, at: [.key(utf8: key)])
            try rules.check(value, at: location(), depth: path?.steps.count ?? 1)
        }
        if let validation, !isMigrating { try run(validation, location(), value) }
    }

    private func checkKey(at index: Int, of path: PropertyListPath) throws(DefaultsError) {
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
