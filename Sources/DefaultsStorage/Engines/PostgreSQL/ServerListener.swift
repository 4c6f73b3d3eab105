internal import CKVPostgreSQL
internal import CKVSystem
internal import Glibc
internal import PropertyLists

/// The connection of a process that listens: its state, and the work of the server's thread with it.
///
/// A notification only wakes: the rows by revision have the changes, so that one that is lost loses nothing. Used by
/// the server's thread alone.
final class ServerListener {
    typealias Guest = PostgreSQLServer.Guest

    private let server: PostgreSQLServer
    private(set) var connection: PostgreSQLConnection?
    /// When the connection has lasted a while: one that breaks before that is not made again at once.
    private var proven = Deadline.after(.zero)
    /// Whether notifications come through, which a pooler may swallow; nil before that was tried.
    private var isHeard: Bool?
    /// The channels that are listened to, by their stores.
    private var channels: [String: String] = [:]
    /// When the connection is tried again, and the time between two attempts.
    private var nextAttempt = Deadline.after(.zero)
    private var backoff = shortestBackoff
    /// Until when the connection is waited for over which stores are being read at first.
    private var opening: Deadline?
    /// When the revisions are asked for next, whatever was told.
    private var nextLook = Deadline.after(.zero)
    /// The domains that have to look, and could not yet.
    private var pending: Set<Int> = []
    /// The rows of the stores' revisions as they were when the domains looked last because of them.
    private var rows: [Int: [[UInt8]?]] = [:]
    /// The errors that were told of domains that could not look.
    private var told: [Int: DefaultsError] = [:]
    /// When values seen last are kept next.
    private var nextKeeping = Deadline.after(.zero)
    private var mayHaveToKeep = false
    /// When reports are told next; nil where there are none.
    private var nextReport: Deadline?
    /// When all reports are repeated, so that the server does not forget a machine on which nothing changes.
    private var nextRepetition = Deadline.after(daily)

    private static let shortestBackoff = Duration.milliseconds(100)
    private static let longestBackoff = Duration.seconds(30)
    /// How often the connection is used, so that nothing on the way forgets it.
    private static let keepAlive = Duration.seconds(30)
    private static let daily = Duration.seconds(86_400)
    /// All machines hear of a revision at the same moment, and report it at another one each.
    private static let longestSilence = Duration.seconds(2)
    private static let usualPoll = Duration.seconds(5)
    private static var soon: Deadline { .after(.seconds(10)) }

    init(_ server: PostgreSQLServer) {
        self.server = server
    }

    /// Connects where that is due, listens, and has domains look and keep the values they have seen.
    func attend(_ guests: [Guest]) {
        listen(guests)
        look(guests)
        keep(guests)
        report()
    }

    /// Waits until there is something to do, or `wakeDescriptor` is written to.
    func wait(_ wakeDescriptor: Int32) {
        if connection?.hasNotifications == true { return }
        var deadline = Deadline.after(.seconds(10))
        deadline = .earlier(deadline, connection == nil ? opening ?? nextAttempt : nextLook)
        if server.isAwaited { deadline = .earlier(deadline, nextAttempt) }
        if !pending.isEmpty { deadline = .earlier(deadline, .after(.milliseconds(5))) }
        if mayHaveToKeep { deadline = .earlier(deadline, nextKeeping) }
        if connection != nil, let nextReport { deadline = .earlier(deadline, nextReport) }
        _ = cpq_wait(wakeDescriptor, 0, connection?.descriptor ?? -1, deadline.remaining)
        var number: UInt64 = 0
        _ = read(wakeDescriptor, &number, 8)
    }

    // MARK: - Connecting

    /// The server is there again: the next attempt is made at once.
    func serverIsThere(_ guests: [Guest]) {
        nextAttempt = .after(.zero)
        if connection != nil { tellReturn(guests) }
    }

    /// Puts the next attempt off, for longer each time, and for another time on each machine.
    func putOff() {
        nextAttempt = .after(backoff * Double.random(in: 0.5...1.0))
        backoff = min(backoff * 2, Self.longestBackoff)
        opening = nil
    }

    /// Lets go of the connection.
    private func drop() {
        let isProven = connection != nil && proven.hasPassed
        if let connection { server.drop(connection) }
        connection = nil
        channels = [:]
        isHeard = nil
        putOff()
        if isProven { nextAttempt = .after(.zero) }
    }

