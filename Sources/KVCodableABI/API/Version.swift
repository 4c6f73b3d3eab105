internal import CKVCodable
internal import Glibc
internal import KVCodable

@c @implementation public func kv_abi_version() -> Int32 { KV_ABI_VERSION }

/// Made once, never freed, never changed.
private nonisolated(unsafe) let versionText: UnsafePointer<CChar>? = UnsafePointer(strdup(libraryVersion))

@c @implementation public func kv_version() -> UnsafePointer<CChar>? { versionText }
