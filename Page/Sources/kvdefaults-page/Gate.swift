import FlyingFox
import Synchronization

/// Says who may speak with the page: the browser that the printed address was opened in, and in it this page alone.
///
/// Any page of the web can send requests to 127.0.0.1, and a name of its own can lead there. So the Host must be the
/// address that was printed, the Origin this page's, and a cookie must come along that only the bearer of the one-time
/// token was given, and that browsers send for requests of this page alone (`SameSite=Strict`). Cookies know no ports: a
/// browser would send this one to any other server on 127.0.0.1. So everything is in a folder whose name no program can
/// guess, and the cookie is for that folder; the port is in its name, since browsers keep those of other pages, too.
final class Gate: Sendable {
    private struct State {
        var port: UInt16?
        var token: String?
    }

    private let state = Mutex(State())
    private let session = Gate.secret()
    private let folder = "/\(Gate.secret())"

    /// Opens the gate for a port, and gives the address with the token. Before, no request may pass.
    func open(port: UInt16) -> String {
        let token = Self.secret()
        state.withLock { $0 = State(port: port, token: token) }
        return "http://127.0.0.1:\(port)\(folder)/?token=\(token)"
    }

    private var host: String? { state.withLock { $0.port }.map { "127.0.0.1:\($0)" } }

    /// The cookie's name and value, once the port is known.
    private var cookie: String? { state.withLock { $0.port }.map { "kvdefaults-\($0)=\(session)" } }

    /// Why a request is of another site, or under another name; nil for one of this page.
    func refusal(of request: HTTPRequest) -> Refusal? {
        guard let host, request.headers[.host] == host else {
            return Refusal(.misdirectedRequest, "Expected the host \(self.host ?? "127.0.0.1")")
        }
        let origin = request.headers[.origin]
        guard origin == nil ? request.method == .GET : origin == "http://\(host)" else {
            return Refusal(.forbidden, "Expected a request of this page, found one of another")
        }
        return nil
    }

    /// The path in the page's folder; nil for one outside of it.
    func path(of request: HTTPRequest) -> String? {
        let path = request.target.path().utf8
        guard let name = String(path.prefix(folder.utf8.count)), Self.areEqual(name, folder),
            let rest = String(path.dropFirst(folder.utf8.count)), rest.hasPrefix("/")
        else { return nil }
        return rest
    }

    /// Whether the request has the cookie.
    func isKnown(_ request: HTTPRequest) -> Bool {
        guard let cookie else { return false }
        let cookies = request.headers.values(for: .cookie).flatMap { $0.split(separator: ";") }
        return cookies.contains { Self.areEqual($0.drop { $0 == " " }, cookie) }
    }

    /// Takes the token for a cookie, once; nil for any other text, and the second time.
    func cookie(for token: String) -> String? {
        let isRight = state.withLock { state in
            guard let expected = state.token, Self.areEqual(token, expected) else { return false }
            state.token = nil
            return true
        }
        guard isRight, let cookie else { return nil }
        return "\(cookie); Path=\(folder)/; HttpOnly; SameSite=Strict"
    }

    /// 256 bits that no program can guess.
    static func secret() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<32).map { _ in
            let byte = UInt8.random(in: .min ... .max, using: &generator)
            return String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
    }

    /// Compares in a time that says nothing of where the texts differ.
    private static func areEqual(_ given: some StringProtocol, _ expected: String) -> Bool {
        let (given, expected) = (Array(given.utf8), Array(expected.utf8))
        guard given.count == expected.count else { return false }
        return zip(given, expected).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// An answer that is none: a status, and why.
struct Refusal: Error {
    let status: HTTPStatusCode
    let message: String

    init(_ status: HTTPStatusCode, _ message: String) {
        self.status = status
        self.message = message
    }
}

extension HTTPHeader {
    static let origin = HTTPHeader("Origin")
}
