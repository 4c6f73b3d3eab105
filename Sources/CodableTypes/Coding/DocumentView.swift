internal import CKVCodable
internal import PropertyLists

/// What a walk reads of a document, without a reference to count: copying it costs nothing.
///
/// Whoever makes one keeps the document alive as long as it is used. Indexes are those of the document's own layout,
/// which is known to be valid.
struct DocumentView: BitwiseCopyable {
    let nodes: UnsafePointer<kv_node>
    private let bytes: UnsafePointer<UInt8>
    private let document: Unmanaged<Document>

    init(_ document: Document) {
        nodes = document.nodes
        bytes = document.bytes
        self.document = Unmanaged.passUnretained(document)
    }

    /// The bytes of a string, data or key node.
    @inline(__always)
    func buffer(of node: kv_node) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: bytes + Int(truncatingIfNeeded: node.payload), count: Int(node.count))
    }

    /// The key nodes of a dictionary, the last `count` nodes of its span.
    @inline(__always)
    func keys(ofDictionaryAt header: Int) -> Range<Int> {
        let end = header &+ Int(truncatingIfNeeded: nodes[header].payload)
        return (end &- Int(nodes[header].count))..<end
    }

    /// The value as one that keeps the document alive.
    func list(at index: Int) -> PropertyList {
        document._withUnsafeGuaranteedRef { PropertyList(document: $0, index: index) }
    }

    /// Whether the value stands for nil: null in memory, `"$null"` in files.
    @inline(__always)
    func isNil(_ index: Int) -> Bool {
        let node = nodes[index]
        if node.kind == .null { return true }
        return node.kind == .string && node.count == 5 && buffer(of: node).elementsEqual("$null".utf8)
    }

    /// Whether a value of any type, inside `depth` containers, keeps within the limit.
    func fits(_ index: Int, below depth: Int) -> Bool {
        guard nodes[index].kind.isContainer else { return true }
        return depth + list(at: index).depth <= TypeLimits.depth
    }

    /// The node of the value of a key; -1 where there is none, or no dictionary.
    func value(of key: UnsafeBufferPointer<UInt8>, inDictionaryAt header: Int) -> Int {
        guard nodes[header].kind == .dictionary else { return -1 }
        let (slot, found) = document._withUnsafeGuaranteedRef { $0.search(key, inDictionaryAt: header) }
        return found ? header &+ nodes[slot].distance : -1
    }
}

extension PropertyList {
    /// Whether the value stands for nil: null in memory, `"$null"` in files.
    var isNil: Bool { DocumentView(document).isNil(index) }
}
