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

/// What the handles on one file share in a process: the file's values with the changes over them, and the right to
/// write.
///
/// `lock` guards what readers and sets need, and is never held across a system call. `writerLock` guards the engine and
/// is taken before `lock`. The stored values change only under both. `@unchecked Sendable` rests on these rules.
final class Domain: @unchecked Sendable {
    /// Replaced only in a child process, during the fork.
    private(set) var engine: any StorageEngine
    let file: String?
    /// The folder that the file was in at first.
    let home: FileIdentity?
    let lock = Lock()
    let writerLock = WriterLock()

    // Guarded by `lock`. Those that each set looks at are not checked a second time by Swift.
    let box = StateBox(State(StoredValues(emptyDictionary)))
    @exclusivity(unchecked) var generation: UInt64 = 1
    @exclusivity(unchecked) var open: OpenTransaction?
    @exclusivity(unchecked) var handles = OpenHandles()
    /// Whether the flusher has been told of changes.
    @exclusivity(unchecked) var isScheduled = false
    @exclusivity(unchecked) var health = Health.new
    /// Of all handles together.
    private(set) var options: EngineOptions
    var rules: ValueRules
    /// Where the file is now; nil without one.
    var place: FilePlace?
    @exclusivity(unchecked) var inbox = EventInbox()

    /// Makes a domain that knows nothing of its file until ``load(until:)``.
    init(_ engine: any StorageEngine, file: String?) {
        self.engine = engine
        self.file = file
        place = engine.watchedFolder.map { FilePlace($0) }
        home = (try? engine.watchedFolder?.descriptor.status()).map { FileIdentity($0) }
        rules = ValueRules(engine)
        options = engine.options
        engine.report = { [weak self] event in self?.tell(event) }
        // The exit closes a database.
        if engine.rowFormat != nil { Flusher.shared.attendExit() }
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
    func extend(_ options: EngineOptions) { lock.withLock { self.options.formUnion(options) } }

    func tell(_ event: DefaultsEvent) {
        lock.withLock { inbox.append(event) }
        // Changes that the file does not take may have to be kept when the program ends.
        if case .unreadable = event { Flusher.shared.attendExit() }
    }

    /// Whether the error was told as an event already.
    func hasTold(_ error: DefaultsError) -> Bool { lock.withLock { health.unreadable == error } }
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
        return try lookUp(key, steps)
    }

    /// The values that the calling thread sees and changes: its transaction's, if it has one open. With the lock held.
    var target: StateBox {
        guard let open, open.thread == cs_thread_number() else { return box }
        return open.box
    }

    /// As `value`, with the lock held.
    func lookUp(
        _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step> = []
    ) throws(DefaultsError) -> PropertyList? {
        do throws(PropertyListError) {
            return try target.state.collapsedValue(key, steps)
        } catch {
            throw DefaultsError(error, file: file)
        }
    }

    /// The values as the calling thread sees them now.
    var state: State { lock.withLock { target.state } }

    /// The values without those of an open transaction. With the lock held.
    var mine: State {
        get { box.state }
        set { box.state = newValue }
    }

    /// The domain's dictionary as a whole, as the calling thread sees it.
    func snapshot() throws(DefaultsError) -> PropertyList {
        let state = self.state
        return try translating { () throws(PropertyListError) in try state.whole() }
    }

