internal import Glibc
internal import PropertyLists

/// A map from keys to values that compares and hashes keys by their bytes, without making a String of them.
///
/// Open addressing over an array of entries; the keys' bytes stand behind one another in one buffer. Entries are never
/// taken out one by one: a removal from a store is itself a value here.
///
/// Not copyable, so that a table in an object is read where it stands: a copy would count its three arrays' references,
/// a third of the time of a get.
struct KeyTable<Value>: ~Copyable {
    private struct Entry {
        var hash: UInt64
        var offset: Int
        var length: Int
        var value: Value
    }

    private var entries: [Entry] = []
    private var bytes: [UInt8] = []
    /// Entry numbers plus one; 0 is free. As long as a power of two, at most half full.
    private var slots: [UInt32] = []
    /// Read once for the table: a look at a global costs a call.
    private let seed: UInt64

    init(seed: UInt64 = keySeed) { self.seed = seed }

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    /// The number of the key's entry.
    func find(_ key: UnsafeBufferPointer<UInt8>) -> Int? {
        guard !entries.isEmpty else { return nil }
        let hash = hashBytes(key, seed)
        let mask = slots.count &- 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 {
            let index = Int(slots[slot]) &- 1
            if entries[index].hash == hash, matches(index, key) { return index }
            slot = (slot &+ 1) & mask
        }
        return nil
    }

    private func matches(_ index: Int, _ key: UnsafeBufferPointer<UInt8>) -> Bool {
        let length = entries[index].length
        guard length == key.count else { return false }
        guard length > 0, let other = key.baseAddress else { return true }
        return bytes.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return false }
            return memcmp(base + entries[index].offset, other, length) == 0
        }
    }

    /// The value of entry `index`, which ``find(_:)`` gave.
    subscript(index: Int) -> Value {
        get { entries[index].value }
        _modify { yield &entries[index].value }
    }

    subscript(key: UnsafeBufferPointer<UInt8>) -> Value? { find(key).map { entries[$0].value } }

    /// Sets the value of `key`, which may be new.
    mutating func set(_ value: Value, for key: UnsafeBufferPointer<UInt8>) {
        if let index = find(key) {
            entries[index].value = value
            return
        }
        if (entries.count &+ 1) &* 2 > slots.count { grow() }
        let hash = hashBytes(key, seed)
        entries.append(Entry(hash: hash, offset: bytes.count, length: key.count, value: value))
        bytes.append(contentsOf: key)
        fillSlot(hash, entries.count)
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: max(slots.count * 2, 16))
        for (index, entry) in entries.enumerated() { fillSlot(entry.hash, index + 1) }
    }

    private mutating func fillSlot(_ hash: UInt64, _ number: Int) {
        let mask = slots.count &- 1
        var slot = Int(truncatingIfNeeded: hash) & mask
        while slots[slot] != 0 { slot = (slot &+ 1) & mask }
        slots[slot] = UInt32(truncatingIfNeeded: number)
    }

    /// Lends the bytes of entry `index`'s key.
    func withKey<Result, Failure: Error>(
        at index: Int, _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let range = entries[index].offset..<(entries[index].offset + entries[index].length)
        let result = bytes.withUnsafeBufferPointer { bytes -> Swift.Result<Result, Failure> in
            do throws(Failure) {
                return .success(try body(UnsafeBufferPointer(rebasing: bytes[range])))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    func key(at index: Int) -> String { withKey(at: index) { String(decoding: $0, as: UTF8.self) } }

    /// The entries' numbers in the order of their keys' bytes.
    func sortedIndices() -> [Int] {
        bytes.withUnsafeBufferPointer { bytes in
            let start = commonPrefix(bytes)
            // Eight bytes decide nearly always, and without a look at the keys.
            let order = entries.indices.map { index in
                (word: leadingWord(Self.slice(bytes, entries[index]), from: start), index: index)
            }
            return order.sorted { left, right in
                if left.word != right.word { return left.word < right.word }
                return compareBytes(Self.slice(bytes, entries[left.index]), Self.slice(bytes, entries[right.index])) < 0
            }.map(\.index)
        }
    }

    /// The number of bytes with which all keys begin.
    private func commonPrefix(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        guard let first = entries.first.map({ Self.slice(bytes, $0) }) else { return 0 }
        return entries.reduce(first.count) { sharedLength(first, Self.slice(bytes, $1), upTo: $0) }
    }

    private static func slice(_ bytes: UnsafeBufferPointer<UInt8>, _ entry: Entry) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: bytes[entry.offset..<(entry.offset + entry.length)])
    }
}

/// Differs from run to run, so that no file can be prepared whose keys collide.
private let keySeed = UInt64.random(in: .min ... .max)
