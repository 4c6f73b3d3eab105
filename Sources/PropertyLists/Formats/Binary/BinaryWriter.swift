internal import CKVCodable

/// Writes `bplist00`, each distinct scalar once, as far as the limits of readers allow sharing.
///
/// Objects stand in the order in which a walk by sorted keys meets them, so that equal values give equal bytes in
/// whatever order they were built.
struct BinaryWriter: ~Copyable {
    private let list: PropertyList
    private let document: Document
    /// The object of each node of the value, keys included.
    private var objects: ObjectNumbers
    private var objectCount = 0
    private var output: GrowableBuffer<UInt8>
    /// The index in the output at which the file begins.
    private let fileStart: Int
    private var budget: SharingBudget
    /// The offset of each object in the file.
    private var offsets = ObjectOffsets()

    /// - Parameter limits: those of the file's readers.
    static func write(
        _ list: PropertyList, to output: inout GrowableBuffer<UInt8>, limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) {
        var writer = BinaryWriter(list, output, limits)
        output = GrowableBuffer()
        try writer.number()
        writer.write()
        output = writer.takeOutput()
    }

    private init(_ list: PropertyList, _ output: consuming GrowableBuffer<UInt8>, _ limits: PropertyListLimits) {
        self.list = list
        document = list.document
        budget = SharingBudget(of: list, limits: limits)
        objects = ObjectNumbers(of: list)
        fileStart = output.count
        self.output = output
    }

    private consuming func takeOutput() -> GrowableBuffer<UInt8> { output }

    // MARK: - Numbering

    /// Gives every node its object: containers one each, equal scalars the same as far as they may be shared.
    private mutating func number() throws(PropertyListError) {
        if !list.node.kind.isContainer, list.node.kind != .null { return numberNext(list.index) }
        var scalars = ScalarTable(of: document)
        var walk = TreeWalk(of: list)
        while let event = walk.next() {
            if walk.key != nil, event.isStart { number(scalar: walk.keyPosition, &scalars) }
            switch event {
            case .value(let node):
                if node.kind.isContainer {
                    numberNext(walk.position)
                } else if node.kind == .null {
                    throw PropertyListError(
                        .invalidValue, .expected("a value that binary can hold", found: "nil"), at: walk.path)
                } else {
                    number(scalar: walk.position, &scalars)
                }
            case .begin: numberNext(walk.position)
            case .end: break
            }
        }
    }

    private mutating func number(scalar position: Int, _ scalars: inout ScalarTable) {
        let first = scalars.first(equalTo: position)
        var isShared = first != position
        if budget.isNeeded { isShared = budget.admits(document, position, isShared: isShared) }
        if isShared {
            objects[position] = objects[first]
        } else {
            numberNext(position)
        }
    }

    private mutating func numberNext(_ position: Int) {
        objects[position] = UInt32(truncatingIfNeeded: objectCount)
        objectCount &+= 1
    }

    private func object(at position: Int) -> UInt64 { UInt64(objects[position]) }

    // MARK: - Writing

    private mutating func write() {
        output.append(text: "bplist00")
        offsets.reserve(objectCount)
        let referenceSize = byteWidth(UInt64(objectCount - 1))
        var walk = TreeWalk(of: list)
        while let event = walk.next() {
            if let key = walk.key, event.isStart, isNext(walk.keyPosition) { write(string: document.buffer(of: key)) }
            switch event {
            case .value(let node):
                guard isNext(walk.position) else { continue }
                write(scalar: node)
            case .begin(let node):
                _ = isNext(walk.position)
                write(container: node, at: walk.position, referenceSize)
            case .end: break
            }
        }
        writeTrailer(referenceSize)
    }

    /// Whether the object of a node has not been written yet; if so, the current offset is noted for it.
    ///
    /// Asked once for each node, after the object of its container has been written.
    private mutating func isNext(_ position: Int) -> Bool {
        let isNext = Int(objects[position]) == offsets.written
        if isNext { offsets.append(output.count &- fileStart) }
        objects.release(position)
        return isNext
    }

    private mutating func write(container node: kv_node, at header: Int, _ size: Int) {
        let isDictionary = node.kind == .dictionary
        writeHead(isDictionary ? 0xD0 : 0xA0, Int(node.count))
        guard isDictionary else {
            var position = header + 1
            for _ in 0..<node.count {
                write(number: object(at: position), size)
                position &+= document.nodes[position].span
            }
            return
        }
        let keys = document.keys(ofDictionaryAt: header)
        for slot in keys { write(number: object(at: slot), size) }
        for slot in keys { write(number: object(at: header &+ document.nodes[slot].distance), size) }
    }

