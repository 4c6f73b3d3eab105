internal import CKVSQLite
internal import Glibc
internal import PropertyLists

/// A database that is open, its statements, and what was known of it at the last look.
///
/// `@unchecked Sendable`: used only with the domain's writer lock held.
final class SQLiteConnection: @unchecked Sendable {
    private let sqlite: csqlite_functions
    private var database: OpaquePointer?
    /// The statements by their texts, each prepared once.
    private var statements: [String: OpaquePointer] = [:]
    let path: String
    /// The synchronization that the connection was set to; nil before the first transaction.
    var synchronization: DefaultsSynchronization?
    /// The database and its journal when they were opened.
    var files: DatabaseFiles?
    /// The lock that says that the database is open; nil for a copy, and for a reader where nobody has made the lock.
    var openLock: FileLock?
    /// SQLite's mark of others' commits at the last look; nil before the first look.
    var dataVersion: Int64?
    /// True in a child process, whose parent has the database open.
    var isInherited = false

    /// Opens a database, which must exist: SQLite would make it for everybody to read.
    ///
    /// Its journal stays where it is when the connection is closed. See ``close(removingJournal:)``.
    ///
    /// - Parameter isReadOnly: whether nothing is written.
    init(_ path: String, isReadOnly: Bool) throws(DefaultsError) {
        guard let functions = csqlite_load() else {
            throw DefaultsError(
                .unavailable, "SQLite is not installed: the system's libsqlite3.so.0 could not be loaded", file: path)
        }
        sqlite = functions.pointee
        self.path = path
        let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        let flags = access | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX
        let status = sqlite.open_v2(path, &database, flags, nil)
        guard status == SQLITE_OK else {
            let error = self.error(status)
            _ = sqlite.close_v2(database)
            throw error
        }
        _ = sqlite.extended_result_codes(database, 1)
        csqlite_keep_journal(database, 1)
    }

