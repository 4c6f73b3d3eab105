internal import PropertyLists

/// The limits on the depth of typed walks, and on the size of their results.
enum TypeLimits {
    /// Containers inside one another in a value that has a type; the coders allow the same.
    static let depth = PropertyListLimits.standardDepth

    /// How many nodes a type's walk may add to those of the values that it is given. A struct may hold another twice,
    /// and that one another twice: the defaults of a short type can be larger than any memory.
    static let addedNodes = 1 << 20

    /// The same for the bytes of strings and data.
    static let addedBytes = 64 << 20

    static func check(_ list: PropertyList) throws(TypeError) {
        guard list.depth > depth else { return }
        throw tooDeep
    }

    static var tooDeep: TypeError { TypeError(.mismatch, "Values are nested deeper than \(depth) levels") }

    /// Checks a value that may be anything, inside `depth` containers.
    static func checkAny(_ value: PropertyList, _ depth: Int) throws(TypeError) {
        if value.isNull { throw .mismatch("Any", value) }
        if value.kind.isContainer, depth + value.depth > Self.depth { throw tooDeep }
    }
}