    /// Lets go of a connection that broke; says whether it did.
    private func loses(_ connection: PostgreSQLConnection, _ error: DefaultsError) -> Bool {
        guard connection.isBroken else { return false }
        drop()
        server.noteFailure(error)
        return true
    }

    private func listen(_ guests: [Guest]) {
        if connection?.isAlive == false { drop() }
        guard !guests.isEmpty, connection != nil || nextAttempt.hasPassed else { return }
        do throws(DefaultsError) {
            let isNew = connection == nil
            if isNew {
                if isOpening(guests), opening?.hasPassed != true {
                    opening = opening ?? .after(.seconds(1))
                    return
                }
                opening = nil
                connection = try server.connectToListen()
                proven = .after(.seconds(1))
            }
            try addChannels(guests)
            if isNew { greet(guests) }
        } catch {
            drop()
            server.noteFailure(error)
        }
    }

    /// Whether a connection is soon to be had without making one: a program that opens stores reads them over one, and
    /// wakes the thread when it has them.
    private func isOpening(_ guests: [Guest]) -> Bool {
        server.hasLentAll || guests.contains { guest in guest.domain.lock.withLock { !guest.domain.isLoaded } }
    }

    /// All is looked at anew: notifications from before the connection are not sent again.
    private func greet(_ guests: [Guest]) {
        pending = Set(guests.map(\.number))
        rows = [:]
        nextLook = .after(interval)
        backoff = Self.shortestBackoff
        server.withReports { $0.repeatAll() }
        tellReturn(guests)
    }

    /// Tells that the server is there, where it was away, and has waiting changes written.
    private func tellReturn(_ guests: [Guest]) {
        guard server.noteSuccess() else { return }
        for guest in guests {
            guest.domain.tell(.reconnected)
            server.flusher.hurry(guest.domain)
        }
    }

    /// The time between two looks without a notification, a little other for each machine.
    private var interval: Duration {
        let usual = isHeard == true ? Self.keepAlive : server.address.pollInterval ?? Self.usualPoll
        return usual * Double.random(in: 0.8...1.2)
    }

    private func addChannels(_ guests: [Guest]) throws(DefaultsError) {
        guard server.address.pollInterval == nil, let connection else { return }
        if isHeard == nil { isHeard = try hears(connection) }
        let wanted = Set(guests.map(\.store)).subtracting(channels.keys)
        guard isHeard == true, !wanted.isEmpty else { return }
        for store in wanted.sorted() {
            let found = try connection.run([.init("SELECT kv_channel($1)", .text(store))], until: Self.soon)
            guard let name = found.first?.bytes(0, 0).map({ String(decoding: $0, as: UTF8.self) }), isPlain(name)
            else { throw PostgreSQLResult.strange }
            _ = try connection.run([.init("LISTEN \(name)")], until: Self.soon)
            channels[store] = name
        }
        // Changes from before are not told.
        pending.formUnion(guests.filter { wanted.contains($0.store) }.map(\.number))
    }

    private func isPlain(_ name: String) -> Bool {
        name.utf8.allSatisfy { 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 || $0 == UInt8(ascii: "_") }
    }

    /// Whether a notification comes through. Over a connection to the server's own process it does, and none is tried:
    /// it would wake all that listen, each time that one of many machines starts. A pooler may keep it, and one sent by
    /// its process comes back over the same one by chance: another connection tries.
    private func hears(_ connection: PostgreSQLConnection) throws(DefaultsError) -> Bool {
        if connection.isDirect { return true }
        let channel = "kv_\(UInt64.random(in: .min ... .max))"
        _ = try connection.run([.init("LISTEN \(channel)")], until: Self.soon)
        let other = try server.connect()
        defer { server.giveBack(other) }
        _ = try other.run([.init("SELECT pg_notify($1, '')", .text(channel))], until: Self.soon)
        let deadline = Deadline.after(.seconds(2))
        var isHeard = false
        while !isHeard, !deadline.hasPassed {
            guard let channels = connection.notifications() else {
                throw DefaultsError(.unreachable, "The connection to the server is lost")
            }
            isHeard = channels[channel] != nil
            if !isHeard { _ = cpq_wait(connection.descriptor, 0, -1, min(deadline.remaining, 100_000_000)) }
        }
        _ = try connection.run([.init(isHeard ? "UNLISTEN \(channel)" : "UNLISTEN *")], until: Self.soon)
        return isHeard
    }

