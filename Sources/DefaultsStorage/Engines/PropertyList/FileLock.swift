internal import CKVSystem
internal import Glibc
internal import PropertyLists

/// A lock between processes: a file beside the store's, locked with flock. See ``Kind``.
///
/// Never the data file, which rename swaps; never fcntl's locks, which any close drops; we never unlink the lock file,
/// since two processes could then hold two locks, and see it where another program has. A killed holder's lock goes
/// with it.
struct FileLock {
    enum Kind: String {
        /// Held by one process while it writes the store's file.
        case writing = ".lock"
        /// Shared by all processes that have a database open, each of its connections by a lock of its own.
        case open = ".open"
    }

    private let descriptor: FileDescriptor
    private let folder: StoreFolder
    private let kind: Kind

    /// Takes the lock; `waited` says whether another process had it.
    static func acquire(
        _ folder: StoreFolder, _ kind: Kind = .writing, until deadline: Deadline
    ) throws(DefaultsError) -> (lock: FileLock, waited: Bool) {
        var waited = false
        for _ in 0..<100 {
            guard let file = try open(kind, folder) else { continue }
            let lock = FileLock(descriptor: file, folder: folder, kind: kind)
            do throws(DefaultsError) {
                if try lock.wait(until: deadline) { waited = true }
                // Where it was removed meanwhile, another process may hold the one that has its name now.
                if try lock.isNamed { return (lock, waited) }
            } catch {
                lock.release()
                throw error
            }
            lock.release()
        }
        throw DefaultsError(.io, "The lock file is removed again and again", file: folder.path(of: name(kind, folder)))
    }

    /// Makes a shared lock exclusive without waiting. Returns false, and the lock is lost, if another process shares it.
    func becomeExclusive() -> Bool {
        flock(descriptor.number, LOCK_EX | LOCK_NB) == 0 && (try? isNamed) == true
    }

    /// Whether the lock file still has its name. Where it does not, other processes lock another one.
    var isNamed: Bool {
        get throws(DefaultsError) {
            let (own, named) = (try descriptor.status(), try folder.status(of: Self.name(kind, folder)))
            return named.map { $0.st_dev == own.st_dev && $0.st_ino == own.st_ino } ?? false
        }
    }

    /// Unlocks and closes the file: by a call of its own, since a child process that was made without fork's handlers
    /// may have it open as well.
    func release() {
        flock(descriptor.number, LOCK_UN)
        abandon()
    }

    /// Closes the file, in a child process, whose parent keeps the lock.
    func abandon() { OpenLocks.shared.close(descriptor) }

    /// The note that the last commit left.
    var note: ExchangeNote? { ExchangeNote(descriptor.beginning(512)) }

    func leave(_ note: ExchangeNote) throws(DefaultsError) { try descriptor.write(note.bytes, fromStart: true) }

    /// Whether there is a lock file, which a program that only reads does not make.
    static func exists(_ folder: StoreFolder, _ kind: Kind) -> Bool {
        (try? folder.status(of: name(kind, folder))) != nil
    }

    private static func name(_ kind: Kind, _ folder: StoreFolder) -> String {
        "." + folder.fileName + kind.rawValue
    }

    /// Opens the lock file, or makes it; nil where another process made it in the same moment.
    private static func open(_ kind: Kind, _ folder: StoreFolder) throws(DefaultsError) -> FileDescriptor? {
        let name = name(kind, folder)
        if let file = try OpenLocks.shared.open(name, in: folder, O_RDWR) {
            return try checked(file) { () throws(DefaultsError) in try checkOwner(file, folder) }
        }
        do throws(DefaultsError) {
            guard let file = try OpenLocks.shared.open(name, in: folder, O_RDWR | O_CREAT | O_EXCL) else { return nil }
            return try checked(file) { () throws(DefaultsError) in try handOver(file, folder) }
        } catch {
            if error.errno == EEXIST { return nil }
            throw error
        }
    }

    /// The lock file, after `check`; closed if that fails.
    private static func checked(
        _ file: FileDescriptor, _ check: () throws(DefaultsError) -> Void
    ) throws(DefaultsError) -> FileDescriptor {
        do throws(DefaultsError) {
            try check()
            return file
        } catch {
            OpenLocks.shared.close(file)
            throw error
        }
    }

