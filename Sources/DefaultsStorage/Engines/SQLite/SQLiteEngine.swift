internal import CSQLite
internal import CSystem
internal import Glibc
internal import PropertyLists

/// Keeps a domain in a table of an SQLite database, a row for each top-level key, its value a binary property list.
///
/// A removed key's row stays, with NULL in place of the value, so that other processes see the removal: each row holds
/// the number of the commit that wrote it, and a process that looks again reads the rows of newer commits alone.
///
/// `@unchecked Sendable`: used only with the domain's writer lock held.
final class SQLiteEngine: StorageEngine, @unchecked Sendable {
    let folder: StoreFolder
    let format: PropertyListFormat
    let isReadOnly: Bool
    var limits: StoreLimits
    var rowFormat: PropertyListFormat? { .binary }
    var report: (@Sendable (DefaultsEvent) -> Void)?
    private(set) var refusal: DefaultsError?
    var watchedFolder: StoreFolder? { folder }
    var isShared: Bool { true }

    var connection: SQLiteConnection?
    var dataVersion: Int64 = -1
    var revision: Int64 = -1
    var isInTransaction = false
    var recovers = false
    var unreadable: DefaultsError?
    private var hasToldOfGroup = false
    private var statements: [Statement: OpaquePointer] = [:]
    var synchronization = DefaultsStore.Options.Synchronization.full
    /// Whether the connection is the parent process's.
    private var isInherited = false

    init(
        _ folder: StoreFolder, format: PropertyListFormat, isReadOnly: Bool, limits: StoreLimits
    ) throws(DefaultsError) {
        self.folder = folder
        self.format = format
        self.isReadOnly = isReadOnly
        self.limits = limits
        refusal = try folder.refusal(isReadOnly: isReadOnly)
        // WAL's shared memory does not work between machines.
        if Self.isNetwork(cs_file_system_type(folder.descriptor.number)) {
            throw DefaultsError(.unavailable, "SQLite cannot share a file on a network file system", file: folder.path)
        }
    }

    /// NFS, SMB, CIFS, SMB2, AFS, Ceph, 9P and FUSE, by their numbers in statfs(2).
    private static func isNetwork(_ type: Int64) -> Bool {
        [
            0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x5346_414F, 0x00C3_6400, 0x0102_1997, 0x6573_5546,
        ].contains(type & 0xFFFF_FFFF)
    }

    deinit { close() }

    private func close() {
        guard !isInherited else { return }
        for statement in statements.values { connection?.finalize(statement) }
        statements = [:]
        connection?.close()
        connection = nil
    }

    /// Closes the connection: a child must not inherit one, since SQLite would take the parent's locks for its own.
    /// It is opened again when it is needed.
    func prepareFork() {
        guard !isInTransaction else { return }
        close()
        dataVersion = -1
    }

    func resetAfterFork() {
        if connection != nil {
            // Forked in the middle of a transaction: nothing that the child did with the database would be safe. The
            // connection is kept, unused, since closing it would undo the parent's changes of the shared memory.
            isInherited = true
            refusal = DefaultsError(
                .unavailable, "The process was forked in the middle of a transaction", file: folder.path)
            isInTransaction = false
            return
        }
        revision = -1
    }

    // MARK: - Opening

    func opened(until deadline: Deadline) throws(DefaultsError) -> SQLiteConnection {
        if let connection { return connection }
        if !isReadOnly { try makeFile() }
        let new = try patiently(until: deadline) { () throws(DefaultsError) in try connect() }
        connection = new
        if folder.isGroupWritable, !isReadOnly, !hasToldOfGroup {
            hasToldOfGroup = true
            report?(.groupWritableFolder(folder.descriptor.path))
        }
        return new
    }

    private func connect() throws(DefaultsError) -> SQLiteConnection {
        let new = try SQLiteConnection(folder.path, isReadOnly: isReadOnly)
        do throws(DefaultsError) {
            if !isReadOnly { try prepare(new) }
        } catch {
            new.close()
            throw error
        }
        return new
    }

