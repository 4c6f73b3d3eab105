internal import Glibc
internal import PropertyLists

/// A condition of a ``Lock``, waited for by the monotonic clock.
///
/// `@unchecked Sendable`: POSIX conditions are for several threads, and the address never changes.
final class Condition: @unchecked Sendable {
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() { resetAfterFork() }

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

    /// Wakes all that wait.
    func broadcast() { pthread_cond_broadcast(condition) }

    /// Waits with `lock` let go of. May return without a signal: look again.
    func wait(_ lock: borrowing Lock) { pthread_cond_wait(condition, lock.mutex) }

    /// As `wait`, but not past the deadline.
    func wait(_ lock: borrowing Lock, until deadline: Deadline) {
        var time = deadline.timespec
        pthread_cond_timedwait(condition, lock.mutex, &time)
    }
}
