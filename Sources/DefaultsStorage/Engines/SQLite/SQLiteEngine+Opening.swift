internal import CKVSystem
internal import Glibc
internal import PropertyLists

/// A file, by its inode and its birth time. The inode of a removed file may belong to the next one.
struct FileIdentity: Equatable {
    var inode: UInt
    fileprivate var born: Int64
}

extension StoreFolder {
    /// The file that has a name; nil if no file has it.
    func identity(of name: String) throws(DefaultsError) -> FileIdentity? {
        guard let status = try status(of: name) else { return nil }
        return FileIdentity(inode: UInt(status.st_ino), born: cs_birth_nanoseconds(descriptor.number, name))
    }
}

extension SQLiteEngine {
    private var journalName: String { folder.fileName + "-wal" }

    /// The connection to the database that now has the store's name.
    func opened(until deadline: Deadline) throws(DefaultsError) -> SQLiteConnection {
        if let connection {
            if !connection.hasMoved { return connection }
            disconnect()
        }
        try leaveJournal(until: deadline)
        let new = try connect(until: deadline)
        connection = new
        journal = try folder.identity(of: journalName)
        if let now = try folder.identity(of: folder.fileName), now != file {
            seen = nil
            file = now
        }
        tellOfGroup()
        return new
    }

    private func connect(until deadline: Deadline) throws(DefaultsError) -> SQLiteConnection {
        guard !isReadOnly else { return try connectForReading(until: deadline) }
        return try withFileLock(until: deadline) { () throws(DefaultsError) in
            for _ in 0..<10 {
                try checkFile()
                let new = try patiently(until: deadline) { () throws(DefaultsError) in try prepared() }
                // The journal was opened after the database, which may have been replaced in between.
                if !new.hasMoved { return new }
                new.close()
            }
            throw DefaultsError(.io, "The database is replaced again and again", file: folder.path)
        }
    }

    private func connectForReading(until deadline: Deadline) throws(DefaultsError) -> SQLiteConnection {
        if try folder.status(of: folder.fileName)?.st_size == 0 { throw empty }
        return try SQLiteConnection(try folder.currentPath(of: folder.fileName), isReadOnly: true)
    }

