import KVCodable

/// Where a store's values come from.
struct Layers {
    let store: DefaultsStore

    /// A value and the layer that it is from.
    struct Found {
        let value: PropertyList
        let layer: String
        let file: String?
    }

    /// The value at a path as it is stored, else its default; nil where there is neither.
    func find(_ path: PropertyListPath) throws -> Found? {
        guard let value = try store.stored(at: path) else { return nil }
        guard let origin = try store.origin(at: path) else {
            return Found(value: value, layer: "all", file: store.file)
        }
        let shown = origin.layer == .schema ? try store.filled(at: path) : value
        return Found(value: shown ?? value, layer: Self.name(origin.layer), file: origin.file)
    }

    /// A layer as people call it. The command line opens no suites and has no arguments.
    private static func name(_ layer: DefaultsLayer) -> String {
        switch layer {
        case .managed: "managed"
        case .application: "user"
        case .global: "global"
        case .registered, .schema: "default"
        case .arguments, .suite: "\(layer)"
        }
    }
}
