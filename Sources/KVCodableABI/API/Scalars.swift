public import CKVCodable
internal import DefaultsStorage
internal import PropertyLists

private func readScalar<Value>(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ result: UnsafeMutablePointer<Value>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?, _ expected: String, _ convert: (kv_node) -> Value?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        guard let found = try read(store, steps, count) else { return KV_ABSENT }
        guard let value = convert(found.node) else { throw mismatch(found.kind, expected, try path(steps, count)) }
        result?.pointee = value
        return KV_OK
    }
}

private func mismatch(_ found: PropertyListKind, _ expected: String, _ path: PropertyListPath) -> Failure {
    Failure(KV_TYPE_MISMATCH, at: path) { shown in
        ErrorWords.expected(expected, found: "\(found)").message(at: shown.path, firstIndex: shown.firstIndex)
    }
}

@c @implementation public func kv_store_get_boolean(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ value: UnsafeMutablePointer<Int32>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    readScalar(store, steps, count, value, error, "Bool") { $0.boolean.map { $0 ? 1 : 0 } }
}

@c @implementation public func kv_store_get_integer(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ value: UnsafeMutablePointer<Int64>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    readScalar(store, steps, count, value, error, "Int") { $0.integer }
}

@c @implementation public func kv_store_get_real(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ value: UnsafeMutablePointer<Double>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    readScalar(store, steps, count, value, error, "Double") { $0.number }
}

@c @implementation public func kv_store_get_string(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ value: UnsafeMutablePointer<kv_bytes>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        guard let found = try read(store, steps, count) else { return KV_ABSENT }
        guard found.kind == .string else { throw mismatch(found.kind, "String", try path(steps, count)) }
        try found.withBytes { try giveBytes($0, value) }
        return KV_OK
    }
}

/// A document of one value, made without a builder.
private func scalar(
    _ kind: PropertyListKind, _ payload: UInt64, count: UInt32 = 0, _ bytes: UnsafeRawBufferPointer? = nil
) throws(PropertyListError) -> PropertyList {
    let bytes = bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
    return try withUnsafePointer(to: kv_node(head: kind.rawValue, count: count, payload: payload)) {
        node throws(PropertyListError) in
        try PropertyList(validating: UnsafeBufferPointer(start: node, count: 1), bytes: bytes)
    }
}

private func string(_ value: kv_str) throws -> PropertyList {
    let bytes = try value.largeBytes("value")
    guard let length = UInt32(exactly: bytes.count) else {
        throw Failure(KV_LIMIT_EXCEEDED, "Expected at most \(UInt32.max) bytes, found \(bytes.count)")
    }
    return try scalar(.string, 0, count: length, bytes)
}

@c @implementation public func kv_store_set_boolean(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ value: Int32,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    set(store, steps, count, typed: nil, 0, nil, error) { try scalar(.boolean, value == 0 ? 0 : 1) }
}

@c @implementation public func kv_store_set_integer(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ value: Int64,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    set(store, steps, count, typed: nil, 0, nil, error) { try scalar(.integer, UInt64(bitPattern: value)) }
}

@c @implementation public func kv_store_set_real(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ value: Double,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    set(store, steps, count, typed: nil, 0, nil, error) { try scalar(.real, value.bitPattern) }
}

@c @implementation public func kv_store_set_string(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ value: kv_str,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    set(store, steps, count, typed: nil, 0, nil, error) { try string(value) }
}
