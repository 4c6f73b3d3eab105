internal import Glibc
internal import PropertyLists

/// Threads of the library's own, which run until they return.
///
/// `@unchecked Sendable`: the state is guarded by `lock`.
final class BackgroundThread: @unchecked Sendable {
    private static let shared = BackgroundThread()

    private let lock = Lock()
    /// What threads that were made are to run, each of them one.
    private var bodies: [@Sendable () -> Void] = []

    /// Runs `body` on a thread of its own; false where the system gives none, as under a limit on processes.
    static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        shared.lock.withLock {
            shared.bodies.append(body)
            if shared.make() { return true }
            shared.bodies.removeLast()
            return false
        }
    }

    private func make() -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // The host's signal handlers are for the host's threads.
        var all = sigset_t()
        var old = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &old)
        var thread = pthread_t()
        let isMade =
            pthread_create(
                &thread, &attributes,
                { _ in
                    BackgroundThread.shared.run()
                    return nil
                }, nil) == 0
        pthread_sigmask(SIG_SETMASK, &old, nil)
        pthread_attr_destroy(&attributes)
        return isMade
    }

    private func run() {
        let body = lock.withLock { bodies.isEmpty ? nil : bodies.removeFirst() }
        body?()
    }

    static func prepareFork() { shared.lock.lock() }

    static func resumeParent() { shared.lock.unlock() }

    static func resetAfterFork() {
        shared.lock.resetAfterFork()
        shared.bodies = []
    }
}
