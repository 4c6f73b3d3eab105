package import PropertyLists

/// What a type says of the values below a path, whose paths are relative to it.
package struct TypedShape {
    /// Whether a dictionary is one value, such as an enum's case with its values.
    let isVariant: (PropertyListPath) -> Bool
    /// Whether a dictionary is a struct.
    let isStructure: (PropertyListPath) -> Bool
    /// Whether a value is optional and has a default, which shows where nothing is stored.
    let hasDefault: (PropertyListPath) -> Bool
    /// Whether a value is a field of a struct.
    let knows: (PropertyListPath) -> Bool

    package init(
        isVariant: @escaping (PropertyListPath) -> Bool, isStructure: @escaping (PropertyListPath) -> Bool,
        hasDefault: @escaping (PropertyListPath) -> Bool, knows: @escaping (PropertyListPath) -> Bool
    ) {
        self.isVariant = isVariant
        self.isStructure = isStructure
        self.hasDefault = hasDefault
        self.knows = knows
    }
}

extension DefaultsStore {
    /// Sets the value that a type computes from the stored one.
    ///
    /// - Parameter encode: returns the value to store over a given one, and the number of array elements that it drops
    ///   with keys that the type does not know; nil if there is no type.
    /// - Returns: that number. Without a type it is nil, and nothing is set.
    package func setTyped(
        at path: PropertyListPath, _ change: SchemaChange, _ shape: TypedShape,
        _ encode: (PropertyList?) throws -> (list: PropertyList, dropped: Int)?
    ) throws -> Int? {
        if change.replaces {
            guard let encoded = try encode(nil) else { return nil }
            try setStored(encoded.list, at: path, SchemaChange(replaces: true))
            return encoded.dropped
        }
        while true {
            // Before the value is read: another thread or program may change it meanwhile, and then it is encoded again.
            let seen = path.isEmpty ? nil : try seen(at: path)
            let old = try stored(at: path)
            try checkElement(change.ancestor, at: path, is: old)
            guard let encoded = try encode(old) else { return nil }
            let isSet: Bool
            if change.ancestor != nil {
                // Without a difference the file may have changed.
                if encoded.list == old, loadsChanges() { continue }
                isSet = try store(from: old, to: encoded.list, at: path, shape.hasDefault, ifStill: seen)
            } else if try lowerValue(at: path) == nil {
                isSet = try setStored(encoded.list, at: path, ifStill: seen)
            } else if let given = try encode(nil) {
                let own = try own(path)
                let list = try DefaultsError.translating(below: path) { () throws(PropertyListError) in
                    try encoded.list.keeping(given.list, and: own)
                }
                isSet = try setGiven(list, at: path, shape, ifStill: seen)
            } else {
                isSet = true
            }
            if isSet { return encoded.dropped }
        }
    }

    /// Stores the given fields of a value over those of lower layers.
    private func setGiven(
        _ value: PropertyList, at path: PropertyListPath, _ shape: TypedShape, ifStill seen: Seen?
    ) throws(DefaultsError) -> Bool {
        try withOwn(path, value) { key, value throws(DefaultsError) in
            var unset: [PropertyListPath] = []
            if let lower = try lowerValue(at: path) {
                value.leavesOut(of: lower, at: [], into: &unset) {
                    shape.isVariant($0)
                } isStructure: {
                    shape.isStructure($0)
                }
            }
            if layers.managed != nil { unset = unset.filter { !lock(at: path.appending($0)).isWhole } }
            // Keys that the type does not know stay unset.
            unset += unsetPaths(below: path).filter { inner in
                !inner.isEmpty && shape.isStructure(PropertyListPath(Array(inner.steps.dropLast())))
                    && !shape.knows(inner)
            }
            let change = UnsetChange(set: [path], unset: unset.map { path.appending($0) })
            return try setOwn(value, at: path, of: key, change, ifStill: seen)
        }
    }

    /// Checks the value for a path, removes its locked parts, and calls `body` with the rest.
    private func withOwn(
        _ path: PropertyListPath, _ value: PropertyList,
        _ body: (UnsafeBufferPointer<UInt8>, PropertyList) throws(DefaultsError) -> Bool
    ) throws(DefaultsError) -> Bool {
        guard case .key(let key)? = path.steps.first else {
            throw DefaultsError(.pathMismatch, .expected("Array", found: "Dictionary"))
        }
        return try key.withBytes { bytes throws(DefaultsError) in
            let utf8 = bytes.bindMemory(to: UInt8.self)
            try checkChange(utf8, path, value)
            for index in path.steps.indices.dropFirst() { try checkKey(at: index, of: path) }
            guard let value = try unlocked(value, at: path) else { return true }
            return try body(utf8, value)
        }
    }

