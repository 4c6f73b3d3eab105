public import DefaultsStorage

/// A property kept under a key of a store, with the value that it has while the key is absent.
///
/// ```swift
/// struct Settings {
///     @Default var volume: Int
///     init(store: DefaultsStore) { _volume = Default(wrappedValue: 7, "volume", in: store) }
/// }
/// ```
///
/// A property cannot throw: when the stored value does not fit the type, or the store cannot be read, the property has
/// its default, and a set that fails changes nothing; `$volume.error()` says what was wrong. Use
/// `decode(_:forKey:decoder:)` and its kin where errors matter.
@propertyWrapper public struct Default<Value: Codable & Sendable>: Sendable {
    public let key: String
    public let defaultValue: Value
    private let store: DefaultsStore
    private let failure: LastFailure

    public init(wrappedValue: Value, _ key: String, in store: DefaultsStore) {
        self.key = key
        self.store = store
        defaultValue = wrappedValue
        failure = LastFailure()
    }

    public var wrappedValue: Value {
        get { failure.noting { try store.decode(Value.self, forKey: key) } ?? defaultValue }
        nonmutating set { _ = failure.noting { try store.encode(newValue, forKey: key) } }
    }

    public var projectedValue: Default<Value> { self }

    /// What was wrong when the property was last read or set; nil when nothing was.
    public func error() -> (any Error)? { failure.error }

    /// Removes the key, so that the property has its default.
    public func reset() throws { _ = try store.remove(at: [.key(key)]) }
}