    private mutating func write(scalar node: kv_node) {
        switch node.kind {
        case .string: write(string: document.buffer(of: node))
        case .integer: write(integer: node.payload)
        case .boolean: output.append(node.payload != 0 ? 0x09 : 0x08)
        case .real: write(0x23, node.payload)
        case .date: write(0x33, node.payload)
        case .data:
            writeHead(0x40, Int(node.count))
            output.append(document.buffer(of: node))
        case .unsigned:
            output.append(0x14)
            write(number: 0, 8)
            write(number: node.payload, 8)
        case .uid:
            let size = byteWidth(node.payload)
            output.append(0x80 | UInt8(truncatingIfNeeded: size - 1))
            write(number: node.payload, size)
        case .array: writeHead(0xA0, 0)
        case .dictionary: writeHead(0xD0, 0)
        case .null: break
        }
    }

    private mutating func write(_ marker: UInt8, _ bits: UInt64) {
        output.append(marker)
        write(number: bits, 8)
    }

    /// Integers of 1, 2 and 4 bytes have no sign: a negative one takes 8.
    private mutating func write(integer bits: UInt64) {
        let size = byteWidth(bits)
        output.append(0x10 | UInt8(truncatingIfNeeded: size.trailingZeroBitCount))
        write(number: bits, size)
    }

    private mutating func write(string text: UnsafeBufferPointer<UInt8>) {
        if isASCII(UnsafeRawBufferPointer(text)) {
            writeHead(0x50, text.count)
            output.append(text)
        } else {
            writeHead(0x60, utf16Length(text))
            output.append(utf16Of: text)
        }
    }

    /// The marker and the count: in the marker up to 14, else as an integer behind it.
    private mutating func writeHead(_ marker: UInt8, _ count: Int) {
        if count < 15 {
            output.append(marker | UInt8(truncatingIfNeeded: count))
        } else {
            output.append(marker | 0x0F)
            write(integer: UInt64(count))
        }
    }

    private mutating func write(number: UInt64, _ size: Int) {
        output.append(bigEndian: number, size)
    }

    private mutating func writeTrailer(_ referenceSize: Int) {
        let table = UInt64(output.count - fileStart)
        let offsetSize = byteWidth(table)
        while let offset = offsets.removeFirst() { write(number: offset, offsetSize) }
        write(number: 0, 6)
        output.append(UInt8(offsetSize))
        output.append(UInt8(referenceSize))
        write(number: UInt64(objectCount), 8)
        write(number: 0, 8)
        write(number: table, 8)
    }
}

extension TreeWalk.Event {
    fileprivate var isStart: Bool {
        if case .end = self { false } else { true }
    }
}

/// How many bytes a number takes: 1, 2, 4 or 8.
private func byteWidth(_ number: UInt64) -> Int {
    if number < 0x100 { return 1 }
    if number < 0x10000 { return 2 }
    return number < 0x1_0000_0000 ? 4 : 8
}

/// How many UTF-16 units valid UTF-8 has.
private func utf16Length(_ text: UnsafeBufferPointer<UInt8>) -> Int {
    var length = 0
    for byte in text {
        if byte & 0xC0 != 0x80 { length &+= 1 }
        if byte >= 0xF0 { length &+= 1 }
    }
    return length
}

extension GrowableBuffer where Element == UInt8 {
    /// Appends the lowest `size` bytes of a number, the highest of them first.
    fileprivate mutating func append(bigEndian number: UInt64, _ size: Int) {
        reserve(8)
        guard let base else { return }
        let raw = UnsafeMutableRawPointer(base + count)
        raw.storeBytes(of: (number << UInt64(truncatingIfNeeded: 64 &- 8 &* size)).bigEndian, as: UInt64.self)
        count &+= size
    }

    /// Appends valid UTF-8 as big-endian UTF-16.
    fileprivate mutating func append(utf16Of text: UnsafeBufferPointer<UInt8>) {
        reserve(text.count * 2)
        var decoder = Unicode.UTF8()
        var bytes = text.makeIterator()
        while case .scalarValue(let scalar) = decoder.decode(&bytes) {
            for unit in UTF16.encode(scalar) ?? .init() { append(bigEndian: UInt64(unit), 2) }
        }
    }
}

// MARK: - Tables beside the file

/// Elements in a piece of the two tables that ``BinaryWriter`` keeps beside the file. Both give their memory back piece
/// by piece, so that they and the growing file never take much more than the finished file.
private let piece = 1 << 16

