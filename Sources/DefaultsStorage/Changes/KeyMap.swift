internal import Glibc
internal import PropertyLists

/// A map from keys to values whose copies share what they have in common: a copy costs nothing, and a change of one of
/// two copies copies a few nodes. Keys are compared and hashed by their bytes. A map never loses a key: the store records
/// a removal as a value.
///
/// A tree. Each node has an entry, and a child for each value of the next three bits of the hash.
struct KeyMap<Value> {
    final class Node {
        fileprivate let hash: UInt64
        let key: [UInt8]
        // Guarded by the lock of the map's owner: checking each access as well would cost a fifth of a get.
        @exclusivity(unchecked) fileprivate(set) var value: Value
        @exclusivity(unchecked) fileprivate var children: InlineArray<8, Node?>

        fileprivate init(_ hash: UInt64, _ key: [UInt8], _ value: Value, _ children: InlineArray<8, Node?>) {
            (self.hash, self.key, self.value, self.children) = (hash, key, value, children)
        }

        fileprivate func copy() -> Node { Node(hash, key, value, children) }

        fileprivate func hasKey(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
            guard key.count == other.count else { return false }
            return key.withUnsafeBufferPointer { own in
                guard let one = own.baseAddress, let two = other.baseAddress else { return true }
                return memcmp(one, two, other.count) == 0
            }
        }
    }

    private var root: Node?
    private(set) var count = 0
    /// Read once for the map: a look at a global costs a call.
    private let seed = keySeed

    var isEmpty: Bool { root == nil }

    /// Whether nothing has been changed since one of the maps was copied from the other.
    func isSame(as other: KeyMap) -> Bool { root === other.root }

    subscript(key: UnsafeBufferPointer<UInt8>) -> Value? {
        guard root != nil else { return nil }
        return find(key, hashBytes(key, seed))?.value
    }

    private func find(_ key: UnsafeBufferPointer<UInt8>, _ hash: UInt64) -> Node? {
        guard let root else { return nil }
        // A node lives as long as the root: counting references on the way would take half of the time.
        var place = Unmanaged.passUnretained(root)
        var bits = hash
        while true {
            let isFound = place._withUnsafeGuaranteedRef { $0.hash == hash && $0.hasKey(key) }
            if isFound { return place.takeUnretainedValue() }
            let next = place._withUnsafeGuaranteedRef { node in
                node.children[Int(bits & 7)].map { Unmanaged.passUnretained($0) }
            }
            guard let next else { return nil }
            place = next
            bits >>= 3
        }
    }

    private func find(_ node: Node) -> Node? { node.key.withUnsafeBufferPointer { find($0, node.hash) } }

    mutating func set(_ value: Value, for key: UnsafeBufferPointer<UInt8>) {
        change(key, or: value) { $0 = value }
    }

    /// Changes the value of a key where it stands. A new key first gets the value `initial`.
    mutating func change<Result, Failure: Error>(
        _ key: UnsafeBufferPointer<UInt8>, or initial: @autoclosure () -> Value,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let hash = hashBytes(key, seed)
        let node = Self.own(key, hash, bits: hash, in: &root, initial, &count)
        return try body(&node.value)
    }

    /// The node of a key, after all nodes on the way to it that another map has, too, were copied.
    private static func own(
        _ key: UnsafeBufferPointer<UInt8>, _ hash: UInt64, bits: UInt64, in place: inout Node?,
        _ initial: () -> Value, _ count: inout Int
    ) -> Node {
        if !isKnownUniquelyReferenced(&place) { place = place?.copy() }
        guard let node = place else {
            let new = Node(hash, Array(key), initial(), InlineArray(repeating: nil))
            count += 1
            place = new
            return new
        }
        if node.hash == hash, node.hasKey(key) { return node }
        return own(key, hash, bits: bits >> 3, in: &node.children[Int(bits & 7)], initial, &count)
    }

    /// The entries, in the order of the bytes of their keys.
    func sorted() -> [Node] {
        var nodes: [Node] = []
        nodes.reserveCapacity(count)
        visit { nodes.append($0) }
        // Eight bytes decide nearly always, and without a look at the keys.
        let order = nodes.map { node in (word: node.key.withUnsafeBufferPointer { leadingWord($0) }, node: node) }
        return order.sorted { left, right in
            if left.word != right.word { return left.word < right.word }
            return left.node.key.lexicographicallyPrecedes(right.node.key)
        }.map { $0.node }
    }

    /// Calls `body` with each entry, in no order.
    func visit<Failure: Error>(_ body: (Node) throws(Failure) -> Void) throws(Failure) {
        try Self.visit(root, body)
    }

    private static func visit<Failure: Error>(
        _ node: Node?, _ body: (Node) throws(Failure) -> Void
    ) throws(Failure) {
        guard let node else { return }
        try body(node)
        for index in node.children.indices { try visit(node.children[index], body) }
    }

    /// Calls `body` with each key that only one of two maps has, or whose entry was changed in one of them, in no order.
    /// The two values of a changed entry can be equal. Visits only the nodes that the maps do not share.
    func forEachDifference<Failure: Error>(
        from old: KeyMap, _ body: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        try compare(root, old.root, old, body)
    }

    private func compare<Failure: Error>(
        _ new: Node?, _ old: Node?, _ map: KeyMap, _ body: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        if new === old { return }
        if let new, map.find(new) !== new { try body(new.key) }
        if let old, find(old) == nil { try body(old.key) }
        for index in 0..<8 { try compare(new?.children[index], old?.children[index], map, body) }
    }
}

/// Differs from run to run, so that no file can be prepared whose keys collide.
private let keySeed = UInt64.random(in: .min ... .max)
