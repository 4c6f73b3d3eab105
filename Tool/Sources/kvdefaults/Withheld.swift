import DomainAccess
import KVCodable

/// The secrets in a value that a person edits. A text without them has to be put together with them again: of an array
/// that holds one, whose elements may move, the whole is left out.
struct Withheld {
    /// Paths of keys alone, from the value on.
    let paths: [PropertyListPath]

    /// - Parameter location: the path of the value.
    init(in list: PropertyList, _ type: CodableType?, at location: PropertyListPath) {
        var paths: [PropertyListPath] = []
        for path in type.map({ Values.secrets(in: list, $0, at: location) }) ?? [] {
            let keys = path.steps.prefix { if case .key = $0 { true } else { false } }
            // Those of one array follow one another.
            if paths.last?.steps != Array(keys) { paths.append(PropertyListPath(Array(keys))) }
        }
        self.paths = paths
    }

    /// The rest of the value; nil where nothing of it may be shown.
    func leftOut(of list: PropertyList) throws -> PropertyList? {
        if paths.contains(where: \.isEmpty) { return nil }
        return try paths.reduce(list) { try $0.removing(at: $1) ?? $0 }
    }

    /// A changed value with the secrets of the old one, where their dictionary is still there.
    func putBack(into list: PropertyList, from old: PropertyList) throws -> PropertyList {
        try paths.reduce(list) { list, path in
            let outer = PropertyListPath(Array(path.steps.dropLast()))
            guard list.value(at: path) == nil, list.value(at: outer)?.kind == .dictionary,
                let value = old.value(at: path)
            else { return list }
            return try list.setting(value, at: path)
        }
    }

    /// Whether a path leads to a value that was left out, or into it.
    func contains(_ path: PropertyListPath) -> Bool {
        paths.contains { path.steps.starts(with: $0.steps) }
    }
}
