public import CKVCodable

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The memory of a document: nodes and bytes as `kvcodable_nodes.h` lays them out.
///
/// Its maker vouches for the layout: a ``PropertyListBuilder`` or a validating copy.
/// `@unchecked Sendable` holds since nothing changes after `init` but the cache, which a lock guards, and the memory is
/// freed with the last reference.
@usableFromInline package final class Document: @unchecked Sendable {
    @usableFromInline package let nodes: UnsafePointer<kv_node>
    package let nodeCount: Int
    @usableFromInline package let bytes: UnsafePointer<UInt8>
    package let byteCount: Int
    /// Facts about the values, from the check or the writer that went through them; nil where neither noted any.
    package let facts: DocumentFacts?
    /// Findings about the values, noted by the rooms above. Guarded by ``Lock/shared``.
    var cache = DocumentCache()

    private let nodeBlock: UnsafeMutableRawPointer?
    private let byteBlock: UnsafeMutableRawPointer?

    /// Takes the memory of both buffers.
    package init(
        nodes: inout GrowableBuffer<kv_node>, bytes: inout GrowableBuffer<UInt8>, facts: DocumentFacts? = nil
    ) {
        nodeCount = nodes.count
        byteCount = bytes.count
        self.facts = facts
        let nodeMemory = nodes.take()
        let byteMemory = bytes.take()
        nodeBlock = nodeMemory.map { UnsafeMutableRawPointer($0) }
        byteBlock = byteMemory.map { UnsafeMutableRawPointer($0) }
        self.nodes = nodeMemory.map { UnsafePointer($0) } ?? Self.emptyNode
        self.bytes = byteMemory.map { UnsafePointer($0) } ?? Self.emptyBytes
    }

    /// Takes one block, `nodeCount` nodes and behind them `byteCount` bytes, made by `malloc`.
    package init(taking block: UnsafeMutableRawPointer, nodeCount: Int, byteCount: Int, facts: DocumentFacts) {
        self.nodeCount = nodeCount
        self.byteCount = byteCount
        self.facts = facts
        nodeBlock = block
        byteBlock = nil
        nodes = UnsafePointer(block.bindMemory(to: kv_node.self, capacity: nodeCount))
        let tail = block + nodeCount * MemoryLayout<kv_node>.stride
        bytes = UnsafePointer(tail.bindMemory(to: UInt8.self, capacity: byteCount))
    }

    deinit {
        free(nodeBlock)
        free(byteBlock)
    }

    /// A null value, so that `nodes` always has a node 0. Never freed, never changed.
    private nonisolated(unsafe) static let emptyNode: UnsafePointer<kv_node> = {
        let block = UnsafeMutablePointer<kv_node>.allocate(capacity: 1)
        block.initialize(to: kv_node(head: PropertyListKind.null.rawValue, count: 0, payload: 0))
        return UnsafePointer(block)
    }()

    /// An address for documents without bytes. Never read, freed or changed.
    private nonisolated(unsafe) static let emptyBytes: UnsafePointer<UInt8> = {
        UnsafePointer(UnsafeMutablePointer<UInt8>.allocate(capacity: 1))
    }()
}

extension kv_node {
    @inlinable package init(kind: PropertyListKind, count: Int = 0, payload: UInt64 = 0) {
        self.init(head: kind.rawValue, count: UInt32(truncatingIfNeeded: count), payload: payload)
    }

    /// A key of `count` bytes at `payload`, whose value is `distance` nodes behind its dictionary's header.
    @inlinable package init(keyTo distance: Int, count: UInt32, payload: UInt64) {
        self.init(head: 0x8000_0000 | UInt32(truncatingIfNeeded: distance), count: count, payload: payload)
    }

    /// The kind of a value node, whose head in a document is the raw value of one.
    @inlinable package var kind: PropertyListKind { PropertyListKind(rawValue: head) ?? .null }

    @inlinable package var isKey: Bool { head & 0x8000_0000 != 0 }

    /// A key's distance, in nodes, from its dictionary's header to its value.
    @inlinable package var distance: Int {
        get { Int(head & 0x7FFF_FFFF) }
        set { head = 0x8000_0000 | UInt32(truncatingIfNeeded: newValue) }
    }

    // The value of a scalar node, nil for another kind; see PropertyList's properties of the same names.
    @inlinable package var boolean: Bool? { kind == .boolean ? payload != 0 : nil }
    @inlinable package var integer: Int64? { kind == .integer ? Int64(bitPattern: payload) : nil }
    @inlinable package var unsigned: UInt64? { kind == .unsigned ? payload : nil }
    @inlinable package var real: Double? { kind == .real ? Double(bitPattern: payload) : nil }
    @inlinable package var number: Double? { real ?? integer.map(Double.init) ?? unsigned.map { Double($0) } }

    /// How many nodes the value takes, itself included.
    @inlinable package var span: Int {
        head >= PropertyListKind.array.rawValue ? Int(truncatingIfNeeded: payload) : 1
    }

    /// Whether the payload is an offset into the bytes.
    @inlinable package var hasBytes: Bool {
        isKey || head &- PropertyListKind.string.rawValue <= 1  // a string, or data
    }
}
