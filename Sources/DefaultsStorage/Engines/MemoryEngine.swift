internal import PropertyLists

/// Keeps nothing: for tests and scratch. Committed values live in the domain alone.
final class MemoryEngine: StorageEngine, @unchecked Sendable {
    let format: PropertyListFormat

    init(format: PropertyListFormat) {
        self.format = format
    }

    var options = EngineOptions()
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
    func commit(_ state: State) -> PropertyList? { nil }
    func prepareFork() {}
    func resetAfterFork() {}
    func keepCopy(named suffix: String) {}
}
