/// The entries of two dictionaries in the order of their keys' bytes, those of one key together.
///
/// A value that is no dictionary, or nil, has no entries. Takes time proportional to the number of the entries.
package struct EntryPairs: Sequence, IteratorProtocol {
    /// The values of one key in both dictionaries.
    package struct Pair {
        package let left: PropertyList?
        package let right: PropertyList?
        /// The dictionary that has the key, at the key's entry.
        fileprivate let source: SortedEntries

        /// The key's bytes, as ``SortedEntries/key`` has them.
        package var keyBytes: UnsafeBufferPointer<UInt8> { source.key ?? UnsafeBufferPointer(start: nil, count: 0) }

        package var key: String { String(decoding: keyBytes, as: UTF8.self) }
    }

    private var left: SortedEntries
    private var right: SortedEntries

    package init(_ left: PropertyList?, _ right: PropertyList?) {
        self.left = Self.entries(left)
        self.right = Self.entries(right)
    }

    private static func entries(_ value: PropertyList?) -> SortedEntries {
        guard let value, value.kind == .dictionary else { return SortedEntries(.emptyDictionary) }
        return SortedEntries(value)
    }

    package mutating func next() -> Pair? {
        let order: Int
        switch (left.key, right.key) {
        case (nil, nil): return nil
        case (_, nil): order = -1
        case (nil, _): order = 1
        case (let key?, let other?): order = compareBytes(key, other)
        }
        let pair = Pair(
            left: order <= 0 ? left.value : nil, right: order >= 0 ? right.value : nil,
            source: order <= 0 ? left : right)
        if order <= 0 { left.advance() }
        if order >= 0 { right.advance() }
        return pair
    }
}