    /// The value at a path in the layers below the application's domain, if no path around it is unset.
    package func lowerValue(at path: PropertyListPath) throws(DefaultsError) -> PropertyList? {
        guard case .key(let key)? = path.steps.first else { return nil }
        return try layered(key, path.steps.dropFirst(), .lower)
    }

    /// The keys of lower layers that a dictionary leaves out, as unset paths; nil for none.
    ///
    /// - Parameter path: nil for that of the key.
    func leftOut(
        of value: PropertyList, at path: PropertyListPath?, of key: UnsafeBufferPointer<UInt8>
    ) throws(DefaultsError) -> UnsetChange? {
        let steps = path?.steps.dropFirst() ?? []
        guard value.kind == .dictionary, case .dictionary = try self.lower.uppermost(key, steps),
            let lower = try layered(key, steps, .lower)
        else { return nil }
        let path = path ?? [.key(utf8: key)]
        var unset: [PropertyListPath] = []
        value.leavesOut(of: lower, at: path, into: &unset) {
            schema?.types?.isVariant(at: $0) ?? false
        } isStructure: {
            _ in
            false
        }
        if layers.managed != nil { unset = unset.filter { !lock(at: $0).isWhole } }
        return unset.isEmpty ? nil : UnsetChange(set: [path], unset: unset)
    }

    /// Stores the difference of two values at a path. Equal parts are not stored. A key that the new value does not have
    /// becomes unset if a lower layer has it.
    ///
    /// - Parameter hasDefault: whether a type has a default for an optional value, at a path below `path`; nil for the
    ///   schema's.
    /// - Parameter gone: paths that are unset as well, since the program has defaults there.
    /// - Parameter seen: the own value that the new one was made of; nil for anything.
    /// - Returns: false, and nothing is stored, where the own value is another one than was seen now.
    @discardableResult
    package func store(
        from old: PropertyList?, to new: PropertyList?, at path: PropertyListPath,
        _ hasDefault: ((PropertyListPath) -> Bool)? = nil, unsetting gone: [PropertyListPath] = [],
        ifStill seen: Seen? = nil
    ) throws(DefaultsError) -> Bool {
        guard old != new || !gone.isEmpty else { return true }
        guard case .key(let key)? = path.steps.first else {
            throw DefaultsError(.pathMismatch, .expected("Array", found: "Dictionary"))
        }
        if let end = path.steps.firstIndex(where: { !$0.isKey }) {
            return try storeElement(new, at: path, end, ifStill: seen)
        }
        return try key.withBytes { bytes throws(DefaultsError) in
            let utf8 = bytes.bindMemory(to: UInt8.self)
            try checkChange(utf8, path, new)
            for index in path.steps.indices.dropFirst() { try checkKey(at: index, of: path) }
            while true {
                let now = if let seen { seen } else { Seen(value: try domain.value(utf8, state, [])) }
                var difference = OwnDifference(store: self, root: path, hasDefault: hasDefault)
                let own = now.value?.value(atSteps: path.steps.dropFirst())
                let changed = try difference.apply(own, old, new, try lowerValue(at: path), at: path)
                let unset = UnsetChange(set: difference.set, unset: difference.unset + gone)
                // Another thread may change the store meanwhile.
                if let changed {
                    if try setOwn(changed, at: path, of: utf8, unset, ifStill: now) { return true }
                } else if try removeOwn(path, of: utf8, unset, ifStill: now) != nil {
                    return true
                }
                if seen != nil { return false }
            }
        }
    }

    /// Stores a value inside an array, which is one value.
    private func storeElement(
        _ new: PropertyList?, at path: PropertyListPath, _ end: Int, ifStill seen: Seen?
    ) throws(DefaultsError) -> Bool {
        if let new { return try setStored(new, at: path, ifStill: seen) }
        try remove(at: path)
        return true
    }
}

/// Carries the difference of two values over to what a store has of its own.
private struct OwnDifference {
    let store: DefaultsStore
    let root: PropertyListPath
    let hasDefault: ((PropertyListPath) -> Bool)?
    /// The paths that were set.
    var set: [PropertyListPath] = []
    /// The paths of lower layers' values that are left out.
    var unset: [PropertyListPath] = []

