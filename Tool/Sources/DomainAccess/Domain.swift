import Glibc
public import KVCodable

/// A store as a person names it: by its name, or by the path of its file.
public struct Domain: Sendable {
    public let text: String

    public init(_ text: String) { self.text = text }

    /// Whether the text is a path: it begins with `/`, `./` or `../`, or has the suffix of a file.
    public var isFile: Bool {
        text.hasPrefix("/") || text.hasPrefix("./") || text.hasPrefix("../")
            || [".plist", ".json", ".sqlite", ".db", ".xml", ".strings"].contains { text.hasSuffix($0) }
    }

    /// The store's name and engine. A path has them if it leads to the file of a named store; they are nil for any other
    /// path.
    public var named: (name: String, engine: DefaultsStore.Options.Engine)? {
        isFile ? StoreFile.name(of: text) : (text, engine)
    }

    /// The type that is published for the store; nil if no type is.
    public func type() throws -> CodableType? {
        try about(text) { try named.flatMap { try PublishedTypes.type(of: $0.name) } }
    }

    /// True if there is something to show: a store's file, or a type with its defaults.
    public func isThere(_ type: CodableType?) -> Bool { type != nil || hasFile }

    /// The store's file, which need not exist; nil for a text that is no name.
    public var file: String? { isFile ? text : try? DefaultsStore.path(of: text, engine: engine) }

    /// The published type. Throws if no type is published.
    public func requiredType() throws -> CodableType {
        guard let type = try type() else { throw Failure.absent("No type is published for it", of: text) }
        return type
    }

    /// The engine of a named store: SQLite if the store has only a database.
    private var engine: DefaultsStore.Options.Engine {
        guard !isFile, let plain = try? DefaultsStore.path(of: text),
            let base = try? DefaultsStore.path(of: text, engine: .sqlite)
        else { return .automatic }
        return !exists(plain) && exists(base) ? .sqlite : .automatic
    }

    /// Opens the store for reading. Creates no file.
    ///
    /// - Parameter type: the schema of the store, which has the defaults of the schema.
    public func opened(_ type: CodableType? = nil) throws -> DefaultsStore {
        try about(text, type) {
            var options = DefaultsStore.Options()
            options.isReadOnly = true
            options.schema = try type.map { try DefaultsSchema($0) }
            return try open(options)
        }
    }

    /// Opens the store for changes. `sync` and `close` flush them.
    ///
    /// - Parameters:
    ///   - type: the schema of the store. It must accept the changes, and its defaults complete a value that is set in part.
    ///   - timeout: the time to wait for a lock of another program; nil for the time of the store.
    public func openedForWriting(
        _ type: CodableType? = nil, engine: DefaultsStore.Options.Engine? = nil, timeout: Duration? = nil
    ) throws -> DefaultsStore {
        try about(text, type) {
            var options = DefaultsStore.Options()
            options.durability = .manual
            options.schema = try type.map { try DefaultsSchema($0) }
            if let engine { options.engine = engine }
            if let timeout { options.timeout = timeout }
            return try open(options)
        }
    }

    private func open(_ options: DefaultsStore.Options) throws -> DefaultsStore {
        // A path with an explicit engine is opened as a file, also if the file belongs to a named store.
        guard let (name, engine) = named, !isFile || options.engine == .automatic else {
            return try DefaultsStore.open(path: text, options: options)
        }
        var options = options
        if options.engine == .automatic { options.engine = engine }
        return try DefaultsStore.open(name, options: options)
    }

    /// Whether the store has a file of its own.
    public var hasFile: Bool {
        if isFile { return exists(text) }
        let engines: [DefaultsStore.Options.Engine] = [.automatic, .sqlite]
        return engines.contains { engine in (try? DefaultsStore.path(of: text, engine: engine)).map(exists) ?? false }
    }

    /// Runs `body` in a transaction, and returns when its changes are on disk. The published type must accept each
    /// top-level value that `body` changes.
    public func change(_ body: (DefaultsTransaction, CodableType?) throws -> Void) throws {
        let type = try type()
        let store = try openedForWriting(type)
        try about(text, type) {
            try store.transaction { try body($0, type) }
            try store.sync()
            try store.close()
        }
    }

    /// All domains: those with a file, and those with a published type.
    public static func all() throws -> [String] {
        try about("domains") {
            let names = try DefaultsStore.names() + DefaultsStore.names(engine: .sqlite) + PublishedTypes.names()
            return Swift.Set(names).sorted()
        }
    }
}

/// Whether there is a file or a folder at a path.
public func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

/// The path that a person typed. Throws if the text is not a path.
public func path(_ text: String, of domain: Domain) throws -> PropertyListPath {
    try about(domain.text) { try PropertyListPath(text: text) }
}

extension DefaultsLayer {
    /// The name of the layer for people. These programs open no suites and have no arguments.
    public var word: String {
        switch self {
        case .managed: "managed"
        case .application: "user"
        case .administrator: "administrator"
        case .global: "global"
        case .registered, .schema: "default"
        case .arguments, .suite: "\(self)"
        }
    }
}
