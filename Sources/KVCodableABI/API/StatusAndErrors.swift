public import CKVCodable
internal import Glibc
internal import PropertyLists

@c @implementation public func kv_bytes_free(_ bytes: UnsafeMutablePointer<kv_bytes>?) {
    guard let bytes else { return }
    free(bytes.pointee.data)
    bytes.pointee = kv_bytes(data: nil, length: 0)
}

/// Gives a copy of the bytes; a NUL follows them, so that a text can be printed.
func giveBytes(_ bytes: some Collection<UInt8>, _ result: UnsafeMutablePointer<kv_bytes>?) throws(Failure) {
    guard let result else { return }
    guard let block = malloc(bytes.count + 1) else {
        throw Failure(KV_LIMIT_EXCEEDED, "No memory for \(bytes.count) bytes")
    }
    let memory = block.bindMemory(to: UInt8.self, capacity: bytes.count + 1)
    _ = UnsafeMutableBufferPointer(start: memory, count: bytes.count).initialize(from: bytes)
    memory[bytes.count] = 0
    result.pointee = kv_bytes(data: block.assumingMemoryBound(to: CChar.self), length: bytes.count)
}

@c @implementation public func kv_error_status(_ error: OpaquePointer?) -> kv_status {
    Handle.borrow(error, as: ErrorHandle.self)?.failure.status ?? KV_INVALID_ARGUMENT
}

@c @implementation public func kv_error_message(_ error: OpaquePointer?) -> kv_str {
    Handle.borrow(error, as: ErrorHandle.self)?.message.borrowed ?? kv_str(data: nil, length: 0)
}

@c @implementation public func kv_error_describe(
    _ error: OpaquePointer?, _ firstIndex: Int64, _ message: UnsafeMutablePointer<kv_bytes>?
) -> kv_status {
    reporting(nil) {
        let failure = try require(error, ErrorHandle.self, "error").failure
        try giveBytes(failure.message(firstIndex: Int(firstIndex)).utf8, message)
        return KV_OK
    }
}

@c @implementation public func kv_error_path(_ error: OpaquePointer?) -> kv_str {
    Handle.borrow(error, as: ErrorHandle.self)?.path.borrowed ?? kv_str(data: nil, length: 0)
}

@c @implementation public func kv_error_path_step(
    _ error: OpaquePointer?, _ index: Int, _ step: UnsafeMutablePointer<kv_step>?
) -> kv_status {
    guard let error = Handle.borrow(error, as: ErrorHandle.self) else { return KV_INVALID_ARGUMENT }
    guard error.steps.indices.contains(index) else { return KV_ABSENT }
    step?.pointee = error.steps[index].borrowed
    return KV_OK
}

@c @implementation public func kv_error_position(
    _ error: OpaquePointer?, _ line: UnsafeMutablePointer<Int64>?, _ column: UnsafeMutablePointer<Int64>?
) -> kv_status {
    guard let error = Handle.borrow(error, as: ErrorHandle.self) else { return KV_INVALID_ARGUMENT }
    guard case .line(let foundLine, let foundColumn) = error.failure.location else { return KV_ABSENT }
    line?.pointee = Int64(foundLine)
    column?.pointee = Int64(foundColumn)
    return KV_OK
}

@c @implementation public func kv_error_offset(
    _ error: OpaquePointer?, _ offset: UnsafeMutablePointer<Int64>?
) -> kv_status {
    guard let error = Handle.borrow(error, as: ErrorHandle.self) else { return KV_INVALID_ARGUMENT }
    guard case .offset(let found) = error.failure.location else { return KV_ABSENT }
    offset?.pointee = Int64(found)
    return KV_OK
}

@c @implementation public func kv_error_file(_ error: OpaquePointer?) -> kv_str {
    Handle.borrow(error, as: ErrorHandle.self)?.file?.borrowed ?? kv_str(data: nil, length: 0)
}

@c @implementation public func kv_error_confined(
    _ error: OpaquePointer?, _ root: UnsafePointer<kv_step>?, _ count: Int
) -> OpaquePointer? {
    guard let error = Handle.borrow(error, as: ErrorHandle.self), let root = try? path(root, count) else { return nil }
    return Handle.give(ErrorHandle(error.failure.confined(to: root)))
}

@c @implementation public func kv_error_free(_ error: OpaquePointer?) {
    Handle.take(error, as: ErrorHandle.self)
}
