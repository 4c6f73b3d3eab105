package import CKVCodable

/// Sorts key nodes by their bytes and drops all but the last of equal ones; gives how many are left.
///
/// The keys come in the order in which they were written, with growing distances; the survivors stand at the front.
package func sortKeys(_ keys: UnsafeMutableBufferPointer<kv_node>, bytes: UnsafePointer<UInt8>) -> Int {
    if isStrictlySorted(keys, bytes) { return keys.count }
    if keys.count <= 16 { insertionSort(keys, bytes) } else { prefixSort(keys, bytes) }
    return dropEqualKeys(keys, bytes)
}

private func text(_ key: kv_node, _ bytes: UnsafePointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: bytes + Int(truncatingIfNeeded: key.payload), count: Int(key.count))
}

private func compare(_ left: kv_node, _ right: kv_node, _ bytes: UnsafePointer<UInt8>) -> Int {
    compareBytes(text(left, bytes), text(right, bytes))
}

private func isStrictlySorted(_ keys: UnsafeMutableBufferPointer<kv_node>, _ bytes: UnsafePointer<UInt8>) -> Bool {
    for index in stride(from: 1, to: keys.count, by: 1)
    where compare(keys[index - 1], keys[index], bytes) >= 0 {
        return false
    }
    return true
}

private func insertionSort(_ keys: UnsafeMutableBufferPointer<kv_node>, _ bytes: UnsafePointer<UInt8>) {
    for index in stride(from: 1, to: keys.count, by: 1) {
        let key = keys[index]
        var slot = index
        while slot > 0, compare(keys[slot - 1], key, bytes) > 0 {
            keys[slot] = keys[slot - 1]
            slot -= 1
        }
        keys[slot] = key
    }
}

/// Keys often share a beginning (`item-0001`, `item-0002`), which would make comparing whole keys slow: the sort goes
/// by the eight bytes behind what all keys share, and looks at the rest only where these are equal.
private func prefixSort(_ keys: UnsafeMutableBufferPointer<kv_node>, _ bytes: UnsafePointer<UInt8>) {
    let shared = sharedPrefix(keys, bytes)
    var order = keys.map { (prefix: prefix(text($0, bytes), from: shared), key: $0) }
    order.sort { left, right in
        if left.prefix != right.prefix { return left.prefix < right.prefix }
        let order = compare(left.key, right.key, bytes)
        return order != 0 ? order < 0 : left.key.distance < right.key.distance
    }
    for (slot, entry) in order.enumerated() { keys[slot] = entry.key }
}

private func sharedPrefix(_ keys: UnsafeMutableBufferPointer<kv_node>, _ bytes: UnsafePointer<UInt8>) -> Int {
    let first = text(keys[0], bytes)
    var shared = first.count
    for key in keys {
        let other = text(key, bytes)
        shared = min(shared, other.count)
        var length = 0
        while length < shared, first[length] == other[length] { length += 1 }
        shared = length
        if shared == 0 { break }
    }
    return shared
}

/// Eight bytes from `start`, the first the most significant; missing ones are 0.
private func prefix(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> UInt64 {
    var value: UInt64 = 0
    if text.count - start >= 8, let base = text.baseAddress {
        return UInt64(bigEndian: UnsafeRawPointer(base + start).loadUnaligned(as: UInt64.self))
    }
    for index in 0..<8 {
        let position = start + index
        value = value << 8 | (position < text.count ? UInt64(text[position]) : 0)
    }
    return value
}

/// Equal keys stand together, in the order in which they were written: the last of them stays.
private func dropEqualKeys(_ keys: UnsafeMutableBufferPointer<kv_node>, _ bytes: UnsafePointer<UInt8>) -> Int {
    var kept = 0
    for index in 0..<keys.count {
        if kept > 0, compare(keys[kept - 1], keys[index], bytes) == 0 { kept -= 1 }
        keys[kept] = keys[index]
        kept += 1
    }
    return kept
}
