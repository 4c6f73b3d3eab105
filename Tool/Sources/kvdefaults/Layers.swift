import KVCodable

/// Where a store's values come from.
struct Layers {
    let store: DefaultsStore
    let type: CodableType?

    /// A value and the layer that it is from.
    struct Found {
        let value: PropertyList
        let layer: String
        let file: String?
    }

    private static let names: [(DefaultsLayer, String)] = [
        (.managed, "managed"), (.application, "user"), (.global, "global"),
    ]

    /// The value at a path, from the first layer that has its top-level key, else the published type's default.
    func find(_ path: PropertyListPath) throws -> Found? {
        guard case .key(let key)? = path.steps.first else {
            return try store.value(at: path).map { Found(value: $0, layer: "all", file: store.file) }
        }
        for (layer, name) in Self.names {
            let dictionary = try store.dictionary(of: layer)
            guard dictionary[key] != nil else { continue }
            // Below a value that is there, what is absent has its type's default.
            if let value = dictionary.value(at: path) {
                return Found(value: value, layer: name, file: layer == .application ? store.file : nil)
            }
            break
        }
        return try type?.member(at: path).flatMap { member in
            try member.defaultValue.map { value in
                Found(value: try member.type.encode(value, at: path).list, layer: "default", file: nil)
            }
        }
    }
}
