internal import Glibc
internal import PropertyLists

extension SQLiteEngine {
    func refresh(over base: PropertyList, until deadline: Deadline) throws(DefaultsError) -> EngineState {
        if let refusal, refusal.code == .unavailable { throw refusal }
        let isThere = try folder.status(of: folder.fileName) != nil
        if !isThere, connection == nil, isReadOnly { return .replaced(emptyDictionary) }
        let isFirst = revision < 0
        do throws(DefaultsError) {
            return try look(until: deadline)
        } catch {
            if error.code == .corrupt, isFirst, recovers, !isReadOnly { return try quarantine(until: deadline) }
            if error.code != .timedOut, error.code != .unavailable { note(error, isFirst: isFirst) }
            throw error
        }
    }

    func look(until deadline: Deadline) throws(DefaultsError) -> EngineState {
        let connection = try opened(until: deadline)
        return try patiently(until: deadline) { () throws(DefaultsError) in
            let version = try connection.integer(try prepared(.dataVersion, connection))
            let state = version == dataVersion ? EngineState.unchanged : try load(connection)
            dataVersion = version
            connection.isTrusted = true
            unreadable = nil
            return state
        }
    }

    private func note(_ error: DefaultsError, isFirst: Bool) {
        if unreadable != error, !isFirst { report?(.unreadable(error)) }
        unreadable = error
    }

    /// All rows, or those written since the last time: by one query, and so from one state of the database.
    private func load(_ connection: SQLiteConnection) throws(DefaultsError) -> EngineState {
        let isFirst = revision < 0
        let statement = try connection.prepare(
            "SELECT key, value, revision FROM defaults " + (isFirst ? "ORDER BY key" : "WHERE revision > \(revision)"))
        defer { connection.finalize(statement) }
        if isFirst {
            try checkSize(connection)
            return .replaced(try whole(connection, statement))
        }
        var newest = revision
        var changes: [(key: String, value: PropertyList?)] = []
        try connection.run(statement) { () throws(DefaultsError) in
            changes.append((connection.key(statement, 0), try connection.value(statement, 1, limits.reading)))
            newest = max(newest, connection.integer(statement, 2))
        }
        revision = newest
        return changes.isEmpty ? .unchanged : .changed(changes)
    }

    /// - Throws: ``DefaultsError/Code/limitExceeded``, before anything is loaded, where the rows are larger than a file
    ///   that is read. The file may be larger than its rows.
    private func checkSize(_ connection: SQLiteConnection) throws(DefaultsError) {
        guard try folder.status(of: folder.fileName)?.st_size ?? 0 > limits.readableFile else { return }
        let size = try connection.integer("SELECT sum(length(value)) FROM defaults")
        if size > limits.readableFile { throw limits.tooLarge(Int(size), file: folder.path) }
    }

    /// The whole dictionary, put together row by row: the rows come in the order of their keys.
    private func whole(
        _ connection: SQLiteConnection, _ statement: OpaquePointer
    ) throws(DefaultsError) -> PropertyList {
        let file = folder.path
        var builder = PropertyListBuilder(limits: .store)
        var newest: Int64 = 0
        try DefaultsError.translating(file: file) { () throws(PropertyListError) in try builder.beginDictionary() }
        try connection.run(statement) { () throws(DefaultsError) in
            newest = max(newest, connection.integer(statement, 2))
            if connection.isNull(statement, 1) { return }
            let key = connection.text(statement, 0)
            let value = connection.blob(statement, 1)
            do throws(PropertyListError) {
                try builder.key(utf8: key)
                try builder.append(binary: value, limits: limits.reading)
            } catch {
                throw DefaultsError(error, file: file)
            }
        }
        let list = try DefaultsError.translating(file: file) { () throws(PropertyListError) in
            try builder.end()
            return try builder.finish()
        }
        revision = newest
        return list
    }
}
