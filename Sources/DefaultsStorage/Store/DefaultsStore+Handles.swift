internal import PropertyLists

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
    public func anotherHandle(_ access: Access = .same) throws(DefaultsError) -> DefaultsStore {
        var options = Options()
        options.isReadOnly = isReadOnly || access == .readOnly
        options.timeout = state.timeout
        options.maximumBytes = state.limits.bytes
        options.maximumNodes = state.limits.nodes
        options.durability = durability
        options.validation = validation
        options.schema = schema
        options.defaults = try domain.lock.withLock { () throws(DefaultsError) in
            try state.checkOpen()
            return state.registered
        }
        return try DefaultsStore(domain, layers, options)
    }
}
