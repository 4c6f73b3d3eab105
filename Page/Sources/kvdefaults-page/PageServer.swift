import DomainAccess
import FlyingFox
import FlyingSocks
import Foundation
import KVCodable

/// The server of the page, on 127.0.0.1 and a port that the system chooses.
struct PageServer {
    private let pool: any AsyncSocketPool = HTTPServer.defaultPool()
    private let gate = Gate()
    private let door: Door

    init(_ session: Session) throws {
        door = try Door(PageHandler(session: session, gate: gate), pool: pool)
    }

    func run() async throws {
        try await pool.prepare()
        async let _: Void = door.run()
        try await pool.run()
    }

    /// The address for the person, with the token that works once.
    func address() throws -> String { gate.open(port: try door.port) }
}

/// Answers requests in the page's folder: `/`, its style and script, `/events`, which tells of changes, and `/edit`.
struct PageHandler {
    let session: Session
    let gate: Gate

    func response(to request: HTTPRequest) async throws -> Response {
        if let refusal = gate.refusal(of: request) { throw refusal }
        return try await answer(request)
    }

    static func response(to refusal: Refusal) -> Response {
        response(refusal.status, "text/plain; charset=utf-8", Data((refusal.message + "\n").utf8))
    }

    private var html: Data {
        let page = String(decoding: Self.packed(PackageResources.page_html), as: UTF8.self)
        return Data(page.replacing("PROOF", with: session.proof).utf8)
    }
    private static let style = packed(PackageResources.page_css)
    private static let script = packed(PackageResources.page_js)

    /// The text without indentation and lines of comments. No text goes over several lines in the page's files.
    private static func packed(_ file: [UInt8]) -> Data {
        let lines = String(decoding: file, as: UTF8.self).split(separator: "\n").map { $0.drop { $0 == " " } }
        return Data(lines.filter { !$0.hasPrefix("//") }.joined(separator: "\n").utf8)
    }

    private func answer(_ request: HTTPRequest) async throws -> Response {
        guard let path = gate.path(of: request) else { throw Refusal(.notFound, "There is no such page") }
        if request.method == .GET, path == "/", let token = request.query.first(where: { $0.name == "token" }) {
            return try enter(token.value)
        }
        guard gate.isKnown(request) else {
            throw Refusal(.forbidden, "This browser has not opened the address that kvdefaults printed: run it again")
        }
        switch (request.method, path) {
        case (.GET, "/"): return Self.response(.ok, "text/html; charset=utf-8", html)
        case (.GET, "/page.css"): return Self.response(.ok, "text/css; charset=utf-8", Self.style)
        case (.GET, "/page.js"): return Self.response(.ok, "text/javascript; charset=utf-8", Self.script)
        case (.GET, "/events"): return await events()
        case (.POST, "/edit"): return try await edit(request)
        case (_, "/"), (_, "/page.css"), (_, "/page.js"), (_, "/events"), (_, "/edit"):
            throw Refusal(.methodNotAllowed, "Expected another method than \(request.method.rawValue)")
        default: throw Refusal(.notFound, "There is no such page")
        }
    }

    /// Changes the token for the cookie, and has the browser go to the address without it.
    ///
    /// Not by a redirection: behind a link on another site the browser would not send the cookie along.
    private func enter(_ token: String) throws -> Response {
        guard let cookie = gate.cookie(for: token) else {
            throw Refusal(.forbidden, "This address was used already, or is another page's: run kvdefaults page again")
        }
        var response = Self.response(.ok, "text/html; charset=utf-8", Data(Self.entrance.utf8))
        response.headers += [("Set-Cookie", cookie)]
        return response
    }

    private static let entrance = """
        <!DOCTYPE html><html lang="en"><title>Settings</title><meta http-equiv="refresh" content="0; url=./">\
        <a href="./">Settings</a></html>
        """

    private func events() async -> Response {
        var response = Self.response(.ok, "text/event-stream", Data())
        response.events = await session.listen()
        return response
    }

    private func edit(_ request: HTTPRequest) async throws -> Response {
        // A form cannot send this type without asking first, which is not answered.
        guard request.headers[.contentType] == "application/json" else {
            throw Refusal(.unsupportedMediaType, "Expected application/json")
        }
        guard !session.isReadOnly else { throw Refusal(.forbidden, "The page was opened with --read-only") }
        let answer = await session.make(try Self.edit(Array(await request.bodyData)))
        return Self.response(answer.status, "application/json", Data(answer.body))
    }

    /// The edit of a request's body. A fault in it is told without the value that was found, which may be a secret.
    private static func edit(_ body: [UInt8]) throws -> Edit {
        guard let list = try? PropertyList(parsing: body, as: .json) else {
            throw Refusal(.badRequest, "Expected an edit: Expected JSON")
        }
        do {
            return try Edit(list)
        } catch {
            throw Refusal(.badRequest, "Expected an edit: \(words(of: error))")
        }
    }

    /// A response that no other page may show, use or keep, and that loads nothing from elsewhere.
    private static func response(_ status: HTTPStatusCode, _ type: String, _ body: Data) -> Response {
        let policy = """
            default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
            base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'
            """
        return Response(
            status: status,
            headers: [
                ("Content-Type", type), ("Cache-Control", "no-store"), ("Content-Security-Policy", policy),
                ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
                ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
                ("X-Frame-Options", "DENY"),
            ], body: body)
    }
}
