internal import Glibc
internal import PropertyLists

extension Domain {
    /// Begins a transaction of the calling thread, or one inside the transaction that it has open.
    ///
    /// - Parameter isOneCall: true if its change is merged with those of other programs.
    func beginTransaction(
        until deadline: Deadline, isOneCall: Bool = false
    ) throws(DefaultsError) -> OpenTransaction {
        let outer: OpenTransaction? = lock.withLock {
            guard let open, isInTransaction else { return nil }
            open.saved.append((open.state, open.schemas))
            return open
        }
        if let outer { return outer }
        try begin(until: deadline)
        return lock.withLock {
            let transaction = OpenTransaction(mine, isOneCall: isOneCall)
            open = transaction
            return transaction
        }
    }

    /// Ends a transaction; its changes are durable when the outermost one is committed.
    func commit(_ transaction: OpenTransaction) throws(DefaultsError) {
        let isOutermost = try lock.withLock { () throws(DefaultsError) -> Bool in
            guard open === transaction else {
                throw DefaultsError(.rolledBack, "The transaction ended with the process it began in", file: file)
            }
            if transaction.saved.popLast() != nil { return false }
            transaction.isCommitting = true
            return true
        }
        guard isOutermost else { return }
        do throws(DefaultsError) {
            try checkSchemas(of: transaction)
            // If it fails, the copy of an earlier migration stays.
            if let version = transaction.migrated { try engine.keepCopy(named: "v\(version)") }
        } catch {
            finish()
            throw error
        }
        do throws(DefaultsError) {
            try write(transaction)
        } catch {
            if let version = transaction.migrated, error.code != .outcomeUnknown {
                engine.watchedFolder?.removeCopy(named: "v\(version)")
            }
            finish(.failed)
            throw error
        }
        finish()
    }

    /// Ends a transaction without its changes, and those inside it. The one around it goes on, with the values as they
    /// were.
    ///
    /// - Parameter depth: the number of transactions around it; nil if it is the innermost.
    func rollBack(_ transaction: OpenTransaction, to depth: Int? = nil) {
        let isOutermost = lock.withLock {
            guard open === transaction else { return false }
            if let depth, depth < transaction.saved.count {
                transaction.saved.removeLast(transaction.saved.count - depth)
            }
            guard depth != 0, let saved = transaction.saved.popLast() else { return true }
            (transaction.state, transaction.schemas) = saved
            generation &+= 1
            inbox.wake()
            return false
        }
        if isOutermost { finish() }
    }

    private func finish(_ ending: Ending = .regular) {
        lock.withLock {
            open = nil
            // Also after a rollback: a watch may have been told of the transaction's values.
            inbox.wake()
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

    /// Runs `body` in a transaction whose changes are held to the handle's limits together, when all are made: the
    /// order of keys decides nothing, and a store that is too large may shrink.
    func transactionAsWhole(
        _ handle: HandleState, _ body: () throws(DefaultsError) -> Void
    ) throws(DefaultsError) {
        try transaction(until: handle.deadline, isOneCall: true) { () throws(DefaultsError) in
            let before = lock.withLock { () -> PropertyListSize in
                open?.wholes += 1
                return target.state.size
            }
            defer { lock.withLock { open?.wholes -= 1 } }
            try body()
            try lock.withLock { () throws(DefaultsError) in
                let change = target.state.size - before
                guard handle.limits.admit(change, to: before) else {
                    throw handle.limits.error(change, to: before, at: [], file: file)
                }
            }
        }
    }

    /// - Throws: an error where a change would make the store larger than the handle's limits. With the lock held.
    func checkLimits(
        _ growth: PropertyListSize, _ handle: HandleState, at path: @autoclosure () -> PropertyListPath
    ) throws(DefaultsError) {
        if let open, open.wholes > 0, isInTransaction { return }
        let size = target.state.size
        guard handle.limits.admit(growth, to: size) else {
            throw handle.limits.error(growth, to: size, at: path(), file: file)
        }
    }
}
