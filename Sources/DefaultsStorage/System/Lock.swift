internal import Glibc

/// A mutex.
///
/// On pthread's own mutex, which ThreadSanitizer understands. The memory stands at one address for the lock's life,
/// which is what makes it sound; `@unchecked Sendable` because that is a mutex's purpose.
final class Lock: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    @inline(__always) func lock() { pthread_mutex_lock(mutex) }
    @inline(__always) func unlock() { pthread_mutex_unlock(mutex) }

    /// Makes the lock new in a child process, where the thread that held it may not exist.
    func resetAfterFork() { pthread_mutex_init(mutex, nil) }

    @inline(__always)
    func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }

    fileprivate func wait(for condition: UnsafeMutablePointer<pthread_cond_t>) {
        pthread_cond_wait(condition, mutex)
    }

    fileprivate func wait(for condition: UnsafeMutablePointer<pthread_cond_t>, until deadline: Deadline) -> Bool {
        var time = deadline.timespec
        return pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT
    }
}

/// A condition of a ``Lock``, waited for by the clock that nobody sets.
final class Condition: @unchecked Sendable {
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        condition.initialize(to: pthread_cond_t())
        resetAfterFork()
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
    }

    func resetAfterFork() {
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    func signal() { pthread_cond_signal(condition) }

    /// Waits with `lock` let go of. May return without a signal: look again.
    func wait(_ lock: Lock) { lock.wait(for: condition) }

    /// As `wait`; false once the deadline has passed.
    func wait(_ lock: Lock, until deadline: Deadline) -> Bool {
        lock.wait(for: condition, until: deadline)
    }
}
