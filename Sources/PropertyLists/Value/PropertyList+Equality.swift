internal import CKVCodable

extension PropertyList: Equatable {
    public static func == (left: PropertyList, right: PropertyList) -> Bool {
        left.isIdentical(to: right) || equal(left.document, left.index, right.document, right.index)
    }

    /// Whether both are one value in memory.
    package func isIdentical(to other: PropertyList) -> Bool {
        document === other.document && index == other.index
    }

    /// Recursion is bounded by ``PropertyListLimits/maximumDepth``.
    private static func equal(_ left: Document, _ leftIndex: Int, _ right: Document, _ rightIndex: Int) -> Bool {
        let leftNode = left.nodes[leftIndex]
        let rightNode = right.nodes[rightIndex]
        guard leftNode.head == rightNode.head, leftNode.count == rightNode.count else { return false }
        switch leftNode.kind {
        case .null: return true
        case .boolean, .integer, .unsigned, .real, .date, .uid: return leftNode.payload == rightNode.payload
        case .string, .data: return compareBytes(left.buffer(of: leftNode), right.buffer(of: rightNode)) == 0
        case .array: return equalElements(left, leftIndex, right, rightIndex)
        case .dictionary: return equalEntries(left, leftIndex, right, rightIndex)
        }
    }

    private static func equalElements(
        _ left: Document, _ leftIndex: Int, _ right: Document, _ rightIndex: Int
    ) -> Bool {
        var leftElement = leftIndex + 1
        var rightElement = rightIndex + 1
        for _ in 0..<left.nodes[leftIndex].count {
            guard equal(left, leftElement, right, rightElement) else { return false }
            leftElement += left.nodes[leftElement].span
            rightElement += right.nodes[rightElement].span
        }
        return true
    }

    private static func equalEntries(
        _ left: Document, _ leftIndex: Int, _ right: Document, _ rightIndex: Int
    ) -> Bool {
        let rightKeys = right.keys(ofDictionaryAt: rightIndex)
        for (leftSlot, rightSlot) in zip(left.keys(ofDictionaryAt: leftIndex), rightKeys) {
            let leftKey = left.nodes[leftSlot]
            let rightKey = right.nodes[rightSlot]
            guard compareBytes(left.buffer(of: leftKey), right.buffer(of: rightKey)) == 0,
                equal(left, leftIndex + leftKey.distance, right, rightIndex + rightKey.distance)
            else { return false }
        }
        return true
    }
}
