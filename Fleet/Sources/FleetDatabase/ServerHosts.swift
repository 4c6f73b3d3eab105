/// The hosts of a server with several hosts, and which of them are skipped because they did not answer.
///
/// libpq skips a host that refuses. It does not skip a host that says nothing, such as a machine without power. The
/// caller does that: it tries the others without this host for ten minutes, or until no other host takes a connection.
/// A program keeps one value for all connections to an address.
package struct ServerHosts {
    /// The time for each host, if the server's text gives it.
    private var timeout: Duration?
    /// The hosts of the current attempt, in the order of the server's text.
    private var tried: [Host] = []
    private var skipped: [Host] = []
    /// The time until which hosts are skipped.
    private var end = Deadline.after(.zero)
    /// True if the skipped hosts are being tried.
    private var triesSkipped = false

    private struct Host {
        let name: String
        let address: String
        let port: String

        /// Whether libpq names this host so.
        func isCalled(_ host: String, _ port: String) -> Bool {
            (name.isEmpty ? address : name) == host && (self.port.isEmpty || self.port == port)
        }
    }

    package init() {}

    /// Options for libpq besides the server's text: the hosts to try, if some are skipped.
    var options: [(name: String, value: String)] {
        guard !skipped.isEmpty else { return [] }
        func list(_ part: KeyPath<Host, String>) -> String { tried.map { $0[keyPath: part] }.joined(separator: ",") }
        return [("host", list(\.name)), ("hostaddr", list(\.address)), ("port", list(\.port))].filter { option in
            option.value.contains { $0 != "," }
        }
    }

    /// Begins an attempt. All hosts are tried again if the time for skipping is over.
    mutating func begin() {
        triesSkipped = false
        if end.hasPassed { forget() }
    }

    mutating func forget() { skipped = [] }

    /// Reads the hosts from a connection's options.
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

    /// The time until which a host may say nothing. A single host gets all of the remaining time. Each of several hosts
    /// gets an equal part, and one part is reserved for hosts that libpq tries twice or that were skipped.
    func deadline(for host: String, _ port: String, of whole: Deadline) -> Deadline {
        if let timeout { return .after(timeout) }
        let index = tried.firstIndex { $0.isCalled(host, port) } ?? 0
        let parts = tried.count > 1 ? tried.count - index + 1 : 1
        return .after(whole.remaining / parts)
    }

    /// Skips a host from now on; false if there are no others.
    mutating func skip(_ host: String, _ port: String) -> Bool {
        guard tried.count > 1 else { return false }
        skipped.append(tried.remove(at: tried.firstIndex { $0.isCalled(host, port) } ?? 0))
        end = .after(.seconds(600))
        return true
    }

    /// Tries the skipped hosts because all others refuse; false if none were skipped.
    mutating func trySkipped() -> Bool {
        guard !skipped.isEmpty, !triesSkipped else { return false }
        tried = skipped
        triesSkipped = true
        return true
    }
}
