public import CKVCodable
internal import PropertyLists

@c @implementation public func kv_tree_from_nodes(
    _ nodes: UnsafePointer<kv_node>?, _ nodeCount: Int, _ bytes: UnsafePointer<CChar>?, _ byteCount: Int,
    _ tree: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        giveTree(try list(copying: nodes, nodeCount, bytes, byteCount), tree)
        return KV_OK
    }
}

/// A validated copy of a foreign document.
func list(
    copying nodes: UnsafePointer<kv_node>?, _ nodeCount: Int, _ bytes: UnsafePointer<CChar>?, _ byteCount: Int
) throws -> PropertyList {
    guard let nodes else { throw Failure.invalidArgument("nodes is NULL") }
    let text = try kv_str(data: bytes, length: byteCount).bytes("bytes")
    guard nodeCount > 0, nodeCount <= PropertyListLimits.nodes else {
        throw Failure(KV_LIMIT_EXCEEDED, "Expected 1 to \(PropertyListLimits.nodes) nodes, found \(nodeCount)")
    }
    return try PropertyList(validating: UnsafeBufferPointer(start: nodes, count: nodeCount), bytes: text)
}

@c @implementation public func kv_tree_view(
    _ tree: OpaquePointer?, _ view: UnsafeMutablePointer<kv_view>?
) -> kv_status {
    guard let list = Handle.borrow(tree, as: TreeHandle.self)?.list else { return KV_INVALID_ARGUMENT }
    let bytes = UnsafeRawPointer(list.document.bytes).assumingMemoryBound(to: CChar.self)
    view?.pointee = kv_view(node: list.document.nodes + list.index, bytes: bytes)
    return KV_OK
}
