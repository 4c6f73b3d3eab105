internal import CKVPostgreSQL
internal import Glibc
internal import PropertyLists

/// A connection to a server, over which statements go in pipelines: several of them, one answer to wait for.
///
/// `@unchecked Sendable`: used by one thread at a time, which took it from its ``PostgreSQLServer``.
final class PostgreSQLConnection: @unchecked Sendable {
    private let pq: cpq_functions
    private var handle: OpaquePointer?
    /// The socket: after a fork a child lets go of it without a call of libpq.
    private(set) var descriptor: Int32
    /// Whether nothing can be done with it any more.
    private(set) var isBroken = false
    /// Whether anything of the COMMIT that was run last may have left: until then nothing can have happened.
    private(set) var hasSentCommit = false
    /// Whether the server has warned, since that was reset.
    private let warned: UnsafeMutablePointer<Int32>
    /// Whether statements were run over it before it was taken.
    var isUsed = false
    /// Whether the server's own process is at the other end: a pooler has another one for each transaction.
    var isDirect = false
    /// The names by which the server keeps statements, by their texts: it reads and plans each but once.
    private var prepared: [String: String] = [:]
    private var preparations = 0
    /// The notifications that have come, and were not asked for yet.
    private var told: [String: String] = [:]
    /// Whether a transaction is open on it.
    var isInTransaction = false
    /// Until when it is kept without being used.
    var kept = Deadline.after(.seconds(30))