    /// Runs `body` with the lock under which a database is opened and made.
    func withFileLock<Result>(
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

    // MARK: - The file and its journal

    private var empty: DefaultsError { DefaultsError(.corrupt, "The file is empty", file: folder.path) }

    /// Makes the database if the file does not exist.
    private func checkFile() throws(DefaultsError) {
        guard let status = try folder.status(of: folder.fileName) else {
            try putJournalAside()
            return try makeDatabase()
        }
        // A database is never empty while it is being made: see `makeDatabase`.
        if status.st_size == 0 { throw empty }
    }

    /// After another file took the database's name: puts the journal of the old database aside. SQLite would write its
    /// pages over the new one.
    private func leaveJournal(until deadline: Deadline) throws(DefaultsError) {
        // A store whose folder was renamed has moved, too, and its journal with it.
        guard let journal, try folder.identity(of: folder.fileName) != file else { return }
        guard !isReadOnly else {
            guard try folder.identity(of: journalName) != journal else {
                throw DefaultsError(
                    .corrupt, "The journal beside the database belongs to the one that it replaced", file: folder.path)
            }
            return
        }
        try withFileLock(until: deadline) { () throws(DefaultsError) in
            if try folder.identity(of: journalName) == journal { try putJournalAside() }
        }
        self.journal = nil
    }

    /// Renames the journal of a database that has gone. Programs that have it open find that the database has moved.
    private func putJournalAside() throws(DefaultsError) {
        if try folder.status(of: journalName) != nil {
            try folder.rename(journalName, to: "\(folder.fileName).left-\(currentTime())-\(randomName())-wal")
        }
        folder.unlink(folder.fileName + "-shm")
    }

    // MARK: - The database

    private static let applicationID: Int64 = 0x4B56_5354
    private static let version: Int64 = 2

    /// The tables beside the rows, and the first commit.
    private static var tables: String {
        """
        CREATE TABLE commits(
          slot INTEGER PRIMARY KEY, revision INTEGER NOT NULL, token INTEGER NOT NULL, oldest INTEGER NOT NULL,
          middle INTEGER NOT NULL, logged INTEGER NOT NULL);
        CREATE TABLE changes(revision INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY(revision, key)) WITHOUT ROWID;
        INSERT INTO commits
          SELECT 0, max(revision), \(Int64.random(in: .min ... .max)), max(revision), max(revision), 0
          FROM (SELECT revision FROM defaults UNION ALL SELECT 0);
        PRAGMA application_id=\(applicationID);
        PRAGMA user_version=\(version);
        """
    }

    /// The keys have an index of their own: in a table that is itself in the order of the keys, SQLite reads a large
    /// value whole for each key that it compares with that value's.
    private static var allTables: String {
        """
        CREATE TABLE defaults(key TEXT PRIMARY KEY NOT NULL, value BLOB, revision INTEGER NOT NULL);
        """ + tables
    }

    /// A connection to a database that has all tables.
    private func prepared() throws(DefaultsError) -> SQLiteConnection {
        let new = try SQLiteConnection(try folder.currentPath(of: folder.fileName), isReadOnly: false)
        do throws(DefaultsError) {
            let version = try version(new)
            guard try new.text("PRAGMA journal_mode=WAL") == "wal" else {
                throw DefaultsError(.unavailable, "SQLite cannot write ahead here", file: folder.path)
            }
            if version < Self.version { try bringUpToDate(new) }
        } catch {
            new.close()
            throw error
        }
        return new
    }

    /// The version of our tables; 0 for a database with no table, an error for another program's.
    private func version(_ connection: SQLiteConnection) throws(DefaultsError) -> Int64 {
        let file = folder.path
        return try connection.reading { () throws(DefaultsError) in
            let application = try connection.integer("PRAGMA application_id")
            let tables = try connection.integer("SELECT count(*) FROM sqlite_master")
            guard application == Self.applicationID || (application == 0 && tables == 0) else {
                throw DefaultsError(.invalidValue, "The database belongs to another program", file: file)
            }
            let version = try connection.integer("PRAGMA user_version")
            guard version <= Self.version else {
                throw DefaultsError(.migration, "The database was made by a newer version", file: file)
            }
            let names = version < 2 ? "'defaults'" : "'defaults', 'commits', 'changes'"
            let found = try connection.integer(
                "SELECT count(*) FROM sqlite_master WHERE type='table' AND name IN (\(names))")
            if application == Self.applicationID, found < (version < 2 ? 1 : 3) {
                throw DefaultsError(.corrupt, "The database has lost a table", file: file)
            }
            // They would run with each of our statements.
            if try connection.integer("SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger')") > 0 {
                throw DefaultsError(
                    .invalidValue, "The database has a view or a trigger, which no store has", file: file)
            }
            return tables == 0 ? 0 : version
        }
    }

    /// Version 1 kept rows of removed keys, and an index of all rows by revision.
    private func bringUpToDate(_ connection: SQLiteConnection) throws(DefaultsError) {
        try connection.execute("BEGIN IMMEDIATE")
        do throws(DefaultsError) {
            // Another program without our lock may have done it.
            switch try connection.integer("PRAGMA user_version") {
            case Self.version: break
            case 1:
                let cleared = "DROP INDEX IF EXISTS defaults_revision;"
                try connection.execute(cleared + Self.tables + "DELETE FROM defaults WHERE value IS NULL")
            default: try connection.execute(Self.allTables)
            }
            try connection.execute("COMMIT")
        } catch {
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    // MARK: - Making a database

    /// Makes an empty database and gives it the store's name once it is whole and on the disk. No other program ever
    /// sees a part of it.
    private func makeDatabase() throws(DefaultsError) {
        removeTemporary()
        defer { removeTemporary() }
        try buildDatabase()
        do throws(DefaultsError) {
            try folder.link(temporaryName, to: folder.fileName)
        } catch {
            // A foreign program made it.
            if error.errno == EEXIST { return }
            // No hard links here.
            try folder.rename(temporaryName, to: folder.fileName)
        }
        try folder.descriptor.synchronize()
    }

    private var temporaryName: String { "." + folder.fileName + ".tmp" }

    private func removeTemporary() {
        for end in ["", "-wal", "-shm", "-journal"] { folder.unlink(temporaryName + end) }
    }

    private func buildDatabase() throws(DefaultsError) {
        // With our mode before SQLite makes it with its own: the -wal and -shm files take the mode of this one.
        let file = try folder.openFile(temporaryName, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        try makeTables()
        try file?.synchronize()
        guard try folder.status(of: temporaryName + "-wal") == nil else {
            throw DefaultsError(.io, "The new database could not be written", file: folder.path)
        }
    }

    /// Makes the tables in the temporary file. The caller has it written to the disk.
    private func makeTables() throws(DefaultsError) {
        let new = try SQLiteConnection(try folder.currentPath(of: temporaryName), isReadOnly: false)
        defer { new.close() }
        try new.execute("PRAGMA synchronous=OFF; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL")
        try new.execute("BEGIN IMMEDIATE;" + Self.allTables + "COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
        new.isTrusted = true
    }
}
