package import CKVCodable

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

extension PropertyList {
    /// A document copied from foreign memory that is laid out as `kvcodable_nodes.h` says, once it is found to be so.
    ///
    /// Two freedoms are given to whoever wrote it: a dictionary's keys may stand in any order, and a key may not be
    /// in the order of its values. Everything else is checked: kinds, spans, counts, offsets, UTF-8, unique keys,
    /// depth. The memory may change or go away after the call.
    ///
    /// - Throws: ``PropertyListError``, with the path of the value that is wrong.
    package init(
        validating nodes: UnsafeBufferPointer<kv_node>, bytes: UnsafeRawBufferPointer,
        limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) {
        guard nodes.count > 0, nodes.count <= PropertyListLimits.nodes, let source = nodes.baseAddress else {
            throw PropertyListError(.malformed, "Expected 1 to \(PropertyListLimits.nodes) nodes, found \(nodes.count)")
        }
        let size = nodes.count * MemoryLayout<kv_node>.stride
        guard let block = malloc(size + bytes.count) else {
            throw PropertyListError(.limitExceeded, "No memory for \(nodes.count) values")
        }
        memcpy(block, source, size)
        if let text = bytes.baseAddress, bytes.count > 0 { memcpy(block + size, text, bytes.count) }
        let document = Document(taking: block, nodeCount: nodes.count, byteCount: bytes.count)
        var check = LayoutCheck(
            nodes: UnsafeMutableBufferPointer(
                start: UnsafeMutablePointer(mutating: document.nodes), count: nodes.count),
            bytes: document.bytes, byteCount: bytes.count, limits: limits)
        let end = try check.value(at: 0, depth: 0)
        guard end == nodes.count else {
            throw PropertyListError(.malformed, "Expected \(nodes.count) nodes in the document, found \(end)")
        }
        self.init(document: document, index: 0)
    }
}

/// Checks a document's layout in one walk, and sorts the keys of its dictionaries.
private struct LayoutCheck {
    let nodes: UnsafeMutableBufferPointer<kv_node>
    let bytes: UnsafePointer<UInt8>
    /// Bytes that no string, data or key has claimed yet: since no two may share bytes, checking is linear.
    var unclaimed: Int
    let byteCount: Int
    let limits: PropertyListLimits
    /// The containers around the value being checked and the element or value in each.
    private var trail: [(header: Int, position: Int)] = []

    init(
        nodes: UnsafeMutableBufferPointer<kv_node>, bytes: UnsafePointer<UInt8>, byteCount: Int,
        limits: PropertyListLimits
    ) {
        self.nodes = nodes
        self.bytes = bytes
        self.byteCount = byteCount
        unclaimed = byteCount
        self.limits = limits
    }

    /// Checks the value at `position` and gives the position behind it. Recursion is bounded by the depth limit.
    mutating func value(at position: Int, depth: Int) throws(PropertyListError) -> Int {
        guard position < nodes.count else { throw malformed("a value is missing") }
        let node = nodes[position]
        switch node.head {
        case PropertyListKind.integer.rawValue, PropertyListKind.real.rawValue, PropertyListKind.date.rawValue,
            PropertyListKind.null.rawValue:
            return position + 1
        case PropertyListKind.boolean.rawValue:
            guard node.payload <= 1 else { throw malformed("a boolean is neither 0 nor 1") }
        case PropertyListKind.unsigned.rawValue:
            guard node.payload > UInt64(Int64.max) else { throw malformed("an unsigned fits in Int64") }
        case PropertyListKind.uid.rawValue:
            guard node.payload <= UInt64(UInt32.max) else { throw malformed("a UID has more than 4 bytes") }
        case PropertyListKind.string.rawValue:
            try text(node, "a string")
        case PropertyListKind.data.rawValue:
            try claim(node)
        case PropertyListKind.array.rawValue, PropertyListKind.dictionary.rawValue:
            return try container(at: position, depth: depth)
        default:
            throw malformed("\(node.head) is no kind")
        }
        return position + 1
    }

