internal import Glibc
internal import PropertyLists

/// The domains that are open in this process: one for each file, however many handles it has.
///
/// `@unchecked Sendable`: the state is guarded by `lock`.
final class DomainRegistry: @unchecked Sendable {
    static let shared = DomainRegistry()

    /// A file's name and the folder that it is in, whatever path led there.
    struct Key: Hashable {
        var device: UInt
        var inode: UInt
        /// In UTF-8: Swift takes strings for equal whose bytes, and so files, are not.
        var name: [UInt8]
        var isReadOnly: Bool
    }

    private struct Entry {
        weak var domain: Domain?
    }

    let lock = Lock()
    private var entries: [Key: Entry] = [:]
    private var memories: [Entry] = []
    private var hasForkHandlers = false

    /// The domain of `key`, made by `make` unless there is one.
    func domain(
        _ key: Key, make: () throws(DefaultsError) -> Domain
    ) throws(DefaultsError) -> Domain {
        try lock.withLock { () throws(DefaultsError) in
            if let domain = entries[key]?.domain { return domain }
            // A handle that only reads shares the domain that writes, and so sees changes that are not written yet.
            var writable = key
            writable.isReadOnly = false
            if let domain = entries[writable]?.domain { return domain }
            installForkHandlers()
            let domain = try make()
            entries = entries.filter { $0.value.domain != nil }
            entries[key] = Entry(domain: domain)
            return domain
        }
    }

    /// Registers a domain in memory, which no other handle can reach, for forks and the exit.
    func add(_ domain: Domain) {
        lock.withLock {
            installForkHandlers()
            memories.removeAll { $0.domain == nil }
            memories.append(Entry(domain: domain))
        }
    }

    private var all: [Domain] { entries.values.compactMap(\.domain) + memories.compactMap(\.domain) }

    /// Every domain that is alive.
    var openDomains: [Domain] { lock.withLock { all } }

    // MARK: - Fork

    private func installForkHandlers() {
        guard !hasForkHandlers else { return }
        hasForkHandlers = true
        // The handler of this lock is installed first, and so locks last: nothing else is locked under it.
        _ = Lock.shared
        pthread_atfork(
            { DomainRegistry.shared.prepareFork() }, { DomainRegistry.shared.resumeParent() },
            { DomainRegistry.shared.resumeChild() })
    }

    /// The domains that are held while the process forks. Guarded by `lock`, which is held then.
    private var held: [(domain: Domain, tookWriterLock: Bool)] = []

    /// Takes the locks of all domains, so that no thread is writing or holds one while the process is copied.
    private func prepareFork() {
        lock.lock()
        for domain in all {
            // A transaction of this very thread goes on in the parent; one of another thread is waited for, but not for
            // ever. In the child the lock's descriptor is closed, and the transaction over.
            let tookWriterLock =
                !domain.writerLock.isHeldByThisThread && domain.writerLock.acquire(until: .after(.seconds(10)))
            if tookWriterLock { domain.engine.prepareFork() }
            domain.lock.lock()
            held.append((domain, tookWriterLock))
        }
        Flusher.shared.lock.lock()
    }

    private func resumeParent() {
        Flusher.shared.lock.unlock()
        for (domain, tookWriterLock) in held {
            domain.lock.unlock()
            if tookWriterLock { domain.writerLock.release() }
        }
        held = []
        lock.unlock()
    }

    private func resumeChild() {
        Flusher.shared.resetAfterFork()
        for (domain, _) in held {
            domain.lock.resetAfterFork()
            domain.writerLock.resetAfterFork()
            domain.resumeInChild()
        }
        held = []
        lock.resetAfterFork()
    }
}

extension Domain {
    /// In a child process: changes that wait for their flush are the parent's to write. The child sees them until it
    /// looks at the file again.
    fileprivate func resumeInChild() {
        engine.resetAfterFork()
        let inherited = committed ?? Delta()
        for delta in [committing, delta] {
            if let delta { try? inherited.absorb(above: delta) }
        }
        committed = inherited.isEmpty ? nil : inherited
        stored += committingGrowth + growth
        committingGrowth = FileSize()
        growth = FileSize()
        committing = nil
        delta = Delta()
        // An open transaction ends here: its lock is the parent's.
        open = nil
        isScheduled = false
        owesWriting = false
        isInDoubt = false
        hasForked = engine.isShared
    }
}
