internal import Glibc
internal import PropertyLists

extension SQLiteEngine {
    func commit(_ state: State) throws(DefaultsError) -> PropertyList? {
        // Looked at since the lock was taken: no other process has made a newer one.
        guard let connection, isInTransaction, let newest = seen else {
            throw DefaultsError(.misuse, "A commit without its lock", file: folder.path)
        }
        let mark = CommitMark(revision: newest.mark.revision + 1, token: .random(in: .min ... .max))
        // In the order of the keys: in another one each row goes to another page.
        let file = folder.path
        let rows = try DefaultsError.translating(file: file) { () throws(PropertyListError) in
            try state.changedRows()
        }
        // One for all rows.
        var bytes = GrowableBuffer<UInt8>()
        let (upsert, delete) = (try prepared(.upsert, connection), try prepared(.delete, connection))
        for row in rows {
            try write(row, mark.revision, &bytes, by: row.value == nil ? delete : upsert, connection)
        }
        let new = try note(rows, as: mark, after: newest, most: 4096, connection)
        try finish(mark, connection)
        for row in rows where !damagedKeys.isEmpty { damagedKeys[row.key] = nil }
        seen = new
        wakeOthers()
        if rows.count > 64 { try? connection.execute("PRAGMA incremental_vacuum") }
        return nil
    }

    /// Wakes the processes that watch the folder. The write of the journal woke them too early: until that was on disk
    /// there was nothing to see, and then the commit shows in shared memory, whose changes inotify does not report. The
    /// database itself is not opened, since closing it would let go of SQLite's locks.
    private func wakeOthers() {
        _ = try? folder.openFile(folder.fileName + "-wal", O_WRONLY)?.close()
    }

    private func write(
        _ row: (key: [UInt8], value: PropertyList?), _ revision: Int64, _ bytes: inout GrowableBuffer<UInt8>,
        by statement: OpaquePointer, _ connection: SQLiteConnection
    ) throws(DefaultsError) {
        bytes.count = 0
        do throws(PropertyListError) {
            try row.value?.write(as: .binary, to: &bytes)
        } catch {
            throw DefaultsError(error, file: folder.path)
        }
        let value = UnsafeRawBufferPointer(bytes.contents)
        try row.key.withUnsafeBufferPointer { key throws(DefaultsError) in
            try connection.bind(statement, 1, text: key)
            if row.value != nil {
                try connection.bind(statement, 2, blob: value)
                try connection.bind(statement, 3, integer: revision)
            }
            try connection.run(statement)
        }
    }

    /// Notes the commit, and the keys that it changes for the processes that look again; of more than `most`, and of
    /// more than one or two times as many before, nothing is known: a process that asks for them loads everything.
    private func note(
        _ rows: [(key: [UInt8], value: PropertyList?)], as mark: CommitMark, after newest: NewestCommit, most: Int,
        _ connection: SQLiteConnection
    ) throws(DefaultsError) -> NewestCommit {
        var new = newest
        new.mark = mark
        if rows.count > most {
            try connection.execute("DELETE FROM changes")
            new.oldest = mark.revision
            new.middle = mark.revision
            new.logged = 0
        } else {
            let statement = try prepared(.log, connection)
            for row in rows { try log(row.key, mark.revision, by: statement, connection) }
            new.logged += Int64(rows.count)
            if new.logged > Int64(most) {
                try connection.execute("DELETE FROM changes WHERE revision <= \(new.middle)")
                new.oldest = new.middle
                new.middle = mark.revision
                new.logged = 0
            }
        }
        try note(new, connection)
        return new
    }

    private func log(
        _ key: [UInt8], _ revision: Int64, by statement: OpaquePointer, _ connection: SQLiteConnection
    ) throws(DefaultsError) {
        try key.withUnsafeBufferPointer { key throws(DefaultsError) in
            try connection.bind(statement, 1, integer: revision)
            try connection.bind(statement, 2, text: key)
            try connection.run(statement)
        }
    }

    /// The last 64 commits stand in the table, each in the row of the one 64 before it.
    private func note(_ commit: NewestCommit, _ connection: SQLiteConnection) throws(DefaultsError) {
        let statement = try prepared(.note, connection)
        let row = [
            commit.mark.revision % 64, commit.mark.revision, commit.mark.token, commit.oldest, commit.middle,
            commit.logged,
        ]
        for (index, value) in row.enumerated() {
            try connection.bind(statement, Int32(index + 1), integer: value)
        }
        try connection.run(statement)
    }

    private func finish(_ mark: CommitMark, _ connection: SQLiteConnection) throws(DefaultsError) {
        do throws(DefaultsError) {
            try connection.run(try prepared(.commit, connection))
        } catch {
            let mayHaveHappened = connection.mayHaveCommitted
            unlock()
            throw mayHaveHappened ? fail(error, mark, connection) : error
        }
        isInTransaction = false
        guard connection.hasMoved else { return }
        // No program will read the rows that were written there.
        _ = try lock(until: .after(.seconds(2)))
        throw DefaultsError(.conflict, "The database was replaced while it was being written", file: folder.path)
    }

    // MARK: - Doubt

    /// The error of a commit that failed when all was written.
    ///
    /// The commit may be whole in the journal, and would count once no process has the database open: another one is
    /// made over it. Where that fails as well, nothing is known.
    private func fail(
        _ error: DefaultsError, _ mark: CommitMark, _ connection: SQLiteConnection
    ) -> DefaultsError {
        if (try? writeOver(connection)) != nil { return error }
        disconnect()
        doubt = mark
        return error.leavingOutcomeUnknown
    }

    /// Makes a commit that changes nothing, over one that failed.
    private func writeOver(_ connection: SQLiteConnection) throws(DefaultsError) {
        let random = Int64.random(in: .min ... .max)
        do throws(DefaultsError) {
            try connection.execute(
                "BEGIN IMMEDIATE; INSERT OR REPLACE INTO commits VALUES(-1, -1, \(random), 0, 0, 0); COMMIT")
        } catch {
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    func settle(until deadline: Deadline) throws(DefaultsError) -> Bool? {
        guard let doubt, let connection, isInTransaction else { return nil }
        do throws(DefaultsError) {
            let hasHappened = try isThere(doubt, connection)
            unlock()
            if hasHappened {
                // Into the database itself: the journal may be in memory alone, whatever a later fsync says.
                try connection.execute("PRAGMA wal_checkpoint(FULL)")
            } else {
                try writeOver(connection)
            }
            _ = try lock(until: deadline)
            self.doubt = nil
            return hasHappened
        } catch {
            disconnect()
            throw error.code == .timedOut ? error : error.leavingOutcomeUnknown
        }
    }
}
