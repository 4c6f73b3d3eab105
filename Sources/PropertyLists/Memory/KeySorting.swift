package import CKVCodable

/// Sorts key nodes by their bytes and drops all but the last of equal ones; gives how many are left.
///
/// The keys come in the order in which they were written; the survivors stand at the front. Every key must lie within
/// `bytes`.
package func sortKeys(
    _ keys: UnsafeMutableBufferPointer<kv_node>, bytes: UnsafeBufferPointer<UInt8>
) -> Int {
    let sorting = KeySorting(keys: keys, bytes: bytes)
    guard !sorting.isSorted else { return keys.count }
    return withUnsafeTemporaryAllocation(of: KeySorting.Entry.self, capacity: keys.count) { sorting.sort(in: $0) }
}

/// Keys are compared by eight of their bytes, loaded once; by all of them only where these are equal.
private struct KeySorting {
    struct Entry {
        var word: UInt64
        /// Where the key stood among those that were written.
        var position: Int
        var key: kv_node
    }

    private let keys: UnsafeMutableBufferPointer<kv_node>
    private let bytes: UnsafeBufferPointer<UInt8>
    /// How long a beginning all keys share (`item-0001`, `item-0002`): the words are what is behind it.
    private var shared = 0

    init(keys: UnsafeMutableBufferPointer<kv_node>, bytes: UnsafeBufferPointer<UInt8>) {
        self.keys = keys
        self.bytes = bytes
        if keys.count > 32 { shared = sharedLength() }
    }

    private func sharedLength() -> Int {
        let first = text(of: keys[0])
        var shared = first.count
        for key in keys where shared > 0 {
            let other = text(of: key)
            shared = min(shared, other.count)
            shared = (0..<shared).first { first[$0] != other[$0] } ?? shared
        }
        return shared
    }

    private func text(of key: kv_node) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(
            start: bytes.baseAddress.map { $0 + Int(truncatingIfNeeded: key.payload) }, count: Int(key.count))
    }

    private func word(of key: kv_node) -> UInt64 { leadingWord(text(of: key), from: shared) }

    /// Whether the words alone tell that the keys are in order and none is there twice.
    var isSorted: Bool {
        var last: UInt64 = 0
        for (position, key) in keys.enumerated() {
            let word = word(of: key)
            if position > 0, word <= last { return false }
            last = word
        }
        return true
    }

    func sort(in memory: UnsafeMutableBufferPointer<Entry>) -> Int {
        var entries = memory
        for (position, key) in keys.enumerated() {
            entries.initializeElement(at: position, to: Entry(word: word(of: key), position: position, key: key))
        }
        entries.sort { left, right in
            if left.word != right.word { return left.word < right.word }
            let order = compareBytes(text(of: left.key), text(of: right.key))
            return order == 0 ? left.position < right.position : order < 0
        }
        // Of equal keys, which stand together, the last stays.
        var kept = 0
        for (index, entry) in entries.enumerated() {
            if index > 0, entry.word == entries[index - 1].word,
                compareBytes(text(of: entries[index - 1].key), text(of: entry.key)) == 0
            {
                kept -= 1
            }
            keys[kept] = entry.key
            kept += 1
        }
        return kept
    }
}
