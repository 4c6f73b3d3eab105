internal import Glibc
internal import PropertyLists

/// A step that brings a store from version `version - 1` to `version`.
///
/// Steps run when the store is opened for writing, in the order of their versions, all in one transaction; the file as
/// it was is kept as `NAME.v<old version>`. The store's version stands in it under the key
/// ``DefaultsMigration/versionKey``; a store without one has version 0.
public struct DefaultsMigration: Sendable {
    /// The version that the step leads to, from 1.
    public var version: Int
    public var step: @Sendable (DefaultsTransaction) throws -> Void

    public init(to version: Int, _ step: @escaping @Sendable (DefaultsTransaction) throws -> Void) {
        self.version = version
        self.step = step
    }

    public static var versionKey: String { "KVStoreVersion" }
}

extension DefaultsStore {
    /// The version of the store's content: 0 for one that no migration has touched.
    public func version() throws(DefaultsError) -> Int {
        let value = try DefaultsMigration.versionKey.withBytes { bytes throws(DefaultsError) in
            try domain.value(bytes.bindMemory(to: UInt8.self), state)
        }
        guard let value else { return 0 }
        guard let integer = value.integer, let version = Int(exactly: integer), version >= 0 else {
            throw DefaultsError(
                .migration, "Expected a version, found \(value.kind)", at: [.key(DefaultsMigration.versionKey)],
                file: file)
        }
        return version
    }

    /// Runs the steps that the store has not seen.
    func migrate(_ migrations: [DefaultsMigration]) throws(DefaultsError) {
        let steps = migrations.sorted { $0.version < $1.version }
        guard let last = steps.last else { return }
        let found = try version()
        guard found <= last.version else {
            throw DefaultsError(
                .migration, "Expected at most version \(last.version), found \(found): a newer program wrote the store",
                file: file)
        }
        guard found < last.version, !isReadOnly else { return }
        do {
            try transaction { transaction in
                // Another process may have been faster.
                let old = try version()
                try domain.engine.keepCopy(named: "v\(old)")
                for step in steps where step.version > old {
                    try step.step(transaction)
                }
                let version = try PropertyList(any: max(old, last.version))
                try transaction.set(version, at: [.key(DefaultsMigration.versionKey)])
            }
        } catch let error as DefaultsError {
            throw error
        } catch {
            throw DefaultsError(.migration, "\(error)", file: file)
        }
    }
}
