internal import CKVPostgreSQL
internal import CKVSystem
internal import Glibc
internal import PropertyLists

/// A server and the connections that this process has to it: one that listens, and others for commits and looks, each
/// taken by one thread at a time and closed when no thread has needed it for half a minute. The one over which a store
/// was read at first becomes the one that listens: a server's connections are few where machines are many.
///
/// A thread of the library makes all connections, listens, and has the domains take up the changes of others: no call
/// of a program waits for a name server, and a get for nothing at all. It ends when no domain is left.
///
/// `@unchecked Sendable`: the state is guarded by `lock`, under which nothing else is locked.
final class PostgreSQLServer: @unchecked Sendable {
    let address: ServerAddress
    let flusher = Flusher.remote()
    private let lock = Lock()
    private let changed = Condition()
    /// Written to wake the thread.
    private let wakeDescriptor = cs_eventfd_open()
    /// Taken while libpq connects: a fork waits for it, since libpq has locks of its own then.
    private let connecting = WriterLock()

    // Guarded by `lock`.
    private var hosts = ServerHosts()
    private var idle: [PostgreSQLConnection] = []
    /// Every connection that is open, for a child process to let go of.
    private var open: [PostgreSQLConnection] = []
    /// The threads that wait for a connection.
    private var waiting = 0
    /// Why the server is taken to be away; nil where it is there.
    private var away: DefaultsError?
    /// Whether a connection broke, so that the one that listens is to be tried.
    private var isSuspect = false
    /// The number of attempts that failed, and the error of the last.
    private var failures = 0
    private var failure: DefaultsError?
    private var entries: [Entry] = []
    private var reports = FleetReports()
    private var layers: [WeakLayer] = []
    private var hasToKeep = false
    private var lastNumber = 0
    private var hasThread = false
    private var isLeaving = false
    /// Whether ``pauseConnecting()`` took `connecting`.
    private var isConnectingHeld = false

    /// A domain on the server, by a number that no other one ever has.
    private struct Entry {
        let number: Int
        weak var domain: Domain?
        let store: String
    }

    private struct WeakLayer {
        let identifier: ObjectIdentifier
        weak var layer: FleetLayer?
    }

    /// A domain that is alive, and stays so while the thread is at it.
    struct Guest {
        let number: Int
        let domain: Domain
        let store: String
    }

    private init(_ address: ServerAddress) {
        self.address = address
    }

    // MARK: - All servers

    private static let registry = Registry()

    /// `@unchecked Sendable`: guarded by `lock`.
    private final class Registry: @unchecked Sendable {
        let lock = Lock()
        var servers: [ServerAddress: PostgreSQLServer] = [:]
    }

    /// The server of an address: one for all stores of the process. It is never let go of.
    static func at(_ address: ServerAddress) -> PostgreSQLServer {
        DomainRegistry.shared.attendServers()
        return registry.lock.withLock {
            if let server = registry.servers[address] { return server }
            let server = PostgreSQLServer(address)
            registry.servers[address] = server
            return server
        }
    }

    /// Every server of the process.
    static var all: [PostgreSQLServer] { registry.lock.withLock { Array(registry.servers.values) } }

    // MARK: - Domains

    /// Has the domain told of the changes that others make to the store.
    func attend(_ domain: Domain, _ store: String) {
        guard let engine = domain.engine as? PostgreSQLEngine else { return }
        lock.withLock {
            guard !engine.isAttended else { return }
            engine.isAttended = true
            lastNumber += 1
            entries.append(Entry(number: lastNumber, domain: domain, store: store))
        }
        start()
    }

    /// Starts the thread, which a child process has to do anew; wakes it.
    func start() {
        lock.withLock { startThread() }
        wake()
    }

    /// With the lock held.
    private func startThread() {
        if !hasThread, !isLeaving { hasThread = BackgroundThread.start { self.serve() } }
    }

    func wake() {
        var one: UInt64 = 1
        _ = write(wakeDescriptor, &one, 8)
    }

    // MARK: - Layers

    func add(_ layer: FleetLayer) {
        lock.withLock { layers.append(WeakLayer(identifier: ObjectIdentifier(layer), layer: layer)) }
    }

    func remove(_ layer: FleetLayer) {
        lock.withLock {
            layers.removeAll { $0.identifier == ObjectIdentifier(layer) }
            reports.remove(ObjectIdentifier(layer))
        }
    }

    /// The layers that a domain is of handles of this process.
    func layers(of domain: Domain) -> [FleetLayer] {
        let all = lock.withLock { layers }
        // Without the lock: the last reference to a layer may be let go of here.
        return all.compactMap(\.layer).filter { $0.domain === domain }
    }

    /// Has the server told which revision a layer's program uses, where that is news.
    func tell(_ report: FleetReport, of layer: FleetLayer) {
        let isNews = lock.withLock {
            let isNews = reports.add(report, of: ObjectIdentifier(layer))
            hasToKeep = hasToKeep || isNews
            return isNews
        }
        if isNews { wake() }
    }

