internal import PropertyLists

/// The result of an engine's look at the stored values.
enum EngineState {
    /// The values are as they were when the engine last loaded or committed.
    case unchanged
    /// All values, loaded again.
    case replaced(PropertyList)
    /// The keys that others changed since then; the value is nil for a removed key.
    case changed([(key: [UInt8], value: PropertyList?)])
}

/// What the handles on a file ask of its engine, together.
struct EngineOptions: Sendable {
    /// The widest limits: what one handle may set, every handle can write.
    var limits = StoreLimits.standard
    /// How long a file that cannot be parsed counts as half-written, from its last change. An engine whose file no other
    /// program writes in place ignores it.
    var settleTime = Duration.zero
    /// True if a damaged file is put aside for a good copy. Otherwise it is an error, and stays where it is.
    var recovers = false
    /// How far a commit is on disk when it returns. An engine with one way ignores it.
    var synchronization = DefaultsSynchronization.normal
    /// True if every handle only reads.
    var isReadOnly = false

    mutating func formUnion(_ other: EngineOptions) {
        isReadOnly = isReadOnly && other.isReadOnly
        limits = limits.union(other.limits)
        settleTime = max(settleTime, other.settleTime)
        recovers = recovers || other.recovers
        if other.synchronization == .full { synchronization = .full }
    }
}

/// The storage of a domain. Every call is made with the domain's writer lock held, and `commit` between `lock` and
/// `unlock`.
protocol StorageEngine: AnyObject, Sendable {
    /// The format in which values are written, and whose rules they keep.
    var format: PropertyListFormat { get }
    /// The format of a value's row; nil if all values are one file of ``format``.
    var rowFormat: PropertyListFormat? { get }
    /// The largest size in bytes of a top-level key that has its own row; nil if all values are one file.
    var longestKey: Int? { get }
    /// The folder to watch for changes of others; nil if no other process can reach the stored values.
    var watchedFolder: StoreFolder? { get }
    /// True if the file is the one that was loaded or written last.
    var isCurrent: Bool { get }
    /// The reason why nothing can be written; nil if writing is possible.
    var refusal: DefaultsError? { get }
    /// Called with each event.
    var report: (@Sendable (DefaultsEvent) -> Void)? { get set }
    var options: EngineOptions { get set }
    /// The error of the last look, if the stored values could not be read.
    var unreadable: DefaultsError? { get }
    /// The keys whose values cannot be read, with the reasons. Their values in memory count. Other keys can be read.
    var damagedKeys: [[UInt8]: PropertyListError] { get }
    /// Finds the outcome of a commit that gave ``DefaultsError/Code/outcomeUnknown``, with the lock held: whether it
    /// happened; nil if there was no such commit. Throws, and writes nothing, while the outcome cannot be found.
    func settle(until deadline: Deadline) throws(DefaultsError) -> Bool?
    /// True unless the last document is in memory alone, since the file has become unreadable.
    var isBackedUp: Bool { get }
    /// Looks whether others changed the stored values. `memory` gives the document before, without pending changes.
    ///
    /// A file that cannot be read is an error and never replaces the values in memory. An event reports the first look at
    /// each unreadable state, except the very first look.
    func refresh(
        over memory: () throws(DefaultsError) -> PropertyList, until deadline: Deadline
    ) throws(DefaultsError) -> EngineState
    /// The error that came after the last commit was visible: a power failure may undo the commit. Only writing the whole
    /// file again clears it, since a later fsync may report success for bytes that were dropped.
    var debt: DefaultsError? { get }
    /// Locks out other processes. Returns true if it had to wait.
    func lock(until deadline: Deadline) throws(DefaultsError) -> Bool
    func unlock()
    /// Writes the changes of a state over its stored values, durably. On failure the stored values are as before,
    /// except after ``DefaultsError/Code/outcomeUnknown``, which ``settle(until:)`` resolves.
    ///
    /// - Returns: the whole dictionary, as it was written; nil if rows were.
    func commit(_ state: State) throws(DefaultsError) -> PropertyList?
    /// Before the process forks: releases the resources that a child must not inherit.
    func prepareFork()
    /// In a child process: releases the parent's resources.
    func resetAfterFork()
    /// In a child process, if a thread of the parent was in the middle of a call: gives a new engine for the same file, or
    /// nil if this one can go on. Reads only what never changes.
    func remadeAfterFork() -> (any StorageEngine)?
    /// Keeps a copy of the store as it is now, under its name and `suffix`, once, with the lock held.
    func keepCopy(named suffix: String) throws(DefaultsError)
}

extension StorageEngine {
    var damagedKeys: [[UInt8]: PropertyListError] { [:] }
    func settle(until deadline: Deadline) -> Bool? { nil }
    var debt: DefaultsError? { nil }
    func remadeAfterFork() -> (any StorageEngine)? { nil }
    var unreadable: DefaultsError? { nil }
    var rowFormat: PropertyListFormat? { nil }
    var longestKey: Int? { nil }
    var isBackedUp: Bool { true }
}

/// The document of an empty store.
let emptyDictionary = PropertyList.emptyDictionary
