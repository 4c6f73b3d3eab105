public import CKVCodable
internal import CodableTypes
internal import DefaultsStorage
internal import KVCodable
internal import PropertyLists

@c @implementation public func kv_merge(
    _ ancestor: OpaquePointer?, _ ours: OpaquePointer?, _ theirs: OpaquePointer?,
    _ merged: UnsafeMutablePointer<OpaquePointer?>?, _ conflicts: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let result = try PropertyList.merge(
            ancestor: optionalTree(ancestor), ours: optionalTree(ours), theirs: optionalTree(theirs))
        giveTree(try list(of: result.conflicts), conflicts)
        return give(result.value, merged)
    }
}

@c @implementation public func kv_store_merge(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ ancestor: OpaquePointer?,
    _ ours: OpaquePointer?, _ type: OpaquePointer?, _ dropped: UnsafeMutablePointer<Int>?,
    _ conflicts: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        let (ancestor, ours) = (optionalTree(ancestor), optionalTree(ours))
        guard let ancestor, let ours else {
            return try give(
                try store.merge(ancestor, ours, at: try path(steps, count), type), of: store, dropped, conflicts)
        }
        let found = try merge(store, steps, count, ancestor, ours, type)
        return try give(found, of: store, dropped, conflicts)
    }
}

@c @implementation public func kv_transaction_merge(
    _ transaction: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ ancestor: OpaquePointer?,
    _ ours: OpaquePointer?, _ type: OpaquePointer?, _ dropped: UnsafeMutablePointer<Int>?,
    _ conflicts: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let transaction = try require(transaction, TransactionHandle.self, "transaction").transaction
        let found = try transaction.merge(optionalTree(ancestor), optionalTree(ours), at: try path(steps, count), type)
        return try give(found, of: transaction.store, dropped, conflicts)
    }
}

/// What a merge found.
struct Merged {
    fileprivate var conflicts: [MergeConflict] = []
    /// The number of dropped elements.
    fileprivate var dropped = 0

    /// Has the store report the conflicts; gives the number of dropped elements.
    func reported(to store: DefaultsStore) -> Int {
        store.report(conflicts)
        return dropped
    }
}

/// Gives what a merge found. Without a place for the conflicts the store reports them.
private func give(
    _ found: Merged, of store: DefaultsStore, _ dropped: UnsafeMutablePointer<Int>?,
    _ conflicts: UnsafeMutablePointer<OpaquePointer?>?
) throws -> kv_status {
    dropped?.pointee = found.dropped
    if conflicts == nil {
        store.report(found.conflicts)
    } else {
        giveTree(try list(of: found.conflicts), conflicts)
    }
    return KV_OK
}

/// Merges a change in a store. What nobody else has changed is set as a whole, where no type has a say in it.
func merge(
    _ store: DefaultsStore, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ ancestor: PropertyList,
    _ ours: PropertyList, _ type: OpaquePointer?
) throws -> Merged {
    if type == nil, let key = try onlyKey(steps, count, in: store),
        try store.setStored(ours, forUTF8Key: key, ifUnchangedFrom: ancestor)
    {
        return Merged()
    }
    return try store.merge(ancestor, ours, at: try path(steps, count), type)
}

/// A storage with merges of values as they are stored.
protocol MergingStorage: PropertyListStorage, SchemaStorage {
    func merge(
        ancestor: PropertyList?, ours: PropertyList?, at path: PropertyListPath
    ) throws(DefaultsError) -> [MergeConflict]
    /// The type that the schema has for a path.
    func type(at path: PropertyListPath) -> CodableType?
}

extension DefaultsStore: MergingStorage {}
extension DefaultsTransaction: MergingStorage {
    func type(at path: PropertyListPath) -> CodableType? { store.type(at: path) }
}

extension MergingStorage {
    /// Sets what differs, as the type shows values, or the schema.
    func merge(
        _ ancestor: PropertyList?, _ ours: PropertyList?, at path: PropertyListPath, _ type: OpaquePointer?
    ) throws -> Merged {
        guard let ours, !path.isEmpty else {
            return Merged(conflicts: try merge(ancestor: ancestor, ours: ours, at: path))
        }
        let options = CodableType.EncodeOptions(ancestor: ancestor)
        if let type = Handle.borrow(type, as: TypeHandle.self)?.type {
            return Merged(dropped: try set(ours, at: path, as: type, options: options))
        }
        if self.type(at: path) != nil { return Merged(dropped: try set(ours, at: path, options.change)) }
        return Merged(conflicts: try merge(ancestor: ancestor, ours: ours, at: path))
    }
}

private func optionalTree(_ tree: OpaquePointer?) -> PropertyList? {
    Handle.borrow(tree, as: TreeHandle.self)?.list
}

/// The conflicts as an array of dictionaries.
private func list(of conflicts: [MergeConflict]) throws(PropertyListError) -> PropertyList {
    var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
    try builder.beginArray()
    for conflict in conflicts {
        try builder.beginDictionary()
        try builder.key("kept")
        try builder.append(string: conflict.kept == .ours ? "ours" : "theirs")
        for (name, value) in [("ours", conflict.ours), ("theirs", conflict.theirs)] {
            guard let value else { continue }
            try builder.key(name)
            try builder.append(value)
        }
        try builder.key("path")
        try builder.beginArray()
        for step in conflict.path.steps {
            switch step {
            case .key(let key): try builder.append(string: key)
            case .index(let index): try builder.append(integer: Int64(index))
            }
        }
        try builder.end()
        try builder.end()
    }
    try builder.end()
    return try builder.finish()
}
