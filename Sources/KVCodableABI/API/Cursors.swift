public import CKVCodable
internal import PropertyLists

/// The value at a cursor; nil for NULL, for a cursor without a tree, and for a position at which the tree has no value.
private func list(_ cursor: UnsafePointer<kv_cursor>?) -> PropertyList? {
    guard let cursor = cursor?.pointee, let root = Handle.borrow(cursor.tree, as: TreeHandle.self)?.list else {
        return nil
    }
    let document = root.document
    guard cursor.position < UInt64(document.nodeCount) else { return nil }
    let index = Int(cursor.position)
    return document.nodes[index].isKey ? nil : PropertyList(document: document, index: index)
}

private func makeCursor(at list: PropertyList, in tree: OpaquePointer?) -> kv_cursor {
    kv_cursor(tree: tree, position: UInt64(list.index))
}

/// Writes the result of `read`; KV_TYPE_MISMATCH where that is nil.
private func read<Value>(
    _ cursor: UnsafePointer<kv_cursor>?, _ value: UnsafeMutablePointer<Value>?, _ read: (PropertyList) -> Value?
) -> kv_status {
    guard let list = list(cursor) else { return KV_INVALID_ARGUMENT }
    guard let found = read(list) else { return KV_TYPE_MISMATCH }
    value?.pointee = found
    return KV_OK
}

@c @implementation public func kv_tree_root(_ tree: OpaquePointer?) -> kv_cursor {
    guard let list = Handle.borrow(tree, as: TreeHandle.self)?.list else { return kv_cursor(tree: nil, position: 0) }
    return makeCursor(at: list, in: tree)
}

@c @implementation public func kv_cursor_kind(_ cursor: UnsafePointer<kv_cursor>?) -> kv_kind {
    kv_kind(rawValue: list(cursor)?.kind.rawValue ?? 0)
}

@c @implementation public func kv_cursor_count(_ cursor: UnsafePointer<kv_cursor>?) -> Int {
    list(cursor)?.count ?? 0
}

@c @implementation public func kv_cursor_boolean(
    _ cursor: UnsafePointer<kv_cursor>?, _ value: UnsafeMutablePointer<Int32>?
) -> kv_status {
    read(cursor, value) { $0.boolean.map { $0 ? 1 : 0 } }
}

@c @implementation public func kv_cursor_integer(
    _ cursor: UnsafePointer<kv_cursor>?, _ value: UnsafeMutablePointer<Int64>?
) -> kv_status {
    read(cursor, value) { $0.integer }
}

@c @implementation public func kv_cursor_unsigned(
    _ cursor: UnsafePointer<kv_cursor>?, _ value: UnsafeMutablePointer<UInt64>?
) -> kv_status {
    read(cursor, value) { $0.unsigned ?? $0.integer.flatMap { UInt64(exactly: $0) } }
}

@c @implementation public func kv_cursor_real(
    _ cursor: UnsafePointer<kv_cursor>?, _ value: UnsafeMutablePointer<Double>?
) -> kv_status {
    read(cursor, value) { $0.number }
}

@c @implementation public func kv_cursor_date(
    _ cursor: UnsafePointer<kv_cursor>?, _ value: UnsafeMutablePointer<Double>?
) -> kv_status {
    read(cursor, value) { $0.date }
}

@c @implementation public func kv_cursor_uid(
    _ cursor: UnsafePointer<kv_cursor>?, _ value: UnsafeMutablePointer<UInt32>?
) -> kv_status {
    read(cursor, value) { $0.uid }
}

@c @implementation public func kv_cursor_string(
    _ cursor: UnsafePointer<kv_cursor>?, _ value: UnsafeMutablePointer<kv_str>?
) -> kv_status {
    read(cursor, value) { $0.kind == .string ? kv_str(borrowing: $0.document.buffer(of: $0.node)) : nil }
}

@c @implementation public func kv_cursor_data(
    _ cursor: UnsafePointer<kv_cursor>?, _ value: UnsafeMutablePointer<kv_str>?
) -> kv_status {
    read(cursor, value) { $0.kind == .data ? kv_str(borrowing: $0.document.buffer(of: $0.node)) : nil }
}

@c @implementation public func kv_cursor_key(
    _ cursor: UnsafePointer<kv_cursor>?, _ key: kv_str, _ value: UnsafeMutablePointer<kv_cursor>?
) -> kv_status {
    guard let list = list(cursor), let bytes = try? key.bytes("key") else { return KV_INVALID_ARGUMENT }
    guard let index = list.index(ofUTF8Key: bytes.bindMemory(to: UInt8.self)) else { return KV_ABSENT }
    value?.pointee = kv_cursor(tree: cursor?.pointee.tree, position: UInt64(index))
    return KV_OK
}

@c @implementation public func kv_cursor_path(
    _ cursor: UnsafePointer<kv_cursor>?, _ steps: UnsafePointer<kv_step>?, _ count: Int,
    _ value: UnsafeMutablePointer<kv_cursor>?
) -> kv_status {
    guard let list = list(cursor) else { return KV_INVALID_ARGUMENT }
    do {
        guard let found = list.value(at: try path(steps, count)) else { return KV_ABSENT }
        value?.pointee = makeCursor(at: found, in: cursor?.pointee.tree)
        return KV_OK
    } catch {
        return error.status
    }
}

@c @implementation public func kv_cursor_entry(
    _ cursor: UnsafePointer<kv_cursor>?, _ index: Int, _ key: UnsafeMutablePointer<kv_str>?,
    _ value: UnsafeMutablePointer<kv_cursor>?
) -> kv_status {
    guard let list = list(cursor) else { return KV_INVALID_ARGUMENT }
    guard list.kind == .dictionary, index >= 0, index < list.count else { return KV_ABSENT }
    let node = list.document.nodes[list.document.keys(ofDictionaryAt: list.index).lowerBound + index]
    key?.pointee = kv_str(borrowing: list.document.buffer(of: node))
    value?.pointee = kv_cursor(tree: cursor?.pointee.tree, position: UInt64(list.index + node.distance))
    return KV_OK
}

@c @implementation public func kv_cursor_next(
    _ array: UnsafePointer<kv_cursor>?, _ state: UnsafeMutablePointer<UInt64>?,
    _ element: UnsafeMutablePointer<kv_cursor>?
) -> kv_status {
    guard let list = list(array), let state else { return KV_INVALID_ARGUMENT }
    // The state is the element's distance from the array's header; 0 stands for the first.
    let distance = max(state.pointee, 1)
    guard list.kind == .array, distance < UInt64(list.node.span) else { return KV_ABSENT }
    let found = PropertyList(document: list.document, index: list.index + Int(distance))
    guard !found.node.isKey else { return KV_INVALID_ARGUMENT }
    element?.pointee = makeCursor(at: found, in: array?.pointee.tree)
    state.pointee = distance + UInt64(found.node.span)
    return KV_OK
}

@c @implementation public func kv_cursor_copy(
    _ cursor: UnsafePointer<kv_cursor>?, _ tree: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    guard let list = list(cursor) else { return KV_INVALID_ARGUMENT }
    giveTree(list.detached(), tree)
    return KV_OK
}

/// The same for the builders' functions, which report an error.
func value(at cursor: UnsafePointer<kv_cursor>?) throws(Failure) -> PropertyList {
    guard let list = list(cursor) else { throw .invalidArgument("the cursor is at no value") }
    return list
}
