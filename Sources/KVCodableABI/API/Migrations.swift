public import CKVCodable
internal import CodableTypes
internal import DefaultsStorage
internal import KVCodable
internal import PropertyLists

@c @implementation public func kv_store_version(
    _ store: OpaquePointer?, _ version: UnsafeMutablePointer<Int64>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let found = try require(store, DefaultsStore.self, "store").version()
        version?.pointee = Int64(found)
        return KV_OK
    }
}

@c @implementation public func kv_transaction_migrate(
    _ transaction: OpaquePointer?, _ version: Int64, _ found: UnsafeMutablePointer<Int64>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let transaction = try require(transaction, TransactionHandle.self, "transaction").transaction
        guard let old = try transaction.beginMigration(to: Int(version)) else { return KV_ABSENT }
        found?.pointee = Int64(old)
        return KV_OK
    }
}

@c @implementation public func kv_store_migrate_archive(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ type: OpaquePointer?, _ flags: UInt32,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        let type = try require(type, TypeHandle.self, "type").type
        guard flags & ~UInt32(KV_KEEP_OLD) == 0 else {
            throw Failure.invalidArgument("\(flags) holds flags that do not exist")
        }
        let wasArchive = try store.migrateArchive(
            at: try path(steps, count), to: type, keepingOld: flags & UInt32(KV_KEEP_OLD) != 0)
        return wasArchive ? KV_OK : KV_ABSENT
    }
}
