internal import Glibc
internal import PropertyLists

/// What one of a process's threads at a time may hold: the right to commit to a domain.
///
/// Not a mutex, since a transaction may be ended by another thread than the one that began it (a script's state that
/// is closed elsewhere), and since waiting has a deadline.
final class Gate: @unchecked Sendable {
    private let lock = Lock()
    private let opened = Condition()
    private var holder: pthread_t?
    private var holderIsHere: Bool { holder.map { pthread_equal($0, pthread_self()) != 0 } ?? false }

    /// Whether the calling thread is the one that took it.
    var isHeldByThisThread: Bool { lock.withLock { holderIsHere } }

    /// Takes the gate; false when the deadline passes first.
    func acquire(until deadline: Deadline) -> Bool {
        lock.withLock {
            while holder != nil {
                if deadline.hasPassed { return false }
                opened.wait(lock, until: deadline)
            }
            holder = pthread_self()
            return true
        }
    }

    func release() {
        lock.withLock {
            holder = nil
            opened.signal()
        }
    }

    /// Opens the gate in a child process.
    func resetAfterFork() {
        lock.resetAfterFork()
        opened.resetAfterFork()
        holder = nil
    }
}
