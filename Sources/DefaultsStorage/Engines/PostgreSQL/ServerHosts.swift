/// The hosts of a server, where it has several, and those that are passed since they said nothing.
///
/// libpq passes a host that refuses. One that says nothing, as a machine does that has lost its power, is its caller's
/// to pass: the others are tried without it, for ten minutes, or until none of them takes a connection.
struct ServerHosts {
    /// How long each may take, where the server's text says that.
    private var timeout: Duration?
    /// Those of the attempt, in the order of the server's text.
    private var tried: [Host] = []
    private var passed: [Host] = []
    /// Until when those are passed.
    private var end = Deadline.after(.zero)
    /// Whether those are tried now.
    private var isTurned = false

    private struct Host {
        let name: String
        let address: String
        let port: String

        /// Whether libpq calls it so.
        func isCalled(_ host: String, _ port: String) -> Bool {
            (name.isEmpty ? address : name) == host && (self.port.isEmpty || self.port == port)
        }
    }

    /// Options for libpq besides the server's text: the hosts that are left, where some are passed.
    var options: [(name: String, value: String)] {
        guard !passed.isEmpty else { return [] }
        func list(_ part: KeyPath<Host, String>) -> String { tried.map { $0[keyPath: part] }.joined(separator: ",") }
        return [("host", list(\.name)), ("hostaddr", list(\.address)), ("port", list(\.port))].filter { option in
            option.value.contains { $0 != "," }
        }
    }

    /// Has all hosts tried that the server's text names, when the time is over for which some are passed.
    mutating func begin() {
        isTurned = false
        if end.hasPassed { forget() }
    }

    mutating func forget() { passed = [] }

    /// Takes the hosts from a connection's options.
    mutating func learn(_ options: [String: String]) {
        func list(_ name: String) -> [String] {
            (options[name] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        tried = (0..<max(names.count, addresses.count)).map { index in
            Host(
                name: index < names.count ? names[index] : "", address: index < addresses.count ? addresses[index] : "",
                port: index < ports.count ? ports[index] : ports.first ?? "")
        }
        timeout = options["connect_timeout"].flatMap { Int64($0) }.flatMap { $0 > 0 ? .seconds(min($0, 3600)) : nil }
    }

    /// Until when a host may say nothing: its part of the time that is left, of which one is kept for those that libpq
    /// comes back to, or that are passed; or all of it for one alone.
    func deadline(for host: String, _ port: String, of whole: Deadline) -> Deadline {
        if let timeout { return .after(timeout) }
        let index = tried.firstIndex { $0.isCalled(host, port) } ?? 0
        let parts = tried.count > 1 ? tried.count - index + 1 : 1
        return .after(.nanoseconds(whole.remaining) / parts)
    }

    /// Has the others tried without a host; false where there are none.
    mutating func pass(_ host: String, _ port: String) -> Bool {
        guard tried.count > 1 else { return false }
        passed.append(tried.remove(at: tried.firstIndex { $0.isCalled(host, port) } ?? 0))
        end = .after(.seconds(600))
        return true
    }

    /// Has those tried that were passed, since all others refuse; false where there are none.
    mutating func turnBack() -> Bool {
        guard !passed.isEmpty, !isTurned else { return false }
        tried = passed
        isTurned = true
        return true
    }
}
