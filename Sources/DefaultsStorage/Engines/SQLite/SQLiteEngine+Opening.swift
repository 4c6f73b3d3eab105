internal import Glibc
internal import PropertyLists

/// The files of a database, by their names; nil for a file that is not there.
struct DatabaseFiles: Equatable {
    var database: FileIdentity?
    var journal: FileIdentity?
    var index: FileIdentity?

    init(_ folder: StoreFolder) throws(DefaultsError) {
        database = try folder.identity(of: folder.fileName)
        journal = try folder.identity(of: folder.fileName + "-wal")
        index = try folder.identity(of: folder.fileName + "-shm")
    }
}

extension SQLiteEngine {
    /// The connection to the database that now has the store's name.
    func opened(until deadline: Deadline) throws(DefaultsError) -> SQLiteConnection {
        if let connection {
            if try hasNames(connection) { return connection }
            try leave(connection, until: deadline)
        }
        let new = try connect(until: deadline)
        connection = new
        if folder.isGroupWritable, !isReadOnly, !hasToldOfGroup {
            hasToldOfGroup = true
            report?(.groupWritableFolder(folder.descriptor.path))
        }
        return new
    }

    /// True if the database and its journal are still those that other programs find under their names.
    func hasNames(_ connection: SQLiteConnection) throws(DefaultsError) -> Bool {
        if connection.hasMoved { return false }
        return try DatabaseFiles(folder) == connection.files
    }

    /// Closes the connection to a database that has lost its name, or whose journal has. Removes the journal of a
    /// database that was replaced, renamed or removed: SQLite would write it into the next one of the name.
    func leave(_ old: SQLiteConnection, until deadline: Deadline) throws(DefaultsError) {
        let now = try DatabaseFiles(folder)
        if now.database != old.files?.database {
            if let journal = now.journal, journal == old.files?.journal {
                try removeJournal(journal, of: old, until: deadline)
            }
            seen = nil
        }
        disconnect()
    }

    private func removeJournal(
        _ journal: FileIdentity, of old: SQLiteConnection, until deadline: Deadline
    ) throws(DefaultsError) {
        if isReadOnly {
            let size = try folder.status(of: folder.fileName + "-wal")?.st_size
            if size == 0 { return }
            throw DefaultsError(
                .corrupt, "The journal beside the database belongs to the one that it replaced", file: folder.path)
        }
        try withFileLock(until: deadline) { () throws(DefaultsError) in
            guard try DatabaseFiles(folder).journal == journal else { return }
            // Into the old database, which may have another name now.
            try? old.execute("PRAGMA wal_checkpoint")
            removeJournal()
        }
    }

    private func removeJournal() {
        for end in ["-wal", "-shm"] { folder.unlink(folder.fileName + end) }
    }

    /// Runs `body` with the lock under which a database is opened and made.
    private func withFileLock<Result>(
        until deadline: Deadline, _ body: () throws(DefaultsError) -> Result
    ) throws(DefaultsError) -> Result {
        if fileLock != nil { return try body() }
        let (lock, _) = try FileLock.acquire(folder, until: deadline)
        fileLock = lock
        defer {
            fileLock = nil
            lock.release()
        }
        return try body()
    }

    private func connect(until deadline: Deadline) throws(DefaultsError) -> SQLiteConnection {
        if !isReadOnly, try folder.status(of: folder.fileName) == nil {
            try withFileLock(until: deadline) { () throws(DefaultsError) in try makeDatabase() }
        }
        // A database is never empty while it is being made: see `makeDatabase`.
        if try folder.status(of: folder.fileName)?.st_size == 0 {
            throw DefaultsError(.corrupt, "The file is empty", file: folder.path)
        }
        let new = try SQLiteConnection(try folder.currentPath(of: folder.fileName), isReadOnly: isReadOnly)
        do throws(DefaultsError) {
            new.openLock = try openLock(until: deadline)
            try patiently(until: deadline) { () throws(DefaultsError) in try prepare(new, until: deadline) }
            let files = try DatabaseFiles(folder)
            // The journal was opened after the database, which may have been replaced in between.
            guard !new.hasMoved, let database = files.database else {
                throw DefaultsError(.io, "The database was replaced while it was opened", file: folder.path)
            }
            OpenLocks.shared.add(database)
            new.files = files
            return new
        } catch {
            new.close()
            throw error
        }
    }

    /// The lock that says that the database is open. One that only reads does without it where it has no access, and is
    /// protected by SQLite's locks then, as any foreign program is.
    private func openLock(until deadline: Deadline) throws(DefaultsError) -> FileLock? {
        guard isReadOnly else { return try FileLock.acquire(folder, .open, until: deadline).lock }
        return FileLock.exists(folder, .open) ? try? FileLock.acquire(folder, .open, until: deadline).lock : nil
    }

    // MARK: - The tables

    private static let applicationID: Int64 = 0x4B56_5354
    private static let version: Int64 = 3

