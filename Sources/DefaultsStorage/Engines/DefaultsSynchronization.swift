/// How far a commit of the SQLite engine is on disk when it returns; the other engines know ``full`` alone.
///
/// ```swift
/// var options = DefaultsStore.Options()
/// options.synchronization = .normal  // faster commits, of which a power failure may take the last
/// let cache = try DefaultsStore.open(path: "/var/tmp/cache.sqlite", options: options)
/// ```
public enum DefaultsSynchronization: Sendable, Hashable {
    /// Wholly: a power failure takes nothing back.
    case full
    /// Safe when the program dies, and never half written, but a power failure may take the last commits back: SQLite's
    /// `synchronous=NORMAL`.
    case normal
}
