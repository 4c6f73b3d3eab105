internal import Glibc
internal import PropertyLists

/// Keeps a domain in a property-list file that a person can open and other programs can read.
///
/// The commit protocol: lock the sidecar; load the changes of others; write a temporary file, fsync it, exchange it
/// with the old one and see that it was that which came out, fsync the folder. The file is therefore always the old one
/// or the new one.
///
/// `@unchecked Sendable`: used only with the domain's writer lock held.
final class PropertyListFileEngine: StorageEngine, @unchecked Sendable {
    private(set) var folder: StoreFolder
    var report: (@Sendable (DefaultsEvent) -> Void)?
    var format: PropertyListFormat
    private let newFormat: PropertyListFormat
    var refusal: DefaultsError?
    var isReadOnly: Bool { options.isReadOnly }
    var options: EngineOptions {
        didSet {
            // A file that was too large may be read now.
            if options.limits != oldValue.limits { found = nil }
            if options.isReadOnly != oldValue.isReadOnly { lookAtRights() }
        }
    }
    var limits: StoreLimits { options.limits }
    var watchedFolder: StoreFolder? { folder }
    var isCurrent: Bool { folder.isWhereItWas && stamp(of: folder.fileName) == stamp }

    /// The file that was loaded or written last; nil for none.
    var stamp: FileStamp?
    /// Until when a file that is gone may come back; nil while there is one.
    var absence: Deadline?
    /// The backup as it was before the document in memory was read or written, and so an older one; nil for none.
    var olderBackup: FileStamp?
    /// Whether a file with the same stamp could hold something else: it was read within a clock tick of its writing.
    var stampIsRecent = false
    /// The damaged file whose time lies ahead, and when it is taken for whole.
    var ahead: (stamp: FileStamp, settles: Deadline)?
    var hasLoaded = false
    /// Whether the file that was loaded last has comments, or keys in an order of its own, which are kept.
    var hasLayout = false
    private(set) var fileLock: FileLock?
    /// The exchange that is known to have ended.
    var settled: ExchangeNote?
    private var hasSwept = false
    /// The file that could not be read at the last look; nil when it could.
    var found: UnreadableFile?
    var unreadable: DefaultsError? { found?.error }
    var isBackedUp: Bool { stamp == nil || found == nil }
    var debt: DefaultsError?
    /// Whether a file that changed since it was loaded is kept from being replaced; not while it is recovered.
    var isChecking = true
    fileprivate var hasOutgrown = false
    /// Whether a damaged file could not be moved away: the best copy is read, and nothing is written.
    var isUnrecoverable = false

    init(
        _ folder: StoreFolder, format: PropertyListFormat, _ options: EngineOptions
    ) throws(DefaultsError) {
        self.folder = folder
        self.format = format
        newFormat = format
        self.options = options
        refusal = try folder.refusal(isReadOnly: options.isReadOnly)
    }

    private func lookAtRights() {
        if !isUnrecoverable { refusal = folder.refusalOrError(isReadOnly: isReadOnly) }
    }

    /// Goes where the store's path leads now: that is the store, and not a folder that once had the path.
    ///
    /// - Returns: whether it leads elsewhere.
    func follow() throws(DefaultsError) -> Bool {
        guard let new = try folder.followedAgain() else { return false }
        folder = new
        (settled, hasSwept) = (nil, false)
        lookAtRights()
        return true
    }

    var isLocked: Bool { fileLock != nil }

    func lock(until deadline: Deadline) throws(DefaultsError) -> Bool {
        guard fileLock == nil else { return false }
        _ = try follow()
        if let refusal { throw refusal }
        let (lock, waited) = try FileLock.acquire(folder, until: deadline)
        fileLock = lock
        do throws(DefaultsError) {
            try settleLeft()
            try awaitFirstFile(until: deadline)
        } catch {
            unlock()
            throw error
        }
        if !hasSwept { sweep() }
        return waited
    }

    func unlock() {
        fileLock?.release()
        fileLock = nil
    }

    /// Removes temporary files that a killed writer left behind: under the lock no process is writing one.
    private func sweep() {
        hasSwept = true
        let prefix = "." + folder.fileName + "."
        for name in folder.names(withPrefix: prefix, suffix: ".tmp") {
            if isRandomName(name.dropFirst(prefix.count).dropLast(4)) { folder.unlink(name) }
        }
        if folder.isGroupWritable { report?(.groupWritableFolder(folder.descriptor.path)) }
    }

    func prepareFork() {}

    func resetAfterFork() {
        fileLock?.abandon()
        fileLock = nil
        debt = nil
        // The parent may have written since.
        hasLoaded = false
    }

    func remadeAfterFork() -> (any StorageEngine)? {
        // The domain tells it the options before each look.
        try? PropertyListFileEngine(folder, format: newFormat, EngineOptions(isReadOnly: isReadOnly))
    }

    func commit(_ state: State) throws(DefaultsError) -> PropertyList? {
        if let refusal { throw refusal }
        let document = try DefaultsError.translating(file: folder.path) { () throws(PropertyListError) in
            try state.whole()
        }
        try write(document)
        return document
    }

    /// - Parameter name: the file whose comments and order of keys are kept; nil for the one that is replaced.
    func write(_ document: PropertyList, inLayoutOf name: String? = nil) throws(DefaultsError) {
        let bytes = try contents(for: document, inLayoutOf: name ?? folder.fileName)
        stamp = try replaceFile(with: bytes)
        olderBackup = backupStamp()
        stampIsRecent = false
        hasLoaded = true
        reportSize(keys: document.count, bytes: bytes.count)
    }

    /// The bytes of a file that holds the document, in the layout of the file `name`.
    ///
    /// Without the layout where the file `name` cannot be parsed, and where its comments make the new file larger than
    /// any that is read: no change is refused for comments.
    ///
    /// - Throws: ``DefaultsError/Code/limitExceeded`` for a document that could not be read again.
    func contents(for document: PropertyList, inLayoutOf name: String) throws(DefaultsError) -> [UInt8] {
        let (format, limits) = (format, limits)
        let old = format == .xml && hasLayout ? try layout(name) : nil
        return try DefaultsError.translating(file: folder.path) { () throws(PropertyListError) in
            guard let old else { return try document.fileContents(as: format, size: limits.readableFile) }
            return try document.serialized(inLayoutOf: old, limits: limits.reading, size: limits.readableFile)
        }
    }

    private func layout(_ name: String) throws(DefaultsError) -> [UInt8]? {
        guard let file = try folder.openFile(name, O_RDONLY | O_NONBLOCK),
            try regularStamp(of: file).size <= limits.readableFile
        else { return nil }
        return try file.readToEnd()
    }

    private func reportSize(keys: Int, bytes: Int) {
        guard !hasOutgrown, keys > 2500 || bytes > 256 * 1024 else { return }
        hasOutgrown = true
        report?(.outgrown(file: folder.path, keys: keys, bytes: bytes))
    }
}
