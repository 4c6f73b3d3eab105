import FlyingFox
import FlyingSocks
import Foundation

/// A connection of a browser, for one request and its answer.
///
/// FlyingFox's own server reads a request's head without a bound, in a time that grows with the square of its longest
/// line: 13 seconds for 60 KB. So heads are read here, at most so much of them, and `Door` says for how long.
struct Connection {
    private static let mostHeadBytes = 64 << 10
    /// The most bytes of a body, which is an edit; and of one that is read to its end, else the answer would be lost.
    private static let mostBytes = 1 << 20, mostIgnoredBytes = 64 << 20

    let socket: AsyncSocket

    /// Reads a request.
    func request() async throws -> HTTPRequest {
        let (head, rest) = try await head()
        var request = try Self.request(head)
        request.setBodyData(try await body(of: request, from: rest))
        return request
    }

    func send(_ response: Response) async throws {
        try await socket.write(response.head + response.body)
        guard let events = response.events else { return }
        for await event in events { try await socket.write(Data(event)) }
    }

    // MARK: - Reading

    /// The lines of the head, and the bytes that came behind it.
    private func head() async throws -> (Data, rest: Data) {
        let end = Data("\r\n\r\n".utf8)
        var bytes = Data()
        while bytes.count < Self.mostHeadBytes {
            let searched = max(bytes.count - end.count + 1, 0)
            bytes += try await socket.read(atMost: 4096)
            if let found = bytes[searched...].firstRange(of: end) {
                return (bytes[..<found.lowerBound], rest: bytes[found.upperBound...])
            }
        }
        throw Refusal(.requestHeaderFieldsTooLarge, "Expected at most \(Self.mostHeadBytes) bytes before the body")
    }

    private static func request(_ head: Data) throws -> HTTPRequest {
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { throw Refusal(.badRequest, "Expected HTTP/1.1") }
        let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        return HTTPRequest(
            method: HTTPMethod(String(words[0])), version: .http11,
            target: HTTPRequest.Target(path: String(target[0]), query: target.count > 1 ? String(target[1]) : ""),
            headers: try headers(lines.dropFirst()), body: HTTPBodySequence())
    }

    /// The headers by name. No browser sends one twice, but for cookies.
    private static func headers(_ lines: some Sequence<Substring>) throws -> HTTPHeaders {
        var headers = HTTPHeaders()
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { throw Refusal(.badRequest, "Expected a header: \(line)") }
            let header = HTTPHeader(String(line[..<colon]))
            guard header == .cookie || headers.values(for: header).isEmpty else {
                throw Refusal(.badRequest, "Expected \(header.rawValue) once")
            }
            headers.addValue(line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces), for: header)
        }
        return headers
    }

    private func body(of request: HTTPRequest, from rest: Data) async throws -> Data {
        guard request.headers[.transferEncoding] == nil else {
            throw Refusal(.lengthRequired, "Expected a Content-Length")
        }
        guard let length = request.headers[.contentLength] else { return Data() }
        guard let count = Int(length), count >= 0 else { throw Refusal(.badRequest, "Expected a number of bytes") }
        var (body, missing) = (rest, count - rest.count)
        while missing > 0, count <= Self.mostIgnoredBytes {
            let bytes = try await socket.read(atMost: missing)
            missing -= bytes.count
            if count <= Self.mostBytes { body += bytes }
        }
        guard count <= Self.mostBytes else {
            throw Refusal(.payloadTooLarge, "Expected at most \(Self.mostBytes) bytes, found \(count)")
        }
        return body.prefix(count)
    }
}

/// An answer: whole, or one that goes on with each event.
struct Response {
    let status: HTTPStatusCode
    var headers: [(name: String, value: String)]
    var body = Data()
    var events: AsyncStream<[UInt8]>?

    fileprivate var head: Data {
        let length = events == nil ? [("Content-Length", "\(body.count)")] : []
        let lines = (headers + length + [("Connection", "close")]).map { "\($0.0): \($0.1)\r\n" }.joined()
        return Data("HTTP/1.1 \(status.code) \(status.phrase)\r\n\(lines)\r\n".utf8)
    }
}
