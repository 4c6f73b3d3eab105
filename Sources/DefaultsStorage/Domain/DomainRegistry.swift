internal import CKVSystem
internal import Glibc
internal import PropertyLists

/// The domains that are open in this process: one for each file, however many handles it has.
///
/// `@unchecked Sendable`: the state is guarded by `lock`.
final class DomainRegistry: @unchecked Sendable {
    static let shared = DomainRegistry()

    private struct Entry {
        weak var domain: Domain?
    }

    let lock = Lock()
    private var entries: [Entry] = []
    private var hasForkHandlers = false

    /// The domain of the file at a place, made by `make` unless there is one. Handles that read and that write share it.
    /// The caller loads it, which may take long, or finds it loaded.
    func domain(
        at place: FilePlace, make: () throws(DefaultsError) -> Domain
    ) throws(DefaultsError) -> Domain {
        if let domain = lock.withLock({ find(place) }) { return domain }
        let new = try make()
        return lock.withLock {
            if let domain = find(place) { return domain }
            register(new)
            return new
        }
    }

    private func find(_ place: FilePlace) -> Domain? {
        all.first { domain in domain.lock.withLock { domain.place == place } }
    }

    /// Registers a domain in memory, which no other handle can reach, for forks and the exit.
    func add(_ domain: Domain) { lock.withLock { register(domain) } }

    private func register(_ domain: Domain) {
        installForkHandlers()
        entries.removeAll { $0.domain == nil }
        entries.append(Entry(domain: domain))
    }

    private var all: [Domain] { entries.compactMap { $0.domain } }

    /// Every domain that is alive.
    var openDomains: [Domain] { lock.withLock { all } }

    // MARK: - Fork

    private func installForkHandlers() {
        guard !hasForkHandlers else { return }
        hasForkHandlers = true
        // The handler of this lock is installed first, and so locks last: nothing else is locked under it.
        Lock.shared.withLock {}
        pthread_atfork(
            { DomainRegistry.shared.prepareFork() }, { DomainRegistry.shared.resumeParent() },
            { DomainRegistry.shared.resumeChild() })
    }

    /// The state in which a domain is while the process forks.
    private enum Pause {
        /// No thread is at it, or the forking one alone: we hold its writer lock, or need not.
        case held
        case ownTransaction
        /// Another thread has a transaction open, or is in the middle of a call.
        case busy
    }

    /// The domains while the process forks. Guarded by `lock`, which is held then.
    private var paused: [(domain: Domain, pause: Pause)] = []
    /// In a child process: the engines that threads of the parent were using.
    private var abandoned: [any StorageEngine] = []

    func abandon(_ engine: any StorageEngine) { abandoned.append(engine) }

    /// Writes what waits for its flush, so that neither process can lose it. Then takes the locks of all domains, so that
    /// no thread is writing or holds one while the process is copied.
    ///
    /// A commit and a look at a file are waited for, half a second in all; a transaction of another thread is not, nor
    /// a longer step, such as waiting for another process's lock. The child begins anew with those.
    private func prepareFork() {
        let deadline = Deadline.after(.milliseconds(500))
        for domain in openDomains { domain.flushBeforeFork(until: deadline) }
        lock.lock()
        for domain in all {
            let pause = pause(domain, until: deadline)
            if pause == .held { domain.engine.prepareFork() }
            domain.lock.lock()
            paused.append((domain, pause))
        }
        Flusher.shared.lock.lock()
        WatchList.lock.lock()
        OpenLocks.shared.lock.lock()
        letOthersSettle()
    }

    /// The Swift runtime has locks of its own, which a thread holds where it is the first to need the metadata of a
    /// generic type, and which no child could free. A thread that is in the library comes to a lock that is held now,
    /// or leaves, within microseconds. Threads of the host that work on cannot be told from it, and cost the whole 10
    /// ms.
    private func letOthersSettle() { cs_wait_for_threads(10) }

    private func pause(_ domain: Domain, until deadline: Deadline) -> Pause {
        if domain.writerLock.isHeldByThisThread { return .ownTransaction }
        let isIdle = domain.lock.withLock { domain.open.map { !$0.isOneCall && !$0.isCommitting } ?? false }
        return domain.writerLock.acquire(until: isIdle ? .after(.zero) : deadline) ? .held : .busy
    }

    private func resumeParent() {
        OpenLocks.shared.lock.unlock()
        WatchList.lock.unlock()
        Flusher.shared.lock.unlock()
        for (domain, pause) in paused {
            domain.lock.unlock()
            if pause == .held { domain.writerLock.release() }
        }
        paused = []
        lock.unlock()
    }

    private func resumeChild() {
        WatchList.lock.resetAfterFork()
        Flusher.shared.resetAfterFork()
        OpenLocks.shared.resetAfterFork()
        for (domain, pause) in paused {
            domain.lock.resetAfterFork()
            domain.writerLock.resetAfterFork()
            domain.resumeInChild(wasBusy: pause == .busy)
        }
        paused = []
        lock.resetAfterFork()
    }
}

/// Where a file is, whatever path led there.
struct FilePlace: Equatable {
    let folder: StoreFolder
    private let numbers: FileIdentity?
    /// In UTF-8: Swift takes strings for equal whose bytes, and so files, are not.
    private let name: [UInt8]

    init(_ folder: StoreFolder) {
        self.folder = folder
        numbers = (try? folder.descriptor.status()).map { FileIdentity($0) }
        name = Array(folder.fileName.utf8)
    }

    static func == (left: FilePlace, right: FilePlace) -> Bool {
        left.numbers == right.numbers && left.name == right.name
    }
}

extension Domain {
    /// Before a fork: writes coalesced changes, unless this thread is in a transaction.
    fileprivate func flushBeforeFork(until deadline: Deadline) {
        let isDue = lock.withLock { mine.hasChanges && handles.durability != .manual && open == nil }
        if isDue { try? flush(until: deadline) }
    }

    /// In a child process: the changes that the parent had not written stay changes of both. Each writes them: they are
    /// values, and not steps.
    fileprivate func resumeInChild(wasBusy: Bool) {
        if wasBusy { replaceEngine() }
        engine.resetAfterFork()
        // An open transaction ends here: its lock is the parent's.
        open = nil
        isScheduled = false
        health = .good
    }
}
