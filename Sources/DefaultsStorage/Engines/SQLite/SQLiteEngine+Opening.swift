internal import CKVSystem
internal import Glibc
internal import PropertyLists

/// A file by its inode, and by when it was made: an inode that got free is given to the next file.
struct FileIdentity: Equatable {
    var inode: UInt
    fileprivate var born: Int64

    var text: String { "\(inode):\(born)" }
}

extension StoreFolder {
    /// The file that has a name; nil for none.
    func identity(of name: String) throws(DefaultsError) -> FileIdentity? {
        guard let status = try status(of: name) else { return nil }
        return FileIdentity(inode: UInt(status.st_ino), born: cs_birth_nanoseconds(descriptor.number, name))
    }
}

extension SQLiteEngine {
    private var journalName: String { folder.fileName + "-wal" }

    /// The connection to the database that has the store's name now.
    func opened(until deadline: Deadline) throws(DefaultsError) -> SQLiteConnection {
        if let connection {
            if !connection.hasMoved { return connection }
            disconnect()
        }
        let new = try connect(until: deadline)
        connection = new
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
                // Its journal was opened after it: of another file where that was replaced in between.
                if !new.hasMoved {
                    try noteJournal()
                    return new
                }
                new.close()
            }
            throw DefaultsError(.io, "The database is replaced again and again", file: folder.path)
        }
    }

    private func connectForReading(until deadline: Deadline) throws(DefaultsError) -> SQLiteConnection {
        if try folder.status(of: folder.fileName)?.st_size == 0 { throw empty }
        if try hasForeignJournal() {
            throw DefaultsError(.corrupt, "The journal beside the database is another one's", file: folder.path)
        }
        return try SQLiteConnection(try folder.currentPath(of: folder.fileName), isReadOnly: true)
    }

    /// Runs `body` with the lock under which a database is opened, made and recovered.
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

    /// Makes the database where there is none, and puts a journal aside that is another one's.
    private func checkFile() throws(DefaultsError) {
        guard let status = try folder.status(of: folder.fileName) else {
            try putJournalAside()
            return try makeDatabase([])
        }
        // A database is never empty while it is being made: see `makeDatabase`.
        if status.st_size == 0 { throw empty }
        if try hasForeignJournal() { try putJournalAside() }
    }

    /// Whether the journal beside the database is that of another one, which had the name before: SQLite would write
    /// its pages over this one.
    private func hasForeignJournal() throws(DefaultsError) -> Bool {
        guard let journal = try folder.identity(of: journalName),
            let database = try folder.identity(of: folder.fileName), let note = try notedJournal()
        else { return false }
        return note.hasSuffix(" " + journal.text) && !note.hasPrefix(database.text + " ")
    }

    /// The database that was opened last, and its journal, as the lock file says; nil where it says nothing.
    private func notedJournal() throws(DefaultsError) -> String? {
        guard let file = try FileLock.file(of: folder),
            let text = String(validating: try file.readToEnd(), as: UTF8.self)
        else { return nil }
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 4, words[0] == "journal", words[3] == "\n" else { return nil }
        return words[1] + " " + words[2]
    }

    private func noteJournal() throws(DefaultsError) {
        guard let journal = try folder.identity(of: journalName),
            let database = try folder.identity(of: folder.fileName)
        else { return }
        let note = "\(database.text) \(journal.text)"
        if try notedJournal() != note { try fileLock?.replaceContents(Array("journal \(note) \n".utf8)) }
    }

    /// Keeps a journal without its database under another name. Programs that have it open find that the database has
    /// moved.
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
            let found = try connection.integer("SELECT count(*) FROM sqlite_master WHERE name IN (\(names))")
            if application == Self.applicationID, found < (version < 2 ? 1 : 3) {
                throw DefaultsError(.corrupt, "The database has lost a table", file: file)
            }
            return tables == 0 ? 0 : version
        }
    }

    /// Version 1 kept the rows of removed keys, and an index of all rows by their revision.
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

    /// Makes a database with these rows and gives it the store's name once it is whole, and on the disk: no other
    /// program ever sees a part of it.
    fileprivate func makeDatabase(_ rows: [SalvagedRow]) throws(DefaultsError) {
        let name = try buildDatabase(rows)
        defer { removeTemporary() }
        do throws(DefaultsError) {
            try folder.link(name, to: folder.fileName)
        } catch {
            // Made by a program that knows nothing of our lock.
            if error.errno == EEXIST { return }
            // No hard links here.
            try folder.rename(name, to: folder.fileName)
        }
        try folder.descriptor.synchronize()
    }

    private var temporaryName: String { "." + folder.fileName + ".tmp" }

    private func removeTemporary() {
        for end in ["", "-wal", "-shm", "-journal"] { folder.unlink(temporaryName + end) }
    }

    /// - Returns: the name of the temporary file. A killed process's file of that name is gone: the lock is held.
    func buildDatabase(_ rows: [SalvagedRow]) throws(DefaultsError) -> String {
        removeTemporary()
        do throws(DefaultsError) {
            // With our mode before SQLite makes it with its own: the -wal and -shm files take the mode of this one.
            let file = try folder.openFile(temporaryName, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
            try fillDatabase(rows)
            try file?.synchronize()
            guard try folder.status(of: temporaryName + "-wal") == nil else {
                throw DefaultsError(.io, "The new database could not be written", file: folder.path)
            }
        } catch {
            removeTemporary()
            throw error
        }
        return temporaryName
    }

    /// Makes the tables and rows in the temporary file, which goes to the disk when it is whole.
    private func fillDatabase(_ rows: [SalvagedRow]) throws(DefaultsError) {
        let new = try SQLiteConnection(try folder.currentPath(of: temporaryName), isReadOnly: false)
        defer { new.close() }
        try new.execute("PRAGMA synchronous=OFF; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL")
        try new.execute("BEGIN IMMEDIATE;" + Self.allTables)
        try insert(rows, new)
        try new.execute("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
        new.isTrusted = true
    }

    private func insert(_ rows: [SalvagedRow], _ connection: SQLiteConnection) throws(DefaultsError) {
        let statement = try connection.prepare(Statement.upsert.rawValue)
        defer { connection.finalize(statement) }
        for row in rows {
            try row.key.withUnsafeBufferPointer { key throws(DefaultsError) in
                try row.value.withUnsafeBufferPointer { value throws(DefaultsError) in
                    try connection.bind(statement, 1, text: key)
                    try connection.bind(statement, 2, blob: UnsafeRawBufferPointer(value))
                    try connection.bind(statement, 3, integer: 0)
                    try connection.run(statement)
                }
            }
        }
    }
}
