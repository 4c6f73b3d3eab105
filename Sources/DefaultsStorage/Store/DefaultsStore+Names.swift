internal import Glibc
internal import PropertyLists

extension DefaultsStore {
    /// The names of the stores that are there for ``open(_:options:)`` with the engine: the files in
    /// `$XDG_CONFIG_HOME` or `~/.config` that are called as it calls them. Sorted; none for the engine in memory.
    public static func names(engine: Options.Engine = .automatic) throws(DefaultsError) -> [String] {
        guard engine != .memory else { return [] }
        let folder = try configurationFolder()
        let place: StoreFolder
        do throws(DefaultsError) {
            place = try StoreFolder.open(folder + "/-")
        } catch {
            guard error.errno == ENOENT else { throw error }
            return []
        }
        let suffix = engine == .sqlite ? ".sqlite" : ".plist"
        return place.names(withPrefix: "", suffix: suffix).filter { !$0.hasPrefix(".") }
            .map { String($0.dropLast(suffix.count)) }.sorted()
    }

    /// The file of the store of a name, which need not be there; nil for the engine in memory.
    ///
    /// - Throws: ``DefaultsError/Code/invalidName`` for what is no name.
    public static func path(of name: String, engine: Options.Engine = .automatic) throws(DefaultsError) -> String? {
        try checkName(name)
        guard engine != .memory else { return nil }
        return try configurationFolder() + "/" + name + (engine == .sqlite ? ".sqlite" : ".plist")
    }
}
