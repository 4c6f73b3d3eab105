public import CKVCodable
internal import CodableTypes
internal import DefaultsStorage
internal import KVCodable
internal import KeyedArchives
internal import PropertyLists

extension kv_format {
    /// nil for `KV_FORMAT_ANY`.
    func format() throws(Failure) -> PropertyListFormat? {
        switch self {
        case KV_FORMAT_ANY: nil
        case KV_FORMAT_XML: .xml
        case KV_FORMAT_BINARY: .binary
        case KV_FORMAT_OPENSTEP: .openStep
        case KV_FORMAT_JSON: .json
        default: throw .invalidArgument("\(rawValue) is no kv_format")
        }
    }

    init(_ format: PropertyListFormat) {
        switch format {
        case .xml: self = KV_FORMAT_XML
        case .binary: self = KV_FORMAT_BINARY
        case .openStep: self = KV_FORMAT_OPENSTEP
        case .json: self = KV_FORMAT_JSON
        }
    }
}

/// A program's options of reading.
struct DecodeOptions {
    var format: PropertyListFormat?
    var limits = PropertyListLimits()
    var dropsNulls = false

    init(_ given: UnsafePointer<kv_decode_options>?) throws(Failure) {
        guard let given else { return }
        let options = try sized(given, given.pointee.size)
        format = try options.format.format()
        if options.depth != 0 { limits.depth = Self.count(options.depth) }
        if options.expanded_nodes != 0 { limits.expandedNodes = Self.count(options.expanded_nodes) }
        if options.expanded_bytes != 0 { limits.expandedBytes = Self.count(options.expanded_bytes) }
        if options.file_bytes != 0 { limits.fileBytes = Self.count(options.file_bytes) }
        dropsNulls = options.drop_nulls != 0
    }

    /// A size_t above Int.max arrives as a negative number: as many as there can be.
    private static func count(_ given: Int) -> Int { given < 0 ? .max : given }
}

/// The stored value as the type behind `handle` shows it; the value itself for NULL.
private func decode(
    _ list: PropertyList, as handle: OpaquePointer?, _ options: DecodeOptions
) throws -> PropertyList {
    let list = options.dropsNulls ? try list.droppingNulls() : list
    guard let type = Handle.borrow(handle, as: TypeHandle.self)?.type else { return list }
    return try type.read(list)
}

/// The value to store for one as the type behind `handle` shows it; the value itself for NULL.
private func encode(_ list: PropertyList, as handle: OpaquePointer?) throws -> PropertyList {
    guard let type = Handle.borrow(handle, as: TypeHandle.self)?.type else { return list }
    return try type.encode(list, over: nil).list
}

@c @implementation public func kv_decode(
    _ bytes: kv_str, _ options: UnsafePointer<kv_decode_options>?, _ type: OpaquePointer?,
    _ tree: UnsafeMutablePointer<OpaquePointer?>?, _ found: UnsafeMutablePointer<kv_format>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let options = try DecodeOptions(options)
        let parsed = try PropertyList.parse(
            try bytes.largeBytes("bytes"), as: options.format, limits: options.limits)
        giveTree(try decode(parsed.list, as: type, options), tree)
        found?.pointee = kv_format(parsed.format)
        return KV_OK
    }
}

/// Gives the buffer's own memory, and leaves it empty; a NUL follows the bytes.
private func giveBytes(_ buffer: inout GrowableBuffer<UInt8>, _ result: UnsafeMutablePointer<kv_bytes>?) {
    guard let result else { return }
    let length = buffer.count
    buffer.append(0)
    result.pointee =
        buffer.take().map { block in
            kv_bytes(data: UnsafeMutableRawPointer(block).assumingMemoryBound(to: CChar.self), length: length)
        } ?? kv_bytes(data: nil, length: 0)
}

@c @implementation public func kv_encode(
    _ tree: OpaquePointer?, _ format: kv_format, _ type: OpaquePointer?, _ bytes: UnsafeMutablePointer<kv_bytes>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let list = try encode(try KVCodableABI.tree(tree, "tree"), as: type)
        var file = GrowableBuffer<UInt8>()
        try list.write(as: try format.format() ?? .xml, to: &file)
        giveBytes(&file, bytes)
        return KV_OK
    }
}

@c @implementation public func kv_read_file(
    _ path: kv_str, _ options: UnsafePointer<kv_decode_options>?, _ type: OpaquePointer?,
    _ tree: UnsafeMutablePointer<OpaquePointer?>?, _ found: UnsafeMutablePointer<kv_format>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let options = try DecodeOptions(options)
        let path = try path.string("path")
        do {
            guard let file = try PropertyListFile.read(path, as: options.format, limits: options.limits) else {
                return KV_ABSENT
            }
            giveTree(try decode(file.list, as: type, options), tree)
            found?.pointee = kv_format(file.format)
            return KV_OK
        } catch let error as PropertyListError {
            throw Failure(error).inFile(path)
        } catch let error as TypeError {
            throw Failure(error).inFile(path)
        }
    }
}

@c @implementation public func kv_write_file(
    _ path: kv_str, _ tree: OpaquePointer?, _ format: kv_format, _ type: OpaquePointer?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let list = try encode(try KVCodableABI.tree(tree, "tree"), as: type)
        try PropertyListFile.write(list, to: try path.string("path"), as: try format.format())
        return KV_OK
    }
}

@c @implementation public func kv_tree_is_archive(_ tree: OpaquePointer?) -> Int32 {
    Handle.borrow(tree, as: TreeHandle.self)?.list.isKeyedArchive == true ? 1 : 0
}

@c @implementation public func kv_tree_unarchive(
    _ tree: OpaquePointer?, _ classNameKey: kv_str, _ options: UnsafePointer<kv_decode_options>?,
    _ result: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let list = try KVCodableABI.tree(tree, "tree")
        let key = try classNameKey.string("class_name_key")
        let archive = KeyedArchiveOptions(classNameKey: key.isEmpty ? nil : key)
        giveTree(try list.unarchived(options: archive, limits: try DecodeOptions(options).limits), result)
        return KV_OK
    }
}
