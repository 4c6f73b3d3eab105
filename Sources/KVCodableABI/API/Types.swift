public import CKVCodable
internal import CodableTypes
internal import KVCodable
internal import PropertyLists

/// The object behind a `kv_type`. Immutable.
final class TypeHandle {
    let type: CodableType

    init(_ type: CodableType) {
        self.type = type
    }
}

/// The object behind a `kv_registry`.
final class RegistryHandle {
    fileprivate let registry: TypeRegistry

    init(_ registry: TypeRegistry) {
        self.registry = registry
    }
}

private func redeclaration(_ flags: UInt32) -> TypeRegistry.Redeclaration? {
    switch flags {
    case 0: .rejected
    case UInt32(KV_REDECLARE): .replaces
    default: nil
    }
}

/// A program's flags of a typed set.
func encodeOptions(_ flags: UInt32) throws(Failure) -> CodableType.EncodeOptions {
    guard flags & ~UInt32(KV_REPLACE) == 0 else { throw .invalidArgument("\(flags) holds flags that do not exist") }
    return CodableType.EncodeOptions(replaces: flags & UInt32(KV_REPLACE) != 0)
}

/// Gives the type, or says that there is none.
func give(_ type: CodableType?, _ result: UnsafeMutablePointer<OpaquePointer?>?) -> kv_status {
    guard let type else { return KV_ABSENT }
    result?.pointee = Handle.give(TypeHandle(type))
    return KV_OK
}

@c @implementation public func kv_registry_new(_ outer: OpaquePointer?, _ flags: UInt32) -> OpaquePointer? {
    let outer = Handle.borrow(outer, as: RegistryHandle.self)?.registry
    return redeclaration(flags).map { Handle.give(RegistryHandle(TypeRegistry(over: outer, redeclaration: $0))) }
}

@c @implementation public func kv_registry_free(_ registry: OpaquePointer?) {
    Handle.take(registry, as: RegistryHandle.self)
}

/// Gives the names of declared types.
private func giveNames(_ types: [CodableType], _ names: UnsafeMutablePointer<OpaquePointer?>?) throws {
    giveTree(try PropertyList(any: types.map(\.description)), names)
}

@c @implementation public func kv_registry_declare(
    _ registry: OpaquePointer?, _ text: kv_str, _ file: kv_str, _ names: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let registry = try require(registry, RegistryHandle.self, "registry").registry
        let file = try file.string("file")
        let types =
            file.isEmpty
            ? try registry.declare(try text.string("text"))
            : try registry.declare(Array(try text.largeBytes("text")), file: file)
        try giveNames(types, names)
        return KV_OK
    }
}

@c @implementation public func kv_registry_declare_file(
    _ registry: OpaquePointer?, _ path: kv_str, _ names: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let registry = try require(registry, RegistryHandle.self, "registry").registry
        guard let types = try registry.declare(fileIfThere: try path.string("path")) else { return KV_ABSENT }
        try giveNames(types, names)
        return KV_OK
    }
}

@c @implementation public func kv_registry_type(
    _ registry: OpaquePointer?, _ expression: kv_str, _ type: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let registry = Handle.borrow(registry, as: RegistryHandle.self)?.registry ?? TypeRegistry()
        let found = try registry.type(try expression.string("expression"))
        type?.pointee = Handle.give(TypeHandle(found))
        return KV_OK
    }
}

@c @implementation public func kv_registry_generation(_ registry: OpaquePointer?) -> UInt64 {
    guard let registry = Handle.borrow(registry, as: RegistryHandle.self)?.registry else { return 0 }
    return UInt64(truncatingIfNeeded: registry.generation)
}

@c @implementation public func kv_registry_describe(
    _ registry: OpaquePointer?, _ description: OpaquePointer?, _ type: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let registry = try require(registry, RegistryHandle.self, "registry").registry
        let found = try registry.declare(description: try tree(description, "description"))
        type?.pointee = Handle.give(TypeHandle(found))
        return KV_OK
    }
}

@c @implementation public func kv_registry_annotations(
    _ registry: OpaquePointer?, _ text: UnsafeMutablePointer<kv_bytes>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        try giveBytes(try require(registry, RegistryHandle.self, "registry").registry.annotations.utf8, text)
        return KV_OK
    }
}

@c @implementation public func kv_type_declaration(
    _ type: OpaquePointer?, _ text: UnsafeMutablePointer<kv_bytes>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        guard let declaration = try require(type, TypeHandle.self, "type").type.declaration else { return KV_ABSENT }
        try giveBytes(declaration.utf8, text)
        return KV_OK
    }
}

@c @implementation public func kv_type_at(
    _ type: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int,
    _ part: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let type = try require(type, TypeHandle.self, "type").type
        return give(type.type(at: try path(steps, count)), part)
    }
}

@c @implementation public func kv_type_json_schema(
    _ type: OpaquePointer?, _ text: UnsafeMutablePointer<kv_bytes>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let schema = try require(type, TypeHandle.self, "type").type.jsonSchema()
        try giveBytes(try schema.serialized(as: .json), text)
        return KV_OK
    }
}

@c @implementation public func kv_registry_publish(
    _ registry: OpaquePointer?, _ expression: kv_str, _ name: kv_str, _ file: UnsafeMutablePointer<kv_bytes>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let registry = try require(registry, RegistryHandle.self, "registry").registry
        let type = try registry.type(try expression.string("expression"))
        let path = try PublishedTypes.publish(type, for: try name.string("name"))
        try giveBytes(path.utf8, file)
        return KV_OK
    }
}

@c @implementation public func kv_type_published(
    _ name: kv_str, _ type: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        guard let found = try PublishedTypes.type(of: try name.string("name")) else { return KV_ABSENT }
        type?.pointee = Handle.give(TypeHandle(found))
        return KV_OK
    }
}

@c @implementation public func kv_type_free(_ type: OpaquePointer?) {
    Handle.take(type, as: TypeHandle.self)
}

@c @implementation public func kv_type_copy(_ type: OpaquePointer?) -> OpaquePointer? {
    Handle.borrow(type, as: TypeHandle.self).map { Handle.give(TypeHandle($0.type)) }
}

@c @implementation public func kv_type_equal(_ left: OpaquePointer?, _ right: OpaquePointer?) -> CInt {
    let (first, second) = (Handle.borrow(left, as: TypeHandle.self), Handle.borrow(right, as: TypeHandle.self))
    return first === second || first?.type == second?.type ? 1 : 0
}

@c @implementation public func kv_type_decode(
    _ type: OpaquePointer?, _ stored: OpaquePointer?, _ value: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let type = try require(type, TypeHandle.self, "type").type
        giveTree(try type.decode(try tree(stored, "stored")), value)
        return KV_OK
    }
}

@c @implementation public func kv_type_encode(
    _ type: OpaquePointer?, _ value: OpaquePointer?, _ stored: OpaquePointer?, _ flags: UInt32,
    _ result: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let type = try require(type, TypeHandle.self, "type").type
        let old = Handle.borrow(stored, as: TreeHandle.self)?.list
        let encoded = try type.encode(try tree(value, "value"), over: old, options: try encodeOptions(flags))
        giveTree(encoded.list, result)
        return KV_OK
    }
}