    /// Runs `body` again as long as the database is busy. SQLite's own timeout is never set: it knows nothing of the
    /// deadline, and gives up at once where two processes might wait for one another, as when several processes turn a
    /// new file to writing ahead.
    func patiently<Result>(
        until deadline: Deadline, _ body: () throws(DefaultsError) -> Result
    ) throws(DefaultsError) -> Result {
        var pause = Duration.microseconds(200)
        while true {
            do throws(DefaultsError) {
                return try body()
            } catch {
                guard error.code == .timedOut, !deadline.hasPassed else { throw error }
                deadline.sleep(pause)
                pause = min(pause * 2, .milliseconds(4))
            }
        }
    }

    /// Makes the file with our mode before SQLite makes it with its own: the -wal and -shm files take the mode of this
    /// one.
    private func makeFile() throws(DefaultsError) {
        guard try folder.status(of: folder.fileName) == nil else { return }
        _ = try folder.openFile(folder.fileName, O_RDWR | O_CREAT, mode: 0o600)
    }

    private static let applicationID: Int64 = 0x4B56_5354

    private func prepare(_ connection: SQLiteConnection) throws(DefaultsError) {
        let isMade = try hasOurTable(connection)
        guard try connection.text("PRAGMA journal_mode=WAL") == "wal" else {
            throw DefaultsError(.unavailable, "SQLite cannot write ahead here", file: folder.path)
        }
        if isMade { return }
        try connection.execute(
            """
            BEGIN IMMEDIATE;
            CREATE TABLE IF NOT EXISTS defaults(
              key TEXT PRIMARY KEY NOT NULL, value BLOB, revision INTEGER NOT NULL) WITHOUT ROWID;
            CREATE INDEX IF NOT EXISTS defaults_revision ON defaults(revision);
            PRAGMA application_id=\(Self.applicationID);
            PRAGMA user_version=1;
            COMMIT
            """)
    }

    /// Whether the database is one of ours; false for a new one, an error for another program's.
    private func hasOurTable(_ connection: SQLiteConnection) throws(DefaultsError) -> Bool {
        // In one transaction: another process may be making the table just now.
        try connection.execute("BEGIN")
        defer { try? connection.execute("COMMIT") }
        let application = try connection.integer("PRAGMA application_id")
        let tables = try connection.integer("SELECT count(*) FROM sqlite_master")
        guard application == Self.applicationID || (application == 0 && tables == 0) else {
            throw DefaultsError(.invalidValue, "The database belongs to another program", file: folder.path)
        }
        let version = try connection.integer("PRAGMA user_version")
        guard version <= 1 else {
            throw DefaultsError(.migration, "The database was made by a newer version", file: folder.path)
        }
        return tables > 0
    }

    // MARK: - Committing

    func lock(until deadline: Deadline) throws(DefaultsError) -> Bool {
        if let refusal { throw refusal }
        let connection = try opened(until: deadline)
        try synchronize(connection)
        var attempts = 0
        try patiently(until: deadline) { () throws(DefaultsError) in
            attempts += 1
            try connection.run(try prepared(.begin, connection))
        }
        isInTransaction = true
        return attempts > 1
    }

    /// Sets the connection's synchronization, which it has to know before a commit begins.
    private func synchronize(_ connection: SQLiteConnection) throws(DefaultsError) {
        guard connection.synchronization != synchronization else { return }
        try connection.execute("PRAGMA synchronous=\(synchronization == .full ? "FULL" : "NORMAL")")
        connection.synchronization = synchronization
    }

    func unlock() {
        guard isInTransaction else { return }
        isInTransaction = false
        try? connection?.execute("ROLLBACK")
    }

    func commit(_ delta: Delta, over base: PropertyList) throws(DefaultsError) -> CommitOutcome {
        guard let connection, isInTransaction else {
            throw DefaultsError(.misuse, "A commit without its lock", file: folder.path)
        }
        let statement = try prepared(.upsert, connection)
        // The rows were looked at since the lock was taken: no other process has a higher revision.
        let next = max(revision, 0) + 1
        for index in 0..<delta.entries.count {
            try write(delta, index, next, connection, statement)
        }
        try connection.run(try prepared(.commit, connection))
        isInTransaction = false
        revision = next
        wakeOthers()
        return .committed
    }

