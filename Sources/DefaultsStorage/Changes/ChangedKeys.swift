internal import PropertyLists

/// The top-level keys whose values may have changed since a watch looked last: an inbox's own, or a call's.
final class ChangedKeys {
    private var keys = KeyTable<Void>()
    /// Whether any key may be among them.
    private(set) var isEverything = false

    private let most: Int

    /// - Parameter most: the number of keys that are remembered; with more it is cheaper to look at all keys.
    init(most: Int = 65_536) {
        self.most = most
    }

    var isEmpty: Bool { keys.isEmpty && !isEverything }

    /// The keys, in the order of their bytes; of no meaning where `isEverything`.
    var sorted: [String] { keys.sortedIndices().map { keys.key(at: $0) } }

    /// Whether the value at `path` may have changed.
    func mayReach(_ path: PropertyListPath) -> Bool {
        guard !isEverything, case .key(let key)? = path.steps.first else { return !isEmpty }
        return key.withBytes { keys.find($0.bindMemory(to: UInt8.self)) != nil }
    }

    func insert(_ key: UnsafeBufferPointer<UInt8>) {
        if isEverything { return }
        if keys.count < most { keys.set((), for: key) } else { insertEverything() }
    }

    func insertEverything() {
        keys = KeyTable()
        isEverything = true
    }

    func insert(_ delta: Delta) {
        for index in 0..<delta.entries.count { delta.entries.withKey(at: index) { insert($0) } }
    }

    func formUnion(_ other: ChangedKeys) {
        if other.isEverything { insertEverything() }
        for index in 0..<other.keys.count { other.keys.withKey(at: index) { insert($0) } }
    }

    /// Inserts the keys by which two dictionaries differ: both are walked once, in the order of their keys.
    func insertDifferences(_ old: PropertyList, _ new: PropertyList) {
        if old.document === new.document, old.index == new.index { return }
        for pair in EntryPairs(old, new) where pair.left != pair.right { insert(pair.keyBytes) }
    }
}

/// A dictionary that a watch has told of: the one that it saw first, and the changes since.
struct SeenDictionary {
    private var base: PropertyList
    private var changes = Delta()

    init(_ base: PropertyList) {
        self.base = base
    }

    subscript(key: UnsafeBufferPointer<UInt8>) -> PropertyList? {
        guard let index = changes.find(key) else { return base[utf8: key] }
        guard case .whole(let value)? = changes.entries[index] else { return nil }
        return value
    }

    /// The dictionary as a whole, which is put together once for many changes.
    mutating func whole() throws(PropertyListError) -> PropertyList {
        base = try changes.applied(to: base)
        changes = Delta()
        return base
    }

    mutating func set(_ value: PropertyList?, for key: UnsafeBufferPointer<UInt8>) throws(PropertyListError) {
        if let value { changes.set(value.compacted(), for: key) } else { changes.remove(key) }
        if changes.entries.count > max(64, base.count / 2) { _ = try whole() }
    }
}
