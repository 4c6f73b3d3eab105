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
    private let read: @Sendable () throws -> Value?
    private let write: @Sendable (Value) throws -> Void

    /// The value that was read or set last.
    private final class Last<Kept: Sendable>: Sendable {
        private let content = Mutex<Kept?>(nil)

        var value: Kept? { content.withLock { $0 } }

        func note(_ value: Kept?) -> Kept? {
            // The old value is released after the lock.
            _ = content.withLock { content in
                defer { content = value }
                return content
            }
            return value
        }
    }

    /// A property kept under `key`, whose default is the value that the declaration gives it. Keeps the store alive as
    /// long as the property; nothing is read before the property is.
    public init(wrappedValue: Value, _ key: String, in store: DefaultsStore) {
        self.key = key
        self.store = store
        defaultValue = wrappedValue
        let last = Last<Value>()
        read = { last.note(try store.decode(Value.self, forKey: key)) }
        write = { value in
            _ = try store.encode(value, at: [.key(key)], from: last.value)
            _ = last.note(value)
        }
    }

    /// A property kept under `key` that is nil while the key is absent; setting it to nil removes the key.
    public init(_ key: String, in store: DefaultsStore) where Value: ExpressibleByNilLiteral {
        self.init(wrappedValue: nil, key, in: store)
    }

    /// A part of the value that is kept under `key`. A set changes that part, and begins with `defaults` where the key is
    /// absent.
    public init<Root: Codable & Sendable>(
        _ part: any WritableKeyPath<Root, Value> & Sendable, of defaults: Root, _ key: String, in store: DefaultsStore
    ) {
        self.key = key
        self.store = store
        defaultValue = defaults[keyPath: part]
        read = { try store.decode(Root.self, forKey: key)?[keyPath: part] }
        write = { value in
            let old = try store.decode(Root.self, forKey: key)
            var new = old ?? defaults
            new[keyPath: part] = value
            _ = try store.encode(new, at: [.key(key)], from: old)
        }
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
    public func reset() throws { _ = try store.remove(at: [.key(key)]) }
}
