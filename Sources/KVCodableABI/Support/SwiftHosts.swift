public import CKVCodable
public import CodableTypes
public import DefaultsStorage
public import PropertyLists

// For Swift programs that embed Lua: the handles that the functions of kvcodable.h and kvcodable_lua.h take and give.

extension DefaultsStore {
    /// Gives the store as a `kv_store`, which the caller frees with `kv_store_free`. It is this handle, not another:
    /// closing the one closes the other.
    public func makeCHandle() -> OpaquePointer { Handle.give(self) }

    /// The store behind a `kv_store`, whose reference is taken; nil for NULL.
    public static func taking(cHandle handle: OpaquePointer?) -> DefaultsStore? {
        Handle.take(handle, as: DefaultsStore.self)
    }
}

extension PropertyList {
    /// Gives the value as a `kv_tree`, which the caller frees with `kv_tree_free`.
    public func makeCHandle() -> OpaquePointer { Handle.give(TreeHandle(self)) }

    /// The value of a `kv_tree`, which is taken; nil for NULL.
    public static func taking(cHandle handle: OpaquePointer?) -> PropertyList? {
        Handle.take(handle, as: TreeHandle.self)?.list
    }
}

extension PropertyListPath {
    /// The path as functions of C take it: a pointer to its steps and their number, for the time of the call.
    public func withCSteps<Result>(_ body: (UnsafePointer<kv_step>?, Int) throws -> Result) rethrows -> Result {
        let texts = steps.map(ErrorHandle.Step.init)
        return try withExtendedLifetime(texts) {
            try texts.map(\.borrowed).withUnsafeBufferPointer { try body($0.baseAddress, $0.count) }
        }
    }
}

extension TypeRegistry {
    /// Gives the registry as a `kv_registry`, which the caller frees with `kv_registry_free`.
    public func makeCHandle() -> OpaquePointer { Handle.give(RegistryHandle(self)) }
}