    /// Whether layers go by other revisions than when this was asked last.
    func takeNewsToKeep() -> Bool {
        lock.withLock {
            defer { hasToKeep = false }
            return hasToKeep
        }
    }

    /// Changes, or looks at, the reports for the server.
    func withReports<Result>(_ body: (inout FleetReports) -> Result) -> Result { lock.withLock { body(&reports) } }

    // MARK: - Connections

    /// A connection for the calling thread alone, until it is given back: one that is there, or a new one. A server
    /// that has no room now is tried again until the deadline: machines that start together come up one after the
    /// other.
    ///
    /// - Throws: the error of the attempt to connect, or ``DefaultsError/Code/unreachable`` at the deadline.
    func take(until deadline: Deadline) throws(DefaultsError) -> PostgreSQLConnection {
        try lock.withLock { () throws(DefaultsError) in
            startThread()
            var old = failures
            waiting += 1
            defer { waiting -= 1 }
            while true {
                if let connection = unused() { return connection }
                let hasFailed = failures != old
                if hasFailed, let failure, !failure.isPassing { throw failure }
                guard hasThread, !deadline.hasPassed else {
                    throw failure ?? DefaultsError(.unreachable, "The server did not answer in time")
                }
                // After a failure the thread tries again in its own time.
                if !hasFailed { wake() }
                old = failures
                changed.wait(lock, until: deadline)
            }
        }
    }

    /// A connection that no thread has; with the lock held.
    private func unused() -> PostgreSQLConnection? {
        while let connection = idle.popLast() {
            if connection.isAlive { return connection }
            forget(connection)
        }
        return nil
    }

    /// Whether threads wait for more connections than there are.
    var isAwaited: Bool { lock.withLock { waiting > idle.count } }

    /// Whether all connections that there are were taken.
    var hasLentAll: Bool { lock.withLock { idle.isEmpty && !open.isEmpty } }

    /// A connection to listen over.
    func connectToListen() throws(DefaultsError) -> PostgreSQLConnection {
        if let connection = lock.withLock({ unused() }) { return connection }
        return try connect()
    }

    func giveBack(_ connection: PostgreSQLConnection) {
        let isLost = lock.withLock {
            connection.kept = .after(.seconds(30))
            let isLost = connection.isBroken
            if isLost { forget(connection) } else { idle.append(connection) }
            if isLost { isSuspect = true }
            if waiting > 0 { changed.broadcast() }
            return isLost
        }
        if isLost { wake() }
    }

    /// Why the server is taken to be away, since a connection broke or could not be made; nil where it is there.
    var absence: DefaultsError? {
        lock.withLock {
            away ?? (isSuspect ? DefaultsError(.unreachable, "The connection to the server is lost") : nil)
        }
    }

    /// With the lock held.
    private func forget(_ connection: PostgreSQLConnection) {
        open.removeAll { $0 === connection }
        connection.close()
    }

    /// Makes a connection, on the thread.
    func connect() throws(DefaultsError) -> PostgreSQLConnection {
        _ = connecting.acquire(until: .after(.seconds(60)))
        defer { connecting.release() }
        var hosts = lock.withLock { self.hosts }
        defer { lock.withLock { self.hosts = hosts } }
        let connection = try PostgreSQLConnection(address, &hosts)
        do throws(DefaultsError) {
            try Self.checkTables(connection)
        } catch {
            connection.close()
            throw error
        }
        lock.withLock { open.append(connection) }
        Self.attendExit()
        return connection
    }

    static let tablesVersion = 1

    static func checkTables(_ connection: PostgreSQLConnection) throws(DefaultsError) {
        let question = "SELECT max(version)::int8, pg_backend_pid()::int8 FROM kv_format"
        let found = try connection.run([.init(question)], until: .after(.seconds(10)))
        let version = try found.first?.integer(0, 0) ?? 0
        connection.isDirect = try found.first?.integer(0, 1) == Int64(connection.process)
        guard version == tablesVersion else {
            throw DefaultsError(
                .unavailable,
                "The tables of the fleet are of version \(version): this library knows version \(tablesVersion)")
        }
    }

    // MARK: - The thread

    private func serve() {
        let listener = ServerListener(self)
        while !attend(liveGuests(), listener) { listener.wait(wakeDescriptor) }
    }

    /// The domains that are alive.
    fileprivate func liveGuests() -> [Guest] {
        let all = lock.withLock { entries }
        // Without the lock: the last reference to a domain may be let go of here.
        let guests = all.compactMap { entry in
            entry.domain.map { Guest(number: entry.number, domain: $0, store: entry.store) }
        }
        if guests.count < all.count {
            let alive = Set(guests.map(\.number))
            let gone = Set(all.map(\.number)).subtracting(alive)
            lock.withLock { entries.removeAll { gone.contains($0.number) } }
        }
        return guests
    }