    /// The keys of all values, those included that cannot be read.
    func allKeys() throws(DefaultsError) -> [String] {
        try snapshot().keys + state.unreadableKeys.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether the calling thread has a transaction open; with the lock held.
    var isInTransaction: Bool { open.map { $0.thread == cs_thread_number() } ?? false }

    /// Whether the calling thread's transaction is a migration; with the lock held.
    var isMigrating: Bool { isInTransaction && open.map { $0.migrated != nil && !$0.isChecked } ?? false }

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
            let newUnset = try changedUnsetList(unset, [.key(utf8: key)])
            let target = self.target
            let change = target.state.changes[key]
            if unlessEqual, newUnset == nil, change == nil, isStored(value, key, []) { return nil }
            let growth = State.size(of: value, key) - State.size(of: key, change, target.state.stored)
            try checkQuotas(setting: value, at: [], of: key, growth, handle, [.key(utf8: key)])
            try checkLimits(growth, handle, at: [.key(utf8: key)])
            target.state.set(value, for: key, growth: growth)
            setUnsetList(newUnset)
            return noteChange()
        }
        guard let mustSchedule else { return false }
        if mustSchedule { Flusher.shared.schedule(self) }
        return true
    }

    /// Whether the calling thread sees the value that was seen before; with the lock held. One that is being written is
    /// put together for each look, so that it may be another copy.
    func isStill(_ seen: Seen?, _ key: UnsafeBufferPointer<UInt8>) throws(DefaultsError) -> Bool {
        guard let seen else { return true }
        return try lookUp(key) == seen.value
    }

    /// Whether the value is the stored one; with the lock held. No change of the key may wait.
    func isStored(
        _ value: PropertyList, _ key: UnsafeBufferPointer<UInt8>, _ steps: ArraySlice<PropertyListPath.Step>
    ) -> Bool {
        !health.owesWriting && target.state.stored[key]?.value(atSteps: steps) == value
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
        if engine.watchedFolder == nil || lock.withLock({ isInTransaction }) { return .isUnchanged }
        guard writerLock.acquire(until: .after(.zero)) else { return .isUnknown }
        defer { writerLock.release() }
        if engine.rowFormat == nil, engine.isCurrent { return .isUnchanged }
        do throws(DefaultsError) {
            return try look(until: .after(.zero)) ? .isLoaded : .isUnchanged
        } catch {
            // The flush reports it.
            return .isUnknown
        }
    }

    /// Throws the error that changes are refused with, if they are; with the lock held.
    func checkRefusal() throws(DefaultsError) {
        if case .refusing(let refusal, _) = health { throw refusal }
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
            let newUnset = try changedUnsetList(unset, [.key(utf8: key)])
            let isThere = target.state.holds(key)
            guard isThere || newUnset != nil else { return (false, false) }
            if isThere { target.state.set(nil, for: key) }
            setUnsetList(newUnset)
            return (true, noteChange())
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

    /// Counts a change, with the lock held; says whether the flushing thread has to be told of it.
    func noteChange() -> Bool {
        generation &+= 1
        inbox.wake()
        // With immediate durability a change is made in a transaction, which commits it.
        guard !isScheduled, !isInTransaction, handles.durability != .manual else { return false }
        isScheduled = true
        return true
    }
}

/// A key's value of the domain's own, as a change was computed from it.
package struct Seen {
    /// nil for none.
    let value: PropertyList?
}

/// What stands in the way of a store's file.
enum Health {
    /// The file has not been looked at.
    case new
    case good
    /// The last commit is visible, but a power failure may undo it: the file is written once more.
    case owing
    /// It is not known whether these changes were written. The engine finds it out.
    indirect case doubtful(State)
    /// The file cannot be read. An event has told it.
    indirect case unreadable(DefaultsError)
    /// Nothing can be written: each change is refused. The file may be unreadable as well.
    indirect case refusing(DefaultsError, unreadable: DefaultsError?)

    /// Whether a flush has something to do without a change.
    var owesWriting: Bool {
        switch self {
        case .owing, .doubtful: true
        default: false
        }
    }

    var unreadable: DefaultsError? {
        switch self {
        case .unreadable(let error): error
        case .refusing(_, let error): error
        default: nil
        }
    }
}

/// The handles that are open on a domain.
struct OpenHandles {
    /// The number for each durability.
    private var counts = [0, 0, 0]
    /// The strictest durability.
    private(set) var durability = DefaultsDurability.manual
    /// The schemas, with the layers below that the handles have.
    private(set) var schemas: [LowerLayers] = []

    var isEmpty: Bool { counts.allSatisfy { $0 == 0 } }

    mutating func add(_ durability: DefaultsDurability, _ lower: LowerLayers) {
        count(durability, 1)
        if lower.schema != nil { schemas.append(lower) }
    }

    mutating func remove(_ durability: DefaultsDurability, _ lower: LowerLayers) {
        count(durability, -1)
        if let index = schemas.firstIndex(where: { $0 === lower }) { schemas.remove(at: index) }
    }

    private mutating func count(_ durability: DefaultsDurability, _ step: Int) {
        counts[durability.rawValue] += step
        self.durability = DefaultsDurability.allCases.last { counts[$0.rawValue] > 0 } ?? .manual
    }
}
