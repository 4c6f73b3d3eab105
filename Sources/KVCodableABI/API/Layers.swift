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
            case KV_LAYER_ADMINISTRATOR: .administrator
            default: throw Failure.invalidArgument("\(layer.rawValue) is no kv_layer")
            }
        giveTree(try store.dictionary(of: found), dictionary)
        return KV_OK
    }
}

@c @implementation public func kv_store_is_forced(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int,
    _ isForced: UnsafeMutablePointer<Int32>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let forced = try require(store, DefaultsStore.self, "store").isForced(at: try path(steps, count))
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
        guard given == size else {
            throw Failure.invalidArgument(
                "Expected a kv_origin with the size \(size), found \(UInt(bitPattern: given))")
        }
        guard let found = try store.origin(at: try path(steps, count)) else { return KV_ABSENT }
        guard let origin else { return KV_OK }
        let (layer, suite) = found.layer.inHeader
        var file = kv_bytes(data: nil, length: 0)
        if let path = found.file { try giveBytes(path.utf8, &file) }
        origin.pointee.layer = layer
        origin.pointee.suite = suite
        origin.pointee.file = file
        return KV_OK
    }
}

extension DefaultsLayer {
    /// The layer in the header's words, with the index of a suite.
    fileprivate var inHeader: (layer: kv_layer, suite: Int) {
        switch self {
        case .managed: (KV_LAYER_MANAGED, 0)
        case .arguments: (KV_LAYER_ARGUMENTS, 0)
        case .application: (KV_LAYER_APPLICATION, 0)
        case .suite(let index): (KV_LAYER_SUITE, index)
        case .global: (KV_LAYER_GLOBAL, 0)
        case .registered: (KV_LAYER_REGISTERED, 0)
        case .schema: (KV_LAYER_SCHEMA, 0)
        case .administrator: (KV_LAYER_ADMINISTRATOR, 0)
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
