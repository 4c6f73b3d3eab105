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
    case settled
}

/// Where a domain is kept. Every call is made with the domain's gate held, `commit` between `lock` and `unlock`.
protocol StorageEngine: AnyObject, Sendable {
    /// The format whose rules values keep, and in which they are written.
    var format: PropertyListFormat { get }
    /// Whether other processes may write what is stored.
    var isShared: Bool { get }
    /// Where to look for changes of others; nil for nowhere.
    var watchedFolder: StoreFolder? { get }
    /// Why nothing can be written, when that is so.
    var refusal: DefaultsError? { get }
    /// Where what happens apart from a call is told.
    var report: (@Sendable (DefaultsEvent) -> Void)? { get set }
    /// Looks whether others changed what is stored. A damaged file is recovered, with the lock taken until `deadline`.
    func refresh(until deadline: Deadline) throws(DefaultsError) -> EngineState
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
    func close() throws(DefaultsError)
    /// Keeps what is stored now under the store's name and `suffix`, once, with the lock held.
    func keepCopy(named suffix: String) throws(DefaultsError)
}

extension StorageEngine {
    var synchronization: DefaultsStore.Options.Synchronization {
        get { .full }
        set {}
    }
}

/// Something that happened apart from a call of the program's.
public enum DefaultsEvent: Sendable, Hashable {
    /// Changes could not be written; they are kept, and tried again.
    case flushFailed(DefaultsError)
    /// A damaged file was kept under the name `quarantine`; the store goes on with the backup, or empty.
    case recovered(file: String, quarantine: String, fromBackup: Bool)
    /// A damaged file could not be moved away: the store is read-only.
    case unrecoverable(DefaultsError)
    /// A property-list store has outgrown its file: every durable write costs its size. SQLite would not.
    case outgrown(file: String, keys: Int, bytes: Int)
    /// Another process held the store's lock, for this many nanoseconds.
    case lockWaited(nanoseconds: Int64)
    /// Members of the folder's group may replace the store's files.
    case groupWritableFolder(String)
    /// A change by path no longer fitted what another process had written, and was dropped.
    case conflict(DefaultsError)
}

/// What the document of an empty store is.
let emptyDictionary = PropertyList.emptyDictionary
