public import CKVCodable

/// Keys that dictionaries of one kind have had, in the order of their bytes: the next one's need not be sorted.
///
/// All of them are ASCII. What is known never changes; used by one thread.
@usableFromInline package final class KnownKeys {
    @usableFromInline struct Entry {
        @usableFromInline var name: String
        /// The text, if it is not longer than the two words.
        @usableFromInline var words: (UInt64, UInt64) = (0, 0)
        @usableFromInline var length: Int
        /// The key's place in the order.
        @usableFromInline var rank = 0
    }

    /// How many keys are known at most: there is a bit for each.
    static var limit: Int { 64 }
    /// How often keys are added: a kind that always comes with new ones is not worth it.
    private static var growths: Int { 8 }

    /// In the order in which they came; `count` of them, all initialised, and freed with this object.
    @usableFromInline let entries: UnsafeMutablePointer<Entry>
    @usableFromInline package let count: Int
    /// What dictionaries that are still open may go by.
    private let previous: KnownKeys?
    private let growth: Int

    /// - Returns: nil where there are too many, or too many ways in which they come.
    fileprivate init?(_ names: [String], after previous: KnownKeys?) {
        var names = names
        if let previous {
            let known = (0..<previous.count).map { previous.entries[$0].name }
            names = known + names.filter { !known.contains($0) }
        }
        growth = (previous?.growth ?? 0) + 1
        self.previous = previous
        count = names.count
        entries = .allocate(capacity: max(count, 1))
        for (index, name) in names.enumerated() { (entries + index).initialize(to: Entry(name)) }
        guard count <= Self.limit, growth <= Self.growths else { return nil }
        let order = names.indices.sorted { Self.precedes(names[$0], names[$1]) }
        for (rank, index) in order.enumerated() { entries[index].rank = rank }
    }

    deinit {
        entries.deinitialize(count: count)
        entries.deallocate()
    }

    private static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    /// The entry of a key, which most often is the one at `hint`.
    @inlinable @inline(__always)
    func index(of name: String, at hint: Int) -> Int? {
        hint < count && entries[hint].isKey(name) ? hint : search(name, from: hint)
    }

    @usableFromInline func search(_ name: String, from hint: Int) -> Int? {
        for step in 0..<count {
            var index = hint + step
            if index >= count { index -= count }
            if index < count, entries[index].isKey(name) { return index }
        }
        return nil
    }
}

extension KnownKeys.Entry {
    /// Whether the name has the same bytes. Strings are equal that have not, but not if one is ASCII and the other is
    /// as long.
    @inlinable @inline(__always)
    func isKey(_ other: String) -> Bool { length == other.utf8.count && name == other }

    fileprivate init(_ name: String) {
        self.name = name
        length = name.utf8.count
        guard length <= 16 else { return }
        withUnsafeMutableBytes(of: &words) { $0.copyBytes(from: name.utf8) }
    }
}

// MARK: - Dictionaries of known keys

extension PropertyListBuilder {
    /// Begins a dictionary whose keys are expected to be known: each goes at once to its place in the order.
    package mutating func beginDictionary(of known: KnownKeys) throws(PropertyListError) {
        try begin(.dictionary, place: .placedKey, slots: known.count)
        keys.reserve(known.count)
        keys.count &+= known.count
    }

    /// Names the value that comes next by a known key.
    ///
    /// - Parameter hint: which of the keys is expected.
    /// - Returns: which one it was; nil, and nothing is done, where the key is not known or came before.
    @inlinable @inline(__always)
    package mutating func key(_ name: String, of known: KnownKeys, at hint: Int) -> Int? {
        guard place == .placedKey, let index = known.index(of: name, at: hint) else { return nil }
        let entry = known.entries + index
        let rank = entry.pointee.rank
        let length = entry.pointee.length
        let bit = 1 &<< rank
        guard elements & bit == 0 else { return nil }
        elements |= bit
        place = .placedValue
        var node = kv_node(kind: .null, count: length, payload: UInt64(truncatingIfNeeded: bytes.count))
        node.distance = nodes.count &- header
        keys[keys.count &- known.count &+ rank] = node
        guard length <= 16 else {
            bytes.append(text: name)
            return index
        }
        bytes.reserve(16)
        // Two words whatever the length: what is too much is written over by what comes next.
        let target = UnsafeMutableRawPointer(bytes.base.unsafelyUnwrapped + bytes.count)
        target.storeBytes(of: entry.pointee.words.0, as: UInt64.self)
        target.storeBytes(of: entry.pointee.words.1, toByteOffset: 8, as: UInt64.self)
        bytes.count &+= length
        return index
    }

    /// Goes on with keys of any kind in a dictionary that was begun with known ones.
    mutating func leaveKnownKeys() {
        guard place == .placedKey, frames.count > 0 else { return }
        let frame = frames[frames.count &- 1]
        // Behind the slots, which stay as they are for a mark that was taken before.
        for key in writtenKeys(of: frame, elements) { keys.append(key) }
        elements = 0
        place = .key
    }

    /// The keys of a dictionary of known ones so far, in the order in which they were written.
    func writtenKeys(of frame: Frame, _ present: Int) -> [kv_node] {
        var written: [kv_node] = []
        for slot in 0..<frame.slots where present & (1 &<< slot) != 0 { written.append(keys[frame.firstKey + slot]) }
        return written.sorted { $0.distance < $1.distance }
    }

    /// Puts the keys of the open dictionary behind its values.
    mutating func placeKnownKeys(of frame: Frame) throws(PropertyListError) {
        guard nodes.count &+ frame.slots <= PropertyListLimits.nodes else { throw tooManyNodes() }
        nodes.reserve(frame.slots)
        let start = nodes.count
        if let source = keys.base, let target = nodes.base {
            var rest = UInt(bitPattern: elements)
            while rest != 0 {
                target[nodes.count] = source[frame.firstKey &+ rest.trailingZeroBitCount]
                nodes.count &+= 1
                rest &= rest &- 1
            }
        }
        close(frame, entries: nodes.count &- start)
    }

    /// The keys of the dictionary that was closed last and begins at `header`, with those that were known before; nil
    /// where they are not worth knowing.
    package func knownKeys(ofDictionaryAt header: Int, after previous: KnownKeys?) -> KnownKeys? {
        let count = Int(nodes[header].count)
        guard count > 0, count <= KnownKeys.limit else { return nil }
        var written: [kv_node] = []
        for slot in nodes.count - count..<nodes.count { written.append(nodes[slot]) }
        written.sort { $0.distance < $1.distance }
        var names: [String] = []
        for key in written {
            let name = text(of: key)
            guard name.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
            names.append(name)
        }
        return KnownKeys(names, after: previous)
    }
}
