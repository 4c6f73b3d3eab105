internal import Glibc

/// A lock for what hardly ever waits. Not recursive. The room of stores has its own, which conditions and forks use:
/// neither room imports the other, and what both import has nothing to lock.
///
/// A `pthread_mutex_t`, which ThreadSanitizer understands. `@unchecked Sendable`: the mutex's memory never moves, and
/// pthreads say that it may be used from every thread.
final class TypeLock: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body()
    }
}
