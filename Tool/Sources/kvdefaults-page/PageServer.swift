import FlyingFox
import FlyingSocks
import Foundation
import KVCodable

/// The HTTP server of the page, on 127.0.0.1 and a port that the system chooses.
struct PageServer {
    private let server: HTTPServer
    private let gate = Gate()

    init(_ session: Session) throws {
        let replay = PageHandler.mostBytes
        server = HTTPServer(
            config: HTTPServer.Configuration(
                address: try .inet(ip4: "127.0.0.1", port: 0), sharedRequestReplaySize: replay, pool: PromptPool(),
                logger: .disabled),
            handler: PageHandler(session: session, gate: gate))
    }

    func run() async throws { try await server.run() }

    /// The address for the person, with the token that works once.
    func address() async throws -> String {
        try await server.waitUntilListening()
        guard case .ip4(_, let port)? = await server.listeningAddress else { throw SocketError.unsupportedAddress }
        return gate.open(port: port)
    }
}

/// Answers requests: `/`, its style and script, `/events`, which tells of changes, and `/edit`.
struct PageHandler: HTTPHandler {
    /// The most bytes that an edit may have.
    static let mostBytes = 1 << 20

    let session: Session
    let gate: Gate

    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse {
        do {
            try await checkBody(request)
            if let refusal = gate.refusal(of: request) { throw refusal }
            return try await answer(request)
        } catch let refusal as Refusal {
            return Self.response(refusal.status, "text/plain; charset=utf-8", Data((refusal.message + "\n").utf8))
        }
    }

    private static let html = packed(PackageResources.page_html)
    private static let style = packed(PackageResources.page_css)
    private static let script = packed(PackageResources.page_js)

    /// The text without indentation and lines of comments. No text goes over several lines in the page's files.
    private static func packed(_ file: [UInt8]) -> Data {
        let lines = String(decoding: file, as: UTF8.self).split(separator: "\n").map { $0.drop { $0 == " " } }
        return Data(lines.filter { !$0.hasPrefix("//") }.joined(separator: "\n").utf8)
    }

    private func answer(_ request: HTTPRequest) async throws -> HTTPResponse {
        if request.method == .GET, request.path == "/", let token = request.query.first(where: { $0.name == "token" }) {
            return try enter(token.value)
        }
        guard gate.isKnown(request) else {
            throw Refusal(.forbidden, "This browser has not opened the address that kvdefaults printed: run it again")
        }
        switch (request.method, request.path) {
        case (.GET, "/"): return Self.response(.ok, "text/html; charset=utf-8", Self.html)
        case (.GET, "/page.css"): return Self.response(.ok, "text/css; charset=utf-8", Self.style)
        case (.GET, "/page.js"): return Self.response(.ok, "text/javascript; charset=utf-8", Self.script)
        case (.GET, "/events"): return await events()
        case (.POST, "/edit"): return try await edit(request)
        case (_, "/"), (_, "/page.css"), (_, "/page.js"), (_, "/events"), (_, "/edit"):
            throw Refusal(.methodNotAllowed, "Expected another method than \(request.method.rawValue)")
        default: throw Refusal(.notFound, "There is no such page")
        }
    }

    /// Changes the token for the cookie, and sends the browser to an address without it.
    private func enter(_ token: String) throws -> HTTPResponse {
        guard let cookie = gate.cookie(for: token) else {
            throw Refusal(.forbidden, "This address was used already, or is another page's: run kvdefaults page again")
        }
        var response = Self.response(.seeOther, "text/plain; charset=utf-8", Data())
        response.headers[.setCookie] = cookie
        response.headers[.location] = "/"
        return response
    }

    private func events() async -> HTTPResponse {
        var response = Self.response(.ok, "text/event-stream", Data())
        response.payload = .httpBody(HTTPBodySequence(from: EventStream(events: await session.listen())))
        return response
    }

    private func edit(_ request: HTTPRequest) async throws -> HTTPResponse {
        // A form cannot send this type without asking first, which nobody answers.
        guard request.headers[.contentType] == "application/json" else {
            throw Refusal(.unsupportedMediaType, "Expected application/json")
        }
        guard !session.isReadOnly else { throw Refusal(.forbidden, "The page was opened with --read-only") }
        let edit: Edit
        do {
            edit = try Edit(PropertyList(parsing: Array(await request.bodyData), as: .json))
        } catch {
            throw Refusal(.badRequest, "Expected an edit: \(error)")
        }
        let answer = await session.make(edit)
        return Self.response(answer.status, "application/json", Data(answer.body))
    }

    /// Reads a body that is too large to its end, else the answer would be lost; not without one.
    private func checkBody(_ request: HTTPRequest) async throws {
        guard let count = request.bodySequence.count else {
            throw Refusal(.lengthRequired, "Expected a Content-Length")
        }
        guard count > Self.mostBytes else { return }
        if count <= 64 << 20 { for try await _ in request.bodySequence {} }
        throw Refusal(.payloadTooLarge, "Expected at most \(Self.mostBytes) bytes, found \(count)")
    }

    /// A response that no other page may show, use or keep, and that loads nothing from elsewhere.
    private static func response(_ status: HTTPStatusCode, _ type: String, _ body: Data) -> HTTPResponse {
        HTTPResponse(
            statusCode: status,
            headers: [
                .contentType: type, .cacheControl: "no-store",
                HTTPHeader("Content-Security-Policy"): """
                default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'
                """,
                HTTPHeader("Cross-Origin-Opener-Policy"): "same-origin",
                HTTPHeader("Cross-Origin-Resource-Policy"): "same-origin",
                HTTPHeader("Referrer-Policy"): "no-referrer",
                HTTPHeader("X-Content-Type-Options"): "nosniff",
                HTTPHeader("X-Frame-Options"): "DENY",
            ], body: body)
    }
}
