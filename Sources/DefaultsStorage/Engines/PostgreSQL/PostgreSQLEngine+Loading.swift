internal import PropertyLists

/// A revision of a store: its number, and the token that no other commit has.
struct Revision: Equatable {
    var number: Int64
    /// nil for the revision 0, that of a store that was never written.
    var token: [UInt8]?
    /// The store's own; nil where it is not there yet.
    var identity: [UInt8]?
}

extension PostgreSQLEngine {
    typealias Statement = PostgreSQLConnection.Statement

    func refresh(
        over memory: () throws(DefaultsError) -> PropertyList, until deadline: Deadline
    ) throws(DefaultsError) -> EngineState {
        if connection != nil {
            defer { lockedState = .unchanged }
            return lockedState
        }
        if !hasLoaded, let cached = readCache() { return .replaced(cached) }
        if lent == nil, hasLoaded, deadline.hasPassed {
            // The server's thread looks, and no call waits for it.
            server.start()
            guard seen != nil else { throw DefaultsError(.timedOut, "The server was not asked yet") }
            return .unchanged
        }
        if let lent { return try look(lent, until: deadline) }
        return try lookOverOwn(until: deadline)
    }

    /// Looks over a connection from the pool.
    private func lookOverOwn(until deadline: Deadline) throws(DefaultsError) -> EngineState {
        while true {
            let connection = try server.take(until: deadline)
            let isOld = connection.isUsed
            defer { letGo(connection) }
            do throws(DefaultsError) {
                return try look(connection, until: deadline)
            } catch {
                guard isOld, connection.isBroken, error.code == .unreachable, !deadline.hasPassed else { throw error }
            }
        }
    }

    private func readCache() -> PropertyList? {
        do throws(DefaultsError) {
            guard let (values, revision) = try cache?.read(limits) else { return nil }
            seen = revision
            kept = revision
            hasLoaded = true
            return values
        } catch {
            cache?.discard()
            report?(.unreadable(error))
            return nil
        }
    }

    // MARK: - Looking

    /// The columns that ``revision(_:)`` reads.
    static let revisionOfStore = "SELECT head, token, identity, horizon FROM kv_store WHERE name = $1"

    private func look(
        _ connection: PostgreSQLConnection, until deadline: Deadline
    ) throws(DefaultsError) -> EngineState {
        if let state = try lookForChanges(connection, until: deadline) { return state }
        return try reading(connection) { () throws(DefaultsError) in
            let results = try connection.run(
                [Self.beginReading, .init(Self.revisionOfStore, .text(store))], until: deadline)
            guard let row = results.last else { throw PostgreSQLResult.strange }
            let (new, _) = try revision(row)
            let state = try loadWhole(connection, as: new, until: deadline)
            _ = try connection.run([.commit], until: deadline)
            return state
        }
    }

    /// The changes since the revision seen last, by one statement, and so of one moment; nil where all is to be loaded.
    private func lookForChanges(
        _ connection: PostgreSQLConnection, until deadline: Deadline
    ) throws(DefaultsError) -> EngineState? {
        guard let seen else { return nil }
        let results = try connection.run(
            [
                .init(
                    """
                    SELECT s.head, s.token, s.identity, s.horizon,
                      EXISTS (SELECT FROM kv_change WHERE store = $1 AND revision = $2 AND token = $3),
                      EXISTS (SELECT FROM kv_change WHERE store = $1 AND revision <= $2), v.key, v.value
                    FROM kv_store s LEFT JOIN kv_value v ON v.store = $1 AND v.revision > $2
                    WHERE s.name = $1 ORDER BY v.key
                    """, .text(store), .integer(seen.number), .uuid(seen.token ?? noToken))
            ], until: deadline)
        guard let rows = results.first else { throw PostgreSQLResult.strange }
        if rows.count == 0, seen.number > 0 { try checkRight(connection, until: deadline) }
        let hasChanges = rows.bytes(0, 6) != nil
        return try changes(rows, from: hasChanges ? 0 : rows.count)
    }

    /// A store that was there and is not seen any more has gone, or the right to read it.
    private func checkRight(_ connection: PostgreSQLConnection, until deadline: Deadline) throws(DefaultsError) {
        let question = PostgreSQLConnection.Statement("SELECT kv_may($1, false)", .text(store))
        guard let answer = try connection.run([question], until: deadline).first, try !answer.boolean(0, 0) else {
            return
        }
        throw DefaultsError(.accessDenied, "The server does not allow this user to read the store any more")
    }

