internal import PropertyLists

/// The output of a flattener: a counter first, then a builder.
protocol ArchiveOutput: ~Copyable {
    mutating func beginArray() throws(PropertyListError)
    mutating func beginDictionary() throws(PropertyListError)
    mutating func end() throws(PropertyListError)
    mutating func key(_ bytes: UnsafeRawBufferPointer) throws(PropertyListError)
    /// A scalar, as it stands in the archive.
    mutating func append(_ scalar: PropertyList) throws(PropertyListError)
    mutating func append(string: String) throws(PropertyListError)
    mutating func append(date: Double) throws(PropertyListError)
    mutating func appendNull() throws(PropertyListError)

    /// Writes an object once more, where that takes no walk through the object; else false.
    mutating func appendAgain(_ uid: UInt32) throws(PropertyListError) -> Bool
    /// Note the beginning and the end of an object's output.
    mutating func willAppend(_ uid: UInt32)
    mutating func didAppend(_ uid: UInt32)
}

struct ArchiveBuilder: ArchiveOutput, ~Copyable {
    var builder: PropertyListBuilder

    init(limits: PropertyListLimits) {
        builder = PropertyListBuilder(limits: limits)
    }

    mutating func beginArray() throws(PropertyListError) { try builder.beginArray() }
    mutating func beginDictionary() throws(PropertyListError) { try builder.beginDictionary() }
    mutating func end() throws(PropertyListError) { try builder.end() }
    mutating func key(_ bytes: UnsafeRawBufferPointer) throws(PropertyListError) { try builder.append(validKey: bytes) }
    mutating func append(_ scalar: PropertyList) throws(PropertyListError) { try builder.append(scalar) }
    mutating func append(string: String) throws(PropertyListError) { try builder.append(string: string) }
    mutating func append(date: Double) throws(PropertyListError) { try builder.append(date: date) }
    mutating func appendNull() throws(PropertyListError) { try builder.appendNull() }
    mutating func appendAgain(_ uid: UInt32) throws(PropertyListError) -> Bool { false }
    mutating func willAppend(_ uid: UInt32) {}
    mutating func didAppend(_ uid: UInt32) {}
}

/// Counts the size of a flattened archive, walking each object once: the time is linear in the archive, or ends at the
/// budget.
struct ArchiveCounter: ArchiveOutput {
    private var nodes = 0
    private var bytes = 0
    private let nodeBudget: Int
    private let byteBudget: Int
    /// The sizes of the objects seen.
    private var sizes: [UInt32: (nodes: Int, bytes: Int)] = [:]
    private var starts: [(nodes: Int, bytes: Int)] = []

    init(_ archive: KeyedArchive, _ limits: PropertyListLimits) {
        nodeBudget = limits.nodeBudget(for: archive.nodeCount)
        byteBudget = limits.byteBudget(for: archive.nodeCount)
    }

    /// Both sums stay below a budget plus one addition, which cannot overflow.
    private mutating func add(nodes newNodes: Int, bytes newBytes: Int) throws(PropertyListError) {
        nodes += newNodes
        bytes += newBytes
        guard nodes <= nodeBudget else {
            throw PropertyListError(.limitExceeded, "Shared objects grow to more than \(nodeBudget) nodes")
        }
        guard bytes <= byteBudget else {
            throw PropertyListError(.limitExceeded, "Shared objects grow to more than \(byteBudget) bytes")
        }
    }

    mutating func beginArray() throws(PropertyListError) { try add(nodes: 1, bytes: 0) }
    mutating func beginDictionary() throws(PropertyListError) { try add(nodes: 1, bytes: 0) }
    mutating func end() throws(PropertyListError) {}
    mutating func key(_ bytes: UnsafeRawBufferPointer) throws(PropertyListError) {
        try add(nodes: 1, bytes: bytes.count)
    }
    mutating func append(_ scalar: PropertyList) throws(PropertyListError) { try add(nodes: 1, bytes: scalar.count) }
    mutating func append(string: String) throws(PropertyListError) { try add(nodes: 1, bytes: string.utf8.count) }
    mutating func append(date: Double) throws(PropertyListError) { try add(nodes: 1, bytes: 0) }
    mutating func appendNull() throws(PropertyListError) { try add(nodes: 1, bytes: 0) }

    mutating func appendAgain(_ uid: UInt32) throws(PropertyListError) -> Bool {
        guard let size = sizes[uid] else { return false }
        try add(nodes: size.nodes, bytes: size.bytes)
        return true
    }

    mutating func willAppend(_ uid: UInt32) { starts.append((nodes, bytes)) }

    mutating func didAppend(_ uid: UInt32) {
        guard let start = starts.popLast() else { return }
        sizes[uid] = (nodes - start.nodes, bytes - start.bytes)
    }
}
