package import CKVCodable

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

extension PropertyList {
    /// A copy of a document in foreign memory, checked to be laid out as `kvcodable_nodes.h` says.
    ///
    /// The keys of a dictionary may come in any order and are sorted here. Everything else is checked: kinds, spans,
    /// counts, offsets, UTF-8, unique keys, depth. The memory may change or go away after the call.
    ///
    /// - Throws: ``PropertyListError``, with the path of the value that is wrong.
    package init(
        validating nodes: UnsafeBufferPointer<kv_node>, bytes: UnsafeRawBufferPointer,
        limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) {
        guard nodes.count > 0, nodes.count <= PropertyListLimits.nodes, let source = nodes.baseAddress else {
            throw PropertyListError(
                .malformed, .expected("1 to \(PropertyListLimits.nodes) nodes", found: "\(nodes.count)"))
        }
        let size = nodes.count * MemoryLayout<kv_node>.stride
        guard let block = malloc(size + bytes.count) else {
            throw PropertyListError(.limitExceeded, "No memory for \(nodes.count) values")
        }
        memcpy(block, source, size)
        if let text = bytes.baseAddress, bytes.count > 0 { memcpy(block + size, text, bytes.count) }
        var validator = DocumentValidator(block: block, nodeCount: nodes.count, byteCount: bytes.count, limits: limits)
        do throws(PropertyListError) {
            try validator.document()
        } catch {
            free(block)
            throw error
        }
        let document = Document(
            taking: block, nodeCount: nodes.count, byteCount: bytes.count, facts: validator.facts)
        self.init(document: document, index: 0)
    }
}

/// Checks a document's layout in one walk, and sorts the keys of its dictionaries.
///
/// Sound because every read was checked to lie within the block: nodes below `nodeCount`, bytes below `byteCount`.
private struct DocumentValidator {
    private let nodes: UnsafeMutablePointer<kv_node>
    private let nodeCount: Int
    private let bytes: UnsafePointer<UInt8>
    private let byteCount: Int
    private let limits: PropertyListLimits
    /// Bytes that no string, data or key has claimed yet: since no two may share bytes, checking is linear.
    private var unclaimed: Int
    /// Whether every string is UTF-8 without a check of its own.
    private let isASCII: Bool
    private(set) var facts = DocumentFacts()

    /// - Parameter block: `nodeCount` nodes, and behind them `byteCount` bytes.
    init(block: UnsafeMutableRawPointer, nodeCount: Int, byteCount: Int, limits: PropertyListLimits) {
        nodes = block.bindMemory(to: kv_node.self, capacity: nodeCount)
        self.nodeCount = nodeCount
        let tail = block + nodeCount * MemoryLayout<kv_node>.stride
        bytes = UnsafePointer(tail.bindMemory(to: UInt8.self, capacity: byteCount))
        self.byteCount = byteCount
        self.limits = limits
        unclaimed = byteCount
        let survey = ByteSurvey(UnsafeRawBufferPointer(start: tail, count: byteCount))
        isASCII = survey.isASCII
        facts.isPlainText = survey.isPlain
    }

    /// Checks the whole block.
    mutating func document() throws(PropertyListError) {
        let end = try value(at: 0, depth: 0)
        guard end == nodeCount else {
            throw PropertyListError(.malformed, .expected("\(nodeCount) nodes in the document", found: "\(end)"))
        }
    }

    /// Checks the value at `position` and gives the position behind it. Recursion is bounded by the depth limit.
    private mutating func value(at position: Int, depth: Int) throws(PropertyListError) -> Int {
        guard position < nodeCount else { throw malformed("a value is missing") }
        let node = nodes[position]
        switch node.head {
        case PropertyListKind.integer.rawValue, PropertyListKind.real.rawValue: break
        case PropertyListKind.string.rawValue:
            try claim(node)
            if !isASCII { try checkText(node, "a string") }
        case PropertyListKind.array.rawValue, PropertyListKind.dictionary.rawValue:
            return try container(at: position, depth: depth)
        default: try rareScalar(node)
        }
        facts.note(1 &<< node.head)
        return position &+ 1
    }

    private mutating func rareScalar(_ node: kv_node) throws(PropertyListError) {
        switch node.head {
        case PropertyListKind.null.rawValue, PropertyListKind.date.rawValue: break
        case PropertyListKind.boolean.rawValue:
            guard node.payload <= 1 else { throw malformed("a boolean is neither 0 nor 1") }
        case PropertyListKind.unsigned.rawValue:
            guard node.payload > UInt64(Int64.max) else { throw malformed("an unsigned fits in Int64") }
        case PropertyListKind.uid.rawValue:
            guard node.payload <= UInt64(UInt32.max) else { throw malformed("a UID has more than 4 bytes") }
        case PropertyListKind.data.rawValue: try claim(node)
        default: throw malformed("\(node.head) is no kind")
        }
    }

    // MARK: - Containers

