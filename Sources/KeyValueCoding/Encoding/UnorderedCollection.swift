internal import CKVCodable
internal import PropertyLists

/// A collection that encodes to an array in no order of its own.
protocol UnorderedCollection {
    /// The number of elements of the array that stay together.
    static var elementsTogether: Int { get }
}

extension Set: UnorderedCollection {
    static var elementsTogether: Int { 1 }
}

extension Dictionary: UnorderedCollection {
    /// A key and its value. Dictionaries with texts or whole numbers as keys encode to dictionaries.
    static var elementsTogether: Int { 2 }
}

extension PropertyList {
    /// An order of all values: by kind, then by value. Recursion is bounded by the depth of the values.
    func precedes(_ other: PropertyList) -> Bool { order(beside: other) < 0 }

    private func order(beside other: PropertyList) -> Int {
        if let number, let otherNumber = other.number, number != otherNumber { return number < otherNumber ? -1 : 1 }
        if kind != other.kind { return kind.rawValue < other.kind.rawValue ? -1 : 1 }
        switch kind {
        case .string, .data:
            return withBytes { mine in
                other.withBytes {
                    compareBytes(mine.bindMemory(to: UInt8.self), $0.bindMemory(to: UInt8.self))
                } ?? 0
            } ?? 0
        case .array: return Self.order(elements, other.elements)
        case .dictionary:
            let keys = Self.order(entries.map { PropertyList($0.key) }, other.entries.map { PropertyList($0.key) })
            return keys != 0 ? keys : Self.order(entries.map(\.value), other.entries.map(\.value))
        default: return node.payload == other.node.payload ? 0 : node.payload < other.node.payload ? -1 : 1
        }
    }

    private static func order(_ first: some Sequence<PropertyList>, _ second: some Sequence<PropertyList>) -> Int {
        var rest = second.makeIterator()
        for value in first {
            guard let other = rest.next() else { return 1 }
            let order = value.order(beside: other)
            if order != 0 { return order }
        }
        return rest.next() == nil ? 0 : -1
    }
}