    /// Has the domains look whose stores were told of, or all when it is time.
    private func look(_ guests: [Guest]) {
        guard let connection else { return }
        guard let told = connection.notifications() else { return drop() }
        for guest in guests {
            guard let channel = channels[guest.store], let text = told[channel] else { continue }
            let revision = guest.domain.lock.withLock { guest.domain.revision }
            if let revision, Int64(text) == revision {
                // The process's own commit.
                mayHaveToKeep = true
            } else {
                pending.insert(guest.number)
            }
        }
        // Until the looks have an answer: they tell of it.
        let isSuspect = server.isSuspected
        if isSuspect {
            pending = Set(guests.map(\.number))
        } else if nextLook.hasPassed {
            guard ask(guests, connection) else { return }
        }
        if isSuspect || nextLook.hasPassed { nextLook = .after(interval) }
        for guest in guests where pending.contains(guest.number) {
            guard look(guest, connection) else { return }
        }
        if isSuspect, pending.isEmpty {
            server.clearSuspicion()
            for guest in guests { server.flusher.hurry(guest.domain) }
        }
    }

    /// Asks for the stores' revisions alone, which nearly always are those of the last time; has the domains look of
    /// which that is another.
    ///
    /// - Returns: whether the connection is there still.
    private func ask(_ guests: [Guest], _ connection: PostgreSQLConnection) -> Bool {
        let question = PostgreSQLEngine.revisionOfStore
        do throws(DefaultsError) {
            let found = try connection.run(guests.map { .init(question, .text($0.store)) }, until: Self.soon)
            for (guest, result) in zip(guests, found) {
                let row = result.count > 0 ? (0..<4).map { result.bytes(0, Int32($0)).map { Array($0) } } : []
                if rows.updateValue(row, forKey: guest.number) != row { pending.insert(guest.number) }
            }
        } catch {
            if loses(connection, error) { return false }
            // Their own looks tell why.
            pending = Set(guests.map(\.number))
        }
        return true
    }

    /// - Returns: whether the connection is there still.
    private func look(_ guest: Guest, _ connection: PostgreSQLConnection) -> Bool {
        mayHaveToKeep = true
        switch guest.domain.takeUpFromServer(over: connection) {
        case .busy: return true
        case .done:
            told[guest.number] = nil
            for layer in server.layers(of: guest.domain) { layer.look() }
        case .failed(let error):
            if loses(connection, error) { return false }
            // Tried again when the revisions are asked for next.
            rows[guest.number] = nil
            if told[guest.number] != error { guest.domain.tell(.unreadable(error)) }
            told[guest.number] = error
        }
        pending.remove(guest.number)
        return true
    }

    /// Keeps the values seen last, not more often than once a second.
    private func keep(_ guests: [Guest]) {
        mayHaveToKeep = server.takeNewsToKeep() || mayHaveToKeep
        guard mayHaveToKeep, nextKeeping.hasPassed else { return }
        mayHaveToKeep = false
        let start = cs_monotonic_nanoseconds()
        for guest in guests where !server.keep(guest) { mayHaveToKeep = true }
        let spent = cs_monotonic_nanoseconds() - start
        nextKeeping = .after(max(.seconds(1), .nanoseconds(spent * 20)))
    }

    /// Tells the server the revisions that programs use. A report that it refuses is not tried again before the next
    /// connection: it may be a standby, or the role may not tell.
    private func report() {
        if nextRepetition.hasPassed {
            nextRepetition = .after(Self.daily)
            server.withReports { $0.repeatAll() }
        }
        guard let connection, !server.withReports({ $0.isEmpty }) else { return }
        guard let due = nextReport else {
            nextReport = .after(Self.longestSilence * Double.random(in: 0...1))
            return
        }
        guard due.hasPassed else { return }
        nextReport = nil
        for report in server.withReports({ $0.take() }) {
            _ = try? connection.run([report.statement], until: Self.soon)
        }
        if connection.isBroken { drop() }
    }
}
