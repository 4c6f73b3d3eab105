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
                _ = try remove(at: old)
                try setStored(value, at: new)
            }
            return (true, taken)
        }
        // Outside of the transaction: one around it goes on.
        if let taken { throw DefaultsError(.conflict, .expected("nothing", found: "\(taken)"), at: new, file: file) }
        return isThere
    }

    /// Removes the value that the application's domain has over the lower layers at a path, such as over a registered
    /// default; says whether there was one. A part of a value becomes that of the lower layers, and where nothing else
    /// in the value differs, the value goes.
    @discardableResult
    public func reset(at path: PropertyListPath) throws(DefaultsError) -> Bool {
        guard case .key(let key)? = path.steps.first, path.steps.count > 1 else { return try remove(at: path) }
        try checkWritable(at: path)
        return try domain.transaction(until: deadline) { () throws(DefaultsError) -> Bool in
            let lower = try key.withBytes { bytes throws(DefaultsError) in
                try self.lower(bytes.bindMemory(to: UInt8.self))
            }
            let old = try own(path)
            let new = lower?.value(atSteps: path.steps.dropFirst())
            guard old != new, try own([.key(key)]) != nil else { return false }
            if let new { try setStored(new, at: path) } else { _ = try remove(at: path) }
            if try own([.key(key)]) == lower { _ = try remove(at: [.key(key)]) }
            return true
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
