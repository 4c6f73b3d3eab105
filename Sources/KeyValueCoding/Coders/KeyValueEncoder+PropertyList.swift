public import PropertyLists

extension KeyValueEncoder {
    /// Gives the value as a property-list tree, without an `Any` between, under the same strategies.
    ///
    /// URLs, UUIDs and decimal numbers become strings, 128-bit integers must fit in 64 bits, and nil inside an array
    /// is `"$null"` unless the nil strategy says otherwise.
    ///
    /// - Returns: Swift nil only for a nil value under ``NilCodingStrategy/removed``.
    /// - Throws: `EncodingError.invalidValue` with the path of what cannot be encoded, and what `encode(to:)` throws.
    public func encodeToPropertyList<T: Encodable>(_ value: T) throws -> PropertyList? {
        try encodeToPropertyList(value, at: nil)
    }

    /// Gives the value as a tree that goes to `place` in what will hold it, a store: every path of an error and of an
    /// encoder begins with it. Key strategies are given paths inside the value.
    package func encodeToPropertyList<T: Encodable>(_ value: T, at place: PropertyListPath?) throws -> PropertyList? {
        let root = TreeEncodingNode(EncodingContext(self, place: place))
        do {
            try root.encodeRoot(value)
            return try root.document()
        } catch let error as PropertyListError {
            throw EncodingError.invalidValue(value, error.codingContext(root.context))
        }
    }
}

extension PropertyListError {
    /// The error as the coders tell it.
    fileprivate func codingContext(_ context: EncodingContext) -> EncodingError.Context {
        let codingPath = (context.place ?? []).appending(path).codingPath
        let text = "Value at \(codingPath.text(in: context.place)) cannot be encoded. \(message)"
        return EncodingError.Context(codingPath: codingPath, debugDescription: text, underlyingError: self)
    }
}
