package import CKVCodable

/// Sorts key nodes by their bytes and drops all but the last of equal keys. Returns the number of keys left.
///
/// The keys come in the order in which they were written. The remaining keys stand at the front. Every key must lie
/// within `bytes`. Takes O(n log n) comparisons at most, and O(n) for keys that are in order.
package func sortKeys(
    _ keys: UnsafeMutableBufferPointer<kv_node>, bytes: UnsafeBufferPointer<UInt8>
) -> Int {
    guard keys.count > 1 else { return keys.count }
    if keys.count < 64 { return sortFew(keys, bytes) }
    return withUnsafeTemporaryAllocation(of: KeyEntry.self, capacity: keys.count) { entries in
        let text = KeyText(keys: keys, bytes: bytes)
        let shared = text.sharedLength()
        var isSorted = true
        for slot in keys.indices {
            let entry = KeyEntry(word: leadingWord(text[slot], from: shared), slot: slot)
            entries.initializeElement(at: slot, to: entry)
            if slot > 0, text.compare(entries[slot - 1], entry) >= 0 { isSorted = false }
        }
        if isSorted { return keys.count }
        sortMany(entries, text)
        return arrange(keys, entries, bytes)
    }
}

/// Sorts by insertion: each key goes into the sorted ones before it, or takes the place of an equal one.
private func sortFew(
    _ keys: UnsafeMutableBufferPointer<kv_node>, _ bytes: UnsafeBufferPointer<UInt8>
) -> Int {
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: keys.count) { words in
        let text = KeyText(keys: keys, bytes: bytes)
        var kept = 0
        for slot in keys.indices {
            let key = keys[slot]
            let word = leadingWord(text[slot])
            var place = kept
            var order = -1
            while place > 0 {
                let other = words[place - 1]
                order = other == word ? compareBytes(text[place - 1], text[slot]) : other < word ? -1 : 1
                if order <= 0 { break }
                place -= 1
            }
            if place > 0, order == 0 {
                keys[place - 1] = key
                continue
            }
            for index in stride(from: kept, to: place, by: -1) {
                keys[index] = keys[index - 1]
                words[index] = words[index - 1]
            }
            keys[place] = key
            words.initializeElement(at: place, to: word)
            kept += 1
        }
        return kept
    }
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
