public import CKVCodable
internal import DefaultsStorage
internal import PropertyLists

@c @implementation public func kv_store_snapshot(
    _ store: OpaquePointer?, _ snapshot: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        giveTree(try require(store, DefaultsStore.self, "store").snapshot(), snapshot)
        return KV_OK
    }
}

@c @implementation public func kv_store_export(
    _ store: OpaquePointer?, _ format: kv_format, _ bytes: UnsafeMutablePointer<kv_bytes>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        try giveBytes(try require(store, DefaultsStore.self, "store").exported(as: try format.format() ?? .xml), bytes)
        return KV_OK
    }
}

@c @implementation public func kv_store_import(
    _ store: OpaquePointer?, _ bytes: kv_str, _ options: UnsafePointer<kv_decode_options>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let options = try DecodeOptions(options)
        try require(store, DefaultsStore.self, "store").import(
            Array(try bytes.largeBytes("bytes")), as: options.format, limits: options.limits,
            nulls: options.dropsNulls ? .dropped : .refused)
        return KV_OK
    }
}

@c @implementation public func kv_store_copy(
    _ store: OpaquePointer?, _ target: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let target = try require(target, DefaultsStore.self, "target")
        try require(store, DefaultsStore.self, "store").copy(to: target)
        return KV_OK
    }
}
