internal import CKVSystem
internal import PropertyLists

/// When a change is on disk.
///
/// ```swift
/// options.durability = .immediate
/// let journal = try DefaultsStore.open("com.acme.journal", options: options)
/// try journal.set(PropertyList(any: "started"), forKey: "state")  // on disk when it returns
/// ```
public enum DefaultsDurability: Int, Sendable, Hashable, CaseIterable {
    /// At ``DefaultsStore/sync()`` and ``DefaultsStore/close()``.
    case manual
    /// At most 100 milliseconds later, at sync, at close and at the program's exit.
    case coalesced
    /// When the set returns.
    case immediate
}

/// What the handles on one file share in a process: the stored document, the changes over it, and the right to write.
///
/// A get looks in `delta` (changes since the last flush), `committing` (changes that are being written), `committed`
/// (written changes that are not yet part of the document) and `base`, in this order. `lock` guards all four and is never
/// held across a system call. `writerLock` guards the engine and the transaction, and is taken before `lock`. A committing
/// or committed delta changes only under both locks. `@unchecked Sendable` rests on these rules.
final class Domain: @unchecked Sendable {
    /// Replaced only in a child process, during the fork.
    private(set) var engine: any StorageEngine
    let file: String?
    let lock = Lock()
    let writerLock = WriterLock()

    // Guarded by `lock`.
    var delta = Delta()
    var committing: Delta?
    var committed: Delta? { didSet { mayHaveUnset = true } }
    var base = emptyDictionary { didSet { mayHaveUnset = true } }
    var generation: UInt64 = 1
    var handles = HandleCounts()
    var isScheduled = false
    /// True if the last commit is visible but may not be on the disk (``StorageEngine/debt``).
    var owesWriting = false
    /// True while the outcome of the last commit is unknown. Its changes, without a transaction's, are `committing`.
    var isInDoubt = false
    var synchronization = DefaultsSynchronization.normal
    // See Domain+Size.
    var stored = PropertyListSize.zero
    var unwritten = PropertyListSize.zero
    /// The format of a value's row; nil if all values are one file.
    let rowFormat: PropertyListFormat?
    var recovers: Bool
    /// The longest settle time of all handles.
    var settleTime: Duration
    /// The widest limits of all handles: what one handle may set, every handle can write.
    private(set) var limits: StoreLimits
    /// The error of the last look at the file, if it could not be read. An event has reported it.
    var unreadable: DefaultsError?
    /// The schemas of all handles, with the layers below that the handles have.
    var schemas: [LowerLayers] = []
    /// False if the domain is known to list no unset paths. Every get and set would look for the list.
    var mayHaveUnset = true
    /// The paths that are unset, with the list that they were read from.
    var unset: (list: PropertyList, tree: PathTree?)?
    /// Values that merges have made and that are not checked yet.
    var merged: [MergedValue] = []
    /// The first change since the last sync that another program's change took the place of.
    var dropped: DefaultsError?
    var refusal: DefaultsError? { didSet { isRefusing = refusal != nil } }
    /// True if there is a refusal. Each change checks this; it would copy the Optional error field by field.
    private var isRefusing = false
    /// The keys whose values cannot be read (``StorageEngine/damagedKeys``).
    var damagedKeys: [[UInt8]: PropertyListError] = [:]
    var rules: ValueRules
    var inbox = EventInbox()
    var open: OpenTransaction?
    var isLoaded = false

    // Guarded by `writerLock`.
    /// True if the process was forked and has not looked at the file since.
    var hasForked = false

    /// Makes a domain that knows nothing of its file until ``load(until:)``.
    init(_ engine: any StorageEngine, file: String?) {
        self.engine = engine
        self.file = file
        rules = ValueRules(engine)
        recovers = engine.recovers
        settleTime = engine.settleTime
        limits = engine.limits
        rowFormat = engine.rowFormat
        engine.report = { [weak self] event in self?.tell(event) }
        countStored()
        // The exit closes a database.
        if rowFormat != nil { Flusher.shared.attendExit() }
    }

