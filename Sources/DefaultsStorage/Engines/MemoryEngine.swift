internal import PropertyLists

/// Keeps nothing: for tests and scratch. Committed values live in the domain alone.
final class MemoryEngine: StorageEngine {
    let format: PropertyListFormat

    init(format: PropertyListFormat) {
        self.format = format
    }

    var isShared: Bool { false }
    var isReadOnly: Bool { false }
    var watchedFolder: StoreFolder? { nil }
    var isCurrent: Bool { true }
    var refusal: DefaultsError? { nil }

    var report: (@Sendable (DefaultsEvent) -> Void)? {
        get { nil }
        set {}
    }

    func refresh(over memory: () throws(DefaultsError) -> PropertyList, until deadline: Deadline) -> EngineState {
        .unchanged
    }
    func lock(until deadline: Deadline) -> Bool { false }
    func unlock() {}
    func commit(_ delta: Delta, over base: PropertyList) -> CommitOutcome { .committed }
    func prepareFork() {}
    func resetAfterFork() {}
    func keepCopy(named suffix: String) {}
}
