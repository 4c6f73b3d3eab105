public import CKVCodable
internal import CodableTypes
internal import DefaultsStorage
internal import KVCodable
internal import PropertyLists

@c @implementation public func kv_store_begin(
    _ store: OpaquePointer?, _ seconds: Double, _ transaction: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    CancellationPoint.pass()
    return reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        guard seconds >= 0 else { throw Failure.invalidArgument("Expected seconds from 0, found \(seconds)") }
        guard let transaction else { throw Failure.invalidArgument("transaction is NULL") }
        let timeout: Duration? = seconds > 0 ? .seconds(min(seconds, 1e9)) : nil
        transaction.pointee = Handle.give(TransactionHandle(try store.beginTransaction(timeout: timeout)))
        return KV_OK
    }
}

@c @implementation public func kv_transaction_get(
    _ transaction: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ type: OpaquePointer?,
    _ value: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let transaction = try require(transaction, TransactionHandle.self, "transaction").transaction
        return give(try read(transaction, steps, count, as: type), value)
    }
}

@c @implementation public func kv_transaction_set(
    _ transaction: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ value: OpaquePointer?,
    _ type: OpaquePointer?, _ flags: UInt32, _ dropped: UnsafeMutablePointer<Int>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let transaction = try require(transaction, TransactionHandle.self, "transaction").transaction
        let found = try write(transaction, steps, count, try tree(value, "value"), type, flags)
        dropped?.pointee = found
        return KV_OK
    }
}

@c @implementation public func kv_transaction_remove(
    _ transaction: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let transaction = try require(transaction, TransactionHandle.self, "transaction").transaction
        return try transaction.remove(at: try path(steps, count)) ? KV_OK : KV_ABSENT
    }
}

@c @implementation public func kv_transaction_commit(
    _ transaction: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        guard let handle = Handle.take(transaction, as: TransactionHandle.self) else {
            throw Failure.invalidArgument("transaction is NULL")
        }
        try handle.transaction.commit()
        return KV_OK
    }
}

@c @implementation public func kv_transaction_rollback(_ transaction: OpaquePointer?) {
    Handle.take(transaction, as: TransactionHandle.self)?.transaction.rollback()
}

@c @implementation public func kv_store_update(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ type: OpaquePointer?,
    _ flags: UInt32, _ change: kv_change?, _ context: UnsafeMutableRawPointer?,
    _ dropped: UnsafeMutablePointer<Int>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        guard let change else { throw Failure.invalidArgument("change is NULL") }
        let type = Handle.borrow(type, as: TypeHandle.self)?.type
        let path = try path(steps, count)
        let found = try store.update(at: path, as: type, options: try encodeOptions(flags)) { old in
            let handle = old.map { Handle.give(TreeHandle($0)) }
            defer { kv_tree_free(handle) }
            var changed: OpaquePointer?
            let outcome = change(context, handle, &changed)
            let new = Handle.take(changed, as: TreeHandle.self)?.list
            guard outcome == 0 else { throw Failure(KV_MISUSE, "The change was refused with \(outcome)") }
            return new
        }
        dropped?.pointee = found
        return KV_OK
    }
}

@c @implementation public func kv_store_generation(_ store: OpaquePointer?) -> UInt64 {
    Handle.borrow(store, as: DefaultsStore.self)?.generation ?? 0
}

@c @implementation public func kv_store_compare_and_set(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ value: OpaquePointer?,
    _ generation: UInt64, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        try store.set(try tree(value, "value"), at: try path(steps, count), ifGeneration: generation)
        return KV_OK
    }
}
