public import CKVCodable

/// Writes a document value by value, front to back.
///
/// ```swift
/// var builder = PropertyListBuilder()
/// try builder.beginDictionary()
/// try builder.key("width")
/// try builder.append(integer: 640)
/// try builder.end()
/// let list = try builder.finish()
/// ```
///
/// Where a dictionary is given the same key twice, the last value wins. Strings and keys must be valid UTF-8. An error
/// leaves the builder unusable but for ``reset()``. Not to be used from two threads at once.
public struct PropertyListBuilder: ~Copyable {
    /// The expected next step: a value in one of three roles, a key, or none.
    @usableFromInline enum Slot: UInt8, BitwiseCopyable {
        case root, element, key, value, complete
    }

    /// An open container, and the state before it was opened.
    @usableFromInline struct Frame: BitwiseCopyable {
        var header: Int
        fileprivate var outerElements: Int
        fileprivate var outerSlot: Slot
        /// The first of this container's keys on the key stack.
        var firstKey: Int
    }

    @usableFromInline package var nodes = GrowableBuffer<kv_node>()
    @usableFromInline package var bytes = GrowableBuffer<UInt8>()
    @usableFromInline var keys = GrowableBuffer<kv_node>()
    @usableFromInline var frames = GrowableBuffer<Frame>()
    /// Elements so far in the open array.
    @usableFromInline var elements = 0
    @usableFromInline var slot = Slot.root
    /// The index of the open container's header.
    @usableFromInline package internal(set) var header = 0
    /// Whether a key came again: the nodes of its earlier value can no longer be reached, and ``finish()`` removes
    /// them.
    var hasDuplicates = false
    /// How deep a value may be nested.
    public let limits: PropertyListLimits

    /// An empty builder, for one value: a scalar, or an array or dictionary with all that is in it.
    public init(limits: PropertyListLimits = PropertyListLimits()) {
        self.limits = limits
    }

    /// Forgets everything written, for another start.
    public mutating func reset() {
        nodes.count = 0
        bytes.count = 0
        keys.count = 0
        frames.count = 0
        elements = 0
        slot = .root
        header = 0
        hasDuplicates = false
    }

    /// Gives the document and leaves the builder empty, ready for another.
    ///
    /// - Throws: ``PropertyListError/Code/misuse`` when a container is still open or nothing was written.
    public mutating func finish() throws(PropertyListError) -> PropertyList {
        guard slot == .complete else {
            throw misuse(frames.count > 0 ? "a container is still open" : "no value was written")
        }
        let document = Document(nodes: &nodes, bytes: &bytes)
        let list = PropertyList(document: document, index: 0)
        let result = hasDuplicates ? list.rewritten() : list
        reset()
        return result
    }
}

// MARK: - Containers

extension PropertyListBuilder {
    /// Opens an array: the values up to its ``end()`` are its elements.
    ///
    /// - Throws: as ``append(boolean:)``, and ``PropertyListError/Code/limitExceeded`` deeper than ``limits`` allow.
    public mutating func beginArray() throws(PropertyListError) {
        try begin(.array, slot: .element)
    }

    /// Opens a dictionary: up to its ``end()``, keys and values follow in turn, the keys in any order.
    ///
    /// - Throws: as ``beginArray()``.
    public mutating func beginDictionary() throws(PropertyListError) {
        try begin(.dictionary, slot: .key)
    }

    /// Names the value that comes next in the dictionary that is open.
    public mutating func key(_ key: String) throws(PropertyListError) {
        try key.withBytes { utf8 throws(PropertyListError) in try append(validKey: utf8) }
    }

    /// - Throws: ``PropertyListError/Code/invalidValue`` when the bytes are not UTF-8.
    public mutating func key(utf8 bytes: UnsafeRawBufferPointer) throws(PropertyListError) {
        try validate(utf8: bytes, "a key")
        try append(validKey: bytes)
    }

    package mutating func append(validKey bytes: UnsafeRawBufferPointer) throws(PropertyListError) {
        guard slot == .key else { throw misuse("a key where a value is expected") }
        var node = kv_node(kind: .null, count: bytes.count, payload: try store(bytes))
        node.distance = nodes.count - header
        keys.append(node)
        slot = .value
    }

