public import PropertyLists

extension DefaultsStore {
    /// Moves a value that the application's domain has to another path, in one transaction; says whether there was one.
    /// The values of lower layers, such as registered defaults, stay where they are.
    ///
    /// ```swift
    /// try store.rename(["colour"], to: ["theme", "colour"])
    /// ```
    ///
    /// - Throws: ``DefaultsError/Code/conflict`` where the application's domain has a value at `new`, and the
    ///   errors of ``set(_:at:)`` and ``remove(at:)``. Nothing is changed then.
    @discardableResult
    public func rename(_ old: PropertyListPath, to new: PropertyListPath) throws(DefaultsError) -> Bool {
        try checkWritable(at: old)
        let (isThere, taken) = try domain.transaction(until: deadline) {
            () throws(DefaultsError) -> (Bool, PropertyListKind?) in
            let taken = try own(new)?.kind
            guard let value = try own(old) else { return (false, nil) }
            if taken == nil {
                _ = try reset(at: old)
                try setStored(value, at: new)
            }
            return (true, taken)
        }
        // Outside of the transaction: one around it goes on.
        if let taken { throw DefaultsError(.conflict, .expected("nothing", found: "\(taken)"), at: new, file: file) }
        return isThere
    }

    /// Takes back what the application's domain says of the value at a path: its own value goes, and so do the unset
    /// paths there and below, so that lower layers show again. An array is one value: a path into one takes back all of
    /// it. Says whether anything changed.
    @discardableResult
    public func reset(at path: PropertyListPath) throws(DefaultsError) -> Bool {
        let path = PropertyListPath(Array(path.steps.prefix { $0.isKey }))
        guard case .key(let key)? = path.steps.first else { return try remove(at: path) }
        return try key.withBytes { bytes throws(DefaultsError) in
            let utf8 = bytes.bindMemory(to: UInt8.self)
            try checkChange(utf8, path, nil)
            try checkUnlocked(path)
            var end = path.steps.count
            // A dictionary goes with its only entry where a lower layer has it, too.
            if domain.holds(utf8, path.steps.dropFirst()) {
                while end > 1 {
                    let outer = PropertyListPath(Array(path.steps[..<(end - 1)]))
                    guard try own(outer)?.count == 1, try lowerValue(at: outer)?.kind == .dictionary,
                        unsetPaths()?.covers(outer.steps[...]) != true
                    else { break }
                    end -= 1
                }
            }
            return try removeOwn(PropertyListPath(Array(path.steps[..<end])), of: utf8, UnsetChange(set: [path]))
                ?? false
        }
    }

    /// The value at a path in the application's domain alone.
    func own(_ path: PropertyListPath) throws(DefaultsError) -> PropertyList? {
        guard case .key(let key)? = path.steps.first else {
            throw DefaultsError(.pathMismatch, "Expected a path that begins with a key", at: path)
        }
        return try key.withBytes { bytes throws(DefaultsError) in
            try domain.value(bytes.bindMemory(to: UInt8.self), state, path.steps.dropFirst())
        }
    }
}

extension DefaultsTransaction {
    /// As ``DefaultsStore/rename(_:to:)``; nothing is written before the commit.
    @discardableResult
    public func rename(_ old: PropertyListPath, to new: PropertyListPath) throws(DefaultsError) -> Bool {
        try checkUsable()
        return try store.rename(old, to: new)
    }

    /// As ``DefaultsStore/reset(at:)``; nothing is written before the commit.
    @discardableResult
    public func reset(at path: PropertyListPath) throws(DefaultsError) -> Bool {
        try checkUsable()
        return try store.reset(at: path)
    }
}
