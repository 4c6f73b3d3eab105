package import CKVCodable

/// Sorts key nodes by their bytes and drops all but the last of equal ones; gives the number of keys left.
///
/// The keys come in the order in which they were written; the survivors stand at the front. Every key must lie within
/// `bytes`.
package func sortKeys(
    _ keys: UnsafeMutableBufferPointer<kv_node>, bytes: UnsafeBufferPointer<UInt8>
) -> Int {
    guard keys.count > 1, let base = keys.baseAddress else { return keys.count }
    let text = KeyText(base: bytes.baseAddress, count: bytes.count)
    if keys.count <= KeySorting.small {
        return withUnsafeTemporaryAllocation(of: KeyOrder.self, capacity: KeySorting.small) { order in
            withUnsafeTemporaryAllocation(of: kv_node.self, capacity: KeySorting.small) { scratch in
                guard let order = order.baseAddress, let scratch = scratch.baseAddress else { return keys.count }
                return KeySorting(keys: base, count: keys.count, text: text, order: order, scratch: scratch).sortFew()
            }
        }
    }
    return withUnsafeTemporaryAllocation(of: KeyOrder.self, capacity: keys.count * 2) { order in
        withUnsafeTemporaryAllocation(of: kv_node.self, capacity: keys.count) { scratch in
            guard let order = order.baseAddress, let scratch = scratch.baseAddress else { return keys.count }
            return KeySorting(keys: base, count: keys.count, text: text, order: order, scratch: scratch).sortMany()
        }
    }
}

/// A key's index among the keys as they were written, and eight of its bytes, the first the most significant.
private struct KeyOrder {
    var prefix: UInt64
    var slot: Int
}

/// The bytes that hold the keys' text.
private struct KeyText {
    let base: UnsafePointer<UInt8>?
    let count: Int

    func bytes(of key: kv_node) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: base.map { $0 + Int(truncatingIfNeeded: key.payload) }, count: Int(key.count))
    }

    fileprivate func compare(_ left: kv_node, _ right: kv_node) -> Int {
        compareBytes(bytes(of: left), bytes(of: right))
    }

    /// Eight bytes of a key from `start`; missing ones are 0.
    func prefix(of key: kv_node, from start: Int) -> UInt64 { leadingWord(bytes(of: key), from: start) }
}

/// Keys are sorted by eight of their bytes, loaded once; the rest is looked at only where these are equal.
///
/// The two sorts of our own are for scripts: with the standard library's, a table of 10,000 keys took 1.5 instead of
/// 1.0 times the C floor, longer than MessagePack, and a set of one record a seventh more instructions.
///
/// Sound because `order` and `scratch` have room for `count` elements (`order` for twice as many in `sortMany`), and
/// each element is written before it is read.
private struct KeySorting {
    /// The largest number of keys that is sorted by insertion, on the stack.
    static let small = 32

    let keys: UnsafeMutablePointer<kv_node>
    let count: Int
    let text: KeyText
    let order: UnsafeMutablePointer<KeyOrder>
    let scratch: UnsafeMutablePointer<kv_node>

