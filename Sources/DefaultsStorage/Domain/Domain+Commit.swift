internal import CKVSystem
internal import Glibc
internal import PropertyLists

/// Looks and commits. Each one ends in ``advance(to:from:isNews:)``, which gives the domain its new stored values.
extension Domain {
    /// Writes the changes made so far; returns when they are on disk.
    func flush(until deadline: Deadline) throws(DefaultsError) {
        // Inside a transaction, its commit writes.
        if lock.withLock({ isInTransaction || !hasWork }) { return }
        try begin(until: deadline)
        do throws(DefaultsError) {
            try write(nil)
        } catch {
            end(.failed)
            throw error
        }
        end()
    }

    /// Looks whether others changed the file, and takes up their changes.
    func refresh(until deadline: Deadline) throws(DefaultsError) {
        guard !writerLock.isHeldByThisThread else { return }
        try takeWriterLock(until: deadline)
        defer { writerLock.release() }
        try look(until: deadline)
    }

    /// Reads the file for the first time, unless another thread has done so, or is at it: that is waited for.
    func load(until deadline: Deadline) throws(DefaultsError) {
        guard lock.withLock({ isNew }) else { return }
        try takeWriterLock(until: deadline)
        defer { writerLock.release() }
        if lock.withLock({ isNew }) { try look(until: deadline) }
    }

    private var isNew: Bool { if case .new = health { true } else { false } }

    /// Whether there is anything to write; with the lock held.
    var hasWork: Bool { mine.hasChanges || health.owesWriting }

    /// The error of a call that a transaction of the calling thread stands in the way of.
    var inTransaction: DefaultsError {
        DefaultsError(.misuse, "Not possible in the middle of a transaction", file: file)
    }

    private func takeWriterLock(until deadline: Deadline) throws(DefaultsError) {
        if writerLock.isHeldByThisThread { throw inTransaction }
        guard writerLock.acquire(until: deadline) else {
            throw DefaultsError(.timedOut, "Another thread kept the store locked", file: file)
        }
    }

    // MARK: - Locking

    /// Locks the writer lock and the file lock, and merges the changes of other programs.
    func begin(until deadline: Deadline) throws(DefaultsError) {
        try takeWriterLock(until: deadline)
        do throws(DefaultsError) {
            try lockAndLook(until: deadline)
        } catch {
            writerLock.release()
            throw error
        }
        lock.withLock { isScheduled = false }
    }

    private func lockAndLook(until deadline: Deadline) throws(DefaultsError) {
        engine.options = lock.withLock { options }
        let start = cs_monotonic_nanoseconds()
        if try engine.lock(until: deadline) {
            tell(.lockWaited(nanoseconds: cs_monotonic_nanoseconds() - start))
        }
        do throws(DefaultsError) {
            if let hasHappened = try engine.settle(until: deadline) { try settle(hasHappened) }
            try look(until: deadline)
            if let refusal = engine.refusal { throw refusal }
        } catch {
            engine.unlock()
            throw error
        }
    }

    /// Marks the changes of a commit of unknown outcome as stored, if it has happened.
    private func settle(_ hasHappened: Bool) throws(DefaultsError) {
        let changes = lock.withLock { () -> State? in
            guard case .doubtful(let changes) = health else { return nil }
            health = .good
            return changes
        }
        if let changes, hasHappened {
            try advance(to: try written(changes), from: changes, isNews: false)
        }
    }

    /// How the work that `begin` began has ended.
    enum Ending {
        case regular
        case failed
    }

    /// Releases the locks that `begin` took. Changes that were not written wait for the next flush.
    func end(_ ending: Ending = .regular) {
        let isLeft = lock.withLock {
            let isLeft = hasWork && !isScheduled && handles.durability != .manual
            if isLeft { isScheduled = true }
            return isLeft
        }
        engine.unlock()
        writerLock.release()
        guard isLeft else { return }
        if ending == .failed { Flusher.shared.scheduleRetry(self) } else { Flusher.shared.schedule(self) }
    }

    // MARK: - Looking

