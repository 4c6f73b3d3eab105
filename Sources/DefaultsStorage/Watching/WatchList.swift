internal import CKVSystem
internal import Glibc
internal import PropertyLists

/// The watches of one handle, and the descriptor that tells the program to pump them.
///
/// The descriptor is an epoll of an eventfd, written when this process changes the domain, and of a ``FileObserver``'s
/// inotify; where the system has no inotify left, of a timer that fires once a second. A timer that fires once joins
/// them where a look at the files was put off.
///
/// `@unchecked Sendable`: the state is guarded by `lock`; the descriptors' numbers never change.
final class WatchList: @unchecked Sendable {
    let descriptor: Int32
    let eventDescriptor: Int32
    private let wakeDescriptor: Int32
    private let retryDescriptor: Int32
    /// nil where the system has no inotify left.
    private var observer: FileObserver?
    /// Of all lists and watches, so that a fork can take it. Nothing else is locked under it, and nothing that a
    /// handler refers to is let go of.
    static let lock = Lock()
    private var entries: [Int: Watch] = [:]
    private var nextNumber = 0
    /// Whether a look at the files was put off. True at first for files: a file may have changed before it was observed.
    private var mustLook: Bool
    /// The process that the descriptors belong to: a child has to make its own.
    private var process = getpid()

    init(_ files: [WatchedFile]) throws(DefaultsError) {
        mustLook = !files.isEmpty
        descriptor = cs_epoll_open()
        eventDescriptor = cs_eventfd_open()
        retryDescriptor = cs_timer_open(0)
        observer = FileObserver(files)
        wakeDescriptor = observer?.descriptor ?? cs_timer_open(1)
        guard descriptor >= 0, eventDescriptor >= 0, wakeDescriptor >= 0, retryDescriptor >= 0 else {
            throw DefaultsError.system("epoll_create", errno, file: files.first?.folder.path)
        }
        join()
        var one: UInt64 = 1
        if mustLook { _ = write(eventDescriptor, &one, 8) }
    }

    deinit { for number in descriptors where number >= 0 { Glibc.close(number) } }

    private var descriptors: [Int32] { [descriptor, eventDescriptor, wakeDescriptor, retryDescriptor] }

    private func join() {
        for number in descriptors.dropFirst() {
            var event = epoll_event()
            event.events = UInt32(EPOLLIN.rawValue)
            epoll_ctl(descriptor, EPOLL_CTL_ADD, number, &event)
        }
    }

    var identity: ObjectIdentifier { ObjectIdentifier(self) }

    var watches: [Watch] { Self.lock.withLock { entries.sorted { $0.key < $1.key }.map(\.value) } }

    func add(_ watch: Watch) -> Int {
        Self.lock.withLock {
            nextNumber += 1
            entries[nextNumber] = watch
            return nextNumber
        }
    }

    func remove(_ number: Int) { _ = Self.lock.withLock { entries.removeValue(forKey: number) } }

    func removeAll() {
        _ = Self.lock.withLock {
            defer { entries = [:] }
            return entries
        }
    }

    /// Empties the wake-up; says whether one of the stores' files may have changed.
    ///
    /// - Parameter files: where the files are now, in the order of the first ones.
    func takeWakeUp(_ files: [WatchedFile]) -> Bool {
        let shield = CancellationShield.raised()
        defer { shield.lower() }
        return Self.lock.withLock {
            if process != getpid() { return remakeInChild() }
            var buffer = [UInt8](repeating: 0, count: 8)
            _ = read(eventDescriptor, &buffer, 8)
            _ = read(retryDescriptor, &buffer, 8)
            defer { mustLook = false }
            guard observer != nil else { return read(wakeDescriptor, &buffer, 8) > 0 || mustLook }
            let mayHaveChanged = observer?.take(files) == true
            if observer?.isBlind == true { cs_timer_arm(retryDescriptor, 1000) }
            if observer?.isBehind == true { cs_timer_arm(retryDescriptor, 10) }
            return mayHaveChanged || mustLook
        }
    }

    /// Empties the wake-up that a look at the files has written: its changes are told now. One that asks for another
    /// look stays.
    func forgetWakeUp() {
        let shield = CancellationShield.raised()
        Self.lock.withLock {
            var number: UInt64 = 0
            if !mustLook { _ = read(eventDescriptor, &number, 8) }
        }
        shield.lower()
    }

    /// Has the next ``takeWakeUp()`` say that a file may have changed.
    ///
    /// - Parameter isSoon: whether the descriptor asks for it in a tenth of a second: nothing else may wake the
    ///   program.
    func lookAgain(isSoon: Bool) {
        Self.lock.withLock {
            mustLook = true
            if isSoon { cs_timer_arm(retryDescriptor, 100) }
        }
    }

    /// In a child process: puts descriptors of its own under the same numbers.
    private func remakeInChild() -> Bool {
        process = getpid()
        let fresh = [
            cs_epoll_open(), cs_eventfd_open(), observer == nil ? cs_timer_open(1) : cs_inotify_open(),
            cs_timer_open(0),
        ]
        for (new, old) in zip(fresh, descriptors) where new >= 0 {
            cs_replace_descriptor(new, old)
        }
        observer?.rearm()
        join()
        return true
    }
}
