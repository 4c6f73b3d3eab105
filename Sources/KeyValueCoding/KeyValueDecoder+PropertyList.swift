public import PropertyLists

extension KeyValueDecoder {
    /// Reads a value of the given type from a property-list tree, without an `Any` between, under the same strategies.
    ///
    /// A null and, unless the nil strategy says otherwise, the string `"$null"` are nil. Decimal numbers are read from
    /// strings, too.
    ///
    /// - Throws: what ``decode(_:from:)`` throws for the same values in an `Any`.
    public func decode<T: Decodable>(_ type: T.Type = T.self, from list: PropertyList) throws -> T {
        let root = TreeDecodingNode(DecodingContext(self, forTree: true), list)
        return try root.decodeRoot { try $0.decodeWhole(type) }
    }

    /// Reads a value from an `Any` that came out of a property list: as from the tree, decimal numbers are read from
    /// strings, too.
    package func decode<T: Decodable>(_ type: T.Type, fromPropertyListValue value: Any) throws -> T {
        let root = AnyDecodingNode(DecodingContext(self, forTree: true), value)
        return try root.decodeRoot { try $0.decodeWhole(type) }
    }
}
