import DomainAccess
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
        return Found(value: shown ?? value, layer: origin.layer.word, file: origin.file)
    }
}
