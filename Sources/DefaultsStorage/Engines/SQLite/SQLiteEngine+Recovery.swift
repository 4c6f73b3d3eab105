internal import Glibc
internal import PropertyLists

/// A row that was read from a damaged database: its value can be read.
struct SalvagedRow {
    var key: [UInt8]
    var value: [UInt8]
}

extension SQLiteEngine {
    /// Puts a damaged database aside with its journal, and replaces it by a new one: with all rows that can be read,
    /// and with the values in memory for the others.
    func recover(over memory: PropertyList, until deadline: Deadline) throws(DefaultsError) -> EngineState {
        try withFileLock(until: deadline) { () throws(DefaultsError) in
            disconnect()
            do throws(DefaultsError) {
                // Another process may have done it while we waited for the lock.
                return try look(until: deadline)
            } catch {
                guard error.code == .corrupt else { throw error }
            }
            disconnect()
            let (quarantine, source) = try replace(over: memory, until: deadline)
            let state = try look(until: deadline)
            report?(.recovered(file: folder.path, quarantine: quarantine, source: source))
            return state
        }
    }

    private func replace(
        over memory: PropertyList, until deadline: Deadline
    ) throws(DefaultsError) -> (String, DefaultsRecovery) {
        let name = "\(folder.fileName).corrupt-\(currentTime())-\(randomName())"
        let damaged = try? SQLiteConnection(try folder.currentPath(of: folder.fileName), isReadOnly: false)
        defer { damaged?.close() }
        // A process that can still write to it waits until it has moved, and finds that.
        if let damaged { try lockDamaged(damaged, until: deadline) }
        let (rows, unreadable) = try salvage(damaged, over: memory)
        let temporary = try buildDatabase(rows)
        do throws(DefaultsError) {
            try keep(as: name)
            for end in ["-wal", "-shm"] where try folder.status(of: folder.fileName + end) != nil {
                try folder.rename(folder.fileName + end, to: name + end)
            }
            try folder.rename(temporary, to: folder.fileName)
            try folder.descriptor.synchronize()
        } catch {
            folder.unlink(temporary)
            throw error
        }
        let source = DefaultsRecovery.rows(copied: rows.count, unreadable: unreadable)
        return (folder.path(of: name), rows.isEmpty && unreadable == 0 ? .nothing : source)
    }

    /// Gives the damaged file a second name first: at no time is there no file, which would mean an empty store.
    private func keep(as name: String) throws(DefaultsError) {
        do throws(DefaultsError) {
            try folder.link(folder.fileName, to: name)
        } catch {
            // No hard links here.
            guard error.errno == EPERM || error.errno == EOPNOTSUPP else { throw error }
            try folder.rename(folder.fileName, to: name)
        }
    }

    private func lockDamaged(_ damaged: SQLiteConnection, until deadline: Deadline) throws(DefaultsError) {
        do throws(DefaultsError) {
            try patiently(until: deadline) { () throws(DefaultsError) in try damaged.execute("BEGIN IMMEDIATE") }
        } catch {
            // No other process can then, either.
            guard error.code != .timedOut else { throw error }
        }
    }

    // MARK: - Salvaging

    /// The rows that can be read: in their order up to the first damage, and back from the end down to the last. Then
    /// those in memory that were not found.
    private func salvage(
        _ damaged: SQLiteConnection?, over memory: PropertyList
    ) throws(DefaultsError) -> (rows: [SalvagedRow], unreadable: Int) {
        var rows: [[UInt8]: [UInt8]] = [:]
        var unreadable: Set<[UInt8]> = []
        if let damaged { salvage(damaged, &rows, &unreadable) }
        for (key, value) in memory.entries where rows[Array(key.utf8)] == nil {
            rows[Array(key.utf8)] = try DefaultsError.translating { () throws(PropertyListError) in
                try value.serialized(as: .binary)
            }
            unreadable.remove(Array(key.utf8))
        }
        let sorted = rows.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        return (sorted.map { SalvagedRow(key: $0.key, value: $0.value) }, unreadable.count)
    }

    private func salvage(
        _ damaged: SQLiteConnection, _ rows: inout [[UInt8]: [UInt8]], _ unreadable: inout Set<[UInt8]>
    ) {
        let query = "SELECT key, value FROM defaults WHERE value IS NOT NULL ORDER BY key"
        if !collect(query, damaged, &rows, &unreadable) {
            _ = collect(query + " DESC", damaged, &rows, &unreadable)
        }
    }

    /// - Returns: whether the query came to its end.
    private func collect(
        _ query: String, _ damaged: SQLiteConnection, _ rows: inout [[UInt8]: [UInt8]], _ unreadable: inout Set<[UInt8]>
    ) -> Bool {
        do throws(DefaultsError) {
            let statement = try damaged.prepare(query)
            defer { damaged.finalize(statement) }
            try damaged.run(statement) { () throws(DefaultsError) in
                let key = Array(damaged.text(statement, 0))
                let value = damaged.blob(statement, 1)
                if isReadable(key, value) { rows[key] = Array(value) } else { unreadable.insert(key) }
            }
            return true
        } catch {
            return false
        }
    }

    private func isReadable(_ key: [UInt8], _ value: UnsafeRawBufferPointer) -> Bool {
        guard String(validating: key, as: UTF8.self) != nil else { return false }
        return (try? PropertyList.parse(value, as: .binary, limits: limits.reading)) != nil
    }
}
