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
}
