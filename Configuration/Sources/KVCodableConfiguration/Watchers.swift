internal import KVCodable
internal import Synchronization

/// The watchers of a provider, for which one thread waits together, as long as there are any.
///
/// The store's watch belongs to a handle of its own: waiting for changes calls the functions of a handle's watches, and
/// those of the program's are called where the program waits.
final class Watchers: Sendable {
    /// A watcher: woken when the store may have changed, and once at the beginning.
    struct Watcher: Sendable {
        fileprivate let number: Int
        fileprivate let wakeUps: AsyncStream<Void>
    }

    private struct State {
        var continuations: [Int: AsyncStream<Void>.Continuation] = [:]
        var added = 0
        var waiting: Task<Void, Never>?
    }

    private let store: DefaultsStore
    private let state = Mutex(State())

    init(of store: DefaultsStore) {
        self.store = store
    }

    /// A new watcher, to be removed in the end.
    func add() throws -> Watcher {
        // One wake-up is enough, however many changes there were: a watcher looks at the present values.
        let (wakeUps, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield()
        let number = try state.withLock { state in
            if state.waiting == nil { state.waiting = try wait() }
            state.added += 1
            state.continuations[state.added] = continuation
            return state.added
        }
        return Watcher(number: number, wakeUps: wakeUps)
    }

    func remove(_ watcher: Watcher) {
        let finished = state.withLock { state in
            state.continuations[watcher.number] = nil
            guard state.continuations.isEmpty else { return Task<Void, Never>?.none }
            defer { state.waiting = nil }
            return state.waiting
        }
        finished?.cancel()
    }

    /// Wakes the watchers at each change from now on.
    private func wait() throws -> Task<Void, Never> {
        let handle = try store.anotherHandle(.readOnly)
        let changes = try handle.storedChanges(of: .everything)
        return Task {
            for await _ in changes { wake() }
            // The changes come for as long as a caller holds the handle.
            withExtendedLifetime(handle) {}
        }
    }

    private func wake() {
        let continuations = state.withLock { Array($0.continuations.values) }
        for continuation in continuations { continuation.yield() }
    }
}

extension Watchers.Watcher {
    /// The result of `read` at the beginning, and whenever it is another one.
    func updates<Value: Sendable>(
        areEqual: @escaping @Sendable (Value, Value) -> Bool, _ read: @escaping @Sendable () -> Value
    ) -> some AsyncSequence<Value, Never> & Sendable {
        let last = Mutex<Value?>(nil)
        return wakeUps.compactMap { _ in
            let value = read()
            return last.withLock { last in
                if let old = last, areEqual(old, value) { return nil }
                last = value
                return value
            }
        }
    }
}