    /// In a child process: takes a new engine on the same file. The old engine, which a thread of the parent was using,
    /// is never released, since none of its state can be relied on.
    func replaceEngine() {
        guard let new = engine.remadeAfterFork() else { return }
        DomainRegistry.shared.abandon(engine)
        engine = new
        engine.report = { [weak self] event in self?.tell(event) }
    }

    /// Adds the options of a handle that is opened on the domain.
    func extend(limits: StoreLimits, recovers: Bool, settleTime: Duration) {
        lock.withLock {
            self.limits = self.limits.union(limits)
            self.settleTime = max(self.settleTime, settleTime)
            if recovers { self.recovers = true }
        }
    }

    func tell(_ event: DefaultsEvent) {
        lock.withLock { inbox.append(event) }
        // Changes that the file does not take may have to be kept when the program ends.
        if case .unreadable = event { Flusher.shared.attendExit() }
    }

    /// Whether the error was told as an event already.
    func hasTold(_ error: DefaultsError) -> Bool { lock.withLock { unreadable == error } }
}

// MARK: - Reading

extension Domain {
    /// The value at `steps` inside the value of a top-level key.
    func value(
        _ key: UnsafeBufferPointer<UInt8>, _ handle: HandleState, _ steps: ArraySlice<PropertyListPath.Step>
    ) throws(DefaultsError) -> PropertyList? {
        lock.lock()
        defer { lock.unlock() }
        try handle.checkOpen()
        return try lookUp(key, steps, in: target)
    }

    /// The delta that takes the calling thread's changes: its transaction's, if it has one open.
    var target: Delta {
        guard let open, open.thread == cs_thread_number() else { return delta }
        return open.delta
    }

    /// As `value`, with the lock held.
    func lookUp(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>, in target: Delta
    ) throws(DefaultsError) -> PropertyList? {
        try translating { () throws(PropertyListError) in
            if let index = target.find(key) { return try target.collapsedValue(at: index, steps) }
            if !damagedKeys.isEmpty { try checkReadable(key) }
            return try below(key, steps)
        }
    }

    /// - Throws: the error of a value that is stored, cannot be read, and is not in memory either; with the lock held.
    func checkReadable(_ key: UnsafeBufferPointer<UInt8>) throws(PropertyListError) {
        guard let error = damagedKeys[Array(key)], !isInMemory(key) else { return }
        throw error.inRow(of: Array(key))
    }

    /// The value below the delta that is being changed; with the lock held.
    func below(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step> = []
    ) throws(PropertyListError) -> PropertyList? {
        if let committing, let index = committing.find(key) { return try committing.value(at: index, steps) }
        if let committed, let index = committed.find(key) { return try committed.value(at: index, steps) }
        return base[utf8: key]?.value(atSteps: steps)
    }

    /// The domain's dictionary as a whole, as the calling thread sees it.
    func snapshot() throws(DefaultsError) -> PropertyList {
        lock.lock()
        defer { lock.unlock() }
        let target = self.target
        return try translating { () throws(PropertyListError) in
            var result = base
            for delta in [committed, committing, target] { result = try delta?.applied(to: result) ?? result }
            return result
        }
    }

