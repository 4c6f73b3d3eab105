internal import PropertyLists

/// A store of a fleet that a handle searches as one of its layers.
///
/// Without a schema it has the server's state. Under one the handle goes from one state that fits to the next: a
/// revision with a wrong value reaches no program, and is told once. The server's thread looks at each state that it
/// takes up, and keeps the last one that fits on the machine, for this program alone: others may have another schema.
/// The program has it when it is started again.
///
/// `@unchecked Sendable`: the variables are guarded by the domain's lock.
final class FleetLayer: @unchecked Sendable {
    let domain: Domain
    /// The store's name.
    let name: String
    private let schema: DefaultsSchema?
    private let cache: ServerCache?
    /// The program, by the name of its own store.
    private let program: String
    /// The last state that fitted the schema; empty before the first.
    private var accepted = emptyDictionary
    /// The domain's generation that was looked at last; 0 for none.
    private var generation: UInt64 = 0
    private var acceptedRevision: Int64?
    /// How often the server had gone back when it had that one.
    private var acceptedReturns = 0
    /// The state that `cache` holds. Used by the server's thread alone.
    private var kept: (revision: Int64, returns: Int)?
    /// The event of the state that was looked at last, where that is refused.
    private var refusal: DefaultsEvent?
    private var news: [DefaultsEvent] = []
    /// Whether the keys that have changed are more than those of the last revision.
    private var hasJumped = false

    init(_ domain: Domain, _ name: String, _ schema: DefaultsSchema?, of program: String) {
        self.domain = domain
        self.name = name
        self.schema = schema
        self.program = program
        let address = (domain.engine as? PostgreSQLEngine)?.server.address
        cache = schema == nil ? nil : address.flatMap { ServerCache($0, name, .accepted(by: program)) }
        server?.add(self)
    }

    deinit {
        keep()
        server?.remove(self)
    }

    private var server: PostgreSQLServer? { (domain.engine as? PostgreSQLEngine)?.server }

    /// The revision that values are of.
    var revision: Int64? { domain.lock.withLock { schema == nil ? domain.revision : acceptedRevision } }

    func value(_ key: UnsafeBufferPointer<UInt8>) throws(DefaultsError) -> PropertyList? {
        guard schema != nil else { return try domain.value(key) }
        return try current()[utf8: key]
    }

    func contains(_ key: UnsafeBufferPointer<UInt8>) throws(DefaultsError) -> Bool {
        guard schema != nil else { return try domain.contains(key) }
        return try current()[utf8: key] != nil
    }

    func snapshot() throws(DefaultsError) -> PropertyList {
        guard schema != nil else {
            tell()
            return try domain.snapshot()
        }
        return try current()
    }

    /// Looks whether the present state fits; gives the events since the last time, and whether any key may be another.
    func drain() throws(DefaultsError) -> (events: [DefaultsEvent], isEverything: Bool) {
        if schema != nil { _ = try current() } else { tell() }
        return domain.lock.withLock {
            defer {
                news = []
                hasJumped = false
            }
            return (news, hasJumped)
        }
    }

    /// Looks at the state that the server's thread took up.
    func look() {
        if schema != nil { _ = try? current() } else { tell() }
    }

    /// Keeps the last state that fits. Of the server's thread, while it is there.
    func keep() {
        let (values, revision, returns) = domain.lock.withLock { (accepted, acceptedRevision, acceptedReturns) }
        guard let cache, let revision, kept?.revision != revision || kept?.returns != returns else { return }
        let isBack = returns > kept?.returns ?? 0
        let isWritten: Void? = try? cache.write(
            values, Revision(number: revision), isBack: isBack, domain.engine.limits)
        if isWritten != nil { kept = (revision, returns) }
    }

    /// Has the server told which revision the program uses. Without the domain's lock.
    private func tell() {
        let report = domain.lock.withLock {
            var refused: FleetReport.Refusal?
            if case .refusedRevision(_, let number, let error)? = refusal {
                refused = FleetReport.Refusal(revision: number, error: error)
            }
            let revision = schema == nil ? domain.revision : acceptedRevision
            return FleetReport(store: name, program: program, revision: revision ?? 0, refusal: refused)
        }
        server?.tell(report, of: self)
    }

    /// The last state that fits. Each one is checked once, by the first thread that asks.
    private func current() throws(DefaultsError) -> PropertyList {
        if let known = domain.lock.withLock({ generation == domain.generation ? accepted : nil }) { return known }
        let found = try domain.numberedSnapshot()
        let event = refusal(of: found)
        let isFirst = domain.lock.withLock { generation == 0 }
        let old = event != nil && isFirst ? fromBefore() : nil
        defer { tell() }
        return domain.lock.withLock {
            guard found.generation > generation else { return accepted }
            if let old { (accepted, acceptedRevision) = (old.values, old.revision.number) }
            generation = found.generation
            if let event {
                if event != refusal { news.append(event) }
            } else {
                hasJumped = hasJumped || refusal != nil
                accepted = found.list
                acceptedRevision = found.revision
                acceptedReturns = found.returns
            }
            refusal = event
            return accepted
        }
    }

    /// The values that the schema accepted when the program ran before.
    private func fromBefore() -> (values: PropertyList, revision: Revision)? {
        guard let found = try? cache?.read(domain.engine.limits) else { return nil }
        do throws(DefaultsError) {
            try schema?.check(found.values)
            return found
        } catch {
            return nil
        }
    }

    private func refusal(of found: NumberedSnapshot) -> DefaultsEvent? {
        do throws(DefaultsError) {
            if let damage = found.damage { throw damage }
            try schema?.check(found.list)
            return nil
        } catch {
            return .refusedRevision(store: name, revision: found.revision ?? 0, error)
        }
    }
}

/// A domain's dictionary, and the generation and revision that it is of.
private struct NumberedSnapshot {
    let list: PropertyList
    let generation: UInt64
    /// The revision that the engine saw last; nil where it counts none.
    let revision: Int64?
    /// How often the engine was found to have gone back.
    let returns: Int
    /// The error of a value that cannot be read, and is not in the dictionary.
    let damage: DefaultsError?
}

extension Domain {
    fileprivate func numberedSnapshot() throws(DefaultsError) -> NumberedSnapshot {
        while true {
            let (before, revision, returns, damaged) = lock.withLock {
                (generation, self.revision, self.returns, damagedKeys)
            }
            let list = try snapshot()
            // Where a change came between the two looks, both are made again.
            guard lock.withLock({ generation == before }) else { continue }
            let first = damaged.min { $0.key.lexicographicallyPrecedes($1.key) }
            return NumberedSnapshot(
                list: list, generation: before, revision: revision, returns: returns,
                damage: first.map { DefaultsError($0.value.inRow(of: $0.key)) })
        }
    }
}
