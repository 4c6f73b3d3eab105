internal import Glibc
internal import PropertyLists

extension PostgreSQLEngine {
    /// The bytes of keys and values that go in one statement, more or less: the server holds them in memory twice.
    private static let statementBytes = 16 << 20
    private static let write = "SELECT kv_write($1, $2, $3, $4, $5, NULLIF($6, ''))"

    func commit(_ delta: Delta, over base: PropertyList) throws(DefaultsError) -> CommitOutcome {
        guard let connection, let head else { throw DefaultsError(.misuse, "A commit without its lock") }
        guard head.number < Int64.max - 1 else {
            throw DefaultsError(.limitExceeded, "The store has the last revision that there can be")
        }
        let new = Revision(number: head.number + 1, token: randomToken(), identity: head.identity)
        let order = delta.entries.sortedIndices()
        let statements = try writes(delta, order, new) + [.commit]
        guard connection.isAlive else {
            throw DefaultsError(.unreachable, "The connection to the server was lost before the commit")
        }
        do throws(DefaultsError) {
            _ = try connection.run(statements, until: .after(timeout))
        } catch {
            // A server that answers with an error has undone it.
            guard connection.isBroken, connection.hasSentCommit else { throw error }
            doubt = new
            throw error.leavingOutcomeUnknown
        }
        connection.isInTransaction = false
        guard !connection.commitWarned else {
            doubt = new
            throw DefaultsError(
                .outcomeUnknown,
                "The server has committed with a warning: a standby that is waited for may lack the commit")
        }
        for index in order where !damagedKeys.isEmpty {
            delta.entries.withKey(at: index) { damagedKeys[Array($0)] = nil }
        }
        seen = new
        self.head = new
        return .committed
    }

    /// The rows, of which the last go along with the store's new revision.
    private func writes(
        _ delta: Delta, _ order: [Int], _ new: Revision
    ) throws(DefaultsError) -> [Statement] {
        var statements: [Statement] = []
        var keys = PostgreSQLConnection.Parameter.ByteArrays()
        var values = PostgreSQLConnection.Parameter.ByteArrays()
        func write(_ text: String) {
            statements.append(
                .init(
                    text, .text(store), .integer(new.number), .uuid(new.token ?? []), keys.parameter, values.parameter,
                    .text(note ?? "")))
            keys = PostgreSQLConnection.Parameter.ByteArrays()
            values = PostgreSQLConnection.Parameter.ByteArrays()
        }
        for index in order {
            let value = try bytes(delta.entries[index])
            delta.entries.withKey(at: index) { keys.append($0) }
            if let value { values.append(value) } else { values.appendNull() }
            if keys.byteCount + values.byteCount > Self.statementBytes { write(Self.write) }
        }
        write("\(Self.write), kv_finish($1, $2, $3)")
        return statements
    }

    /// The value as a binary property list; nil for a removed one.
    private func bytes(_ entry: DeltaEntry) throws(DefaultsError) -> [UInt8]? {
        if entry.isRemoval { return nil }
        var bytes = GrowableBuffer<UInt8>()
        try DefaultsError.translating { () throws(PropertyListError) in
            try entry.overlay?.materialised().write(as: .binary, to: &bytes)
        }
        return Array(bytes.contents)
    }

    private func randomToken() -> [UInt8] { withUnsafeBytes(of: UInt128.random(in: .min ... .max)) { Array($0) } }

    // MARK: - Doubt

    /// Looks for the commit with the store's row locked: the old connection's process at the server holds that for as
    /// long as it may still commit.
    func settle(until deadline: Deadline) throws(DefaultsError) -> Bool? {
        guard let doubt, let connection else { return nil }
        let found: [PostgreSQLResult]
        do throws(DefaultsError) {
            found = try connection.run(
                [
                    .init(
                        """
                        SELECT EXISTS (SELECT FROM kv_change WHERE store = $1 AND revision = $2 AND token = $3),
                          EXISTS (SELECT FROM kv_change WHERE store = $1 AND revision <= $2)
                        """, .text(store), .integer(doubt.number), .uuid(doubt.token ?? []))
                ], until: deadline)
        } catch {
            throw error.leavingOutcomeUnknown
        }
        guard let facts = found.first else { throw PostgreSQLResult.strange }
        let hasHappened = try facts.boolean(0, 0)
        let isKept = try facts.boolean(0, 1)
        self.doubt = nil
        // An older revision than the head, of which the history says nothing any more.
        if !hasHappened, !isKept, let head, head.identity == doubt.identity, head.number >= doubt.number {
            return leaveUnknown()
        }
        return hasHappened
    }

    /// A change is never made twice: the stored values count, and all are loaded anew.
    private func leaveUnknown() -> Bool {
        let error = DefaultsError(
            .outcomeUnknown, "The server's history no longer says whether a commit was made: what is stored counts")
        report?(.flushFailed(error))
        seen = nil
        return true
    }
}
