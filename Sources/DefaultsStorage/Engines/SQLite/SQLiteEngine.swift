internal import CKVSQLite
internal import CKVSystem
internal import Glibc
internal import PropertyLists

/// Keeps a domain in a table of an SQLite database, a row for each top-level key, its value a binary property list.
///
/// Each commit has a number and a token of its own, in the table `commits`, and the keys that it changed stand in the
/// table `changes` for as long as a process that looks again can be expected to ask for them; one that comes later
/// loads everything.
///
/// The database is opened and made with the ``FileLock`` held; writes go by SQLite's own locks.
/// Whether the open file still has its name is looked at before each use, and after each commit.
///
/// `@unchecked Sendable`: used only with the domain's writer lock held.
final class SQLiteEngine: StorageEngine, @unchecked Sendable {
    let folder: StoreFolder
    let format: PropertyListFormat
    var isReadOnly: Bool { options.isReadOnly }
    var options: EngineOptions {
        didSet {
            guard options.isReadOnly != oldValue.isReadOnly else { return }
            disconnect()
            refusal = (try? folder.refusal(isReadOnly: isReadOnly)).flatMap { $0 }
        }
    }
    var limits: StoreLimits { options.limits }
    var rowFormat: PropertyListFormat? { .binary }
    /// SQLite reads a key whole for each that it compares with that: beside one of 1 MB, 100,000 others took 37 s.
    var longestKey: Int? { 16384 }
    var report: (@Sendable (DefaultsEvent) -> Void)?
    private(set) var refusal: DefaultsError?
    var watchedFolder: StoreFolder? { folder }
    /// Of no meaning: this process's own writes into the database are noticed.
    var isCurrent: Bool { true }
    var unreadable: DefaultsError?
    var damagedKeys: [[UInt8]: PropertyListError] = [:]
    private var synchronization: DefaultsSynchronization { options.synchronization }

    var connection: SQLiteConnection?
    private var statements: [Statement: OpaquePointer] = [:]
    var isInTransaction = false
    /// The lock under which databases are opened, while this process has it.
    var fileLock: FileLock?
    private var hasToldOfGroup = false
    /// Whether the connection is the parent process's.
    private var isInherited = false

    /// Whether the stored values were ever read.
    var hasLoaded = false
    /// Whether there was no database at the last look.
    var isGone = false
    /// The database that was read last, and its newest commit then; nil for none.
    var file: FileIdentity?
    /// The journal beside that database when it was opened.
    var journal: FileIdentity?
    var seen: NewestCommit?
    /// SQLite's count of others' commits at the last look; -1 for a new connection.
    var dataVersion: Int64 = -1
    /// The commit that may have happened or not.
    var doubt: CommitMark?

    init(
        _ folder: StoreFolder, format: PropertyListFormat, _ options: EngineOptions
    ) throws(DefaultsError) {
        self.folder = folder
        self.format = format
        self.options = options
        refusal = try folder.refusal(isReadOnly: options.isReadOnly)
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

    deinit { disconnect() }

    func disconnect() {
        guard !isInherited else { return }
        for statement in statements.values { connection?.finalize(statement) }
        statements = [:]
        connection?.close()
        connection = nil
        dataVersion = -1
        isInTransaction = false
    }

    /// Closes the connection, which is opened again when it is needed: a child must not inherit one, since SQLite would
    /// take the parent's locks for its own.
    func prepareFork() {
        if !isInTransaction { disconnect() }
    }

    func resetAfterFork() {
        doubt = nil
        fileLock?.abandon()
        fileLock = nil
        if connection != nil {
            // Forked in the middle of a transaction: nothing that the child did with the database would be safe. The
            // connection is kept, unused, since closing it would undo the parent's changes of the shared memory.
            isInherited = true
            refusal = DefaultsError(
                .unavailable, "The process was forked in the middle of a transaction", file: folder.path)
            isInTransaction = false
            return
        }
        seen = nil
    }

    // MARK: - Locking

    func lock(until deadline: Deadline) throws(DefaultsError) -> Bool {
        if let refusal { throw refusal }
        var waited = false
        while true {
            let connection = try opened(until: deadline)
            try synchronize(connection)
            if try begin(connection, until: deadline) { waited = true }
            if !connection.hasMoved { return waited }
            unlock()
            guard !deadline.hasPassed else {
                throw DefaultsError(.timedOut, "The database is replaced again and again", file: folder.path)
            }
        }
    }

    /// Begins a transaction that others wait for; says whether it had to wait for one of theirs.
    func begin(_ connection: SQLiteConnection, until deadline: Deadline) throws(DefaultsError) -> Bool {
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

    /// The database that has the store's name, where the one that was open lost it; locked, where that was.
    func relockIfMoved() throws(DefaultsError) {
        guard isInTransaction, connection?.hasMoved == true else { return }
        unlock()
        _ = try lock(until: .after(.seconds(2)))
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

    // MARK: - Statements

    /// The statements of each commit.
    enum Statement: String {
        case begin = "BEGIN IMMEDIATE"
        case commit = "COMMIT"
        case dataVersion = "PRAGMA data_version"
        case newest = "SELECT revision, token, oldest, middle, logged FROM commits ORDER BY revision DESC LIMIT 1"
        case upsert = """
            INSERT INTO defaults(key, value, revision) VALUES(?1, ?2, ?3)
            ON CONFLICT(key) DO UPDATE SET value=?2, revision=?3
            """
        case delete = "DELETE FROM defaults WHERE key=?1"
        case log = "INSERT INTO changes(revision, key) VALUES(?1, ?2)"
        case note = """
            INSERT OR REPLACE INTO commits(slot, revision, token, oldest, middle, logged) VALUES(?1, ?2, ?3, ?4, ?5, ?6)
            """
    }

    /// A statement of the connection, made when it is first asked for.
    func prepared(_ kind: Statement, _ connection: SQLiteConnection) throws(DefaultsError) -> OpaquePointer {
        if let statement = statements[kind] { return statement }
        let statement = try connection.prepare(kind.rawValue)
        statements[kind] = statement
        return statement
    }

    /// Tells once that the folder's group may replace the database.
    func tellOfGroup() {
        guard folder.isGroupWritable, !isReadOnly, !hasToldOfGroup else { return }
        hasToldOfGroup = true
        report?(.groupWritableFolder(folder.descriptor.path))
    }
}
