internal import PropertyLists

/// The result of an engine's look at the stored values.
enum EngineState {
    /// The values are as they were when the engine last loaded or committed.
    case unchanged
    /// All values anew.
    case replaced(PropertyList)
    /// The keys that others changed since; nil for removed ones.
    case changed([(key: String, value: PropertyList?)])
}

/// The result of an engine's commit.
enum CommitOutcome {
    /// The whole dictionary, put together for writing.
    case document(PropertyList)
    /// The changes alone: the domain lays them over its document.
    case committed
}

/// The storage of a domain. Every call is made with the domain's writer lock held, `commit` between `lock` and
/// `unlock`.
protocol StorageEngine: AnyObject, Sendable {
    /// The format whose rules values keep, and in which they are written.
    var format: PropertyListFormat { get }
    /// The format of a single value's row; nil where all of them are one file of ``format``.
    var rowFormat: PropertyListFormat? { get }
    /// The most bytes of a top-level key that has a row of its own; nil where all are one file.
    var longestKey: Int? { get }
    /// Whether other processes may change the stored values.
    var isShared: Bool { get }
    /// The folder to watch for changes of others; nil for none.
    var watchedFolder: StoreFolder? { get }
    /// Whether the file is the one that was loaded or written last.
    var isCurrent: Bool { get }
    /// Whether the program asked for nothing to be written.
    var isReadOnly: Bool { get }
    /// The reason why nothing can be written; nil where writing is possible.
    var refusal: DefaultsError? { get }
    /// Called with the events, which happen apart from the program's calls.
    var report: (@Sendable (DefaultsEvent) -> Void)? { get set }
    /// Whether a damaged file is put aside for a good copy. Otherwise it is an error and stays where it is.
    var recovers: Bool { get set }
    /// How long a file that cannot be parsed is given from its last change; of no meaning for an engine whose
    /// file no other program writes into.
    var settleTime: Duration { get set }
    /// The limits of the values that are read and written.
    var limits: StoreLimits { get set }
    /// The error of the last look, where the stored values could not be read; nil when they could.
    var unreadable: DefaultsError? { get }
    /// The keys whose values cannot be read, and why; the others can. Their values in memory count.
    var damagedKeys: [[UInt8]: PropertyListError] { get }
    /// Finds out the outcome of a commit that gave ``DefaultsError/Code/outcomeUnknown``, with the lock held: whether
    /// it has happened; nil where there was none. Throws, and writes nothing, as long as that cannot be told.
    func settle(until deadline: Deadline) throws(DefaultsError) -> Bool?
    /// Whether the document that was read or written last has a copy beside the file, should that stay unreadable.
    var isBackedUp: Bool { get }
    /// Looks whether others changed the stored values; `memory` puts the document before together, without changes that
    /// wait for their commit.
    ///
    /// A file that cannot be read is an error and never replaces the values in memory. The first look at each
    /// unreadable state, but for the very first look of all, is told as an event.
    func refresh(
        over memory: () throws(DefaultsError) -> PropertyList, until deadline: Deadline
    ) throws(DefaultsError) -> EngineState
    /// How far a commit is on disk when it returns; of no meaning for an engine that knows only one way.
    var synchronization: DefaultsSynchronization { get set }
    /// The error that came after the last commit was visible: a power failure may take it back. Nothing but writing all
    /// anew clears it, since a later fsync may say that all is well of bytes that were dropped.
    var debt: DefaultsError? { get }
    /// Locks out other processes; says whether it had to wait.
    func lock(until deadline: Deadline) throws(DefaultsError) -> Bool
    func unlock()
    /// Writes `delta` over `base`, durably; on failure the stored values are as before, but for
    /// ``DefaultsError/Code/outcomeUnknown``: ``settle(until:)`` tells later.
    func commit(_ delta: Delta, over base: PropertyList) throws(DefaultsError) -> CommitOutcome
    /// Before the process forks: lets go of the resources that a child must not inherit.
    func prepareFork()
    /// In a child process: lets go of the parent's resources.
    func resetAfterFork()
    /// In a child process, where a thread of the parent was in the middle of a call: an engine of the same kind on the
    /// same file, of which the parent knows nothing; nil where the engine copes with that by itself. Nothing that
    /// changes may be read of this one.
    func remadeAfterFork() -> (any StorageEngine)?
    /// Keeps a copy of the store as it is now, under its name and `suffix`, once, with the lock held.
    func keepCopy(named suffix: String) throws(DefaultsError)
}

extension StorageEngine {
    var recovers: Bool {
        get { false }
        set {}
    }
    var settleTime: Duration {
        get { .zero }
        set {}
    }
    var limits: StoreLimits {
        get { .standard }
        set {}
    }
    var damagedKeys: [[UInt8]: PropertyListError] { [:] }
    func settle(until deadline: Deadline) -> Bool? { nil }
    var debt: DefaultsError? { nil }
    func remadeAfterFork() -> (any StorageEngine)? { nil }
    var unreadable: DefaultsError? { nil }
    var rowFormat: PropertyListFormat? { nil }
    var longestKey: Int? { nil }
    var isBackedUp: Bool { true }

    var synchronization: DefaultsSynchronization {
        get { .full }
        set {}
    }
}

/// The document of an empty store.
let emptyDictionary = PropertyList.emptyDictionary
