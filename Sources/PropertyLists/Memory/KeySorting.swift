package import CKVCodable

/// Sorts key nodes by their bytes and drops all but the last of equal keys. Returns the number of keys left.
///
/// The keys come in the order in which they were written. The remaining keys stand at the front. Every key must lie
/// within `bytes`. Takes O(n log n) comparisons at most, and O(n) for keys that are in order.
package func sortKeys(
    _ keys: UnsafeMutableBufferPointer<kv_node>, bytes: UnsafeBufferPointer<UInt8>
) -> Int {
    guard keys.count > 1 else { return keys.count }
    return withUnsafeTemporaryAllocation(of: KeyEntry.self, capacity: keys.count) { entries in
        let text = KeyText(keys: keys, bytes: bytes)
        let areFew = keys.count < 64
        let shared = areFew ? 0 : text.sharedLength()
        var isSorted = true
        for slot in keys.indices {
            let entry = KeyEntry(word: leadingWord(text[slot], from: shared), slot: slot)
            entries.initializeElement(at: slot, to: entry)
            guard slot > 0 else { continue }
            let order = text.compare(entries[slot - 1], entry)
            isSorted = isSorted && order < 0
            if areFew, order > 0 { insert(entry, into: entries, before: slot, text) }
        }
        if isSorted { return keys.count }
        if !areFew { sortMany(entries, text) }
        return arrange(keys, entries, bytes)
    }
}

/// Inserts an entry behind those that are not greater: of equal keys the last written comes last.
private func insert(
    _ entry: KeyEntry, into entries: UnsafeMutableBufferPointer<KeyEntry>, before end: Int, _ text: KeyText
) {
    var place = end
    while place > 0, text.compare(entries[place - 1], entry) > 0 {
        entries[place] = entries[place - 1]
        place -= 1
    }
    entries[place] = entry
}

/// Brings the keys into the order of the entries. Of equal keys the last stays.
private func arrange(
    _ keys: UnsafeMutableBufferPointer<kv_node>, _ entries: UnsafeMutableBufferPointer<KeyEntry>,
    _ bytes: UnsafeBufferPointer<UInt8>
) -> Int {
    withUnsafeTemporaryAllocation(of: kv_node.self, capacity: keys.count) { written in
        _ = written.initialize(fromContentsOf: keys)
        let text = KeyText(keys: written, bytes: bytes)
        var kept = 0
        for place in entries.indices {
            if place > 0, text.compare(entries[place - 1], entries[place]) == 0 { kept -= 1 }
            keys[kept] = written[entries[place].slot]
            kept += 1
        }
        return kept
    }
}

/// The place of a key as it was written, and eight of its bytes behind those that all keys share (`item-0001`,
/// `item-0002`), as a number.
private struct KeyEntry {
    var word: UInt64
    var slot: Int
}

/// Sorts many entries by their words, one byte after another from the lowest, without the bytes in which all words agree.
/// Entries whose words are equal are sorted by their text then. Each step is stable. The standard library's sort takes
/// three times as long: the row "10,000-key table" of `make bench` would take 1.4 times as long.
private func sortMany(_ entries: UnsafeMutableBufferPointer<KeyEntry>, _ text: KeyText) {
    let differing = entries.reduce(0) { $0 | ($1.word ^ entries[0].word) }
    withUnsafeTemporaryAllocation(of: KeyEntry.self, capacity: entries.count) { scratch in
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { starts in
            _ = scratch.initialize(fromContentsOf: entries)
            var (source, target) = (entries, scratch)
            for shift in stride(from: UInt64(0), to: 64, by: 8) where differing &>> shift & 0xFF != 0 {
                starts.initialize(repeating: 0)
                for slot in source.indices { starts[Int(source[slot].word &>> shift & 0xFF)] += 1 }
                var start = 0
                for byte in starts.indices { (starts[byte], start) = (start, start + starts[byte]) }
                for slot in source.indices {
                    let byte = Int(source[slot].word &>> shift & 0xFF)
                    target[starts[byte]] = source[slot]
                    starts[byte] += 1
                }
                swap(&source, &target)
            }
            if source.baseAddress != entries.baseAddress { _ = entries.update(fromContentsOf: source) }
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

/// The keys, and the bytes that hold their text.
private struct KeyText {
    let keys: UnsafeMutableBufferPointer<kv_node>
    let bytes: UnsafeBufferPointer<UInt8>

    subscript(slot: Int) -> UnsafeBufferPointer<UInt8> {
        let start = bytes.baseAddress.map { $0 + Int(truncatingIfNeeded: keys[slot].payload) }
        return UnsafeBufferPointer(start: start, count: Int(keys[slot].count))
    }

    /// The order of two keys: that of their words, and of all their bytes only if the words are equal.
    func compare(_ left: KeyEntry, _ right: KeyEntry) -> Int {
        left.word == right.word ? compareBytes(self[left.slot], self[right.slot]) : left.word < right.word ? -1 : 1
    }

    /// The number of bytes with which all keys begin.
    func sharedLength() -> Int {
        let first = self[0]
        var shared = first.count
        for slot in keys.indices where shared > 0 {
            shared = PropertyLists.sharedLength(first, self[slot], upTo: shared)
        }
        return shared
    }
}
