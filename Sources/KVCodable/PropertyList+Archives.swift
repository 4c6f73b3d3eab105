internal import CodableTypes
internal import KeyedArchives
internal import PropertyLists

extension PropertyList {
    /// The archive as a plain value. An error's path leads to the archive in the store, and on inside it.
    func unarchived(from path: PropertyListPath) throws(PropertyListError) -> PropertyList {
        do {
            return try unarchived()
        } catch {
            var placed = error
            placed.path = path.appending(error.path)
            throw placed
        }
    }
}

extension ErrorWords {
    /// The words for a keyed archive that was read as a type, with the names of the two ways out.
    static func keyedArchive(
        insteadOf type: String, migrate: String = "migrateArchive", unarchive: String = "unarchived()"
    ) -> ErrorWords {
        .expected(
            type, found: "a keyed archive (NSKeyedArchiver)",
            advice: "\(migrate) stores it in the type's form, \(unarchive) gives its plain value")
    }
}

extension TypeError {
    /// The error of a keyed archive that was read as a type. C and Lua have other names for the two ways out.
    static func keyedArchive(insteadOf type: String) -> TypeError {
        let plain = ErrorWords.keyedArchive(insteadOf: type, migrate: "migrate_archive", unarchive: "unarchive")
        return TypeError(.mismatch, .keyedArchive(insteadOf: type)).plainly(plain)
    }
}
