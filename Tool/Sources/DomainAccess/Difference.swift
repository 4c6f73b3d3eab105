public import KVCodable

/// The paths at which two values differ. The search descends while both values are dictionaries.
public enum Difference {
    public struct Change {
        public let path: PropertyListPath
        public let old: PropertyList?
        public let new: PropertyList?

        public init(path: PropertyListPath, old: PropertyList?, new: PropertyList?) {
            self.path = path
            self.old = old
            self.new = new
        }

        /// The change without the secrets of the types.
        public func masked(_ types: [CodableType?]) -> Change {
            func shown(_ list: PropertyList?) -> PropertyList? {
                list.map { list in types.reduce(list) { Values.masked($0, $1, at: path) } }
            }
            return Change(path: path, old: shown(old), new: shown(new))
        }
    }

    /// The changes from `old` to `new`, sorted by path. Recursion is bounded by the depth of values.
    ///
    /// - Parameter asSettings: whether a dictionary that only one side has gives a change for each of its settings.
    public static func between(
        _ old: PropertyList?, _ new: PropertyList?, at path: PropertyListPath = [], asSettings: Bool = false
    ) -> [Change] {
        if old == new { return [] }
        let sides = [old, new].compactMap(\.self)
        // Compares keys by their bytes: Swift takes some different keys for equal.
        let keys = Swift.Set(sides.flatMap { $0.keys.map { Array($0.utf8) } })
        guard sides.count == 2 || asSettings && !keys.isEmpty, sides.allSatisfy({ $0.kind == .dictionary }) else {
            return [Change(path: path, old: old, new: new)]
        }
        return keys.sorted { $0.lexicographicallyPrecedes($1) }.flatMap { bytes in
            let key = String(decoding: bytes, as: UTF8.self)
            return between(old?[key], new?[key], at: path.appending(.key(key)), asSettings: asSettings)
        }
    }
}
