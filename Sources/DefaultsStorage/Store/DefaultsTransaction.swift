internal import CKVSystem
public import PropertyLists

/// Changes to a store that happen together or not at all, over the latest state of its file, with other processes
/// locked out.
///
/// ```swift
/// try store.transaction { transaction in
///     let count = try transaction.value(at: ["launches"])?.integer ?? 0
///     try transaction.set(PropertyList(any: count + 1), at: ["launches"])
/// }
/// ```
///
/// Belongs to the thread that began it, which reads its own changes through it and through the store; other threads see
/// them when it is committed. It must be ended; deinit rolls back one that was not.
///
/// `@unchecked Sendable`: the mutable state is guarded by the domain's lock.
public final class DefaultsTransaction: @unchecked Sendable {
    package let store: DefaultsStore
    let inner: OpenTransaction
    private var isEnded = false
    /// The number of transactions around this one.
    private let depth: Int

    init(_ store: DefaultsStore, _ inner: OpenTransaction) {
        self.store = store
        self.inner = inner
        depth = store.domain.lock.withLock { inner.saved.count }
    }

    deinit { rollback() }

    /// As ``DefaultsStore/value(at:)``, with this transaction's changes.
    public func value(at path: PropertyListPath) throws(DefaultsError) -> PropertyList? {
        try checkUsable()
        return try store.value(at: path)
    }

    /// As ``DefaultsStore/value(forKey:)``, with this transaction's changes.
    public func value(forKey key: String) throws(DefaultsError) -> PropertyList? { try value(at: [.key(key)]) }

    /// As ``DefaultsStore/set(_:at:)``; nothing is written before the commit.
    public func set(_ value: PropertyList, at path: PropertyListPath) throws(DefaultsError) {
        try checkUsable()
        try store.set(value, at: path)
    }

    /// As ``DefaultsStore/set(_:forKey:)``; nothing is written before the commit.
    public func set(_ value: PropertyList, forKey key: String) throws(DefaultsError) {
        try set(value, at: [.key(key)])
    }

    package func set(
        _ value: PropertyList, at path: PropertyListPath, _ change: SchemaChange
    ) throws(DefaultsError) -> Int {
        try checkUsable()
        return try store.set(value, at: path, change)
    }

    package func setStored(
        _ value: PropertyList, at path: PropertyListPath, _ change: SchemaChange
    ) throws(DefaultsError) {
        try checkUsable()
        try store.setStored(value, at: path, change)
    }

    /// As ``DefaultsStore/merge(ancestor:ours:at:)``, with this transaction's changes.
    @discardableResult
    public func merge(
        ancestor: PropertyList?, ours: PropertyList?, at path: PropertyListPath = []
    ) throws(DefaultsError) -> [MergeConflict] {
        try checkUsable()
        return try store.merge(ancestor: ancestor, ours: ours, at: path)
    }

    /// As ``DefaultsStore/stored(at:)``, with this transaction's changes.
    public func stored(at path: PropertyListPath) throws(DefaultsError) -> PropertyList? {
        try checkUsable()
        return try store.stored(at: path)
    }

    /// As ``DefaultsStore/filled(at:)``, with this transaction's changes.
    public func filled(at path: PropertyListPath) throws(DefaultsError) -> PropertyList? {
        try checkUsable()
        return try store.filled(at: path)
    }

    /// As ``DefaultsStore/setStored(_:at:)``; nothing is written before the commit.
    public func setStored(_ value: PropertyList, at path: PropertyListPath) throws(DefaultsError) {
        try checkUsable()
        try store.setStored(value, at: path)
    }

    /// As ``DefaultsStore/remove(at:)``; nothing is written before the commit.
    @discardableResult
    public func remove(at path: PropertyListPath) throws(DefaultsError) -> Bool {
        try checkUsable()
        return try store.remove(at: path)
    }

    /// Writes the changes and ends the transaction; on return they are on disk. A transaction inside another leaves that
    /// to the outermost.
    ///
    /// - Throws: ``DefaultsError``, of the kind ``DefaultsError/Code/misuse`` if one inside it has not ended. Nothing of the
    ///   transaction has happened then, unless it is ``DefaultsError/Code/outcomeUnknown``: look at the store before you
    ///   repeat it.
    public func commit() throws(DefaultsError) {
        do throws(DefaultsError) {
            try checkMigrated()
        } catch {
            rollback()
            throw error
        }
        try end(isCommit: true)
        try store.domain.commit(inner)
    }

    /// Ends the transaction without its changes. Does nothing when it has ended.
    public func rollback() {
        do throws(DefaultsError) {
            try end(isCommit: false)
            store.domain.rollBack(inner, to: depth)
        } catch {
            // It has ended already.
        }
    }

    /// - Throws: where the transaction has ended, or one inside it stands in the way of its commit.
    private func end(isCommit: Bool) throws(DefaultsError) {
        try store.domain.lock.withLock { () throws(DefaultsError) in
            guard !isEnded, depth <= inner.saved.count else {
                throw DefaultsError(.closed, "The transaction has ended")
            }
            if isCommit, store.domain.open === inner, depth < inner.saved.count {
                throw DefaultsError(.misuse, "A transaction inside this one has not ended")
            }
            isEnded = true
        }
    }

    /// The store, whose calls make this transaction's changes now.
    package func usableStore() throws(DefaultsError) -> DefaultsStore {
        try checkUsable()
        return store
    }

    func checkUsable() throws(DefaultsError) {
        try store.domain.lock.withLock { () throws(DefaultsError) in
            guard !isEnded, store.domain.open === inner, depth <= inner.saved.count else {
                throw DefaultsError(.closed, "The transaction has ended")
            }
            guard inner.thread == cs_thread_number() else {
                throw DefaultsError(.misuse, "A transaction belongs to the thread that began it")
            }
        }
    }
}

extension DefaultsStore: SchemaStorage {
    package func usableStore() throws(DefaultsError) -> DefaultsStore { self }
}
extension DefaultsTransaction: SchemaStorage {}

extension DefaultsStore {
    /// Begins a transaction: waits until no other process or thread has one, and takes up their changes. If this thread
    /// has one open on the store, the new one is inside it, and rolls back alone.
    ///
    /// - Parameter timeout: how long to wait; nil for the store's own.
    /// - Throws: ``DefaultsError/Code/timedOut`` when another holder kept the store locked for longer.
    public func beginTransaction(timeout: Duration? = nil) throws(DefaultsError) -> DefaultsTransaction {
        try checkWritable()
        return DefaultsTransaction(self, try domain.beginTransaction(until: .after(timeout ?? state.timeout)))
    }

    /// Runs `body` in a transaction: commits when it returns, rolls back when it throws.
    @discardableResult
    public func transaction<Result>(_ body: (DefaultsTransaction) throws -> Result) throws -> Result {
        let transaction = try beginTransaction()
        let result: Result
        do {
            result = try body(transaction)
        } catch {
            transaction.rollback()
            throw error
        }
        try transaction.commit()
        return result
    }

    /// Sets the value at `path` if nothing in the store has changed since `generation`, in this process or another.
    ///
    /// - Throws: ``DefaultsError/Code/conflict`` when something has; nothing is set then.
    public func set(
        _ value: PropertyList, at path: PropertyListPath, ifGeneration generation: UInt64
    ) throws(DefaultsError) {
        try checkWritable(at: path)
        try domain.transaction(until: deadline) { () throws(DefaultsError) in
            let current = self.generation
            guard current == generation else {
                throw DefaultsError(
                    .conflict, .expected("generation \(generation)", found: "\(current)"), at: path, file: file)
            }
            try set(value, at: path)
        }
    }
}
