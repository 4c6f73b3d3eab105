public import PropertyLists

/// The stores of a server, as their administrators see them: their history, and the machines that read them.
///
/// ```swift
/// let fleet = try DefaultsFleet(server: "service=fleet")
/// for change in try fleet.history(of: "all", latest: 10) {
///     print("\(change.revision): \(change.who) changed \(change.key), \(change.note ?? "and said nothing")")
/// }
/// ```
///
/// Each call makes a connection of its own, and waits for the server for as long as `timeout` says, for a connection
/// where the server's text has a `connect_timeout` as long as that.
public struct DefaultsFleet: Sendable {
    private let address: ServerAddress
    private let timeout: Duration

    /// The version of the tables that this library knows.
    public static var tablesVersion: Int { PostgreSQLServer.tablesVersion }

    /// A server; nothing is asked of it yet.
    ///
    /// - Parameters:
    ///   - server: libpq's connection text, as in ``DefaultsStore/Options/server``.
    ///   - isInsecure: as ``DefaultsStore/Options/isInsecure``.
    ///   - timeout: how long each call may wait for the server.
    public init(
        server: String, isInsecure: Bool = false, timeout: Duration = .seconds(10)
    ) throws(DefaultsError) {
        address = try ServerAddress(server, isInsecure: isInsecure, pollInterval: nil)
        self.timeout = timeout
    }

    /// A change of a key in the history of a store.
    ///
    /// ```swift
    /// let lost = try fleet.history(of: "all").first { $0.key == "limits" && $0.value == nil }
    /// print(lost.map { "\($0.who) removed it at \($0.time)" } ?? "It was not removed")
    /// ```
    public struct Change: Sendable, Equatable {
        /// The revision of the store that it was a part of.
        public let revision: Int64
        /// The top-level key.
        public let key: String
        /// The value from then on; nil for a removed one.
        public let value: PropertyList?
        /// The value before; nil where there was none. Only ``DefaultsFleet/changes(in:of:)`` asks for it.
        public let old: PropertyList?
        /// The server's role that made it.
        public let who: String
        /// When, by the server's clock, as ISO 8601 in UTC.
        public let time: String
        /// The note that was made on it.
        public let note: String?
    }

    /// The revision that a program on a machine uses, as it has told itself.
    ///
    /// ```swift
    /// for machine in try fleet.machines(of: "all") where machine.refused != nil {
    ///     print("\(machine.name): \(machine.message ?? "")")
    /// }
    /// ```
    public struct Machine: Sendable, Hashable {
        /// The name by which the machine calls itself.
        public let name: String
        /// The program, by the name of its own store.
        public let program: String
        /// The server's role as which it told this: the server has seen to that.
        public let who: String
        /// The revision of the store that the program goes by.
        public let revision: Int64
        /// The later revision that does not fit the program's schema; nil where it refuses none.
        public let refused: Int64?
        /// The path of the value that does not fit.
        public let path: String?
        /// The reason.
        public let message: String?
        /// When it was told, by the server's clock, as ISO 8601 in UTC.
        public let time: String
    }

    // MARK: - Tables

    /// Makes the tables in the server's database; where they are there, their functions and rights are made anew, and
    /// no data is changed.
    ///
    /// - Parameter script: the text of `fleet.sql`.
    /// - Returns: whether there were none before.
    /// - Throws: ``DefaultsError/Code/unavailable`` for tables of a newer version.
    @discardableResult
    public func makeTables(_ script: String) throws(DefaultsError) -> Bool {
        let connection = try connect()
        defer { connection.close() }
        let found = try connection.run([.init("SELECT to_regclass('kv_format') IS NOT NULL")], until: deadline)
        let areThere = try found.first?.boolean(0, 0) ?? false
        if areThere { try PostgreSQLServer.checkTables(connection) }
        try connection.run(script: script, until: deadline)
        return !areThere
    }

    // MARK: - Looking

    /// The names of the stores that the user may read.
    public func stores() throws(DefaultsError) -> [String] {
        let rows = try rows(.init("SELECT name FROM kv_store WHERE head > 0 ORDER BY name"))
        return (0..<rows.count).compactMap { rows.text($0, 0) }
    }

    /// The revision of a store: 0 for one that was never written, or that the user may not read.
    public func revision(of store: String) throws(DefaultsError) -> Int64 {
        let rows = try rows(.init("SELECT head FROM kv_store WHERE name = $1", .text(store)))
        return rows.count > 0 ? try rows.integer(0, 0) : 0
    }

    private static let time = "to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"

