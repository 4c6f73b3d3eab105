/// An error of the server, of the connection to it, or of a call of this package.
package struct FleetError: Error, Equatable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The server does not let the role do it, or refuses the role.
        case accessDenied = "access_denied"
        /// Another program wrote the store first.
        case conflict
        /// The server failed in another way.
        case io
        case limitExceeded = "limit_exceeded"
        /// The caller gave something wrong.
        case misuse
        case noSpace = "no_space"
        /// The connection broke during a commit, which may have been made.
        case outcomeUnknown = "outcome_unknown"
        case readOnly = "read_only"
        /// Another program kept the store locked.
        case timedOut = "timed_out"
        case unreachable
        /// The server would not have to prove who it is.
        case unsafeLocation = "unsafe_location"
        /// libpq or the tables are missing, or have another version.
        case unsupported
    }

    package let code: Code
    /// A sentence for people. It may name the server, and never a password.
    package let description: String

    private init(_ code: Code, _ description: String, detail: String = "") {
        self.code = code
        self.description = detail.isEmpty ? description : "\(description): \(detail)"
    }

    // MARK: - Texts

    static let notConnected = FleetError(.unreachable, "The connection to the server is lost")
    static let noMemory = FleetError(.unreachable, "The server cannot be reached: no memory")
    static let silent = FleetError(.unreachable, "The server did not answer in time")
    static let strangeRow = FleetError(.io, "The server's tables are not those of fleet.sql: a row has other columns")
    static let noConnectionText = FleetError(
        .misuse, "The server must be a connection text of libpq, such as \"service=fleet\"")
    static let passwordInText = FleetError(
        .misuse,
        "The server's text must not contain a password. Keep the password in a service file, .pgpass or PGPASSWORD")
    static let commitWarned = FleetError(
        .outcomeUnknown, "The server committed with a warning: a standby that it waits for may lack the commit")

    static func noLibrary(isOutdated: Bool) -> FleetError {
        let found = isOutdated ? "an older version is installed" : "it is not installed"
        return FleetError(.unsupported, "libpq.so.5 of PostgreSQL 14 or later is needed; \(found): install libpq5")
    }

    static func unprovenServer(_ mode: String) -> FleetError {
        FleetError(.unsafeLocation, "A server on another machine needs sslmode=verify-full; it has sslmode=\(mode)")
    }

    static func otherTables(_ version: Int64, known: Int64) -> FleetError {
        FleetError(.unsupported, "The tables have version \(version); this program knows version \(known)")
    }

    static func mayNot(_ verb: String, _ store: String) -> FleetError {
        FleetError(.accessDenied, "The server does not allow this role to \(verb) the store \(store)")
    }

    static func writtenMeanwhile(_ store: String, head: Int64) -> FleetError {
        FleetError(.conflict, "Another program wrote the store \(store), which is at revision \(head) now")
    }

    static func lastRevision(of store: String) -> FleetError {
        FleetError(.limitExceeded, "The store \(store) has the last possible revision")
    }

    static func tooLarge(_ store: String, _ size: Int64, limit: Int) -> FleetError {
        FleetError(.limitExceeded, "The store \(store) must have at most \(limit) bytes; it has \(size)")
    }

    /// The same error for a commit that may have been made.
    var leavingOutcomeUnknown: FleetError {
        FleetError(.outcomeUnknown, "The commit may have been made", detail: description)
    }

    // MARK: - The server's errors

    /// The error of a connection that libpq could not make or has lost, from libpq's message.
    init(connection message: String) {
        let lines = message.split(separator: "\n").filter { !$0.hasPrefix("LOCATION") }
        let text = lines.map { String($0.drop { $0 == "\t" || $0 == " " }) }.joined(separator: "; ")
        let code = Self.serverCode(in: text)
        let kind: Code = code.map { Self.kind(of: $0) } ?? .unreachable
        let words = code.map { text.replacing(":  \($0): ", with: ": ") } ?? text
        switch kind {
        case .accessDenied: self.init(.accessDenied, "The server refused the connection", detail: words)
        case .io: self.init(.unreachable, "The server cannot be reached", detail: words)
        default: self.init(kind, "The server cannot be reached", detail: words)
        }
    }

    /// The error of a statement, from the server's message and its code of five characters.
    init(server message: String, code: String) {
        switch Self.kind(of: code) {
        case .unsupported:
            self.init(.unsupported, "The database has no tables of a fleet: run fleet.sql in it", detail: message)
        case .timedOut: self.init(.timedOut, "Another program kept the store locked", detail: message)
        case .accessDenied: self.init(.accessDenied, "The server does not allow it", detail: message)
        case let kind: self.init(kind, "The server refused", detail: "\(message) (\(code))")
        }
    }

    /// The five characters of a code in a verbose message, as in `FATAL:  28P01: password authentication failed`.
    private static func serverCode(in text: String) -> String? {
        let bytes = Array(text.utf8)
        guard bytes.count > 10 else { return nil }
        for start in 0..<(bytes.count - 9) where bytes[start...].starts(with: ":  ".utf8) {
            let code = bytes[(start + 3)..<(start + 8)]
            let isCode = code.allSatisfy { 0x30...0x39 ~= $0 || 0x41...0x5A ~= $0 }
            if isCode, bytes[start + 8] == UInt8(ascii: ":") { return String(decoding: code, as: UTF8.self) }
        }
        return nil
    }

    /// The kind of error for a code of the server (PostgreSQL's manual, appendix A).
    private static func kind(of code: String) -> Code {
        switch code {
        case "42501": .accessDenied
        case "55P03", "57014": .timedOut
        case "42P01", "42883", "42703", "3F000": .unsupported
        case "25006": .readOnly
        case "40001", "40P01": .conflict
        case "53100": .noSpace
        case "25P03", "3D000": .unreachable
        // A prepared statement is gone, or gives other columns now. A new connection prepares it again.
        case "26000", "0A000": .unreachable
        default:
            switch code.prefix(2) {
            case "08", "53", "57", "58": .unreachable
            case "28": .accessDenied
            case "54": .limitExceeded
            default: .io
            }
        }
    }
}
