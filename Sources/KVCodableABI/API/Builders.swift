public import CKVCodable
internal import PropertyLists

/// The object behind a `kv_builder`.
private final class BuilderHandle {
    var builder = PropertyListBuilder()
}

private typealias ErrorOut = UnsafeMutablePointer<OpaquePointer?>?

private func write(
    _ handle: OpaquePointer?, _ error: ErrorOut, _ body: (inout PropertyListBuilder) throws -> Void
) -> kv_status {
    reporting(error) {
        try body(&require(handle, BuilderHandle.self, "builder").builder)
        return KV_OK
    }
}

@c @implementation public func kv_builder_new() -> OpaquePointer? { Handle.give(BuilderHandle()) }

@c @implementation public func kv_builder_free(_ builder: OpaquePointer?) {
    Handle.take(builder, as: BuilderHandle.self)
}

@c @implementation public func kv_builder_null(
    _ builder: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    write(builder, error) { try $0.appendNull() }
}

@c @implementation public func kv_builder_boolean(
    _ builder: OpaquePointer?, _ value: Int32, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    write(builder, error) { try $0.append(boolean: value != 0) }
}

@c @implementation public func kv_builder_integer(
    _ builder: OpaquePointer?, _ value: Int64, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    write(builder, error) { try $0.append(integer: value) }
}

@c @implementation public func kv_builder_unsigned(
    _ builder: OpaquePointer?, _ value: UInt64, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    write(builder, error) { try $0.append(unsigned: value) }
}

@c @implementation public func kv_builder_real(
    _ builder: OpaquePointer?, _ value: Double, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    write(builder, error) { try $0.append(real: value) }
}

@c @implementation public func kv_builder_date(
    _ builder: OpaquePointer?, _ value: Double, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    write(builder, error) { try $0.append(date: value) }
}

@c @implementation public func kv_builder_uid(
    _ builder: OpaquePointer?, _ value: UInt32, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    write(builder, error) { try $0.append(uid: value) }
}

@c @implementation public func kv_builder_string(
    _ builder: OpaquePointer?, _ value: kv_str, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    write(builder, error) { try $0.append(utf8: value.largeBytes("value")) }
}

@c @implementation public func kv_builder_data(
    _ builder: OpaquePointer?, _ value: kv_str, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    write(builder, error) { try $0.append(data: value.largeBytes("value")) }
}

@c @implementation public func kv_builder_cursor(
    _ builder: OpaquePointer?, _ value: UnsafePointer<kv_cursor>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    write(builder, error) { try $0.append(KVCodableABI.value(at: value)) }
}

@c @implementation public func kv_builder_begin_array(
    _ builder: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    write(builder, error) { try $0.beginArray() }
}

@c @implementation public func kv_builder_begin_dictionary(
    _ builder: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    write(builder, error) { try $0.beginDictionary() }
}

@c @implementation public func kv_builder_key(
    _ builder: OpaquePointer?, _ key: kv_str, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    write(builder, error) { try $0.key(utf8: key.bytes("key")) }
}

@c @implementation public func kv_builder_end(
    _ builder: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    write(builder, error) { try $0.end() }
}

@c @implementation public func kv_builder_finish(
    _ builder: OpaquePointer?, _ tree: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    write(builder, error) { giveTree(try $0.finish(), tree) }
}
