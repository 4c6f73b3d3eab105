import FleetDatabase
import Glibc

/// The state of the program, and its verbs. Keys and values are in hexadecimal digits. A value `*COUNT` stands for so many
/// bytes.
struct Session {
    /// What a line gets wrong.
    struct Mistake: Error {
        let text: String
    }

    private var hosts = ServerHosts()
    private var connection: PostgreSQLConnection?
    private var listener: RevisionListener?
    /// The revisions of the stores, as they were read or written last.
    private var seen: [String: StoreRevision] = [:]
    /// The commit of unknown outcome.
    private var doubt: StoreRevision?
    /// The time for each call.
    private var patience = Duration.seconds(10)

    private var deadline: Deadline { .after(patience) }

    private func connected() throws -> PostgreSQLConnection {
        guard let connection else { throw Mistake(text: "not connected") }
        return connection
    }

    mutating func answer(_ verb: String, _ words: [String]) throws -> String {
        switch (verb, words.count) {
        case ("patience", 1): patience = .milliseconds(Int(words[0]) ?? 0)
        case ("connect", 1...2): return try connect(words)
        case ("tables", 1): return try makeTables(words[0])
        case ("close", 0): connection?.close()
        case ("alive", 0): return "\(connection?.isAlive ?? false)"
        case ("sql", 1): return try connected().run(Statement(words[0]), until: deadline).text(0, 0) ?? ""
        case ("read", 1...3): return try read(words)
        case ("write", 2...): return try write(words[0], note: words[1], Array(words[2...]))
        case ("add", 3): return try add(words[0], words[1], Int(words[2]) ?? 0)
        case ("settle", 1): return try settle(words[0])
        case ("listen", 2...): return try listen(words)
        case ("wait", 1): return try wait(.milliseconds(Int(words[0]) ?? 0))
        case ("report", 4), ("report", 7): try report(words)
        default: throw Mistake(text: "unknown: \(verb)")
        }
        return ""
    }

    // MARK: - Connections

    /// `connect TEXT [insecure]`
    private mutating func connect(_ words: [String]) throws -> String {
        listener = nil
        connection?.close()
        let address = try ServerAddress(words[0], isInsecure: words.count > 1)
        let connection = try PostgreSQLConnection(address, &hosts, patience: patience)
        self.connection = connection
        try connection.checkTables(until: deadline)
        return connection.isDirect ? "direct" : "pooled"
    }

    private mutating func makeTables(_ text: String) throws -> String {
        let connection = try PostgreSQLConnection(ServerAddress(text), &hosts, patience: patience)
        return try connection.makeTables(until: deadline) ? "made" : "kept"
    }

    // MARK: - Stores

    /// `read STORE [since|whole] [LIMIT]`
    private mutating func read(_ words: [String]) throws -> String {
        let since = words.dropFirst().first == "since" ? seen[words[0]] : nil
        let limit = words.count > 2 ? Int(words[2]) ?? 0 : PostgreSQLConnection.largestStore
        let contents = try connected().read(words[0], since: since, limit: limit, until: deadline)
        seen[words[0]] = contents.revision
        let entries = contents.entries.map { "\(hexadecimal($0.key))=\(text($0.value))" }
        return (["\(contents.extent)", "\(contents.revision.number)"] + entries).joined(separator: " ")
    }

    /// `write STORE NOTE KEY=VALUE…`, over the revision that was read or written last.
    private mutating func write(_ store: String, note: String, _ pairs: [String]) throws -> String {
        let entries = try pairs.map { pair in
            let parts = pair.split(separator: "=", omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw Mistake(text: "no pair: \(pair)") }
            return StoreEntry(key: try bytes(parts[0]), value: try value(parts[1]))
        }
        return "\(try write(entries, to: store, note: note.isEmpty ? nil : note).number)"
    }

    private mutating func write(
        _ entries: [StoreEntry], to store: String, note: String? = nil
    ) throws -> StoreRevision {
        let connection = try connected()
        let old = seen[store] ?? .zero
        let new = old.next()
        do throws(FleetError) {
            seen[store] = try connection.write(entries, to: store, as: new, over: old, note: note, until: deadline)
        } catch {
            if error.code == .outcomeUnknown { doubt = new }
            throw error
        }
        return seen[store] ?? new
    }

    /// `add STORE KEY COUNT`: adds 1 to a number so many times, each time as a revision. A conflict is retried.
    private mutating func add(_ store: String, _ key: String, _ count: Int) throws -> String {
        var left = count
        while left > 0 {
            let contents = try connected().read(store, until: deadline)
            seen[store] = contents.revision
            let key = try bytes(key[...])
            let old = contents.entries.first { $0.key == key }?.value
            let number = old.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
            do {
                _ = try write([StoreEntry(key: key, value: Array("\(number + 1)".utf8))], to: store)
                left -= 1
            } catch let error as FleetError where error.code == .conflict {
                continue
            }
        }
        return ""
    }

    /// `settle STORE`: the outcome of the commit that is in doubt.
    private mutating func settle(_ store: String) throws -> String {
        guard let doubt else { throw Mistake(text: "nothing is in doubt") }
        let wasWritten = try connected().wasWritten(doubt, in: store, until: deadline)
        self.doubt = nil
        return wasWritten.map { "\($0)" } ?? "unknown"
    }

    // MARK: - Listening

    /// `listen MILLISECONDS STORE…`; 0 for notifications.
    private mutating func listen(_ words: [String]) throws -> String {
        let interval = Int(words[0]).flatMap { $0 > 0 ? Duration.milliseconds($0) : nil }
        let listener = try RevisionListener(
            connected(), Array(words.dropFirst()), interval: interval, until: deadline)
        self.listener = listener
        return listener.isNotified ? "notified" : "polling"
    }

    private mutating func wait(_ duration: Duration) throws -> String {
        guard listener != nil else { throw Mistake(text: "not listening") }
        return try listener?.wait(until: .after(duration)).joined(separator: " ") ?? ""
    }

    /// `report STORE MACHINE PROGRAM REVISION [REFUSED PATH MESSAGE]`
    private func report(_ words: [String]) throws {
        let refusal =
            words.count > 4
            ? PostgreSQLConnection.Refusal(revision: Int64(words[4]) ?? 0, path: words[5], message: words[6]) : nil
        try connected().report(
            words[0], machine: words[1], program: words[2], revision: Int64(words[3]) ?? 0, refusal: refusal,
            until: deadline)
    }

    // MARK: - Bytes

    private func text(_ value: [UInt8]?) -> String {
        guard let value else { return "-" }
        return value.count > 10_000 ? "*\(value.count)" : hexadecimal(value)
    }

    private func value(_ text: Substring) throws -> [UInt8]? {
        if text == "-" { return nil }
        guard text.hasPrefix("*") else { return try bytes(text) }
        var bytes = [UInt8](repeating: 0, count: Int(text.dropFirst()) ?? 0)
        // The server cannot compress random bytes.
        let source = fopen("/dev/urandom", "r")
        defer { if let source { fclose(source) } }
        guard let source, fread(&bytes, 1, bytes.count, source) == bytes.count else { throw Mistake(text: "no bytes") }
        return bytes
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private func bytes(_ text: Substring) throws -> [UInt8] {
        let digits = Array(text)
        return try stride(from: 0, to: digits.count - 1, by: 2).map { index in
            guard let byte = UInt8(String(digits[index...(index + 1)]), radix: 16) else {
                throw Mistake(text: "no digits: \(text)")
            }
            return byte
        }
    }
}