    private mutating func container(at header: Int, depth: Int) throws(PropertyListError) -> Int {
        guard depth < limits.depth else {
            throw PropertyListError(.limitExceeded, "Deeper than \(limits.depth) levels")
        }
        let node = nodes[header]
        let count = Int(node.count)
        guard node.payload <= UInt64(nodeCount &- header) else { throw malformed("a span is too long") }
        let end = header &+ Int(node.payload)
        guard count < Int(node.payload) else { throw malformed("a count is larger than its span") }
        facts.note(1 &<< node.head)
        if depth >= facts.depth { facts.depth = depth &+ 1 }
        if node.kind == .array {
            try elements(of: header, count, until: end, depth: depth &+ 1)
        } else {
            try entries(of: header, count, until: end, depth: depth &+ 1)
        }
        return end
    }

    private mutating func elements(
        of header: Int, _ count: Int, until end: Int, depth: Int
    ) throws(PropertyListError) {
        var position = header &+ 1
        for index in 0..<count {
            do throws(PropertyListError) {
                position = try value(at: position, depth: depth)
            } catch {
                throw error.placed(below: .index(index))
            }
        }
        guard position == end else { throw malformed("a span does not fit its values") }
    }

    private mutating func entries(
        of header: Int, _ count: Int, until end: Int, depth: Int
    ) throws(PropertyListError) {
        let keys = (end &- count)..<end
        var position = header &+ 1
        var found = 0
        // Most writers leave the keys in the order of their values: then no key has to be searched for.
        var isInOrder = true
        while position < keys.lowerBound {
            let start = position
            do throws(PropertyListError) {
                position = try value(at: start, depth: depth)
            } catch {
                throw error.placed(below: .key(keyText(in: keys, distance: start &- header)))
            }
            if isInOrder { isInOrder = found < count && nodes[keys.lowerBound &+ found].leads(to: start &- header) }
            found &+= 1
        }
        guard position == keys.lowerBound, found == count else { throw malformed("a span does not fit its values") }
        try checkKeys(keys)
        if !isInOrder { try matchDistances(keys, of: header) }
    }

    private mutating func checkKeys(_ slots: Range<Int>) throws(PropertyListError) {
        for slot in slots { try claim(nodes[slot]) }
        if !isASCII { for slot in slots { try checkText(nodes[slot], "a key") } }
        if slots.count == 1, nodes[slots.lowerBound].count == 6 { facts.hasUIDLikeDictionary = true }
        try sort(slots)
    }

    private func sort(_ slots: Range<Int>) throws(PropertyListError) {
        let keys = UnsafeMutableBufferPointer(start: nodes + slots.lowerBound, count: slots.count)
        guard sortKeys(keys, bytes: UnsafeBufferPointer(start: bytes, count: byteCount)) == keys.count else {
            throw PropertyListError(.invalidValue, "A key stands twice in a dictionary")
        }
    }

    /// Checks that each key's distance leads to a value, and no two to the same.
    private func matchDistances(_ slots: Range<Int>, of header: Int) throws(PropertyListError) {
        for slot in slots where !nodes[slot].isKey { throw malformed("a key is missing") }
        let distances = slots.map { nodes[$0].distance }.sorted()
        var start = header + 1
        for distance in distances {
            guard distance == start - header else { throw malformed("a key leads to no value") }
            start += nodes[start].span
        }
    }

    // MARK: - Bytes

    private mutating func claim(_ node: kv_node) throws(PropertyListError) {
        guard node.isWithin(byteCount), Int(node.count) <= unclaimed else { throw outside() }
        unclaimed &-= Int(node.count)
    }

    private func checkText(_ node: kv_node, _ what: String) throws(PropertyListError) {
        let start = bytes + Int(truncatingIfNeeded: node.payload)
        guard let offset = firstInvalidUTF8(UnsafeRawBufferPointer(start: start, count: Int(node.count))) else {
            return
        }
        throw PropertyListError(
            .invalidValue,
            .expected("UTF-8 in \(what)", found: "invalid bytes after \(offset)", advice: "use data for bytes"))
    }

    // MARK: - Errors

    private func malformed(_ message: String) -> PropertyListError {
        PropertyListError(.malformed, "Not a document: " + message)
    }

    private func outside() -> PropertyListError { malformed("a string, data or key lies outside the bytes") }

    /// The text of the key with this distance, `?` where it cannot be read: the keys have not been checked yet.
    private func keyText(in slots: Range<Int>, distance: Int) -> String {
        guard let key = slots.lazy.map({ nodes[$0] }).first(where: { $0.isKey && $0.distance == distance }),
            key.payload <= UInt64(byteCount), Int(key.count) <= byteCount - Int(key.payload)
        else { return "?" }
        return String(
            decoding: UnsafeBufferPointer(start: bytes + Int(key.payload), count: Int(key.count)), as: UTF8.self)
    }
}

extension kv_node {
    /// Whether this is a key whose value is `distance` nodes behind its dictionary's header.
    fileprivate func leads(to distance: Int) -> Bool { isKey && self.distance == distance }

    /// Whether the bytes that the node refers to lie within the first `byteCount`.
    fileprivate func isWithin(_ byteCount: Int) -> Bool {
        let offset = Int(truncatingIfNeeded: payload)
        return offset >= 0 && Int(count) <= byteCount &- offset
    }
}

extension PropertyListError {
    /// The same error with `step` put before its path.
    fileprivate func placed(below step: PropertyListPath.Step) -> PropertyListError {
        var error = self
        error.path.steps.insert(step, at: 0)
        return error
    }
}
