import KVCodable

/// The latest changes of the settings, by their paths: an edit that was based on an older revision may be in conflict
/// with one.
///
/// Only so many paths are kept. Of a setting with more of them, as of a dictionary whose keys come and go, the older
/// ones become one change of the whole setting; settings that are gone are forgotten, and the latest revision of those
/// is kept. An edit that was based on an older revision than a forgotten one is in conflict, too: it is shown, and
/// never written over.
struct Changes {
    /// A revision, and the page that made it; nil for another program.
    private struct Change {
        let revision: Int64
        let page: String?
    }

    /// The latest change at a path, and the latest by another page or program: a page's own change does not hide an
    /// older one of others.
    private struct PathChanges {
        var latest: Change
        var others: Change?

        mutating func note(_ change: Change) {
            let older = [latest, others, change].compactMap { $0 }.sorted { $0.revision > $1.revision }
            latest = older[0]
            others = older.first { $0.page != latest.page }
        }

        /// The revision of the latest change that the page did not make; nil where there is none.
        func revision(notBy page: String) -> Int64? { latest.page == page ? others?.revision : latest.revision }
    }

    private static let mostPaths = 256, mostSettings = 1024

    /// By their keys, which are apart by their bytes as steps.
    private var settings: [PropertyListPath.Step: [PropertyListPath: PathChanges]] = [:]
    private var forgotten: Int64 = 0

    /// Notes a change at paths in a setting.
    mutating func note(_ paths: [PropertyListPath], in key: String, _ revision: Int64, by page: String?) {
        for path in paths { note(path, in: key, Change(revision: revision, page: page)) }
        guard let paths = settings[.key(key)], paths.count > Self.mostPaths else { return }
        let older = paths.sorted { $0.value.latest.revision < $1.value.latest.revision }.dropLast(Self.mostPaths / 2)
        for (path, _) in older { settings[.key(key)]?[path] = nil }
        note([.key(key)], in: key, Change(revision: older.last?.value.latest.revision ?? revision, page: nil))
    }

    private mutating func note(_ path: PropertyListPath, in key: String, _ change: Change) {
        settings[.key(key), default: [:]][path, default: PathChanges(latest: change)].note(change)
    }

    /// Forgets the oldest of settings that are not there any more, where there are too many.
    mutating func forget(where isGone: (PropertyListPath.Step) -> Bool) {
        let gone = settings.keys.filter(isGone)
        guard gone.count > Self.mostSettings else { return }
        for key in gone.sorted(by: { latest($0) ?? 0 < latest($1) ?? 0 }).dropLast(Self.mostSettings / 2) {
            forgotten = max(forgotten, latest(key) ?? 0)
            settings[key] = nil
        }
    }

    /// The revision of a setting's latest change; nil where none is known.
    func latest(_ key: PropertyListPath.Step) -> Int64? { settings[key]?.values.map(\.latest.revision).max() }

    /// Whether another page or program has changed the edit's value, a part of it or one around it, since its page saw
    /// it.
    func conflict(with edit: Edit) -> Bool {
        guard let key = edit.path.steps.first else { return false }
        guard let paths = settings[key] else { return forgotten > edit.base }
        return paths.contains { path, changes in
            changes.revision(notBy: edit.page) ?? 0 > edit.base
                && zip(path.steps, edit.path.steps).allSatisfy { $0 == $1 }
        }
    }
}
