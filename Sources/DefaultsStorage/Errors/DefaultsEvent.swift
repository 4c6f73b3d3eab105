/// An event of a store that no call of the program returns.
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
    /// Changes could not be written. They stay in memory, and the library retries.
    case flushFailed(DefaultsError)
    /// The file cannot be read: it is damaged, or beyond every limit. The store keeps its values in memory, and loads and
    /// writes the file when it can be read again. Reported once for each such state of a file, layers included.
    case unreadable(DefaultsError)
    /// A damaged file was kept under the name `quarantine` and replaced by a good document. Only stores opened with
    /// ``DefaultsStore/Options/Corruption/recover`` do this.
    case recovered(file: String, quarantine: String, source: DefaultsRecovery)
    /// A damaged file could not be moved away. The store is read-only.
    case unrecoverable(DefaultsError)
    /// A property-list file is large, and every durable write rewrites it. A database would be faster.
    case outgrown(file: String, keys: Int, bytes: Int)
    /// The store was beyond the handle's limits when it was opened. A change that makes it larger gives
    /// ``DefaultsError/Code/limitExceeded``.
    case overLimit(file: String, nodes: Int, bytes: Int)
    /// Another process held the store's lock. The wait took this many nanoseconds.
    case lockWaited(nanoseconds: Int64)
    /// Members of the folder's group may replace the store's files.
    case groupWritableFolder(String)
    /// The file was removed, and has not come back: the store is empty. `backup` is the file with what was in it.
    case removed(file: String, backup: String?)
    /// A change was dropped, since another program's change of the same value counts: it changed a value that this one
    /// removed, or replaced a container by another kind of value. The next sync throws the error as well.
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
    /// The document that this process read or wrote last.
    case memory
    /// The backup, which was written this long ago.
    case backup(age: Duration)
}
