extension PostgreSQLConnection {
    /// The largest store that is read, in bytes of keys and values. libpq holds all of them in memory.
    package static let largestStore = 256 << 20

    /// The bytes of keys and values in one statement, more or less. The server holds them in memory twice.
    private static let statementBytes = 16 << 20

    /// How long the server keeps a store locked for a connection that says nothing, in milliseconds.
    private static let longestIdle: Int64 = 30_000

    // MARK: - Reading

    /// Reads a store as it is at one moment.
    ///
    /// - Parameters:
    ///   - seen: the revision that the caller has. The result then has only changes since, unless the server does not
    ///     know all of them. nil for everything.
    ///   - limit: the most bytes of keys and values.
    /// - Throws: ``FleetError/Code/accessDenied`` if the role may not read the store. Such a store looks empty to SQL.
    package func read(
        _ store: String, since seen: StoreRevision? = nil, limit: Int = largestStore, until deadline: Deadline
    ) throws(FleetError) -> StoreContents {
        guard let seen else { return try readWhole(store, as: .whole, limit, until: deadline) }
        let rows = try rows(of: store, since: seen, limit, until: deadline)
        let (new, horizon) = try revision(rows)
        let isInHistory = rows.count > 0 ? try rows.boolean(0, 4) : false
        let isKept = rows.count > 0 ? try rows.boolean(0, 5) : false
        guard follows(new, seen, isInHistory: isInHistory, isPruned: !isKept) else {
            return try readWhole(store, as: .restored, limit, until: deadline)
        }
        // Removals up to the horizon are forgotten.
        guard seen.number >= horizon else { return try readWhole(store, as: .whole, limit, until: deadline) }
        return StoreContents(revision: new, extent: .changes, entries: try entries(rows))
    }

    private func readWhole(
        _ store: String, as extent: StoreContents.Extent, _ limit: Int, until deadline: Deadline
    ) throws(FleetError) -> StoreContents {
        let rows = try rows(of: store, since: nil, limit, until: deadline)
        let entries = try entries(rows).filter { $0.value != nil }
        return StoreContents(revision: try revision(rows).revision, extent: extent, entries: entries)
    }

    /// The store's row, and the keys that are newer than a revision. It is one statement, and so of one moment.
    private func rows(
        of store: String, since seen: StoreRevision?, _ limit: Int, until deadline: Deadline
    ) throws(FleetError) -> PostgreSQLResult {
        let number = seen?.number ?? -1
        let size = try run(
            Statement(
                """
                SELECT coalesce(sum(length(key) + coalesce(length(value), 0)), 0)::int8 FROM kv_value
                WHERE store = $1 AND revision > $2
                """, .text(store), .integer(number)), until: deadline
        ).integer(0, 0)
        guard size <= limit else { throw .tooLarge(store, size, limit: limit) }
        let rows = try run(
            Statement(
                """
                SELECT s.head, s.token, s.identity, s.horizon,
                  EXISTS (SELECT FROM kv_change WHERE store = $1 AND revision = $2 AND token = $3),
                  EXISTS (SELECT FROM kv_change WHERE store = $1 AND revision <= $2), v.key, v.value
                FROM kv_store s LEFT JOIN kv_value v ON v.store = $1 AND v.revision > $2
                WHERE s.name = $1 ORDER BY v.key
                """, .text(store), .integer(number), .uuid((seen ?? .zero).sentToken)), until: deadline)
        if rows.count == 0 { try checkRight(store, isWriting: false, until: deadline) }
        return rows
    }

    /// Throws if the role may not read, or write, a store that it does not see.
    private func checkRight(_ store: String, isWriting: Bool, until deadline: Deadline) throws(FleetError) {
        let question = Statement("SELECT kv_may($1, \(isWriting))", .text(store))
        let may = try run(question, until: deadline).boolean(0, 0)
        guard may else { throw .mayNot(isWriting ? "write" : "read", store) }
    }

    /// Whether the server's revision belongs to the history of the revision that the caller has.
    private func follows(_ new: StoreRevision, _ seen: StoreRevision, isInHistory: Bool, isPruned: Bool) -> Bool {
        guard seen.number > 0 else { return true }
        guard new.identity == seen.identity, new.number >= seen.number else { return false }
        if new.number == seen.number { return new.token == seen.token }
        return isInHistory || isPruned
    }

    private func revision(_ rows: PostgreSQLResult) throws(FleetError) -> (revision: StoreRevision, horizon: Int64) {
        guard rows.count > 0 else { return (.zero, 0) }
        let number = try rows.integer(0, 0)
        guard number >= 0 else { throw .strangeRow }
        let revision = StoreRevision(number: number, token: try rows.uuid(0, 1), identity: try rows.uuid(0, 2))
        return (revision, try rows.integer(0, 3))
    }

    private func entries(_ rows: PostgreSQLResult) throws(FleetError) -> [StoreEntry] {
        // A store without newer keys is one row without a key.
        guard rows.bytes(0, 6) != nil else { return [] }
        var entries: [StoreEntry] = []
        for row in 0..<rows.count {
            guard let key = rows.bytes(row, 6) else { throw .strangeRow }
            entries.append(StoreEntry(key: key, value: rows.bytes(row, 7)))
        }
        return entries
    }

    // MARK: - Writing

