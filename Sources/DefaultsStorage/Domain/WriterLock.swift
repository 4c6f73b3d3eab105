internal import CKVSystem
internal import PropertyLists

/// The right to commit to a domain, which one thread of a process holds at a time.
///
/// Not a mutex, since a transaction may be ended by another thread than the one that began it (a script's state that
/// is closed elsewhere), and since waiting has a deadline.
///
/// `@unchecked Sendable`: `lock` guards the holder.
final class WriterLock: @unchecked Sendable {
    private let lock = Lock()
    private let freed = Condition()
    /// The thread that took the lock.
    private var holder: UInt64?
    /// What that thread's own shield against `pthread_cancel` was: a thread that is cancelled would keep the lock.
    private var shield = CancellationShield()

    /// Whether the calling thread took the lock.
    var isHeldByThisThread: Bool { lock.withLock { holder == cs_thread_number() } }

    /// Takes the lock; false when the deadline passes first.
    func acquire(until deadline: Deadline) -> Bool {
        let shield = CancellationShield.raised()
        let isAcquired = lock.withLock {
            while holder != nil {
                if deadline.hasPassed { return false }
                freed.wait(lock, until: deadline)
            }
            holder = cs_thread_number()
            self.shield = shield
            return true
        }
        if !isAcquired { shield.lower() }
        return isAcquired
    }

    func release() {
        let shield = lock.withLock {
            let isOwn = holder == cs_thread_number()
            holder = nil
            freed.signal()
            return isOwn ? self.shield : nil
        }
        shield?.lower()
    }

    /// Frees the lock in a child process.
    func resetAfterFork() {
        lock.resetAfterFork()
        freed.resetAfterFork()
        holder = nil
    }
}
