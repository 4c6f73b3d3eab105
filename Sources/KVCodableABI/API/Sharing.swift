public import CKVCodable
internal import DefaultsStorage

@c @implementation public func kv_store_is_read_only(_ store: OpaquePointer?) -> Int32 {
    Handle.borrow(store, as: DefaultsStore.self)?.isReadOnly == true ? 1 : 0
}

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
