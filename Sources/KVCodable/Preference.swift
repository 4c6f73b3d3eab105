public import DefaultsStorage
internal import Synchronization

/// A property kept under a key of a store, with the value that it has while the key is absent.
///
/// ```swift
/// enum Theme: String, Codable { case light, dark }
/// struct Window: Codable { var width = 640 }
/// struct Settings {
///     @Preference var theme: Theme
///     @Preference var title: String?
///     @Preference var width: Int
///     init(store: DefaultsStore) {
///         _theme = Preference(wrappedValue: .dark, "theme", in: store)
///         _title = Preference("title", in: store)
///         _width = Preference(\.width, of: Window(), "window", in: store)
///     }
/// }
/// ```
///
/// A property cannot throw: when the stored value does not fit the type, or the store cannot be read, the property has
/// its default, and a set that fails changes nothing; `$volume.error()` gives the error. Use
/// `decode(_:forKey:decoder:)` and its kin where errors matter.
@propertyWrapper public struct Preference<Value: Codable & Sendable>: Sendable {
    /// The top-level key, exactly as it is written in the file.
    public let key: String
    /// The property's value while the key is absent, or its value cannot be read. It is never stored.
    public let defaultValue: Value
    private let store: DefaultsStore
    private let failure = LastFailure()
    private let read: @Sendable () throws -> Value
    private let write: @Sendable (Value) throws -> Void

    /// A property kept under `key`, whose default is the value that the declaration gives it; of a struct also where a
    /// key inside of it is missing, as with `decode(_:forKey:defaults:)`. Keeps the store alive as long as the property;
    /// nothing is read before the property is.
    public init(wrappedValue: Value, _ key: String, in store: DefaultsStore) {
        self.key = key
        self.store = store
        defaultValue = wrappedValue
        let view = store.typed(Value.self, forKey: key, defaults: wrappedValue)
        read = { try view.read() }
        write = { try view.write($0) }
    }

    /// A property kept under `key` that is nil while the key is absent; setting it to nil removes the key.
    public init(_ key: String, in store: DefaultsStore) where Value: ExpressibleByNilLiteral {
        self.init(wrappedValue: nil, key, in: store)
    }

    /// A part of the value that is kept under `key`. A set stores that part alone, beside what is stored there already.
    public init<Root: Codable & Sendable>(
        _ part: any WritableKeyPath<Root, Value> & Sendable, of defaults: Root, _ key: String, in store: DefaultsStore
    ) {
        self.key = key
        self.store = store
        defaultValue = defaults[keyPath: part]
        let view = store.typed(Root.self, forKey: key, defaults: defaults)
        read = { try view.read()[keyPath: part] }
        write = { value in try view.write { $0[keyPath: part] = value } }
    }

    /// The stored value, decoded at each access, or the default. A set stores what differs from the value that was read
    /// or set last, and keeps the keys that its type does not know, as `encode(_:forKey:)`. From any thread.
    public var wrappedValue: Value {
        get { failure.noting(read) ?? defaultValue }
        nonmutating set { _ = failure.noting { try write(newValue) } }
    }

    /// The property itself, for ``error()`` and ``reset()``: `$volume.error()`.
    public var projectedValue: Preference<Value> { self }

    /// The error of the last read or set; nil when it had none.
    public func error() -> (any Error)? { failure.error }

    /// Removes the key, so that the property has its default.
    public func reset() throws { _ = try store.reset(at: [.key(key)]) }
}