    /// True if the database's path leads to another file now, or to none: the file or its folder was renamed, removed or
    /// replaced.
    var hasMoved: Bool {
        var moved: Int32 = 0
        let status = sqlite.file_control(database, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
        return status == SQLITE_OK && moved != 0
    }

    /// True if the commit that failed in the last call may be whole in the journal: SQLite writes the end of a commit
    /// before it syncs anything.
    var mayHaveCommitted: Bool {
        let status = sqlite.extended_errcode(database)
        return ![SQLITE_BUSY, SQLITE_FULL].contains(status & 0xFF) && status != SQLITE_IOERR | 3 << 8  // _WRITE
    }

    /// Closes the database.
    ///
    /// - Parameter removingJournal: true to write the journal back and remove it, unless a foreign program has the
    ///   database open.
    func close(removingJournal: Bool = false) {
        if isInherited { return }
        for statement in statements.values { _ = sqlite.finalize(statement) }
        statements = [:]
        if removingJournal { csqlite_keep_journal(database, 0) }
        _ = sqlite.close_v2(database)
        database = nil
        if let file = files?.database { OpenLocks.shared.remove(file) }
        files = nil
        openLock?.release()
        openLock = nil
    }

    func execute(_ text: String) throws(DefaultsError) {
        try check(sqlite.exec(database, text, nil, nil, nil))
    }

    /// Copies the committed rows into the file at `path`, which has none. A fault's message names it.
    func copy(to path: String) throws(DefaultsError) {
        let text = path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
        try check(sqlite.exec(database, "VACUUM INTO '\(text)'", nil, nil, nil), about: path)
    }

    /// Runs statements that count all or none.
    func transact(_ text: String) throws(DefaultsError) {
        do throws(DefaultsError) {
            try execute("BEGIN IMMEDIATE; \(text); COMMIT")
        } catch {
            try? execute("ROLLBACK")
            throw error
        }
    }

    /// Runs `body` over one state of the database, whatever others write meanwhile.
    func reading<Result>(_ body: () throws(DefaultsError) -> Result) throws(DefaultsError) -> Result {
        try execute("BEGIN")
        defer { try? execute("COMMIT") }
        return try body()
    }

    // MARK: - Statements

    /// The statement of a text.
    func statement(_ text: String) throws(DefaultsError) -> OpaquePointer {
        if let statement = statements[text] { return statement }
        var statement: OpaquePointer?
        try check(sqlite.prepare_v2(database, text, -1, &statement, nil))
        guard let statement else { throw error(SQLITE_ERROR) }
        statements[text] = statement
        return statement
    }

    /// Runs the statement to its end, with `row` called for each row. A parameter that is not bound until then is NULL.
    func run(_ statement: OpaquePointer, _ row: () throws(DefaultsError) -> Void = {}) throws(DefaultsError) {
        defer {
            _ = sqlite.reset(statement)
            _ = sqlite.clear_bindings(statement)
        }
        while true {
            let status = sqlite.step(statement)
            if status == SQLITE_DONE { return }
            guard status == SQLITE_ROW else { throw error(status) }
            try row()
        }
    }

    /// The first column of a query's last row.
    func integer(_ query: String) throws(DefaultsError) -> Int64 {
        let statement = try statement(query)
        var result: Int64 = 0
        try run(statement) { () throws(DefaultsError) in result = integer(statement, 0) }
        return result
    }

    // MARK: - Columns and parameters

    /// Binds a text, which the caller keeps until the run ends.
    func bind(_ statement: OpaquePointer, _ index: Int32, text: UnsafeBufferPointer<UInt8>) throws(DefaultsError) {
        // An empty text needs an address, too.
        let empty: StaticString = ""
        let start = text.baseAddress ?? empty.utf8Start
        try check(
            start.withMemoryRebound(to: CChar.self, capacity: text.count) {
                sqlite.bind_text(statement, index, $0, Int32(clamping: text.count), nil)
            })
    }

    /// Binds bytes, which the caller keeps until the run ends.
    func bind(_ statement: OpaquePointer, _ index: Int32, blob: UnsafeRawBufferPointer) throws(DefaultsError) {
        try check(sqlite.bind_blob(statement, index, blob.baseAddress, Int32(clamping: blob.count), nil))
    }

    func bind(_ statement: OpaquePointer, _ index: Int32, integer: Int64) throws(DefaultsError) {
        try check(sqlite.bind_int64(statement, index, integer))
    }

    func integer(_ statement: OpaquePointer, _ column: Int32) -> Int64 { sqlite.column_int64(statement, column) }

    func isNull(_ statement: OpaquePointer, _ column: Int32) -> Bool {
        sqlite.column_type(statement, column) == SQLITE_NULL
    }

    /// The text of a column, lent until the next step.
    func text(_ statement: OpaquePointer, _ column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite.column_text(statement, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite.column_bytes(statement, column)))
    }

    /// The bytes in a column, lent until the next step; none for NULL.
    func blob(_ statement: OpaquePointer, _ column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite.column_blob(statement, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite.column_bytes(statement, column)))
    }

    // MARK: - Errors

    private func check(_ status: Int32, about file: String? = nil) throws(DefaultsError) {
        if status != SQLITE_OK { throw error(status, about: file) }
    }

    /// - Parameter file: the path of another file that SQLite's message may name.
    private func error(_ status: Int32, about file: String? = nil) -> DefaultsError {
        let code: DefaultsError.Code =
            switch status & 0xFF {
            case SQLITE_BUSY, SQLITE_LOCKED: .timedOut
            case SQLITE_FULL: .noSpace
            case SQLITE_TOOBIG: .limitExceeded
            case SQLITE_READONLY: .readOnly
            case SQLITE_PERM, SQLITE_AUTH: .accessDenied
            case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt
            default: .io
            }
        let text = sqlite.errmsg(database).map { String(cString: $0) } ?? "error \(status)"
        let number = sqlite.system_errno(database)
        let isSystems = [SQLITE_IOERR, SQLITE_CANTOPEN].contains(status & 0xFF) && number != 0
        var error: DefaultsError =
            isSystems ? .system("SQLite", number, file: path) : DefaultsError(code, "SQLite", file: path)
        let detail = isSystems ? " (\(text))" : ": \(text)"
        if let file, text.contains(file) { error.confidential = detail } else { error.message += detail }
        return error
    }
}
