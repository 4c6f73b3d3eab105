public import DefaultsStorage

/// A property kept under a key of a store, with the value that it has while the key is absent.
///
/// ```swift
/// struct Settings {
///     @Preference var volume: Int
///     init(store: DefaultsStore) { _volume = Preference(wrappedValue: 7, "volume", in: store) }
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
    private let failure: LastFailure

    /// A property kept under `key`, whose default is the value that the declaration gives it. Keeps the store alive as
    /// long as the property; nothing is read before the property is.
    public init(wrappedValue: Value, _ key: String, in store: DefaultsStore) {
        self.key = key
        self.store = store
        defaultValue = wrappedValue
        failure = LastFailure()
    }

    /// The stored value, decoded at each access, or the default. A set stores the value at once and keeps the keys that
    /// its type does not know, as `encode(_:forKey:)`. From any thread.
    public var wrappedValue: Value {
        get { failure.noting { try store.decode(Value.self, forKey: key) } ?? defaultValue }
        nonmutating set { _ = failure.noting { try store.encode(newValue, forKey: key) } }
    }

    /// The property itself, for ``error()`` and ``reset()``: `$volume.error()`.
    public var projectedValue: Preference<Value> { self }

    /// The error of the last read or set; nil when it had none.
    public func error() -> (any Error)? { failure.error }

    /// Removes the key, so that the property has its default.
    public func reset() throws { _ = try store.remove(at: [.key(key)]) }
}
