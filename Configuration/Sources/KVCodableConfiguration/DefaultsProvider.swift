public import Configuration
internal import Dispatch
public import KVCodable

/// A provider of swift-configuration that reads a store of defaults, with all of its layers merged by path: the
/// administrator's locked values before the user's, and these before the defaults of the administrator and the program.
///
/// ```swift
/// let provider = try DefaultsProvider(opening: "com.example.player")
/// let config = ConfigReader(providers: [EnvironmentVariablesProvider(), provider])
/// print(config.int(forKey: "volume", default: 0))  // 7
/// ```
///
/// The components of a configuration key are the keys of the path: `ui.window.width` is the value at
/// `["ui", "window", "width"]`, by the names that the file has. A component with a dot in it is one key. The context of
/// a key is not looked at.
///
/// | asked for | the store holds |
/// |---|---|
/// | string, bool, bytes | a string, a boolean, data |
/// | int | a whole number that `Int` holds |
/// | double | a real or a whole number |
/// | arrays | an array whose elements are all of the kind |
///
/// Under a schema of types a value is checked as a typed read checks it, and the schema's defaults count. What the schema
/// calls a secret (`@secret`) is marked so: access reporters do not show it. A value of another kind is an error that says
/// what was expected and found, and where: `Expected Int at window.width, found String`.
///
/// A get reads the process's values in memory, a fetch looks at the files first, and a watch tells of the changes of
/// every program. Safe to use from several threads and tasks at once.
public struct DefaultsProvider: ConfigProvider {
    /// The name in diagnostics: `DefaultsProvider[com.example.player]`.
    public let providerName: String
    private let store: DefaultsStore
    private let values: StoredValues
    private let watchers: Watchers

    /// A provider of an open store. The program may change the store, and closes it when the provider is not used any
    /// more; from then on each lookup is an error.
    ///
    /// - Parameters:
    ///   - store: its schema says which values are secrets: without one none is.
    ///   - name: the name in diagnostics; nil for the store's file.
    public init(_ store: DefaultsStore, name: String? = nil) {
        providerName = "DefaultsProvider[\(name ?? store.file ?? "memory")]"
        self.store = store
        values = StoredValues(types: store.type(at: []))
        watchers = Watchers(of: store)
    }

    /// Opens the store of a name under its published type, where there is one, and provides its values.
    ///
    /// ```swift
    /// let provider = try DefaultsProvider(opening: "com.example.player")
    /// ```
    ///
    /// - Parameters:
    ///   - name: such as `com.example.player`; see `DefaultsStore.open(_:options:)`.
    ///   - options: those of opening; a schema in them counts before the published type.
    /// - Throws: the errors of opening, and of a published type that is wrong.
    public init(opening name: String, options: DefaultsStore.Options = DefaultsStore.Options()) throws {
        var options = options
        if options.schema == nil, let type = try PublishedTypes.type(of: name) {
            options.schema = try DefaultsSchema(type)
        }
        self.init(try DefaultsStore.open(name, options: options), name: name)
    }
}

extension DefaultsProvider {
    /// The present value, from memory; see `ConfigProvider`.
    ///
    /// - Throws: `TypeError` for a value that is not as the schema says, `DefaultsError` for one of another kind, and
    ///   for a store that is closed or cannot be read.
    public func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
        let path = PropertyListPath(key)
        return try values.result(try store.filled(at: path), at: path, as: type)
    }

    /// The present value, once the changes of other processes are taken up; see `ConfigProvider`.
    ///
    /// - Throws: as ``value(forKey:type:)``.
    public func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult {
        // Files are read on a thread that may wait: those that run tasks must not.
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    with: Result {
                        try store.refresh()
                        return try value(forKey: key, type: type)
                    })
            }
        }
    }

    /// The present value, then each that it changes to, in this process or another; see `ConfigProvider`. A slow
    /// receiver gets the latest.
    ///
    /// - Throws: the errors of `updatesHandler`, and `DefaultsError` for a store that cannot be watched.
    public func watchValue<Return: ~Copyable>(
        forKey key: AbsoluteConfigKey, type: ConfigType,
        updatesHandler: (
            _ updates: ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>
        ) async throws -> Return
    ) async throws -> Return {
        let watcher = try watchers.add()
        defer { watchers.remove(watcher) }
        return try await updatesHandler(
            ConfigUpdatesAsyncSequence(
                watcher.updates(areEqual: isSame) { Result { try value(forKey: key, type: type) } }))
    }

    /// All the values as they are now: a transaction's changes are in it together or not at all.
    public func snapshot() -> any ConfigSnapshot { present }

    /// The present values, then those after each change, in this process or another; see `ConfigProvider`.
    ///
    /// - Throws: as ``watchValue(forKey:type:updatesHandler:)``.
    public func watchSnapshot<Return: ~Copyable>(
        updatesHandler: (_ updates: ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws -> Return
    ) async throws -> Return {
        let watcher = try watchers.add()
        defer { watchers.remove(watcher) }
        let updates = watcher.updates(areEqual: { $0.all == $1.all }, { present })
        return try await updatesHandler(ConfigUpdatesAsyncSequence(updates.map { $0 }))
    }

    private var present: Snapshot {
        Snapshot(
            providerName: providerName, values: values,
            all: Result { () throws(DefaultsError) in try store.snapshot() })
    }

    /// All the values of a moment.
    private struct Snapshot: ConfigSnapshot {
        let providerName: String
        let values: StoredValues
        let all: Result<PropertyList, DefaultsError>

        func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
            let path = PropertyListPath(key)
            return try values.result(try all.get().value(at: path), at: path, as: type)
        }
    }
}

extension DefaultsProvider: CustomStringConvertible {
    /// The provider's name; no values.
    public var description: String { providerName }
}

extension PropertyListPath {
    fileprivate init(_ key: AbsoluteConfigKey) {
        self.init(key.components.map { .key($0) })
    }
}

/// Whether two lookups say the same. Errors do when their words are equal.
private func isSame(_ left: Result<LookupResult, any Error>, _ right: Result<LookupResult, any Error>) -> Bool {
    switch (left, right) {
    case (.success(let left), .success(let right)): left == right
    case (.failure(let left), .failure(let right)): "\(left)" == "\(right)"
    default: false
    }
}