    /// The keys of all values, those included that cannot be read.
    func allKeys() throws(DefaultsError) -> [String] {
        try snapshot().keys + unreadableKeys.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether the calling thread has a transaction open; with the lock held.
    var isInTransaction: Bool { open?.thread == cs_thread_number() }

    /// Whether the calling thread's transaction is a migration; with the lock held.
    var isMigrating: Bool { open?.isMigration == true && isInTransaction }

    func translating<Result>(
        _ body: () throws(PropertyListError) -> Result
    ) throws(DefaultsError) -> Result {
        do throws(PropertyListError) {
            return try body()
        } catch {
            throw DefaultsError(error, file: file)
        }
    }
}

// MARK: - Changing

extension Domain {
    /// Sets the value of a top-level key. With immediate durability only inside of a transaction.
    ///
    /// - Parameters:
    ///   - unset: what becomes of the unset paths; nil to list none at the key and below it.
    ///   - seen: what the value was made of; nil for anything.
    /// - Returns: false, and nothing is set, where the key has another value now.
    func set(
        _ value: PropertyList, _ key: UnsafeBufferPointer<UInt8>, _ unset: UnsetChange?,
        ifStill seen: Seen? = nil, _ handle: HandleState
    ) throws(DefaultsError) -> Bool {
        let own = value.isWholeDocument || mayShareDocuments ? value : value.compacted()
        var isLate = false
        if try set(own, key, unset, seen, &isLate, handle, unlessEqual: true) || isLate { return !isLate }
        let look = lookAtFile()
        if look != .isUnchanged {
            _ = try set(own, key, unset, seen, &isLate, handle, unlessEqual: look == .isLoaded)
        }
        return !isLate
    }

    /// - Parameters:
    ///   - isLate: becomes true, and nothing is set, where the key has another value than `seen` now.
    ///   - unlessEqual: whether nothing is set if the value is the stored one.
    /// - Returns: whether the value was set.
    private func set(
        _ value: PropertyList, _ key: UnsafeBufferPointer<UInt8>, _ unset: UnsetChange?, _ seen: Seen?,
        _ isLate: inout Bool, _ handle: HandleState, unlessEqual: Bool
    ) throws(DefaultsError) -> Bool {
        let mustSchedule = try lock.withLock { () throws(DefaultsError) -> Bool? in
            try checkRefusal()
            isLate = try !isStill(seen, key)
            if isLate { return nil }
            let target = self.target
            let index = target.find(key)
            let newUnset = try changedUnsetList(unset, [.key(utf8: key)], in: target)
            if unlessEqual, index == nil, newUnset == nil, isStored(value, key, []) { return nil }
            let growth = size(of: value, key) - size(of: key, in: target, at: index)
            try checkQuotas(setting: value, at: [], of: key, growth, in: target, handle, [.key(utf8: key)])
            try count(growth, in: target, handle, at: [.key(utf8: key)])
            if let index { target.set(value, at: index) } else { target.set(value, for: key) }
            if UnsetPaths.isKey(key) { mayHaveUnset = true }
            setUnsetList(newUnset, in: target)
            return noteChange(of: key)
        }
        guard let mustSchedule else { return false }
        if mustSchedule { Flusher.shared.schedule(self) }
        return true
    }

    /// Whether the calling thread sees the value that was seen before; with the lock held. One that is being written is
    /// put together for each look, so that it may be another copy.
    func isStill(_ seen: Seen?, _ key: UnsafeBufferPointer<UInt8>) throws(DefaultsError) -> Bool {
        guard let seen else { return true }
        return try lookUp(key, [], in: target) == seen.value
    }

    /// Whether the value is the stored one, without a change that waits; with the lock held.
    func isStored(
        _ value: PropertyList, _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>
    ) -> Bool {
        guard committing?.find(key) == nil, !isInDoubt, let stored = try? below(key, steps) else { return false }
        return stored == value
    }

    /// What a look at the file found.
    enum Look {
        case isUnchanged
        /// It has changed and is loaded now.
        case isLoaded
        /// It could not be read, or is being written.
        case isUnknown
    }

    /// Looks at the file, and loads it if it has changed: a set that equals what the file has need not be written. Does
    /// not wait for a flush.
    func lookAtFile() -> Look {
        // A transaction has the file's lock, and has looked.
        if !engine.isShared || lock.withLock({ isInTransaction }) { return .isUnchanged }
        guard writerLock.acquire(until: .after(.zero)) else { return .isUnknown }
        defer { writerLock.release() }
        if rowFormat == nil, engine.isCurrent { return .isUnchanged }
        do throws(DefaultsError) {
            let state = try refreshEngine(until: .after(.zero))
            try takeUp(state)
            if case .unchanged = state { return .isUnchanged }
            return .isLoaded
        } catch {
            // The flush reports it.
            return .isUnknown
        }
    }