    /// A row's place in the table is its revision: an index of revisions would make the first sync of many keys a third
    /// slower. The keys have an index of their own: in a table that is itself in the order of the keys, SQLite reads a
    /// large value whole for each key that it compares with that value's.
    private static let rowTable =
        "CREATE TABLE defaults(key TEXT NOT NULL UNIQUE, value BLOB, revision INTEGER PRIMARY KEY)"
    /// One row; see ``Commit``. It changes with removals alone: a set writes a page less.
    private static let prunedTable = "CREATE TABLE pruned(revision INTEGER NOT NULL, removals INTEGER NOT NULL)"
    private static let tables = """
        \(rowTable); \(prunedTable); INSERT INTO pruned VALUES(0, 0);
        PRAGMA application_id=\(applicationID); PRAGMA user_version=\(version)
        """

    /// Checks that the database is a store's, and makes it ready for writing.
    private func prepare(_ connection: SQLiteConnection, until deadline: Deadline) throws(DefaultsError) {
        let version = try connection.reading { () throws(DefaultsError) in try checkedVersion(connection) }
        if isReadOnly { return }
        try connection.execute("PRAGMA journal_mode=WAL")
        guard try connection.integer("SELECT journal_mode='wal' FROM pragma_journal_mode") == 1 else {
            throw DefaultsError(.unavailable, "SQLite cannot write ahead here", file: folder.path)
        }
        if version < Self.version {
            try withFileLock(until: deadline) { () throws(DefaultsError) in try bringUpToDate(connection) }
        }
        // Makes the journal, whose identity counts from here on.
        _ = try connection.integer("SELECT count(*) FROM pruned")
    }

    /// The version of our tables; 0 for a database without any.
    private func checkedVersion(_ connection: SQLiteConnection) throws(DefaultsError) -> Int64 {
        let file = folder.path
        let application = try connection.integer("PRAGMA application_id")
        if application == 0, try connection.integer("SELECT count(*) FROM sqlite_master") == 0 { return 0 }
        guard application == Self.applicationID else {
            throw DefaultsError(.invalidValue, "The database belongs to another program", file: file)
        }
        let version = try connection.integer("PRAGMA user_version")
        guard version <= Self.version else {
            throw DefaultsError(.migration, "The database was made by a newer version", file: file)
        }
        // They would run with each of our statements.
        if try connection.integer("SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger')") > 0 {
            throw DefaultsError(
                .invalidValue, "The database has a view or a trigger, which no store has", file: file)
        }
        // By their whole texts: a column could be an endless computation.
        let isOurs = version < 3 ? "name='defaults'" : "sql IN ('\(Self.rowTable)', '\(Self.prunedTable)')"
        let count = try connection.integer("SELECT count(*) FROM sqlite_master WHERE type='table' AND \(isOurs)")
        guard count == (version < 3 ? 1 : 2) else {
            throw DefaultsError(.corrupt, "The database's tables are not those of a store", file: file)
        }
        return version
    }

    /// Makes the tables. Versions 1 and 2 kept their changes and commits in other ones.
    private func bringUpToDate(_ connection: SQLiteConnection) throws(DefaultsError) {
        let version = try checkedVersion(connection)
        if version == Self.version { return }
        let copying = """
            INSERT INTO defaults(key, value) SELECT key, value FROM old WHERE value IS NOT NULL ORDER BY key;
            DROP TABLE old; DROP TABLE IF EXISTS commits; DROP TABLE IF EXISTS changes;
            """
        try connection.transact(
            version == 0 ? Self.tables : "ALTER TABLE defaults RENAME TO old; \(Self.tables); \(copying)")
    }

    // MARK: - Making a database

    /// Makes an empty database and gives it the store's name once it is whole and on the disk. No other program ever
    /// sees a part of it. A journal that lies there belongs to a database that is gone.
    private func makeDatabase() throws(DefaultsError) {
        if try folder.status(of: folder.fileName) != nil { return }
        removeJournal()
        let temporary = "." + folder.fileName + ".tmp"
        folder.unlink(temporary)
        defer { folder.unlink(temporary) }
        // With our mode before SQLite makes it with its own: the -wal and -shm files take the mode of this one.
        let file = try folder.openFile(temporary, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        let new = try SQLiteConnection(try folder.currentPath(of: temporary), isReadOnly: false)
        defer { new.close() }
        // Writing ahead begins when the database is opened under its name.
        try new.execute("PRAGMA synchronous=OFF; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=OFF")
        try new.transact(Self.tables)
        try file?.synchronize()
        do throws(DefaultsError) {
            try folder.link(temporary, to: folder.fileName)
        } catch {
            // A foreign program made it.
            if error.errno == EEXIST { return }
            // No hard links here.
            try folder.rename(temporary, to: folder.fileName)
        }
        try folder.descriptor.synchronize()
    }
}
