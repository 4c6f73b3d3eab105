public import CKVCodable
internal import CodableTypes
internal import DefaultsStorage
internal import PropertyLists

@c @implementation public func kv_store_share(
    _ store: OpaquePointer?, _ flags: UInt32, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ quota: UInt64,
    _ handle: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        guard flags & ~UInt32(KV_READ_ONLY_HANDLE) == 0 else {
            throw Failure.invalidArgument("\(flags) holds flags that do not exist")
        }
        let shared = try store.anotherHandle(
            flags == 0 ? .same : .readOnly, quota: quota == 0 ? nil : Int(clamping: quota), at: try path(steps, count))
        handle?.pointee = Handle.give(shared)
        return KV_OK
    }
}

@c @implementation public func kv_store_is_read_only(_ store: OpaquePointer?) -> Int32 {
    Handle.borrow(store, as: DefaultsStore.self)?.isReadOnly == true ? 1 : 0
}

@c @implementation public func kv_error_new(
    _ status: kv_status, _ message: kv_str, _ steps: UnsafePointer<kv_step>?, _ count: Int
) -> OpaquePointer? {
    guard let message = try? message.string("message"), let path = try? path(steps, count) else { return nil }
    return Handle.give(ErrorHandle(Failure(status, message, at: path)))
}

@c @implementation public func kv_error_confined(
    _ error: OpaquePointer?, _ root: UnsafePointer<kv_step>?, _ count: Int
) -> OpaquePointer? {
    guard let error = Handle.borrow(error, as: ErrorHandle.self), let root = try? path(root, count) else { return nil }
    return Handle.give(ErrorHandle(error.failure.confined(to: root)))
}

@c @implementation public func kv_error_placed(
    _ error: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int
) -> OpaquePointer? {
    guard let error = Handle.borrow(error, as: ErrorHandle.self), let path = try? path(steps, count) else { return nil }
    return Handle.give(ErrorHandle(error.failure.placed(below: path)))
}
