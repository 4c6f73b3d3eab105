internal import CKVCodable

/// A dictionary's entries one after the other, in the order of their keys' bytes. Makes no String of a key.
package struct SortedEntries {
    private let dictionary: PropertyList
    private var slots: Range<Int>

    package init(_ dictionary: PropertyList) {
        self.dictionary = dictionary
        slots = dictionary.document.keys(ofDictionaryAt: dictionary.index)
    }

    /// The bytes of the next key; nil behind the last one. Valid while the dictionary lives.
    package var key: UnsafeBufferPointer<UInt8>? {
        slots.isEmpty ? nil : dictionary.document.buffer(of: dictionary.document.nodes[slots.lowerBound])
    }

    package var value: PropertyList {
        let distance = dictionary.document.nodes[slots.lowerBound].distance
        return PropertyList(document: dictionary.document, index: dictionary.index + distance)
    }

    package mutating func advance() { slots = slots.dropFirst() }

    /// The key that comes first in this dictionary and another one.
    package func leastKey(with other: SortedEntries) -> UnsafeBufferPointer<UInt8>? {
        guard let key else { return other.key }
        guard let second = other.key else { return key }
        return compareBytes(key, second) <= 0 ? key : second
    }

    /// Goes on behind `key`, if it is the next one, and gives its value.
    package mutating func take(_ key: UnsafeBufferPointer<UInt8>) -> PropertyList? {
        guard let next = self.key, compareBytes(next, key) == 0 else { return nil }
        defer { advance() }
        return value
    }
}
