internal import CKVSystem
internal import Glibc
internal import PropertyLists

extension DefaultsStore {
    /// Opens the store of a name: `com.acme.app` is `com.acme.app.plist` in `$XDG_CONFIG_HOME` or `~/.config`, where
    /// Foundation's UserDefaults keeps its own; `acme/settings` is `settings.plist` in the folder `acme` there, up to
    /// eight parts deep.
    ///
    /// The folders are made, with access for their owner alone, unless the handle is read-only.
    public static func open(_ name: String, options: Options = Options()) throws(DefaultsError) -> DefaultsStore {
        let name = try StoreName(name)
        guard let suffix = options.engine.suffix else { return try openMemory(options) }
        let folder = try configurationFolder()
        if !options.isReadOnly, let inner = name.folders(in: folder).last { try makeFolder(inner) }
        var layers = try baseLayers(options)
        if options.managedFile == nil {
            let managed = name.file(in: managedFolder, ".plist")
            for path in name.folders(in: managedFolder) + [managed] {
                try checkAdministrators(path, user: geteuid())
            }
            layers.managed = try readOnlyDomain(managed)
        }
        layers.administrator = try administratorsDefaults(of: name)
        if options.searchesGlobalDomain {
            layers.global = try readOnlyDomain(folder + "/.GlobalPreferences.plist")
        }
        return try open(file: name.file(in: folder, suffix), layers, options)
    }

    /// Opens the store of a file. Its folder must exist.
    ///
    /// The global domain and the usual managed file belong to names: they are not searched.
    public static func open(path: String, options: Options = Options()) throws(DefaultsError) -> DefaultsStore {
        if options.engine == .memory { return try openMemory(options) }
        return try open(file: path, try baseLayers(options), options)
    }

    /// The folder of the administrator's locked keys, with a file for each store's name, in the same folders.
    private static let managedFolder = "/etc/kvcodable/managed"

    /// The administrator's defaults of a name, in `/etc/kvcodable/defaults` or the folder that the variable
    /// `KVCODABLE_DEFAULTS_DIR` names. A privileged program ignores the variable.
    private static func administratorsDefaults(of name: StoreName) throws(DefaultsError) -> Domain? {
        if cs_is_privileged() == 0, let folder = environment("KVCODABLE_DEFAULTS_DIR"), folder.hasPrefix("/") {
            return try readOnlyDomain(name.file(in: folder, ".plist"))
        }
        let folder = "/etc/kvcodable/defaults"
        let file = name.file(in: folder, ".plist")
        for path in name.folders(in: folder) + [file] { try checkAdministrators(path, user: geteuid()) }
        return try readOnlyDomain(file)
    }

    /// Checks that an administrator's file or folder does not belong to the user, nor is writable by everybody: they
    /// could lock keys for the programs of others, or unlock them. One that is not there is fine.
    package static func checkAdministrators(_ path: String, user: UInt32) throws(DefaultsError) {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        if user != 0, status.st_uid == user {
            throw DefaultsError(
                .unsafeLocation, expected: "the administrator's", found: "what belongs to the user", file: path)
        }
        if status.st_mode & S_IWOTH != 0 {
            throw DefaultsError(
                .unsafeLocation, expected: "the administrator's", found: "what everybody may write", file: path)
        }
    }

    private static func open(
        file: String, _ layers: SearchLayers, _ options: Options
    ) throws(DefaultsError) -> DefaultsStore {
        let store = try DefaultsStore(try domain(of: file, options), layers, options)
        do throws(DefaultsError) {
            try store.migrate(options.migrations)
        } catch {
            try? store.close()
            throw error
        }
        return store
    }

    private static func openMemory(_ options: Options) throws(DefaultsError) -> DefaultsStore {
        let domain = Domain(MemoryEngine(format: options.format ?? .xml), file: nil)
        DomainRegistry.shared.add(domain)
        let store = try DefaultsStore(domain, try baseLayers(options), options)
        try store.migrate(options.migrations)
        return store
    }

    // MARK: - Domains

