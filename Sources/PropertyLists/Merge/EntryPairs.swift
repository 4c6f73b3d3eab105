internal import CKVCodable

/// The entries of two dictionaries in the order of their keys' bytes, those of one key together.
///
/// A value that is no dictionary, or nil, has no entries. Takes time proportional to the number of the entries.
package struct EntryPairs: Sequence, IteratorProtocol {
    /// The values of one key in both dictionaries.
    package struct Pair {
        package let left: PropertyList?
        package let right: PropertyList?
        private let document: Document
        private let keyNode: kv_node

        fileprivate init(_ left: Cursor?, _ right: Cursor?, in document: Document, _ keyNode: kv_node) {
            self.left = left?.value
            self.right = right?.value
            (self.document, self.keyNode) = (document, keyNode)
        }

        package var key: String { String(decoding: document.buffer(of: keyNode), as: UTF8.self) }
    }

    /// An entry of one of the dictionaries.
    fileprivate struct Cursor {
        let document: Document
        let header: Int
        var slot: Int
        let end: Int

        init?(_ list: PropertyList?) {
            guard let list, list.kind == .dictionary else { return nil }
            (document, header) = (list.document, list.index)
            let keys = list.document.keys(ofDictionaryAt: list.index)
            (slot, end) = (keys.lowerBound, keys.upperBound)
        }

        var isAtEnd: Bool { slot >= end }
        var keyNode: kv_node { document.nodes[slot] }
        var key: UnsafeBufferPointer<UInt8> { document.buffer(of: keyNode) }
        var value: PropertyList { PropertyList(document: document, index: header + keyNode.distance) }
    }

    private var left: Cursor?
    private var right: Cursor?

    package init(_ left: PropertyList?, _ right: PropertyList?) {
        self.left = Cursor(left)
        self.right = Cursor(right)
    }

    package mutating func next() -> Pair? {
        if left?.isAtEnd ?? false { left = nil }
        if right?.isAtEnd ?? false { right = nil }
        guard let first = left ?? right else { return nil }
        var order = right == nil ? -1 : 1
        if let left, let right { order = compareBytes(left.key, right.key) }
        let (isLeft, isRight) = (left != nil && order <= 0, right != nil && order >= 0)
        let source = isLeft ? first : right ?? first
        let pair = Pair(isLeft ? left : nil, isRight ? right : nil, in: source.document, source.keyNode)
        if isLeft { left?.slot += 1 }
        if isRight { right?.slot += 1 }
        return pair
    }
}
