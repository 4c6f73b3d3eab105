/// Waits for new revisions of stores, over one connection.
///
/// A notification only leads to a question for the revisions, so that a lost or forged notification loses nothing.
/// Without notifications the revisions are polled: a pooler passes none on, and a standby sends none.
package struct RevisionListener {
    private let connection: PostgreSQLConnection
    private let stores: [String]
    /// True if the server notifies; false if the revisions are polled.
    package let isNotified: Bool
    /// The time between two questions without a notification.
    private let interval: Duration
    /// The time of the next question.
    private var nextQuestion = Deadline.after(.zero)
    /// The stores' rows at the last question.
    private var rows: [String: [[UInt8]?]] = [:]

    /// The interval at which an idle connection is used, so that nothing on the way forgets it.
    private static let keepAlive = Duration.seconds(30)
    private static let usualInterval = Duration.seconds(5)

    /// - Parameter interval: the time between two polls; nil for notifications if the server sends them, and otherwise
    ///   five seconds.
    package init(
        _ connection: PostgreSQLConnection, _ stores: [String], interval: Duration? = nil, until deadline: Deadline
    ) throws(FleetError) {
        self.connection = connection
        self.stores = stores
        isNotified = interval == nil ? try Self.listen(connection, stores, until: deadline) : false
        self.interval = isNotified ? Self.keepAlive : max(interval ?? Self.usualInterval, .milliseconds(10))
    }

    private static func listen(
        _ connection: PostgreSQLConnection, _ stores: [String], until deadline: Deadline
    ) throws(FleetError) -> Bool {
        guard connection.isDirect else { return false }
        for store in stores {
            let channel = try connection.run(Statement("SELECT kv_channel($1)", .text(store)), until: deadline)
            guard let name = channel.text(0, 0), isPlain(name) else { throw .strangeRow }
            do throws(FleetError) {
                _ = try connection.run(Statement("LISTEN \(name)"), until: deadline)
            } catch {
                // A standby.
                guard error.code == .readOnly else { throw error }
                return false
            }
        }
        return true
    }

    private static func isPlain(_ name: String) -> Bool {
        name.utf8.allSatisfy { 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 || $0 == UInt8(ascii: "_") }
    }

    /// Waits until stores have other revisions than at the last call, and returns their names. The first call returns
    /// all stores that exist, at once.
    ///
    /// - Returns: nothing if the deadline has passed.
    /// - Throws: ``FleetError/Code/unreachable`` if the connection is lost.
    package mutating func wait(until deadline: Deadline) throws(FleetError) -> [String] {
        while true {
            let isDue = try connection.takeNotifications() || nextQuestion.hasPassed
            if isDue {
                // Machines that started together ask at different times.
                nextQuestion = .after(interval * Double.random(in: 0.8...1.2))
                let changed = try ask()
                if !changed.isEmpty { return changed }
            }
            if deadline.hasPassed { return [] }
            // A notification may have come together with the answer: the socket then shows nothing.
            if !isDue { connection.wait(until: min(deadline, nextQuestion)) }
        }
    }

    /// Asks for the stores' revisions, and returns the stores with others than the last time.
    private mutating func ask() throws(FleetError) -> [String] {
        let question = "SELECT head, token, identity, horizon FROM kv_store WHERE name = $1"
        let answers = try connection.run(
            stores.map { Statement(question, .text($0)) }, until: .after(.seconds(10)))
        var changed: [String] = []
        for (store, answer) in zip(stores, answers) {
            let row = answer.count > 0 ? (0..<4).map { answer.bytes(0, Int32($0)) } : []
            if (rows.updateValue(row, forKey: store) ?? []) != row { changed.append(store) }
        }
        return changed
    }
}
