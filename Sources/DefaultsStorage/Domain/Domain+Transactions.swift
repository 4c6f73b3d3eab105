internal import Glibc
internal import PropertyLists

extension Domain {
    /// Begins a transaction of the calling thread, or joins the one that it has open.
    ///
    /// - Parameter isOneCall: true if its change is merged with those of other programs.
    func beginTransaction(
        until deadline: Deadline, isOneCall: Bool = false
    ) throws(DefaultsError) -> OpenTransaction {
        let joined: OpenTransaction? = lock.withLock {
            guard let open, isInTransaction else { return nil }
            open.depth += 1
            return open
        }
        if let joined { return joined }
        try begin(until: deadline)
        let transaction = OpenTransaction(isOneCall: isOneCall)
        lock.withLock { open = transaction }
        return transaction
    }

    /// Ends a transaction; its changes are durable when the outermost one is committed.
    func commit(_ transaction: OpenTransaction) throws(DefaultsError) {
        let isOutermost = try lock.withLock { () throws(DefaultsError) -> Bool in
            guard open === transaction else {
                throw DefaultsError(.rolledBack, "The transaction ended with the process it began in", file: file)
            }
            transaction.depth -= 1
            transaction.isCommitting = transaction.depth == 0
            return transaction.depth == 0
        }
        guard isOutermost else { return }
        guard !transaction.isBroken else {
            finish()
            throw DefaultsError(.rolledBack, "A transaction inside this one was rolled back", file: file)
        }
        do throws(DefaultsError) {
            try checkSchemas(of: transaction)
        } catch {
            finish()
            throw error
        }
        do throws(DefaultsError) {
            try commit(transaction.delta, isOneCall: transaction.isOneCall)
        } catch {
            finish(.failed)
            throw error
        }
        finish()
    }

    /// Ends a transaction without its changes; the transactions around it cannot be committed any more.
    func rollBack(_ transaction: OpenTransaction) {
        let isOutermost = lock.withLock {
            guard open === transaction else { return false }
            transaction.depth -= 1
            transaction.isBroken = true
            return transaction.depth == 0
        }
        if isOutermost { finish() }
    }

    private func finish(_ ending: Ending = .regular) {
        lock.withLock {
            // Also after a rollback: a watch may have been told of the transaction's values.
            if let open { inbox.noteChanges(of: open.delta) }
            open = nil
        }
        end(ending)
    }

    /// Ends the calling thread's transaction without its changes, however deep it is.
    func abandonTransaction() {
        if lock.withLock({ isInTransaction }) { finish() }
    }

    /// Runs `body` in a transaction.
    func transaction<Result>(
        until deadline: Deadline, isOneCall: Bool = false, _ body: () throws(DefaultsError) -> Result
    ) throws(DefaultsError) -> Result {
        let transaction = try beginTransaction(until: deadline, isOneCall: isOneCall)
        let result: Result
        do throws(DefaultsError) {
            result = try body()
        } catch {
            rollBack(transaction)
            throw error
        }
        try commit(transaction)
        return result
    }
}