    /// Does one round of the thread's work; says whether the thread ends.
    private func attend(_ guests: [Guest], _ listener: ServerListener) -> Bool {
        let isLeaving = lock.withLock { self.isLeaving }
        if isLeaving { for guest in guests { _ = keep(guest) } }
        if guests.isEmpty || isLeaving, end(listener) { return true }
        serveWaiting(listener)
        listener.attend(guests)
        closeUnused()
        return false
    }

    /// Keeps the values that a domain and its layers saw for the time without the server; false where it is to be tried
    /// again.
    func keep(_ guest: Guest) -> Bool {
        for layer in layers(of: guest.domain) { layer.keep() }
        return guest.domain.keepForAway()
    }

    /// Ends the thread, unless a domain came, or a thread that waits for a connection.
    private func end(_ listener: ServerListener) -> Bool {
        lock.withLock {
            guard isLeaving || entries.isEmpty && waiting == 0 else { return false }
            for connection in idle { forget(connection) }
            idle = []
            if let connection = listener.connection { forget(connection) }
            hasThread = false
            changed.broadcast()
            return true
        }
    }

    /// Makes the connections that threads wait for.
    private func serveWaiting(_ listener: ServerListener) {
        while isAwaited {
            do throws(DefaultsError) {
                let connection = try connect()
                let wasAway = lock.withLock {
                    idle.append(connection)
                    changed.broadcast()
                    return away != nil
                }
                if wasAway { listener.serverIsThere(liveGuests()) }
            } catch {
                listener.putOff()
                noteFailure(error)
                return
            }
        }
    }

    /// Notes a failed attempt, for the threads that wait, and tells of the first.
    func noteFailure(_ error: DefaultsError) {
        let isNews = lock.withLock {
            defer { away = error }
            failures += 1
            failure = error
            isSuspect = false
            changed.broadcast()
            return away == nil
        }
        guard isNews else { return }
        for guest in liveGuests() { guest.domain.tell(.disconnected(error)) }
    }

    /// Notes that the server is there; says whether it was away.
    func noteSuccess() -> Bool {
        lock.withLock {
            defer { away = nil }
            failure = nil
            return away != nil
        }
    }

    /// Whether a connection broke since the last ``clearSuspicion()``.
    var isSuspected: Bool { lock.withLock { isSuspect } }

    func clearSuspicion() { lock.withLock { isSuspect = false } }

    /// Closes a connection that is not given back.
    func drop(_ connection: PostgreSQLConnection) { lock.withLock { forget(connection) } }

    private func closeUnused() {
        lock.withLock {
            for connection in idle where connection.kept.hasPassed { forget(connection) }
            idle.removeAll { $0.isBroken }
        }
    }

    // MARK: - Exit

    private static let exit = ExitHandler()

    /// `@unchecked Sendable`: guarded by `lock`.
    private final class ExitHandler: @unchecked Sendable {
        let lock = Lock()
        var isInstalled = false
    }

    /// Has the servers left before libpq's TLS library puts itself away, whose handler the first connection installs.
    private static func attendExit() {
        let isNew = exit.lock.withLock {
            defer { exit.isInstalled = true }
            return !exit.isInstalled
        }
        if isNew { atexit { PostgreSQLServer.leaveAll() } }
    }

    /// Writes the waiting changes, and uses no connection from then on.
    static func leaveAll() {
        for server in all { server.leave() }
    }

    private func leave() {
        if lock.withLock({ isLeaving }) { return }
        flusher.flushAtExit()
        lock.withLock { isLeaving = true }
        wake()
        let deadline = Deadline.after(.seconds(1))
        lock.withLock {
            while hasThread, !deadline.hasPassed { changed.wait(lock, until: deadline) }
        }
    }

    // MARK: - Fork

    /// Waits half a second at most for connections that are being made, before anything is locked that a get needs.
    static func pauseConnecting() {
        registry.lock.lock()
        let deadline = Deadline.after(.milliseconds(500))
        for server in registry.servers.values {
            server.isConnectingHeld = server.connecting.acquire(until: deadline)
        }
    }

    /// Takes the locks of all servers, so that no thread changes them while the process is copied.
    static func prepareFork() {
        for server in registry.servers.values {
            server.flusher.lock.lock()
            server.lock.lock()
        }
        exit.lock.lock()
    }

    static func resumeParent() {
        exit.lock.unlock()
        for server in registry.servers.values {
            server.lock.unlock()
            server.flusher.lock.unlock()
            if server.isConnectingHeld { server.connecting.release() }
        }
        registry.lock.unlock()
    }

    static func resumeChild() {
        exit.lock.resetAfterFork()
        for server in registry.servers.values {
            server.flusher.resetAfterFork()
            server.resetAfterFork()
        }
        registry.lock.resetAfterFork()
    }

    private func resetAfterFork() {
        lock.resetAfterFork()
        changed.resetAfterFork()
        connecting.resetAfterFork()
        for connection in open { connection.abandon() }
        open = []
        idle = []
        waiting = 0
        away = nil
        isSuspect = false
        hasThread = false
        isLeaving = false
        let fresh = cs_eventfd_open()
        if fresh >= 0 { cs_replace_descriptor(fresh, wakeDescriptor) }
    }
}