    /// A stranger who made the lock file could keep it locked for ever.
    private static func checkOwner(_ file: FileDescriptor, _ folder: StoreFolder) throws(DefaultsError) {
        let owner = try file.status().st_uid
        if owner == 0 || owner == geteuid() { return }
        if try owner == folder.descriptor.status().st_uid { return }
        if try owner == folder.status(of: folder.fileName)?.st_uid { return }
        throw DefaultsError(
            .unsafeLocation, "The lock file must be owned by the current user or root; it is owned by uid \(owner)",
            file: file.path)
    }

    /// Gives a lock file that root makes to the owner of the store's file, or of its folder: a program that is run as
    /// root once would keep the user from ever writing again.
    private static func handOver(_ file: FileDescriptor, _ folder: StoreFolder) throws(DefaultsError) {
        guard geteuid() == 0 else { return }
        let stored = try folder.status(of: folder.fileName)
        let folderStatus = try folder.descriptor.status()
        let owner = stored ?? folderStatus
        _ = fchown(file.number, owner.st_uid, owner.st_gid)
    }

    /// Waits for the lock; says whether another process had it.
    ///
    /// By looking again and again, since flock itself knows no deadline. The pause grows from 1 to 50 milliseconds, and is
    /// random: those that wait must not keep the holder from its work.
    private func wait(until deadline: Deadline) throws(DefaultsError) -> Bool {
        var pause: Int64 = 1_000_000
        var waited = false
        var interruptions = Interruptions()
        let operation = kind == .writing ? LOCK_EX : LOCK_SH
        while flock(descriptor.number, operation | LOCK_NB) != 0 {
            if interruptions.shouldRetry(errno) { continue }
            guard errno == EWOULDBLOCK else { throw DefaultsError.system("flock", errno, file: descriptor.path) }
            guard !deadline.hasPassed else {
                throw DefaultsError(.timedOut, "Another process kept the store locked", file: folder.path)
            }
            waited = true
            deadline.sleep(.nanoseconds(Int64.random(in: pause / 2...pause)))
            pause = min(pause * 2, 50_000_000)
        }
        return waited
    }
}

// MARK: - The open lock files and databases

/// The lock files that this process has open, and its databases. A child closes the lock files, whatever its parent's threads were doing with them:
/// a child that outlives its parent would keep the lock for ever.
///
/// `@unchecked Sendable`: the state is guarded by `lock`, which is held across an open and a close, so that no fork
/// comes between one and its being noted.
final class OpenLocks: @unchecked Sendable {
    static let shared = OpenLocks()

    let lock = Lock()
    private var numbers: Set<Int32> = []
    /// The databases that this process has open, each once for each of its connections. Nothing else may open them: any
    /// close of a second descriptor drops all of SQLite's locks.
    private var databases: [FileIdentity] = []

    /// Opens a lock file, or makes it; nil where there is none and none is to be made.
    fileprivate func open(_ name: String, in folder: StoreFolder, _ flags: Int32) throws(DefaultsError)
        -> FileDescriptor?
    {
        try lock.withLock { () throws(DefaultsError) in
            let file = try folder.openFile(name, flags, mode: 0o600)
            if let file { numbers.insert(file.number) }
            return file
        }
    }

    fileprivate func close(_ file: FileDescriptor) {
        lock.withLock {
            numbers.remove(file.number)
            file.abandon()
        }
    }

    func add(_ database: FileIdentity) { lock.withLock { databases.append(database) } }

    func remove(_ database: FileIdentity) {
        lock.withLock {
            if let index = databases.firstIndex(of: database) { databases.remove(at: index) }
        }
    }

    /// Throws if the store's file is a database that this process has open.
    func checkIsNoDatabase(_ folder: StoreFolder) throws(DefaultsError) {
        guard let file = try folder.identity(of: folder.fileName), lock.withLock({ databases.contains(file) }) else {
            return
        }
        throw DefaultsError(
            .misuse, "The file is a database that this program has open: read it through its store", file: folder.path)
    }

    /// In a child process.
    func resetAfterFork() {
        lock.resetAfterFork()
        databases = []
        for number in numbers { Glibc.close(number) }
        numbers = []
    }
}
