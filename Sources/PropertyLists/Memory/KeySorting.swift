package import CKVCodable

/// Sorts key nodes by their bytes and drops all but the last of equal keys. Returns the number of keys left.
///
/// The keys come in the order in which they were written. The remaining keys stand at the front. Every key must lie
/// within `bytes`. Takes O(n log n) comparisons at most, and O(n) for keys that are in order.
package func sortKeys(
    _ keys: UnsafeMutableBufferPointer<kv_node>, bytes: UnsafeBufferPointer<UInt8>
) -> Int {
    guard keys.count > 1 else { return keys.count }
    return withUnsafeTemporaryAllocation(of: KeyEntry.self, capacity: keys.count) { memory in
        var entries = memory
        let text = KeyText(bytes: bytes)
        let shared = text.sharedLength(of: keys)
        var isSorted = true
        for (slot, key) in keys.enumerated() {
            let entry = KeyEntry(word: leadingWord(text[key], from: shared), key: key)
            entries.initializeElement(at: slot, to: entry)
            isSorted = isSorted && (slot == 0 || text.compare(entries[slot - 1], entry) < 0)
        }
        if isSorted { return keys.count }
        // A stable sort: of equal keys the last written comes last.
        if keys.count < 64 { entries.sort { text.compare($0, $1) < 0 } } else { sortMany(entries, text) }
        var kept = 0
        for slot in entries.indices {
            if slot > 0, text.compare(entries[slot - 1], entries[slot]) == 0 { kept -= 1 }
            keys[kept] = entries[slot].key
            kept += 1
        }
        return kept
    }
}

/// A key, and eight of its bytes behind those that all keys share (`item-0001`, `item-0002`), as a number.
private struct KeyEntry {
    var word: UInt64
    var key: kv_node
}

/// Sorts many entries by their words, one byte after another from the lowest, without the bytes in which all words agree.
/// Entries whose words are equal are sorted by their text then. Each step is stable. The standard library's sort takes
/// three times as long: the row "10,000-key table" of `make bench` would take 1.4 times as long.
private func sortMany(_ entries: UnsafeMutableBufferPointer<KeyEntry>, _ text: KeyText) {
    let differing = entries.reduce(0) { $0 | $1.word ^ entries[0].word }
    withUnsafeTemporaryAllocation(of: KeyEntry.self, capacity: entries.count) { scratch in
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { ends in
            _ = scratch.initialize(fromContentsOf: entries)
            for shift in stride(from: 0, to: 64, by: 8) where differing >> shift & 0xFF != 0 {
                ends.initialize(repeating: 0)
                for entry in entries { ends[Int(entry.word >> shift & 0xFF)] += 1 }
                for byte in 1..<256 { ends[byte] += ends[byte - 1] }
                for slot in entries.indices.reversed() {
                    let byte = Int(entries[slot].word >> shift & 0xFF)
                    ends[byte] -= 1
                    scratch[ends[byte]] = entries[slot]
                }
                _ = entries.update(fromContentsOf: scratch)
            }
        }
    }
    var start = 0
    for end in 1...entries.count where end == entries.count || entries[end].word != entries[start].word {
        if end - start > 1 {
            var equal = UnsafeMutableBufferPointer(rebasing: entries[start..<end])
            equal.sort { text.compare($0, $1) < 0 }
        }
        start = end
    }
}

/// The bytes that hold the keys' text.
private struct KeyText {
    let bytes: UnsafeBufferPointer<UInt8>

    subscript(key: kv_node) -> UnsafeBufferPointer<UInt8> {
        let start = bytes.baseAddress.map { $0 + Int(truncatingIfNeeded: key.payload) }
        return UnsafeBufferPointer(start: start, count: Int(key.count))
    }

    /// The order of two keys: that of their words, and of all their bytes only if the words are equal.
    func compare(_ left: KeyEntry, _ right: KeyEntry) -> Int {
        left.word == right.word ? compareBytes(self[left.key], self[right.key]) : left.word < right.word ? -1 : 1
    }

    /// The number of bytes with which all keys begin.
    func sharedLength(of keys: UnsafeMutableBufferPointer<kv_node>) -> Int {
        let first = self[keys[0]]
        var shared = first.count
        for key in keys where shared > 0 { shared = PropertyLists.sharedLength(first, self[key], upTo: shared) }
        return shared
    }
}