    /// Wakes the processes that watch the folder. The write of the journal woke them too early: until that was on disk
    /// there was nothing to see, and then the commit shows in shared memory, whose changes inotify does not report. The
    /// database itself is not opened, since closing it would let go of SQLite's locks.
    private func wakeOthers() {
        _ = try? folder.openFile(folder.fileName + "-wal", O_WRONLY)?.close()
    }

    /// The statements of each commit.
    enum Statement: String {
        case begin = "BEGIN IMMEDIATE"
        case commit = "COMMIT"
        case dataVersion = "PRAGMA data_version"
        case upsert = """
            INSERT INTO defaults(key, value, revision) VALUES(?1, ?2, ?3)
            ON CONFLICT(key) DO UPDATE SET value=?2, revision=?3
            """
    }

    /// A statement of the connection, made when it is first asked for.
    func prepared(_ kind: Statement, _ connection: SQLiteConnection) throws(DefaultsError) -> OpaquePointer {
        if let statement = statements[kind] { return statement }
        let statement = try connection.prepare(kind.rawValue)
        statements[kind] = statement
        return statement
    }

    private func write(
        _ delta: Delta, _ index: Int, _ revision: Int64, _ connection: SQLiteConnection, _ statement: OpaquePointer
    ) throws(DefaultsError) {
        let file = folder.path
        let bytes = try DefaultsError.translating(file: file) { () throws(PropertyListError) in
            try delta.entries[index].overlay?.materialised().serialized(as: .binary)
        }
        try delta.entries.withKey(at: index) { key throws(DefaultsError) in
            try connection.bind(statement, 1, text: key)
            try connection.bind(statement, 3, integer: revision)
            guard let bytes else { return try connection.run(statement) }
            try bytes.withUnsafeBufferPointer { bytes throws(DefaultsError) in
                try connection.bind(statement, 2, blob: UnsafeRawBufferPointer(bytes))
                try connection.run(statement)
            }
        }
    }

    func keepCopy(named suffix: String) throws(DefaultsError) {
        let name = folder.fileName + "." + suffix
        guard try folder.status(of: name) == nil else { return }
        // A copy that is not whole must not be found under its name. The lock is held: a file of the temporary name is
        // left over.
        let temporary = "." + name + ".tmp"
        folder.unlink(temporary)
        do throws(DefaultsError) {
            try copy(to: folder.path(of: temporary))
            try folder.rename(temporary, to: name)
        } catch {
            folder.unlink(temporary)
            throw error
        }
    }

    /// Copies the committed rows by a connection of its own: VACUUM cannot be part of the transaction.
    private func copy(to path: String) throws(DefaultsError) {
        let connection = try SQLiteConnection(folder.path, isReadOnly: true)
        defer { connection.close() }
        try connection.execute(
            "VACUUM INTO '\(path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''"))'")
        if chmod(path, 0o600) != 0 { throw DefaultsError.system("chmod", errno, file: path) }
    }

    // MARK: - Recovery

    /// Moves a damaged database away, with its journal, and begins anew.
    func quarantine(until deadline: Deadline) throws(DefaultsError) -> EngineState {
        close()
        let (lock, _) = try FileLock.acquire(folder, until: deadline)
        defer { lock.release() }
        let suffix = ".corrupt-" + currentTime() + "-" + randomName()
        for end in ["-wal", "-shm", ""] where try folder.status(of: folder.fileName + end) != nil {
            try folder.rename(folder.fileName + end, to: folder.fileName + suffix + end)
        }
        try folder.descriptor.synchronize()
        let state = try look(until: deadline)
        report?(.recovered(file: folder.path, quarantine: folder.path + suffix, source: .nothing))
        return state
    }
}
