public import DefaultsStorage
internal import Glibc
internal import PropertyLists
internal import Synchronization

extension DefaultsStore {
    /// The changes of a scope, of this process and of others, from now on, for as long as they are iterated over.
    ///
    /// One plain thread for each sequence waits for them; it ends with the iteration or when the store is closed.
    public func changes(of scope: DefaultsScope) throws -> AsyncStream<DefaultsChange> {
        try changes { try watch(scope, $0) }
    }

    /// As ``changes(of:)``, with the values told as they are stored, and the schema's defaults in them: also those that
    /// are not of their type.
    public func storedChanges(of scope: DefaultsScope) throws -> AsyncStream<DefaultsChange> {
        try changes { try watchStored(scope, $0) }
    }

    private func changes(
        _ watch: (@escaping @Sendable (DefaultsChange) -> Void) throws -> DefaultsWatch
    ) throws -> AsyncStream<DefaultsChange> {
        let (stream, continuation) = AsyncStream.makeStream(of: DefaultsChange.self)
        let watch = try watch { continuation.yield($0) }
        let pump = try ChangePump(self, continuation)
        continuation.onTermination = { _ in
            watch.cancel()
            pump.stop()
        }
        pump.start()
        return stream
    }

    /// The values of a key as a Swift type: the present one, then each that it changes to; nil while it is absent.
    ///
    /// Only the iteration throws: a store that cannot be watched, and a value that does not fit the type, end the
    /// sequence with the error.
    ///
    /// ```swift
    /// for try await volume in store.values(Int.self, forKey: "volume") {
    ///     print(volume ?? 7)
    ///     break
    /// }
    /// ```
    public func values<Value: Decodable & Sendable>(
        _ type: Value.Type = Value.self, forKey key: String
    ) -> AsyncThrowingStream<Value?, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: Value?.self)
        // Watched from here on, not from when the task begins.
        let watched = Result { try storedChanges(of: .value([.key(key)])) }
        let task = Task {
            do {
                let changes = try watched.get()
                continuation.yield(try decode(type, forKey: key))
                for await _ in changes { continuation.yield(try decode(type, forKey: key)) }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}

/// A thread that pumps a store whenever its descriptor says so.
///
/// It holds the store only while it pumps, and looks every 200 ms whether the store is still there.
private final class ChangePump: Sendable {
    private weak let store: DefaultsStore?
    private let continuation: AsyncStream<DefaultsChange>.Continuation
    private let descriptor: Int32
    private let isStopped = Atomic(false)

    init(_ store: DefaultsStore, _ continuation: AsyncStream<DefaultsChange>.Continuation) throws {
        self.store = store
        self.continuation = continuation
        // A copy of its own: the store's number may mean another file once it is closed.
        descriptor = fcntl(try store.watchDescriptor(), F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else {
            throw DefaultsError(.io, "No descriptor is left to watch the store with", errno: errno)
        }
    }

    deinit { close(descriptor) }

    func stop() { isStopped.store(true, ordering: .relaxed) }

    func start() {
        if !BackgroundThread.start({ self.run() }) { continuation.finish() }
    }

    private func run() {
        while !isStopped.load(ordering: .relaxed) {
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            // The store may go or be closed without a wake-up.
            poll(&entry, 1, 200)
            guard let store else { break }
            do {
                _ = try store.pump()
            } catch let error where error.code == .closed {
                break
            } catch {
                // The file cannot be read just now: the next change of it is another chance.
                usleep(50_000)
            }
        }
        continuation.finish()
    }
}
