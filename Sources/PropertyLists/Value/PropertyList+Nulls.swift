internal import CKVCodable

extension PropertyList {
    /// The value without the nulls in it: a dictionary loses the keys, an array the elements. A null that is the whole
    /// value stays. JSON has nulls, and a store holds none.
    ///
    /// ```swift
    /// let list = try PropertyList(parsing: Array(#"{"title": null, "tags": ["a", null]}"#.utf8))
    /// print(try list.droppingNulls())  // ["tags": ["a"]]
    /// ```
    public func droppingNulls() throws(PropertyListError) -> PropertyList {
        if isWholeDocument, let facts = document.facts, !facts.contains(.null) { return self }
        var limits = PropertyListLimits()
        limits.depth = PropertyListLimits.maximumDepth
        var builder = PropertyListBuilder(limits: limits)
        var walk = TreeWalk(of: self)
        while let event = walk.next() {
            if case .value(let node) = event, node.kind == .null, walk.depth > 0 { continue }
            if let key = walk.key { try builder.append(validKey: UnsafeRawBufferPointer(document.buffer(of: key))) }
            switch event {
            case .value: try builder.append(PropertyList(document: document, index: walk.position))
            case .begin(let node): try node.kind == .array ? builder.beginArray() : builder.beginDictionary()
            case .end: try builder.end()
            }
        }
        return try builder.finish()
    }
}
