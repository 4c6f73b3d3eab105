internal import PropertyLists

/// What an engine found when it looked at what is stored.
enum EngineState {
    /// As it was when the engine last loaded or committed.
    case unchanged
    /// All of it anew.
    case replaced(PropertyList)
    /// The keys that others changed since; nil for removed ones.
    case changed([(key: String, value: PropertyList?)])
}

/// What an engine made of a commit.
enum CommitOutcome {
    /// The whole dictionary, put together for writing.
    case document(PropertyList)
    /// The changes alone: the domain lays them over what it has.
    case committed
}

/// Where a domain is kept. Every call is made with the domain's writer lock held, `commit` between `lock` and `unlock`.
protocol StorageEngine: AnyObject, Sendable {
    /// The format whose rules values keep, and in which they are written.
    var format: PropertyListFormat { get }
    /// The format of a single value's row; nil where all of them are one file of ``format``.
    var rowFormat: PropertyListFormat? { get }
    /// Whether other processes may write what is stored.
    var isShared: Bool { get }
    /// Where to look for changes of others; nil for nowhere.
    var watchedFolder: StoreFolder? { get }
    /// Whether the program asked for nothing to be written.
    var isReadOnly: Bool { get }
    /// Why nothing can be written, when that is so.
    var refusal: DefaultsError? { get }
    /// Where what happens apart from a call is told.
    var report: (@Sendable (DefaultsEvent) -> Void)? { get set }
    /// Whether a damaged file is put aside for something good. Otherwise it is an error and stays where it is.
    var recovers: Bool { get set }
    /// Why what is stored could not be read when it was looked at last; nil when it could.
    var unreadable: DefaultsError? { get }
    /// Whether what was read or written last can be found beside the file, should that stay unreadable.
    var isBackedUp: Bool { get }
    /// Looks whether others changed what is stored; `base` is what it was, without changes that wait for their commit.
    ///
    /// What cannot be read is an error and never replaces what is in memory. The first look at each unreadable state,
    /// but for the very first look of all, is told as an event.
    func refresh(over base: PropertyList, until deadline: Deadline) throws(DefaultsError) -> EngineState
    /// What commits wait for; of no meaning for an engine that knows only one way.
    var synchronization: DefaultsStore.Options.Synchronization { get set }
    /// Locks out other processes; says whether it had to wait.
    func lock(until deadline: Deadline) throws(DefaultsError) -> Bool
    func unlock()
    /// Writes `delta` over `base`, durably; on failure what was stored is as it was.
    func commit(_ delta: Delta, over base: PropertyList) throws(DefaultsError) -> CommitOutcome
    /// Before the process forks: lets go of what a child must not inherit.
    func prepareFork()
    /// In a child process: lets go of what belongs to the parent.
    func resetAfterFork()
    /// Keeps what is stored now under the store's name and `suffix`, once, with the lock held.
    func keepCopy(named suffix: String) throws(DefaultsError)
}

extension StorageEngine {
    var recovers: Bool {
        get { false }
        set {}
    }
    var unreadable: DefaultsError? { nil }
    var rowFormat: PropertyListFormat? { nil }
    var isBackedUp: Bool { true }

    var synchronization: DefaultsStore.Options.Synchronization {
        get { .full }
        set {}
    }
}

/// Something that happened apart from a call of the program's.
public enum DefaultsEvent: Sendable, Hashable {
    /// Changes could not be written; they are kept, and tried again.
    case flushFailed(DefaultsError)
    /// What others wrote cannot be read, since the file is damaged or beyond every limit: the store goes on with what is
    /// in memory, and takes up and writes the file when it can be read again. Told once for each such state of a file,
    /// also of one that the handle searches as a layer.
    case unreadable(DefaultsError)
    /// A damaged file was kept under the name `quarantine`, and something good took its place: only for a store that
    /// was opened with ``DefaultsStore/Options/Corruption/recover``.
    case recovered(file: String, quarantine: String, source: DefaultsRecovery)
    /// A damaged file could not be moved away: the store is read-only.
    case unrecoverable(DefaultsError)
    /// A property-list store has outgrown its file: every durable write costs its size. SQLite would not.
    case outgrown(file: String, keys: Int, bytes: Int)
    /// A store was opened that is beyond the handle's limits already, as one of another program may be: every change is
    /// ``DefaultsError/Code/limitExceeded`` but those that do not make it larger.
    case overLimit(file: String, nodes: Int, bytes: Int)
    /// Another process held the store's lock, for this many nanoseconds.
    case lockWaited(nanoseconds: Int64)
    /// Members of the folder's group may replace the store's files.
    case groupWritableFolder(String)
    /// A change by path no longer fitted what another process had written, and was dropped.
    case conflict(DefaultsError)
}

/// What took the place of a damaged file.
public enum DefaultsRecovery: Sendable, Hashable {
    /// What this process had read or written last.
    case memory
    /// The backup, which was written this long ago.
    case backup(age: Duration)
    /// An empty store: of a database there is no backup.
    case nothing
}

/// What the document of an empty store is.
let emptyDictionary = PropertyList.emptyDictionary