    /// The commit that set a key last, up to a revision; nil where the server is away, or knows nothing of it. Of every
    /// thread, without the domain's writer lock.
    func commit(of key: UnsafeBufferPointer<UInt8>, upTo revision: Int64, until deadline: Deadline) -> ServerCommit? {
        guard server.absence == nil, let connection = try? server.take(until: deadline) else { return nil }
        defer { server.giveBack(connection) }
        let found = try? connection.run(
            [
                .init(
                    """
                    SELECT revision, who::text FROM kv_change WHERE store = $1 AND key = $2 AND revision <= $3
                    UNION ALL
                    SELECT revision, NULL FROM kv_value WHERE store = $1 AND key = $2 AND revision <= $3
                    ORDER BY 1 DESC, 2 NULLS LAST LIMIT 1
                    """, .text(store), .bytes(Array(key)), .integer(revision))
            ], until: deadline)
        guard let row = found?.first, let number = try? row.integer(0, 0) else { return nil }
        return ServerCommit(revision: number, author: row.bytes(0, 1).map { String(decoding: $0, as: UTF8.self) })
    }

    private static let beginReading = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    /// Runs `body` over statements of a transaction; one that failed is ended.
    private func reading<Result>(
        _ connection: PostgreSQLConnection, _ body: () throws(DefaultsError) -> Result
    ) throws(DefaultsError) -> Result {
        do throws(DefaultsError) {
            return try body()
        } catch {
            if !connection.isBroken { _ = try? connection.run([.init("ROLLBACK")], until: .after(.seconds(2))) }
            throw error
        }
    }

    /// Locks the store's row in a transaction that stays open, and looks for the changes of others.
    func lock(
        _ connection: PostgreSQLConnection, until deadline: Deadline
    ) throws(DefaultsError) -> EngineState {
        let wait = max(deadline.remaining / 1_000_000, 1)
        let (seconds, _) = timeout.components
        let idle = max(30_000, min(seconds, 600) * 3000)
        // A little longer than the server waits for the lock: its own answer says more.
        let patience = Deadline.after(.nanoseconds(deadline.remaining) + .milliseconds(500))
        connection.isInTransaction = true
        let results = try connection.run(
            [
                .init("BEGIN ISOLATION LEVEL READ COMMITTED"),
                .init(
                    "SELECT * FROM kv_lock($1, $2, $3, $4, $5)", .text(store),
                    .integer(seen?.number ?? -1), .uuid(seen?.token ?? noToken),
                    .integer(min(wait, 1_000_000_000)), .integer(idle)),
            ], until: patience)
        guard let rows = results.last, rows.count > 0 else {
            throw DefaultsError(.accessDenied, "The server does not allow this user to write the store")
        }
        head = try revision(rows).revision
        if let state = try changes(rows, from: 1) { return state }
        guard let head else { throw PostgreSQLResult.strange }
        return try loadWhole(connection, as: head, until: patience)
    }

    private var noToken: [UInt8] { [UInt8](repeating: 0, count: 16) }

    /// The changes since the revision seen last, from an answer with the store's row, whether the history has that
    /// revision, and whether any that is as old; nil where they are not known.
    ///
    /// - Parameter first: the row from which on there are newer keys and their values.
    private func changes(_ rows: PostgreSQLResult, from first: Int) throws(DefaultsError) -> EngineState? {
        guard let seen else { return nil }
        let (new, horizon) = try revision(rows)
        let isThere = rows.count > 0 ? try rows.boolean(0, 4) : false
        let isKept = rows.count > 0 ? try rows.boolean(0, 5) : false
        guard follows(new, seen, isThere: isThere, isPruned: !isKept) else {
            isBack = true
            returns += 1
            report?(.stale(from: seen.number, to: new.number))
            return nil
        }
        guard seen.number >= horizon else { return nil }
        let changes = try changes(in: rows, from: first)
        self.seen = new
        return changes.isEmpty ? .unchanged : .changed(changes)
    }

    private func loadWhole(
        _ connection: PostgreSQLConnection, as new: Revision, until deadline: Deadline
    ) throws(DefaultsError) -> EngineState {
        let list = try whole(connection, until: deadline)
        seen = new
        hasLoaded = true
        return .replaced(list)
    }

