#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#elseif canImport(Darwin)
package import Darwin
#endif

/// A mutex, not recursive: the only kind of lock in the shared library. It belongs to one object and is never copied,
/// so that taking it counts no reference.
///
/// On pthread's own mutex, which ThreadSanitizer understands, and which a child process can make new. It is sound since
/// the memory keeps one address for the lock's life; `@unchecked Sendable`, since use from several threads is a mutex's
/// purpose.
@usableFromInline package struct Lock: ~Copyable, @unchecked Sendable {
    /// The mutex itself, which conditions need.
    package let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    package init() { pthread_mutex_init(mutex, nil) }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    @usableFromInline package func lock() { pthread_mutex_lock(mutex) }
    @usableFromInline package func unlock() { pthread_mutex_unlock(mutex) }

    /// Makes the lock new in a child process, where the thread that held it may not exist.
    package func resetAfterFork() { pthread_mutex_init(mutex, nil) }

    @inlinable
    package func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}

/// The thread that it was made on. A thread that ended may lend its identity to a later one.
package struct OwningThread {
    private let thread = pthread_self()

    package init() {}

    package var isCurrent: Bool { pthread_equal(thread, pthread_self()) != 0 }
}

extension Lock {
    /// The lock of the library's caches: findings about documents, plans and names of types.
    ///
    /// It is held for a few instructions. While it is held, no other lock is taken and no code of a program runs, not
    /// even a deinit: replaced objects are released after the lock. So a process can fork while the forking thread
    /// holds this lock, and the child finds everything that it guards whole.
    package static let shared: Lock = {
        let lock = Lock()
        // Code with a fork handler of its own uses this lock before it adds that: handlers that prepare a fork run in
        // reverse order, so that this one runs last.
        pthread_atfork({ Lock.shared.lock() }, { Lock.shared.unlock() }, { Lock.shared.resetAfterFork() })
        return lock
    }()
}
