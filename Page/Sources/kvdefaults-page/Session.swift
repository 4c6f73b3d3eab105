import Dispatch
import DomainAccess
import FlyingFox
import Glibc
import KVCodable

/// The store behind the page, and the state that the pages were told.
///
/// `@unchecked Sendable`: all that changes is touched on the session's queue alone.
final class Session: @unchecked Sendable {
    /// A setting as the page shows it.
    private struct Setting: Equatable {
        /// The value that counts, with the defaults in it.
        let value: PropertyList?
        /// The same value as it is stored, with which edits are merged.
        let stored: PropertyList?
        /// The value that the user has set, and the paths of what the user has taken away from lower layers.
        let own: PropertyList?, unset: [PropertyListPath]
        let parts: [LayerPart]
        /// The revision of the latest change.
        var revision: Int64 = 0
    }

    /// The largest value that is sent to a page, in bytes of JSON.
    private static let mostBytes = 256 << 10
    /// The most values in one, each of which has a control.
    private static let mostValues = 5000
    /// The deepest one: a message has it some levels deeper, and may have no more than a value.
    private static let mostLevels = PropertyListLimits().depth - 8
    /// The most pages at once, and events that one of them may be behind.
    private static let mostListeners = 32, mostEvents = 256
    /// The most bytes of values that one event has, and of events that wait for one page, as far as the latest tells.
    private static let mostTogether = 4 << 20, mostWaiting = 8 << 20

    let isReadOnly: Bool
    /// What the page is given with its text, and finds in the state again: where another program has taken the port of one
    /// that has ended, nothing is sent to it.
    let proof = Gate.secret()

    private let domain: Domain
    private var type: CodableType
    /// How many types were published one after the other, and which of them the pages were told of.
    private var typeNumber: Int64 = 1, toldNumber: Int64 = 1
    private var store: DefaultsStore
    /// The location of the store's file when it was opened.
    private var location: FileLocation?
    private let queue = DispatchQueue(label: "store")
    private var clocks: [any DispatchSourceProtocol] = []
    private var wakeUp: (any DispatchSourceProtocol)?
    private var watches: [DefaultsWatch] = []

    /// By their keys, which are apart by their bytes as steps: Swift takes strings for one that print alike.
    private var settings: [PropertyListPath.Step: Setting] = [:]
    private var keys: [String] {
        settings.keys.compactMap { if case .key(let key) = $0 { key } else { nil } }.sorted()
    }
    private var revision: Int64 = 0
    /// The store's own count of its changes, when it was looked at.
    private var generation: UInt64 = 0
    private var history = History()
    private var listeners: [Int: AsyncStream<[UInt8]>.Continuation] = [:]
    private var lastListener = 0
    private var fault: String?
    private var isUnreadable = false
    private var ticks = 0

    init(_ domain: Domain, isReadOnly: Bool) throws {
        self.domain = domain
        self.isReadOnly = isReadOnly
        let type = try domain.requiredType()
        self.type = type
        location = FileLocation(domain.file)
        store = try Self.open(domain, type, isReadOnly: isReadOnly)
        try about(domain.text, type) {
            try look(by: nil)
            try watch()
        }
        start()
    }

    private static func open(_ domain: Domain, _ type: CodableType, isReadOnly: Bool) throws -> DefaultsStore {
        // All pages wait while an edit waits for another program's lock.
        let timeout: Duration? = domain.file == nil ? nil : .seconds(2)
        return try isReadOnly ? domain.opened(type) : domain.openedForWriting(type, timeout: timeout)
    }

    private func watch() throws {
        // The first handler has nothing to do: the call alone counts.
        watches = [
            try store.watchStored(.everything) { _ in },
            try store.watchEvents { [weak self] event in
                if case .unreadable = event { self?.isUnreadable = true }
            },
        ]
        let change = DispatchSource.makeReadSource(fileDescriptor: try store.watchDescriptor(), queue: queue)
        change.setEventHandler { [weak self] in self?.takeUp() }
        // The descriptor is the store's, which must be there as long as the source is.
        let store = store
        change.setCancelHandler { try? store.close() }
        wakeUp = change
        change.resume()
    }

