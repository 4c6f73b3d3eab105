internal import CKVPostgreSQL
internal import Glibc

/// A connection to a server. Statements go in pipelines: several statements, one answer to wait for.
///
/// One thread uses it at a time. Every call waits until its deadline at most; a server that does not answer in time
/// breaks the connection, because a later answer could not be told from the answer to a later call.
package final class PostgreSQLConnection {
    private let pq: cpq_functions
    private var handle: OpaquePointer?
    private var descriptor: Int32 = -1
    /// True if the connection is unusable.
    package private(set) var isBroken = false
    /// True if a part of the last COMMIT may have left. Until then no commit can have been made.
    private(set) var hasSentCommit = false
    /// Set to 1 when the server sends a warning. Zeroed before the answer to a COMMIT.
    private let warned: UnsafeMutablePointer<Int32>
    /// True if the server's own process is at the other end. A pooler has another process for each transaction.
    package private(set) var isDirect = false
    /// The names of prepared statements, by their texts.
    private var prepared: [String: String] = [:]
    private var preparations = 0

    /// The version of the tables that this package knows.
    package static let tablesVersion: Int64 = 1

    // MARK: - Connecting

    /// Connects, and waits for `patience` at most. Finding the hosts' addresses is not included, and if the address has
    /// a `connect_timeout`, each host may take that long instead.
    ///
    /// Statements on the tables need ``checkTables(until:)`` first.
    package init(
        _ address: ServerAddress, _ hosts: inout ServerHosts, patience: Duration = .seconds(10)
    ) throws(FleetError) {
        pq = try ServerAddress.library()
        warned = .allocate(capacity: 1)
        warned.initialize(to: 0)
        let end = Deadline.after(patience)
        hosts.begin()
        while true {
            handle = Self.begin(address, hosts, pq)
            guard let handle else { throw .noMemory }
            do throws(FleetError) {
                hosts.learn(try prepare(handle, address))
                guard let silent = try connect(handle, hosts, until: end) else { return }
                guard hosts.skip(silent.name, silent.port) else { throw .silent }
            } catch {
                guard error.code == .unreachable, !end.hasPassed, hosts.trySkipped() else {
                    hosts.forget()
                    close()
                    throw error
                }
                isBroken = false
            }
            pq.finish(handle)
        }
    }

    private static func begin(_ address: ServerAddress, _ hosts: ServerHosts, _ pq: cpq_functions) -> OpaquePointer? {
        let options =
            [("dbname", address.text), ("fallback_application_name", "kvfleet"), ("client_encoding", "UTF8")]
            + hosts.options
        var names = options.map { UnsafePointer(strdup($0.0)) }
        var values = options.map { UnsafePointer(strdup($0.1)) }
        names.append(nil)
        values.append(nil)
        defer { for text in names + values { free(UnsafeMutableRawPointer(mutating: text)) } }
        return pq.connectStartParams(&names, &values, 1)
    }

    /// Checks, before anything is sent, that the server may be trusted.
    ///
    /// - Returns: the connection's options.
    private func prepare(_ handle: OpaquePointer, _ address: ServerAddress) throws(FleetError) -> [String: String] {
        // Verbose messages contain codes. The words are in the server's language.
        _ = pq.setErrorVerbosity(handle, Int32(CPQ_ERRORS_VERBOSE))
        cpq_note_warnings(handle, warned)
        descriptor = pq.socket(handle)
        guard pq.status(handle) != CPQ_CONNECTION_BAD else { throw connectionError() }
        guard let options = pq.conninfo(handle) else { throw connectionError() }
        defer { pq.conninfoFree(options) }
        let values = ServerAddress.values(options)
        try address.checkTrust(values)
        return values
    }

    /// - Returns: nil, or a host that said nothing until its deadline.
    private func connect(
        _ handle: OpaquePointer, _ hosts: ServerHosts, until end: Deadline
    ) throws(FleetError) -> (name: String, port: String)? {
        var wanted = Int32(CPQ_POLLING_WRITING)
        var current = host(handle)
        var deadline = hosts.deadline(for: current.name, current.port, of: end)
        while wanted != CPQ_POLLING_OK {
            let host = host(handle)
            if host != current {
                current = host
                deadline = hosts.deadline(for: host.name, host.port, of: end)
            }
            if deadline.hasPassed { return current }
            guard wait(until: deadline, writes: wanted == CPQ_POLLING_WRITING) else { continue }
            wanted = pq.connectPoll(handle)
            // libpq has another socket for another host.
            descriptor = pq.socket(handle)
            if wanted == CPQ_POLLING_FAILED { throw connectionError() }
        }
        guard pq.setnonblocking(handle, 1) == 0, pq.enterPipelineMode(handle) == 1 else { throw connectionError() }
        return nil
    }

    /// The host that libpq is connecting to, and its port.
    private func host(_ handle: OpaquePointer) -> (name: String, port: String) {
        (pq.host(handle).map { String(cString: $0) } ?? "", pq.port(handle).map { String(cString: $0) } ?? "")
    }

    deinit {
        close()
        warned.deallocate()
    }

    package func close() {
        isBroken = true
        if let handle { pq.finish(handle) }
        handle = nil
        descriptor = -1
    }

    /// Whether the connection stands, as far as that is known without asking the server.
    package var isAlive: Bool {
        guard let handle, !isBroken else { return false }
        if wait(until: .after(.zero)), pq.consumeInput(handle) == 0 { isBroken = true }
        if pq.status(handle) != CPQ_CONNECTION_OK { isBroken = true }
        return !isBroken
    }

    /// Waits until the server has sent something, or its socket can be written to.
    ///
    /// - Returns: false if the deadline has passed, or a signal came.
    @discardableResult
    func wait(until deadline: Deadline, writes: Bool = false) -> Bool {
        let (seconds, attoseconds) = deadline.remaining.components
        return cpq_wait(descriptor, writes ? 1 : 0, seconds * 1_000_000_000 + attoseconds / 1_000_000_000) != 0
    }

    // MARK: - Tables

    /// Checks the version of the tables, and finds out whether a pooler is in between.
    package func checkTables(until deadline: Deadline) throws(FleetError) {
        let question = "SELECT max(version)::int8, pg_backend_pid()::int8 FROM kv_format"
        let rows = try run(Statement(question), until: deadline)
        // A pooler invents the process of its own connections.
        isDirect = try rows.integer(0, 1) == handle.map { Int64(pq.backendPID($0)) }
        let version = try rows.integer(0, 0)
        guard version == Self.tablesVersion else { throw .otherTables(version, known: Self.tablesVersion) }
    }

    /// Makes the tables in the server's database. If they exist, only their functions and rights are made again.
    ///
    /// - Returns: true if there were no tables before.
    package func makeTables(until deadline: Deadline) throws(FleetError) -> Bool {
        let question = "SELECT to_regclass('kv_format') IS NOT NULL"
        let exist = try run(Statement(question), until: deadline).boolean(0, 0)
        if exist { try checkTables(until: deadline) }
        try run(script: String(decoding: PackageResources.fleet_sql, as: UTF8.self), until: deadline)
        return !exist
    }

    // MARK: - Statements

    /// Runs one statement.
    package func run(_ statement: Statement, until deadline: Deadline) throws(FleetError) -> PostgreSQLResult {
        guard let result = try run([statement], until: deadline).first else { throw .strangeRow }
        return result
    }

    /// Runs the statements, up to the first that fails, and returns a result for each.
    func run(_ statements: [Statement], until deadline: Deadline) throws(FleetError) -> [PostgreSQLResult] {
        hasSentCommit = false
        guard let handle, !isBroken else { throw connectionError() }
        var awaited: [Awaited] = []
        for statement in statements {
            // Prepared directly before its use: the transaction in which it is prepared must be its own.
            if isDirect, prepared[statement.text] == nil {
                guard prepare(statement, handle) else { throw connectionError() }
                awaited.append(.preparation(statement.text))
            }
            if statement.isCommit {
                try flush(handle, until: deadline)
                hasSentCommit = true
            }
            guard send(statement, handle) else { throw connectionError() }
            awaited.append(statement.isCommit ? .commit : .rows)
        }
        guard pq.pipelineSync(handle) == 1 else { throw connectionError() }
        try flush(handle, until: deadline)
        return try receive(awaited, handle, until: deadline)
    }

    /// True if the last answer to a COMMIT came with a warning, as when an administrator ends the wait for a standby.
    var commitWarned: Bool { warned.pointee != 0 }

    /// The request that an answer of the server belongs to.
    private enum Awaited {
        case preparation(String)
        case rows
        case commit
    }

    /// Runs a text of many statements, as psql does with a file, up to the first that fails.
    private func run(script: String, until deadline: Deadline) throws(FleetError) {
        guard let handle, !isBroken, pq.exitPipelineMode(handle) == 1, pq.sendQuery(handle, script) == 1 else {
            throw connectionError()
        }
        try flush(handle, until: deadline)
        var failure: FleetError?
        while let result = try next(handle, until: deadline) {
            if !result.isGood, failure == nil { failure = error(of: result) }
        }
        if let failure { throw failure }
        guard pq.enterPipelineMode(handle) == 1 else { throw connectionError() }
    }

    private func prepare(_ statement: Statement, _ handle: OpaquePointer) -> Bool {
        preparations += 1
        let name = "kv_\(preparations)"
        prepared[statement.text] = name
        let types = statement.parameters.map(\.type)
        return pq.sendPrepare(handle, name, statement.text, Int32(types.count), types) == 1
    }

    private func send(_ statement: Statement, _ handle: OpaquePointer) -> Bool {
        // A NUL at the end: the pointer to an empty value must not be NULL, which means no value.
        let bytes: [UInt8] = statement.parameters.flatMap { $0.bytes ?? [] as [UInt8] } + [0]
        let types = statement.parameters.map(\.type)
        let lengths = statement.parameters.map { Int32(clamping: $0.bytes?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: types.count)
        return bytes.withUnsafeBufferPointer { buffer in
            var offset = 0
            let values: [UnsafePointer<UInt8>?] = statement.parameters.map { parameter in
                guard let bytes = parameter.bytes else { return nil }
                defer { offset += bytes.count }
                return buffer.baseAddress.map { $0 + offset }
            }
            if let name = prepared[statement.text] {
                return pq.sendQueryPrepared(handle, name, Int32(types.count), values, lengths, formats, 1) == 1
            }
            return pq.sendQueryParams(
                handle, statement.text, Int32(types.count), types, values, lengths, formats, 1) == 1
        }
    }

    private func flush(_ handle: OpaquePointer, until deadline: Deadline) throws(FleetError) {
        while true {
            let left = pq.flush(handle)
            if left == 0 { return }
            guard left > 0 else { throw connectionError() }
            guard !deadline.hasPassed else { throw silence() }
            wait(until: deadline, writes: true)
            // The server may wait until its answers are read.
            if pq.consumeInput(handle) == 0 { throw connectionError() }
        }
    }

    private func receive(
        _ awaited: [Awaited], _ handle: OpaquePointer, until deadline: Deadline
    ) throws(FleetError) -> [PostgreSQLResult] {
        var results: [PostgreSQLResult] = []
        var failure: FleetError?
        for each in awaited {
            if case .commit = each { warned.pointee = 0 }
            guard let result = try next(handle, until: deadline) else { throw failure ?? connectionError() }
            if !result.isGood, failure == nil { failure = error(of: result) }
            switch each {
            case .preparation(let text): if !result.isGood { prepared[text] = nil }
            case .rows, .commit: if result.isGood { results.append(result) }
            }
            // An answer ends with an empty one; after a fatal error no other answer comes.
            if isBroken { throw failure ?? connectionError() }
            guard try next(handle, until: deadline) == nil else { throw connectionError() }
        }
        guard try next(handle, until: deadline)?.isEndOfPipeline == true else {
            isBroken = true
            throw failure ?? connectionError()
        }
        if let failure { throw failure }
        return results
    }

    private func next(_ handle: OpaquePointer, until deadline: Deadline) throws(FleetError) -> PostgreSQLResult? {
        while pq.isBusy(handle) == 1 {
            guard !deadline.hasPassed else { throw silence() }
            guard wait(until: deadline) else { continue }
            if pq.consumeInput(handle) == 0 { throw connectionError() }
        }
        return pq.getResult(handle).map { PostgreSQLResult($0, pq) }
    }

    // MARK: - Notifications

    /// Whether notifications came since the last call, also together with an answer.
    ///
    /// Their texts are ignored: every role may notify any channel with any text.
    func takeNotifications() throws(FleetError) -> Bool {
        guard isAlive, let handle else { throw connectionError() }
        var hasAny = false
        while let notification = pq.notifies(handle) {
            pq.freemem(notification)
            hasAny = true
        }
        return hasAny
    }

    // MARK: - Errors

    /// The error of a server that says nothing. It breaks the connection.
    private func silence() -> FleetError {
        isBroken = true
        return .silent
    }

    /// The error of a connection that is lost or was not made.
    private func connectionError() -> FleetError {
        isBroken = true
        guard let handle, let text = pq.errorMessage(handle) else { return .notConnected }
        return FleetError(connection: String(cString: text))
    }

    private func error(of result: PostgreSQLResult) -> FleetError {
        if let handle, pq.status(handle) != CPQ_CONNECTION_OK { isBroken = true }
        let code = result.field(Int32(CPQ_CODE))
        if ["FATAL", "PANIC"].contains(result.field(Int32(CPQ_SEVERITY))) { isBroken = true }
        // A prepared statement does not fit the server's tables any more, or is gone.
        if ["26000", "0A000"].contains(code) { isBroken = true }
        return FleetError(server: result.field(Int32(CPQ_PRIMARY)), code: code)
    }
}
