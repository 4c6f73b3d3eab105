internal import Glibc
internal import PropertyLists

extension SQLiteEngine {
    func commit(_ state: State) throws(DefaultsError) -> PropertyList? {
        // The domain has looked since it took the lock: no other process of ours has made a newer commit.
        guard let connection, isInTransaction, let seen else {
            throw DefaultsError(.misuse, "A commit without its lock", file: folder.path)
        }
        let rows = try DefaultsError.translating(file: folder.path) { () throws(PropertyListError) in
            try state.changedRows()
        }
        let new = try write(rows, over: seen, keys: state.stored.document.count, connection)
        try finish(new, connection)
        if try !hasNames(connection) { try checkStored(new) }
        self.seen = new
        for row in rows where !damagedKeys.isEmpty { damagedKeys[row.key] = nil }
        wakeOthers()
        if rows.count > 64 { try? self.connection?.execute("PRAGMA incremental_vacuum") }
        return nil
    }

    /// Throws unless the commit is in the database that has the name now: whoever removed the journal may have written it
    /// back.
    private func checkStored(_ commit: Commit) throws(DefaultsError) {
        _ = try begin(until: .after(.seconds(2)))
        if let connection, try newestCommit(connection)?.revision == commit.revision { return }
        throw DefaultsError(.conflict, "The database was replaced while it was being written", file: folder.path)
    }

    /// Writes the rows of a commit, in the order of the keys: in another order each row goes to another page.
    ///
    /// Deletes the rows of removed keys once more than 1,024 keys were removed since the last time, and more than a
    /// quarter of the number of keys. The newest row stays: its revision is the newest commit's.
    private func write(
        _ rows: [(key: [UInt8], value: PropertyList?)], over old: Commit, keys: Int, _ connection: SQLiteConnection
    ) throws(DefaultsError) -> Commit {
        var new = old
        new.revision += .random(in: 0..<1 << 24)
        // One buffer for all rows.
        var bytes = GrowableBuffer<UInt8>()
        let statement = try connection.statement(
            """
            INSERT INTO defaults(key, value, revision) VALUES(?1, ?2, ?3)
            ON CONFLICT(key) DO UPDATE SET value=?2, revision=?3
            """)
        for (key, value) in rows {
            new.revision += 1
            if value == nil { new.removals += 1 }
            bytes.count = 0
            try DefaultsError.translating(file: folder.path) { () throws(PropertyListError) in
                try value?.write(as: .binary, to: &bytes)
            }
            try key.withUnsafeBufferPointer { key throws(DefaultsError) in
                try connection.bind(statement, 1, text: key)
            }
            if value != nil { try connection.bind(statement, 2, blob: UnsafeRawBufferPointer(bytes.contents)) }
            try connection.bind(statement, 3, integer: new.revision)
            try connection.run(statement)
        }
        if new.removals > max(1024, keys / 4) {
            try connection.execute("DELETE FROM defaults WHERE value IS NULL AND revision < \(new.revision)")
            new.pruned = new.revision
            new.removals = 0
        }
        if new.pruned != old.pruned || new.removals != old.removals {
            try connection.execute("UPDATE pruned SET revision=\(new.pruned), removals=\(new.removals)")
        }
        return new
    }

    /// Wakes the processes that watch the folder. The write of the journal woke them too early: until that was on disk
    /// there was nothing to see, and then the commit shows in shared memory, whose changes inotify does not report. The
    /// database itself is not opened, since closing it would drop SQLite's locks.
    private func wakeOthers() {
        _ = try? folder.openFile(folder.fileName + "-wal", O_WRONLY)?.close()
    }

    // MARK: - Unknown outcomes

    private func finish(_ new: Commit, _ connection: SQLiteConnection) throws(DefaultsError) {
        do throws(DefaultsError) {
            try connection.run(try connection.statement("COMMIT"))
            isInTransaction = false
        } catch {
            let mayHaveHappened = connection.mayHaveCommitted
            rollBack()
            // The commit may be whole in the journal, and would count once no process has the database open. Another
            // commit is therefore made over it. If that fails as well, the outcome is unknown.
            guard mayHaveHappened, (try? writeOver(connection)) == nil else { throw error }
            disconnect()
            doubt = new.revision
            throw error.leavingOutcomeUnknown
        }
    }

    /// Makes a commit that changes no row, over one that failed.
    private func writeOver(_ connection: SQLiteConnection) throws(DefaultsError) {
        try connection.transact("UPDATE pruned SET removals = removals + 1")
    }

    func settle(until deadline: Deadline) throws(DefaultsError) -> Bool? {
        guard let doubt, let connection, isInTransaction else { return nil }
        do throws(DefaultsError) {
            let hasHappened = try newestCommit(connection)?.revision == doubt
            rollBack()
            if hasHappened {
                // Into the database itself: the journal may be in memory alone, whatever a later fsync says.
                try connection.execute("PRAGMA wal_checkpoint(FULL)")
            } else {
                try writeOver(connection)
            }
            _ = try begin(until: deadline)
            self.doubt = nil
            return hasHappened
        } catch {
            disconnect()
            throw error.code == .timedOut ? error : error.leavingOutcomeUnknown
        }
    }

    // MARK: - Copies

    func keepCopy(named suffix: String) throws(DefaultsError) {
        let name = folder.fileName + "." + suffix
        // A copy that is not whole must not be found under its name. The lock is held: a file of the temporary name is
        // left over.
        let temporary = "." + name + ".tmp"
        folder.unlink(temporary)
        defer { folder.unlink(temporary) }
        // With our mode before there is anything in it.
        let file = try folder.openFile(temporary, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        try copy(to: try folder.currentPath(of: temporary))
        try file?.synchronize()
        try folder.rename(temporary, to: name)
        try folder.descriptor.synchronize()
    }

    /// Copies the committed rows by a connection of its own: VACUUM cannot be part of the transaction.
    private func copy(to path: String) throws(DefaultsError) {
        let connection = try SQLiteConnection(try folder.currentPath(of: folder.fileName), isReadOnly: true)
        defer { connection.close() }
        try connection.copy(to: path)
    }
}
