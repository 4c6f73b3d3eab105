import DomainAccess
import KVCodable

/// Where a store's values come from.
struct Layers {
    let store: DefaultsStore
    /// The type that is published for the store.
    let type: CodableType?

    /// A value, or the part of one that a single layer has.
    struct Part {
        let path: PropertyListPath
        let value: PropertyList
        let origin: DefaultsOrigin

        var layer: String { origin.layer.word }
    }

    /// The value at a path as it is stored, otherwise its default; nil if there is neither.
    func value(at path: PropertyListPath) throws -> PropertyList? {
        guard let value = try store.stored(at: path) else { return nil }
        return try store.origin(at: path)?.layer == .schema ? store.filled(at: path) : value
    }

    /// The parts of the value at a path, each of one layer: the value itself if one layer has all of it, otherwise those
    /// of its entries. Recursion is bounded by the depth of values.
    func parts(of value: PropertyList, at path: PropertyListPath) throws -> [Part] {
        guard value.kind == .dictionary, value.count > 0, !isOneValue(path) else {
            return try store.origin(at: path).map { [Part(path: path, value: value, origin: $0)] } ?? []
        }
        let parts = try value.entries.flatMap { try self.parts(of: $0.value, at: path.appending(.key($0.key))) }
        guard let origin = parts.first?.origin, parts.allSatisfy({ $0.origin == origin }) else { return parts }
        return [Part(path: path, value: value, origin: origin)]
    }

    /// Whether a dictionary at the path is the case of an enum, with its values.
    private func isOneValue(_ path: PropertyListPath) -> Bool {
        !(type?.member(at: path)?.type.cases.isEmpty ?? true)
    }
}
