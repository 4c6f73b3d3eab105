public import CKVCodable
internal import DefaultsStorage
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
private func list(
    copying nodes: UnsafePointer<kv_node>?, _ nodeCount: Int, _ bytes: UnsafePointer<CChar>?, _ byteCount: Int
) throws -> PropertyList {
    guard let nodes else { throw Failure.invalidArgument("nodes is NULL") }
    let text = try kv_str(data: bytes, length: byteCount).largeBytes("bytes")
    guard nodeCount > 0, nodeCount <= PropertyListLimits.nodes else {
        throw Failure(KV_LIMIT_EXCEEDED, "Expected 1 to \(PropertyListLimits.nodes) nodes, found \(nodeCount)")
    }
    return try PropertyList(validating: UnsafeBufferPointer(start: nodes, count: nodeCount), bytes: text)
}

@c @implementation public func kv_tree_view(
    _ tree: OpaquePointer?, _ view: UnsafeMutablePointer<kv_view>?
) -> kv_status {
    guard let list = Handle.borrow(tree, as: TreeHandle.self)?.list else { return KV_INVALID_ARGUMENT }
    view?.pointee = kv_view(borrowing: list)
    return KV_OK
}

extension kv_view {
    /// Lasts as long as the list's document.
    fileprivate init(borrowing list: PropertyList) {
        let bytes = UnsafeRawPointer(list.document.bytes).assumingMemoryBound(to: CChar.self)
        self.init(node: list.document.nodes + list.index, bytes: bytes)
    }
}

// MARK: - Stores and transactions, without a tree in between

/// Gives a view of the value, with its lease, or says that it is absent.
private func give(
    _ value: PropertyList?, _ view: UnsafeMutablePointer<kv_view>, _ lease: UnsafeMutablePointer<OpaquePointer?>
) -> kv_status {
    guard let value else { return KV_ABSENT }
    view.pointee = kv_view(borrowing: value)
    lease.pointee = Handle.give(value.document)
    return KV_OK
}

@c @implementation public func kv_store_get_view(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ type: OpaquePointer?,
    _ view: UnsafeMutablePointer<kv_view>?, _ lease: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        guard let view, let lease else { throw Failure.invalidArgument("view or lease is NULL") }
        return give(try read(store, steps, count, typed: type), view, lease)
    }
}

@c @implementation public func kv_transaction_get_view(
    _ transaction: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ type: OpaquePointer?,
    _ view: UnsafeMutablePointer<kv_view>?, _ lease: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let transaction = try require(transaction, TransactionHandle.self, "transaction").transaction
        guard let view, let lease else { throw Failure.invalidArgument("view or lease is NULL") }
        return give(try read(transaction, steps, count, as: type), view, lease)
    }
}

/// The value of a view that a lease keeps; nil without a lease.
private func value(_ view: UnsafePointer<kv_view>?, _ lease: OpaquePointer?) -> PropertyList? {
    guard let document = Handle.borrow(lease, as: Document.self), let node = view?.pointee.node else { return nil }
    let index = node - document.nodes
    return 0..<document.nodeCount ~= index ? PropertyList(document: document, index: index) : nil
}

/// Sets a copy of nodes; its lease takes the place of the one given.
///
/// - Parameter set: given the value, and the value that the program had, gives the number of dropped elements.
private func setNodes(
    _ steps: UnsafePointer<kv_step>?, _ count: Int, _ nodes: UnsafePointer<kv_node>?, _ nodeCount: Int,
    _ bytes: UnsafePointer<CChar>?, _ byteCount: Int, _ view: UnsafeMutablePointer<kv_view>?,
    _ lease: UnsafeMutablePointer<OpaquePointer?>?, _ dropped: UnsafeMutablePointer<Int>?,
    _ set: (PropertyList, PropertyList?) throws -> Int
) throws -> kv_status {
    let had = value(view, lease?.pointee)
    let new = try placing(steps, count) { try list(copying: nodes, nodeCount, bytes, byteCount) }
    let found = try set(new, had)
    dropped?.pointee = found
    guard had != nil, let view, let lease else { return KV_OK }
    kv_lease_free(lease.pointee)
    return give(new, view, lease)
}

@c @implementation public func kv_store_set_nodes(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ nodes: UnsafePointer<kv_node>?,
    _ nodeCount: Int, _ bytes: UnsafePointer<CChar>?, _ byteCount: Int, _ type: OpaquePointer?, _ flags: UInt32,
    _ view: UnsafeMutablePointer<kv_view>?, _ lease: UnsafeMutablePointer<OpaquePointer?>?,
    _ dropped: UnsafeMutablePointer<Int>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        return try setNodes(steps, count, nodes, nodeCount, bytes, byteCount, view, lease, dropped) { value, had in
            guard let had, flags == 0 else { return try write(store, steps, count, value, typed: type, flags) }
            return try merge(store, steps, count, had, value, type).reported(to: store)
        }
    }
}

@c @implementation public func kv_transaction_set_nodes(
    _ transaction: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ nodes: UnsafePointer<kv_node>?,
    _ nodeCount: Int, _ bytes: UnsafePointer<CChar>?, _ byteCount: Int, _ type: OpaquePointer?, _ flags: UInt32,
    _ view: UnsafeMutablePointer<kv_view>?, _ lease: UnsafeMutablePointer<OpaquePointer?>?,
    _ dropped: UnsafeMutablePointer<Int>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let transaction = try require(transaction, TransactionHandle.self, "transaction").transaction
        return try setNodes(steps, count, nodes, nodeCount, bytes, byteCount, view, lease, dropped) { value, had in
            guard let had, flags == 0 else { return try write(transaction, steps, count, value, type, flags) }
            return try transaction.merge(had, value, at: try path(steps, count), type).reported(to: transaction.store)
        }
    }
}

@c @implementation public func kv_lease_free(_ lease: OpaquePointer?) {
    Handle.take(lease, as: Document.self)
}

// MARK: - Errors

@c @implementation public func kv_error_new(
    _ status: kv_status, _ message: kv_str, _ steps: UnsafePointer<kv_step>?, _ count: Int
) -> OpaquePointer? {
    guard let message = try? message.string("message"), let path = try? path(steps, count) else { return nil }
    return Handle.give(ErrorHandle(Failure(status, message, at: path)))
}

@c @implementation public func kv_error_placed(
    _ error: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int
) -> OpaquePointer? {
    guard let error = Handle.borrow(error, as: ErrorHandle.self), let path = try? path(steps, count) else { return nil }
    return Handle.give(ErrorHandle(error.failure.placed(below: path)))
}
