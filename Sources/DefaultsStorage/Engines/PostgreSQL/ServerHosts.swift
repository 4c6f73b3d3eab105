/// The hosts of a server, where it has several, in the order in which they are tried.
///
/// libpq passes a host that refuses. One that says nothing, as a machine does that has lost its power, is its caller's
/// to pass.
struct ServerHosts {
    /// How long each may take, where the server's text says that.
    private(set) var timeout: Duration?
    private var all: [Host] = []
    /// Until when the order is another one than that of the server's text.
    private var reordered: Deadline?

    private struct Host {
        let name: String
        let address: String
        let port: String
    }

    /// At least 1.
    var count: Int { max(all.count, 1) }

    /// What libpq is to be told besides the server's text.
    var options: [(name: String, value: String)] {
        guard let reordered, !reordered.hasPassed else { return [] }
        func list(_ part: KeyPath<Host, String>) -> String { all.map { $0[keyPath: part] }.joined(separator: ",") }
        return [("host", list(\.name)), ("hostaddr", list(\.address)), ("port", list(\.port))].filter { option in
            option.value.contains { $0 != "," }
        }
    }

    /// Takes the hosts from a connection's options.
    mutating func learn(_ options: [String: String]) {
        func list(_ name: String) -> [String] {
            (options[name] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        all = (0..<max(names.count, addresses.count)).map { index in
            Host(
                name: index < names.count ? names[index] : "", address: index < addresses.count ? addresses[index] : "",
                port: index < ports.count ? ports[index] : ports.first ?? "")
        }
        timeout = options["connect_timeout"].flatMap { Int64($0) }.flatMap { $0 > 0 ? .seconds(min($0, 3600)) : nil }
    }

    /// Has the host, as libpq names it, tried after all others, for ten minutes.
    mutating func pass(_ host: UnsafePointer<CChar>?, _ port: UnsafePointer<CChar>?) {
        let (host, port) = (host.map { String(cString: $0) }, port.map { String(cString: $0) })
        let passed = all.firstIndex { one in
            (one.name.isEmpty ? one.address : one.name) == host && (one.port.isEmpty || one.port == port)
        }
        guard !all.isEmpty else { return }
        all.append(all.remove(at: passed ?? 0))
        reordered = .after(.seconds(600))
    }
}
