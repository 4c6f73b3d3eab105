internal import Glibc
import KVCodable

/// The files of stores that have names.
enum StoreFile {
    /// The name and engine of the store whose file is at a path; nil for a file elsewhere.
    static func name(of path: String) -> (name: String, engine: DefaultsStore.Options.Engine)? {
        let slash = path.lastIndex(of: "/")
        guard let root, let folder = real(slash.map { String(path[...$0]) } ?? "."),
            folder == root || folder.hasPrefix(root + "/")
        else { return nil }
        let file = slash.map { path[path.index(after: $0)...] } ?? path[...]
        let whole = folder.dropFirst(root.count + 1) + (folder == root ? "" : "/") + file
        for (suffix, engine) in engines where whole.hasSuffix(suffix) {
            let name = String(whole.dropLast(suffix.count))
            // Names that begin with a point are none.
            return (try? DefaultsStore.path(of: name)) == nil ? nil : (name, engine)
        }
        return nil
    }

    private static let engines: [(suffix: String, engine: DefaultsStore.Options.Engine)] = [
        (".plist", .propertyList), (".sqlite", .sqlite),
    ]

    /// The folder of all stores, without links.
    private static var root: String? {
        guard let file = try? DefaultsStore.path(of: "x"), let slash = file.lastIndex(of: "/") else { return nil }
        return real(String(file[..<slash]))
    }

    private static func real(_ folder: String) -> String? {
        guard let path = realpath(folder, nil) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }
}
