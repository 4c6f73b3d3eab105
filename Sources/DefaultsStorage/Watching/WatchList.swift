internal import CSystem
internal import Glibc
internal import PropertyLists

/// The watches of one handle, and the descriptor that tells the program to pump them.
///
/// The descriptor is an epoll of an eventfd, written when this process changes the domain, and of an inotify on the
/// stores' folders; where the system has no inotify left, of a timer that fires once a second. A timer that fires once
/// joins them where a look at the files was put off.
///
/// `@unchecked Sendable`: the state is guarded by `lock`; the descriptors' numbers never change.
final class WatchList: @unchecked Sendable {
    let descriptor: Int32
    let eventDescriptor: Int32
    private let wakeDescriptor: Int32
    private let retryDescriptor: Int32
    private let folders: [StoreFolder]
    /// Of all lists and watches, so that a fork can take it. Nothing else is locked under it, and nothing that a handler
    /// refers to is let go of.
    static let lock = Lock()
    private var lock: Lock { Self.lock }
    private var entries: [Int: Watch] = [:]
    private var nextNumber = 0
    private var isPolling = false
    /// Whether a look at the files was put off.
    private var mustLook = false
    /// The process that the descriptors belong to: a child has to make its own.
    private var process = getpid()

    init(_ folders: [StoreFolder]) throws(DefaultsError) {
        self.folders = folders
        descriptor = cs_epoll_open()
        eventDescriptor = cs_eventfd_open()
        retryDescriptor = cs_timer_open(0)
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
        guard descriptor >= 0, eventDescriptor >= 0, wakeDescriptor >= 0, retryDescriptor >= 0 else {
            throw DefaultsError.system("epoll_create", errno, file: folders.first?.path)
        }
        join()
    }

    deinit { for number in descriptors where number >= 0 { Glibc.close(number) } }

    private var descriptors: [Int32] { [descriptor, eventDescriptor, wakeDescriptor, retryDescriptor] }

    private static func observe(_ folders: [StoreFolder], _ inotify: Int32) -> Bool {
        let mask = UInt32(IN_MOVED_TO | IN_MOVED_FROM | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE)
        return folders.allSatisfy {
            inotify_add_watch(inotify, "/proc/self/fd/\($0.descriptor.number)", mask) >= 0
        }
    }

    private func join() {
        for number in descriptors.dropFirst() {
            var event = epoll_event()
            event.events = UInt32(EPOLLIN.rawValue)
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

    func remove(_ number: Int) { _ = lock.withLock { entries.removeValue(forKey: number) } }

    func removeAll() {
        _ = lock.withLock {
            defer { entries = [:] }
            return entries
        }
    }

    /// Empties the wake-up; says whether one of the stores' files may have changed.
    func takeWakeUp() -> Bool {
        lock.withLock {
            if process != getpid() { return remakeInChild() }
            var buffer = [UInt8](repeating: 0, count: 16384)
            _ = read(eventDescriptor, &buffer, 8)
            _ = read(retryDescriptor, &buffer, 8)
            var isOurs = mustLook
            mustLook = false
            while true {
                let length = read(wakeDescriptor, &buffer, buffer.count)
                guard length > 0 else { return isOurs }
                isOurs = isOurs || isPolling || mentionsStore(buffer[..<length])
            }
        }
    }

    /// Has the next ``takeWakeUp()`` say that a file may have changed.
    ///
    /// - Parameter isSoon: whether the descriptor asks for it in a tenth of a second: nothing else may wake the program.
    func lookAgain(isSoon: Bool) {
        lock.withLock {
            mustLook = true
            if isSoon { cs_timer_arm(retryDescriptor, 100) }
        }
    }

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
        let fresh = [
            cs_epoll_open(), cs_eventfd_open(), isPolling ? cs_timer_open(1) : cs_inotify_open(), cs_timer_open(0),
        ]
        for (new, old) in zip(fresh, descriptors) where new >= 0 {
            cs_replace_descriptor(new, old)
        }
        if !isPolling { _ = Self.observe(folders, wakeDescriptor) }
        join()
        return true
    }
}
