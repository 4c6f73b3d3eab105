extension PropertyList {
    /// This value with `value` at the end of `path`; nothing else changes.
    ///
    /// A key that is missing is added, and the missing dictionaries on the way to it; an index equal to an array's
    /// count appends. The empty path gives `value` itself.
    ///
    /// - Throws: ``PropertyListError/Code/pathMismatch`` when the path leads through a value that is not the container
    ///   it names, past the end of an array, or would have to make an array;
    ///   ``PropertyListError/Code/limitExceeded`` when the result would be too deep or too large.
    public func setting(
        _ value: PropertyList, at path: PropertyListPath, limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) -> PropertyList {
        guard path.steps.count + value.depth <= limits.depth else {
            throw PropertyListError(.limitExceeded, "Deeper than \(limits.depth) levels", at: path)
        }
        guard !path.isEmpty else { return value }
        return try changed(at: path, to: value)
    }

    /// This value without the one at the end of `path`; nil when there is none.
    ///
    /// Later elements of an array move up by one. The empty path is not removable, and gives nil.
    public func removing(at path: PropertyListPath) throws(PropertyListError) -> PropertyList? {
        guard !path.isEmpty, value(at: path) != nil else { return nil }
        return try changed(at: path, to: nil)
    }

    /// This value with `value` at the end of `path`, or without the value there.
    private func changed(at path: PropertyListPath, to value: PropertyList?) throws(PropertyListError) -> PropertyList {
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        try builder.append(self, with: value, at: path, from: 0)
        return try builder.finish()
    }

    /// The value inside new dictionaries, one for each step from `position` on.
    package func wrapped(in path: PropertyListPath, from position: Int) throws(PropertyListError) -> PropertyList {
        let steps = path.steps[position...]
        guard !steps.isEmpty else { return self }
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        for (index, step) in zip(steps.indices, steps) {
            guard case .key(let key) = step else {
                throw PropertyListError(
                    .pathMismatch, .expected("Array", found: "nothing: a missing array is not made by its index"),
                    at: PropertyListPath(Array(path.steps[..<index])))
            }
            try builder.beginDictionary()
            try builder.key(key)
        }
        try builder.append(self)
        for _ in steps { try builder.end() }
        return try builder.finish()
    }
}

extension PropertyListBuilder {
    /// Appends a value with `new` at the end of `path`, or without the value there if `new` is nil. The first `position`
    /// steps lead to the value.
    ///
    /// Copies the whole value. Many changes of a store wait in an overlay instead, over the value that they change.
    /// Recursion is bounded by the value's depth.
    fileprivate mutating func append(
        _ list: PropertyList, with new: PropertyList?, at path: PropertyListPath, from position: Int
    ) throws(PropertyListError) {
        guard position < path.steps.count else {
            if let new { try append(new) }
            return
        }
        let location = PropertyListPath(Array(path.steps[..<position]))
        switch path.steps[position] {
        case .key(let key):
            try list.expect(.dictionary, at: location)
            try beginDictionary()
            try append(entriesOf: list, key, with: new, at: path, from: position + 1)
        case .index(let index):
            try list.expect(.array, at: location)
            guard 0...list.count ~= index else { throw .noElement(at: location.appending(.index(index))) }
            try beginArray()
            for (number, element) in list.elements.enumerated() {
                if number != index {
                    try append(element)
                } else {
                    try append(element, with: new, at: path, from: position + 1)
                }
            }
            if index == list.count, let new { try append(try new.wrapped(in: path, from: position + 1)) }
        }
        try end()
    }

    private mutating func append(
        entriesOf list: PropertyList, _ key: String, with new: PropertyList?, at path: PropertyListPath,
        from position: Int
    ) throws(PropertyListError) {
        var entries = SortedEntries(list)
        var isFound = false
        while let name = entries.key {
            let isChanged = key.withBytes { compareBytes($0.bindMemory(to: UInt8.self), name) == 0 }
            if isChanged { isFound = true }
            let isRemoved = isChanged && new == nil && position == path.steps.count
            if !isRemoved { try append(validKey: UnsafeRawBufferPointer(name)) }
            if isChanged {
                try append(entries.value, with: new, at: path, from: position)
            } else {
                try append(entries.value)
            }
            entries.advance()
        }
        guard !isFound, let new else { return }
        try self.key(key)
        try append(try new.wrapped(in: path, from: position))
    }
}

extension PropertyList {
    fileprivate func expect(_ expected: PropertyListKind, at path: PropertyListPath) throws(PropertyListError) {
        guard kind == expected else {
            throw PropertyListError(.pathMismatch, .expected("\(expected)", found: "\(kind)"), at: path)
        }
    }
}
