public import PropertyLists

extension KeyValueDecoder {
    /// Reads a value of the given type from a property-list tree, without an `Any` between, under the same strategies.
    ///
    /// A null and, unless the nil strategy says otherwise, the string `"$null"` are nil. Decimal numbers are read from
    /// strings, too.
    ///
    /// - Throws: what ``decode(_:from:)`` throws for the same values in an `Any`.
    public func decode<T: Decodable>(_ type: T.Type = T.self, from list: PropertyList) throws -> T {
        try decode(type, from: list, at: nil)
    }

    /// Reads a value of a property-list tree that is at `place` in what holds it, a store: every path of an error, of a
    /// decoder, and of keys that are left over begins with it. Key strategies are given paths inside the value.
    package func decode<T: Decodable>(_ type: T.Type, from list: PropertyList, at place: PropertyListPath?) throws -> T
    {
        let root = TreeDecodingNode(DecodingContext(self, forTree: true, place: place), list)
        return try root.decodeRoot { try $0.decodeWhole(type) }
    }

    /// Reads a value from an `Any` that came out of a property list: as from the tree, decimal numbers are read from
    /// strings, too.
    package func decode<T: Decodable>(_ type: T.Type, fromPropertyListValue value: Any) throws -> T {
        let root = AnyDecodingNode(DecodingContext(self, forTree: true), value)
        return try root.decodeRoot { try $0.decodeWhole(type) }
    }
}
