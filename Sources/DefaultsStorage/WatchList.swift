internal import CSystem
internal import Glibc
internal import PropertyLists

/// One watch: what it looks at, whom it tells, and what it has told of.
///
/// `@unchecked Sendable`: `seen` is guarded by `lock`.
final class Watch: @unchecked Sendable {
    /// nil for a watch for events.
    let scope: DefaultsScope?
    private let handler: @Sendable (DefaultsChange) -> Void
    private let eventHandler: (@Sendable (DefaultsEvent) -> Void)?
    private let lock = Lock()
    private var seen: PropertyList?

    init(
        scope: DefaultsScope?, handler: @escaping @Sendable (DefaultsChange) -> Void,
        eventHandler: (@Sendable (DefaultsEvent) -> Void)? = nil, seen: PropertyList? = nil
    ) {
        self.scope = scope
        self.handler = handler
        self.eventHandler = eventHandler
        self.seen = seen
    }

    func tell(_ event: DefaultsEvent) -> Int {
        guard let eventHandler else { return 0 }
        eventHandler(event)
        return 1
    }

    /// Tells the differences between what was seen and `new`.
    func tell(of new: PropertyList?) -> Int {
        let old = lock.withLock {
            defer { seen = new }
            return seen
        }
        guard old != new else { return 0 }
        var changes: [DefaultsChange] = []
        switch scope {
        case .value(let path): changes = [DefaultsChange(path: path, old: old, new: new)]
        case .subtree(let path): Self.compare(old, new, at: path, into: &changes, depth: .max)
        case .everything: Self.compare(old, new, at: [], into: &changes, depth: 1)
        case nil: break
        }
        for change in changes { handler(change) }
        return changes.count
    }

    /// Notes each place where two values differ, down to `depth` dictionaries inside one another. Recursion is bounded
    /// by the depth limit of documents.
    private static func compare(
        _ old: PropertyList?, _ new: PropertyList?, at path: PropertyListPath, into changes: inout [DefaultsChange],
        depth: Int
    ) {
        guard old != new else { return }
        guard depth > 0, let old, let new, old.kind == .dictionary, new.kind == .dictionary else {
            changes.append(DefaultsChange(path: path, old: old, new: new))
            return
        }
        for (key, value) in old.entries {
            compare(value, new[key], at: path.appending(.key(key)), into: &changes, depth: depth - 1)
        }
        for (key, value) in new.entries where old[key] == nil {
            changes.append(DefaultsChange(path: path.appending(.key(key)), old: nil, new: value))
        }
    }
}

/// The watches of one handle, and the descriptor that wakes who pumps them.
///
/// The descriptor is an epoll of an eventfd, written when this process changes the domain, and of an inotify on the
/// stores' folders; where inotify is not to be had, of a timer that fires once a second.
///
/// `@unchecked Sendable`: the state is guarded by `lock`; the descriptors' numbers never change.
final class WatchList: @unchecked Sendable {
    let descriptor: Int32
    let eventDescriptor: Int32
    private let wakeDescriptor: Int32
    private let folders: [StoreFolder]
    private let lock = Lock()
    private var entries: [Int: Watch] = [:]
    private var nextNumber = 0
    private var generations: [UInt64] = []
    private var isPolling = false
    /// Whether a look was put off.
    private var mustLook = false
    /// The process that the descriptors belong to: a child has to make its own.
    private var process = getpid()

    init(_ folders: [StoreFolder]) throws(DefaultsError) {
        self.folders = folders
        descriptor = cs_epoll_open()
        eventDescriptor = cs_eventfd_open()
        var wake = cs_inotify_open()
        if wake >= 0, !Self.observe(folders, wake) {
            Glibc.close(wake)
            wake = -1
        }
        if wake < 0 {
            wake = cs_timer_open(1)
            isPolling = true
        }
        wakeDescriptor = wake
        guard descriptor >= 0, eventDescriptor >= 0, wakeDescriptor >= 0 else {
            throw DefaultsError.system("epoll_create", errno, file: folders.first?.path)
        }
        join()
    }

    deinit { for number in [descriptor, eventDescriptor, wakeDescriptor] where number >= 0 { Glibc.close(number) } }

    private static func observe(_ folders: [StoreFolder], _ inotify: Int32) -> Bool {
        let mask = UInt32(IN_MOVED_TO | IN_MOVED_FROM | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE)
        return folders.allSatisfy {
            inotify_add_watch(inotify, "/proc/self/fd/\($0.descriptor.number)", mask) >= 0
        }
    }

    private func join() {
        for number in [eventDescriptor, wakeDescriptor] {
            var event = epoll_event()
            event.events = UInt32(EPOLLIN.rawValue)
            event.data.fd = number
            epoll_ctl(descriptor, EPOLL_CTL_ADD, number, &event)
        }
    }

    var identity: ObjectIdentifier { ObjectIdentifier(self) }

    var watches: [Watch] { lock.withLock { entries.sorted { $0.key < $1.key }.map(\.value) } }

    func add(_ watch: Watch) -> Int {
        lock.withLock {
            nextNumber += 1
            entries[nextNumber] = watch
            return nextNumber
        }
    }

    func remove(_ number: Int) { lock.withLock { entries[number] = nil } }

    func removeAll() { lock.withLock { entries = [:] } }

    /// Notes the domains' generations; says whether they are others than the last time.
    func takeGenerations(_ new: [UInt64]) -> Bool {
        lock.withLock {
            defer { generations = new }
            return generations != new
        }
    }

    /// Empties the wake-up; says whether one of the stores' files may have changed.
    func takeWakeUp() -> Bool {
        lock.withLock {
            if process != getpid() { return remakeInChild() }
            var buffer = [UInt8](repeating: 0, count: 16384)
            var isOurs = mustLook
            mustLook = false
            while true {
                let length = read(wakeDescriptor, &buffer, buffer.count)
                guard length > 0 else { return isOurs }
                isOurs = isOurs || isPolling || mentionsStore(buffer[..<length])
            }
        }
    }

    /// Has the next wake-up say yes, whatever happened.
    func lookAgain() { lock.withLock { mustLook = true } }

    /// Whether an inotify event is about one of the files, or says that events were lost.
    private func mentionsStore(_ events: ArraySlice<UInt8>) -> Bool {
        let header = MemoryLayout<inotify_event>.size
        var position = 0
        return events.withUnsafeBytes { bytes in
            while position + header <= bytes.count {
                let event = bytes.loadUnaligned(fromByteOffset: position, as: inotify_event.self)
                if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
                let end = position + header + Int(event.len)
                guard end <= bytes.count else { return true }
                let name = bytes[(position + header)..<end].prefix { $0 != 0 }
                // By its beginning: SQLite writes into files beside its own.
                if folders.contains(where: { name.starts(with: $0.fileName.utf8) }) { return true }
                position = end
            }
            return false
        }
    }

    /// In a child process: puts descriptors of its own under the same numbers.
    private func remakeInChild() -> Bool {
        process = getpid()
        let fresh = [cs_epoll_open(), cs_eventfd_open(), isPolling ? cs_timer_open(1) : cs_inotify_open()]
        for (new, old) in zip(fresh, [descriptor, eventDescriptor, wakeDescriptor]) where new >= 0 {
            cs_replace_descriptor(new, old)
        }
        if !isPolling { _ = Self.observe(folders, wakeDescriptor) }
        join()
        return true
    }
}
