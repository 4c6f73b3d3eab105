public import PropertyLists

extension DefaultsStore {
    /// The rights of another handle on a store.
    ///
    /// ```swift
    /// let reader = try store.anotherHandle(.readOnly)  // for a plug-in, say
    /// print(try reader.keys())
    /// try reader.close()  // the store stays open
    /// ```
    public enum Access: Sendable, Hashable {
        /// The rights of the handle that it is made from.
        case same
        /// To read alone.
        case readOnly
    }

    /// Another handle on the same store, of the same search list and options, with the defaults that are registered
    /// now. It has watches of its own, and closing one of the two leaves the other open: for a part of the program that
    /// closes the store it is given.
    ///
    /// ```swift
    /// let plugin = try store.anotherHandle(quota: 1 << 20, at: ["plugins", "clock"])
    /// try plugin.set(PropertyList(any: "analogue"), at: ["plugins", "clock", "face"])
    /// ```
    ///
    /// - Parameters:
    ///   - access: whether the handle may change the store.
    ///   - quota: the most bytes that the value at `root` may take in memory after a set of this handle; nil
    ///     for no bound but the store's own. All of the value's bytes count, those of other handles too, and so do
    ///     those of a lower layer's value that a set copies. Counted at each set, in a transaction too; one that does
    ///     not make the value larger is always possible. Beyond it a set is ``DefaultsError/Code/limitExceeded``, with
    ///     the quota and the size. The handle's own quotas hold for the other one, too.
    ///   - root: a path that begins with a key; the empty path for all that the application's domain holds.
    public func anotherHandle(
        _ access: Access = .same, quota: Int? = nil, at root: PropertyListPath = []
    ) throws(DefaultsError) -> DefaultsStore {
        var options = Options()
        options.isReadOnly = isReadOnly || access == .readOnly
        options.timeout = state.timeout
        options.maximumBytes = state.limits.bytes
        options.maximumNodes = state.limits.nodes
        var quotas = state.quotas
        if let quota {
            switch root.steps.first {
            case nil: options.maximumBytes = min(options.maximumBytes, max(quota, 0))
            case .key(let key):
                let rest = PropertyListPath(Array(root.steps.dropFirst()))
                quotas.append(Quota(key: key, rest: rest, bytes: max(quota, 0)))
            case .index: throw DefaultsError(.pathMismatch, .expected("Array", found: "Dictionary"))
            }
        }
        options.durability = durability
        options.validation = validation
        options.schema = schema
        options.defaults = try domain.lock.withLock { () throws(DefaultsError) in
            try state.checkOpen()
            return state.registered
        }
        return try DefaultsStore(domain, layers, options, quotas: quotas)
    }
}
