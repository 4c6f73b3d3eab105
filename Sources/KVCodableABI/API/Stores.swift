public import CKVCodable
internal import CodableTypes
internal import DefaultsStorage
internal import KVCodable
internal import PropertyLists

private func options(
    _ given: UnsafePointer<kv_store_options>?
) throws(Failure) -> DefaultsStore.Options {
    var options = DefaultsStore.Options()
    guard let given else { return options }
    let copy = try sized(given, given.pointee.size)
    if copy.defaults != nil { options.defaults = try tree(copy.defaults, "defaults") }
    if copy.arguments != nil { options.arguments = try tree(copy.arguments, "arguments") }
    options.format = try copy.format.format()
    options.isReadOnly = copy.read_only != 0
    options.durability = try durability(copy.durability)
    options.engine = try engine(copy.engine)
    options.onCorruption = try corruption(copy.on_corruption)
    options.searchesGlobalDomain = copy.without_global_domain == 0
    if copy.sqlite_normal != 0 { options.synchronization = .normal }
    if copy.max_bytes > 0 { options.maximumBytes = Int(clamping: copy.max_bytes) }
    if copy.max_nodes > 0 { options.maximumNodes = Int(clamping: copy.max_nodes) }
    guard copy.timeout >= 0 else { throw .invalidArgument("Expected a timeout from 0, found \(copy.timeout)") }
    if copy.timeout > 0 { options.timeout = .seconds(min(copy.timeout, 1e9)) }
    guard copy.settle_time >= 0 else {
        throw .invalidArgument("Expected a settle_time from 0, found \(copy.settle_time)")
    }
    if copy.settle_time > 0 { options.settleTime = .seconds(min(copy.settle_time, 1e9)) }
    if copy.managed_file.length > 0 { options.managedFile = try copy.managed_file.string("managed_file") }
    options.suites = try suites(copy.suites, copy.suite_count)
    if let check = copy.check { options.validation = validation(check, Context(pointer: copy.check_context)) }
    if let type = Handle.borrow(copy.schema, as: TypeHandle.self)?.type { options.schema = try schema(type) }
    return options
}

private func schema(_ type: CodableType) throws(Failure) -> DefaultsSchema {
    do {
        return try DefaultsSchema(type)
    } catch {
        throw Failure(error)
    }
}

private func suites(_ given: UnsafePointer<kv_str>?, _ count: Int) throws(Failure) -> [String] {
    guard count != 0 else { return [] }
    guard let given else { throw .invalidArgument("suites is NULL") }
    guard 1...maximumSuites ~= count else {
        throw .invalidArgument("Expected at most \(maximumSuites) suites, found \(UInt(bitPattern: count))")
    }
    return try UnsafeBufferPointer(start: given, count: count).map { name throws(Failure) in
        try name.string("a suite")
    }
}

/// More suites than any program searches.
private let maximumSuites = 1024

/// The program's own check, called before each change.
private func validation(
    _ check:
        @escaping @convention(c) (
            UnsafeMutableRawPointer?, UnsafePointer<kv_step>?, Int, OpaquePointer?
        ) -> Int32,
    _ context: Context
) -> DefaultsStore.Options.Validation {
    { path, value in
        let value = value.map { Handle.give(TreeHandle($0)) }
        defer { kv_tree_free(value) }
        let accepted = lend(path) { check(context.pointer, $0.baseAddress, $0.count, value) }
        guard accepted == 0 else { throw DefaultsError(.refused, "The program's check refused the value", at: path) }
    }
}

private func engine(_ value: kv_engine) throws(Failure) -> DefaultsStore.Options.Engine {
    switch value {
    case KV_ENGINE_AUTOMATIC: .automatic
    case KV_ENGINE_MEMORY: .memory
    case KV_ENGINE_PROPERTY_LIST: .propertyList
    case KV_ENGINE_SQLITE: .sqlite
    default: throw .invalidArgument("\(value.rawValue) is no kv_engine")
    }
}

private func corruption(_ value: kv_corruption) throws(Failure) -> DefaultsStore.Options.Corruption {
    switch value {
    case KV_CORRUPTION_ERROR: .error
    case KV_CORRUPTION_RECOVER: .recover
    default: throw .invalidArgument("\(value.rawValue) is no kv_corruption")
    }
}

private func durability(_ value: kv_durability) throws(Failure) -> DefaultsDurability {
    switch value {
    case KV_COALESCED: .coalesced
    case KV_IMMEDIATE: .immediate
    case KV_MANUAL: .manual
    default: throw .invalidArgument("\(value.rawValue) is no kv_durability")
    }
}

@c @implementation public func kv_store_open(
    _ name: kv_str, _ options: UnsafePointer<kv_store_options>?, _ store: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let name = try name.string("name")
        let opened = try DefaultsStore.open(name, options: try KVCodableABI.options(options))
        store?.pointee = Handle.give(opened)
        return KV_OK
    }
}

@c @implementation public func kv_store_open_file(
    _ path: kv_str, _ options: UnsafePointer<kv_store_options>?, _ store: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let path = try path.string("path")
        let opened = try DefaultsStore.open(path: path, options: try KVCodableABI.options(options))
        store?.pointee = Handle.give(opened)
        return KV_OK
    }
}

@c @implementation public func kv_store_names(
    _ engine: kv_engine, _ names: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        giveTree(try PropertyList(any: try DefaultsStore.names(engine: try KVCodableABI.engine(engine))), names)
        return KV_OK
    }
}

@c @implementation public func kv_store_path(
    _ name: kv_str, _ engine: kv_engine, _ path: UnsafeMutablePointer<kv_bytes>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let engine = try KVCodableABI.engine(engine)
        guard let found = try DefaultsStore.path(of: try name.string("name"), engine: engine) else { return KV_ABSENT }
        try giveBytes(found.utf8, path)
        return KV_OK
    }
}

@c @implementation public func kv_store_file(
    _ store: OpaquePointer?, _ file: UnsafeMutablePointer<kv_bytes>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        guard let path = try require(store, DefaultsStore.self, "store").file else { return KV_ABSENT }
        try giveBytes(path.utf8, file)
        return KV_OK
    }
}

@c @implementation public func kv_store_sync(
    _ store: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    CancellationPoint.pass()
    return reporting(error) {
        try require(store, DefaultsStore.self, "store").sync()
        return KV_OK
    }
}

@c @implementation public func kv_store_close(
    _ store: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        try require(store, DefaultsStore.self, "store").close()
        return KV_OK
    }
}

@c @implementation public func kv_store_free(_ store: OpaquePointer?) {
    Handle.take(store, as: DefaultsStore.self)
}