    private static func domain(of file: String, _ options: Options) throws(DefaultsError) -> Domain {
        let folder: StoreFolder
        do throws(DefaultsError) {
            folder = try StoreFolder.open(file)
        } catch {
            // A missing folder is no error for a handle that only reads: its store is empty.
            guard options.isReadOnly, error.errno == ENOENT else { throw error }
            return Domain(MemoryEngine(format: options.format ?? .xml), file: file)
        }
        guard options.format != .openStep else {
            let words = ErrorWords.wrong("A store cannot be written as OpenStep", advice: "use XML, binary or JSON")
            throw DefaultsError(.misuse, words, file: file)
        }
        if !options.isReadOnly { try folder.checkName() }
        let domain = try DomainRegistry.shared.domain(at: FilePlace(folder)) { () throws(DefaultsError) in
            Domain(try engine(folder, options), file: folder.path)
        }
        domain.extend(options.ofEngine)
        try domain.load(until: .after(options.timeout))
        do throws(DefaultsError) {
            try domain.refresh(until: .after(.zero))
        } catch {
            // Another thread is busy with the domain, and has it up to date.
            guard error.code == .timedOut else { throw error }
        }
        return domain
    }

    private static func engine(_ folder: StoreFolder, _ options: Options) throws(DefaultsError) -> any StorageEngine {
        let isDatabase = folder.fileName.hasSuffix(".sqlite") || folder.fileName.hasSuffix(".db")
        if options.engine == .sqlite || (options.engine == .automatic && isDatabase) {
            return try SQLiteEngine(
                folder, format: options.format ?? .xml, options.ofEngine)
        }
        let format = options.format ?? PropertyListFormat(ofFile: folder.fileName)
        return try PropertyListFileEngine(
            folder, format: format, options.ofEngine)
    }

    private static func baseLayers(_ options: Options) throws(DefaultsError) -> SearchLayers {
        var layers = SearchLayers()
        if let arguments = options.arguments { layers.arguments = try dictionary(arguments, "arguments") }
        if let managed = options.managedFile { layers.managed = try readOnlyDomain(managed) }
        if !options.suites.isEmpty {
            let folder = try configurationFolder()
            for suite in options.suites {
                let file = try StoreName(suite).file(in: folder, ".plist")
                if let domain = try readOnlyDomain(file) { layers.suites.append(domain) }
            }
        }
        return layers
    }

    /// The domain of a file that is only read; nil when its folder does not exist.
    private static func readOnlyDomain(_ file: String) throws(DefaultsError) -> Domain? {
        var options = Options()
        options.isReadOnly = true
        do throws(DefaultsError) {
            _ = try StoreFolder.open(file)
        } catch {
            if error.errno == ENOENT { return nil }
            throw error
        }
        return try domain(of: file, options)
    }

    // MARK: - Folders

    /// `$XDG_CONFIG_HOME`, else `.config` in the home folder.
    static func configurationFolder() throws(DefaultsError) -> String { try userFolder("XDG_CONFIG_HOME", ".config") }

    /// The folder that a variable names, else one in the home folder. A privileged program goes by the user database
    /// alone.
    static func userFolder(_ variable: String, _ usual: String) throws(DefaultsError) -> String {
        if cs_is_privileged() == 0 {
            if let folder = environment(variable), folder.hasPrefix("/") { return folder }
            if let home = environment("HOME"), home.hasPrefix("/") { return home + "/" + usual }
        }
        guard let home = databaseHome() else {
            throw DefaultsError(.unavailable, "The user has no home folder")
        }
        return home + "/" + usual
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    private static func databaseHome() -> String? {
        var entry = passwd()
        var result: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16384)
        guard getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &result) == 0, result != nil,
            let home = entry.pw_dir
        else { return nil }
        return String(cString: home)
    }

    /// Makes the folder, and the missing ones that it is in, durably.
    static func makeFolder(_ path: String) throws(DefaultsError) {
        if mkdir(path, 0o700) != 0 {
            if errno == EEXIST { return }
            guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex else {
                throw DefaultsError.system("mkdir", errno, file: path)
            }
            try makeFolder(String(path[..<slash]))
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
                throw DefaultsError.system("mkdir", errno, file: path)
            }
        }
        // The folder's entry is in its parent: a file in it is as durable as that.
        try StoreFolder.open(path).descriptor.synchronize()
    }
}

extension DefaultsStore.Options {
    /// Reading alone never moves a file.
    fileprivate var ofEngine: EngineOptions {
        EngineOptions(
            limits: limits, settleTime: settleTime, recovers: onCorruption == .recover && !isReadOnly,
            synchronization: isReadOnly ? .normal : synchronization, isReadOnly: isReadOnly)
    }
}
