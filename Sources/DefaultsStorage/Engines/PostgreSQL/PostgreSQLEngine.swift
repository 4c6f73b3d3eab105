internal import Glibc
internal import PropertyLists

/// Keeps a domain in the tables of a server (`share/kvcodable/fleet.sql`), a row for each top-level key, its value a
/// binary property list.
///
/// The store's row is its lock, and holds the revision: a commit locks it, reads the rows that are newer than its own
/// revision, and writes its own. The values seen last are kept on this machine as well, and are read where the server
/// is away.
///
/// `@unchecked Sendable`: used only with the domain's writer lock held.
final class PostgreSQLEngine: StorageEngine, @unchecked Sendable {
    let server: PostgreSQLServer
    let store: String
    let format: PropertyListFormat
    let isReadOnly: Bool
    let timeout: Duration
    /// The note on the next commit in the history.
    var note: String?
    /// nil where the user has no folder for it.
    let cache: ServerCache?
    var limits: StoreLimits
    var rowFormat: PropertyListFormat? { .binary }
    /// A key is a part of an index's entry, which has 2,700 bytes at most, with the store's name.
    var longestKey: Int? { 1000 }
    var report: (@Sendable (DefaultsEvent) -> Void)?
    var refusal: DefaultsError? { nil }
    var absence: DefaultsError? { server.absence }
    var revision: Int64? { seen?.number }
    var watchedFolder: StoreFolder? { nil }
    var isCurrent: Bool { true }
    var isShared: Bool { true }
    var damagedKeys: [[UInt8]: PropertyListError] = [:]

    /// The connection whose transaction has the store's row locked.
    var connection: PostgreSQLConnection?
    /// The changes that others had made when the row was locked.
    var lockedState = EngineState.unchanged
    /// The revision of the locked row.
    var head: Revision?
    /// A connection of the server's thread, for as long as that looks.
    var lent: PostgreSQLConnection?

    /// Whether the server's thread knows of the domain. Guarded by the server.
    var isAttended = false
    /// Whether values were ever read, from the server or from the cache.
    var hasLoaded = false
    /// The revision that was read or written last; nil where all is to be loaded.
    var seen: Revision?
    /// The revision in the cache.
    var kept: Revision?
    /// Whether the server went back to an earlier revision since that was kept.
    var isBack = false
    var returns = 0
    /// The commit that may have happened or not.
    var doubt: Revision?

    init(
        _ server: PostgreSQLServer, _ store: String, format: PropertyListFormat, isReadOnly: Bool, timeout: Duration,
        limits: StoreLimits
    ) {
        self.server = server
        self.store = store
        self.format = format
        self.isReadOnly = isReadOnly
        self.timeout = timeout
        self.limits = limits
        cache = ServerCache(server.address, store)
    }

    deinit {
        connection?.close()
        if let connection { server.giveBack(connection) }
        server.wake()
    }

    // MARK: - Fork

    func prepareFork() {}

    /// A child has no part in the parent's connections, and loads everything anew.
    func resetAfterFork() {
        connection?.abandon()
        connection = nil
        lent = nil
        doubt = nil
        seen = nil
        lockedState = .unchanged
    }

    func remadeAfterFork() -> (any StorageEngine)? {
        let engine = PostgreSQLEngine(
            server, store, format: format, isReadOnly: isReadOnly, timeout: timeout, limits: limits)
        engine.hasLoaded = true
        engine.isAttended = true
        return engine
    }

    /// The history is kept with every commit.
    func keepCopy(named suffix: String) {}

    // MARK: - Locking

    func lock(until deadline: Deadline) throws(DefaultsError) -> Bool {
        while true {
            let connection = try server.take(until: deadline)
            let isOld = connection.isUsed
            do throws(DefaultsError) {
                lockedState = try lock(connection, until: deadline)
                self.connection = connection
                return false
            } catch {
                letGo(connection)
                // A connection that was not used for a while may be dead without a sign.
                guard isOld, connection.isBroken, error.code == .unreachable, !deadline.hasPassed else { throw error }
            }
        }
    }

    func unlock() {
        guard let connection else { return }
        self.connection = nil
        lockedState = .unchanged
        letGo(connection)
    }

    /// Gives a connection back, without the transaction that is open on it.
    func letGo(_ connection: PostgreSQLConnection) {
        if !connection.isBroken, connection.isInTransaction {
            _ = try? connection.run([.init("ROLLBACK")], until: .after(min(timeout, .seconds(2))))
            connection.isInTransaction = false
        }
        server.giveBack(connection)
    }
}
