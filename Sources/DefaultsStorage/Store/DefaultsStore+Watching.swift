internal import CKVSystem
internal import Glibc
public import PropertyLists

/// The part of a store that a watch looks at.
///
/// ```swift
/// let watch = try store.watch(.subtree(["ui", "window"])) { change in
///     print(change.path)  // ui.window.width
/// }
/// ```
public enum DefaultsScope: Sendable, Hashable {
    /// The value at a path, as a whole.
    case value(PropertyListPath)
    /// Each path below one, down to values that are no dictionaries.
    case subtree(PropertyListPath)
    /// Each top-level key.
    case everything
}

/// A watch on a store; ends when it is cancelled or the store is closed.
///
/// ```swift
/// let watch = try store.watch(.value(["volume"])) { change in print(change.new?.integer ?? 0) }
/// var wakeUp = pollfd(fd: try store.watchDescriptor(), events: Int16(POLLIN), revents: 0)
/// poll(&wakeUp, 1, -1)
/// print(try store.pump(), "calls of the handler")
/// watch.cancel()
/// ```
public final class DefaultsWatch: Sendable {
    private let list: WatchList
    private let number: Int

    init(_ list: WatchList, _ number: Int) {
        self.list = list
        self.number = number
    }

    /// Ends the watch. Its handler is not called any more, except by a pump that runs already on another thread.
    public func cancel() { list.remove(number) }
}

extension DefaultsStore {
    /// Watches the effective values of `scope`. ``pump()`` calls `handler`, on the thread that pumps, for changes of
    /// this process and of others: once for each difference since the last time, however many changes led there.
    ///
    /// The system is asked to report changes of the file from the first watch on.
    ///
    /// Under a schema of types paths name keys as they are stored, and values are told as their types show them: a
    /// change that the type does not see is not told. One that is not of its type is an error of ``pump()``, when the
    /// other watches have been told.
    public func watch(
        _ scope: DefaultsScope, _ handler: @escaping @Sendable (DefaultsChange) -> Void
    ) throws(DefaultsError) -> DefaultsWatch {
        try watch(scope, by: types, handler)
    }

    /// As ``watch(_:_:)``, with the values told as they are stored, and the schema's defaults in them.
    public func watchStored(
        _ scope: DefaultsScope, _ handler: @escaping @Sendable (DefaultsChange) -> Void
    ) throws(DefaultsError) -> DefaultsWatch {
        try watch(scope, by: nil, handler)
    }

    private func watch(
        _ scope: DefaultsScope, by types: (any DefaultsSchemaTypes)?,
        _ handler: @escaping @Sendable (DefaultsChange) -> Void
    ) throws(DefaultsError) -> DefaultsWatch {
        let list = try watches()
        return DefaultsWatch(list, list.add(Watch(scope, by: types, from: try states(), handler)))
    }

    /// Has ``pump()`` call `handler` with the events of the store, also with those from before the first watch.
    public func watchEvents(
        _ handler: @escaping @Sendable (DefaultsEvent) -> Void
    ) throws(DefaultsError) -> DefaultsWatch {
        let list = try watches()
        return DefaultsWatch(list, list.add(Watch(eventHandler: handler)))
    }

    /// A descriptor that is readable, for poll and its kin, when ``pump()`` may have something to tell. It belongs to
    /// the store and is valid until the store is closed.
    public func watchDescriptor() throws(DefaultsError) -> Int32 { try watches().descriptor }

    /// Takes up the changes of others and calls the handlers of the watches with the differences; gives the number of
    /// calls. An error of one watch is thrown when all were told.
    ///
    /// Without a watch it takes up changes alone, at most every 100 milliseconds.
    ///
    /// Never waits for a program that has the store locked. The time depends on the changes and not on the store's
    /// size, but for a property-list file that another process wrote: that is loaded as a whole.
    @discardableResult
    public func pump() throws(DefaultsError) -> Int {
        try checkOpen()
        guard let list = domain.lock.withLock({ state.watches }) else {
            try lookUnwatched()
            return 0
        }
        if list.takeWakeUp(watchedFiles) {
            try lookWithoutWaiting(list)
            list.forgetWakeUp()
        }
        var events = domain.lock.withLock { domain.inbox.drain(list.identity) }
        for layer in layers.domains { events += layer.lock.withLock { layer.inbox.drain(list.identity) } }
        var calls = 0
        for event in events {
            for watch in list.watches { calls += watch.tell(event) }
        }
        let states = try states()
        var failure: DefaultsError?
        for watch in list.watches {
            do throws(DefaultsError) {
                calls += try watch.tell(of: states, in: self)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return calls
    }

    /// Waits until there is something to tell, for `timeout` at most, and pumps: for a program without a loop of its
    /// own. Gives the number of calls: 0 when the time is over, and when a signal came, which the program may be
    /// waiting for.
    @discardableResult
    public func wait(for timeout: Duration) throws(DefaultsError) -> Int {
        let deadline = Deadline.after(timeout)
        while true {
            let calls = try pump()
            guard calls == 0, !deadline.hasPassed else { return calls }
            if cs_wait_readable(try watches().descriptor, deadline.remaining) < 0 { return 0 }
        }
    }

    /// Takes up the changes of others where nothing tells of them: at most every 100 milliseconds.
    private func lookUnwatched() throws(DefaultsError) {
        let isDue = domain.lock.withLock {
            guard state.nextLook.hasPassed else { return false }
            state.nextLook = .after(.milliseconds(100))
            return true
        }
        if isDue { try lookWithoutWaiting(nil) }
    }

    /// Takes up the changes of others, unless another thread is doing so: then the next pump looks again.
    private func lookWithoutWaiting(_ list: WatchList?) throws(DefaultsError) {
        do throws(DefaultsError) {
            try refresh(until: .after(.zero))
        } catch {
            list?.lookAgain(isSoon: error.code == .timedOut)
            let isTold = ([domain] + layers.domains).contains { $0.hasTold(error) }
            guard error.code == .timedOut || isTold else { throw error }
        }
    }

    private func watches() throws(DefaultsError) -> WatchList {
        if let list = try domain.lock.withLock({ () throws(DefaultsError) in
            try state.checkOpen()
            return state.watches
        }) {
            return list
        }
        let new = try WatchList(watchedFiles)
        for layer in layers.domains {
            layer.lock.withLock {
                layer.inbox.subscribeToChanges(new.identity, new)
            }
        }
        let list = domain.lock.withLock {
            if let list = state.watches { return list }
            state.watches = new
            domain.inbox.subscribe(new.identity, new)
            return new
        }
        if list !== new { unsubscribe(new) }
        return list
    }

    private var watchedFiles: [WatchedFile] { ([domain] + layers.domains).compactMap { $0.watchedFile } }

    private func unsubscribe(_ list: WatchList) {
        for domain in [domain] + layers.domains { domain.lock.withLock { domain.inbox.unsubscribe(list.identity) } }
    }

    func stopWatching() {
        let list = domain.lock.withLock {
            defer { state.watches = nil }
            return state.watches
        }
        guard let list else { return }
        unsubscribe(list)
        list.removeAll()
    }
}

extension Domain {
    fileprivate var watchedFile: WatchedFile? {
        lock.withLock { place }.map { WatchedFile(folder: $0.folder, isDatabase: engine.rowFormat != nil) }
    }
}
