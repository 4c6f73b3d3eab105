public import CKVCodable
internal import CodableTypes
internal import DefaultsStorage
internal import KVCodable
internal import PropertyLists

/// A store, or a transaction on one.
typealias Storage = any PropertyListStorage & SchemaStorage

/// The one key of a path into a store without a schema of types, as its UTF-8 bytes; nil for any other path. Neither a
/// path nor a String is made of it: the row "get, from C" of `make bench` misses its target otherwise.
func onlyKey(
    _ steps: UnsafePointer<kv_step>?, _ count: Int, in store: DefaultsStore
) throws(Failure) -> UnsafeBufferPointer<UInt8>? {
    guard store.types == nil, count == 1, let key = steps?.pointee.key, key.data != nil else { return nil }
    var room = Int(KV_PATH_BYTES)
    return try key.key("a key of the path", in: &room).bindMemory(to: UInt8.self)
}

/// The value at the path, as the type shows it where there is one.
func read(
    _ storage: Storage, _ steps: UnsafePointer<kv_step>?, _ count: Int, as type: OpaquePointer?
) throws -> PropertyList? {
    let path = try path(steps, count)
    guard let type = Handle.borrow(type, as: TypeHandle.self)?.type else { return try storage.value(at: path) }
    return try storage.value(at: path, as: type)
}

/// The value at the path in a store, as the type shows it where there is one; of one key without making a path.
func read(
    _ store: DefaultsStore, _ steps: UnsafePointer<kv_step>?, _ count: Int, typed type: OpaquePointer? = nil
) throws -> PropertyList? {
    guard let key = try onlyKey(steps, count, in: store) else { return try read(store, steps, count, as: type) }
    let stored = try store.stored(forUTF8Key: key)
    guard let type = Handle.borrow(type, as: TypeHandle.self)?.type else { return stored }
    guard let stored else { return type.defaultValue }
    guard stored.kind == .dictionary, store.hasUnsetPaths else { return try type.read(stored) { [.key(utf8: key)] } }
    return try store.value(at: [.key(utf8: key)], as: type)
}

/// Sets the value at the path, as the type says where there is one; gives the number of dropped elements.
func write(
    _ storage: Storage, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ value: PropertyList, _ type: OpaquePointer?,
    _ flags: UInt32
) throws -> Int {
    let path = try path(steps, count)
    let options = try encodeOptions(flags)
    guard let type = Handle.borrow(type, as: TypeHandle.self)?.type else {
        return try storage.set(value, at: path, options.change)
    }
    return try storage.set(value, at: path, as: type, options: options)
}

/// Sets the value at the path in a store, as the type says where there is one; gives the number of dropped elements.
/// One key is set without making a path.
func write(
    _ store: DefaultsStore, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ value: PropertyList,
    typed type: OpaquePointer?, _ flags: UInt32
) throws -> Int {
    guard flags & UInt32(KV_REPLACE) == 0, let key = try onlyKey(steps, count, in: store) else {
        return try write(store, steps, count, value, type, flags)
    }
    let options = try encodeOptions(flags)
    guard let type = Handle.borrow(type, as: TypeHandle.self)?.type else {
        try store.setStored(value, forUTF8Key: key)
        return 0
    }
    let stored = try store.stored(forUTF8Key: key)
    if value.kind == .dictionary, stored?.kind == .dictionary {
        return try store.set(value, at: [.key(utf8: key)], as: type, options: options)
    }
    let encoded = try type.write(value, over: stored, options: options) { [.key(utf8: key)] }
    try store.setStored(encoded.list, forUTF8Key: key)
    return encoded.droppedElements
}

/// Sets the value that `value` gives, for every function that sets one. The path of an error inside the value begins
/// with the path that it is set at.
func set(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, typed type: OpaquePointer?,
    _ flags: UInt32, _ dropped: UnsafeMutablePointer<Int>?, _ error: UnsafeMutablePointer<OpaquePointer?>?,
    _ value: () throws -> PropertyList
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        let found = try write(store, steps, count, try placing(steps, count, value), typed: type, flags)
        dropped?.pointee = found
        return KV_OK
    }
}

/// The value that `value` gives. The path of its error begins with the path that it is set at.
func placing(
    _ steps: UnsafePointer<kv_step>?, _ count: Int, _ value: () throws -> PropertyList
) throws -> PropertyList {
    do {
        return try value()
    } catch let error as PropertyListError {
        throw Failure(error).placed(below: try path(steps, count))
    }
}

/// Gives the value, or says that it is absent.
func give(_ value: PropertyList?, _ result: UnsafeMutablePointer<OpaquePointer?>?) -> kv_status {
    guard let value else { return KV_ABSENT }
    giveTree(value, result)
    return KV_OK
}

@c @implementation public func kv_store_get(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ type: OpaquePointer?,
    _ value: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        return give(try read(store, steps, count, typed: type), value)
    }
}

@c @implementation public func kv_store_set(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ value: OpaquePointer?,
    _ type: OpaquePointer?, _ flags: UInt32, _ dropped: UnsafeMutablePointer<Int>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    set(store, steps, count, typed: type, flags, dropped, error) { try tree(value, "value") }
}

@c @implementation public func kv_store_remove(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        return try store.remove(at: try path(steps, count)) ? KV_OK : KV_ABSENT
    }
}

@c @implementation public func kv_store_reset(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        return try store.reset(at: try path(steps, count)) ? KV_OK : KV_ABSENT
    }
}

@c @implementation public func kv_store_rename(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ newSteps: UnsafePointer<kv_step>?,
    _ newCount: Int, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        return try store.rename(try path(steps, count), to: try path(newSteps, newCount)) ? KV_OK : KV_ABSENT
    }
}

@c @implementation public func kv_store_keys(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int,
    _ keys: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        guard let found = try store.keys(at: try path(steps, count)) else { return KV_ABSENT }
        giveTree(try PropertyList(any: found), keys)
        return KV_OK
    }
}

@c @implementation public func kv_store_type_at(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int,
    _ type: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        return give(store.type(at: try path(steps, count)), type)
    }
}
