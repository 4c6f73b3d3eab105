public import DefaultsStorage
internal import PropertyLists
internal import Synchronization

/// A value kept under a key of a store, read over the program's defaults; `typed(_:forKey:defaults:)` gives it.
///
/// ```swift
/// struct Window: Codable { var width = 640, title: String? }
/// let window = store.typed(Window.self, forKey: "window", defaults: Window())
/// print(window.width)  // 640
/// window.width = 800  // stores the width alone
/// try window.update { $0.title = "Main" }
/// if let error = window.error() { print(error) }
/// ```
///
/// Members of the value are members of the view, and `value` is the whole. They cannot throw: where the stored value
/// does not fit the type, or the store cannot be read, they have their defaults, a write changes nothing, and ``error()``
/// gives the error. A copy is the same view. From any thread.
@dynamicMemberLookup public struct TypedView<Value: Codable & Sendable>: Sendable {
    /// The value while the key is absent; its members stand for those that are missing. Never stored as a whole.
    public let defaults: Value
    private let store: DefaultsStore
    private let path: PropertyListPath
    private let failure = LastFailure()
    private let last = Last()

    fileprivate init(_ store: DefaultsStore, _ path: PropertyListPath, _ defaults: Value) {
        (self.store, self.path, self.defaults) = (store, path, defaults)
    }

    /// The value that was read or set last.
    private final class Last: Sendable {
        private let content = Mutex<Value?>(nil)

        var value: Value? { content.withLock { $0 } }

        func note(_ value: Value) -> Value {
            // The old value is released after the lock.
            _ = content.withLock { content in
                defer { content = value }
                return content
            }
            return value
        }
    }

    /// The stored value over the defaults, decoded at each access. A set stores what differs from the value that was read
    /// or set last, and keeps the keys that the type does not know, as `encode(_:forKey:)`.
    public var value: Value {
        get { failure.noting(read) ?? defaults }
        nonmutating set { _ = failure.noting { try write(newValue) } }
    }

    /// A member of the value.
    public subscript<Member>(dynamicMember part: KeyPath<Value, Member>) -> Member { value[keyPath: part] }

    /// A member of the value. A write stores what it changes, and nothing else.
    public subscript<Member>(dynamicMember part: WritableKeyPath<Value, Member>) -> Member {
        get { value[keyPath: part] }
        nonmutating set { _ = failure.noting { try write { $0[keyPath: part] = newValue } } }
    }

    /// Changes the value in a transaction, and stores what `change` has changed.
    ///
    /// - Throws: the error of `change`; `DecodingError` for a stored value that does not fit the type, `EncodingError`,
    ///   and ``/DefaultsStorage/DefaultsError`` of the store. Nothing is changed then.
    public func update(_ change: (inout Value) throws -> Void) throws {
        _ = last.note(try store.transaction { transaction in try write(in: transaction, change) })
    }

    /// The error of the last read or write of the value or a member; nil if there was none.
    public func error() -> (any Error)? { failure.error }

    /// Removes the key, so that the value is the defaults.
    public func reset() throws { _ = try store.reset(at: path) }

    func read() throws -> Value { last.note(try store.decode(at: path, defaults: defaults)) }

    func write(_ value: Value) throws {
        // A stored value that does not decode is no ancestor.
        let had = last.value ?? (try? read())
        _ = try store.encode(value, at: path, from: had, over: defaults)
        _ = last.note(value)
    }

    func write(_ change: (inout Value) throws -> Void) throws { _ = last.note(try write(in: store, change)) }

    private func write(
        in storage: some PropertyListStorage, _ change: (inout Value) throws -> Void
    ) throws -> Value {
        let old = try storage.decode(Value.self, at: path, defaults: defaults)
        var new = old
        try change(&new)
        _ = try storage.encode(new, at: path, from: old, over: defaults)
        return new
    }
}

extension DefaultsStore {
    /// A view of the value of a key, read over `defaults`. Keeps the store alive; nothing is read before a member is.
    public func typed<Value: Codable & Sendable>(
        _ type: Value.Type = Value.self, forKey key: String, defaults: Value
    ) -> TypedView<Value> {
        TypedView(self, [.key(key)], defaults)
    }
}
