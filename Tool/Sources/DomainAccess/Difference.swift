package import KVCodable

/// The paths at which two values differ, down to values that are no dictionaries on both sides.
package enum Difference {
    package struct Change {
        package let path: PropertyListPath
        package let old: PropertyList?
        package let new: PropertyList?

        package init(path: PropertyListPath, old: PropertyList?, new: PropertyList?) {
            self.path = path
            self.old = old
            self.new = new
        }

        /// The change without the secrets of the types.
        package func masked(_ types: [CodableType?]) -> Change {
            func shown(_ list: PropertyList?) -> PropertyList? {
                list.map { list in types.reduce(list) { Values.masked($0, $1, at: path) } }
            }
            return Change(path: path, old: shown(old), new: shown(new))
        }
    }

    /// Recursion is bounded by the depth of values.
    package static func between(_ old: PropertyList?, _ new: PropertyList?, at path: PropertyListPath = []) -> [Change]
    {
        if old == new { return [] }
        guard let old, let new, old.kind == .dictionary, new.kind == .dictionary else {
            return [Change(path: path, old: old, new: new)]
        }
        return Swift.Set(old.keys + new.keys).sorted().flatMap { key in
            between(old[key], new[key], at: path.appending(.key(key)))
        }
    }
}
