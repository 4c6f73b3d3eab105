internal import CKVSystem
internal import PropertyLists

/// The transaction that is open on a domain, and its thread. Guarded by the domain's lock.
final class OpenTransaction {
    let delta = Delta()
    /// The size that the changes add to the store.
    var growth = PropertyListSize.zero
    let thread = cs_thread_number()
    /// The number of transactions that have begun and not ended: nested ones join the first.
    var depth = 1
    /// Whether one of them was rolled back: then none can be committed.
    var isBroken = false
    /// True if it is of one call, whose change is merged with those of other programs.
    let isOneCall: Bool
    /// Whether its thread has begun to write it.
    var isCommitting = false
    /// Whether it brings the store to another version: the program's check waits for the commit.
    var isMigration = false
    /// The number of calls under way whose changes are held to the limits together.
    var wholes = 0
    /// The checks that are made before the commit.
    var schemas: [SchemaCheck: LowerLayers] = [:]

    init(isOneCall: Bool) { self.isOneCall = isOneCall }
}

/// The number of handles for each durability.
struct HandleCounts {
    private var counts = [0, 0, 0]

    /// The strictest of the open handles.
    private(set) var durability = DefaultsDurability.manual

    var isEmpty: Bool { counts.allSatisfy { $0 == 0 } }

    mutating func add(_ durability: DefaultsDurability) { change(durability, by: 1) }
    mutating func remove(_ durability: DefaultsDurability) { change(durability, by: -1) }

    private mutating func change(_ durability: DefaultsDurability, by step: Int) {
        counts[durability.rawValue] += step
        self.durability = DefaultsDurability.allCases.last { counts[$0.rawValue] > 0 } ?? .manual
    }
}