    /// Closes the array or dictionary that was opened last.
    public mutating func end() throws(PropertyListError) {
        guard frames.count > 0 else { throw misuse("an end without a begin") }
        let frame = frames[frames.count - 1]
        switch slot {
        case .key: try placeKeys(of: frame)
        case .value: throw misuse("an end where a key waits for its value")
        case .element, .root, .complete: close(frame, entries: elements)
        }
        frames.count -= 1
        elements = frame.outerElements
        slot = frame.outerSlot
        header = frames.count > 0 ? frames[frames.count - 1].header : 0
    }

    private mutating func begin(_ kind: PropertyListKind, slot inner: Slot) throws(PropertyListError) {
        guard frames.count < limits.depth else {
            throw error(.limitExceeded, "Deeper than \(limits.depth) levels")
        }
        try admit()
        frames.append(
            Frame(header: nodes.count, outerElements: elements, outerSlot: slot, firstKey: keys.count))
        header = nodes.count
        elements = 0
        slot = inner
        nodes.append(kv_node(kind: kind))
    }

    private mutating func close(_ frame: Frame, entries: Int) {
        keys.count = frame.firstKey
        nodes[frame.header].count = UInt32(truncatingIfNeeded: entries)
        nodes[frame.header].payload = UInt64(truncatingIfNeeded: nodes.count - frame.header)
    }

    private mutating func placeKeys(of frame: Frame) throws(PropertyListError) {
        let first = frame.firstKey
        var count = keys.count - first
        guard nodes.count + count <= PropertyListLimits.nodes else { throw tooManyNodes() }
        // All keys may be "", without a byte: sorting needs an address even so.
        bytes.reserve(1)
        if count > 0, let stack = keys.base, let text = bytes.base {
            let unsorted = UnsafeMutableBufferPointer(start: stack + first, count: count)
            let unique = sortKeys(unsorted, bytes: UnsafeBufferPointer(start: text, count: bytes.count))
            hasDuplicates = hasDuplicates || unique < count
            count = unique
            nodes.append(UnsafeBufferPointer(start: stack + first, count: count))
        }
        close(frame, entries: count)
    }
}

// MARK: - Whole values

extension PropertyListBuilder {
    /// Appends a copy of a value with all that is in it.
    public mutating func append(_ list: PropertyList) throws(PropertyListError) {
        let depth = list.depth
        guard frames.count + depth <= limits.depth else {
            throw error(.limitExceeded, "Deeper than \(limits.depth) levels")
        }
        guard nodes.count + list.node.span <= PropertyListLimits.nodes else { throw tooManyNodes() }
        try admit()
        list.copyNodes(to: &nodes, bytes: &bytes)
    }
}

// MARK: - Paths and errors

extension PropertyListBuilder {
    /// Notes that a value comes now, and checks that one may.
    @inlinable package mutating func admit() throws(PropertyListError) {
        switch slot {
        case .element: elements &+= 1
        case .value: slot = .key
        case .root: slot = .complete
        case .key, .complete: throw unexpectedValue()
        }
        if nodes.count >= PropertyListLimits.nodes { throw tooManyNodes() }
    }

    @usableFromInline func unexpectedValue() -> PropertyListError {
        misuse(slot == .key ? "a value where a key is expected" : "a second value at the root")
    }

    @usableFromInline func tooManyNodes() -> PropertyListError {
        error(.limitExceeded, "More than \(PropertyListLimits.nodes) values")
    }

    private func misuse(_ words: ErrorWords) -> PropertyListError { error(.misuse, words) }

    package func error(_ code: PropertyListError.Code, _ words: ErrorWords) -> PropertyListError {
        PropertyListError(code, words, at: path)
    }

    /// The path of the value that comes next, or came last.
    package var path: PropertyListPath {
        var steps: [PropertyListPath.Step] = []
        for depth in 0..<frames.count {
            let isLast = depth == frames.count - 1
            let inner = isLast ? slot : frames[depth + 1].outerSlot
            let count = isLast ? elements : frames[depth + 1].outerElements
            let keyEnd = isLast ? keys.count : frames[depth + 1].firstKey
            if inner == .element {
                steps.append(.index(isLast ? count : count - 1))
            } else if keyEnd > frames[depth].firstKey {
                steps.append(.key(text(of: keys[keyEnd - 1])))
            }
        }
        return PropertyListPath(steps)
    }

    func text(of key: kv_node) -> String {
        guard let base = bytes.base else { return "" }
        let start = base + Int(truncatingIfNeeded: key.payload)
        return String(decoding: UnsafeBufferPointer(start: start, count: Int(key.count)), as: UTF8.self)
    }
}
