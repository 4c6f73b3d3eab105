public import PropertyLists

extension DefaultsStore {
    /// How a store is opened.
    public struct Options: Sendable {
        /// Where a store is kept.
        public enum Engine: Sendable, Hashable {
            /// By the file's name: SQLite for `.sqlite` and `.db`, else a property list.
            case automatic
            /// A property-list file, XML unless ``DefaultsStore/Options/format`` says otherwise, whatever its name.
            case propertyList
            /// A SQLite database, whatever its name; opening fails with ``DefaultsError/Code/unavailable`` where the
            /// system has no SQLite.
            case sqlite
            /// Nowhere: for tests and scratch. No file is read or written, and no other handle sees the values.
            case memory
        }

        /// How sure a commit of the SQLite engine is; the other engines know only the first.
        public enum Synchronization: Sendable, Hashable {
            /// On disk when it returns.
            case full
            /// Safe from the program's death, and never half there, but a power failure may take the last ones back:
            /// SQLite's `synchronous=NORMAL`.
            case normal
        }

        /// What is done about a file that is damaged.
        public enum Corruption: Sendable, Hashable {
            /// Nothing: it is ``DefaultsError/Code/corrupt``, and stays where it is. A store that is open goes on with
            /// what is in memory, tells ``DefaultsEvent/unreadable(_:)``, and writes its changes when the file can be
            /// read again.
            case error
            /// It is kept under another name, and the newer of what is in memory and the backup takes its place; a
            /// database gives way to an empty one. Without either it is an error, as it is for who only reads.
            case recover
        }

        /// What the program's check is told: the path that is set and the new value, nil for a removal.
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
        /// The format of a new file: XML, binary or JSON. An existing file keeps its own.
        public var format = PropertyListFormat.xml
        /// When what is set is on disk; of several open handles on a file the strictest counts.
        public var durability = DefaultsDurability.coalesced
        /// How the file is kept.
        public var engine = Engine.automatic
        /// What a commit of the SQLite engine waits for. Once a handle on the file wanted all, its process's others do,
        /// too.
        public var synchronization = Synchronization.full
        /// What is done about a file that is damaged. Once a handle on the file asked to recover, its process's others
        /// do, too.
        public var onCorruption = Corruption.error
        /// Whether the handle only reads.
        public var isReadOnly = false
        /// How long a call may wait for another process or thread that has the store locked.
        public var timeout = Duration.seconds(10)
        /// How many bytes the store's file may have: a change that could make it more is
        /// ``DefaultsError/Code/limitExceeded``, while what makes it smaller is always possible. Counted as the bytes
        /// that the file's format takes at most, for a database as the values' bytes. A row of SQLite, which is a
        /// top-level value, takes 1,000,000,000 bytes whatever stands here: a sync of more throws, and writes nothing.
        public var maximumBytes = 256 << 20
        /// How many values and keys the store may have, counted at every depth; as ``maximumBytes``.
        public var maximumNodes = 1 << 24
        /// Called before each change; what it throws is reported as ``DefaultsError/Code/refused``.
        public var validation: Validation?
        /// What the values of top-level keys have to be; KVCodable makes one of a declared type.
        public var schema: DefaultsSchema?
        /// Steps that bring an older store up to date; see ``DefaultsMigration``.
        public var migrations: [DefaultsMigration] = []

        /// A store that is written, as an XML property list unless its name says otherwise, with no defaults, check or
        /// schema.
        public init() {}
    }
}

extension DefaultsStore.Options {
    var limits: StoreLimits { StoreLimits(bytes: max(maximumBytes, 0), nodes: max(maximumNodes, 0)) }
}
