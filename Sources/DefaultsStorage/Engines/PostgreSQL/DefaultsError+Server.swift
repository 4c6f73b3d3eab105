internal import PropertyLists

extension DefaultsError {
    /// The error of a connection that libpq could not make or has lost, from its message.
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
        // 08P01 is the code of a pooler for its own connections.
        isPassing = code.map { $0.hasPrefix("53") || $0 == "57P03" || $0 == "08P01" } ?? false
    }

    /// The error of a statement.
    init(server message: String, code: String) {
        switch Self.kind(of: code) {
        case .unavailable:
            self.init(.unavailable, "The database has no tables of a fleet: run fleet.sql in it", detail: message)
        case .timedOut: self.init(.timedOut, "Another machine kept the store locked")
        case .accessDenied: self.init(.accessDenied, "The server does not allow it", detail: message)
        case let kind: self.init(kind, "The server refused", detail: "\(message) (\(code))")
        }
    }

    /// The detail is for those alone that may know the server's name.
    private init(_ code: Code, _ message: String, detail: String) {
        self.init(code, ErrorWords(fault: message), confidential: detail.isEmpty ? "" : ": \(detail)")
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

    /// The kind of error that a code of the server is (PostgreSQL's manual, appendix A).
    private static func kind(of code: String) -> Code {
        switch code {
        case "42501": .accessDenied
        case "55P03", "57014": .timedOut
        case "42P01", "42883", "42703", "3F000": .unavailable
        case "25006": .readOnly
        case "40001", "40P01": .conflict
        case "53100": .noSpace
        case "25P03", "3D000": .unreachable
        // A prepared statement that is gone, or gives other columns now: over a new connection it is another one.
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