    /// Writes entries as one revision.
    ///
    /// - Parameters:
    ///   - new: ``StoreRevision/next()`` of `seen`. Keep it until the call returns: ``wasWritten(_:in:until:)`` needs it.
    ///   - seen: the store's latest revision, ``StoreRevision/zero`` for a new store.
    ///   - note: the reason, for the history.
    /// - Returns: the written revision, from which to read on.
    /// - Throws: ``FleetError/Code/conflict`` if another program wrote the store after `seen`;
    ///   ``FleetError/Code/outcomeUnknown`` if the commit may have been made. Every other error means that nothing was
    ///   written.
    package func write(
        _ entries: [StoreEntry], to store: String, as new: StoreRevision, over seen: StoreRevision,
        note: String? = nil, until deadline: Deadline
    ) throws(FleetError) -> StoreRevision {
        guard new.number < .max else { throw .lastRevision(of: store) }
        do throws(FleetError) {
            let head = try lock(store, seen, until: deadline)
            guard let head else { throw .mayNot("write", store) }
            guard head.revision.number == seen.number, head.isInHistory || seen.number == 0 else {
                throw .writtenMeanwhile(store, head: head.revision.number)
            }
            _ = try run(writes(entries, store, new, note) + [.commit], until: deadline)
            guard !commitWarned else { throw .commitWarned }
            return StoreRevision(number: new.number, token: new.token, identity: head.revision.identity)
        } catch {
            // A server that answers with an error has undone the transaction.
            if isBroken, hasSentCommit { throw error.leavingOutcomeUnknown }
            rollBack()
            throw error
        }
    }

    /// Finds out, over a new connection, whether a commit of unknown outcome was made.
    ///
    /// It locks the store's row. The process of the old connection holds that lock for as long as it may still commit.
    ///
    /// - Returns: nil if the history no longer has commits of that age.
    package func wasWritten(
        _ revision: StoreRevision, in store: String, until deadline: Deadline
    ) throws(FleetError) -> Bool? {
        defer { rollBack() }
        guard let head = try lock(store, revision, until: deadline) else {
            try checkRight(store, isWriting: true, until: deadline)
            return false
        }
        if head.isInHistory { return true }
        return head.isKept || head.revision.number < revision.number ? false : nil
    }

    /// Locks the store's row in a transaction, which stays open.
    ///
    /// - Returns: the store's revision, whether its history has the revision `seen`, and whether the history has any
    ///   revision of that age; nil if the role may not write the store, or the store does not exist.
    private func lock(
        _ store: String, _ seen: StoreRevision, until deadline: Deadline
    ) throws(FleetError) -> (revision: StoreRevision, isInHistory: Bool, isKept: Bool)? {
        let (seconds, attoseconds) = deadline.remaining.components
        let patience = max(min(seconds, 1_000_000) * 1000 + attoseconds / 1_000_000_000_000_000, 1)
        // Slightly longer than the server waits for the lock, because the server's own error says more.
        let rows = try run(
            [
                Statement("BEGIN ISOLATION LEVEL READ COMMITTED"),
                Statement(
                    "SELECT * FROM kv_lock($1, $2, $3, $4, $5)", .text(store), .integer(seen.number),
                    .uuid(seen.sentToken), .integer(patience), .integer(Self.longestIdle)),
            ], until: .after(deadline.remaining + .milliseconds(500)))
        guard let rows = rows.last, rows.count > 0 else { return nil }
        return (try revision(rows).revision, try rows.boolean(0, 4), try rows.boolean(0, 5))
    }

    private func rollBack() {
        if !isBroken { _ = try? run(Statement("ROLLBACK"), until: .after(.seconds(2))) }
    }

    /// The statements that write entries. The last makes the store's new revision.
    private func writes(
        _ entries: [StoreEntry], _ store: String, _ new: StoreRevision, _ note: String?
    ) -> [Statement] {
        var statements: [Statement] = []
        var part: [StoreEntry] = []
        var size = 0
        func write(_ more: String) {
            statements.append(
                Statement(
                    "SELECT kv_write($1, $2, $3, $4, $5, $6)\(more)", .text(store), .integer(new.number),
                    .uuid(new.sentToken), .byteStrings(part.map(\.key)), .byteStrings(part.map(\.value)), .text(note)))
            part = []
            size = 0
        }
        for entry in entries {
            part.append(entry)
            size += entry.key.count + (entry.value?.count ?? 0)
            if size > Self.statementBytes { write("") }
        }
        write(", kv_finish($1, $2, $3)")
        return statements
    }

    // MARK: - Reports

    /// A later revision that a program cannot use, and why.
    package struct Refusal: Sendable {
        let revision: Int64
        let path: String
        let message: String

        package init(revision: Int64, path: String, message: String) {
            self.revision = revision
            self.path = path
            self.message = message
        }
    }

    /// Reports which revision of a store a program on a machine uses. It replaces the report before.
    package func report(
        _ store: String, machine: String, program: String, revision: Int64, refusal: Refusal? = nil,
        until deadline: Deadline
    ) throws(FleetError) {
        _ = try run(
            Statement(
                "SELECT kv_report($1, $2, $3, $4, $5, $6, $7)", .text(store), .text(machine), .text(program),
                .integer(revision), .integer(refusal?.revision), .text(refusal?.path), .text(refusal?.message)),
            until: deadline)
    }
}
