internal import Glibc
internal import PropertyLists

/// The transaction that is open on a domain, and whose thread it is. Guarded by the domain's lock.
final class OpenTransaction {
    let delta = Delta()
    /// What the changes add to the store's size.
    var growth = FileSize()
    let thread = pthread_self()
    /// How many more transactions than one have begun and not ended: nested ones join.
    var depth = 1
    /// Whether one of them was rolled back: nothing of it can be committed.
    var isBroken = false
    /// Whether it brings the store to another version: the program's check waits until it is there.
    var isMigration = false
    /// What is looked at before it is committed.
    var schemas: [SchemaCheck: DefaultsSchema] = [:]
}

/// How many handles want which durability.
struct HandleCounts {
    private var counts = [0, 0, 0]

    /// The strictest of the open handles.
    private(set) var durability = DefaultsDurability.manual

    mutating func add(_ durability: DefaultsDurability) { change(durability, by: 1) }
    mutating func remove(_ durability: DefaultsDurability) { change(durability, by: -1) }

    private mutating func change(_ durability: DefaultsDurability, by step: Int) {
        counts[durability.rawValue] += step
        self.durability = DefaultsDurability.allCases.last { counts[$0.rawValue] > 0 } ?? .manual
    }
}