    /// Connects; waits for `patience` at most, but for the time that finding the hosts' addresses takes, and for
    /// `connect_timeout` where the address has one: then each host may take so long.
    init(
        _ address: ServerAddress, _ hosts: inout ServerHosts, patience: Duration = .seconds(10)
    ) throws(DefaultsError) {
        pq = try ServerAddress.library()
        descriptor = -1
        warned = .allocate(capacity: 1)
        warned.initialize(to: 0)
        let end = Deadline.after(patience)
        hosts.begin()
        while true {
            handle = Self.begin(address, hosts, pq)
            guard let handle else { throw DefaultsError(.unreachable, "The server cannot be reached: no memory") }
            do throws(DefaultsError) {
                hosts.learn(try prepare(handle, address))
                guard let silent = try connect(handle, hosts, until: end) else { return }
                guard hosts.pass(silent.name, silent.port) else {
                    // Others may be before us in a crowd.
                    var error = DefaultsError(.unreachable, "The server did not answer in time")
                    error.isPassing = true
                    throw error
                }
            } catch {
                guard error.code == .unreachable, !end.hasPassed, hosts.turnBack() else {
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
            [("dbname", address.text), ("fallback_application_name", "kvcodable"), ("client_encoding", "UTF8")]
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
    private func prepare(
        _ handle: OpaquePointer, _ address: ServerAddress
    ) throws(DefaultsError) -> [String: String] {
        // With the codes of errors, which texts in the server's language have not.
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

    /// - Returns: nil, or the host that has said nothing until its deadline.
    private func connect(
        _ handle: OpaquePointer, _ hosts: ServerHosts, until end: Deadline
    ) throws(DefaultsError) -> (name: String, port: String)? {
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
            let isReady =
                cpq_wait(descriptor, wanted == CPQ_POLLING_WRITING ? 1 : 0, -1, deadline.remaining) != 0
            guard isReady else { continue }
            wanted = pq.connectPoll(handle)
            // Another socket for another address.
            descriptor = pq.socket(handle)
            if wanted == CPQ_POLLING_FAILED { throw connectionError() }
        }
        guard pq.setnonblocking(handle, 1) == 0, pq.enterPipelineMode(handle) == 1 else { throw connectionError() }
        return nil
    }

    /// The host that libpq is at, and its port.
    private func host(_ handle: OpaquePointer) -> (name: String, port: String) {
        (pq.host(handle).map { String(cString: $0) } ?? "", pq.port(handle).map { String(cString: $0) } ?? "")
    }

    deinit {
        close()
        warned.deallocate()
    }

    func close() {
        isBroken = true
        if let handle { pq.finish(handle) }
        handle = nil
        descriptor = -1
    }

    /// In a child process: lets go of the socket, of which the parent must not notice anything.
    func abandon() {
        isBroken = true
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
        handle = nil
    }

    /// Whether the connection stands as far as can be told without asking the server.
    var isAlive: Bool {
        guard let handle, !isBroken else { return false }
        if cpq_wait(descriptor, 0, -1, 0) != 0, pq.consumeInput(handle) == 0 { isBroken = true }
        if pq.status(handle) != CPQ_CONNECTION_OK { isBroken = true }
        return !isBroken
    }

    /// The process at the other end as the connection's beginning names it: a pooler makes one up.
    var process: Int32 {
        guard let handle else { return 0 }
        return pq.backendPID(handle)
    }

    // MARK: - Statements

    /// A statement and its parameters, in the server's binary form.
    struct Statement {
        let text: String
        fileprivate var parameters: [Parameter]

        init(_ text: String, _ parameters: Parameter...) {
            self.text = text
            self.parameters = parameters
        }

        static let commit = Statement("COMMIT")
        fileprivate var isCommit: Bool { text == Self.commit.text }
    }

    struct Parameter {
        let type: UInt32
        let bytes: [UInt8]

        static func text(_ text: String) -> Parameter { Parameter(type: 25, bytes: Array(text.utf8)) }
        static func integer(_ value: Int64) -> Parameter {
            Parameter(type: 20, bytes: withUnsafeBytes(of: value.bigEndian) { Array($0) })
        }
        static func uuid(_ token: [UInt8]) -> Parameter { Parameter(type: 2950, bytes: token) }
        static func bytes(_ bytes: [UInt8]) -> Parameter { Parameter(type: 17, bytes: bytes) }
        /// An array of byte strings as ``ByteArrays`` puts it together.
        fileprivate static func byteArray(_ bytes: [UInt8]) -> Parameter { Parameter(type: 1001, bytes: bytes) }
    }

    /// Runs the statements, all or up to the first that fails; gives a result for each.
    func run(_ statements: [Statement], until deadline: Deadline) throws(DefaultsError) -> [PostgreSQLResult] {
        hasSentCommit = false
        guard let handle, !isBroken else { throw connectionError() }
        isUsed = true
        var awaited: [Awaited] = []
        for statement in statements {
            // Right before it: a statement prepared before a BEGIN belongs to another transaction.
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

    /// Whether the last answer to a COMMIT came with a warning, as where an administrator has ended the wait for a
    /// standby.
    var commitWarned: Bool { warned.pointee != 0 }

    /// The request that an answer of the server is to.
    private enum Awaited {
        case preparation(String)
        case rows
        case commit
    }

    /// Runs a text of many statements, as psql does with a file, up to the first that fails.
    func run(script: String, until deadline: Deadline) throws(DefaultsError) {
        guard let handle, !isBroken, pq.exitPipelineMode(handle) == 1, pq.sendQuery(handle, script) == 1 else {
            throw connectionError()
        }
        try flush(handle, until: deadline)
        var failure: DefaultsError?
        while let result = try next(handle, until: deadline) {
            let isGood = result.status == CPQ_TUPLES_OK || result.status == CPQ_COMMAND_OK
            if !isGood, failure == nil { failure = error(of: result) }
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
        // A NUL behind all: the pointer to an empty value must not be NULL, which means no value.
        let bytes = statement.parameters.flatMap(\.bytes) + [0]
        let types = statement.parameters.map(\.type)
        let lengths = statement.parameters.map { Int32(clamping: $0.bytes.count) }
        let formats = [Int32](repeating: 1, count: types.count)
        return bytes.withUnsafeBufferPointer { buffer in
            var offset = 0
            let values: [UnsafePointer<UInt8>?] = statement.parameters.map { parameter in
                defer { offset += parameter.bytes.count }
                return buffer.baseAddress.map { $0 + offset }
            }
            if let name = prepared[statement.text] {
                return pq.sendQueryPrepared(handle, name, Int32(types.count), values, lengths, formats, 1) == 1
            }
            return pq.sendQueryParams(
                handle, statement.text, Int32(types.count), types, values, lengths, formats, 1) == 1
        }
    }

    private func flush(_ handle: OpaquePointer, until deadline: Deadline) throws(DefaultsError) {
        while true {
            let left = pq.flush(handle)
            if left == 0 { return }
            guard left > 0 else { throw connectionError() }
            guard !deadline.hasPassed else { throw silence() }
            _ = cpq_wait(descriptor, 1, -1, deadline.remaining)
            // The server may have to be read before it reads on.
            if pq.consumeInput(handle) == 0 { throw connectionError() }
        }
    }

    private func receive(
        _ awaited: [Awaited], _ handle: OpaquePointer, until deadline: Deadline
    ) throws(DefaultsError) -> [PostgreSQLResult] {
        var results: [PostgreSQLResult] = []
        var failure: DefaultsError?
        for each in awaited {
            if case .commit = each { warned.pointee = 0 }
            guard let result = try next(handle, until: deadline) else { throw failure ?? connectionError() }
            let isGood = result.status == CPQ_TUPLES_OK || result.status == CPQ_COMMAND_OK
            if !isGood, failure == nil { failure = error(of: result) }
            switch each {
            case .preparation(let text): if !isGood { prepared[text] = nil }
            case .rows, .commit: if isGood { results.append(result) }
            }
            // An answer ends with an empty one; after a fatal error none comes any more.
            if isBroken { throw failure ?? connectionError() }
            guard try next(handle, until: deadline) == nil else { throw connectionError() }
        }
        guard try next(handle, until: deadline)?.status == Int32(CPQ_PIPELINE_SYNC) else {
            isBroken = true
            throw failure ?? connectionError()
        }
        if let failure { throw failure }
        return results
    }

    private func next(_ handle: OpaquePointer, until deadline: Deadline) throws(DefaultsError) -> PostgreSQLResult? {
        while pq.isBusy(handle) == 1 {
            guard !deadline.hasPassed else { throw silence() }
            guard cpq_wait(descriptor, 0, -1, deadline.remaining) != 0 else { continue }
            if pq.consumeInput(handle) == 0 { throw connectionError() }
        }
        return pq.getResult(handle).map { PostgreSQLResult($0, pq) }
    }

    // MARK: - Notifications

    /// The channels of the notifications that have come, each with the text of all, which is empty where they differ;
    /// nil where the connection is lost.
    func notifications() -> [String: String]? {
        guard let handle, isAlive else { return nil }
        _ = pq.consumeInput(handle)
        guard isAlive else { return nil }
        defer { told = [:] }
        return hasNotifications ? told : [:]
    }

    /// Whether notifications have come, also along with an answer: of those the descriptor shows nothing any more.
    var hasNotifications: Bool {
        while let handle, let notification = pq.notifies(handle) {
            let channel = String(cString: notification.pointee.channel)
            let text = notification.pointee.payload.map { String(cString: $0) } ?? ""
            // Every role may notify with any text: one must not hide another.
            told[channel] = told[channel, default: text] == text ? text : ""
            pq.freemem(notification)
        }
        return !told.isEmpty
    }

    // MARK: - Errors

    /// The error of a server that says nothing: the connection cannot be used any more.
    private func silence() -> DefaultsError {
        isBroken = true
        return DefaultsError(.unreachable, "The server did not answer in time")
    }

    /// The error of a connection that is lost, or was not made.
    private func connectionError() -> DefaultsError {
        isBroken = true
        guard let handle, let text = pq.errorMessage(handle) else {
            return DefaultsError(.unreachable, "The connection to the server is lost")
        }
        return DefaultsError(connection: String(cString: text))
    }

    private func error(of result: PostgreSQLResult) -> DefaultsError {
        if let handle, pq.status(handle) != CPQ_CONNECTION_OK { isBroken = true }
        let code = result.field(Int32(CPQ_CODE))
        if ["FATAL", "PANIC"].contains(result.field(Int32(CPQ_SEVERITY))) { isBroken = true }
        // A prepared statement no longer fits the server's tables, or is not there.
        if ["26000", "0A000"].contains(code) { isBroken = true }
        return DefaultsError(server: result.field(Int32(CPQ_PRIMARY)), code: code)
    }
}

/// The rows that a statement gave. The server's bytes are looked at here alone.
///
/// `@unchecked Sendable`: libpq's result never changes.
final class PostgreSQLResult: @unchecked Sendable {
    private let pq: cpq_functions
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer, _ pq: cpq_functions) {
        self.handle = handle
        self.pq = pq
    }

    deinit { pq.clear(handle) }

    var status: Int32 { pq.resultStatus(handle) }
    var count: Int { Int(pq.ntuples(handle)) }

    fileprivate func field(_ field: Int32) -> String {
        pq.resultErrorField(handle, field).map { String(cString: $0) } ?? ""
    }

    /// The bytes of a field; nil for NULL, and for one that is not there.
    func bytes(_ row: Int, _ column: Int32) -> UnsafeRawBufferPointer? {
        guard row < count, column < pq.nfields(handle), pq.getisnull(handle, Int32(row), column) == 0,
            let start = pq.getvalue(handle, Int32(row), column)
        else { return nil }
        return UnsafeRawBufferPointer(start: start, count: Int(max(pq.getlength(handle, Int32(row), column), 0)))
    }

    func integer(_ row: Int, _ column: Int32) throws(DefaultsError) -> Int64 {
        guard let bytes = bytes(row, column), bytes.count == 8 else { throw Self.strange }
        return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    }

    func boolean(_ row: Int, _ column: Int32) throws(DefaultsError) -> Bool {
        guard let bytes = bytes(row, column), bytes.count == 1 else { throw Self.strange }
        return bytes[0] != 0
    }

    /// The 16 bytes of a UUID; nil for NULL.
    func uuid(_ row: Int, _ column: Int32) throws(DefaultsError) -> [UInt8]? {
        guard let bytes = bytes(row, column) else { return nil }
        guard bytes.count == 16 else { throw Self.strange }
        return Array(bytes)
    }

    static var strange: DefaultsError {
        DefaultsError(
            .io, expected: "a row of the tables of a fleet", found: "another: they are not those of fleet.sql")
    }
}

extension PostgreSQLConnection.Parameter {
    /// Puts an array of byte strings together as the server's binary form has it.
    struct ByteArrays {
        private(set) var count = 0
        private var hasNull = false
        private var elements: [UInt8] = []

        var byteCount: Int { elements.count }

        mutating func append(_ bytes: some Collection<UInt8>) {
            count += 1
            append(number: Int32(clamping: bytes.count))
            elements.append(contentsOf: bytes)
        }

        mutating func appendNull() {
            count += 1
            hasNull = true
            append(number: -1)
        }

        private mutating func append(number: Int32) {
            withUnsafeBytes(of: number.bigEndian) { elements.append(contentsOf: $0) }
        }

        /// One dimension of `bytea`, whose number of type is 17, counted from 1.
        var parameter: PostgreSQLConnection.Parameter {
            var head = ByteArrays()
            for number in [1, hasNull ? 1 : 0, 17, Int32(clamping: count), 1] { head.append(number: number) }
            return .byteArray(head.elements + elements)
        }
    }
}
