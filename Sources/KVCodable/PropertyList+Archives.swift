internal import KeyedArchives
internal import PropertyLists

extension PropertyList {
    /// The archive as a plain value. An error's path leads to the archive in the store, and on inside it.
    func unarchived(
        from path: PropertyListPath, limits: PropertyListLimits = PropertyListLimits()
    ) throws(PropertyListError) -> PropertyList {
        do {
            return try unarchived(limits: limits)
        } catch {
            var placed = error
            placed.path = path.appending(error.path)
            throw placed
        }
    }
}
