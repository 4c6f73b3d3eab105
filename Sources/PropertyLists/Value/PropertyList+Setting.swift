internal import CKVCodable

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

/// One change inside a document: some nodes of it replaced by others, at most one key added or removed.
///
/// The new document has the old nodes before the change, the new value's nodes, and the old nodes behind the change.
/// Spans and distances are relative, so only the containers around the change have to be mended. Each splice copies the
/// document once; many changes of a store wait in an overlay instead, over the document that they change.
private struct Splice {
    private enum KeyChange {
        case none
        case insert(String)
        case remove
    }

    private let document: Document
    /// The headers of the containers around the change, outermost first.
    private var ancestors: [Int] = []
    /// The nodes that are replaced.
    private var start = 0
    private var oldSpan = 0
    private var keyChange = KeyChange.none
    /// The slot of the key node to remove, or of the new one.
    private var keySlot = 0
    /// The change of the innermost container's count.
    private var growth = 0
    /// Whether the located entry goes away instead of getting a new value.
    var removesEntry = false

    init(in document: Document) {
        self.document = document
        oldSpan = document.nodes[0].span
    }

    /// Locates the value at `path`; gives the number of steps taken, the last of which may lead to an entry still to be
    /// added.
    mutating func locate(_ path: PropertyListPath) throws(PropertyListError) -> Int {
        for (position, step) in path.steps.enumerated() {
            ancestors.append(start)
            let found: Bool
            switch step {
            case .key(let key): found = try locate(key: key, at: PropertyListPath(Array(path.steps[..<position])))
            case .index(let index): found = try locate(index, at: PropertyListPath(Array(path.steps[..<position])))
            }
            if !found { return position + 1 }
        }
        return path.steps.count
    }

    private mutating func locate(key: String, at path: PropertyListPath) throws(PropertyListError) -> Bool {
        let header = start
        try expect(.dictionary, at: path)
        let (slot, found) = key.withBytes { document.search($0.bindMemory(to: UInt8.self), inDictionaryAt: header) }
        keySlot = slot
        if found {
            start = header + document.nodes[slot].distance
            oldSpan = document.nodes[start].span
        } else {
            guard key.utf8.count <= UInt32.max else {
                throw PropertyListError(
                    .limitExceeded, "\(key.utf8.count) bytes are more than one key can hold", at: path)
            }
            start = document.keys(ofDictionaryAt: header).lowerBound
            oldSpan = 0
            growth = 1
            keyChange = .insert(key)
        }
        return found
    }

    private mutating func locate(_ index: Int, at path: PropertyListPath) throws(PropertyListError) -> Bool {
        let header = start
        try expect(.array, at: path)
        let count = Int(document.nodes[header].count)
        guard index >= 0, index <= count else { throw .noElement(at: path.appending(.index(index))) }
        if index < count {
            start = document.element(index, ofArrayAt: header)
            oldSpan = document.nodes[start].span
        } else {
            start = header + document.nodes[header].span
            oldSpan = 0
            growth = 1
        }
        return index < count
    }

    private func expect(_ kind: PropertyListKind, at path: PropertyListPath) throws(PropertyListError) {
        let found = document.nodes[start].kind
        guard found == kind else {
            throw PropertyListError(.pathMismatch, .expected("\(kind)", found: "\(found)"), at: path)
        }
    }

    /// The changed document: with `value` at the located position, or without the located entry.
    mutating func apply(
        _ value: PropertyList?, limits: PropertyListLimits
    ) throws(PropertyListError) -> PropertyList {
        if removesEntry {
            growth = -1
            if document.nodes[ancestors.last ?? 0].kind == .dictionary { keyChange = .remove }
        }
        let newSpan = value?.node.span ?? 0
        guard document.nodeCount - oldSpan + newSpan < PropertyListLimits.nodes else {
            throw PropertyListError(.limitExceeded, "More than \(PropertyListLimits.nodes) values")
        }
        var nodes = GrowableBuffer<kv_node>()
        var bytes = GrowableBuffer<UInt8>()
        assemble(value, into: &nodes, &bytes)
        mend(&nodes, valueGrowth: newSpan - oldSpan)
        let unused = document.unusedBytes + usedBytes(start..<(start + oldSpan))
        let list = PropertyList(document: Document(nodes: &nodes, bytes: &bytes, unusedBytes: unused), index: 0)
        return unused > list.document.byteCount / 2 ? list.compacted() : list
    }

    private func assemble(
        _ value: PropertyList?, into nodes: inout GrowableBuffer<kv_node>, _ bytes: inout GrowableBuffer<UInt8>
    ) {
        nodes.reserve(document.nodeCount - oldSpan + (value?.node.span ?? 0) + 1)
        bytes.append(UnsafeBufferPointer(start: document.bytes, count: document.byteCount))
        nodes.append(slice(0..<start))
        value?.copyNodes(to: &nodes, bytes: &bytes)
        switch keyChange {
        case .none:
            nodes.append(slice((start + oldSpan)..<document.nodeCount))
        case .remove:
            nodes.append(slice((start + oldSpan)..<keySlot))
            nodes.append(slice((keySlot + 1)..<document.nodeCount))
        case .insert(let key):
            nodes.append(slice(start..<keySlot))
            nodes.append(keyNode(key, &bytes))
            nodes.append(slice(keySlot..<document.nodeCount))
        }
    }

    private func keyNode(_ key: String, _ bytes: inout GrowableBuffer<UInt8>) -> kv_node {
        key.withBytes { utf8 in
            var node = kv_node(
                kind: .null, count: utf8.count, payload: UInt64(truncatingIfNeeded: bytes.count))
            node.distance = start - (ancestors.last ?? 0)
            bytes.append(utf8.bindMemory(to: UInt8.self))
            return node
        }
    }

    private func slice(_ range: Range<Int>) -> UnsafeBufferPointer<kv_node> {
        UnsafeBufferPointer(start: document.nodes + range.lowerBound, count: range.count)
    }

    /// Brings spans, counts and distances of the containers around the change up to date.
    private func mend(_ nodes: inout GrowableBuffer<kv_node>, valueGrowth: Int) {
        let keyGrowth: Int
        switch keyChange {
        case .none: keyGrowth = 0
        case .insert: keyGrowth = 1
        case .remove: keyGrowth = -1
        }
        for (level, header) in ancestors.enumerated() {
            let isInnermost = level == ancestors.count - 1
            let span = document.nodes[header].span + valueGrowth + keyGrowth
            nodes[header].payload = UInt64(truncatingIfNeeded: span)
            if isInnermost {
                nodes[header].count = UInt32(truncatingIfNeeded: Int(document.nodes[header].count) + growth)
            }
            if document.nodes[header].kind == .dictionary {
                // A dictionary's keys stand behind its values: a key added there moves none of them.
                shiftKeys(of: header, in: &nodes, by: valueGrowth + (isInnermost ? 0 : keyGrowth), isInnermost)
            }
        }
    }

    private func shiftKeys(
        of header: Int, in nodes: inout GrowableBuffer<kv_node>, by shift: Int, _ isInnermost: Bool
    ) {
        guard shift != 0 else { return }
        let end = header + nodes[header].span
        for slot in (end - Int(nodes[header].count))..<end {
            let position = header + nodes[slot].distance
            let isBehind = oldSpan == 0 && !isInnermost ? position >= start : position > start
            if isBehind { nodes[slot].distance += shift }
        }
    }

    private func usedBytes(_ range: Range<Int>) -> Int {
        var sum = 0
        for position in range where document.nodes[position].hasBytes { sum += Int(document.nodes[position].count) }
        return sum
    }
}
