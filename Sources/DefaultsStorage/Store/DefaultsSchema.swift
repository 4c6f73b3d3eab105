public import PropertyLists

/// A rule for the values of a store's top-level keys, under which a handle makes its changes.
///
/// ```swift
/// options.schema = DefaultsSchema { key, value in
///     guard key == "volume", value.integer == nil else { return }
///     throw DefaultsError(.refused, expected: "Int", found: "\(value.kind)", at: [.key(key)])
/// }
/// let store = try DefaultsStore.open("com.acme.app", options: options)
/// ```
///
/// The rule is given the value that a change leaves a key with, merged with what lower layers have there: when the
/// change is made, and in a transaction at the commit, since only then the value is known. Registered defaults are
/// checked when they are registered, as the schema's defaults complete them. Values that are stored already, and those of other layers, are not checked: the store opens, and a
/// typed read reports them. A key may be absent at any time, and ``DefaultsMigration/versionKey`` is never checked.
///
/// A schema that KVCodable makes of a type is more than a rule: the store's values are shown and set by that type, and
/// its defaults are a part of the registered ones.
public final class DefaultsSchema: Sendable {
    private let rule: @Sendable (_ key: String, _ value: PropertyList) throws -> Void
    /// The types that values are shown and set by; nil for a rule alone.
    package let types: (any DefaultsSchemaTypes)?

    /// - Parameter rule: given a key and the value that it would have, throws to refuse it. A ``DefaultsSchemaError``
    ///   is reported as ``DefaultsError/Code/typeMismatch``, a ``DefaultsError`` as it is, a `PropertyListError` under
    ///   its own kind, any other error as ``DefaultsError/Code/refused``. Called on the thread that makes the change,
    ///   and must not use the store.
    public init(_ rule: @escaping @Sendable (_ key: String, _ value: PropertyList) throws -> Void) {
        self.rule = rule
        types = nil
    }

    /// A schema of types, with the rule that goes with them.
    package init(
        _ types: any DefaultsSchemaTypes,
        _ rule: @escaping @Sendable (_ key: String, _ value: PropertyList) throws -> Void
    ) {
        self.rule = rule
        self.types = types
    }

    func check(_ value: PropertyList, of key: String) throws(DefaultsError) {
        guard key != DefaultsMigration.versionKey else { return }
        try Self.translating(at: [.key(key)]) { try rule(key, value) }
    }

    /// Runs `body` and reports its errors as the store's own.
    static func translating<Result>(
        at path: PropertyListPath, _ body: () throws -> Result
    ) throws(DefaultsError) -> Result {
        do {
            return try body()
        } catch let error as DefaultsError {
            throw error
        } catch let error as any DefaultsSchemaError {
            throw DefaultsError(error)
        } catch let error as PropertyListError {
            throw DefaultsError(error)
        } catch {
            throw DefaultsError(.refused, "\(error)", at: path)
        }
    }

}

/// The types of a schema, by which the store shows and sets its values. Paths name keys as they are stored, from the
/// store's root; a stored value is one as the file has it.
package protocol DefaultsSchemaTypes: AnyObject, Sendable {
    /// The defaults of top-level keys, as they are stored.
    func defaults() throws -> PropertyList
    /// The stored value as its type shows it; nil where it stands for none.
    ///
    /// - Parameter unset: paths inside of it, at which an optional value has no default.
    func read(_ stored: PropertyList, at path: PropertyListPath, unset: [PropertyListPath]) throws -> PropertyList?
    /// The value to store for one as its type shows it, merged with the stored one; and how many elements of stored
    /// arrays are gone with keys that the type does not know. nil where the schema has no type.
    func encode(
        _ value: PropertyList, over stored: PropertyList?, _ change: SchemaChange, at path: PropertyListPath
    ) throws -> (list: PropertyList, dropped: Int)?
    /// The default at a path into `top`, the value of the path's first key, where nothing is stored.
    func missing(at path: PropertyListPath, in top: PropertyList) -> PropertyList?
    /// Whether ``isVariant(at:)`` is true for any path.
    var hasVariants: Bool { get }
    /// Whether the dictionary at a path is one value: an enum's case with its values. Runs no code of the program.
    func isVariant(at path: PropertyListPath) -> Bool
    /// Whether the dictionary at a path is a struct.
    func isStructure(at path: PropertyListPath) -> Bool
    /// Whether the value at a path is optional and has a default, which shows where nothing is stored.
    func hasOptionalDefault(at path: PropertyListPath) -> Bool
    /// Whether the value at a path is a field of a struct.
    func isField(at path: PropertyListPath) -> Bool
    /// The stored value with the defaults of its missing parts.
    func filled(_ stored: PropertyList, at path: PropertyListPath) throws -> PropertyList
}