    /// Loads the changes of others; says whether there were any. With the writer lock held.
    @discardableResult
    func look(until deadline: Deadline) throws(DefaultsError) -> Bool {
        engine.options = lock.withLock { options }
        defer { noteHealth() }
        let memory = { () throws(DefaultsError) in
            let stored = self.lock.withLock { self.mine.stored }
            return try self.translating { () throws(PropertyListError) in try stored.whole() }
        }
        let found = try engine.refresh(over: memory, until: deadline)
        // The writer lock keeps them as they are.
        let old = lock.withLock { mine.stored }
        let new: StoredValues
        switch found {
        case .unchanged: return false
        case .replaced(let document):
            new = StoredValues(document)
            // The values in memory of keys whose stored ones cannot be read count on.
            for key in engine.damagedKeys.keys {
                key.withUnsafeBufferPointer { if let value = old[$0] { new.set(value.compacted(), for: $0) } }
            }
        case .changed(let rows):
            new = StoredValues(copying: old)
            for (key, value) in rows { key.withUnsafeBufferPointer { new.set(value, for: $0) } }
            try translating { () throws(PropertyListError) in try new.fold() }
        }
        new.damaged = engine.damagedKeys
        try advance(to: new, from: State(old), isNews: true)
        return true
    }

    /// Takes over what the engine says of the file, with the writer lock held.
    private func noteHealth() {
        let (refusal, unreadable, owes) = (engine.refusal, engine.unreadable, engine.debt != nil)
        let moved = engine.watchedFolder.flatMap { folder in
            lock.withLock { place?.folder !== folder } ? FilePlace(folder) : nil
        }
        lock.withLock {
            if let moved { place = moved }
            rules.format = engine.format
            if let refusal {
                health = .refusing(refusal, unreadable: unreadable)
            } else if let unreadable {
                health = .unreadable(unreadable)
            } else if case .doubtful = health {
                return
            } else {
                health = owes ? .owing : .good
            }
        }
    }

    // MARK: - Writing

    /// Writes the changes made so far, or those of a transaction. If a program that does not take our lock changed the
    /// file meanwhile, loads and merges its changes and writes again, at most 100 times.
    ///
    /// On an error the changes are what they were.
    func write(_ transaction: OpenTransaction?) throws(DefaultsError) {
        // Without changes of its own there are but those that wait.
        let transaction = lock.withLock { transaction.flatMap { $0.state.isSame(as: $0.start) ? nil : $0 } }
        for _ in 0..<100 {
            if let error = try writeOnce(transaction) {
                try look(until: .after(.seconds(2)))
                guard let transaction else { continue }
                // A transaction depends on the values that it has read.
                guard transaction.isOneCall else { throw error }
                try rebase(transaction)
            } else {
                return
            }
        }
        if let error = try writeOnce(transaction) { throw error }
    }

    /// - Returns: the error of a file that another program has changed; nil where all is written.
    private func writeOnce(_ transaction: OpenTransaction?) throws(DefaultsError) -> DefaultsError? {
        let (ours, start, mustWrite) = lock.withLock {
            let ours = transaction?.state ?? mine
            return (ours, transaction?.start ?? ours, ours.hasChanges || health.owesWriting)
        }
        guard mustWrite else { return nil }
        var shield = FileSizeShield.raised()
        defer { shield.lower() }
        let document: PropertyList?
        do throws(DefaultsError) {
            document = try engine.commit(ours)
        } catch {
            if error.code == .conflict { return error }
            if error.code == .outcomeUnknown { lock.withLock { health = .doubtful(start) } }
            throw error
        }
        let new = if let document { StoredValues(document) } else { try written(ours) }
        new.damaged = engine.damagedKeys
        try advance(to: new, from: start, isNews: transaction != nil)
        noteHealth()
        // The changes have happened, and are not made again: the caller learns that they may not be on the disk.
        if let debt = engine.debt { throw debt }
        return nil
    }

    /// The stored values once changes are written.
    private func written(_ changes: State) throws(DefaultsError) -> StoredValues {
        try translating { () throws(PropertyListError) in try changes.written() }
    }
}
