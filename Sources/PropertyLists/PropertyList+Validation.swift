package import CKVCodable

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

extension PropertyList {
    /// A document copied from foreign memory that is laid out as `kvcodable_nodes.h` says, once it is found to be so.
    ///
    /// Two freedoms are given to whoever wrote it: a dictionary's keys may stand in any order, and a key may not be
    /// in the order of its values. Everything else is checked: kinds, spans, counts, offsets, UTF-8, unique keys,
    /// depth. The memory may change or go away after the call.
    ///
    /// - Parameter limits: other limits than the usual ones.
    /// - Throws: ``PropertyListError``, with the path of the value that is wrong.
    package init(
        validating nodes: UnsafeBufferPointer<kv_node>, bytes: UnsafeRawBufferPointer,
        limits: PropertyListLimits? = nil
    ) throws(PropertyListError) {
        guard nodes.count > 0, nodes.count <= PropertyListLimits.nodes, let source = nodes.baseAddress else {
            throw PropertyListError(.malformed, "Expected 1 to \(PropertyListLimits.nodes) nodes, found \(nodes.count)")
        }
        let size = nodes.count * MemoryLayout<kv_node>.stride
        guard let block = malloc(size + bytes.count + LayoutCheck.padding) else {
            throw PropertyListError(.limitExceeded, "No memory for \(nodes.count) values")
        }
        let tail = UnsafeMutableRawBufferPointer(start: block + size, count: bytes.count)
        if let text = bytes.baseAddress, bytes.count > 0 { memcpy(block + size, text, bytes.count) }
        let survey = ByteSurvey(UnsafeRawBufferPointer(tail))
        let target = block.bindMemory(to: kv_node.self, capacity: nodes.count)
        let facts: DocumentFacts
        if limits == nil, let record = RecordCopy(of: nodes, to: target, UnsafeRawBufferPointer(tail), survey) {
            facts = record.facts
        } else {
            memcpy(block, source, size)
            var check = LayoutCheck(
                block: block, nodeCount: nodes.count, byteCount: bytes.count, survey, limits ?? PropertyListLimits())
            do throws(PropertyListError) {
                try check.document()
            } catch {
                free(block)
                throw error
            }
            facts = check.facts
        }
        let document = Document(
            taking: block, nodeCount: nodes.count, byteCount: bytes.count, facts: facts)
        self.init(document: document, index: 0)
    }
}