    /// Notes that the path is set, and what of lower layers the value leaves out.
    private mutating func setWhole(_ value: PropertyList, over lower: PropertyList?, at path: PropertyListPath) {
        set.append(path)
        guard let lower else { return }
        let types = store.schema?.types
        var left: [PropertyListPath] = []
        value.leavesOut(of: lower, at: path, into: &left) {
            types?.isVariant(at: $0) ?? false
        } isStructure: { _ in
            false
        }
        unset += store.layers.managed == nil ? left : left.filter { !store.lock(at: $0).isWhole }
    }

    /// Whether a type's default would show at a path.
    private func shows(_ path: PropertyListPath) -> Bool {
        guard let hasDefault else { return store.schema?.types?.hasOptionalDefault(at: path) ?? false }
        return hasDefault(PropertyListPath(Array(path.steps.dropFirst(root.steps.count))))
    }

    /// The store's own value with the difference; recursion is bounded by the values' depth.
    mutating func apply(
        _ own: PropertyList?, _ old: PropertyList?, _ new: PropertyList?, _ lower: PropertyList?,
        at path: PropertyListPath
    ) throws(DefaultsError) -> PropertyList? {
        if old == new { return own }
        guard let new else {
            try store.checkUnlocked(path)
            set.append(path)
            if lower != nil || shows(path) { unset.append(path) }
            return nil
        }
        let isVariant = store.schema?.types?.isVariant(at: path) ?? false
        guard let old, old.kind == .dictionary, new.kind == .dictionary, !isVariant else {
            setWhole(new, over: lower, at: path)
            return try store.unlocked(new, at: path)
        }
        var own = own
        if let hidden = own, hidden.kind != .dictionary {
            // Upper layers hide it, and it hides the lower ones.
            setWhole(new, over: lower, at: path)
            own = nil
        }
        // By steps: texts would take keys that print alike for one.
        var changes: [PropertyListPath.Step: PropertyList?] = [:]
        for pair in EntryPairs(old, new) where pair.left != pair.right {
            let name = pair.key
            let below = lower?.kind == .dictionary ? lower?[name] : nil
            let value = try apply(own?[name], pair.left, pair.right, below, at: path.appending(.key(name)))
            changes.updateValue(value, forKey: .key(name))
        }
        return try DefaultsError.translating(below: path) { () throws(PropertyListError) in
            try (own ?? emptyDictionary).replacing(changes, isNew: own == nil)
        }
    }
}

extension PropertyList {
    /// Adds the paths of the keys that `lower` has and this value leaves out.
    ///
    /// - Parameters:
    ///   - isVariant: whether a dictionary is one value.
    ///   - isStructure: whether a dictionary is a struct, whose fields have their defaults where they are left out.
    fileprivate func leavesOut(
        of lower: PropertyList, at path: PropertyListPath, into unset: inout [PropertyListPath],
        isVariant: (PropertyListPath) -> Bool, isStructure: (PropertyListPath) -> Bool
    ) {
        guard kind == .dictionary, lower.kind == .dictionary, !isVariant(path) else { return }
        let isStructured = isStructure(path)
        for (key, value) in lower.entries {
            let inner = path.appending(.key(key))
            if let own = self[key] {
                own.leavesOut(of: value, at: inner, into: &unset, isVariant: isVariant, isStructure: isStructure)
            } else if !isStructured {
                unset.append(inner)
            }
        }
    }

    /// The dictionary with some entries replaced, or removed; nil for a new one that would have none.
    fileprivate func replacing(
        _ changes: [PropertyListPath.Step: PropertyList?], isNew: Bool
    ) throws(PropertyListError) -> PropertyList? {
        if changes.isEmpty || isNew && changes.values.allSatisfy({ $0 == nil }) { return isNew ? nil : self }
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        try builder.beginDictionary()
        for (key, value) in entries where changes[.key(key)] == nil {
            try builder.key(key)
            try builder.append(value)
        }
        for (step, value) in changes {
            guard case .key(let key) = step, let value else { continue }
            try builder.key(key)
            try builder.append(value)
        }
        try builder.end()
        return try builder.finish()
    }

    /// The value without the entries of dictionaries that neither `given` nor `own` has.
    fileprivate func keeping(_ given: PropertyList, and own: PropertyList?) throws(PropertyListError) -> PropertyList {
        guard kind == .dictionary, given.kind == .dictionary else { return self }
        let own = own?.kind == .dictionary ? own : nil
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        try builder.beginDictionary()
        for (key, value) in entries {
            if let given = given[key] {
                try builder.key(key)
                try builder.append(try value.keeping(given, and: own?[key]))
            } else if let own = own?[key] {
                try builder.key(key)
                try builder.append(own)
            }
        }
        try builder.end()
        return try builder.finish()
    }
}