    /// The changes of a store, the latest first. History that was pruned is not there any more.
    ///
    /// - Parameter latest: the number of revisions; nil for all.
    public func history(of store: String, latest: Int? = nil) throws(DefaultsError) -> [Change] {
        try changes(
            """
            SELECT revision, key, value, who::text, \(Self.time), note, NULL::bytea, true FROM kv_change
            WHERE store = $1 AND revision IN (
              SELECT DISTINCT revision FROM kv_change WHERE store = $1 ORDER BY revision DESC LIMIT $2)
            ORDER BY revision DESC, key
            """, store, latest.map { Int64(max($0, 0)) } ?? .max
        ).changes
    }

    /// The changes that a revision of a store was made of; none where it is not in the history.
    ///
    /// - Throws: ``DefaultsError/Code/unavailable`` where the history no longer has the values from before.
    public func changes(in revision: Int64, of store: String) throws(DefaultsError) -> [Change] {
        let (changes, isComplete) = try changes(
            """
            SELECT c.revision, c.key, c.value, c.who::text, \(Self.time), c.note, b.value,
              b.revision IS NOT NULL OR EXISTS (SELECT FROM kv_change WHERE store = $1 AND revision = 1)
            FROM kv_change c LEFT JOIN LATERAL (
              SELECT revision, value FROM kv_change WHERE store = $1 AND key = c.key AND revision < $2
              ORDER BY revision DESC LIMIT 1) b ON true
            WHERE c.store = $1 AND c.revision = $2 ORDER BY c.key
            """, store, revision)
        guard isComplete else {
            throw DefaultsError(
                .unavailable, "The history no longer has the values from before the revision \(revision)")
        }
        return changes
    }

    /// The changes that a statement finds, and whether all their old values are known.
    private func changes(
        _ statement: String, _ store: String, _ number: Int64
    ) throws(DefaultsError) -> (changes: [Change], isComplete: Bool) {
        let rows = try rows(.init(statement, .text(store), .integer(number)))
        var changes: [Change] = []
        var isComplete = true
        for row in 0..<rows.count {
            guard let key = rows.text(row, 1), let who = rows.text(row, 3), let time = rows.text(row, 4) else {
                throw PostgreSQLResult.strange
            }
            isComplete = try rows.boolean(row, 7) && isComplete
            changes.append(
                Change(
                    revision: try rows.integer(row, 0), key: key, value: try rows.list(row, 2, of: key),
                    old: try rows.list(row, 6, of: key), who: who, time: time, note: rows.text(row, 5)))
        }
        return (changes, isComplete)
    }

    /// The reports of the machines that read a store: those of the user's own role, and where that may write the store,
    /// of all.
    public func machines(of store: String) throws(DefaultsError) -> [Machine] {
        let rows = try rows(
            .init(
                """
                SELECT machine, program, who::text, revision, refused, path, message, \(Self.time)
                FROM kv_machine WHERE store = $1 ORDER BY machine, program, who
                """, .text(store)))
        var machines: [Machine] = []
        for row in 0..<rows.count {
            guard let name = rows.text(row, 0), let program = rows.text(row, 1), let who = rows.text(row, 2),
                let time = rows.text(row, 7)
            else { throw PostgreSQLResult.strange }
            machines.append(
                Machine(
                    name: name, program: program, who: who, revision: try rows.integer(row, 3),
                    refused: rows.bytes(row, 4) == nil ? nil : try rows.integer(row, 4), path: rows.text(row, 5),
                    message: rows.text(row, 6), time: time))
        }
        return machines
    }

    // MARK: - Connections

    private var deadline: Deadline { .after(timeout) }

    private func connect() throws(DefaultsError) -> PostgreSQLConnection {
        var hosts = ServerHosts()
        return try PostgreSQLConnection(address, &hosts, patience: timeout)
    }

    private func rows(_ statement: PostgreSQLConnection.Statement) throws(DefaultsError) -> PostgreSQLResult {
        let connection = try connect()
        defer { connection.close() }
        try PostgreSQLServer.checkTables(connection)
        guard let result = try connection.run([statement], until: deadline).first else {
            throw PostgreSQLResult.strange
        }
        return result
    }
}

extension PostgreSQLResult {
    /// The text of a field; nil for NULL. Bytes that are no UTF-8 are replaced by marks.
    fileprivate func text(_ row: Int, _ column: Int32) -> String? {
        bytes(row, column).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The value of a key; nil for NULL.
    fileprivate func list(_ row: Int, _ column: Int32, of key: String) throws(DefaultsError) -> PropertyList? {
        guard let bytes = bytes(row, column) else { return nil }
        do throws(PropertyListError) {
            return try PropertyList.parse(bytes, as: .binary, limits: .store).list
        } catch {
            throw DefaultsError(error.inRow(of: Array(key.utf8)))
        }
    }
}
