#if canImport(Glibc)
package import Glibc
#elseif canImport(Musl)
package import Musl
#elseif canImport(Darwin)
package import Darwin
#endif

/// A mutex, not recursive: the only kind of lock in the library.
///
/// On pthread's own mutex, which ThreadSanitizer understands, and which a child process can make new. The memory stands
/// at one address for the lock's life, which is what makes it sound; `@unchecked Sendable` because that is a mutex's
/// purpose.
package final class Lock: @unchecked Sendable {
    /// For conditions.
    package let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    package init() { pthread_mutex_init(mutex, nil) }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    package func lock() { pthread_mutex_lock(mutex) }
    package func unlock() { pthread_mutex_unlock(mutex) }

    /// Makes the lock new in a child process, where the thread that held it may not exist.
    package func resetAfterFork() { pthread_mutex_init(mutex, nil) }

    @inlinable @inline(__always)
    package func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}

extension Lock {
    /// The lock of what the library remembers: what documents were found to hold, plans and names of types.
    ///
    /// It is held for a few instructions. Under it nothing else is locked and no code of a program runs, not even
    /// that of an object that goes: what is replaced is let go of after the lock. So a process can fork while this
    /// lock is held by the forking thread, and the child finds all that it guards whole.
    package static let shared: Lock = {
        let lock = Lock()
        // Who locks something else while this lock is taken asks for it before, so that this handler runs last.
        pthread_atfork({ Lock.shared.lock() }, { Lock.shared.unlock() }, { Lock.shared.resetAfterFork() })
        return lock
    }()
}
