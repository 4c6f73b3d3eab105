import FlyingSocks
import Glibc

/// Listens on 127.0.0.1, and keeps bounds for who comes: another user of the machine may connect, too.
///
/// A connection whose request is not whole yet waits, as one of so many and for some seconds. Without the page's cookie
/// an answer has but a few bytes, so that no client without it holds anything for longer.
actor Door {
    private static let mostWaiting = 64
    private static let patience = Duration.seconds(10)

    private let socket: AsyncSocket
    private let handler: PageHandler
    private var waiting: [Int: Task<Void, Never>] = [:]
    private var lastNumber = 0

    /// Listens on a port that the system chooses.
    init(_ handler: PageHandler, pool: any AsyncSocketPool) throws {
        let listening = try Socket(domain: AF_INET, type: .stream)
        // Without it the kernel would keep an event back until the browser has acknowledged the one before, up to 40 ms
        // later. Connections have the option from the socket that listens.
        var isOn: Int32 = 1
        setsockopt(listening.file.rawValue, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
        try listening.bind(to: .inet(ip4: "127.0.0.1", port: 0))
        try listening.listen()
        socket = try AsyncSocket(socket: listening, pool: pool)
        self.handler = handler
    }

    nonisolated var port: UInt16 {
        get throws {
            guard case .ip4(_, let port) = try socket.socket.sockname() else { throw SocketError.unsupportedAddress }
            return port
        }
    }

    /// Receives connections until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            do {
                await receive(try await socket.accept())
            } catch {
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    /// Of too many that wait the oldest ends, before there is another.
    private func receive(_ client: AsyncSocket) async {
        if waiting.count >= Self.mostWaiting, let oldest = waiting.keys.min() { await end(oldest)?.value }
        lastNumber += 1
        let number = lastNumber
        waiting[number] = Task { await serve(client, number) }
        Task {
            try? await Task.sleep(for: Self.patience)
            end(number)
        }
    }

    /// Ends a connection if it still waits.
    @discardableResult
    private func end(_ number: Int) -> Task<Void, Never>? {
        let task = waiting.removeValue(forKey: number)
        task?.cancel()
        return task
    }

    private func serve(_ client: AsyncSocket, _ number: Int) async {
        defer {
            waiting[number] = nil
            try? client.close()
        }
        let connection = Connection(socket: client)
        do {
            let request = try await connection.request()
            waiting[number] = nil
            try await connection.send(handler.response(to: request))
        } catch let refusal as Refusal {
            try? await connection.send(PageHandler.response(to: refusal))
        } catch {
            // The browser is gone, or its time is up: no answer would arrive.
        }
    }
}
