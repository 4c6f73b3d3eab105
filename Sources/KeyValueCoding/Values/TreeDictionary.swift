internal import CKVCodable
internal import PropertyLists

/// A dictionary in a property-list tree. Valid while the document lives.
struct TreeDictionary {
    let nodes: UnsafePointer<kv_node>
    let bytes: UnsafePointer<UInt8>
    let byteCount: Int
    private let header: Int
    let firstKey: Int
    let keyCount: Int

    init(_ document: Document, at header: Int) {
        nodes = document.nodes
        bytes = document.bytes
        byteCount = document.byteCount
        self.header = header
        firstKey = document.keys(ofDictionaryAt: header).lowerBound
        keyCount = Int(document.nodes[header].count)
    }

    @inline(__always) func value(ofKeyAt place: Int) -> Int { header &+ nodes[place].distance }

    @inline(__always) func text(of node: kv_node) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: bytes + Int(truncatingIfNeeded: node.payload), count: Int(node.count))
    }

    @inline(__always) func string(of node: kv_node) -> String {
        let text = text(of: node)
        // A short one needs no memory of its own, and this way not to be looked over twice.
        guard text.count <= 15 else { return String(decoding: text, as: UTF8.self) }
        return String(unsafeUninitializedCapacity: text.count) {
            UnsafeMutableRawBufferPointer($0).copyMemory(from: text)
            return text.count
        }
    }
}
