import KVCodable
import PropertyLists

/// A store of a test's own, without a file.
func memoryStore() throws -> DefaultsStore {
    var options = DefaultsStore.Options()
    options.engine = .memory
    return try DefaultsStore.open("scratch", options: options)
}

/// A value as a tree.
func list(_ value: Any) throws -> PropertyList { try PropertyList(any: value) }