    /// Whether the server's revision is a later one of the history that was seen, or the same.
    private func follows(_ new: Revision, _ seen: Revision, isThere: Bool, isPruned: Bool) -> Bool {
        guard let identity = seen.identity, seen.number > 0 else { return seen.number == 0 }
        guard new.identity == identity, new.number >= seen.number else { return false }
        if new.number == seen.number { return new.token == seen.token }
        return isThere || isPruned
    }

    private func revision(_ result: PostgreSQLResult) throws(DefaultsError) -> (revision: Revision, horizon: Int64) {
        guard result.count > 0 else { return (Revision(number: 0), 0) }
        let number = try result.integer(0, 0)
        guard 0..<Int64.max ~= number else { throw PostgreSQLResult.strange }
        let revision = Revision(
            number: number, token: try result.uuid(0, 1), identity: try result.uuid(0, 2))
        return (revision, try result.integer(0, 3))
    }

    // MARK: - Rows

    private func changes(
        in rows: PostgreSQLResult, from first: Int
    ) throws(DefaultsError) -> [(key: String, value: PropertyList?)] {
        var result: [(key: String, value: PropertyList?)] = []
        var damaged = damagedKeys
        for row in first..<rows.count {
            guard let key = rows.bytes(row, 6) else { throw PostgreSQLResult.strange }
            damaged[Array(key)] = nil
            do throws(PropertyListError) {
                let value = try rows.bytes(row, 7).map { bytes throws(PropertyListError) in
                    try PropertyList.parse(bytes, as: .binary, limits: limits.reading).list
                }
                result.append((try text(key), value))
            } catch {
                damaged[Array(key)] = error
            }
        }
        take(damaged)
        return result
    }

    private func text(_ key: UnsafeRawBufferPointer) throws(PropertyListError) -> String {
        guard let text = String(validating: key, as: UTF8.self) else {
            throw PropertyListError(.malformed, "The key is not UTF-8")
        }
        return text
    }

    /// The whole dictionary, put together row by row: the rows come in the order of their keys. Those that cannot be
    /// read are left out.
    private func whole(
        _ connection: PostgreSQLConnection, until deadline: Deadline
    ) throws(DefaultsError) -> PropertyList {
        let sum = try connection.run(
            [
                .init(
                    "SELECT coalesce(sum(length(key) + coalesce(length(value), 0)), 0)::int8 FROM kv_value WHERE store = $1",
                    .text(store))
            ], until: deadline)
        let size = try sum.first?.integer(0, 0) ?? 0
        guard size <= Int64(limits.readableFile) else { throw limits.tooLarge(Int(size), file: nil) }
        let all = try connection.run(
            [
                .init(
                    "SELECT key, value FROM kv_value WHERE store = $1 AND value IS NOT NULL ORDER BY key", .text(store))
            ], until: deadline)
        guard let rows = all.first else { throw PostgreSQLResult.strange }
        return try dictionary(rows)
    }

    private func dictionary(_ rows: PostgreSQLResult) throws(DefaultsError) -> PropertyList {
        var builder = PropertyListBuilder(limits: .store)
        var damaged: [[UInt8]: PropertyListError] = [:]
        try DefaultsError.translating { () throws(PropertyListError) in try builder.beginDictionary() }
        for row in 0..<rows.count {
            guard let key = rows.bytes(row, 0), let value = rows.bytes(row, 1) else { throw PostgreSQLResult.strange }
            let mark = builder.mark
            do throws(PropertyListError) {
                _ = try text(key)
                try builder.key(utf8: key)
                try builder.append(binary: value, limits: limits.reading)
            } catch {
                builder.rewind(to: mark)
                damaged[Array(key)] = error
            }
        }
        let list = try DefaultsError.translating { () throws(PropertyListError) in
            try builder.end()
            return try builder.finish()
        }
        take(damaged)
        return list
    }

    /// Takes the rows that cannot be read for the present ones, and tells of those that are new.
    private func take(_ damaged: [[UInt8]: PropertyListError]) {
        let new = damaged.filter { damagedKeys[$0.key] != $0.value }
        damagedKeys = damaged
        guard let first = new.min(by: { $0.key.lexicographicallyPrecedes($1.key) }) else { return }
        let error = DefaultsError(first.value.inRow(of: first.key))
        let others = new.count > 1 ? ", and \(new.count - 1) more keys cannot be read" : ""
        report?(.unreadable(error.followed(by: others)))
    }
}
