/// An event of a store, which happens apart from the program's calls.
///
/// ```swift
/// let watch = try store.watchEvents { event in
///     switch event {
///     case .unreadable(let error), .flushFailed(let error): print("Not saved: \(error)")
///     case .outgrown(let file, _, _): print("\(file) would be faster as a database")
///     default: break
///     }
/// }
/// ```
public enum DefaultsEvent: Sendable, Hashable {
    /// Changes could not be written; they are kept, and tried again.
    case flushFailed(DefaultsError)
    /// The file that others wrote cannot be read, since it is damaged or beyond every limit: the store goes on with the
    /// values in memory, and takes up and writes the file when it can be read again. Told once for each such state of a
    /// file, also of one that the handle searches as a layer.
    case unreadable(DefaultsError)
    /// A damaged file was kept under the name `quarantine`, and replaced by a good document: only for a store that was
    /// opened with ``DefaultsStore/Options/Corruption/recover``.
    case recovered(file: String, quarantine: String, source: DefaultsRecovery)
    /// A damaged file could not be moved away: the store is read-only.
    case unrecoverable(DefaultsError)
    /// A property-list store has outgrown its file: every durable write costs its size. SQLite would not.
    case outgrown(file: String, keys: Int, bytes: Int)
    /// A store was opened that is beyond the handle's limits already, as one of another program may be: every change is
    /// ``DefaultsError/Code/limitExceeded`` but those that do not make it larger.
    case overLimit(file: String, nodes: Int, bytes: Int)
    /// Another process held the store's lock: waiting for it took this many nanoseconds.
    case lockWaited(nanoseconds: Int64)
    /// Members of the folder's group may replace the store's files.
    case groupWritableFolder(String)
    /// A change by path no longer fitted the values that another process had written, and was dropped.
    case conflict(DefaultsError)
}

/// The document that replaced a damaged file.
///
/// ```swift
/// let watch = try store.watchEvents { event in
///     guard case .recovered(let file, _, .backup(let age)) = event else { return }
///     print("\(file) was damaged: it is as it was \(age) ago")
/// }
/// ```
public enum DefaultsRecovery: Sendable, Hashable {
    /// The one that this process had read or written last.
    case memory
    /// The backup, which was written this long ago.
    case backup(age: Duration)
}
