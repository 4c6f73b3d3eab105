internal import CKVCodable
internal import PropertyLists

/// Reading the strings that a C program gave.
extension kv_str {
    /// The bytes, for the time of the call: no more than a key or string can have, which also keeps a size_t above
    /// Int.max out, since that arrives as a negative number.
    func bytes(_ name: String) throws(Failure) -> UnsafeRawBufferPointer {
        try bytes(name, upTo: Int(UInt32.max))
    }

    /// The same of bytes that may be more than a string's, such as those of a file, or whose reader has a limit of its
    /// own.
    func largeBytes(_ name: String) throws(Failure) -> UnsafeRawBufferPointer {
        try bytes(name, upTo: Int(Int32.max) * 1024)
    }

    private func bytes(_ name: String, upTo most: Int) throws(Failure) -> UnsafeRawBufferPointer {
        guard let data else {
            guard length == 0 else {
                throw .invalidArgument("\(name) is NULL with a length of \(UInt(bitPattern: length))")
            }
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        guard 0...most ~= length else { throw .invalidArgument("\(name) has an impossible length") }
        return UnsafeRawBufferPointer(start: data, count: length)
    }

    func string(_ name: String) throws(Failure) -> String {
        let bytes = try bytes(name)
        guard isValidUTF8(bytes) else { throw .invalidArgument("\(name) is not UTF-8") }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A key of a path, of which `room` bytes may still be given.
    func key(_ name: String, in room: inout Int) throws(Failure) -> UnsafeRawBufferPointer {
        let bytes = try bytes(name)
        guard bytes.count <= room else {
            throw Failure(KV_LIMIT_EXCEEDED, "The keys of a path have at most \(KV_PATH_BYTES) bytes")
        }
        room -= bytes.count
        guard isValidUTF8(bytes) else { throw .invalidArgument("\(name) is not UTF-8") }
        return bytes
    }

    /// The one key that a function takes.
    func key() throws(Failure) -> String {
        var room = Int(KV_PATH_BYTES)
        return String(decoding: try key("key", in: &room), as: UTF8.self)
    }

    init(borrowing buffer: UnsafeBufferPointer<UInt8>) {
        let start = UnsafeRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: CChar.self)
        self.init(data: start, length: buffer.count)
    }
}

/// The path that a C program gave as an array of steps.
func path(_ steps: UnsafePointer<kv_step>?, _ count: Int) throws(Failure) -> PropertyListPath {
    guard count != 0 else { return [] }
    guard let steps else { throw .invalidArgument("path is NULL with \(UInt(bitPattern: count)) steps") }
    guard 1...PropertyListLimits.maximumDepth ~= count else {
        throw Failure(KV_LIMIT_EXCEEDED, "A path of \(UInt(bitPattern: count)) steps is longer than any tree is deep")
    }
    var result: [PropertyListPath.Step] = []
    result.reserveCapacity(count)
    var room = Int(KV_PATH_BYTES)
    for step in UnsafeBufferPointer(start: steps, count: count) {
        guard step.key.data != nil else {
            result.append(.index(Int(step.index)))
            continue
        }
        let key = try step.key.key("a key of the path", in: &room)
        result.append(.key(utf8: key))
    }
    return PropertyListPath(result)
}

/// A program's option struct, of which only the first `size` bytes exist: a program built with an older header gives
/// fewer than this library knows; the rest is 0.
func sized<Options: BitwiseCopyable>(
    _ given: UnsafePointer<Options>, _ size: Int
) throws(Failure) -> Options {
    let known = MemoryLayout<Options>.size
    guard size >= MemoryLayout<Int>.size, size <= known else {
        throw .invalidArgument("Expected options with a size up to \(known), found \(UInt(bitPattern: size))")
    }
    return withUnsafeTemporaryAllocation(of: Options.self, capacity: 1) { copy in
        let bytes = UnsafeMutableRawBufferPointer(copy)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
        bytes.copyMemory(from: UnsafeRawBufferPointer(start: given, count: size))
        return copy[0]
    }
}
