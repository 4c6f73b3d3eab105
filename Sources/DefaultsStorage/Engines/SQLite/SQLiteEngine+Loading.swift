internal import Glibc
internal import PropertyLists

/// The number of a commit, and its token, which no other commit has.
struct CommitMark: Equatable {
    var revision: Int64
    var token: Int64
}

/// The newest commit, and how far back the changes before it are known.
struct NewestCommit {
    var mark: CommitMark
    /// A process that has seen this commit or a later one finds all changes since in the table.
    var oldest: Int64
    /// The commit up to which the table is emptied next.
    var middle: Int64
    /// The number of keys in the table since then.
    var logged: Int64
}

extension SQLiteEngine {
    func refresh(
        over memory: () throws(DefaultsError) -> PropertyList, until deadline: Deadline
    ) throws(DefaultsError) -> EngineState {
        if let refusal, refusal.code == .unavailable { throw refusal }
        do throws(DefaultsError) {
            try relockIfMoved()
            if try isMissing() { return leave() }
            isGone = false
            return try look(until: deadline)
        } catch {
            if error.code != .timedOut, error.code != .unavailable { note(error) }
            throw error
        }
    }

    /// Whether the database went, or never was, and is not made by a look.
    private func isMissing() throws(DefaultsError) -> Bool {
        guard isReadOnly || hasLoaded, !isInTransaction else { return false }
        return try folder.status(of: folder.fileName) == nil
    }

    private func leave() -> EngineState {
        disconnect()
        damagedKeys = [:]
        unreadable = nil
        seen = nil
        hasLoaded = true
        defer { isGone = true }
        return isGone ? .unchanged : .replaced(emptyDictionary)
    }

    func look(until deadline: Deadline) throws(DefaultsError) -> EngineState {
        let connection = try opened(until: deadline)
        return try patiently(until: deadline) { () throws(DefaultsError) in
            let version = try connection.integer(try prepared(.dataVersion, connection))
            let state = version == dataVersion ? EngineState.unchanged : try loadAll(connection)
            dataVersion = version
            connection.isTrusted = true
            hasLoaded = true
            unreadable = nil
            return state
        }
    }

    private func note(_ error: DefaultsError) {
        if unreadable != error, hasLoaded { report?(.unreadable(error)) }
        unreadable = error
    }

    private func loadAll(_ connection: SQLiteConnection) throws(DefaultsError) -> EngineState {
        if isInTransaction { return try load(connection) }
        return try connection.reading { () throws(DefaultsError) in try load(connection) }
    }

    /// The changes since the last look, or everything where they are not known.
    private func load(_ connection: SQLiteConnection) throws(DefaultsError) -> EngineState {
        let newest = try newestCommit(connection)
        guard let newest, let seen = seen?.mark, try isKnown(seen, newest, connection) else {
            try checkSize(connection)
            let list = try whole(connection)
            seen = newest
            return .replaced(list)
        }
        if newest.mark == seen { return .unchanged }
        let changes = try changes(since: seen, connection)
        self.seen = newest
        return .changed(changes)
    }

    /// Whether the changes since a commit are all in the table.
    private func isKnown(
        _ seen: CommitMark, _ newest: NewestCommit, _ connection: SQLiteConnection
    ) throws(DefaultsError) -> Bool {
        guard seen.revision >= newest.oldest, seen.revision <= newest.mark.revision else { return false }
        // On a connection that was open already another program must have written past us.
        if newest.mark == seen { return dataVersion < 0 }
        guard dataVersion < 0 else { return true }
        // A new connection may be to another database, whose number of commits says nothing.
        return try isThere(seen, connection)
    }

    /// Whether a commit is one of the last.
    func isThere(_ commit: CommitMark, _ connection: SQLiteConnection) throws(DefaultsError) -> Bool {
        let query = "SELECT count(*) FROM commits WHERE revision=\(commit.revision) AND token=\(commit.token)"
        return try connection.integer(query) > 0
    }

