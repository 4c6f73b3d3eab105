import DomainAccess
import KVCodable

/// A value of a layer that others than the user write: the administrator's locked values and defaults, and the global
/// domain. Of a dictionary each value is a part of its own.
struct LayerPart: Equatable {
    let path: PropertyListPath
    let layer: DefaultsLayer
    /// The file of the layer; nil if a layer above has another value.
    let file: String?
    /// The value without its secrets.
    let value: PropertyList

    private static let layers: [DefaultsLayer] = [.managed, .administrator, .global]

    /// The parts of all layers by their top-level keys, those of the uppermost layer first.
    static func all(of store: DefaultsStore, _ type: CodableType) throws -> [PropertyListPath.Step: [LayerPart]] {
        var all: [PropertyListPath.Step: [LayerPart]] = [:]
        for layer in layers {
            for (key, value) in try store.dictionary(of: layer).entries {
                // A secret is one value. The page shows neither its entries nor their keys.
                let shown = Values.masked(value, type, at: [.key(key)])
                for (path, leaf) in leaves(of: shown, at: [.key(key)], type) {
                    let origin = try store.origin(at: path)
                    let file = origin?.layer == layer ? origin?.file : nil
                    all[.key(key), default: []].append(LayerPart(path: path, layer: layer, file: file, value: leaf))
                }
            }
        }
        return all
    }

    /// The values that have no entries of their own; the case of an enum is one value. Recursion is bounded by the depth
    /// of values.
    private static func leaves(
        of value: PropertyList, at path: PropertyListPath, _ type: CodableType
    ) -> [(PropertyListPath, PropertyList)] {
        let isCase = type.member(at: path)?.type.wrapped.cases.isEmpty == false
        guard value.kind == .dictionary, value.count > 0, !isCase else { return [(path, value)] }
        return value.entries.flatMap { leaves(of: $0.value, at: path.appending(.key($0.key)), type) }
    }
}
