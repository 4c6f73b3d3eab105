internal import CKVSystem
internal import Glibc
internal import PropertyLists

/// The texts of published types, which lie in `kvcodable/types/NAME.kvtypes` of the user's data folder and the
/// system's: `$XDG_DATA_HOME`, else `~/.local/share`, and those of `$XDG_DATA_DIRS`, else `/usr/local/share` and
/// `/usr/share`. A privileged program goes by the user database and the two usual folders alone.
package enum PublishedText {
    private static let suffix = ".kvtypes"
    /// More than any text of types has.
    private static let mostBytes = 16 << 20

    /// The text of a store's name, from the first folder that has it, with its file; nil where none has.
    ///
    /// - Throws: ``DefaultsError/Code/unsafeLocation`` for a file that is neither the user's nor root's, or that
    ///   everybody may write, as for an administrator's keys: its writer would decide the meaning of a setting.
    package static func read(_ name: String) throws(DefaultsError) -> (bytes: [UInt8], file: String)? {
        let name = try StoreName(name)
        for folder in try folders() {
            let path = name.file(in: folder, suffix)
            if let bytes = try PropertyListFile.trustedContents(of: path, most: mostBytes) { return (bytes, path) }
        }
        return nil
    }

    /// Writes the text of a store's name for the user, durably; gives the file. Its folders are made where they are not
    /// there, with access for the user alone.
    package static func write(_ bytes: [UInt8], _ name: String) throws -> String {
        let path = try StoreName(name).file(in: try userFolder(), suffix)
        try DefaultsStore.makeFolder(String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)]))
        try PropertyListFile.write(contents: bytes, to: path)
        return path
    }

    /// The names that have a text, sorted; folders that cannot be read have none.
    package static func names() throws(DefaultsError) -> [String] {
        Set(try folders().flatMap { (try? StoreName.all(in: $0, suffix)) ?? [] }).sorted()
    }

    private static func userFolder() throws(DefaultsError) -> String {
        try DefaultsStore.userFolder("XDG_DATA_HOME", ".local/share") + "/kvcodable/types"
    }

    private static func folders() throws(DefaultsError) -> [String] {
        let listed = cs_is_privileged() == 0 ? getenv("XDG_DATA_DIRS").map { String(cString: $0) } : nil
        let system = (listed.flatMap { $0.isEmpty ? nil : $0 } ?? "/usr/local/share:/usr/share").split(separator: ":")
        return [try userFolder()] + system.filter { $0.hasPrefix("/") }.map { "\($0)/kvcodable/types" }
    }
}
