internal import Glibc
internal import PropertyLists

/// Writes coalesced changes at most 100 milliseconds after they were made, and the rest at the program's exit. The first
/// change starts the flusher's thread.
///
/// `@unchecked Sendable`: the state is guarded by `lock`.
final class Flusher: @unchecked Sendable {
    static let shared = Flusher()

    private struct Task {
        let domain: Domain
        var due: Deadline
        /// The deadline for retrying a locked store before an event reports it.
        var patience: Deadline?
    }

    let lock = Lock()
    private let awake = Condition()
    private var tasks: [Task] = []
    private var hasThread = false
    private var hasExitHandler = false
    /// True after ``flushAtExit()``. A later change, made by an older exit handler, is written before its call returns.
    private var isLeaving = false
    /// The domain that the thread is writing. The exit waits for it.
    private var current: Domain?

    /// The maximum wait for one store's lock while other stores wait for their turn.
    private static let turn = Duration.milliseconds(2)
    private static let delay = Duration.milliseconds(90)
    private static let retryDelay = Duration.seconds(1)
    private static let patience = Duration.seconds(10)
    /// The pause before a locked store has its turn again.
    private static let pause = Duration.milliseconds(10)

    /// Schedules the domain for writing, and keeps it alive until then. If the thread cannot be started, as under a limit
    /// on processes, the domain is written before this returns.
    func schedule(_ domain: Domain) {
        if lock.withLock({ isLeaving }) { return leave(domain) }
        if schedule(domain, after: Self.delay) { return }
        if let error = flush(domain, until: .after(Self.turn)) {
            tell(error, domain)
            // The next change tries again.
            domain.lock.withLock { domain.isScheduled = false }
        } else {
            lock.withLock { tasks.removeAll { $0.domain === domain } }
        }
    }

    /// Schedules the domain again after a failed flush.
    func scheduleRetry(_ domain: Domain) {
        _ = schedule(domain, after: Self.retryDelay)
    }

    /// - Returns: false if there is no thread to write it.
    private func schedule(_ domain: Domain, after delay: Duration) -> Bool {
        let due = Deadline.after(delay)
        return lock.withLock {
            // One task for each domain, at the earlier of its times.
            if let index = tasks.firstIndex(where: { $0.domain === domain }) {
                tasks[index].due = .earlier(tasks[index].due, due)
            } else {
                tasks.append(Task(domain: domain, due: due))
            }
            if !hasThread { start() }
            handleExit()
            awake.signal()
            return hasThread
        }
    }

    /// Installs the exit handler, which calls ``Domain/keepUnsaved()``.
    func attendExit() { lock.withLock { handleExit() } }

    private func handleExit() {
        guard !hasExitHandler else { return }
        hasExitHandler = true
        atexit { Flusher.shared.leave() }
    }

    private func start() {
        hasThread = BackgroundThread.start { self.run() }
    }

    private func run() {
        while true {
            let task = next()
            if let error = flush(task.domain, until: .after(Self.turn)) { keep(task, after: error) }
            // Not earlier: the exit must find a domain here or among the tasks until it is written.
            lock.withLock { current = nil }
        }
    }

    private func keep(_ task: Task, after error: DefaultsError) {
        let patience = task.patience ?? .after(Self.patience)
        if error.code == .timedOut, !patience.hasPassed {
            tryAgain(Task(domain: task.domain, due: .after(Self.pause), patience: patience))
        } else {
            tell(error, task.domain)
            retry(task.domain)
        }
    }

    /// Puts the task behind the others: a store that is locked for long delays no other store.
    private func tryAgain(_ task: Task) {
        lock.withLock {
            // The domain may have been scheduled again in the meantime.
            tasks.removeAll { $0.domain === task.domain }
            tasks.append(task)
        }
    }

    private func next() -> Task {
        lock.lock()
        defer { lock.unlock() }
        while true {
            guard let index = tasks.indices.min(by: { tasks[$0].due < tasks[$1].due }) else {
                awake.wait(lock)
                continue
            }
            if tasks[index].due.hasPassed {
                let task = tasks.remove(at: index)
                current = task.domain
                return task
            }
            awake.wait(lock, until: tasks[index].due)
        }
    }

    private func flush(_ domain: Domain, until deadline: Deadline) -> DefaultsError? {
        do throws(DefaultsError) {
            try domain.flush(until: deadline)
            return nil
        } catch {
            return error
        }
    }

    private func tell(_ error: DefaultsError, _ domain: Domain) {
        if !domain.hasTold(error) { domain.tell(.flushFailed(error)) }
    }

    /// Schedules the domain again, and keeps it alive until then.
    func retry(_ domain: Domain) {
        // A store on a full disk is retried. A store that must not be written is not.
        if case .refusing = domain.lock.withLock({ domain.health }) { return }
        domain.lock.withLock { domain.isScheduled = true }
        scheduleRetry(domain)
    }

    private func leave() {
        flushAtExit()
        for domain in DomainRegistry.shared.openDomains {
            domain.abandonTransaction()
            domain.keepUnsaved()
            domain.letGo()
        }
    }

    /// Writes the pending changes. Later changes are written before their calls return.
    func flushAtExit() {
        // The domain that is being written may have new changes.
        let domains = lock.withLock { tasks.map(\.domain).filter { $0 !== current } + (current.map { [$0] } ?? []) }
        for domain in domains {
            // A program that exits in the middle of a transaction has not committed it.
            domain.abandonTransaction()
            if let error = flush(domain, until: .after(.seconds(2))) { domain.complainOfLoss(error) }
        }
        lock.withLock { isLeaving = true }
    }

    private func leave(_ domain: Domain) {
        if let error = flush(domain, until: .after(.seconds(2))) {
            domain.complainOfLoss(error)
            domain.keepUnsaved()
        }
        domain.lock.withLock { domain.isScheduled = false }
        domain.letGo()
    }

    /// In a child process: the thread is gone, and the pending changes belong to the parent.
    func resetAfterFork() {
        lock.resetAfterFork()
        awake.resetAfterFork()
        tasks = []
        current = nil
        hasThread = false
    }
}
