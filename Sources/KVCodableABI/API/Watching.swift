public import CKVCodable
internal import DefaultsStorage
internal import PropertyLists

/// The object behind a `kv_watch`.
private final class WatchHandle {
    let watch: DefaultsWatch

    init(_ watch: DefaultsWatch) {
        self.watch = watch
    }
}

/// A program's pointer that goes with its handler. `@unchecked Sendable`: the library only hands it back, on the thread
/// that pumps or changes.
struct Context: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer?
}

/// Lends a path as the header's steps for the time of the call.
func lend<Result>(
    _ path: PropertyListPath, _ body: (UnsafeBufferPointer<kv_step>) -> Result
) -> Result {
    let texts = path.steps.map(ErrorHandle.Step.init)
    let steps = texts.map(\.borrowed)
    return withExtendedLifetime(texts) { steps.withUnsafeBufferPointer(body) }
}

@c @implementation public func kv_store_watch(
    _ store: OpaquePointer?, _ steps: UnsafePointer<kv_step>?, _ count: Int, _ scope: kv_scope,
    _ handler: kv_watch_handler?, _ context: UnsafeMutableRawPointer?, _ watch: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        guard let handler else { throw Failure.invalidArgument("handler is NULL") }
        guard let watch else { throw Failure.invalidArgument("watch is NULL") }
        let path = try path(steps, count)
        let context = Context(pointer: context)
        let tell: @Sendable (DefaultsChange) -> Void = { change in
            let old = change.old.map { Handle.give(TreeHandle($0)) }
            let new = change.new.map { Handle.give(TreeHandle($0)) }
            lend(change.path) { handler(context.pointer, $0.baseAddress, $0.count, old, new) }
            kv_tree_free(old)
            kv_tree_free(new)
        }
        let found =
            if scope == KV_SCOPE_STORED {
                try store.watchStored(path.isEmpty ? .everything : .value(path), tell)
            } else {
                try store.watch(try KVCodableABI.scope(scope, path), tell)
            }
        watch.pointee = Handle.give(WatchHandle(found))
        return KV_OK
    }
}

private func scope(_ scope: kv_scope, _ path: PropertyListPath) throws(Failure) -> DefaultsScope {
    switch scope {
    case KV_SCOPE_VALUE: .value(path)
    case KV_SCOPE_SUBTREE: path.isEmpty ? .everything : .subtree(path)
    default: throw .invalidArgument("\(scope.rawValue) is no kv_scope")
    }
}

@c @implementation public func kv_store_watch_events(
    _ store: OpaquePointer?, _ handler: kv_event_handler?, _ context: UnsafeMutableRawPointer?,
    _ watch: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        guard let handler else { throw Failure.invalidArgument("handler is NULL") }
        guard let watch else { throw Failure.invalidArgument("watch is NULL") }
        let context = Context(pointer: context)
        let found = try store.watchEvents { event in
            let (kind, message) = described(event)
            let text = NulTerminatedText(message)
            handler(context.pointer, kind, text.borrowed)
            withExtendedLifetime(text) {}
        }
        watch.pointee = Handle.give(WatchHandle(found))
        return KV_OK
    }
}

private func described(_ event: DefaultsEvent) -> (kv_event, String) {
    switch event {
    case .flushFailed(let error): (KV_EVENT_FLUSH_FAILED, error.description)
    case .unreadable(let error): (KV_EVENT_UNREADABLE, error.description)
    case .recovered(let file, let quarantine, let source):
        (KV_EVENT_RECOVERED, "\(file) was damaged: it is kept as \(quarantine), \(described(source)) took its place")
    case .unrecoverable(let error): (KV_EVENT_UNRECOVERABLE, error.description)
    case .outgrown(let file, let keys, let bytes):
        (KV_EVENT_OUTGROWN, "\(file) has \(keys) keys and \(bytes) bytes, which every durable write costs")
    case .overLimit(let file, let nodes, let bytes):
        (KV_EVENT_OVER_LIMIT, "\(file) has \(nodes) values and keys and up to \(bytes) bytes, more than it may grow to")
    case .lockWaited(let nanoseconds):
        (KV_EVENT_LOCK_WAITED, "The store was locked for \(nanoseconds / 1_000_000) ms")
    case .groupWritableFolder(let folder): (KV_EVENT_GROUP_WRITABLE, "The group may write to \(folder)")
    case .conflict(let error): (KV_EVENT_CONFLICT, error.description)
    case .removed(let file, let backup):
        (KV_EVENT_REMOVED, "\(file) was removed" + (backup.map { "; \($0) has what was in it" } ?? ""))
    }
}

private func described(_ source: DefaultsRecovery) -> String {
    switch source {
    case .memory: "what was in memory"
    case .backup(let age): "the backup of \(age.components.seconds) seconds ago"
    }
}

@c @implementation public func kv_watch_cancel(_ watch: OpaquePointer?) {
    Handle.take(watch, as: WatchHandle.self)?.watch.cancel()
}

@c @implementation public func kv_store_watch_descriptor(
    _ store: OpaquePointer?, _ descriptor: UnsafeMutablePointer<Int32>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    reporting(error) {
        let found = try require(store, DefaultsStore.self, "store").watchDescriptor()
        descriptor?.pointee = found
        return KV_OK
    }
}

@c @implementation public func kv_store_pump(
    _ store: OpaquePointer?, _ calls: UnsafeMutablePointer<Int>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    CancellationPoint.pass()
    return reporting(error) {
        let count = try require(store, DefaultsStore.self, "store").pump()
        calls?.pointee = count
        return KV_OK
    }
}

@c @implementation public func kv_store_wait(
    _ store: OpaquePointer?, _ seconds: Double, _ calls: UnsafeMutablePointer<Int>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> kv_status {
    CancellationPoint.pass()
    return reporting(error) {
        let store = try require(store, DefaultsStore.self, "store")
        guard seconds >= 0 else { throw Failure.invalidArgument("Expected seconds from 0, found \(seconds)") }
        let count = try store.wait(for: .seconds(min(seconds, 1e9)))
        calls?.pointee = count
        return KV_OK
    }
}
