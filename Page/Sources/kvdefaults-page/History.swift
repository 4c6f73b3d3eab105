import KVCodable

/// Another program, or another page, has changed what an edit would change.
struct Conflict: Error {}

/// The earlier values of the settings. An edit is merged with the present value; the ancestor is the value that its
/// page saw.
///
/// The oldest values are forgotten if there are very many, or very large ones. An edit that is based on a forgotten value
/// is a conflict.
struct History {
    private struct Change {
        let key: PropertyListPath.Step
        let revision: Int64
        /// The page that made the change; nil for another program.
        let page: String?
        /// The value before the change, and its size.
        let old: PropertyList?
        let bytes: Int
    }

    private static let mostChanges = 4096, mostBytes = 4 << 20

    /// The oldest first.
    private var changes: [Change] = []
    private var bytes = 0
    /// The latest revision whose changes are not all here.
    private var forgotten: Int64 = 0

    mutating func note(_ old: PropertyList?, of key: String, _ revision: Int64, by page: String?) {
        let size = (try? old?.serialized(as: .binary).count) ?? 0
        let change = Change(key: .key(key), revision: revision, page: page, old: old?.compacted(), bytes: size)
        changes.append(change)
        bytes += size
        while changes.count > Self.mostChanges || bytes > Self.mostBytes {
            let oldest = changes.removeFirst()
            bytes -= oldest.bytes
            forgotten = oldest.revision
        }
    }

    /// The value that an edit is based on: what its page saw, with the changes that this page has made since.
    ///
    /// - Parameters:
    ///   - present: the value of the edit's setting now.
    ///   - revision: the revision of the setting's latest change; nil if the setting is gone.
    /// - Throws: `Conflict` if the value is forgotten.
    func ancestor(of edit: Edit, present: PropertyList?, _ revision: Int64?) throws -> PropertyList? {
        if let revision, revision <= edit.base { return present }
        guard forgotten <= edit.base else { throw Conflict() }
        let later = changes.filter { $0.revision > edit.base && $0.key == edit.path.steps.first }
        guard let first = later.first else { return present }
        let outcomes = later.dropFirst().map(\.old) + [present]
        return try zip(later, outcomes).reduce(first.old) { ancestor, step in
            let (change, new) = step
            guard change.page == edit.page else { return ancestor }
            return try PropertyList.merge(ancestor: change.old, ours: new, theirs: ancestor).value
        }
    }
}
