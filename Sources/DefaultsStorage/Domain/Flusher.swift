internal import CSystem
internal import Glibc
internal import PropertyLists

/// Writes coalesced changes, at most 100 milliseconds after they were made, on one plain thread that is started by the
/// first of them; and the rest of them at the program's exit.
///
/// `@unchecked Sendable`: the state is guarded by `lock`.
final class Flusher: @unchecked Sendable {
    static let shared = Flusher()

    private struct Task {
        let domain: Domain
        var due: Deadline
    }

    let lock = Lock()
    private let awake = Condition()
    private var tasks: [Task] = []
    private var hasThread = false
    private var hasExitHandler = false
    /// The domain that the thread writes now: at exit it is waited for.
    private var current: Domain?

    private static let delay = Duration.milliseconds(90)
    private static let retryDelay = Duration.seconds(1)

    /// Has the domain written soon. A domain is kept alive until it is.
    func schedule(_ domain: Domain) { schedule(domain, after: Self.delay) }

    /// Has the domain written in a while, after a flush that failed.
    func scheduleRetry(_ domain: Domain) { schedule(domain, after: Self.retryDelay) }

    private func schedule(_ domain: Domain, after delay: Duration) {
        let due = Deadline.after(delay)
        lock.withLock {
            // One task for each domain, at the earlier of its times.
            if let index = tasks.firstIndex(where: { $0.domain === domain }) {
                tasks[index].due = .earlier(tasks[index].due, due)
            } else {
                tasks.append(Task(domain: domain, due: due))
            }
            if !hasThread { start() }
            handleExit()
            awake.signal()
        }
    }

    /// Has ``Domain/keepUnsaved()`` called at the program's exit.
    func attendExit() { lock.withLock { handleExit() } }

    private func handleExit() {
        guard !hasExitHandler else { return }
        hasExitHandler = true
        atexit { Flusher.shared.flushAtExit() }
    }

    private func start() {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // The host's signal handlers are for the host's threads.
        var all = sigset_t()
        var old = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &old)
        var thread = pthread_t()
        hasThread =
            pthread_create(
                &thread, &attributes,
                { _ in
                    Flusher.shared.run()
                    return nil
                }, nil) == 0
        pthread_sigmask(SIG_SETMASK, &old, nil)
        pthread_attr_destroy(&attributes)
    }

    private func run() {
        while true {
            let domain = next()
            let failure = flush(domain)
            lock.withLock { current = nil }
            if failure != nil { retry(domain) }
        }
    }

    private func next() -> Domain {
        lock.lock()
        defer { lock.unlock() }
        while true {
            guard let index = tasks.indices.min(by: { tasks[$0].due < tasks[$1].due }) else {
                awake.wait(lock)
                continue
            }
            if tasks[index].due.hasPassed {
                let domain = tasks.remove(at: index).domain
                current = domain
                return domain
            }
            awake.wait(lock, until: tasks[index].due)
        }
    }

    private func flush(_ domain: Domain) -> DefaultsError? {
        do throws(DefaultsError) {
            try domain.flush(until: .after(.seconds(10)))
            return nil
        } catch {
            if !domain.hasTold(error) { domain.tell(.flushFailed(error)) }
            return error
        }
    }

    /// Keeps the domain, and has it written in a while.
    func retry(_ domain: Domain) {
        // A store that must not be written is not tried again and again; one on a full disk is.
        if domain.lock.withLock({ domain.refusal != nil }) { return }
        domain.lock.withLock { domain.isScheduled = true }
        scheduleRetry(domain)
    }

    private func flushAtExit() {
        let domains = lock.withLock { tasks.map(\.domain) + (current.map { [$0] } ?? []) }
        for domain in domains {
            // A program that leaves in the middle of a transaction has not committed it.
            domain.abandonTransaction()
            try? domain.flush(until: .after(.seconds(2)))
        }
        for domain in DomainRegistry.shared.openDomains { domain.keepUnsaved() }
    }

    /// In a child process: the thread is gone, and the waiting changes belong to the parent.
    func resetAfterFork() {
        lock.resetAfterFork()
        awake.resetAfterFork()
        tasks = []
        current = nil
        hasThread = false
    }
}
