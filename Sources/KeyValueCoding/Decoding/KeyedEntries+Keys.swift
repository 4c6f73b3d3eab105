// What a container looks up by its keys.

extension KeyedEntries {
    /// Where the value of a key is in the property-list tree; nil where it is not, or only the node knows.
    @inline(__always) func place<Key: CodingKey>(_ key: Key) -> Int? {
        guard let dictionary else { return nil }
        return place(of: key.stringValue, in: dictionary)
    }

    @inline(__always) func slot<Key: CodingKey>(_ key: Key) -> DecodingSlot { slot(place(key), key) }

    @inline(__always) func slot<Key: CodingKey>(_ place: Int?, _ key: Key) -> DecodingSlot {
        if let place { .place(place) } else { namedSlot(key) }
    }

    /// Where a value is that only the node can find, or that is not there.
    @inline(__always) func namedSlot<Key: CodingKey>(_ key: Key) -> DecodingSlot {
        namesKeysAsTheyAre ? .named(key.stringValue) : convertedSlot(key)
    }

    var decodingNames: DecodingNames { names?.names ?? .asTheyAre }

    @inline(never) private func convertedSlot<Key: CodingKey>(_ key: Key) -> DecodingSlot {
        .named(node.noted(decodingNames.name(of: key, in: node)))
    }
}

// MARK: - Values that the node has to look at, apart from the short way

extension KeyedEntries {
    @inline(never) func otherBool<Key: CodingKey>(_ place: Int?, _ key: Key) throws -> Bool {
        try node.bool(at: slot(place, key), key)
    }

    @inline(never) func otherString<Key: CodingKey>(_ place: Int?, _ key: Key) throws -> String {
        try node.string(at: slot(place, key), key)
    }

    @inline(never) func otherFloating<Key: CodingKey>(_ type: Double.Type, _ place: Int?, _ key: Key) throws -> Double {
        try node.floating(type, at: slot(place, key), key)
    }

    /// Apart from the others, so that what reads the integer knows its type.
    @inline(never) func otherSlot<Key: CodingKey>(_ place: Int?, _ key: Key) -> DecodingSlot { slot(place, key) }
}
