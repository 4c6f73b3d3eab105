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
    /// How many containers the value will be in, which count for its depth.
    private let levelsAround: Int

    /// An empty builder, for one value: a scalar, or an array or dictionary with all that is in it.
    public init(limits: PropertyListLimits = PropertyListLimits()) {
        self.init(levelsAround: 0, limits: limits)
    }

    /// As ``init(limits:)``, for a value that will be appended inside of so many containers.
    package init(levelsAround: Int, limits: PropertyListLimits = PropertyListLimits()) {
        self.levelsAround = levelsAround
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
        guard levelsAround + frames.count < limits.depth else {
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
        guard levelsAround + frames.count + depth <= limits.depth else {
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

    /// How many containers are open.
    package var openContainers: Int { frames.count }

    /// The path of the value of a key of the open dictionary.
    package func path(ofKey key: String) -> PropertyListPath {
        var path = path
        // The key that came last, if one did.
        if openEntries > 0 { path.steps.removeLast() }
        path.steps.append(.key(key))
        return path
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

// MARK: - Scalars

extension PropertyListBuilder {
    /// Appends a null, which no file can hold.
    ///
    /// - Throws: as ``append(boolean:)``.
    @inlinable public mutating func appendNull() throws(PropertyListError) {
        try append(scalar: .null, 0)
    }

    /// Appends true or false.
    ///
    /// - Throws: ``PropertyListError/Code/misuse`` where a key is expected, or the value is complete already;
    ///   ``PropertyListError/Code/limitExceeded`` beyond 2,147,483,647 values.
    @inlinable public mutating func append(boolean: Bool) throws(PropertyListError) {
        try append(scalar: .boolean, boolean ? 1 : 0)
    }

    /// Appends a whole number.
    ///
    /// - Throws: as ``append(boolean:)``.
    @inlinable public mutating func append(integer: Int64) throws(PropertyListError) {
        try append(scalar: .integer, UInt64(bitPattern: integer))
    }

    /// Appends a whole number: as integer where `Int64` can hold it, else as unsigned.
    @inlinable public mutating func append(unsigned: UInt64) throws(PropertyListError) {
        try append(scalar: unsigned > UInt64(Int64.max) ? .unsigned : .integer, unsigned)
    }

    /// Appends a floating-point number by its bits, finite or not.
    ///
    /// - Throws: as ``append(boolean:)``.
    @inlinable public mutating func append(real: Double) throws(PropertyListError) {
        try append(scalar: .real, real.bitPattern)
    }

    /// - Parameter date: seconds since 2001-01-01T00:00:00Z.
    @inlinable public mutating func append(date: Double) throws(PropertyListError) {
        try append(scalar: .date, date.bitPattern)
    }

    /// Appends a keyed archive's reference to the object with this number.
    ///
    /// - Throws: as ``append(boolean:)``.
    @inlinable public mutating func append(uid: UInt32) throws(PropertyListError) {
        try append(scalar: .uid, UInt64(uid))
    }

    @usableFromInline package mutating func append(
        scalar kind: PropertyListKind, _ payload: UInt64
    ) throws(PropertyListError) {
        try admit()
        nodes.append(kv_node(kind: kind, payload: payload))
    }
}

// MARK: - Strings and data

extension PropertyListBuilder {
    /// Appends a string.
    ///
    /// - Throws: as ``append(boolean:)``, and ``PropertyListError/Code/limitExceeded`` beyond 4 GB.
    public mutating func append(string: String) throws(PropertyListError) {
        // A Swift string is valid by construction.
        try string.withBytes { utf8 throws(PropertyListError) in try append(bytes: utf8, as: .string) }
    }

    /// - Throws: ``PropertyListError/Code/invalidValue`` when the bytes are not UTF-8.
    public mutating func append(utf8 bytes: UnsafeRawBufferPointer) throws(PropertyListError) {
        try validate(utf8: bytes, "a string")
        try append(bytes: bytes, as: .string)
    }

    /// Appends a copy of bytes that are lent for the time of the call.
    ///
    /// - Throws: as ``append(string:)``.
    public mutating func append(data bytes: UnsafeRawBufferPointer) throws(PropertyListError) {
        try append(bytes: bytes, as: .data)
    }

    /// Appends bytes as data.
    ///
    /// - Throws: as ``append(string:)``.
    public mutating func append(data bytes: [UInt8]) throws(PropertyListError) {
        try bytes.withUnsafeBufferPointer { bytes throws(PropertyListError) in
            try append(bytes: UnsafeRawBufferPointer(bytes), as: .data)
        }
    }

    package mutating func append(
        bytes: UnsafeRawBufferPointer, as kind: PropertyListKind
    ) throws(PropertyListError) {
        try admit()
        let offset = try store(bytes)
        nodes.append(kv_node(kind: kind, count: bytes.count, payload: offset))
    }

    /// Copies the bytes and gives their offset.
    package mutating func store(_ source: UnsafeRawBufferPointer) throws(PropertyListError) -> UInt64 {
        guard source.count <= PropertyListLimits.length else {
            throw tooLong(source.count)
        }
        let offset = bytes.count
        bytes.append(source.bindMemory(to: UInt8.self))
        return UInt64(truncatingIfNeeded: offset)
    }

    private func validate(utf8 bytes: UnsafeRawBufferPointer, _ what: String) throws(PropertyListError) {
        guard let offset = firstInvalidUTF8(bytes) else { return }
        throw error(
            .invalidValue,
            .expected("UTF-8 in \(what)", found: "invalid bytes after \(offset)", advice: "use data for bytes"))
    }
}

// MARK: - Steps of the readers

/// Steps that only the readers of this room need: text that is written in pieces, and a dictionary that turns out to be
/// a UID.
extension PropertyListBuilder {
    /// Appends a string or data whose bytes were appended to `bytes` from `start` on; a string's are valid UTF-8.
    mutating func append(
        storedFrom start: Int, as kind: PropertyListKind
    ) throws(PropertyListError) {
        let count = bytes.count &- start
        guard count <= PropertyListLimits.length else { throw tooLong(count) }
        try admit()
        nodes.append(kv_node(kind: kind, count: count, payload: UInt64(truncatingIfNeeded: start)))
    }

    /// Appends an integer of 64 bits, with a sign if it fits in `Int64`; false if the number is no such integer.
    mutating func append(_ number: IntegerText) throws(PropertyListError) -> Bool {
        switch number {
        case .integer(let value): try append(scalar: .integer, UInt64(bitPattern: value))
        case .unsigned(let value): try append(scalar: value > UInt64(Int64.max) ? .unsigned : .integer, value)
        default: return false
        }
        return true
    }

    /// Checks the number of values and keys so far. A repeated key counts, since it takes memory until its dictionary
    /// ends.
    func checkCount() throws(PropertyListError) { try limits.checkCount(nodes.count &+ keys.count) }

    /// Appends a key whose bytes, valid UTF-8, were appended to `bytes` from `start` on.
    mutating func appendKey(storedFrom start: Int) throws(PropertyListError) {
        let count = bytes.count &- start
        guard count <= PropertyListLimits.length else { throw tooLong(count) }
        guard slot == .key else { throw error(.misuse, "a key where a value is expected") }
        var node = kv_node(kind: .null, count: count, payload: UInt64(truncatingIfNeeded: start))
        node.distance = nodes.count &- header
        keys.append(node)
        slot = .value
    }

    private func tooLong(_ count: Int) -> PropertyListError {
        error(.limitExceeded, "\(count) bytes are more than one value can hold")
    }

    /// The number of the UID that the open dictionary stands for, `{CF$UID: integer}`; nil for any other dictionary.
    var uidOfOpenDictionary: UInt32? {
        guard slot == .key, nodes.count == header + 2, frames.count > 0 else { return nil }
        guard keys.count == frames[frames.count - 1].firstKey + 1 else { return nil }
        let value = nodes[header + 1]
        guard value.kind == .integer, let uid = UInt32(exactly: Int64(bitPattern: value.payload)) else { return nil }
        let key = keys[keys.count - 1]
        let name = bytes.contents
        return name[Int(key.payload)..<(Int(key.payload) + Int(key.count))].elementsEqual("CF$UID".utf8) ? uid : nil
    }

    /// Closes the open dictionary and replaces it by a UID.
    mutating func endDictionary(asUID uid: UInt32) throws(PropertyListError) {
        let position = header
        try end()
        nodes.count = position
        nodes.append(kv_node(kind: .uid, payload: UInt64(uid)))
    }
}