    private func start() {
        // A file that was not there when the watch began is looked for again.
        let clock = DispatchSource.makeTimerSource(queue: queue)
        clock.schedule(deadline: .now() + .milliseconds(500), repeating: .milliseconds(500))
        clock.setEventHandler { [weak self] in
            guard let self else { return }
            ticks += 1
            takeUp(looksAtType: ticks.isMultiple(of: 10))
        }
        let sign = DispatchSource.makeTimerSource(queue: queue)
        sign.schedule(deadline: .now() + .seconds(15), repeating: .seconds(15))
        sign.setEventHandler { [weak self] in self?.send(EventStream.sign) }
        clocks = [clock, sign]
        clock.resume()
        sign.resume()
    }

    private func onQueue<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in queue.async { continuation.resume(returning: body()) } }
    }

    // MARK: - Changes

    /// Opens the store anew where its type is another one now, or its folder, or where a link leads elsewhere, and tells
    /// the pages: nothing is shown or checked by an older type, nor from a folder that is gone.
    private func renew(looksAtType: Bool = true) throws {
        let type = looksAtType ? try publishedType() : self.type
        let newLocation = FileLocation(domain.file)
        let isNewType = looksAtType && type.schemaText != self.type.schemaText
        guard isNewType || newLocation != location else { return }
        guard newLocation != nil || location == nil else {
            throw Failure("The folder of its file is not there any more", of: domain.file)
        }
        if isNewType {
            self.type = type
            typeNumber += 1
        }
        // A step that fails is tried again.
        location = nil
        let store = try Self.open(domain, type, isReadOnly: isReadOnly)
        wakeUp?.cancel()
        self.store = store
        try watch()
        let keys = try look(by: nil)
        location = newLocation
        if toldNumber == typeNumber { return tell(keys) }
        toldNumber = typeNumber
        send(EventStream.event("state", Self.json(state())))
    }

    /// The type as it is published now. The fault of one is not told, which may quote the default of a secret.
    private func publishedType() throws -> CodableType {
        do {
            return try domain.requiredType()
        } catch let failure as Failure where failure.status == 1 {
            throw failure
        } catch {
            throw Failure("The published type cannot be read: kvdefaults types says why", of: domain.text)
        }
    }

    /// Takes up the changes of other programs, and tells the pages.
    ///
    /// - Parameter looksAtType: whether the type is read where nothing has changed, which takes a while.
    private func takeUp(looksAtType: Bool = false) {
        do {
            try renew(looksAtType: looksAtType || fault != nil)
            let calls = try store.pump()
            // A file that cannot be read is told once; that it can be read again is seen by reading it.
            if isUnreadable { try store.refresh() }
            isUnreadable = false
            guard calls > 0 || store.generation != generation || fault != nil else { return }
            try renew()
            let keys = try look(by: nil)
            tell(fault: nil)
            tell(keys)
        } catch let error as DefaultsError where error.code == .timedOut {
            // Another program is in the midst of writing: the next look is soon.
            usleep(20_000)
        } catch {
            tell(fault: words(of: error, type))
        }
    }

    /// Compares the store with the state that the pages were told, and notes the changes and the page that made them;
    /// gives the settings.
    @discardableResult
    private func look(by page: String?) throws -> [String] {
        generation = store.generation
        let present = try readSettings()
        let changed = Set(present.keys).union(settings.keys).filter { key in
            var new = present[key]
            new?.revision = settings[key]?.revision ?? 0
            return new != settings[key]
        }
        guard !changed.isEmpty else { return [] }
        revision += 1
        for case .key(let key) in changed {
            history.note(settings[.key(key)]?.stored, of: key, revision, by: page)
            settings[.key(key)] = present[.key(key)]
            settings[.key(key)]?.revision = revision
        }
        return changed.compactMap { if case .key(let key) = $0 { key } else { nil } }.sorted()
    }

    private func readSettings() throws -> [PropertyListPath.Step: Setting] {
        let all = try store.snapshot()
        let stored = try store.stored(at: [])
        let own = try store.dictionary(of: .application)
        let unset = Self.unsetPaths(in: own)
        let parts = try LayerPart.all(of: store, type)
        var present: [PropertyListPath.Step: Setting] = [:]
        for case .key(let key) in Set(all.keys.map(PropertyListPath.Step.key)).union(unset.keys) {
            present[.key(key)] = Setting(
                value: all[key], stored: stored?[key], own: own[key], unset: unset[.key(key)] ?? [],
                parts: parts[.key(key)] ?? [])
        }
        return present
    }

    /// The paths that the user has taken away from lower layers, by their top-level keys.
    private static func unsetPaths(in own: PropertyList) -> [PropertyListPath.Step: [PropertyListPath]] {
        let paths = own["KVUnset"]?.elements.map { $0.elements.compactMap(\.string).map(PropertyListPath.Step.key) }
        return Dictionary(grouping: (paths ?? []).filter { !$0.isEmpty }.map { PropertyListPath($0) }) { $0.steps[0] }
    }

    // MARK: - Pages

    /// A stream that begins with all there is. Of too many the oldest ends, which may be of a page that is gone.
    func listen() async -> AsyncStream<[UInt8]> {
        await onQueue { [self] in
            if listeners.count >= Self.mostListeners, let oldest = listeners.keys.min() {
                listeners.removeValue(forKey: oldest)?.finish()
            }
            do { try renew() } catch { tell(fault: words(of: error, type)) }
            let (stream, continuation) = AsyncStream.makeStream(
                of: [UInt8].self, bufferingPolicy: .bufferingOldest(Self.mostEvents))
            lastListener += 1
            let number = lastListener
            continuation.onTermination = { [weak self] _ in
                guard let self else { return }
                queue.async { self.listeners[number] = nil }
            }
            listeners[number] = continuation
            continuation.yield(EventStream.event("state", Self.json(state())))
            if let fault { continuation.yield(EventStream.event("fault", Self.json(["message": PropertyList(fault)]))) }
            return stream
        }
    }

    /// The first event: the type and every setting.
    private func state() -> [String: PropertyList] {
        var state = Form.of(type)
        state["proof"] = PropertyList(proof)
        state["newID"] = PropertyList(InitialValues.newID)
        state["domain"] = PropertyList(domain.text)
        state["file"] = store.file.map { PropertyList($0) }
        state["readOnly"] = PropertyList(isReadOnly)
        state["revision"] = PropertyList(revision)
        state["typeNumber"] = PropertyList(typeNumber)
        state["keys"] = entries(of: keys)
        return state
    }

    private func tell(_ keys: [String]) {
        guard !keys.isEmpty else { return }
        send(EventStream.event("change", Self.json(["keys": entries(of: keys)])))
    }

    /// Tells that the store cannot be read, and that it can again.
    private func tell(fault: String?) {
        guard fault != self.fault else { return }
        self.fault = fault
        send(EventStream.event("fault", Self.json(fault.map { ["message": PropertyList($0)] } ?? [:])))
    }

    /// A page that is too far behind begins anew.
    private func send(_ event: [UInt8]) {
        for continuation in listeners.values {
            if case .enqueued(let room) = continuation.yield(event),
                (Self.mostEvents - room) * event.count <= Self.mostWaiting
            {
                continue
            }
            continuation.finish()
        }
    }

    private func entries(of keys: [String]) -> PropertyList {
        var room = Self.mostTogether
        return (try? PropertyList(entries: keys.map { ($0, entry(of: $0, &room)) })) ?? [:]
    }

    /// - Parameter room: the bytes that values may still have in the event.
    private func entry(of key: String, _ room: inout Int) -> PropertyList {
        guard let setting = settings[.key(key)] else { return ["revision": PropertyList(revision)] }
        let path: PropertyListPath = [.key(key)]
        var entry: [String: PropertyList] = ["revision": PropertyList(setting.revision)]
        do {
            entry["value"] = try shown(setting.value, path, &room)
            entry["own"] = try shown(setting.own, path, &room)
        } catch {
            (entry["value"], entry["own"]) = (nil, nil)
            entry["hidden"] = PropertyList(words(of: error, type))
            if setting.own != nil { entry["hasOwn"] = true }
        }
        let isHidden = entry["hidden"] != nil
        entry["unset"] = PropertyList(isHidden ? [] : setting.unset.map(Self.keys(of:)))
        entry["parts"] = PropertyList(
            setting.parts.filter { !isHidden || $0.path == path }.map { part in
                var words = ["path": Self.keys(of: part.path), "layer": PropertyList(part.layer.word)]
                words["file"] = part.file.map { PropertyList($0) }
                // A value that is too large is no text for people.
                words["value"] = try? shown(part.value, part.path, &room)
                return PropertyList(words)
            })
        return PropertyList(entry)
    }

    /// The keys of a path, as a page knows them. These paths lead into no lists.
    private static func keys(of path: PropertyListPath) -> PropertyList {
        PropertyList(path.steps.compactMap { if case .key(let key) = $0 { PropertyList(key) } else { nil } })
    }

    /// The value as a page may see it: without secrets, and not too large.
    private func shown(_ value: PropertyList?, _ path: PropertyListPath, _ room: inout Int) throws -> PropertyList? {
        guard let value else { return nil }
        let form = try Values.masked(value, type, at: path).jsonForm()
        let count = try form.serialized(as: .json).count
        guard count <= Self.mostBytes else { throw Failure("Its value is too large to be shown here: \(count) bytes") }
        var values = Self.mostValues
        guard Self.isSmall(form, Self.mostLevels, &values) else {
            throw Failure("Its value is too \(values < 0 ? "large" : "deep") to be shown here")
        }
        guard count <= room else { throw Failure("Its value is not shown here: all together are too large") }
        room -= count
        return form
    }

    /// - Parameter values: how many there may still be; below 0 where there are more.
    private static func isSmall(_ value: PropertyList, _ levels: Int, _ values: inout Int) -> Bool {
        values -= 1
        guard values >= 0 else { return false }
        return switch value.kind {
        case .array: levels > 0 && value.elements.allSatisfy { isSmall($0, levels - 1, &values) }
        case .dictionary: levels > 0 && value.entries.allSatisfy { isSmall($0.1, levels - 1, &values) }
        default: true
        }
    }

    /// The entries of a message, in which values have JSON's form already.
    private static func json(_ entries: [String: PropertyList]) -> [UInt8] {
        (try? PropertyList(entries).serialized(as: .json)) ?? Array("{}".utf8)
    }

    // MARK: - Edits

    /// An answer to an edit: `keys` has the settings as they are now.
    struct Answer {
        let status: HTTPStatusCode
        let body: [UInt8]
    }

    func make(_ edit: Edit) async -> Answer {
        await onQueue { [self] in
            var keys: [String] = []
            do {
                try renew()
                try store.transaction { transaction in
                    keys = try look(by: nil)
                    try merge(edit, in: transaction)
                }
                tell(keys)
                keys = try look(by: edit.page)
                tell(keys)
                return answer(.ok, edit, nil)
            } catch {
                tell(keys)
                if error is Conflict { return answer(.conflict, edit, "Another program has changed this meanwhile") }
                return answer(.unprocessableContent, edit, message(error, edit))
            }
        }
    }

    /// Merges an edit of what its page saw with the setting as it is now.
    private func merge(_ edit: Edit, in transaction: DefaultsTransaction) throws {
        guard case .key(let key)? = edit.path.steps.first else { return }
        func tree(_ value: PropertyList?) throws -> PropertyList {
            try PropertyList(entries: value.map { [(key, $0)] } ?? [])
        }
        let setting = settings[.key(key)]
        let ancestor = try tree(history.ancestor(of: edit, present: setting?.stored, setting?.revision))
        let ours = try edit.applied(to: ancestor, type)
        let conflicts =
            edit.isReset
            ? try PropertyList.merge(ancestor: ancestor, ours: ours, theirs: try tree(setting?.stored)).conflicts
            : try transaction.merge(ancestor: ancestor, ours: ours)
        guard conflicts.isEmpty else { throw Conflict() }
        if edit.isReset { try transaction.reset(at: edit.path) }
    }

    private func answer(_ status: HTTPStatusCode, _ edit: Edit, _ message: String?) -> Answer {
        var body: [String: PropertyList] = [:]
        body["message"] = message.map { PropertyList($0) }
        if case .key(let key)? = edit.path.steps.first { body["keys"] = entries(of: [key]) }
        return Answer(status: status, body: Self.json(body))
    }

    /// The words of an error; not those that would tell a secret.
    private func message(_ error: any Error, _ edit: Edit) -> String {
        guard let member = type.member(at: edit.path), mayQuote(error),
            member.words.isSecret || error is PropertyListError && Values.holdsSecrets(member.type)
        else { return words(of: error, type) }
        return "Expected \(member.type)"
    }

    /// Whether the text of an error may quote the value that was found.
    private func mayQuote(_ error: any Error) -> Bool {
        guard let error = error as? DefaultsError else { return error is TypeError || error is PropertyListError }
        return [.typeMismatch, .invalidValue, .refused, .pathMismatch, .limitExceeded].contains(error.code)
    }
}
