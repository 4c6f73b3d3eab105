internal import CKVCodable

/// Elements in a piece of the two tables that ``BinaryWriter`` keeps beside the file. Both give their memory back piece
/// by piece, so that they and the growing file never take much more than the finished file.
private let piece = 1 << 16

/// The object of each node of a value.
struct ObjectNumbers: ~Copyable {
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
struct ObjectOffsets: ~Copyable {
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
struct SharingBudget {
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
