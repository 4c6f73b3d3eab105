public import FoundationEssentials
public import PropertyLists

// Types that need a configuration to be coded.

extension KeyValueEncoder {
    /// Gives the value as `Any`, as ``encode(_:)`` does, encoded with a configuration.
    public func encode<T: EncodableWithConfiguration>(
        _ value: T, configuration: T.EncodingConfiguration
    ) throws -> Any? {
        try encode(Configured(value: value, configuration: configuration))
    }

    /// Gives the value as a property-list tree, as ``encodeToPropertyList(_:)`` does, encoded with a configuration.
    public func encodeToPropertyList<T: EncodableWithConfiguration>(
        _ value: T, configuration: T.EncodingConfiguration
    ) throws -> PropertyList? {
        try encodeToPropertyList(Configured(value: value, configuration: configuration))
    }
}

private struct Configured<T: EncodableWithConfiguration>: Encodable {
    let value: T
    let configuration: T.EncodingConfiguration

    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder, configuration: configuration) }
}

extension KeyValueDecoder {
    /// Reads a value of a type that is decoded with a configuration; else as `decode(_:from:)`.
    public func decode<T: DecodableWithConfiguration>(
        _ type: T.Type = T.self, from value: Any, configuration: T.DecodingConfiguration
    ) throws -> T {
        let root = AnyDecodingNode(DecodingContext(self), value)
        return try root.decodeRoot { try T(from: $0, configuration: configuration) }
    }

    /// Reads a value of a type that is decoded with a configuration from a property-list tree.
    public func decode<T: DecodableWithConfiguration>(
        _ type: T.Type = T.self, from list: PropertyList, configuration: T.DecodingConfiguration
    ) throws -> T {
        let root = TreeDecodingNode(DecodingContext(self, forTree: true), list)
        return try root.decodeRoot { try T(from: $0, configuration: configuration) }
    }
}