    /// Throws the error that changes are refused with, if they are; with the lock held.
    func checkRefusal() throws(DefaultsError) {
        if isRefusing, let refusal { throw refusal }
    }

    /// Whether values may stay parts of the document that they came in: in a transaction that takes over its entries
    /// and is committed at once.
    private var mayShareDocuments: Bool {
        lock.withLock { isInTransaction && open.map { $0.isOneCall && $0.wholes > 0 } ?? false }
    }

    /// Removes a top-level key, or changes the unset paths alone; says whether anything changed. With immediate
    /// durability only inside of a transaction.
    ///
    /// - Parameter seen: what the change was made for; nil for anything.
    /// - Returns: nil, and nothing is changed, where the key has another value now.
    func remove(
        _ key: UnsafeBufferPointer<UInt8>, _ unset: UnsetChange?, ifStill seen: Seen? = nil,
        _ handle: HandleState
    ) throws(DefaultsError) -> Bool? {
        let (isThere, mustSchedule) = try lock.withLock { () throws(DefaultsError) -> (Bool?, Bool) in
            try checkRefusal()
            guard try isStill(seen, key) else { return (nil, false) }
            let target = self.target
            let newUnset = try changedUnsetList(unset, [.key(utf8: key)], in: target)
            let isThere = holds(key)
            guard isThere || newUnset != nil else { return (false, false) }
            if isThere {
                note(.zero - size(of: key, in: target, at: target.find(key)), in: target)
                target.remove(key)
            }
            setUnsetList(newUnset, in: target)
            return (true, noteChange(of: key))
        }
        if mustSchedule { Flusher.shared.schedule(self) }
        return isThere
    }

    /// Makes a change; with immediate durability over the latest file, in a transaction of its own: one that cannot be
    /// written has not happened, and is not kept.
    func atOnce<Result>(
        _ handle: HandleState, _ change: () throws(DefaultsError) -> Result
    ) throws(DefaultsError) -> Result {
        guard isImmediate else { return try change() }
        return try transaction(until: handle.deadline, isOneCall: true, change)
    }

    /// Whether a change of the calling thread has to be written before its call returns.
    var isImmediate: Bool { lock.withLock { handles.durability == .immediate && !isInTransaction } }

    /// Whether the key has a value, as the calling thread sees it; with the lock held. Puts no value together.
    func holds(_ key: UnsafeBufferPointer<UInt8>) -> Bool {
        let target = self.target
        if let index = target.find(key) { return !target.isRemoval(at: index) }
        if let committing, let index = committing.find(key) { return !committing.isRemoval(at: index) }
        if let committed, let index = committed.find(key) { return !committed.isRemoval(at: index) }
        return base[utf8: key] != nil || !damagedKeys.isEmpty && damagedKeys[Array(key)] != nil
    }

    /// Whether the value of a key is known without the stored one.
    private func isInMemory(_ key: UnsafeBufferPointer<UInt8>) -> Bool {
        committing?.find(key) != nil || committed?.find(key) != nil || base[utf8: key] != nil
    }

    /// The keys whose values are stored, and cannot be read.
    var unreadableKeys: [[UInt8]] {
        lock.withLock {
            damagedKeys.keys.filter { key in
                key.withUnsafeBufferPointer { target.find($0) == nil && !isInMemory($0) }
            }
        }
    }

    /// Counts a change, with the lock held; says whether the flushing thread has to be told of it.
    func noteChange(of key: UnsafeBufferPointer<UInt8>) -> Bool {
        generation &+= 1
        inbox.noteChange(of: key)
        // With immediate durability a change is made in a transaction, which commits it.
        guard target === delta, handles.durability != .manual, !isScheduled else { return false }
        isScheduled = true
        return true
    }
}

/// A key's value of the domain's own, as a change was computed from it.
struct Seen {
    /// nil for none.
    let value: PropertyList?
}
