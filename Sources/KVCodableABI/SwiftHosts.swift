internal import CKVCodable
public import CodableTypes
public import DefaultsStorage
public import PropertyLists

// For Swift programs that embed Lua: what the functions of kvcodable.h and kvcodable_lua.h take and give.

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

extension TypeRegistry {
    /// Gives the registry as a `kv_registry`, which the caller frees with `kv_registry_free`.
    public func makeCHandle() -> OpaquePointer { Handle.give(RegistryHandle(self)) }
}
