package import CKVCodable

extension PropertyList {
    /// How deeply containers are nested in the value; 0 for a scalar. Takes time in proportion to the nodes.
    package var depth: Int {
        guard kind.isContainer else { return 0 }
        if isWholeDocument, let facts = document.facts { return facts.depth }
        var ends = [Int]()
        var deepest = 0
        var position = index
        let end = index + node.span
        while position < end {
            let node = document.nodes[position]
            while let last = ends.last, last <= position { ends.removeLast() }
            if !node.isKey, node.kind.isContainer {
                ends.append(position + node.span)
                deepest = max(deepest, ends.count)
            }
            position += 1
        }
        return deepest
    }

    /// The value as a document of its own, which keeps nothing else alive.
    public func compacted() -> PropertyList {
        if isWholeDocument { return self }
        var nodes = GrowableBuffer<kv_node>()
        var bytes = GrowableBuffer<UInt8>()
        copyNodes(to: &nodes, bytes: &bytes)
        return PropertyList(document: Document(nodes: &nodes, bytes: &bytes), index: 0)
    }

    /// The value as ``compacted()`` gives it, or the value itself where that is at least half of its document: then the
    /// copy would take more memory than it frees.
    package func detached() -> PropertyList {
        let most = document.nodeCount * 8 + document.byteCount / 2
        var size = node.span * 16
        for position in index..<(index + node.span) where document.nodes[position].hasBytes {
            size += Int(document.nodes[position].count)
        }
        return size >= most ? self : compacted()
    }

    /// Appends the value's nodes, and the bytes that they use.
    ///
    /// One pass: spans and distances are relative, so that only the offsets change.
    package func copyNodes(to nodes: inout GrowableBuffer<kv_node>, bytes: inout GrowableBuffer<UInt8>) {
        let span = node.span
        nodes.reserve(span)
        for position in index..<(index + span) {
            var node = document.nodes[position]
            if node.hasBytes {
                let source = document.buffer(of: node)
                node.payload = UInt64(truncatingIfNeeded: bytes.count)
                bytes.append(source)
            }
            nodes.append(node)
        }
    }

    /// A copy of the nodes that can be reached, without those that replaced values left behind.
    ///
    /// Recursion is bounded by ``PropertyListLimits/maximumDepth``.
    func rewritten() -> PropertyList {
        var nodes = GrowableBuffer<kv_node>()
        var bytes = GrowableBuffer<UInt8>()
        rewrite(to: &nodes, bytes: &bytes)
        return PropertyList(document: Document(nodes: &nodes, bytes: &bytes), index: 0)
    }

    private func rewrite(to nodes: inout GrowableBuffer<kv_node>, bytes: inout GrowableBuffer<UInt8>) {
        guard kind.isContainer else { return copyNodes(to: &nodes, bytes: &bytes) }
        let header = nodes.count
        nodes.append(node)
        if kind == .array {
            for element in elements { element.rewrite(to: &nodes, bytes: &bytes) }
        } else {
            rewriteEntries(of: header, to: &nodes, bytes: &bytes)
        }
        nodes[header].payload = UInt64(truncatingIfNeeded: nodes.count - header)
    }

    private func rewriteEntries(
        of header: Int, to nodes: inout GrowableBuffer<kv_node>, bytes: inout GrowableBuffer<UInt8>
    ) {
        let slots = document.keys(ofDictionaryAt: index)
        var starts: [Int] = []
        starts.reserveCapacity(slots.count)
        for slot in slots {
            starts.append(nodes.count - header)
            let value = PropertyList(document: document, index: index + document.nodes[slot].distance)
            value.rewrite(to: &nodes, bytes: &bytes)
        }
        for (slot, start) in zip(slots, starts) {
            var key = document.nodes[slot]
            let source = document.buffer(of: key)
            key.payload = UInt64(truncatingIfNeeded: bytes.count)
            key.distance = start
            bytes.append(source)
            nodes.append(key)
        }
    }
}

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
