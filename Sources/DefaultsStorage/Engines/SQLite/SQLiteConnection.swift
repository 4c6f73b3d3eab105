internal import CKVSQLite
internal import Glibc
internal import PropertyLists

/// A database that is open, and its statements.
///
/// `@unchecked Sendable`: used only with the domain's writer lock held.
final class SQLiteConnection: @unchecked Sendable {
    private let sqlite: csqlite_functions
    private var database: OpaquePointer?
    let path: String
    /// The synchronization that the connection was set to; nil before the first commit.
    var synchronization: DefaultsSynchronization?

    /// Opens a database, which must exist: SQLite would make it for everybody to read.
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

    /// Whether the stored values were read without a fault. Until they were, closing leaves the journal where it is:
    /// that of a damaged database is moved aside with the rest.
    var isTrusted = false {
        didSet { if isTrusted != oldValue { csqlite_keep_journal(database, isTrusted ? 0 : 1) } }
    }

    /// Whether the file that was opened is not the one of its path any more: it was removed or renamed, or another one
    /// has its name, or its folder was renamed. Then no program ever reads the writes.
    ///
    /// Closing a database that has moved leaves the journal of its name alone, which may be another one's.
    var hasMoved: Bool {
        var moved: Int32 = 0
        let status = sqlite.file_control(database, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
        return status == SQLITE_OK && moved != 0
    }

    /// Whether a commit that failed in the last call may be whole in the journal: its end is written before anything is
    /// synced.
    var mayHaveCommitted: Bool {
        let status = sqlite.extended_errcode(database)
        return ![SQLITE_BUSY, SQLITE_FULL].contains(status & 0xFF) && status != SQLITE_IOERR | 3 << 8  // _WRITE
    }

    func close() {
        _ = sqlite.close_v2(database)
        database = nil
    }

    func execute(_ text: String) throws(DefaultsError) {
        let status = sqlite.exec(database, text, nil, nil, nil)
        guard status == SQLITE_OK else { throw error(status) }
    }

    /// Copies the committed rows into the file at `path`, which has none. A fault's message names it.
    func copy(to path: String) throws(DefaultsError) {
        let text = path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
        let status = sqlite.exec(database, "VACUUM INTO '\(text)'", nil, nil, nil)
        guard status == SQLITE_OK else { throw error(status, about: path) }
    }

    func prepare(_ text: String) throws(DefaultsError) -> OpaquePointer {
        var statement: OpaquePointer?
        let status = sqlite.prepare_v2(database, text, -1, &statement, nil)
        guard status == SQLITE_OK, let statement else { throw error(status) }
        return statement
    }

    func finalize(_ statement: OpaquePointer?) { _ = sqlite.finalize(statement) }

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

    /// The first column of the first row of a query.
    func integer(_ query: String) throws(DefaultsError) -> Int64 {
        let statement = try prepare(query)
        defer { finalize(statement) }
        return try integer(statement)
    }

    /// Runs `body` over one state of the database, whatever others write meanwhile.
    func reading<Result>(_ body: () throws(DefaultsError) -> Result) throws(DefaultsError) -> Result {
        try execute("BEGIN")
        defer { try? execute("COMMIT") }
        return try body()
    }

    func integer(_ statement: OpaquePointer) throws(DefaultsError) -> Int64 {
        var result: Int64 = 0
        try run(statement) { () throws(DefaultsError) in result = sqlite.column_int64(statement, 0) }
        return result
    }

    func text(_ query: String) throws(DefaultsError) -> String {
        let statement = try prepare(query)
        defer { finalize(statement) }
        var result = ""
        try run(statement) { () throws(DefaultsError) in result = key(statement, 0) }
        return result
    }

    // MARK: - Columns and parameters

    func bind(_ statement: OpaquePointer, _ index: Int32, text: UnsafeBufferPointer<UInt8>) throws(DefaultsError) {
        // Bound until the run ends, during which the caller keeps the bytes; an empty text needs an address, too.
        let empty: StaticString = ""
        let start = text.baseAddress ?? empty.utf8Start
        try checkBound(
            start.withMemoryRebound(to: CChar.self, capacity: text.count) {
                sqlite.bind_text(statement, index, $0, Int32(clamping: text.count), nil)
            })
    }

    func bind(_ statement: OpaquePointer, _ index: Int32, blob: UnsafeRawBufferPointer) throws(DefaultsError) {
        try checkBound(sqlite.bind_blob(statement, index, blob.baseAddress, Int32(clamping: blob.count), nil))
    }

    func bind(_ statement: OpaquePointer, _ index: Int32, integer: Int64) throws(DefaultsError) {
        try checkBound(sqlite.bind_int64(statement, index, integer))
    }

    /// A value that could not be bound would be written as NULL; SQLite binds a billion bytes at most.
    private func checkBound(_ status: Int32) throws(DefaultsError) {
        if status != SQLITE_OK { throw error(status) }
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

    func key(_ statement: OpaquePointer, _ column: Int32) -> String {
        String(decoding: text(statement, column), as: UTF8.self)
    }

    // MARK: - Errors

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
            case SQLITE_CANTOPEN: .io
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
