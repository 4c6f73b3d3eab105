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
        guard isWholeDocument else { return try compacted().setting(value, at: path, limits: limits) }
        var splice = Splice(in: document)
        let located = try splice.locate(path)
        return try splice.apply(try value.wrapped(in: path, from: located), limits: limits)
    }

    /// This value without the one at the end of `path`; nil when there is none.
    ///
    /// Later elements of an array move up by one. The empty path is not removable, and gives nil.
    public func removing(at path: PropertyListPath) throws(PropertyListError) -> PropertyList? {
        guard !path.isEmpty, value(at: path) != nil else { return nil }
        guard isWholeDocument else { return try compacted().removing(at: path) }
        var splice = Splice(in: document)
        _ = try splice.locate(path)
        splice.removesEntry = true
        return try splice.apply(nil, limits: PropertyListLimits())
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
