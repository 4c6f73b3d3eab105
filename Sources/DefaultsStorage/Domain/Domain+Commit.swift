internal import CKVSystem
internal import Glibc
internal import PropertyLists

extension Domain {
    /// Writes the changes made so far; returns when they are on disk.
    func flush(until deadline: Deadline) throws(DefaultsError) {
        // Inside a transaction, its commit writes.
        if lock.withLock({ (delta.isEmpty && committing == nil && !owesWriting) || isInTransaction }) { return }
        try begin(until: deadline)
        do throws(DefaultsError) {
            try commit(nil)
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
        try takeUp(try refreshEngine(until: deadline))
    }

    /// Reads the file for the first time, unless another thread has done so, or is at it: that is waited for.
    func load(until deadline: Deadline) throws(DefaultsError) {
        if lock.withLock({ isLoaded }) { return }
        try takeWriterLock(until: deadline)
        defer { writerLock.release() }
        if lock.withLock({ isLoaded }) { return }
        try takeUp(try refreshEngine(until: deadline))
        lock.withLock { isLoaded = true }
    }

    func refreshEngine(until deadline: Deadline) throws(DefaultsError) -> EngineState {
        lock.withLock {
            engine.recovers = recovers
            engine.limits = limits
            engine.settleTime = settleTime
        }
        defer {
            let (unreadable, damaged) = (engine.unreadable, engine.damagedKeys)
            lock.withLock {
                self.unreadable = unreadable
                damagedKeys = damaged
            }
        }
        let memory = { () throws(DefaultsError) in
            // The writer lock keeps both as they are.
            let (base, committed) = self.lock.withLock { (self.base, self.committed) }
            return try self.translating { () throws(PropertyListError) in try committed?.applied(to: base) ?? base }
        }
        let state = try engine.refresh(over: memory, until: deadline)
        // The changes inherited from the parent process are the parent's to write. Changes made over them since are
        // merged with the file, or the parent's would be written a second time.
        if hasForked {
            try lock.withLock { () throws(DefaultsError) in
                if let committed { inbox.noteChanges(of: committed) }
                try mergingChanges { () throws(DefaultsError) in
                    committed = nil
                    countStored()
                }
            }
        }
        hasForked = false
        return state
    }

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

    /// Takes the writer lock and the file lock, loads the changes of others, and sets aside those to be written.
    func begin(until deadline: Deadline) throws(DefaultsError) {
        try takeWriterLock(until: deadline)
        do throws(DefaultsError) {
            try lockAndLook(until: deadline)
        } catch {
            writerLock.release()
            throw error
        }
        lock.withLock {
            committing = delta
            delta = Delta()
            isScheduled = false
        }
    }

    private func lockAndLook(until deadline: Deadline) throws(DefaultsError) {
        try lockEngine(until: deadline)
        do throws(DefaultsError) {
            if let hasHappened = try engine.settle(until: deadline) { try settle(hasHappened) }
            try takeUp(try refreshEngine(until: deadline))
            if let refusal = engine.refusal { throw refusal }
        } catch {
            engine.unlock()
            throw error
        }
    }

    /// Takes up the outcome of a commit of which that was not known: its changes wait in `committing`.
    private func settle(_ hasHappened: Bool) throws(DefaultsError) {
        try lock.withLock { () throws(DefaultsError) in
            isInDoubt = false
            guard let committing else { return }
            if hasHappened {
                stored += growth(of: committing)
                try translating { () throws(PropertyListError) in try addCommitted(committing) }
            } else {
                delta.absorb(below: committing)
            }
            self.committing = nil
            countChanges()
        }
    }

    private func lockEngine(until deadline: Deadline) throws(DefaultsError) {
        engine.synchronization = lock.withLock { synchronization }
        let start = cs_monotonic_nanoseconds()
        if try engine.lock(until: deadline) {
            tell(.lockWaited(nanoseconds: cs_monotonic_nanoseconds() - start))
        }
    }

    /// Writes the changes that were set aside, and those of a transaction over them. On failure all are as before.
    func commit(_ transaction: Delta?, isOneCall: Bool = false) throws(DefaultsError) {
        guard let committing = lock.withLock({ self.committing }) else { return }
        if let transaction, !transaction.isEmpty, committing.isEmpty {
            try publish(transaction, hasTransaction: true, merges: isOneCall)
        } else if let transaction, !transaction.isEmpty {
            // The transaction's entries win, and take up the changes below them.
            let upper = Delta()
            upper.absorb(below: transaction)
            upper.absorb(below: committing)
            try publish(upper, hasTransaction: true, merges: isOneCall)
        } else {
            try publish(committing, hasTransaction: false, merges: true)
        }
        // The changes have happened, and are not made again: the caller learns that they may not be on the disk.
        let debt = engine.debt
        lock.withLock { owesWriting = debt != nil }
        if let debt { throw debt }
    }

    private func publish(_ changes: Delta, hasTransaction: Bool, merges: Bool) throws(DefaultsError) {
        if changes.isEmpty, !lock.withLock({ owesWriting }) { return }
        let outcome = try writeOrDoubt(changes, merges: merges)
        let damaged = engine.damagedKeys
        try lock.withLock { () throws(DefaultsError) in
            let take = { () throws(DefaultsError) in
                self.stored += self.growth(of: changes)
                self.committing = nil
                self.damagedKeys = damaged
                self.rules.format = self.engine.format
                switch outcome {
                case .document(let document):
                    self.base = document
                    self.committed = nil
                case .committed:
                    try self.translating { () throws(PropertyListError) in try self.addCommitted(changes) }
                }
            }
            guard hasTransaction else {
                try take()
                return countChanges()
            }
            // Changes made meanwhile lie over the transaction's now.
            generation &+= 1
            try mergingChanges(take)
        }
        checkMerged()
    }

    /// Where it is not known whether the changes were written, they stay `committing` until it is.
    private func writeOrDoubt(_ changes: Delta, merges: Bool) throws(DefaultsError) -> CommitOutcome {
        do throws(DefaultsError) {
            return try write(changes, merges: merges)
        } catch {
            if error.code == .outcomeUnknown { lock.withLock { isInDoubt = true } }
            throw error
        }
    }

    /// Has the engine write the changes. If a program that does not take our lock changed the file meanwhile, or removed
    /// the lock file, loads and merges its changes and writes again, at most 100 times.
    ///
    /// - Parameter merges: false for a transaction, which depends on the values that it has read.
    private func write(_ changes: Delta, merges: Bool) throws(DefaultsError) -> CommitOutcome {
        for _ in 0..<100 {
            let conflict: DefaultsError
            do throws(DefaultsError) {
                return try engine.commit(changes, over: lock.withLock { base })
            } catch {
                guard error.code == .conflict else { throw error }
                conflict = error
            }
            let isTransaction = lock.withLock { committing !== changes }
            let seen = try lock.withLock { () throws(DefaultsError) in
                isTransaction ? try valuesStored(for: changes) : []
            }
            try takeUp(try refreshEngine(until: .after(.seconds(2))))
            if !merges { throw conflict }
            guard isTransaction else { continue }
            let dropped = try lock.withLock { () throws(DefaultsError) in
                try merge(changes, seen: seen, over: valueStored)
            }
            checkMerged()
            // The call fails that made the change.
            if let dropped = dropped.first { throw dropped }
        }
        return try engine.commit(changes, over: lock.withLock { base })
    }

    /// Lays changes that are stored over the document; folds them into it when they have become many, so that the
    /// cost of a change does not grow with the store.
    private func addCommitted(_ changes: Delta) throws(PropertyListError) {
        if isMany(changes) {
            base = try changes.applied(to: try committed?.applied(to: base) ?? base)
            committed = nil
            return
        }
        let sum = committed ?? Delta()
        try sum.absorb(above: changes)
        committed = sum
        if isMany(sum) {
            base = try sum.applied(to: base)
            committed = nil
        }
    }

    private func isMany(_ changes: Delta) -> Bool { changes.entries.count > max(64, base.count / 2) }

    /// How the work that `begin` began has ended.
    enum Ending {
        case regular
        case failed
    }

    /// Releases the locks that `begin` took; changes that were not written wait for the next flush.
    func end(_ ending: Ending = .regular) {
        let isLeft = lock.withLock {
            if let committing, !isInDoubt {
                delta.absorb(below: committing)
                self.committing = nil
            }
            return (!delta.isEmpty || owesWriting || isInDoubt) && !isScheduled && handles.durability != .manual
        }
        engine.unlock()
        writerLock.release()
        if isLeft { scheduleAgain(ending) }
    }

    private func scheduleAgain(_ ending: Ending) {
        let isNew = lock.withLock {
            defer { isScheduled = true }
            return !isScheduled
        }
        guard isNew else { return }
        if ending == .failed { Flusher.shared.scheduleRetry(self) } else { Flusher.shared.schedule(self) }
    }

    /// Takes the state that the engine found, and merges the unwritten changes with it. The caller holds the writer
    /// lock.
    func takeUp(_ state: EngineState) throws(DefaultsError) {
        let differences = differences(state)
        try lock.withLock { () throws(DefaultsError) in
            refusal = engine.refusal
            rules.format = engine.format
            switch state {
            case .unchanged: return
            case .replaced(let list):
                noteDifferences(differences)
                let known = try translating { () throws(PropertyListError) in try knownDamaged() }
                try mergingChanges { () throws(DefaultsError) in
                    base = list
                    committed = known
                    countStored()
                }
            case .changed(let changes):
                let delta = Delta()
                for (key, value) in changes {
                    key.withBytes { bytes in
                        let utf8 = bytes.bindMemory(to: UInt8.self)
                        if let value { delta.set(value, for: utf8) } else { delta.remove(utf8) }
                    }
                }
                inbox.noteChanges(of: delta)
                stored += growth(of: delta)
                try mergingChanges { () throws(DefaultsError) in
                    try translating { () throws(PropertyListError) in try addCommitted(delta) }
                }
            }
            generation &+= 1
        }
        checkMerged()
    }

    /// The values in memory of keys whose stored ones cannot be read: they count on; nil for none.
    private func knownDamaged() throws(PropertyListError) -> Delta? {
        let result = Delta()
        for key in damagedKeys.keys {
            let value = try key.withUnsafeBufferPointer { key throws(PropertyListError) in
                if let committed, let index = committed.find(key) {
                    return try committed.value(at: index)
                }
                return base[utf8: key]
            }
            if let value { key.withUnsafeBufferPointer { result.set(value.compacted(), for: $0) } }
        }
        return result.isEmpty ? nil : result
    }

    /// The keys by which a document that was loaded anew differs, for the watches; nil without either.
    ///
    /// Walks both documents without the lock: the base changes only with the writer lock held.
    private func differences(_ state: EngineState) -> ChangedKeys? {
        guard case .replaced(let list) = state,
            let base = lock.withLock({ inbox.isWatched ? self.base : nil })
        else { return nil }
        let result = ChangedKeys()
        result.insertDifferences(base, list)
        return result
    }

    private func noteDifferences(_ differences: ChangedKeys?) {
        guard inbox.isWatched else { return }
        let all = differences ?? ChangedKeys()
        // A watch may have begun since the keys were looked for.
        if differences == nil { all.insertEverything() }
        inbox.noteChanges(of: all)
    }
}
