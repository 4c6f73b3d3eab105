internal import PropertyLists

/// What bounds the recursion of typed walks.
enum TypeLimits {
    /// Containers inside one another in a value that has a type; what the coders allow, too.
    static let depth = 512

    static func check(_ list: PropertyList) throws(TypeError) {
        guard list.depth > depth else { return }
        throw TypeError(.mismatch, "Values are nested deeper than \(depth) levels")
    }
}
