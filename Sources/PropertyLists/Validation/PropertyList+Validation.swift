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
