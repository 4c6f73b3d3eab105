internal import Glibc
internal import PropertyLists

/// A store's name: `com.acme.app`, or `acme/settings` in a folder below the one of all stores.
struct StoreName {
    /// More folders than any program nests.
    private static let mostParts = 8

    let text: String
    /// The names of the folders on the way, and the store's own.
    private let parts: [Substring]

    init(_ text: String) throws(DefaultsError) {
        self.text = text
        parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= Self.mostParts, parts.allSatisfy(Self.isPart) else {
            throw DefaultsError(
                .invalidName,
                .expected(
                    "a name like com.acme.app or acme/settings, without \"..\" and a \".\" at a part's beginning",
                    found: "\"\(text)\""))
        }
    }

    private static func isPart(_ part: Substring) -> Bool {
        let bytes = part.utf8
        return !bytes.isEmpty && bytes.first != UInt8(ascii: ".") && !bytes.contains(0) && bytes.count <= 200
            && !zip(bytes, bytes.dropFirst()).contains { $0 == UInt8(ascii: ".") && $1 == UInt8(ascii: ".") }
    }

    /// The store's file below a folder.
    func file(in folder: String, _ suffix: String) -> String { folder + "/" + text + suffix }

    /// The folders from `folder` down to the one that the store's file is in.
    func folders(in folder: String) -> [String] {
        (0..<parts.count).map { ([Substring(folder)] + parts[..<$0]).joined(separator: "/") }
    }

    /// The names of the stores below a folder, sorted; of the folders in it those that cannot be read are left out.
    static func all(in folder: String, _ suffix: String) throws(DefaultsError) -> [String] {
        var names: [String] = []
        var pending: [[String]] = [[]]
        while let parts = pending.popLast() {
            let inner: StoreFolder
            do throws(DefaultsError) {
                inner = try StoreFolder.folder(([folder] + parts).joined(separator: "/"))
            } catch {
                if parts.isEmpty, error.errno != ENOENT { throw error }
                continue
            }
            for name in inner.names(withPrefix: "", suffix: "") where isPart(Substring(name)) {
                guard let status = try? inner.status(of: name) else { continue }
                if status.st_mode & S_IFMT != S_IFDIR {
                    guard name.hasSuffix(suffix) else { continue }
                    let store = String(name.utf8.dropLast(suffix.utf8.count)) ?? ""
                    if isPart(Substring(store)) { names.append((parts + [store]).joined(separator: "/")) }
                } else if parts.count + 1 < mostParts {
                    pending.append(parts + [name])
                }
            }
        }
        return names.sorted()
    }
}

extension DefaultsStore {
    /// The names of the stores that are there for ``open(_:options:)`` with the engine: the files in
    /// `$XDG_CONFIG_HOME` or `~/.config` that are called as it calls them, and those in the folders below it, by
    /// any program. Sorted; none for the engine in memory.
    public static func names(engine: Options.Engine = .automatic) throws(DefaultsError) -> [String] {
        guard let suffix = engine.suffix else { return [] }
        return try StoreName.all(in: try configurationFolder(), suffix)
    }

    /// The file of the store of a name, which need not be there; nil for the engine in memory.
    ///
    /// - Throws: ``DefaultsError/Code/invalidName`` for a text that is no name.
    public static func path(of name: String, engine: Options.Engine = .automatic) throws(DefaultsError) -> String? {
        let name = try StoreName(name)
        guard let suffix = engine.suffix else { return nil }
        return name.file(in: try configurationFolder(), suffix)
    }
}

extension DefaultsStore.Options.Engine {
    /// The end of the names of the engine's files; nil for the engine in memory.
    var suffix: String? {
        switch self {
        case .memory: nil
        case .sqlite: ".sqlite"
        case .automatic, .propertyList: ".plist"
        }
    }
}