    /// Sorts words of a prefix whose last five bits make room for the slot: a comparison and a move are one
    /// instruction each, and keys whose words agree in the rest keep their order until ties are looked at.
    func sortFew() -> Int {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Self.small) { words in
            guard let words = words.baseAddress else { return count }
            let mask = UInt64(Self.small &- 1)
            var isSorted = true
            for slot in 0..<count {
                let prefix = text.prefix(of: keys[slot], from: 0) & ~mask
                let word = prefix | UInt64(truncatingIfNeeded: slot)
                if slot > 0, prefix <= words[slot &- 1] | mask { isSorted = false }
                var index = slot
                while index > 0, words[index &- 1] > word {
                    (words + index).initialize(to: words[index &- 1])
                    index &-= 1
                }
                (words + index).initialize(to: word)
            }
            if isSorted { return count }
            var hasTies = false
            for position in 1..<count where words[position] ^ words[position &- 1] <= mask { hasTies = true }
            if !hasTies {
                scratch.initialize(from: keys, count: count)
                for position in 0..<count { keys[position] = scratch[Int(truncatingIfNeeded: words[position] & mask)] }
                return count
            }
            for position in 0..<count {
                let word = words[position]
                let entry = KeyOrder(prefix: word & ~mask, slot: Int(truncatingIfNeeded: word & mask))
                (order + position).initialize(to: entry)
            }
            sortTies()
            return apply()
        }
    }

    /// Brings the keys into their order. Of equal keys, which stand together, the last stays.
    private func apply() -> Int {
        scratch.initialize(from: keys, count: count)
        var kept = 0
        var last: UInt64 = 0
        for position in 0..<count {
            let entry = order[position]
            let key = scratch[entry.slot]
            if kept > 0, entry.prefix == last, text.compare(keys[kept &- 1], key) == 0 { kept &-= 1 }
            keys[kept] = key
            last = entry.prefix
            kept &+= 1
        }
        return kept
    }

    /// Keys often share a beginning (`item-0001`, `item-0002`): the sort goes by the bytes behind it.
    func sortMany() -> Int {
        let shared = sharedPrefix()
        var isSorted = true
        for slot in 0..<count {
            let entry = KeyOrder(prefix: text.prefix(of: keys[slot], from: shared), slot: slot)
            if slot > 0, entry.prefix <= order[slot &- 1].prefix { isSorted = false }
            (order + slot).initialize(to: entry)
        }
        if isSorted { return count }
        sortByPrefix()
        sortTies()
        return apply()
    }

    private func sharedPrefix() -> Int {
        let first = text.bytes(of: keys[0])
        var shared = first.count
        for slot in 1..<count where shared > 0 {
            shared = sharedLength(first, text.bytes(of: keys[slot]), upTo: shared)
        }
        return shared
    }

    /// Sorts by one byte after another from the last, leaving out those in which all keys agree; equal prefixes keep
    /// their order.
    private func sortByPrefix() {
        var source = order
        var target = order + count
        var differing: UInt64 = 0
        for position in 1..<count { differing |= order[position].prefix ^ order[0].prefix }
        for digit in 0..<8 where differing >> UInt64(digit * 8) & 0xFF != 0 {
            distribute(source, to: target, by: UInt64(digit * 8))
            swap(&source, &target)
        }
        if source != order { order.update(from: source, count: count) }
    }

    private func distribute(
        _ source: UnsafeMutablePointer<KeyOrder>, to target: UnsafeMutablePointer<KeyOrder>, by shift: UInt64
    ) {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 256) { starts in
            starts.initialize(repeating: 0)
            guard let starts = starts.baseAddress else { return }
            for position in 0..<count { starts[Int(source[position].prefix &>> shift & 0xFF)] &+= 1 }
            var sum: UInt32 = 0
            for digit in 0..<256 {
                let size = starts[digit]
                starts[digit] = sum
                sum &+= size
            }
            for position in 0..<count {
                let entry = source[position]
                let digit = Int(entry.prefix &>> shift & 0xFF)
                (target + Int(starts[digit])).initialize(to: entry)
                starts[digit] &+= 1
            }
        }
    }

    /// Sorts keys of equal prefix by their whole text.
    private func sortTies() {
        var start = 0
        while start < count {
            var end = start &+ 1
            while end < count, order[end].prefix == order[start].prefix { end &+= 1 }
            if end &- start > 1 {
                var ties = UnsafeMutableBufferPointer(start: order + start, count: end &- start)
                ties.sort { left, right in
                    let result = text.compare(keys[left.slot], keys[right.slot])
                    return result != 0 ? result < 0 : left.slot < right.slot
                }
            }
            start = end
        }
    }
}
