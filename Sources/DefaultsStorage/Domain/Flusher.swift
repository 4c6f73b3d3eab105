internal import Glibc
internal import PropertyLists

/// Writes coalesced changes at most 100 milliseconds after they were made, and the rest at the program's exit.
///
/// Its threads write one store of each folder at a time: a slow disk delays its own stores only. The first change starts
/// a thread. Another one is started when a thread goes to work, if a store in another folder waits.
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
    /// Threads that wait for a task.
    private var idle = 0
    private var hasExitHandler = false
    /// True after ``flushAtExit()``. A later change, made by an older exit handler, is written before its call returns.
    private var isLeaving = false
    /// The domains that the threads are writing, in a folder each.
    private var current: [Domain] = []

    /// The maximum wait for one store's lock while other stores wait for their turn.
    private static let turn = Duration.milliseconds(2)
    private static let delay = Duration.milliseconds(90)
    private static let retryDelay = Duration.seconds(1)
    private static let patience = Duration.seconds(10)
    /// How long the exit waits for flushes that are under way.
    private static let slowness = Duration.seconds(60)
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
            handleExit()
            awake.broadcast()
            return idle > 0 || !isReady(domain) || startThread()
        }
    }

    /// Installs the exit handler, which calls ``Domain/keepUnsaved()``.
    func attendExit() { lock.withLock { handleExit() } }

    private func handleExit() {
        guard !hasExitHandler else { return }
        hasExitHandler = true
        atexit { Flusher.shared.leave() }
    }

    private func startThread() -> Bool {
        idle += 1
        if BackgroundThread.start({ self.run() }) { return true }
        idle -= 1
        return false
    }

    /// Whether no thread writes in the domain's folder, nor are too many at work.
    private func isReady(_ domain: Domain) -> Bool {
        current.count < Self.mostThreads && !current.contains { $0.home == domain.home }
    }

    private static let mostThreads = 8

    private func run() {
        while let task = next() {
            if let error = flush(task.domain, until: .after(Self.turn)) { keep(task, after: error) }
            // Not earlier: the exit must find a domain here or among the tasks until it is written.
            lock.withLock {
                current.removeAll { $0 === task.domain }
                idle += 1
                awake.broadcast()
            }
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

    /// The next task; nil where another thread waits for it.
    private func next() -> Task? {
        lock.lock()
        defer { lock.unlock() }
        while true {
            if idle > 1 {
                idle -= 1
                return nil
            }
            let ready = tasks.indices.filter { isReady(tasks[$0].domain) }
            guard let index = ready.min(by: { tasks[$0].due < tasks[$1].due }) else {
                awake.wait(lock)
                continue
            }
            if tasks[index].due.hasPassed {
                let task = tasks.remove(at: index)
                current.append(task.domain)
                idle -= 1
                if tasks.contains(where: { isReady($0.domain) }) { _ = startThread() }
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
        let domains = lock.withLock { () -> [Domain] in
            let written = current
            // A slow disk may take longer than any deadline of a lock.
            let deadline = Deadline.after(Self.slowness)
            while !current.isEmpty, !deadline.hasPassed { awake.wait(lock, until: deadline) }
            // What was being written may have new changes.
            return tasks.map { $0.domain } + written.filter { one in !tasks.contains { $0.domain === one } }
        }
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
        current = []
        idle = 0
    }
}
