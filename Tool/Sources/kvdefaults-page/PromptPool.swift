import FlyingFox
import FlyingSocks
import Glibc

/// FlyingFox's pool of sockets, of which none waits for more to send: an answer is a head and a body, and the kernel
/// would keep the body back until the browser has acknowledged the head, up to 40 ms later.
struct PromptPool: AsyncSocketPool {
    private let pool: any AsyncSocketPool = HTTPServer.defaultPool()

    func prepare() async throws { try await pool.prepare() }

    func run() async throws { try await pool.run() }

    /// The first socket that waits is the one that listens, from which the others have the option.
    func suspendSocket(_ socket: Socket, untilReadyFor events: Socket.Events) async throws {
        var isOn: Int32 = 1
        setsockopt(socket.file.rawValue, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
        try await pool.suspendSocket(socket, untilReadyFor: events)
    }
}
