internal import Glibc
internal import PropertyLists

/// A state of the database.
struct Commit {
    /// The greatest revision of a row. A commit begins at a random distance from the one before, so that its last revision
    /// also tells it from any other commit.
    var revision: Int64
    /// The revision up to which the rows of removed keys were deleted.
    var pruned: Int64
    /// The number of keys that were removed since then.
    var removals: Int64
}

extension SQLiteEngine {
    func refresh(
        over memory: () throws(DefaultsError) -> PropertyList, until deadline: Deadline
    ) throws(DefaultsError) -> EngineState {
        if let refusal, refusal.code == .unavailable { throw refusal }
        if fileLock == nil { try follow() }
        do throws(DefaultsError) {
            return try isMissing() ? takeAbsence(until: deadline) : look(until: deadline)
        } catch {
            if error.code == .timedOut || error.code == .unavailable { throw error }
            if unreadable != error, isGone != nil { report?(.unreadable(error)) }
            unreadable = error
            throw error
        }
    }

    /// True if there is no database, and a look does not make one.
    private func isMissing() throws(DefaultsError) -> Bool {
        guard isReadOnly || isGone != nil, !isInTransaction else { return false }
        return try folder.status(of: folder.fileName) == nil
    }

    private func takeAbsence(until deadline: Deadline) throws(DefaultsError) -> EngineState {
        // One that only reads keeps its connection, by which it knows a journal that the old database left.
        if let connection, !isReadOnly { try leave(connection, until: deadline) }
        damagedKeys = [:]
        unreadable = nil
        seen = nil
        defer { isGone = true }
        return isGone == true ? .unchanged : .replaced(emptyDictionary)
    }

    private func look(until deadline: Deadline) throws(DefaultsError) -> EngineState {
        // A transaction has checked the database's name, and checks it again at its end.
        if let connection, isInTransaction { return try load(connection) }
        let connection = try opened(until: deadline)
        return try patiently(until: deadline) { () throws(DefaultsError) in
            try connection.reading { () throws(DefaultsError) in try load(connection) }
        }
    }

    /// Loads the changes since the last look, or everything if they are not known.
    private func load(_ connection: SQLiteConnection) throws(DefaultsError) -> EngineState {
        var state = EngineState.unchanged
        let version = try connection.integer("PRAGMA data_version")
        if version != connection.dataVersion {
            let newest = try newestCommit(connection)
            if let newest, let seen, try isFollowed(seen, by: newest, connection) {
                if newest.revision != seen.revision { state = .changed(try changes(since: seen, connection)) }
            } else {
                state = .replaced(try whole(connection))
            }
            seen = newest
            connection.dataVersion = version
        }
        isGone = false
        unreadable = nil
        return state
    }

    /// True if only the rows behind a commit's revision have changed since that commit, and not too many: put together
    /// one by one they take more memory than the whole dictionary.
    private func isFollowed(
        _ seen: Commit, by newest: Commit, _ connection: SQLiteConnection
    ) throws(DefaultsError) -> Bool {
        // A new connection may be to a restored copy, whose revisions say nothing.
        guard connection.dataVersion != nil else { return newest.revision == seen.revision }
        // With an equal revision another program has changed rows by SQL.
        guard seen.revision >= newest.pruned, seen.revision < newest.revision else { return false }
        let query = "SELECT count(*) FROM (SELECT 1 FROM defaults WHERE revision > ?1 LIMIT 65537)"
        try connection.bind(try connection.statement(query), 1, integer: seen.revision)
        return try connection.integer(query) <= 65536
    }

    /// The newest commit; nil for a database of an older version, which a handle that only reads leaves as it is.
    func newestCommit(_ connection: SQLiteConnection) throws(DefaultsError) -> Commit? {
        if isReadOnly, try connection.integer("PRAGMA user_version") < 3 { return nil }
        var result: Commit?
        let statement = try connection.statement(
            "SELECT (SELECT ifnull(max(revision), 0) FROM defaults), revision, removals FROM pruned")
        try connection.run(statement) { () throws(DefaultsError) in
            result = Commit(
                revision: connection.integer(statement, 0), pruned: connection.integer(statement, 1),
                removals: connection.integer(statement, 2))
        }
        // Each commit counts on.
        let counts = 0...Int64.max / 2
        guard let result, counts.contains(result.revision), counts.contains(result.removals) else {
            throw DefaultsError(.corrupt, "The database's revisions are damaged", file: folder.path)
        }
        return result
    }

    private func changes(
        since seen: Commit, _ connection: SQLiteConnection
    ) throws(DefaultsError) -> [(key: [UInt8], value: PropertyList?)] {
        let statement = try connection.statement("SELECT key, value FROM defaults WHERE revision > ?1")
        try connection.bind(statement, 1, integer: seen.revision)
        var result: [(key: [UInt8], value: PropertyList?)] = []
        var damaged = damagedKeys
        try connection.run(statement) { () throws(DefaultsError) in
            let key = Array(connection.text(statement, 0))
            damaged[key] = nil
            do throws(PropertyListError) {
                let value =
                    connection.isNull(statement, 1)
                    ? nil
                    : try PropertyList.parse(connection.blob(statement, 1), as: .binary, limits: limits.reading).list
                result.append((key, value))
            } catch {
                damaged[key] = error
            }
        }
        take(damaged)
        return result
    }

    /// Takes the rows that cannot be read for the present ones, and reports those that are new.
    private func take(_ damaged: [[UInt8]: PropertyListError]) {
        let new = damaged.filter { damagedKeys[$0.key] != $0.value }
        damagedKeys = damaged
        guard let first = new.min(by: { $0.key.lexicographicallyPrecedes($1.key) }) else { return }
        let error = DefaultsError(first.value.inRow(of: first.key), file: folder.path)
        let others = new.count > 1 ? ", and \(new.count - 1) more keys cannot be read" : ""
        report?(.unreadable(error.followed(by: others)))
    }

    /// The whole dictionary, put together row by row in the order of the keys. Rows that cannot be read are left out.
    ///
    /// - Throws: ``DefaultsError/Code/limitExceeded``, before anything is loaded, if the rows are larger than the largest
    ///   file that is read. The file may be larger than its rows.
    private func whole(_ connection: SQLiteConnection) throws(DefaultsError) -> PropertyList {
        let file = folder.path
        if try folder.status(of: folder.fileName)?.st_size ?? 0 > limits.readableFile {
            let size = try connection.integer("SELECT sum(length(value)) FROM defaults")
            if size > limits.readableFile { throw limits.tooLarge(Int(size), file: file) }
        }
        let statement = try connection.statement("SELECT key, value FROM defaults WHERE value IS NOT NULL ORDER BY key")
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
