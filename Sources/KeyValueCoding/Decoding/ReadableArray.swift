/// A collection that the coders read as a whole. One conformance for all: a type that has none is asked just once.
protocol ReadableCollection {
    static var way: DecodingWay { get }
}

/// An array, which is read element by element into a place of its own.
///
/// The array's own `init(from:)` does the same by way of a container, and looks its type up for each element.
protocol ReadableArray: ReadableCollection {
    /// - Parameter type: the array's type.
    static func read<Whole>(from node: DecodingNode, as type: Whole.Type) throws -> Whole
}

extension ReadableArray {
    static var way: DecodingWay { .array(Self.self) }
}

extension Array: ReadableCollection, ReadableArray where Element: Decodable {
    static func read<Whole>(from node: DecodingNode, as type: Whole.Type) throws -> Whole {
        guard node.openElements() else { throw node.mismatch([Any].self, at: .whole, nil) }
        let count = node.elementCount
        // All empty arrays share one storage, which must not be written to; and what takes much memory takes it step by
        // step, as far as the elements are what they should be.
        guard count > 0, count <= (1 << 24) / Swift.max(MemoryLayout<Element>.stride, 1) else {
            return exactly(try [Element](from: node))
        }
        node.record?.openElements()
        // Sound because there is room for all elements, and `filled` counts the places that were initialized.
        let elements = try [Element](unsafeUninitializedCapacity: count) { places, filled in
            while filled < count {
                places.initializeElement(at: filled, to: try node.decodeElement(Element.self, filled))
                filled += 1
            }
        }
        return exactly(elements)
    }
}
