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
        let root = TreeEncodingNode(EncodingContext(self))
        root.lends = true
        defer { root.release() }
        do {
            try root.encodeRoot(value) { if try !root.encodeCollection(value) { try value.encode(to: $0) } }
            return try root.finish()
        } catch let error as PropertyListError {
            throw EncodingError.invalidValue(value, error.codingContext)
        }
    }
}

extension PropertyListError {
    /// The error as the coders tell it.
    fileprivate var codingContext: EncodingError.Context {
        let path = path.steps.map { step -> any CodingKey in
            switch step {
            case .key(let name): NameKey(name)
            case .index(let index): IndexKey(index)
            }
        }
        let text = "Value at \(path.text) cannot be encoded. \(message)"
        return EncodingError.Context(codingPath: path, debugDescription: text, underlyingError: self)
    }
}
