public import CKVCodable
internal import DefaultsStorage

@c @implementation public func kv_store_layer(
    _ store: OpaquePointer?, _ layer: kv_layer, _ suite: Int, _ dictionary: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        let found: DefaultsLayer =
            switch layer {
            case KV_LAYER_MANAGED: .managed
            case KV_LAYER_ARGUMENTS: .arguments
            case KV_LAYER_APPLICATION: .application
            case KV_LAYER_SUITE: .suite(suite)
            case KV_LAYER_GLOBAL: .global
            case KV_LAYER_REGISTERED: .registered
            case KV_LAYER_SCHEMA: .schema
            case KV_LAYER_MANDATORY: .mandatory(suite)
            case KV_LAYER_RECOMMENDED: .recommended(suite)
            default: throw Failure.invalidArgument("\(layer.rawValue) is no kv_layer")
            }
        giveTree(try store.dictionary(of: found), dictionary)
        return KV_OK
    }
}

@c @implementation public func kv_store_is_forced(
    _ store: OpaquePointer?, _ key: kv_str, _ isForced: UnsafeMutablePointer<Int32>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let forced = try require(store, DefaultsStore.self, "store").isForced(try key.key())
        isForced?.pointee = forced ? 1 : 0
        return KV_OK
    }
}

@c @implementation public func kv_store_origin(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int,
    _ origin: UnsafeMutablePointer<kv_origin>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        let size = MemoryLayout<kv_origin>.size
        let given = origin?.pointee.size ?? size
        // That of version 0.1 knew no servers.
        guard given == size || given == MemoryLayout<kv_origin>.offset(of: \.store) else {
            throw Failure.invalidArgument(
                "Expected a kv_origin with the size \(size), found \(UInt(bitPattern: given))")
        }
        guard let found = try store.origin(at: try path(steps, count)) else { return KV_ABSENT }
        guard let origin else { return KV_OK }
        let (layer, suite) = found.layer.inHeader
        var file = kv_bytes(data: nil, length: 0)
        if let path = found.file { try giveBytes(path.utf8, &file) }
        UnsafeMutableRawPointer(origin).storeBytes(of: layer, toByteOffset: offset(\.layer), as: kv_layer.self)
        UnsafeMutableRawPointer(origin).storeBytes(of: suite, toByteOffset: offset(\.suite), as: Int.self)
        UnsafeMutableRawPointer(origin).storeBytes(of: file, toByteOffset: offset(\.file), as: kv_bytes.self)
        if given == size { try complete(origin, found) }
        return KV_OK
    }
}

private func offset(_ member: PartialKeyPath<kv_origin>) -> Int { MemoryLayout<kv_origin>.offset(of: member) ?? 0 }

/// Fills in the members that describe a server's value: its store, revision and author.
private func complete(_ origin: UnsafeMutablePointer<kv_origin>, _ found: DefaultsOrigin) throws {
    origin.pointee.store = kv_bytes(data: nil, length: 0)
    origin.pointee.author = kv_bytes(data: nil, length: 0)
    origin.pointee.revision = found.revision ?? 0
    if let store = found.store { try giveBytes(store.utf8, &origin.pointee.store) }
    if let author = found.author { try giveBytes(author.utf8, &origin.pointee.author) }
}

extension DefaultsLayer {
    /// The layer in the header's words, with the index of a suite or a store of a fleet.
    fileprivate var inHeader: (layer: kv_layer, suite: Int) {
        switch self {
        case .managed: (KV_LAYER_MANAGED, 0)
        case .arguments: (KV_LAYER_ARGUMENTS, 0)
        case .application: (KV_LAYER_APPLICATION, 0)
        case .suite(let index): (KV_LAYER_SUITE, index)
        case .global: (KV_LAYER_GLOBAL, 0)
        case .registered: (KV_LAYER_REGISTERED, 0)
        case .schema: (KV_LAYER_SCHEMA, 0)
        case .mandatory(let index): (KV_LAYER_MANDATORY, index)
        case .recommended(let index): (KV_LAYER_RECOMMENDED, index)
        }
    }
}

@c @implementation public func kv_store_register(
    _ store: OpaquePointer?, _ defaults: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        try require(store, DefaultsStore.self, "store").register(try tree(defaults, "defaults"))
        return KV_OK
    }
}
