internal import Glibc
internal import PropertyLists

/// A step that brings a store from version `version - 1` to `version`.
///
/// ```swift
/// options.migrations = [
///     DefaultsMigration(to: 1) { transaction in
///         guard let old = try transaction.value(at: ["colour"]) else { return }
///         try transaction.set(old, at: ["theme"])
///         _ = try transaction.remove(at: ["colour"])
///     }
/// ]
/// let store = try DefaultsStore.open("com.acme.app", options: options)
/// ```
///
/// Steps run when the store is opened for writing, in the order of their versions, all in one transaction; each version
/// between the first and the last has one step. The file as it was before the commit is kept as `NAME.v<old version>`. Where another program writes the file meanwhile, the transaction is rolled
/// back, and the steps run again on the new values, ten times at most. The program's
/// ``DefaultsStore/Options/validation`` is called with the values that they leave, not with those on the way. The store
/// keeps its version under the key ``versionKey``; one without that key has version 0.
public struct DefaultsMigration: Sendable {
    /// The version that the step leads to, from 1.
    public var version: Int
    /// Makes the changes, on the thread that opens the store. An error that it throws leaves the store as it was and
    /// fails the opening: a ``DefaultsError`` as it is, any other error as ``DefaultsError/Code/migration``.
    public var step: @Sendable (DefaultsTransaction) throws -> Void

    /// A step to `version`, counted from 1, from the version before it.
    public init(to version: Int, _ step: @escaping @Sendable (DefaultsTransaction) throws -> Void) {
        self.version = version
        self.step = step
    }

    /// The top-level key of a store's version, an integer: `KVStoreVersion`.
    public static var versionKey: String { "KVStoreVersion" }
}

extension DefaultsStore {
    /// The version of the store's content: 0 for one that no migration has touched.
    public func version() throws(DefaultsError) -> Int {
        let value = try DefaultsMigration.versionKey.withBytes { bytes throws(DefaultsError) in
            try domain.value(bytes.bindMemory(to: UInt8.self), state, [])
        }
        guard let value else { return 0 }
        guard let integer = value.integer, let version = Int(exactly: integer), version >= 0 else {
            throw DefaultsError(
                .migration, .expected("a version", found: "\(value.kind)"), at: [.key(DefaultsMigration.versionKey)],
                file: file)
        }
        return version
    }

    /// Runs the steps to versions that the store does not have yet.
    func migrate(_ migrations: [DefaultsMigration]) throws(DefaultsError) {
        let steps = migrations.sorted { $0.version < $1.version }
        if let first = steps.first, first.version < 1 { throw .belowOne(first.version) }
        for (step, next) in zip(steps, steps.dropFirst()) where next.version != step.version + 1 {
            throw DefaultsError(
                .misuse,
                .expected("a migration to version \(step.version + 1)", found: "one more to \(next.version)"),
                file: file)
        }
        guard let last = steps.last, try !isCurrent(last.version), !isReadOnly else { return }
        for _ in 1..<Self.mostMigrations {
            do throws(DefaultsError) {
                return try run(steps, to: last.version)
            } catch {
                guard error.code == .conflict else { throw error }
            }
        }
        try run(steps, to: last.version)
    }

    /// How often the steps are run, where a program that knows nothing of our lock writes the file meanwhile.
    private static var mostMigrations: Int { 10 }

    private func run(_ steps: [DefaultsMigration], to version: Int) throws(DefaultsError) {
        do {
            try transaction { transaction in
                guard let old = try transaction.beginMigration(to: version) else { return }
                for step in steps where step.version > old { try run(step, transaction) }
            }
        } catch let error as DefaultsError {
            throw error
        } catch {
            throw DefaultsError(.migration, "\(error)", file: file)
        }
    }

    private func run(_ migration: DefaultsMigration, _ transaction: DefaultsTransaction) throws(DefaultsError) {
        do {
            try migration.step(transaction)
        } catch let error as DefaultsError {
            throw error
        } catch {
            throw DefaultsError(
                .migration, "The migration to version \(migration.version) failed: \(error)", file: file)
        }
    }

    /// Whether the store has the version already; an error when it has a newer one.
    fileprivate func isCurrent(_ version: Int) throws(DefaultsError) -> Bool {
        let found = try self.version()
        guard found <= version else {
            throw DefaultsError(
                .migration, .expected("at most version \(version)", found: "\(found): a newer program wrote the store"),
                file: file)
        }
        return found == version
    }
}

extension DefaultsTransaction {
    /// Makes this transaction the one that brings the store to `version`, which is committed with its changes; the file
    /// as it was is kept as `NAME.v<old version>`. The program's check of changes waits until the commit, and is called
    /// with the value that each key has then.
    ///
    /// - Returns: the version that was found; nil, and nothing is to be done, when the store has the version already:
    ///   another process may have been faster.
    /// - Throws: ``DefaultsError/Code/migration`` when the store has a newer version, ``DefaultsError/Code/misuse`` for
    ///   a version below 1.
    public func beginMigration(to version: Int) throws(DefaultsError) -> Int? {
        guard version >= 1 else { throw .belowOne(version) }
        try checkUsable()
        if try store.isCurrent(version) { return nil }
        let found = try store.version()
        store.domain.lock.withLock { inner.migrated = found }
        let value = try DefaultsError.translating { () throws(PropertyListError) in try PropertyList(any: version) }
        try set(value, at: [.key(DefaultsMigration.versionKey)])
        return found
    }

    /// Calls the program's check with each key that a migration changed.
    func checkMigrated() throws(DefaultsError) {
        guard let validation = store.validation else { return }
        let states = store.domain.lock.withLock { () -> (start: State, end: State)? in
            guard inner.migrated != nil, !inner.isChecked, inner.saved.isEmpty else { return nil }
            inner.isChecked = true
            return (inner.start, inner.state)
        }
        guard let states else { return }
        var changed: [[UInt8]] = []
        states.end.forEachChange(notIn: states.start) { changed.append($0) }
        for key in changed.sorted(by: { $0.lexicographicallyPrecedes($1) })
        where !key.elementsEqual(DefaultsMigration.versionKey.utf8) {
            try key.withUnsafeBufferPointer { key throws(DefaultsError) in
                let value = try store.domain.translating { () throws(PropertyListError) in try states.end.value(key) }
                try store.run(validation, [.key(utf8: key)], value)
            }
        }
    }
}

extension DefaultsError {
    fileprivate static func belowOne(_ version: Int) -> DefaultsError {
        DefaultsError(.misuse, .expected("a version from 1", found: "\(version)"))
    }
}
