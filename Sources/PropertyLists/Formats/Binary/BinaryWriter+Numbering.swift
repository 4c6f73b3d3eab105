internal import CKVCodable

/// What ``BinaryWriter`` keeps beside the file it writes: both give their memory back piece by piece, so that they and
/// the growing file never take much more than the file at its end.
private let piece = 1 << 16

/// The object of each node of a value.
struct ObjectNumbers: ~Copyable {
    /// The last node's first, since memory is given back from the end.
    private var numbers = GrowableBuffer<UInt32>()
    private let last: Int
    /// How many nodes of each piece are still needed; nothing for a small value.
    private var needed = GrowableBuffer<UInt32>()

    init(of list: PropertyList) {
        let span = list.node.span
        last = list.index + span - 1
        numbers.reserve(span)
        numbers.count = span
        guard span > piece else { return }
        for start in stride(from: 0, to: span, by: piece) { needed.append(UInt32(min(piece, span - start))) }
    }

    @inline(__always) subscript(position: Int) -> UInt32 {
        get { numbers[last &- position] }
        set { numbers[last &- position] = newValue }
    }

    /// Notes that a node's object is not asked for again; to be called once for each node.
    @inline(__always) mutating func release(_ position: Int) {
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

/// Where each object begins in the file, first noted and then taken out from the first to the last.
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

    @inline(__always) mutating func append(_ offset: Int) {
        while offset >> 32 > steps.count { steps.append(written) }
        offsets[count &- 1 &- written] = UInt32(truncatingIfNeeded: offset)
        written &+= 1
    }

    @inline(__always) mutating func removeFirst() -> UInt64? {
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