    /// The newest commit; nil for a database of version 1, which a handle that only reads leaves as it is.
    fileprivate func newestCommit(_ connection: SQLiteConnection) throws(DefaultsError) -> NewestCommit? {
        if isReadOnly, try connection.integer("PRAGMA user_version") < 2 { return nil }
        var result: NewestCommit?
        let statement = try prepared(.newest, connection)
        try connection.run(statement) { () throws(DefaultsError) in
            let mark = CommitMark(
                revision: connection.integer(statement, 0), token: connection.integer(statement, 1))
            result = NewestCommit(
                mark: mark, oldest: connection.integer(statement, 2), middle: connection.integer(statement, 3),
                logged: connection.integer(statement, 4))
        }
        // Counted on with each commit.
        let counts = 0...Int64.max / 2
        guard let result, counts.contains(result.mark.revision), counts.contains(result.logged) else {
            throw DefaultsError(.corrupt, "The database's list of commits is damaged", file: folder.path)
        }
        return result
    }

    private func changes(
        since seen: CommitMark, _ connection: SQLiteConnection
    ) throws(DefaultsError) -> [(key: [UInt8], value: PropertyList?)] {
        let statement = try connection.prepare(
            """
            SELECT key, value FROM (SELECT DISTINCT key FROM changes WHERE revision > \(seen.revision))
            LEFT JOIN defaults USING(key)
            """)
        defer { connection.finalize(statement) }
        var result: [(key: [UInt8], value: PropertyList?)] = []
        var damaged = damagedKeys
        try connection.run(statement) { () throws(DefaultsError) in
            let key = Array(connection.text(statement, 0))
            damaged[key] = nil
            do throws(PropertyListError) {
                let value = try value(connection, statement)
                result.append((key, value))
            } catch {
                damaged[key] = error
            }
        }
        take(damaged)
        return result
    }

    private func value(_ connection: SQLiteConnection, _ statement: OpaquePointer) throws(PropertyListError)
        -> PropertyList?
    {
        if connection.isNull(statement, 1) { return nil }
        return try PropertyList.parse(connection.blob(statement, 1), as: .binary, limits: limits.reading).list
    }

    /// Takes the rows that cannot be read for the present ones, and tells of those that are new.
    private func take(_ damaged: [[UInt8]: PropertyListError]) {
        let new = damaged.filter { damagedKeys[$0.key] != $0.value }
        damagedKeys = damaged
        guard let first = new.min(by: { $0.key.lexicographicallyPrecedes($1.key) }) else { return }
        let error = DefaultsError(first.value.inRow(of: first.key), file: folder.path)
        let others = new.count > 1 ? ", and \(new.count - 1) more keys cannot be read" : ""
        report?(.unreadable(error.followed(by: others)))
    }

    /// - Throws: ``DefaultsError/Code/limitExceeded``, before anything is loaded, where the rows are larger than a file
    ///   that is read. The file may be larger than its rows.
    private func checkSize(_ connection: SQLiteConnection) throws(DefaultsError) {
        guard try folder.status(of: folder.fileName)?.st_size ?? 0 > limits.readableFile else { return }
        let size = try connection.integer("SELECT sum(length(value)) FROM defaults")
        if size > limits.readableFile { throw limits.tooLarge(Int(size), file: folder.path) }
    }

    /// The whole dictionary, put together row by row: the rows come in the order of their keys. Those that cannot be
    /// read are left out.
    private func whole(_ connection: SQLiteConnection) throws(DefaultsError) -> PropertyList {
        let file = folder.path
        let statement = try connection.prepare("SELECT key, value FROM defaults WHERE value IS NOT NULL ORDER BY key")
        defer { connection.finalize(statement) }
        var builder = PropertyListBuilder(limits: .store)
        var damaged: [[UInt8]: PropertyListError] = [:]
        try DefaultsError.translating(file: file) { () throws(PropertyListError) in try builder.beginDictionary() }
        try connection.run(statement) { () throws(DefaultsError) in
            let key = connection.text(statement, 0)
            let value = connection.blob(statement, 1)
            let mark = builder.mark
            do throws(PropertyListError) {
                try builder.key(utf8: key)
                try builder.append(binary: value, limits: limits.reading)
            } catch {
                builder.rewind(to: mark)
                damaged[Array(key)] = error
            }
        }
        let list = try DefaultsError.translating(file: file) { () throws(PropertyListError) in
            try builder.end()
            return try builder.finish()
        }
        take(damaged)
        return list
    }
}

extension PropertyListError {
    /// The error of a row that cannot be read, with its key.
    func inRow(of key: [UInt8]) -> PropertyListError {
        var error = self
        error.path = PropertyListPath([.key(utf8: key)] + path.steps)
        return error
    }
}
