internal import CKVSystem
internal import Glibc

/// A file whose changes are watched.
struct WatchedFile {
    let folder: StoreFolder
    /// Whether files beside it, whose names begin with its name, hold a part of its values.
    let isDatabase: Bool
}

/// An inotify that is readable when one of a handle's files may have changed.
///
/// It observes the files themselves: in their folder, the locks and temporary files of each commit, and other programs'
/// files, would wake the program for nothing. The folder is observed for a database, and as long as a file is not
/// there. A file that was replaced is another one: each look observes the file that has the name now.
struct FileObserver {
    fileprivate struct Watch {
        var file: WatchedFile
        /// The inotify's number of the file; -1 while there is none.
        var number: Int32 = -1
    }

    let descriptor: Int32
    private var watches: [Watch]
    /// The inotify's numbers of folders.
    private var folders: Set<Int32> = []
    /// Those of folders with links that lead to a file: whatever changes there may lead elsewhere.
    private var linkFolders: Set<Int32> = []
    /// Whether the system lets it observe no more: it tries again at each look.
    private(set) var isBlind = false
    /// Whether something happened to a file while it was observed anew: another may have its name since, and
    /// ``take()`` has to be called again.
    private(set) var isBehind = false

    private static let fileEvents = UInt32(
        IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF | IN_DONT_FOLLOW)
    private static let folderEvents = UInt32(IN_CREATE | IN_MOVED_TO)
    private static let databaseEvents = UInt32(
        IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE)

    /// nil where the system has no inotify left.
    init?(_ files: [WatchedFile]) {
        descriptor = cs_inotify_open()
        watches = files.map { Watch(file: $0) }
        guard descriptor >= 0 else { return nil }
        guard arm() != nil else {
            Glibc.close(descriptor)
            return nil
        }
    }

    /// Takes the events; says whether a file may have changed.
    ///
    /// - Parameter files: where the files are now, in the order of the first ones.
    mutating func take(_ files: [WatchedFile]) -> Bool {
        let (isAny, isOurs) = drain()
        let wasBehind = isBehind
        var isMoved = false
        for (index, file) in files.enumerated() where watches[index].file.folder !== file.folder {
            watches[index].file = file
            isMoved = true
        }
        guard isAny || isBlind || wasBehind || isMoved else { return false }
        let isNew = arm() ?? true
        catchUp()
        return isBehind || wasBehind || isOurs || isNew
    }

    /// Takes the events that came while the files were observed anew: of numbers that were given back, too.
    private mutating func catchUp() { isBehind = drain().isOurs }

    /// In a child process, whose inotify under the same number is new: observes everything anew.
    mutating func rearm() {
        for index in watches.indices { watches[index].number = -1 }
        folders = []
        _ = arm()
    }

    /// Observes the files that have the names now; says whether one of them is another than before, and nil where the
    /// system does not let it.
    private mutating func arm() -> Bool? {
        var isNew = false
        for index in watches.indices where !watches[index].file.isDatabase {
            let old = watches[index].number
            let new = add(watches[index].file, Self.fileEvents)
            watches[index].number = new
            if new != old {
                isNew = true
                if old >= 0 { inotify_rm_watch(descriptor, old) }
            }
        }
        isBlind = !armFolders()
        return isBlind ? nil : isNew
    }

    private mutating func armFolders() -> Bool {
        let hasDatabase = watches.contains { $0.file.isDatabase }
        var wanted: Set<Int32> = []
        for watch in watches where watch.file.isDatabase || watch.number < 0 {
            let path = "/proc/self/fd/\(watch.file.folder.descriptor.number)"
            let number = inotify_add_watch(
                descriptor, path, hasDatabase ? Self.databaseEvents : Self.folderEvents)
            guard number >= 0 else { return false }
            wanted.insert(number)
        }
        linkFolders = []
        for folder in watches.flatMap({ $0.file.folder.linkFolders }) {
            let number = inotify_add_watch(descriptor, folder, hasDatabase ? Self.databaseEvents : Self.folderEvents)
            if number >= 0 { linkFolders.insert(number) }
        }
        wanted.formUnion(linkFolders)
        for number in folders.subtracting(wanted) { inotify_rm_watch(descriptor, number) }
        folders = wanted
        return true
    }

    private func add(_ file: WatchedFile, _ events: UInt32) -> Int32 {
        inotify_add_watch(
            descriptor, "/proc/self/fd/\(file.folder.descriptor.number)/\(file.folder.fileName)", events)
    }

    /// Empties the inotify; says whether there was anything, and whether that was about one of the files.
    private func drain() -> (isAny: Bool, isOurs: Bool) {
        var buffer = [UInt8](repeating: 0, count: 16384)
        var result = (isAny: false, isOurs: false)
        while true {
            let length = read(descriptor, &buffer, buffer.count)
            guard length > 0 else { return result }
            result.isAny = true
            result.isOurs = result.isOurs || mentionsFile(buffer[..<length])
        }
    }

    /// Whether an event is about one of the files, or says that events were lost.
    private func mentionsFile(_ events: ArraySlice<UInt8>) -> Bool {
        let header = MemoryLayout<inotify_event>.size
        var position = 0
        return events.withUnsafeBytes { bytes in
            while position + header <= bytes.count {
                let event = bytes.loadUnaligned(fromByteOffset: position, as: inotify_event.self)
                if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
                let end = position + header + Int(event.len)
                guard end <= bytes.count else { return true }
                let name = bytes[(position + header)..<end].prefix { $0 != 0 }
                if linkFolders.contains(event.wd) { return true }
                if watches.contains(where: { $0.isMentioned(event.wd, name, folders) }) { return true }
                position = end
            }
            return false
        }
    }
}

extension FileObserver.Watch {
    /// Whether an event of the number, with the name that one of a folder has, is about the file.
    fileprivate func isMentioned(_ number: Int32, _ name: Slice<UnsafeRawBufferPointer>, _ folders: Set<Int32>) -> Bool
    {
        guard folders.contains(number) else { return self.number >= 0 && self.number == number }
        // By its beginning: SQLite writes into files beside its own.
        if file.isDatabase { return name.starts(with: file.folder.fileName.utf8) }
        return self.number < 0 && name.elementsEqual(file.folder.fileName.utf8)
    }
}
