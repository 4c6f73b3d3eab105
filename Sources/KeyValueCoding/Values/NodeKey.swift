/// The last key of a node's path.
///
/// A key is seldom asked for: by an error, or by a type that looks at its path. A copy of each in an existential would
/// cost as much as finding its value.
enum NodeKey {
    /// The path is the parent's.
    case none
    case index(Int)
    /// The key that a container was asked for, where it stands. Sound because it is set for the time that the container
    /// waits for the value, which has the key and does not change it, and taken away before it goes on.
    case lent(UnsafeRawPointer, any CodingKey.Type)
    /// One that the node holds.
    case owned

    var codingKey: (any CodingKey)? {
        switch self {
        case .none, .owned: nil
        case .index(let index): IndexKey(index)
        case .lent(let key, let type): Self.load(key, type)
        }
    }

    private static func load<Key: CodingKey>(_ key: UnsafeRawPointer, _ type: Key.Type) -> any CodingKey {
        key.assumingMemoryBound(to: Key.self).pointee
    }
}
