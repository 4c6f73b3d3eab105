public import CKVCodable
internal import DefaultsStorage

@c @implementation public func kv_store_bool_for_key(
    _ store: OpaquePointer?, _ key: kv_str, _ value: UnsafeMutablePointer<Int32>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let found = try require(store, DefaultsStore.self, "store").bool(forKey: try key.key())
        value?.pointee = found ? 1 : 0
        return KV_OK
    }
}

@c @implementation public func kv_store_integer_for_key(
    _ store: OpaquePointer?, _ key: kv_str, _ value: UnsafeMutablePointer<Int64>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let found = try require(store, DefaultsStore.self, "store").integer(forKey: try key.key())
        value?.pointee = Int64(found)
        return KV_OK
    }
}

@c @implementation public func kv_store_double_for_key(
    _ store: OpaquePointer?, _ key: kv_str, _ value: UnsafeMutablePointer<Double>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let found = try require(store, DefaultsStore.self, "store").double(forKey: try key.key())
        value?.pointee = found
        return KV_OK
    }
}

@c @implementation public func kv_store_string_for_key(
    _ store: OpaquePointer?, _ key: kv_str, _ value: UnsafeMutablePointer<kv_bytes>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        guard let found = try require(store, DefaultsStore.self, "store").string(forKey: try key.key()) else {
            return KV_ABSENT
        }
        try giveBytes(found.utf8, value)
        return KV_OK
    }
}
