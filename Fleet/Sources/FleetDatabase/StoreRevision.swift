/// A revision of a store.
package struct StoreRevision: Equatable, Sendable {
    /// 0 for a store that was never written.
    package let number: Int64
    /// The 16 bytes that no other commit has; nil for the revision 0.
    let token: [UInt8]?
    /// The 16 bytes that no other store has; nil if the store does not exist yet.
    let identity: [UInt8]?

    /// The revision of a store that was never written.
    package static let zero = StoreRevision(number: 0, token: nil, identity: nil)

    /// A following revision, with a token of its own.
    package func next() -> StoreRevision {
        let token = withUnsafeBytes(of: UInt128.random(in: .min ... .max)) { Array($0) }
        return StoreRevision(number: min(number, .max - 1) + 1, token: token, identity: identity)
    }

    /// The token for the server, which has no token for the revision 0.
    var sentToken: [UInt8] { token ?? [UInt8](repeating: 0, count: 16) }
}

/// A top-level key of a store.
package struct StoreEntry: Equatable, Sendable {
    /// UTF-8, unless another program wrote something else.
    package let key: [UInt8]
    /// A binary property list, unless another program wrote something else; nil for a removed key.
    package let value: [UInt8]?

    package init(key: [UInt8], value: [UInt8]?) {
        self.key = key
        self.value = value
    }
}

/// What a store holds, or what has changed in it.
package struct StoreContents: Sendable {
    package enum Extent: String, Sendable {
        /// `entries` are the keys that changed since the revision that was given.
        case changes
        /// `entries` are all keys.
        case whole
        /// `entries` are all keys, and the server went back to another history, as from a backup.
        case restored
    }

    package let revision: StoreRevision
    package let extent: Extent
    /// In the order of the keys' bytes.
    package let entries: [StoreEntry]
}
