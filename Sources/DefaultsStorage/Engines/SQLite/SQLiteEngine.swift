internal import CKVSystem
internal import Glibc
internal import PropertyLists

/// Keeps a domain in a table of an SQLite database: a row for each top-level key, its value a binary property list.
///
/// Each write of a row gives the row the next revision, which is also the row's place in the table. A look therefore
/// reads only the rows behind the newest revision that it knows. The row of a removed key has no value. A commit that
/// finds many such rows deletes them, and a process whose newest revision is older then loads everything.
///
/// SQLite's own locks are not enough inside a host: POSIX drops them when any part of the process closes a descriptor of
/// the database. A commit therefore holds the ``FileLock``. A connection leaves the journal where it is when it is
/// closed, unless ``FileLock/Kind/open`` says that nobody else has the database open. Before each use and after each
/// commit the engine checks that the database and its journal still have their names, and opens them again otherwise.
///
/// `@unchecked Sendable`: used only with the domain's writer lock held.
final class SQLiteEngine: StorageEngine, @unchecked Sendable {
    private(set) var folder: StoreFolder
    let format: PropertyListFormat
    var isReadOnly: Bool { options.isReadOnly }
    var options: EngineOptions {
        didSet {
            guard options.isReadOnly != oldValue.isReadOnly else { return }
            disconnect()
            refusal = folder.refusalOrError(isReadOnly: isReadOnly)
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
    var isInTransaction = false
    /// The lock of the process that writes the database, or makes it, while this process has it.
    var fileLock: FileLock?
    var hasToldOfGroup = false
    /// True if the last look found no database; nil before the first look.
    var isGone: Bool?
    /// The newest commit that was loaded or made.
    var seen: Commit?
    /// The last revision of the commit that may have happened or not.
    var doubt: Int64?

    init(
        _ folder: StoreFolder, format: PropertyListFormat, _ options: EngineOptions
    ) throws(DefaultsError) {
        self.folder = folder
        self.format = format
        self.options = options
        refusal = try folder.refusal(isReadOnly: options.isReadOnly)
        // WAL's shared memory does not work between machines.
        if Self.networks.contains(cs_file_system_type(folder.descriptor.number) & 0xFFFF_FFFF) {
            throw DefaultsError(.unavailable, "SQLite cannot share a file on a network file system", file: folder.path)
        }
    }

    /// NFS, SMB, CIFS, SMB2, AFS, Ceph, 9P and FUSE, by their numbers in statfs(2).
    private static let networks: [Int64] = [
        0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x5346_414F, 0x00C3_6400, 0x0102_1997, 0x6573_5546,
    ]

    deinit { disconnect() }

    /// Closes the connection. The only process that has the database open leaves it in one file.
    ///
    /// The journal of a database that could not be read stays: it may hold what can be saved.
    func disconnect() {
        guard let connection, !connection.isInherited else { return }
        let isTidy = !isReadOnly && connection.dataVersion != nil && (try? hasNames(connection)) == true
        connection.close(removingJournal: isTidy && connection.openLock?.becomeExclusive() == true)
        self.connection = nil
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
        guard let connection else {
            seen = nil
            return
        }
        // Forked in the middle of a transaction: nothing that the child did with the database would be safe. The
        // connection is kept, unused, since closing it would undo the parent's changes of the shared memory.
        connection.isInherited = true
        refusal = DefaultsError(
            .unavailable, "The process was forked in the middle of a transaction", file: folder.path)
        isInTransaction = false
    }

    /// Goes where the store's path leads now.
    func follow() throws(DefaultsError) {
        guard let new = try folder.followedAgain() else { return }
        disconnect()
        (folder, seen) = (new, nil)
        refusal = new.refusalOrError(isReadOnly: isReadOnly)
    }

    // MARK: - Locking

    func lock(until deadline: Deadline) throws(DefaultsError) -> Bool {
        try follow()
        if let refusal { throw refusal }
        let (lock, waited) = try FileLock.acquire(folder, until: deadline)
        fileLock = lock
        do throws(DefaultsError) {
            return try begin(until: deadline) || waited
        } catch {
            unlock()
            throw error
        }
    }

    func unlock() {
        rollBack()
        fileLock?.release()
        fileLock = nil
    }

    /// Begins a transaction on the database that has the store's name. Returns true if it had to wait for one of a foreign
    /// program.
    func begin(until deadline: Deadline) throws(DefaultsError) -> Bool {
        let connection = try opened(until: deadline)
        if connection.synchronization != synchronization {
            try connection.execute("PRAGMA synchronous=\(synchronization == .full ? "FULL" : "NORMAL")")
            connection.synchronization = synchronization
        }
        var attempts = 0
        try patiently(until: deadline) { () throws(DefaultsError) in
            attempts += 1
            try connection.run(try connection.statement("BEGIN IMMEDIATE"))
        }
        isInTransaction = true
        return attempts > 1
    }

    func rollBack() {
        guard isInTransaction else { return }
        isInTransaction = false
        try? connection?.execute("ROLLBACK")
    }

    /// Runs `body` again while a foreign program keeps the database busy. SQLite's own timeout knows nothing of the
    /// deadline.
    func patiently<Result>(
        until deadline: Deadline, _ body: () throws(DefaultsError) -> Result
    ) throws(DefaultsError) -> Result {
        while true {
            do throws(DefaultsError) {
                return try body()
            } catch {
                guard error.code == .timedOut, !deadline.hasPassed else { throw error }
                deadline.sleep(.milliseconds(1))
            }
        }
    }
}