    private mutating func container(at header: Int, depth: Int) throws(PropertyListError) -> Int {
        guard depth < limits.depth else { throw error(.limitExceeded, "Deeper than \(limits.depth) levels") }
        let node = nodes[header]
        let count = Int(node.count)
        guard node.payload <= UInt64(nodes.count - header) else { throw malformed("a span is too long") }
        let end = header + Int(node.payload)
        let isDictionary = node.kind == .dictionary
        guard count < Int(node.payload) else { throw malformed("a count is larger than its span") }
        trail.append((header, header + 1))
        var position = header + 1
        for index in 0..<count {
            trail[depth].position = isDictionary ? end - count + index : index
            position = try value(at: position, depth: depth + 1)
        }
        trail.removeLast()
        guard position == (isDictionary ? end - count : end) else { throw malformed("a span does not fit its values") }
        if isDictionary && count > 0 { try keys((end - count)..<end, of: header) }
        return end
    }

    private mutating func keys(_ slots: Range<Int>, of header: Int) throws(PropertyListError) {
        var start = header + 1
        var isInOrder = true
        for slot in slots {
            guard nodes[slot].isKey else { throw malformed("a key is missing") }
            try text(nodes[slot], "a key")
            isInOrder = isInOrder && nodes[slot].distance == start - header
            start += nodes[start].span
        }
        if !isInOrder { try matchDistances(slots, of: header) }
        let keys = UnsafeMutableBufferPointer(rebasing: nodes[slots])
        guard sortKeys(keys, bytes: bytes) == keys.count else {
            throw error(.invalidValue, "A key stands twice in a dictionary")
        }
    }

    /// Each key's distance must lead to a value, and no two to the same.
    private func matchDistances(_ slots: Range<Int>, of header: Int) throws(PropertyListError) {
        let distances = slots.map { nodes[$0].distance }.sorted()
        var start = header + 1
        for distance in distances {
            guard distance == start - header else { throw malformed("a key leads to no value") }
            start += nodes[start].span
        }
    }

    private mutating func text(_ node: kv_node, _ what: String) throws(PropertyListError) {
        try claim(node)
        let start = bytes + Int(truncatingIfNeeded: node.payload)
        guard let offset = firstInvalidUTF8(UnsafeRawBufferPointer(start: start, count: Int(node.count))) else {
            return
        }
        throw error(
            .invalidValue, "Expected UTF-8 in \(what), found invalid bytes after \(offset); use data for bytes")
    }

    private mutating func claim(_ node: kv_node) throws(PropertyListError) {
        let length = Int(node.count)
        guard node.payload <= UInt64(byteCount), length <= byteCount - Int(node.payload), length <= unclaimed else {
            throw malformed("a string, data or key lies outside the bytes")
        }
        unclaimed -= length
    }

    private func malformed(_ message: String) -> PropertyListError {
        error(.malformed, "Not a document: " + message)
    }

    private func error(_ code: PropertyListError.Code, _ message: String) -> PropertyListError {
        var steps: [PropertyListPath.Step] = []
        for entry in trail {
            steps.append(nodes[entry.header].kind == .array ? .index(entry.position) : .key(keyText(entry.position)))
        }
        return PropertyListError(code, message, at: PropertyListPath(steps))
    }

    /// The text of the key at `slot`, as far as it can be read: it may not have been checked yet.
    private func keyText(_ slot: Int) -> String {
        guard slot < nodes.count, nodes[slot].payload <= UInt64(byteCount),
            Int(nodes[slot].count) <= byteCount - Int(nodes[slot].payload)
        else { return "?" }
        let start = bytes + Int(nodes[slot].payload)
        return String(decoding: UnsafeBufferPointer(start: start, count: Int(nodes[slot].count)), as: UTF8.self)
    }
}
