public import PropertyLists

extension DefaultsStore {
    /// Options of opening a store.
    ///
    /// ```swift
    /// var options = DefaultsStore.Options()
    /// options.defaults = try PropertyList(any: ["volume": 7])
    /// options.suites = ["com.acme.shared"]
    /// options.timeout = .seconds(2)
    /// let store = try DefaultsStore.open("com.acme.app", options: options)
    /// ```
    public struct Options: Sendable {
        /// The kind of file that a store is kept in.
        ///
        /// ```swift
        /// options.engine = .memory
        /// let scratch = try DefaultsStore.open("com.acme.tests", options: options)
        /// try scratch.set(PropertyList(any: true), forKey: "isTest")
        /// ```
        public enum Engine: Sendable, Hashable {
            /// By the file's name: SQLite for `.sqlite` and `.db`, else a property list.
            case automatic
            /// A property-list file, in the format that ``DefaultsStore/Options/format`` says.
            case propertyList
            /// A SQLite database, whatever its name; opening fails with ``DefaultsError/Code/unavailable`` where the
            /// system has no SQLite.
            case sqlite
            /// Nowhere: for tests and scratch. No file is read or written, and no other handle sees the values.
            case memory
        }

        /// The treatment of a damaged file.
        ///
        /// ```swift
        /// options.onCorruption = .recover
        /// let store = try DefaultsStore.open("com.acme.app", options: options)  // with the backup of a damaged file
        /// ```
        public enum Corruption: Sendable, Hashable {
            /// The file stays where it is, and reading it is ``DefaultsError/Code/corrupt``. A store that is open goes
            /// on with the values in memory, tells ``DefaultsEvent/unreadable(_:)``, and writes its changes when the
            /// file can be read again.
            case error
            /// The file is kept under another name, and replaced by the newer of the document in memory and the
            /// backup. If there is neither, for a handle that only reads, and for a database, it is an error:
            /// `sqlite3 FILE .dump` reads what is left of a database.
            case recover
        }

        /// The program's check of a change, given the path that is set and the new value, nil for a removal.
        ///
        /// ```swift
        /// options.validation = { path, value in
        ///     guard path == ["volume"], let value, !(0...10 ~= value.integer ?? -1) else { return }
        ///     throw DefaultsError(.refused, expected: "0...10", found: "\(value)", at: path)
        /// }
        /// ```
        public typealias Validation = @Sendable (PropertyListPath, PropertyList?) throws -> Void

        /// Registered defaults, a dictionary: the values of keys that no other layer has.
        public var defaults: PropertyList?
        /// The volatile arguments layer, a dictionary; see ``DefaultsStore/arguments(from:)``.
        public var arguments: PropertyList?
        /// Names of domains that are searched after the application's, in this order.
        public var suites: [String] = []
        /// Whether a store that is opened by name also searches the global domain, `.GlobalPreferences.plist`.
        public var searchesGlobalDomain = true
        /// The administrator's file of locked keys; nil for the usual one of a store that is opened by name.
        public var managedFile: String?
        /// The format of a new file: XML, binary or JSON; nil for JSON where its name ends in `.json`, else XML. An
        /// existing file keeps its own. JSON has a line for each value.
        public var format: PropertyListFormat?
        /// When a change is on disk; of several open handles on a file the strictest counts.
        public var durability = DefaultsDurability.coalesced
        /// The engine that keeps the file.
        public var engine = Engine.automatic
        /// How far a commit of the SQLite engine is on disk when it returns. Once a handle on the file asked for
        /// ``DefaultsSynchronization/full``, it holds for the process's others, too.
        public var synchronization = DefaultsSynchronization.full
        /// The treatment of a damaged file. Once a handle on the file asked to recover, it holds for the process's
        /// others, too.
        public var onCorruption = Corruption.error
        /// How long a file that cannot be parsed is given from its last change, since a program that writes into the
        /// file itself, as Foundation's UserDefaults does, may be in the midst of it; then it is damaged. A call waits
        /// no longer than ``timeout`` all the same, and is ``DefaultsError/Code/timedOut`` until then. Of several open
        /// handles on a file the longest time counts. Of no meaning for a database.
        public var settleTime = Duration.seconds(1)
        /// Whether the handle only reads.
        public var isReadOnly = false
        /// How long a call may wait for another process or thread that has the store locked.
        public var timeout = Duration.seconds(10)
        /// The most bytes that the store's values may take in memory, 16 for each value or key and those of its text or
        /// data: a change that would pass them is ``DefaultsError/Code/limitExceeded``, while one that does not make
        /// the store larger is always possible. Whatever the option says, a top-level value in SQLite has 1,000,000,000 bytes at most, and a sync of more throws, and
        /// writes nothing; its key has 16,384 bytes at most.
        public var maximumBytes = StoreLimits.standard.bytes
        /// The most values and keys that the store may have, counted at every depth; as ``maximumBytes``.
        public var maximumNodes = StoreLimits.standard.nodes
        /// Called before each change. An error that it throws refuses the change: a ``DefaultsError`` as it is, any
        /// other as ``DefaultsError/Code/refused``. Every caller reads its text, a script that may not know the store's
        /// file among them.
        public var validation: Validation?
        /// The rule for the values of top-level keys; KVCodable makes one of a declared type.
        public var schema: DefaultsSchema?
        /// Steps that bring an older store up to date; see ``DefaultsMigration``.
        public var migrations: [DefaultsMigration] = []

        /// Options of a store that is written, as an XML property list unless its name says otherwise, with no
        /// defaults, check or schema.
        public init() {}
    }
}

extension DefaultsStore.Options {
    var limits: StoreLimits { StoreLimits(bytes: max(maximumBytes, 0), nodes: max(maximumNodes, 0)) }
}
