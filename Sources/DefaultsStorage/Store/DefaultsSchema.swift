public import PropertyLists

/// What the values of a store's top-level keys have to be: the rule that a handle sets under.
///
/// Looked at is what a change makes of the value of a key in the application's domain: when it is made, and in a
/// transaction when that is committed, since only then it is known. Registered defaults are looked at when they are
/// registered. What is stored already, and what other layers hold, is not: the store opens, and a typed read says what
/// is wrong. A key may be absent at any time, and the version of migrations is no business of a schema.
public final class DefaultsSchema: Sendable {
    private let rule: @Sendable (_ key: String, _ value: PropertyList) throws -> Void

    /// - Parameter rule: given a key and the value that it would have, throws to refuse it: a ``DefaultsSchemaError``,
    ///   or whatever, which is reported as ``DefaultsError/Code/refused``. Called on the thread that changes; must not
    ///   use the store.
    public init(_ rule: @escaping @Sendable (_ key: String, _ value: PropertyList) throws -> Void) {
        self.rule = rule
    }

    func check(_ value: PropertyList, of key: String) throws(DefaultsError) {
        guard key != DefaultsMigration.versionKey else { return }
        do {
            try rule(key, value)
        } catch let error as DefaultsError {
            throw error
        } catch let error as any DefaultsSchemaError {
            throw DefaultsError(error)
        } catch let error as PropertyListError {
            throw DefaultsError(error)
        } catch {
            throw DefaultsError(.refused, "\(error)", at: [.key(key)])
        }
    }

    func check(_ dictionary: PropertyList) throws(DefaultsError) {
        for (key, value) in dictionary.entries { try check(value, of: key) }
    }
}

/// What a schema says of a value that is not as it should be, in words of its own.
public protocol DefaultsSchemaError: Error, Hashable {
    /// Where in the store.
    var path: PropertyListPath { get }
    /// The whole message, with its places.
    ///
    /// - Parameter firstIndex: what the indexes of arrays are counted from.
    func message(firstIndex: Int) -> String
}

/// What a transaction has to look at before it is committed: a key, by its bytes, under a handle's schema.
struct SchemaCheck: Hashable {
    let key: [UInt8]
    let schema: ObjectIdentifier
}

extension Domain {
    /// Has the calling thread's transaction look at the key when it is committed; false where it has none open.
    func postpone(_ schema: DefaultsSchema, _ key: UnsafeBufferPointer<UInt8>) -> Bool {
        lock.withLock {
            guard let open, isInTransaction else { return false }
            open.schemas[SchemaCheck(key: Array(key), schema: ObjectIdentifier(schema))] = schema
            return true
        }
    }

    /// Looks at what a transaction made of the keys that it changed, in the order of their bytes.
    func checkSchemas(of transaction: OpenTransaction) throws(DefaultsError) {
        let checks = lock.withLock { transaction.schemas }
        for (check, schema) in checks.sorted(by: { $0.key.key.lexicographicallyPrecedes($1.key.key) }) {
            let value = try String(decoding: check.key, as: UTF8.self).withBytes { bytes throws(DefaultsError) in
                try lock.withLock { () throws(DefaultsError) in
                    try lookUp(bytes.bindMemory(to: UInt8.self), [], in: transaction.delta)
                }
            }
            if let value { try schema.check(value, of: String(decoding: check.key, as: UTF8.self)) }
        }
    }

    /// The value of a key as the calling thread sees it, and the generation that it is of.
    func current(
        _ key: UnsafeBufferPointer<UInt8>
    ) throws(DefaultsError) -> (value: PropertyList?, generation: UInt64) {
        try lock.withLock { () throws(DefaultsError) in (try lookUp(key, [], in: target), generation) }
    }
}
