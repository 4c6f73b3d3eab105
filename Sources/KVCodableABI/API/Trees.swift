public import CKVCodable
internal import PropertyLists

@c @implementation public func kv_tree_free(_ tree: OpaquePointer?) {
    Handle.take(tree, as: TreeHandle.self)
}

@c @implementation public func kv_tree_equal(_ left: OpaquePointer?, _ right: OpaquePointer?) -> Int32 {
    let left = Handle.borrow(left, as: TreeHandle.self)
    let right = Handle.borrow(right, as: TreeHandle.self)
    return left?.list == right?.list ? 1 : 0
}

@c @implementation public func kv_tree_set(
    _ tree: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ value: OpaquePointer?,
    _ result: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let list = try KVCodableABI.tree(tree, "tree")
        let value = try KVCodableABI.tree(value, "value")
        giveTree(try list.setting(value, at: try path(steps, count)), result)
        return KV_OK
    }
}

@c @implementation public func kv_tree_remove(
    _ tree: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int,
    _ result: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let list = try KVCodableABI.tree(tree, "tree")
        guard let removed = try list.removing(at: try path(steps, count)) else { return KV_ABSENT }
        giveTree(removed, result)
        return KV_OK
    }
}