/// The object of each node of a value.
private struct ObjectNumbers: ~Copyable {
    /// The last node's first, since memory is given back from the end.
    private var numbers = GrowableBuffer<UInt32>()
    private let last: Int
    /// How many nodes of each piece are still needed; empty for a small value.
    private var needed = GrowableBuffer<UInt32>()

    init(of list: PropertyList) {
        let span = list.node.span
        last = list.index + span - 1
        numbers.reserve(span)
        numbers.count = span
        guard span > piece else { return }
        for start in stride(from: 0, to: span, by: piece) { needed.append(UInt32(min(piece, span - start))) }
    }

    subscript(position: Int) -> UInt32 {
        get { numbers[last &- position] }
        set { numbers[last &- position] = newValue }
    }

    /// Notes that a node's object will not be asked for again; called once for each node.
    mutating func release(_ position: Int) {
        if needed.count > 0 { releaseLarge(position) }
    }

    private mutating func releaseLarge(_ position: Int) {
        let index = (last - position) / piece
        needed[index] -= 1
        guard needed[index] == 0, index == needed.count - 1 else { return }
        while needed.count > 1, needed[needed.count - 1] == 0 { needed.count -= 1 }
        numbers.count = min(numbers.count, needed.count * piece)
        numbers.trim()
    }
}

/// The offset of each object in the file: all are noted first, and then taken out from the first to the last.
private struct ObjectOffsets: ~Copyable {
    /// The low halves, the last object's first, since memory is given back from the end.
    private var offsets = GrowableBuffer<UInt32>()
    /// The object at which the high half becomes 1, 2, and so on.
    private var steps = GrowableBuffer<Int>()
    private(set) var written = 0
    private var taken = 0
    private var passed = 0
    private var count = 0

    mutating func reserve(_ objects: Int) {
        count = objects
        offsets.reserve(objects)
        offsets.count = objects
    }

    mutating func append(_ offset: Int) {
        while offset >> 32 > steps.count { steps.append(written) }
        offsets[count &- 1 &- written] = UInt32(truncatingIfNeeded: offset)
        written &+= 1
    }

    mutating func removeFirst() -> UInt64? {
        guard taken < count else { return nil }
        while passed < steps.count, steps[passed] == taken { passed &+= 1 }
        let offset = UInt64(passed) << 32 | UInt64(offsets[count &- 1 &- taken])
        taken &+= 1
        if taken % piece == 0 {
            offsets.count = count &- taken
            offsets.trim()
        }
        return offset
    }
}

/// The size that a reader will count in the file (``BinaryGraph``), kept within the reader's limits. Shared text and
/// data count once for each reference to them, and may come to a multiple of the file's size.
///
/// At any time `expanded` is within the budget for a file of `written` bytes: a scalar is shared only where that stays
/// so, and a scalar that is written adds more to the budget than to `expanded`.
private struct SharingBudget {
    /// Whether sharing could exceed the budget at all; otherwise nothing is counted.
    let isNeeded: Bool
    private let limits: PropertyListLimits
    private var expanded = 0
    private var written = 0

    init(of list: PropertyList, limits: PropertyListLimits) {
        self.limits = limits
        let budget = limits.byteBudget(for: 0)
        var most = 0
        for position in list.index..<(list.index + list.node.span) where most <= budget {
            let node = list.document.nodes[position]
            if node.hasBytes { most += 3 * Int(node.count) }
        }
        isNeeded = most > budget
    }

    /// Counts a scalar; says whether it may be the object of an equal one that came before.
    mutating func admits(_ document: Document, _ position: Int, isShared: Bool) -> Bool {
        let node = document.nodes[position]
        guard node.hasBytes else { return isShared }
        let size = BinaryTextSize(of: node, document.buffer(of: node))
        if isShared, expanded + size.expanded <= limits.byteBudget(for: written) {
            expanded += size.expanded
            return true
        }
        expanded += size.expanded
        written += size.written
        return false
    }
}

/// The bytes that text or data takes in the file, and the bytes that a reader counts for it.
private struct BinaryTextSize {
    var written: Int
    var expanded: Int

    init(of node: kv_node, _ bytes: UnsafeBufferPointer<UInt8>) {
        if node.head == PropertyListKind.data.rawValue || isASCII(UnsafeRawBufferPointer(bytes)) {
            written = bytes.count
            expanded = bytes.count
        } else {
            let units = utf16Length(bytes)
            written = 2 * units
            expanded = 3 * units
        }
    }
}
