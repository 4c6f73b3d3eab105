internal import Glibc
internal import PropertyLists

/// The values of a server's store that were seen last, in a property list of the user's own: a program has them when it
/// is started while the server is away.
struct ServerCache: Sendable {
    /// The kinds of values that are kept of a store.
    enum Kind {
        /// The values that were seen last.
        case seen
        /// Those that a program's schema accepted last.
        case accepted(by: String)

        var suffix: String {
            switch self {
            case .seen: ".plist"
            case .accepted(let program): "." + ServerCache.number(of: program) + ".accepted"
            }
        }
    }

    /// `$XDG_CACHE_HOME/kvcodable/SERVER/STORE.plist`, where a number stands for the server's text, or
    /// `STORE.PROGRAM.accepted` with another one for the program's name.
    let path: String
    private let folder: String
    private let store: String

    /// nil where the user has no folder for it.
    init?(_ address: ServerAddress, _ store: String, _ kind: Kind = .seen) {
        guard let name = try? StoreName(store), let all = try? DefaultsStore.userFolder("XDG_CACHE_HOME", ".cache")
        else { return nil }
        let server = all + "/kvcodable/" + Self.number(of: address.text)
        path = name.file(in: server, kind.suffix)
        folder = name.folders(in: server).last ?? server
        self.store = store
    }

    /// FNV-1a: the same in every process, and in every version of this library.
    private static func number(of text: String) -> String {
        let number = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return String(number, radix: 16)
    }

    /// The values and their revision; nil where none were kept.
    ///
    /// - Throws: for a file that ``write(_:_:isBack:_:)`` has not written, or that another user could have.
    func read(_ limits: StoreLimits) throws(DefaultsError) -> (values: PropertyList, revision: Revision)? {
        guard let bytes = try PropertyListFile.trustedContents(of: path, most: limits.readableFile) else { return nil }
        // The values are one level deeper here than at the server.
        var reading = limits.reading
        reading.depth += 1
        let list = try DefaultsError.translating(file: path) { () throws(PropertyListError) in
            try PropertyList.parse(bytes, as: .binary, limits: reading).list
        }
        guard let values = list["Values"], values.kind == .dictionary, let number = list["Revision"]?.integer,
            number >= 0, list["Store"]?.string == store
        else { throw DefaultsError(.corrupt, "Expected the values of the store as they were seen last", file: path) }
        let revision = Revision(number: number, token: token(list["Token"]), identity: token(list["Identity"]))
        return (values.compacted(), revision)
    }

    private func token(_ value: PropertyList?) -> [UInt8]? {
        guard value?.kind == .data, let bytes = value?.withBytes({ Array($0) }), bytes.count == 16 else { return nil }
        return bytes
    }

    /// Writes the values, unless the file has a later revision of the store: other programs of the user write it too,
    /// and one that comes late would take back theirs.
    ///
    /// - Parameter isBack: whether the server went back to an earlier revision, so that the later one is worth nothing.
    func write(_ values: PropertyList, _ revision: Revision, isBack: Bool, _ limits: StoreLimits) throws {
        try DefaultsStore.makeFolder(folder)
        let lock = try FileLock.acquire(try StoreFolder.open(path), until: .after(.seconds(1))).lock
        defer { lock.release() }
        let there = try? read(limits)?.revision
        if !isBack, let there, there.identity == revision.identity, there.number > revision.number { return }
        var builder = PropertyListBuilder(limits: PropertyListLimits(depth: PropertyListLimits.maximumDepth))
        try builder.beginDictionary()
        if let identity = revision.identity {
            try builder.key("Identity")
            try builder.append(data: identity)
        }
        try builder.key("Revision")
        try builder.append(integer: revision.number)
        try builder.key("Store")
        try builder.append(string: store)
        if let token = revision.token {
            try builder.key("Token")
            try builder.append(data: token)
        }
        try builder.key("Values")
        try builder.append(values)
        try builder.end()
        try PropertyListFile.write(try builder.finish(), to: path, as: .binary)
    }

    /// Removes a file that cannot be read, and is the user's own: root, for one, may look with a user's folders.
    func discard() {
        var status = stat()
        if lstat(path, &status) == 0, status.st_uid == geteuid() { unlink(path) }
    }
}