extension DefaultsSchemaTypes {
    /// The end of the steps that lead to a dictionary that is one value, with the path's last steps inside of it.
    func endOfVariant(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>
    ) -> Int? {
        guard hasVariants, !steps.isEmpty else { return nil }
        var path: PropertyListPath = [.key(utf8: key)]
        for index in steps.indices {
            if isVariant(at: path) { return index }
            path = path.appending(steps[index])
        }
        return nil
    }
}

/// A store, or a transaction on one.
package protocol SchemaStorage {
    func set(_ value: PropertyList, at path: PropertyListPath, _ change: SchemaChange) throws(DefaultsError) -> Int
    /// The store, whose calls make the storage's changes now.
    func usableStore() throws(DefaultsError) -> DefaultsStore
}

/// How a value is set.
package struct SchemaChange {
    /// True if a schema's type keeps nothing that it does not know.
    package var replaces: Bool
    /// The value that the program had before its changes, as the type shows it; nil to set the value as given.
    package var ancestor: PropertyList?

    package init(replaces: Bool = false, ancestor: PropertyList? = nil) {
        self.replaces = replaces
        self.ancestor = ancestor
    }
}

/// An error of a schema about a value, in words of its own.
///
/// ```swift
/// struct TooLoud: DefaultsSchemaError {
///     let path: PropertyListPath
///     func message(firstIndex: Int) -> String { "Expected at most 10 at \(path)" }
/// }
/// options.schema = DefaultsSchema { key, value in
///     if key == "volume", value.integer ?? 0 > 10 { throw TooLoud(path: [.key(key)]) }
/// }
/// ```
public protocol DefaultsSchemaError: Error, Hashable {
    /// The value's path, from the root of the store.
    var path: PropertyListPath { get }
    /// The whole message, with the path.
    ///
    /// - Parameter firstIndex: the index of an array's first element.
    func message(firstIndex: Int) -> String
}

/// A check that a transaction makes before its commit: of a key, by its bytes, under a handle's schema.
struct SchemaCheck: Hashable {
    let key: [UInt8]
    let schema: ObjectIdentifier
}

extension Domain {
    /// Has the calling thread's transaction check the key at its commit; false where the thread has none open.
    func postpone(_ schema: LowerLayers, _ key: UnsafeBufferPointer<UInt8>) -> Bool {
        lock.withLock {
            guard let open, isInTransaction else { return false }
            open.schemas[SchemaCheck(key: Array(key), schema: ObjectIdentifier(schema))] = schema
            return true
        }
    }

    /// Checks the values of the keys that a transaction changed, in the order of the keys' bytes.
    func checkSchemas(of transaction: OpenTransaction) throws(DefaultsError) {
        let (checks, state) = lock.withLock { (transaction.schemas, transaction.state) }
        for (check, schema) in checks.sorted(by: { $0.key.key.lexicographicallyPrecedes($1.key.key) }) {
            try String(decoding: check.key, as: UTF8.self).withBytes { bytes throws(DefaultsError) in
                let key = bytes.bindMemory(to: UInt8.self)
                let own = try translating { () throws(PropertyListError) in try state.value(key) }
                if let own { try schema.check(own, of: key, unset: state.unset) }
            }
        }
    }
}
