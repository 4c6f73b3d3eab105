internal import Glibc
internal import PropertyLists

extension SQLiteEngine {
    func keepCopy(named suffix: String) throws(DefaultsError) {
        let name = folder.fileName + "." + suffix
        if try folder.status(of: name) != nil, try isWhole(name) { return }
        // A copy that is not whole must not be found under its name. The lock is held: a file of the temporary name is
        // left over.
        let temporary = "." + name + ".tmp"
        folder.unlink(temporary)
        do throws(DefaultsError) {
            // With our mode before there is anything in it.
            guard let file = try folder.openFile(temporary, O_RDWR | O_CREAT | O_EXCL, mode: 0o600) else {
                throw DefaultsError.system("open", ENOENT, file: folder.path(of: temporary))
            }
            try copy(to: try folder.currentPath(of: temporary))
            try file.synchronize()
            try file.close()
            try folder.rename(temporary, to: name)
            try folder.descriptor.synchronize()
        } catch {
            folder.unlink(temporary)
            throw error
        }
    }

    /// Copies the committed rows by a connection of its own: VACUUM cannot be part of the transaction.
    private func copy(to path: String) throws(DefaultsError) {
        let connection = try SQLiteConnection(try folder.currentPath(of: folder.fileName), isReadOnly: true)
        defer { connection.close() }
        try connection.copy(to: path)
    }

    /// Whether an older copy can be read. One that a power failure left torn is made anew.
    private func isWhole(_ name: String) throws(DefaultsError) -> Bool {
        do throws(DefaultsError) {
            let connection = try SQLiteConnection(try folder.currentPath(of: name), isReadOnly: true)
            defer { connection.close() }
            let tables = try connection.integer("SELECT count(*) FROM sqlite_master WHERE name='defaults'")
            let found = try connection.text("PRAGMA quick_check")
            return tables > 0 && found == "ok"
        } catch {
            guard error.code == .corrupt else { throw error }
            return false
        }
    }
}
