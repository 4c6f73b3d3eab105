/// An array, which is written element by element from where the elements are.
///
/// The array's own `encode(to:)` does the same by way of a container, and copies each element.
protocol WritableArray {
    /// - Parameter whole: an array of this type.
    static func write<Whole>(_ whole: Whole, to node: EncodingNode) throws
}

extension Array: WritableArray where Element: Encodable {
    static func write<Whole>(_ whole: Whole, to node: EncodingNode) throws {
        try node.write(each: exactly(whole, as: [Element].self))
    }
}

/// The types that were met so far, and which of them are arrays: asking a type for a conformance that it lacks costs as
/// much as encoding a number.
final class ArrayTypes {
    @exclusivity(unchecked) private var known: [(type: ObjectIdentifier, array: (any WritableArray.Type)?)] = []

    func array<T>(_ type: T.Type) -> (any WritableArray.Type)? {
        let identifier = ObjectIdentifier(type)
        for entry in known where entry.type == identifier { return entry.array }
        let array = type as? any WritableArray.Type
        if known.count < 16 { known.append((identifier, array)) }
        return array
    }
}

/// An element where it is in its array. What is behind a pointer is copied before it is handed on, unless it cannot be.
private struct Place<Element>: ~Copyable {
    let element: Element
}

extension EncodingNode {
    /// Writes an array as this node's value.
    final func write<Element: Encodable>(each values: [Element]) throws {
        guard opened(.unkeyed, nil) else { return }
        makeRoom(for: values.count)
        let isPlain = KnownType.of(Element.self) == .plain
        try values.withUnsafeBytes { bytes in
            // Sound because a struct of one field is laid out as the field is, and the array is held all the time. The
            // step is the element's own: to ask for the struct's would look its type up each time.
            guard var place = bytes.baseAddress else { return }
            for _ in values.indices {
                try write(place.assumingMemoryBound(to: Place<Element>.self).pointee, isPlain)
                place += MemoryLayout<Element>.stride
                elements &+= 1
            }
        }
    }

    /// Not inlined: there the element would be copied again.
    @inline(never) private final func write<Element: Encodable>(
        _ place: borrowing Place<Element>, _ isPlain: Bool
    ) throws {
        if isPlain { return try encodePlain(place.element, at: .next, .index(elements)) }
        try encode(place.element, at: .next, .index(elements))
    }
}
